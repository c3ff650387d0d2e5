//! A way to write plans that only this program knows: a list of calls, in which `"<2"` is the output of the call two
//! places before.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::sync::Arc;

use planwright::core::plan::{Action, Field, Name, Node, NodeKind, Read, Reference, Source};
use planwright::core::{Code, Diagnostic, Diagnostics, Place, Sources, Step, StepId};
use planwright::dialects::document::{DiagnosticSink, Document, Fields, Item};
use planwright::dialects::lowering::{ReferenceSyntax, lower};
use planwright::dialects::{Dialect, MatchConfidence, ReadOptions, parse_as};
use planwright::schemars::{self, JsonSchema};
use planwright::{Error, Function, Functions, Plan, Planwright, Sharable, ToolError};
use serde::Deserialize;

/// The shape is `{"calls": [{"call": TOOL, "with": {…}}]}`.
struct Calls;

impl Dialect for Calls {
    fn name(&self) -> &'static str {
        "calls"
    }

    fn shape(&self) -> &'static str {
        "`{\"calls\": [{\"call\", \"with\"}]}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        if document.root.has("calls") {
            MatchConfidence::Certain
        } else {
            MatchConfidence::No
        }
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        let mut findings = DiagnosticSink::new();
        let calls = document
            .root
            .get("calls")
            .and_then(Item::as_list)
            .unwrap_or(&[]);
        let mut steps = Vec::new();
        for (position, call) in calls.iter().enumerate() {
            let Some(mut fields) = Fields::of(call, "the call", &mut findings) else {
                continue;
            };
            let tool = fields.required_text("call", &mut findings);
            let mut before = Before {
                position,
                findings: &mut findings,
            };
            let args = match fields.optional("with") {
                Some(with) => lower(with, &mut before),
                None => Node::object(Vec::<Field>::new(), call.place),
            };
            fields.finish(&mut findings);
            if let Some((tool, place)) = tool {
                let tool = Name {
                    text: Arc::clone(tool),
                    place,
                };
                let step = Step::new(StepId::new(id(position)), Action::Tool(tool), args);
                steps.push(Step {
                    place: call.place,
                    ..step
                });
            }
        }
        let diagnostics = findings.finish(&document.source);
        let plan = Plan {
            steps,
            place: document.root.place,
            sources: Sources::one(document.source),
            ..Plan::default()
        };
        (Some(plan), diagnostics)
    }

    fn print(&self, _: &Plan) -> (Option<String>, Diagnostics) {
        let message = "plans are only read in this dialect";
        let finding = Diagnostic::error(Code::Unprintable, message);
        (None, [finding].into_iter().collect())
    }
}

/// The meaning of `<1`, `<2`, … in the call at `position`. Everything else is literal.
struct Before<'a> {
    position: usize,
    findings: &'a mut DiagnosticSink,
}

impl ReferenceSyntax for Before<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let Some(digits) = text.strip_prefix('<') else {
            return NodeKind::Literal(Arc::clone(text).into());
        };
        let back: Option<usize> = digits.parse().ok().filter(|back| *back > 0);
        match back.and_then(|back| self.position.checked_sub(back)) {
            Some(position) => {
                let read = Read::whole(Source::Step(StepId::new(id(position))));
                NodeKind::Reference(Reference::read(read, Arc::clone(text), place))
            }
            None => {
                let message = format!("`{text}` is not a call before this one");
                self.findings
                    .push(place, Diagnostic::error(Code::UnknownStep, message));
                NodeKind::Literal(Arc::clone(text).into())
            }
        }
    }
}

fn id(position: usize) -> String {
    format!("call {}", position + 1)
}

#[derive(Deserialize, JsonSchema)]
struct Join {
    parts: Vec<Sharable<String>>,
}

async fn join(args: Join) -> Result<String, ToolError> {
    let parts: Vec<String> = args.parts.into_iter().map(Sharable::into_inner).collect();
    Ok(parts.join("-"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let functions = Functions::new().with(Function::new("join", join));
    let planwright = Planwright::builder().functions(functions).open().await?;
    for text in [
        r#"{"calls": [
            {"call": "join", "with": {"parts": ["a", "b"]}},
            {"call": "join", "with": {"parts": ["<1", "c"]}},
            {"call": "join", "with": {"parts": ["<1", "<2"]}}
        ]}"#,
        r#"{"calls": [{"call": "joyn", "with": {"parts": ["<1"]}}]}"#,
    ] {
        let read = parse_as(&Calls, text.as_bytes(), &ReadOptions::new("calls.json"));
        match planwright.check(read) {
            Ok(plan) => println!("{}", planwright.run(plan).await?.output),
            Err(Error::Rejected(findings)) => println!("{findings}"),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
