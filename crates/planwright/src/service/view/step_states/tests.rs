//! States of steps by the entries of a journal.

use planwright_core::{StepId, Tool, Value};
use planwright_engine::approval::CallSubject;
use planwright_engine::backend::ToolOutput;
use planwright_engine::{RunStatus, ToolError};

use super::*;

fn step(id: &str) -> Address {
    Address {
        inside: None,
        instance: None,
        step: StepId::new(id),
        item: None,
        round: None,
    }
}

fn item(id: &str, item: u64) -> Address {
    Address {
        item: Some(item),
        ..step(id)
    }
}

fn round(id: &str, round: u64) -> Address {
    Address {
        round: Some(round),
        ..step(id)
    }
}

fn inside(outer: Address, id: &str) -> Address {
    Address {
        inside: Some(Arc::new(outer)),
        ..step(id)
    }
}

fn sent(at: &Address, attempt: u32) -> Record {
    Record::Sent {
        at: Arc::new(at.clone()),
        server: "shop".into(),
        tool: "refund".into(),
        attempt,
        args: Value::Null,
        consent: None,
    }
}

fn answered(at: &Address, attempt: u32) -> Record {
    Record::Answered {
        at: Arc::new(at.clone()),
        attempt,
        result: Ok(ToolOutput::value(Value::Null)),
    }
}

fn asked(at: &Address) -> Record {
    Record::Asked {
        at: Arc::new(at.clone()),
        subject: Box::new(CallSubject::new(&Tool::new("shop", "refund"), Value::Null)),
        reason: None,
    }
}

fn decided(at: &Address) -> Record {
    Record::Decided {
        at: Arc::new(at.clone()),
        approved: true,
        changed_args: None,
        because: None,
    }
}

fn settled(at: &Address, status: StepStatus) -> Record {
    let error = (status == StepStatus::Failed).then(|| ToolError::tool("no", Value::Null));
    Record::Settled {
        at: Arc::new(at.clone()),
        status,
        output: None,
        error,
        handled: false,
        reason: None,
        started: None,
    }
}

/// A call of `at` that succeeds, and the end of `at`.
fn success(at: &Address) -> [Record; 3] {
    [
        sent(at, 1),
        answered(at, 1),
        settled(at, StepStatus::Succeeded),
    ]
}

fn states() -> StepStates {
    StepStates::new("0123456789abcdef".parse().expect("a run id"), 4)
}

/// Applies records, one each millisecond. Returns the addresses that the last one was about.
fn apply(states: &mut StepStates, records: impl IntoIterator<Item = Record>) -> Vec<String> {
    let mut changed = Vec::new();
    for record in records {
        let at = Duration::from_millis(states.entries() as u64);
        changed = states.entry(&Entry {
            at,
            turn: 0,
            record,
        });
    }
    changed
}

#[test]
fn a_call_runs_its_step_until_the_step_ends() {
    let mut states = states();
    let at = step("pay");
    assert_eq!(apply(&mut states, [sent(&at, 1)]), ["pay"]);
    let running = states.step("pay");
    assert_eq!(running.phase, StepPhase::Running);
    assert_eq!(running.tool.as_deref(), Some("refund"));
    assert_eq!((running.attempt, running.ended), (1, None));
    apply(
        &mut states,
        [answered(&at, 1), settled(&at, StepStatus::Failed)],
    );
    let failed = states.step("pay");
    assert_eq!(failed.phase, StepPhase::Failed);
    assert_eq!(failed.error.as_deref(), Some("no"));
    assert_eq!(failed.started, Some(Duration::ZERO));
    assert_eq!(failed.ended, Some(Duration::from_millis(2)));
    assert_eq!(states.step("other").phase, StepPhase::Pending);
    assert_eq!(states.addresses().collect::<Vec<_>>(), ["pay"]);
}

#[test]
fn items_are_counted_with_their_loop_and_have_no_state_of_their_own() {
    let mut states = states();
    let changed = apply(&mut states, [sent(&item("each", 0), 1)]);
    assert_eq!(changed, ["each"]);
    assert_eq!(states.step("each").phase, StepPhase::Running);
    apply(&mut states, success(&item("each", 1)));
    apply(&mut states, success(&item("each", 2)));
    assert_eq!(states.step("each").items_ended, 2);
    assert_eq!(states.addresses().collect::<Vec<_>>(), ["each"]);
    apply(
        &mut states,
        [
            settled(&item("each", 0), StepStatus::Failed),
            settled(&step("each"), StepStatus::Failed),
        ],
    );
    let ended = states.step("each");
    assert_eq!((ended.phase, ended.items_ended), (StepPhase::Failed, 3));
}

