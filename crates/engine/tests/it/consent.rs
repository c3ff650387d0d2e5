//! Consent over several processes: bound to one exact call, and used up when that call is sent.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::{CheckContext, CheckedPlan, check};
use planwright_core::plan::{Field, Node};
use planwright_core::{Catalog, Hints, Place, Plan, Step, Tool, Value};
use planwright_engine::approval::SealKey;
use planwright_engine::backend::{ErrorKind, ToolError, ToolOutput};
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::{Choice, Effect, History, RunInput, RunMachine};
use planwright_engine::{Decision, RunOptions, RunStatus};

/// A process of the run `r`, whose plan has the step `a`.
struct Process {
    tool: Tool,
    args: Value,
    options: RunOptions,
    choice: Option<Choice>,
    /// The decision of a person who is asked; `None` leaves the question open.
    decision: Option<Decision>,
    /// The answer to each call; `None` if the process dies with the call.
    answer: Option<Result<ToolOutput, ToolError>>,
}

/// The calls and questions of a process.
#[derive(Debug, Default, PartialEq)]
struct Did {
    /// The differences that the question named, if there was a question.
    asked: Option<Vec<String>>,
    calls: usize,
    keys: Vec<String>,
}

fn pay() -> Tool {
    Tool {
        origin: "node bank.js".into(),
        approval: true,
        ..Tool::new("bank", "pay")
    }
}

fn args(to: &str) -> Value {
    Value::object([("to", Value::from(to))])
}

const YES: Decision = Decision::Approve { args: None };

type Change = fn(&mut Process);

impl Process {
    fn new() -> Self {
        Self {
            tool: pay(),
            args: args("ada"),
            options: RunOptions::default(),
            choice: None,
            decision: None,
            answer: Some(Ok(ToolOutput::value(Value::from(true)))),
        }
    }

    fn plan(&self) -> CheckedPlan {
        let to = self.args.get("to").cloned().unwrap_or_default();
        let to = Field {
            key: Arc::from("to"),
            value: Node::literal(to, Place::NOWHERE),
        };
        let step = Step::call(
            "a",
            self.tool.qualified_name(),
            Node::object(vec![to], Place::NOWHERE),
        );
        let plan = Plan {
            steps: vec![step],
            ..Plan::default()
        };
        let catalog: Catalog = [self.tool.clone()].into_iter().collect();
        let (checked, diagnostics) = check(plan, &CheckContext::new(&catalog));
        checked.unwrap_or_else(|| panic!("rejected: {diagnostics:#?}"))
    }

    fn drive(self, entries: &mut Vec<Entry>) -> (Did, RunStatus) {
        let mut history = History::new(&*entries);
        if let Some(choice) = self.choice.clone() {
            history = history.with_choice("a", choice);
        }
        let turn = entries.last().map_or(0, |entry| entry.turn + 1);
        let mut run = RunMachine::new("r".parse().unwrap(), self.plan(), self.options.clone())
            .journaled()
            .after(Arc::new(history));
        let mut clock = run.now();
        let mut did = Did::default();
        let mut effects = Vec::new();
        run.start(&mut effects);
        loop {
            run.proceed(&mut effects);
            let mut input = None;
            for effect in effects.drain(..) {
                match effect {
                    Effect::Ask { task, request } => {
                        did.asked = Some(request.changes.clone());
                        let decision = self.decision.clone();
                        input = decision.map(|decision| RunInput::Decided { task, decision });
                    }
                    Effect::Call {
                        task,
                        attempt,
                        call,
                    } => {
                        did.calls += 1;
                        did.keys.push(call.context.idempotency_key().to_string());
                        let result = self.answer.clone();
                        input = result.map(|result| RunInput::AttemptEnded {
                            task,
                            attempt,
                            result,
                        });
                    }
                    Effect::AppendRecord { at, record } => entries.push(Entry {
                        at,
                        turn,
                        record: *record,
                    }),
                    _ => {}
                }
            }
            let Some(input) = input else {
                return (did, run.summary().status);
            };
            clock += Duration::from_millis(1);
            run.handle(input, clock, &mut effects);
        }
    }
}

/// The process after one that got a person's consent and died before it called.
fn after_consent(first: Process, then: Process) -> Did {
    let mut entries = Vec::new();
    let process = Process {
        decision: Some(YES),
        ..first
    };
    process.drive(&mut entries);
    let decided = entries
        .iter()
        .position(|entry| matches!(entry.record, Record::Decided { .. }))
        .unwrap();
    entries.truncate(decided + 1);
    then.drive(&mut entries).0
}

#[test]
fn consent_covers_the_very_call() {
    let did = after_consent(Process::new(), Process::new());
    assert_eq!((did.asked, did.calls), (None, 1));
}

