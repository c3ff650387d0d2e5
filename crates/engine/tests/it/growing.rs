//! Runs with an open plan: they last until they are closed, within all other limits.

use std::time::Duration;

use planwright_core::check::{CheckContext, CheckedPlan};
use planwright_core::plan::{Approval, Node};
use planwright_core::{Place, Plan, Step, Value};
use planwright_engine::backend::{Backends, Function, Functions, ToolOutput};
use planwright_engine::options::PlanState;
use planwright_engine::{
    Engine, Guards, RunEvent, RunHandle, RunOptions, RunStatus, StampedEvent, StepStatus,
};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::drive::{catalog, sound};

fn plan(id: &str, approval: Approval) -> Plan {
    let args = Node::literal(Value::empty_object(), Place::NOWHERE);
    let mut step = Step::call(id, "t", args);
    step.approval = approval;
    Plan {
        steps: vec![step],
        ..Plan::default()
    }
}

/// A run with an open plan: the first step `a`, and the plan with the further step `b`.
fn growing(
    guards: Guards,
    approval: Approval,
) -> (RunHandle, UnboundedReceiver<StampedEvent>, CheckedPlan) {
    let options = RunOptions {
        plan_state: PlanState::Open,
        guards,
        ..RunOptions::default()
    };
    let first = sound(plan("a", approval));
    let tool = Function::raw("t", |args| async move { Ok(ToolOutput::value(args)) });
    let engine = Engine::new(Backends::new().with("s", Functions::named("s").with(tool)));
    let (handle, events) = engine.with_options(options).start("r", first.clone());
    let catalog = catalog();
    let (longer, findings) =
        first.extend(plan("b", Approval::AsTool), &CheckContext::new(&catalog));
    let longer = longer.unwrap_or_else(|| panic!("{findings:#?}"));
    (handle, events, longer)
}

#[tokio::test(start_paused = true)]
async fn a_growing_run_ends_when_its_time_is_up() {
    let guards = Guards::new().wall_time(Duration::from_secs(1));
    let (mut handle, _events, longer) = growing(guards, Approval::AsTool);
    let a_day = Duration::from_hours(24);
    let summary = tokio::time::timeout(a_day, &mut handle).await;
    let summary = summary.expect("the run lives on");
    assert_eq!(summary.duration.as_secs(), 1);
    assert!(handle.extend(longer).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_growing_run_that_waits_for_a_person_takes_further_steps() {
    let (handle, mut events, longer) = growing(Guards::new(), Approval::Ask);
    while !matches!(
        events.recv().await.unwrap().event,
        RunEvent::ApprovalAsked { .. }
    ) {}
    // The undecided answer was read, and nothing else is left to do.
    tokio::time::sleep(Duration::from_secs(1)).await;
    handle.extend(longer).unwrap();
    while !matches!(
        events.recv().await.unwrap().event,
        RunEvent::StepEnded { .. }
    ) {}
    handle.close();
    let summary = handle.await;
    assert_eq!(summary.status, RunStatus::Waiting);
    let statuses: Vec<StepStatus> = summary.steps.iter().map(|step| step.status).collect();
    assert_eq!(statuses, [StepStatus::Waiting, StepStatus::Succeeded]);
}