#[test]
fn rounds_are_counted_as_they_start() {
    let mut states = states();
    apply(&mut states, success(&round("poll", 0)));
    apply(&mut states, [sent(&round("poll", 1), 1)]);
    let state = states.step("poll");
    assert_eq!((state.phase, state.rounds), (StepPhase::Running, 2));
    apply(&mut states, [settled(&step("poll"), StepStatus::Succeeded)]);
    let ended = states.step("poll");
    assert_eq!((ended.phase, ended.rounds), (StepPhase::Succeeded, 2));
}

#[test]
fn a_step_of_an_inner_plan_has_a_state_and_starts_the_step_around_it() {
    let mut states = states();
    let inner = inside(step("mails"), "send");
    let changed = apply(&mut states, [sent(&inner, 1)]);
    assert_eq!(changed, ["mails", "mails/send"]);
    assert_eq!(states.step("mails").phase, StepPhase::Running);
    assert_eq!(states.step("mails/send").phase, StepPhase::Running);
    // Inside of an item, only the loop around it has one.
    let in_item = inside(item("each", 3), "send");
    assert_eq!(apply(&mut states, [sent(&in_item, 1)]), ["each"]);
    assert_eq!(states.step("each[3]/send").phase, StepPhase::Pending);
}

#[test]
fn a_loop_waits_as_long_as_one_of_its_items_asks() {
    let mut states = states();
    apply(
        &mut states,
        [asked(&item("each", 0)), asked(&item("each", 1))],
    );
    assert_eq!(states.questions().len(), 2);
    apply(&mut states, [decided(&item("each", 0))]);
    apply(&mut states, success(&item("each", 0)));
    let ended = Record::Ended {
        status: RunStatus::Waiting,
    };
    apply(
        &mut states,
        [
            settled(&item("each", 1), StepStatus::Waiting),
            settled(&step("each"), StepStatus::Waiting),
            ended,
        ],
    );
    // The run has ended, and its question is still open.
    assert_eq!(states.step("each").phase, StepPhase::Waiting);
    assert_eq!(states.questions().keys().collect::<Vec<_>>(), ["each[1]"]);
    apply(&mut states, [decided(&item("each", 1))]);
    assert!(states.questions().is_empty());
}

#[test]
fn a_step_stands_for_its_instances_by_the_state_that_matters_most() {
    let mut states = states();
    let of = |instance: &str| Address {
        instance: Some(instance.into()),
        ..step("pay")
    };
    apply(&mut states, success(&of("eu")));
    let changed = apply(&mut states, [sent(&of("us"), 1)]);
    assert_eq!(changed, ["pay@us", "pay"]);
    let running = states.step("pay");
    assert_eq!((running.phase, running.ended), (StepPhase::Running, None));
    assert_eq!(running.started, Some(Duration::ZERO));
    assert_eq!(states.step("pay@eu").phase, StepPhase::Succeeded);
    apply(&mut states, [settled(&of("us"), StepStatus::Failed)]);
    let merged = states.step("pay");
    assert_eq!(merged.phase, StepPhase::Failed);
    assert_eq!(merged.ended, Some(Duration::from_millis(4)));
}

#[test]
fn a_further_process_takes_up_what_has_not_succeeded() {
    let mut states = states();
    apply(&mut states, success(&step("list")));
    apply(
        &mut states,
        [
            sent(&step("pay"), 1),
            answered(&step("pay"), 1),
            settled(&step("pay"), StepStatus::Failed),
            sent(&step("mail"), 1),
            asked(&step("back")),
        ],
    );
    let opened = Record::Opened {
        run: None,
        digest: "digest".into(),
        header: planwright_core::Value::Null,
    };
    apply(&mut states, [opened]);
    assert_eq!(states.step("list").phase, StepPhase::Succeeded);
    for address in ["pay", "mail", "back"] {
        assert_eq!(states.step(address).phase, StepPhase::Pending, "{address}");
    }
    assert!(states.questions().is_empty());
    assert_eq!(states.addresses().collect::<Vec<_>>(), ["list"]);
    // The journal numbers its entries over all processes.
    assert_eq!(states.entries(), 9);
}
