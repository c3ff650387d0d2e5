//! Tests of printing: losses and their advice.

use planwright_core::plan::{Action, Method, Name, Node, SlotKind, SlotPath, Targets, Writes};
use planwright_core::{Place, Plan, Step, StepId, Value};

use crate::native::print::print;

/// Compares the diagnostics of a step that writes `targets`, or else the step as it is written.
#[track_caller]
fn check(targets: Targets, expected: &str) {
    let tool = Name {
        text: "t".into(),
        place: Place::NOWHERE,
    };
    let mut step = Step::new(StepId::new("a"), Action::Tool(tool), Node::default());
    step.writes = Some(Writes {
        targets,
        method: Method::Set,
        place: Place::NOWHERE,
    });
    let mut plan = Plan::default();
    plan.steps.push(step);
    let (printed, diagnostics) = print(&plan);
    let mut shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    if let Some(printed) = printed {
        let plan = Value::from_json(&printed).unwrap();
        let steps = plan.as_object().unwrap()["steps"].as_list().unwrap();
        shown.push(steps[0].to_json());
    }
    assert_eq!(shown, [expected]);
}

fn slot(name: &str) -> SlotPath {
    SlotPath {
        kind: SlotKind::State,
        keys: vec![name.into()],
        place: Place::NOWHERE,
    }
}

#[test]
fn a_slot_whose_name_is_too_long() {
    let name = format!("state.{}…", "x".repeat(54));
    check(
        Targets::All(vec![slot(&"x".repeat(4000))]),
        &format!(
            "PW0901: the native dialect cannot say the slot `{name}`, whose name is too long (give it a shorter name)"
        ),
    );
}

#[test]
fn a_choice_that_is_none() {
    let diagnostic = "PW0901: the native dialect cannot say a choice among less than two slots (give one slot for success and one for failure)";
    check(Targets::OneOf(vec![]), diagnostic);
    check(Targets::OneOf(vec![slot("x")]), diagnostic);
    check(
        Targets::OneOf(vec![slot("x"), slot("y")]),
        r#"{"id":"a","tool":"t","writes":{"one_of":["state.x","state.y"]}}"#,
    );
}

#[test]
fn no_slots_are_nothing() {
    check(Targets::All(vec![]), r#"{"id":"a","tool":"t"}"#);
    check(
        Targets::All(vec![slot("x")]),
        r#"{"id":"a","tool":"t","writes":"state.x"}"#,
    );
}