#[test]
fn what_changes_a_call_is_asked_about_anew() {
    let changes: [(Change, &str); 7] = [
        (
            |process| process.tool.server = "evil".into(),
            "the tool was `bank.pay`",
        ),
        (
            |process| process.tool.name = "wipe".into(),
            "the tool was `bank.pay`",
        ),
        (
            |process| process.tool.origin = "node other.js".into(),
            "the configuration of the server `bank` changed",
        ),
        (
            |process| process.tool.description = Some("Wipes.".into()),
            "the definition of the tool has changed",
        ),
        (
            |process| {
                process.tool.hints = Hints {
                    destructive: Some(true),
                    ..Hints::default()
                };
            },
            "the definition of the tool has changed",
        ),
        (
            |process| {
                let schema = r#"{"type": "object", "properties": {"to": {"type": "string"}}}"#;
                let schema = Value::from_json(schema).unwrap();
                process.tool.input = planwright_core::Schema::from_value(schema);
            },
            "the definition of the tool has changed",
        ),
        (
            |process| process.args = args("eve"),
            r#"the arguments were {"to":"ada"}"#,
        ),
    ];
    for (change, said) in changes {
        let mut then = Process::new();
        change(&mut then);
        let did = after_consent(Process::new(), then);
        assert_eq!(did.asked, Some(vec![said.to_owned()]));
        assert_eq!(did.calls, 0, "{said}");
    }
}

#[test]
fn consent_covers_the_secret_itself() {
    let with = |secret: &str, key: Option<u8>| {
        let mut process = Process::new();
        process.args = args(secret);
        process.options.secrets = vec![secret.into()];
        process.options.seal_key = key.map(|byte| SealKey::new([byte; 32]));
        process
    };
    let did = after_consent(with("sesame-open", Some(1)), with("sesame-open", Some(1)));
    assert_eq!((did.asked, did.calls), (None, 1));
    let said = "a secret among the arguments has changed";
    for then in [with("sesame-shut", Some(1)), with("sesame-open", Some(2))] {
        let did = after_consent(with("sesame-open", Some(1)), then);
        assert_eq!((did.asked, did.calls), (Some(vec![said.to_owned()]), 0));
    }
    let did = after_consent(with("sesame-open", None), with("sesame-open", None));
    assert_eq!(did.calls, 0, "a later process cannot tell: {did:?}");
}

#[test]
fn consent_is_used_up_by_the_call() {
    let refused = ToolError::tool("no money", Value::Null);
    let mut entries = Vec::new();
    let first = Process {
        decision: Some(YES),
        answer: Some(Err(refused)),
        ..Process::new()
    };
    let (did, status) = first.drive(&mut entries);
    assert_eq!((did.calls, status), (1, RunStatus::Failed));
    for choice in [None, Some(Choice::Retry)] {
        let mut entries = entries.clone();
        let then = Process {
            choice,
            ..Process::new()
        };
        let (did, status) = then.drive(&mut entries);
        let used = vec!["the earlier decision about the same call was used up".to_owned()];
        assert_eq!((did.asked, did.calls), (Some(used), 0));
        assert_eq!(status, RunStatus::Waiting);
    }
}

#[test]
fn a_retry_in_doubt_is_consent_to_the_same_call_only() {
    let lost = ToolError::lost("the connection was lost");
    assert_eq!(lost.kind, ErrorKind::Unavailable);
    let mut entries = Vec::new();
    let first = Process {
        decision: Some(YES),
        answer: Some(Err(lost)),
        ..Process::new()
    };
    first.drive(&mut entries);
    let retry = |args: Value| Process {
        args,
        choice: Some(Choice::Retry),
        ..Process::new()
    };
    let (did, _) = retry(args("ada")).drive(&mut entries.clone());
    assert_eq!((did.asked, did.calls), (None, 1));
    let (did, _) = retry(args("eve")).drive(&mut entries);
    assert_eq!(
        did.asked,
        Some(vec![r#"the arguments were {"to":"ada"}"#.to_owned()])
    );
    assert_eq!(did.calls, 0);
}

#[test]
fn an_idempotency_key_belongs_to_one_call() {
    let key = |change: fn(&mut Process)| {
        let mut process = Process {
            decision: Some(YES),
            ..Process::new()
        };
        change(&mut process);
        let (did, _) = process.drive(&mut Vec::new());
        did.keys.first().cloned().unwrap()
    };
    let mut keys = vec![
        key(|_| {}),
        key(|process| process.args = args("eve")),
        key(|process| process.tool.name = "wipe".into()),
        key(|process| process.tool.server = "evil".into()),
    ];
    assert_eq!(keys[0], key(|_| {}));
    assert!(keys[0].starts_with("r/a:"), "{}", keys[0]);
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 4);
}
