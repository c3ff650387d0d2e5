//! What cannot be written as native, and the way out.

use planwright_core::plan::{Action, Method, Name, Node, SlotKind, SlotPath, Targets, Writes};
use planwright_core::{Place, Plan, Step, StepId};

use crate::native::print::print;

#[test]
fn a_slot_whose_name_is_too_long() {
    let tool = Name {
        text: "t".into(),
        place: Place::NOWHERE,
    };
    let mut step = Step::new(StepId::new("a"), Action::Tool(tool), Node::default());
    let slot = SlotPath {
        kind: SlotKind::State,
        keys: vec!["x".repeat(4000).into()],
        place: Place::NOWHERE,
    };
    step.writes = Some(Writes {
        targets: Targets::All(vec![slot]),
        method: Method::Set,
        place: Place::NOWHERE,
    });
    let mut plan = Plan::default();
    plan.steps.push(step);
    let (printed, findings) = print(&plan);
    assert_eq!(printed, None);
    let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let name = format!("state.{}…", "x".repeat(54));
    assert_eq!(
        shown,
        [format!(
            "PW0901: the native dialect cannot say the slot `{name}`, whose name is too long (give it a shorter name)"
        )]
    );
}
