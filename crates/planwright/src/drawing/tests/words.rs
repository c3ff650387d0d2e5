//! Plans as lists, and single steps in full.

use insta::assert_snapshot;
use planwright_core::Step;
use planwright_core::plan::{Action, Node, PlanCall, PlanTarget};
use planwright_core::{Place, StepId, Value};

use super::{Drawing, Mark, Style, Symbols, after, checked, of_step, plan, step};

/// `step` with a title.
fn titled(mut step: Step, title: &str) -> Step {
    step.title = Some(title.into());
    step
}

fn diamond() -> Vec<Step> {
    vec![
        titled(step("1", "read_file", &[]), "Read the module"),
        titled(step("find", "search", &["1"]), "Find usages"),
        after(step("3", "write_file", &[]), &["1"]),
        step("4", "run_tests", &["find", "3"]),
    ]
}

#[test]
fn a_line_a_step() {
    let mut drawing = Drawing::of(&checked(plan(diamond())));
    drawing.mark("1", Mark::Succeeded);
    assert_snapshot!(drawing.list(&Style::default()), @r"
    ✓ 1. Read the module [read_file]
    ● 2. find: Find usages [search]  ← after: 1  ∥
    ● 3. 3 [write_file]  ← after: 1  ∥
    ● 4. 4 [run_tests]  ← after: 2, 3
    ");
    let ascii = Style {
        symbols: Symbols::Ascii,
        width: Some(30),
        colour: false,
    };
    let list = drawing.list(&ascii);
    assert!(list.is_ascii(), "{list}");
    assert!(list.lines().all(|line| line.len() <= 30), "{list}");
    assert_eq!(
        Drawing::of_unchecked(&plan(vec![])).list(&Style::default()),
        "(no steps)\n"
    );
}

/// Steps that wait for each other run at no time, so none of them is beside another.
#[test]
fn steps_of_a_cycle_are_not_parallel() {
    let steps = vec![
        step("a", "t", &["b"]),
        step("b", "t", &["a"]),
        step("c", "t", &["b"]),
    ];
    assert_snapshot!(Drawing::of_unchecked(&plan(steps)).list(&Style::default()), @r"
    ● 1. a [t]  ← after: 2
    ● 2. b [t]  ← after: 1
    ● 3. c [t]  ← after: 2
    ");
}

#[test]
fn a_step_in_full() {
    let mut steps = diamond();
    if let Some(step) = steps.get_mut(1) {
        step.when = Some(of_step("1"));
        let args = Value::object([("words", Value::from("a\nb"))]);
        step.args = Node::literal(args, Place::NOWHERE);
    }
    let inner = plan(vec![step("x", "get", &[])]);
    let call = PlanCall {
        target: PlanTarget::Inline(Box::new(inner)),
        scopes: Vec::new(),
    };
    let nothing = Node::literal(Value::empty_object(), Place::NOWHERE);
    steps.push(Step::new(StepId::new("in"), Action::Plan(call), nothing));
    let drawing = Drawing::of_unchecked(&plan(steps));
    let shown = |id: &str| drawing.step(id, &Style::default());
    assert_snapshot!(shown("find").unwrap(), @r#"
    ● find  search
      when ${1}
      Find usages
      arguments:
        words  "a\nb"
      waits for 1
      is awaited by 4
    "#);
    assert_snapshot!(shown("4").unwrap(), @r"
    ● 4  run_tests
      arguments:
        find  ${find}  ← find
        3     ${3}  ← 3
      waits for find, 3
    ");
    assert_snapshot!(shown("in/x").unwrap(), @"● in/x  get");
    assert_eq!(shown("y"), None);
    assert_eq!(shown("in/y"), None);
}
