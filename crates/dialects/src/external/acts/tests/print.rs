//! Tests of printing.

use planwright_core::plan::{
    Action, Input, InputKind, Mode, Name, Node, Ordering, Output, Path, Read, Reference, Segment,
    SlotKind, Source, Step, Targets, Writes,
};
use planwright_core::{Object, Place, Plan, StepId, Value};

use super::{described, parsed, sound};
use crate::acts::Acts;
use crate::dialect::Dialect;

/// Checks that the plan in `text` is written as `wanted`, whitespace aside.
#[track_caller]
fn check(text: &str, wanted: &str) {
    let plan = sound(text);
    let (written, diagnostics) = Acts.print(&plan);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    let written = written.expect(text);
    let compact = |text: &str| Value::from_json(text).expect(text).to_json();
    assert_eq!(compact(&written), compact(wanted), "{text}");
    assert_eq!(described(&sound(&written)), described(&plan), "{text}");
}

#[test]
fn plans_of_this_dialect() {
    let cases = [
        (r#"[{"_tool": "a"}]"#, r#"{"calls": [{"_tool": "a"}]}"#),
        (
            r#"[{"_outputPath": "†state.x||†state.e", "_tool": "a", "v": " †input.a ", "w": "††", "__k": 1},
                {"_tool": "a", "_activity": "b", "_outputPath": "†data.x", "_outputMethod": "concat",
                 "_reasoningForCall": "why"}]"#,
            r#"{"calls": [
                {"_tool": "a", "v": "†input.a", "w": "††", "__k": 1, "_outputPath": "†state.x || †state.e"},
                {"_tool": "a", "_reasoningForCall": "why", "_activity": "b", "_outputPath": "†data.x",
                 "_outputMethod": "concat"}]}"#,
        ),
        (
            r#"{"context": [{"type": "state", "state": {"_w": 1}, "_instance": 1}, {"type": "text", "text": "hi"},
                  {"type": "input", "input": {"a": 1}}, {"type": "data", "u": 2},
                  {"type": "state", "schema": {"type": "object"}}, {"type": "state"}],
                "calls": [{"_tool": "a", "_instance": "1", "_delegate": "p", "_scopes": ["data"]},
                  {"_tool": "b", "_output": ["†state.x && †state.y"]}],
                "output": {"x": "†state.x", "y": "††"}, "meta": {"m": 1}}"#,
            r#"{"meta": {"m": 1},
                "context": [{"type": "text", "text": "hi"}, {"type": "state", "schema": {"type": "object"}},
                  {"type": "state", "_instance": "1", "state": {"_w": 1}}, {"type": "input", "a": 1},
                  {"type": "data", "data": {"u": 2}}, {"type": "state", "state": {}}],
                "calls": [{"_tool": "a", "_delegate": "p", "_scopes": ["data"], "_instance": "1"},
                  {"_tool": "b", "_output": ["†state.x && †state.y"]}],
                "output": {"x": "†state.x", "y": "††"}}"#,
        ),
        (
            r#"{"mode": "lazy", "calls": [{"_tool": "a"}], "output": "†state.a"}"#,
            r#"{"context": [{"type": "plan", "plan": [{"_tool": "a"}], "mode": "lazy"}], "output": "†state.a"}"#,
        ),
        (
            r#"{"mode": "lazy", "context": [{"type": "plan", "plan": []}], "calls": [{"_tool": "a"}]}"#,
            r#"{"context": [{"type": "plan", "plan": []}], "calls": [{"_tool": "a"}], "mode": "lazy"}"#,
        ),
        (
            r#"{"mode": "eager", "context": [{"type": "plan", "plan": [], "mode": "lazy"}], "calls": [{"_tool": "a"}]}"#,
            r#"{"context": [{"type": "plan", "plan": [], "mode": "lazy"}], "calls": [{"_tool": "a"}], "mode": "eager"}"#,
        ),
    ];
    for (text, wanted) in cases {
        check(text, wanted);
    }
}

fn reference(source: Source, path: Path) -> Node {
    Node::reference(Reference::read(
        Read::part(source, path),
        "x",
        Place::NOWHERE,
    ))
}

