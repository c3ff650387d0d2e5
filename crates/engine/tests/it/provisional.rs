//! Open and provisional plans: they last until they are closed, and have the same outcome as the whole plan.

use std::collections::BTreeSet;
use std::time::Duration;

use planwright_core::check::{CheckContext, CheckedPlan, check};
use planwright_core::plan::{Action, Approval, Node};
use planwright_core::{Annotations, Catalog, Place, Plan, Step, Tool, Value};
use planwright_engine::backend::{
    Backends, ErrorKind, Function, Functions, ToolCall, ToolError, ToolOutput,
};
use planwright_engine::options::PlanState;
use planwright_engine::run::{Effect, RunInput, RunMachine};
use planwright_engine::schedule::TaskId;
use planwright_engine::{
    Engine, Guards, RunEvent, RunHandle, RunOptions, RunStatus, RunSummary, StampedEvent,
    StepStatus,
};
use proptest::prelude::*;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::properties::{plan as random_plan, seed};

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
    let (handle, events) = engine
        .with_options(options)
        .start("r".parse().unwrap(), first.clone());
    let catalog = catalog();
    let (longer, diagnostics) =
        first.extend(plan("b", Approval::AsTool), &CheckContext::new(&catalog));
    let longer = longer.unwrap_or_else(|| panic!("{diagnostics:#?}"));
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

/// `t` may change something, `r` merely reads.
fn catalog() -> Catalog {
    let reads = Tool {
        annotations: Annotations {
            read_only: true,
            trusted: true,
            ..Annotations::default()
        },
        ..Tool::new("s", "r")
    };
    [Tool::new("s", "t"), reads].into_iter().collect()
}

fn sound(plan: Plan) -> CheckedPlan {
    let catalog = catalog();
    let (checked, diagnostics) = check(plan, &CheckContext::new(&catalog));
    checked.unwrap_or_else(|| panic!("rejected: {diagnostics:#?}"))
}

/// A run whose calls end when the test decides.
struct Hand<'a> {
    run: RunMachine,
    effects: Vec<Effect>,
    in_flight: Vec<(TaskId, ToolCall)>,
    failing: &'a BTreeSet<String>,
    is_closed: bool,
    early: usize,
    clock: u64,
}

impl<'a> Hand<'a> {
    fn new(plan: CheckedPlan, plan_state: PlanState, failing: &'a BTreeSet<String>) -> Self {
        let options = RunOptions {
            plan_state,
            ..RunOptions::default()
        };
        let mut hand = Self {
            run: RunMachine::new("run".parse().unwrap(), plan, options),
            effects: Vec::new(),
            in_flight: Vec::new(),
            failing,
            is_closed: plan_state == PlanState::Complete,
            early: 0,
            clock: 0,
        };
        hand.run.start(&mut hand.effects);
        hand.go_on();
        hand
    }

    fn tell(&mut self, input: RunInput) {
        self.clock += 1;
        let now = Duration::from_millis(self.clock);
        self.run.handle(input, now, &mut self.effects);
        self.go_on();
    }

    fn go_on(&mut self) {
        self.run.proceed(&mut self.effects);
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Call { task, call, .. } => {
                    let is_harmless = &*call.tool.name == "r";
                    assert!(
                        is_harmless || self.is_closed,
                        "{} is early",
                        call.context.step
                    );
                    self.early += usize::from(!self.is_closed);
                    self.in_flight.push((task, *call));
                }
                Effect::Abort(task) => self.in_flight.retain(|(other, _)| *other != task),
                _ => {}
            }
        }
    }

    fn end_one(&mut self, choice: usize) {
        let (task, call) = self.in_flight.remove(choice % self.in_flight.len());
        let result = if self.failing.contains(call.context.step.as_str()) {
            Err(ToolError::new(ErrorKind::Tool, "no"))
        } else {
            Ok(ToolOutput::value(Value::object([
                ("of", Value::from(call.context.step.as_str())),
                ("args", call.args.clone()),
            ])))
        };
        let attempt = call.context.attempt;
        self.tell(RunInput::AttemptEnded {
            task,
            attempt,
            result,
        });
    }

    fn finish(mut self) -> RunSummary {
        while !self.in_flight.is_empty() {
            self.end_one(0);
        }
        assert!(self.run.is_done());
        self.run.summary()
    }
}

/// The parts of the outcome that do not depend on the order of completion.
fn outcome(summary: &RunSummary) -> (RunStatus, String, Vec<String>) {
    let steps = summary.steps.iter();
    let steps = steps.map(|step| format!("{} {} {:?}", step.at, step.status, step.output));
    (summary.status, summary.output.to_json(), steps.collect())
}

proptest! {
    #[test]
    fn a_plan_that_comes_bit_by_bit_comes_to_the_same(
        seeds in prop::collection::vec(seed(), 1..14),
        reads in prop::collection::vec(prop::bool::weighted(0.7), 14),
        bits in prop::collection::vec(1..4_usize, 14),
        choices in prop::collection::vec(any::<u8>(), 1..60),
    ) {
        let (mut plan, failing) = random_plan(&seeds);
        for (step, reads) in plan.steps.iter_mut().zip(reads) {
            if let (true, Action::Tool(name)) = (reads, &mut step.action) {
                name.text = "r".into();
            }
        }
        let whole = sound(plan.clone());
        let mut lengths = bits.iter().scan(0, |length, bit| {
            *length += bit;
            (*length < plan.steps.len()).then_some(*length)
        });
        let first = lengths.next().unwrap_or(plan.steps.len());
        let mut hand = Hand::new(sound(plan.beginning(first)), PlanState::Provisional, &failing);
        let mut choices = choices.iter().map(|choice| usize::from(*choice)).cycle();
        let mut rest: Vec<CheckedPlan> = lengths.map(|steps| sound(plan.beginning(steps))).collect();
        rest.push(whole.clone());
        rest.reverse();
        while !rest.is_empty() {
            let choice = choices.next().unwrap();
            if choice % 3 > 0 && !hand.in_flight.is_empty() {
                hand.end_one(choice / 3);
            } else if let Some(longer) = rest.pop() {
                prop_assert!(!hand.run.is_done());
                hand.tell(RunInput::Extend(longer));
            }
        }
        hand.is_closed = true;
        hand.tell(RunInput::Close);
        let bit_by_bit = hand.finish();
        let at_once = Hand::new(whole, PlanState::Complete, &failing).finish();
        prop_assert_eq!(outcome(&bit_by_bit), outcome(&at_once));
        prop_assert_eq!(bit_by_bit.digest, at_once.digest);
    }

    #[test]
    fn a_plan_that_is_cancelled_has_changed_nothing(seeds in prop::collection::vec(seed(), 1..14)) {
        let (plan, failing) = random_plan(&seeds);
        let mut hand = Hand::new(sound(plan), PlanState::Provisional, &failing);
        hand.tell(RunInput::Cancel);
        prop_assert!(hand.run.is_done());
        prop_assert_eq!(hand.early, 0);
        prop_assert_eq!(hand.run.summary().status, RunStatus::Cancelled);
    }
}
