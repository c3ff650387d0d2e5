//! The argument pass: missing, unknown and wrong arguments, and the schemas of steps that extract data.

mod answers;
mod bound_values;
mod computed;
mod extraction;
mod joined;
mod lists;
mod loops;
mod names;
mod numbers;
mod texts;
mod values;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

pub(in crate::check) use self::extraction::check_extraction;
use super::positional::{ArgumentReceiver, named_arguments, with_shape};
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::type_inference::TypeInference;
use crate::plan::{Action, Node, PlanCall, PlanTarget};
use crate::{Code, Hashing, Place, Plan, Schema, Severity, Step, Tool, ToolName, Value};

/// Checks the arguments of a step, and the list of its loop. `malformed` has the tools whose malformed schemas were reported.
pub(in crate::check) fn check(
    resolved: &ResolvedPlan<'_>,
    types: &TypeInference<'_>,
    (index, step): (u32, &Step),
    malformed: &mut HashSet<ToolName>,
    reporter: &mut Reporter<'_>,
) {
    let pass = ArgumentPass {
        resolved,
        types,
        index,
        step,
        fields: OnceCell::new(),
        renamed: OnceCell::new(),
    };
    pass.check_loop(reporter);
    match &step.action {
        Action::Tool(name) => {
            let Some(tool) = resolved.tool(index).filter(|tool| !tool.input.is_any()) else {
                return;
            };
            // A malformed schema is reported once per tool, not for each call.
            if let Some(reason) = pass.check_tool_call(tool, reporter)
                && malformed.insert(tool.qualified_name())
            {
                let message = format!(
                    "the input schema of the tool `{}` is malformed: {reason}",
                    tool.name
                );
                let diagnostic = reporter
                    .warning(Code::InvalidSchema, name.place, message)
                    .help("its arguments are not checked");
                reporter.push(diagnostic);
            }
        }
        Action::Plan(call) => {
            if let Some(plan) = resolved.sub_plan(index) {
                pass.check_plan_call(call, plan.plan(), reporter);
            }
        }
        Action::Value(_) => {}
    }
}

struct ArgumentPass<'a> {
    resolved: &'a ResolvedPlan<'a>,
    types: &'a TypeInference<'a>,
    index: u32,
    step: &'a Step,
    /// The arguments by name, if known; computed on first use.
    fields: OnceCell<Option<NamedArguments>>,
    /// The arguments that are probably misspelt parameters of a tool, each with its name as written and as intended.
    renamed: OnceCell<Vec<(Arc<str>, Arc<str>)>>,
}

type NamedArguments = IndexMap<Arc<str>, Node, Hashing>;

impl ArgumentPass<'_> {
    /// Checks a tool call. Returns the reason if the tool's input schema is malformed.
    fn check_tool_call<'t>(&self, tool: &'t Tool, reporter: &mut Reporter<'_>) -> Option<&'t str> {
        let receiver = ArgumentReceiver {
            schema: &tool.input,
            name: format!("the tool `{}`", tool.name),
            argument: None,
        };
        let nothing;
        // `null` means no arguments, which tools receive as an empty object.
        let args = if self.step.args.as_literal() == Some(&Value::Null) {
            nothing = Node::literal(Value::empty_object(), self.step.args.place);
            &nothing
        } else {
            &self.step.args
        };
        let malformed = self.check_value(&receiver, args, reporter);
        if malformed.is_none() {
            self.warn_unlisted(&receiver, reporter);
        }
        malformed
    }

    fn check_plan_call(&self, call: &PlanCall, plan: &Plan, reporter: &mut Reporter<'_>) {
        // A plan without declared inputs accepts any arguments.
        if plan.inputs.is_empty() {
            return;
        }
        let name = match &call.target {
            PlanTarget::Named(name) => format!("the plan `{}`", name.text),
            PlanTarget::Inline(_) => format!("the plan of `{}`", self.step.id),
        };
        let Some(fields) = self.fields(reporter) else {
            return;
        };
        for input in &plan.inputs {
            match fields.get(&input.name) {
                Some(node) => {
                    let schema = Schema::from_value(input.schema.clone());
                    if schema.is_any() {
                        continue;
                    }
                    let receiver = ArgumentReceiver {
                        schema: &schema,
                        name: name.clone(),
                        argument: Some(Arc::clone(&input.name)),
                    };
                    // A malformed schema is reported by the check of that plan.
                    let _ = self.check_value(&receiver, node, reporter);
                }
                None if input.default.is_none() && !reporter.count_if_full(Severity::Error) => {
                    let message = format!("{name} needs the argument `{}`", input.name);
                    let diagnostic = reporter.error(Code::MissingArgument, self.place(), message);
                    let schema = Schema::from_value(input.schema.clone());
                    reporter.push(with_shape(diagnostic, Some(schema.structure().clone())));
                }
                None => {}
            }
        }
        let known: HashSet<&str, Hashing> = plan.inputs.iter().map(|input| &*input.name).collect();
        for (key, node) in fields {
            if known.contains(&**key) || reporter.count_if_full(Severity::Error) {
                continue;
            }
            let message = format!("{name} has no input `{key}`");
            let mut diagnostic = reporter.error(Code::UnknownArgument, node.place, message);
            let inputs = plan.inputs.iter().map(|input| &*input.name);
            diagnostic.help = reporter.advice(key, "inputs", inputs);
            reporter.push(diagnostic);
        }
    }

    fn fields(&self, reporter: &Reporter<'_>) -> Option<&NamedArguments> {
        let fields = self.fields.get_or_init(|| {
            let named = named_arguments(&self.step.args, reporter)?;
            Some(
                named
                    .into_iter()
                    .map(|field| (field.key, field.value))
                    .collect(),
            )
        });
        fields.as_ref()
    }

    fn place(&self) -> Place {
        self.place_or_step(&self.step.args)
    }

    /// Returns the source place of `node`, or else that of the step.
    fn place_or_step(&self, node: &Node) -> Place {
        if node.place == Place::NOWHERE {
            self.step.place
        } else {
            node.place
        }
    }
}