fn args(fields: impl IntoIterator<Item = (&'static str, Node)>) -> Node {
    let fields = fields
        .into_iter()
        .map(|(key, value)| planwright_core::plan::Field {
            key: key.into(),
            value,
        });
    Node::object(fields.collect(), Place::NOWHERE)
}

fn no_args() -> Node {
    Node::literal(Value::empty_object(), Place::NOWHERE)
}

fn output_of(step: &str, path: Path) -> Node {
    reference(Source::Step(StepId::from(step)), path)
}

/// The text of `plan` on one line, and the diagnostics.
fn written(plan: &Plan) -> String {
    let (text, diagnostics) = Acts.print(plan);
    let mut lines: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| format!("{:?}: {}", diagnostic.severity, diagnostic.message))
        .collect();
    if let Some(text) = text {
        let result = parsed(&text);
        assert!(
            !result.diagnostics.has_errors(),
            "{text}: {:?}",
            result.diagnostics
        );
        lines.push(Value::from_json(&text).expect("what was written").to_json());
    }
    lines.join("\n")
}

#[test]
fn steps_that_refer_to_steps() {
    let mut first = Step::call("first", "fetch", no_args());
    let second = Step::call(
        "second",
        "use",
        args([
            ("all", output_of("first", Path::new())),
            (
                "item",
                output_of("first", vec![Segment::key("a"), Segment::Index(0)]),
            ),
        ]),
    );
    let plan = |first: &Step| Plan {
        steps: vec![first.clone(), second.clone()],
        output: Output::Value(output_of("second", Path::new())),
        ..Plan::default()
    };
    let warning = "Warning: the acts dialect cannot express that a missing value fails the step\n";
    assert_eq!(
        written(&plan(&first)),
        format!(
            "{warning}{}",
            r#"{"calls":[{"_tool":"first","_activity":"fetch","_outputPath":"†state.first"},{"_tool":"second","_activity":"use","all":"†state.first","item":"†state.first.a.0","_outputPath":"†state.second"}],"output":"†state.second"}"#
        )
    );
    let slot = |kind: SlotKind, key: &str| planwright_core::plan::SlotPath {
        kind,
        keys: vec![key.into()],
        place: Place::NOWHERE,
    };
    let writes = |targets: Targets| Writes {
        targets,
        method: planwright_core::plan::Method::Set,
        place: Place::NOWHERE,
    };
    first.writes = Some(writes(Targets::All(vec![slot(SlotKind::Data, "mine")])));
    assert!(written(&plan(&first)).contains(
        r#""_outputPath":"†data.mine"},{"_tool":"second","_activity":"use","all":"†data.mine""#
    ));
    // Another step writes there as well, so the output of the step needs its own slot.
    let mut both = plan(&first);
    let mut third = Step::call("third", "other", no_args());
    third.writes = Some(writes(Targets::All(vec![
        slot(SlotKind::Data, "mine"),
        slot(SlotKind::State, "first"),
    ])));
    both.steps.push(third);
    assert!(
        written(&both).contains(r#""_outputPath":"†data.mine && †state.first_2""#),
        "{}",
        written(&both)
    );
    first.writes = Some(writes(Targets::OneOf(vec![
        slot(SlotKind::State, "ok"),
        slot(SlotKind::State, "error"),
    ])));
    assert_eq!(
        written(&plan(&first)),
        format!(
            "Error: the acts dialect cannot express a reference to `first`, which does not simply store its output\n{}",
            warning.trim_end()
        )
    );
}

#[test]
fn what_cannot_be_said() {
    let step = |id: &str, tool: &str, node: Node| Step::call(id, tool, args([("v", node)]));
    let literal = || Node::literal(Value::Null, Place::NOWHERE);
    let one = |step: Step| Plan {
        steps: vec![step],
        ..Plan::default()
    };
    let state = |segment: Segment| reference(Source::Slot(SlotKind::State), vec![segment]);
    let text = Node {
        kind: planwright_core::plan::NodeKind::Text(vec![
            planwright_core::plan::TextPart::Literal("x".into()),
            {
                planwright_core::plan::TextPart::Reference(Reference::read(
                    Read::whole(Source::Slot(SlotKind::State)),
                    "x",
                    Place::NOWHERE,
                ))
            },
        ]),
        place: Place::NOWHERE,
    };
    let mut variable = step("a", "a", literal());
    variable.writes = Some(Writes {
        targets: Targets::All(vec![planwright_core::plan::SlotPath {
            kind: SlotKind::Vars,
            keys: vec!["v".into(), "w".into()],
            place: Place::NOWHERE,
        }]),
        method: planwright_core::plan::Method::Set,
        place: Place::NOWHERE,
    });
    let mut conditional = step("a", "a", literal());
    conditional.when = Some(literal());
    conditional.after = vec![Name {
        text: "b".into(),
        place: Place::NOWHERE,
    }];
    let cases: [(Plan, &str); 10] = [
        (
            one(step("a", "a", state(Segment::Each))),
            "a path that maps over a list",
        ),
        (one(step("a", "a", text)), "a reference inside of a text"),
        (
            one(step("a", "a", reference(Source::Item, Path::new()))),
            "the reference `x`",
        ),
        (
            one(step(
                "a",
                "a",
                reference(Source::Slot(SlotKind::Vars), Path::new()),
            )),
            "the reference `x`",
        ),
        (one(variable), "that a step writes `vars.v.w`"),
        (
            one(conditional),
            "a condition\nError: the acts dialect cannot express that step `a` comes after `b` without using its output",
        ),
        (
            one(Step::new("a".into(), Action::Value(literal()), no_args())),
            "a step whose value is `null`",
        ),
        (
            Plan {
                steps: vec![step("a", "a", literal()), step("a", "a", literal())],
                ..Plan::default()
            },
            "the id `a` of a step",
        ),
        (
            Plan {
                ordering: Ordering::Listed,
                steps: vec![step("a", "a", literal()), step("b", "b", literal())],
                ..Plan::default()
            },
            "that step `b` comes after `a` without using its output",
        ),
        (
            Plan {
                output: Output::Value(literal()),
                ..one(step("a", "a", literal()))
            },
            "an output of `null`",
        ),
    ];
    for (plan, wanted) in cases {
        assert_eq!(
            written(&plan),
            format!("Error: the acts dialect cannot express {wanted}")
        );
    }
}

#[test]
fn what_is_lost_without_harm() {
    let input = |name: &str, default: Option<Value>, kind: InputKind| Input {
        name: name.into(),
        kind,
        schema: Value::object([("type", Value::from("integer"))]),
        default,
        place: Place::NOWHERE,
    };
    let plan = Plan {
        name: Some("n".into()),
        mode: Mode::Run,
        inputs: vec![
            input("a", Some(Value::from(1_i64)), InputKind::Input),
            input("b", None, InputKind::Variable),
        ],
        steps: vec![
            Step::call("a", "a", no_args()),
            Step::call("a#2", "a", no_args()),
            Step::call("x", "a", no_args()),
        ],
        metadata: Object::from_iter([("query".into(), Value::from("q"))]).into(),
        ..Plan::default()
    };
    assert_eq!(
        written(&plan),
        "Warning: the acts dialect cannot express the plan's name\n\
         Warning: the acts dialect cannot express the field `query` of the plan's metadata\n\
         Warning: the acts dialect cannot express the schema of the input `a`\n\
         Warning: the acts dialect cannot express that the input `b` is required\n\
         Warning: the acts dialect cannot express that the input `b` is a variable\n\
         Warning: the acts dialect cannot express the schema of the input `b`\n\
         {\"context\":[{\"type\":\"input\",\"schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\
         \"b\":{\"type\":\"integer\"}}}},{\"type\":\"input\",\"a\":1}],\"calls\":[{\"_tool\":\"a\"},{\"_tool\":\"a\"},\
         {\"_tool\":\"x\",\"_activity\":\"a\"}]}"
    );
}

#[test]
fn messages_of_the_metadata() {
    let check = |context: &str, is_same: bool| {
        let metadata = Object::from_iter([("context".into(), Value::from_json(context).unwrap())]);
        let plan = Plan {
            steps: vec![Step::call("a", "a", no_args())],
            metadata: metadata.into(),
            ..Plan::default()
        };
        let calls = r#""calls":[{"_tool":"a"}]"#;
        let expected = if is_same {
            format!("{{\"context\":{context},{calls}}}")
        } else {
            format!(
                "Warning: the acts dialect cannot express the field `context` of the plan's metadata\n{{{calls}}}"
            )
        };
        assert_eq!(written(&plan), expected);
        sound(expected.lines().last().unwrap());
    };
    check(r#"[{"role":"user"},{"call":{},"error":"e"}]"#, true);
    check(
        r#"[{"type":"text","text":"t"},{"type":"plan","plan":[]}]"#,
        true,
    );
    check(
        r#"[{"type":"plan","mode":"eager"},{"type":"plan","mode":null}]"#,
        true,
    );
    check(r#"[{"type":"text"},[]]"#, false);
    check(r#"[{"type":"plan","mode":"slow"}]"#, false);
    check(r#"[{"type":null,"role":"user"}]"#, false);
    check(r#"[{"type":"state","a":1}]"#, false);
    check(r#"[{"text":"t"}]"#, false);
    check(r#""text""#, false);
}
