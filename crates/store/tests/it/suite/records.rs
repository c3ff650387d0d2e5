//! Round trips of journal entries.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::flow::ValueLabels;
use planwright_core::{StepId, Value};
use planwright_engine::approval::CallSubject;
use planwright_engine::backend::RetryAdvice;
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::{Choice, SkipKind, SkipReason};
use planwright_engine::schedule::Timer;
use planwright_engine::{ErrorKind, RunStatus, StepStatus, ToolError, ToolOutput};
use proptest::prelude::*;

use super::support::{append, create, entries, read, step};
use crate::scene::scene;

fn check(entries: Vec<Entry>) {
    let scene = scene();
    let run = create(&scene.store, "r");
    append(&run, entries.clone()).unwrap();
    let found = read(&scene.store, "r");
    assert_eq!(found, entries);
    // Equal values may print differently, as 0.0 and -0.0 do.
    assert_eq!(format!("{found:?}"), format!("{entries:?}"));
}

fn text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![
        4 => "\\PC{0,8}",
        1 => any::<String>(),
        1 => Just("a@b[0]#1/c\0\u{2028}\"\\".to_owned()),
    ]
    .prop_map(Arc::from)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::Text),
        (5_000_usize..9_000).prop_map(|length| Value::from("ä\n".repeat(length))),
    ];
    let tree = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4).prop_map(Value::object),
        ]
    });
    (tree, prop_oneof![9 => Just(0), 1 => 0..600_usize])
        .prop_map(|(value, levels)| (0..levels).fold(value, |inner, _| Value::list([inner])))
}

fn address() -> impl Strategy<Value = Arc<Address>> {
    let spot = (
        text(),
        prop::option::of(text()),
        prop::option::of(any::<u64>()),
        prop::option::of(any::<u64>()),
    );
    prop::collection::vec(spot, 1..4).prop_map(|spots| {
        let mut outer = None;
        for (step, instance, item, round) in spots {
            let inside = outer.take();
            outer = Some(Arc::new(Address {
                inside,
                instance,
                step: StepId::new(step),
                item,
                round,
            }));
        }
        outer.unwrap()
    })
}

fn time() -> impl Strategy<Value = Duration> {
    (0..u64::MAX / 2).prop_map(Duration::from_nanos)
}

fn error() -> impl Strategy<Value = ToolError> {
    let kind = prop::sample::select(vec![
        ErrorKind::Tool,
        ErrorKind::Timeout,
        ErrorKind::Unavailable,
        ErrorKind::Arguments,
        ErrorKind::Reference,
        ErrorKind::Approval,
        ErrorKind::Policy,
        ErrorKind::Budget,
        ErrorKind::Internal,
    ]);
    let retry = prop_oneof![
        Just(RetryAdvice::Never),
        Just(RetryAdvice::Uncertain),
        Just(RetryAdvice::Again),
        time().prop_map(RetryAdvice::After),
    ];
    let labels = any::<[bool; 2]>();
    (kind, any::<String>(), value(), retry, labels).prop_map(
        |(kind, message, data, retry, [untrusted, private])| ToolError {
            kind,
            message,
            data,
            retry,
            labels: ValueLabels::new(untrusted, private),
        },
    )
}

fn output() -> impl Strategy<Value = ToolOutput> {
    (
        value(),
        prop::option::of(text()),
        prop::collection::vec(value(), 0..3),
        prop::option::of(text()),
        any::<[bool; 2]>(),
    )
        .prop_map(
            |(value, text, content, branch, [untrusted, private])| ToolOutput {
                value,
                text,
                content,
                branch,
                labels: ValueLabels::new(untrusted, private),
            },
        )
}

fn reason() -> impl Strategy<Value = SkipReason> {
    let because = prop::sample::select(vec![
        SkipKind::Step,
        SkipKind::Branch,
        SkipKind::Condition,
        SkipKind::Stopped,
        SkipKind::Person,
    ]);
    (because, text()).prop_map(|(because, of)| SkipReason { because, of })
}

fn step_status() -> impl Strategy<Value = StepStatus> {
    prop::sample::select(vec![
        StepStatus::Succeeded,
        StepStatus::Failed,
        StepStatus::Skipped,
        StepStatus::NotRun,
        StepStatus::Cancelled,
        StepStatus::Waiting,
        StepStatus::Unknown,
    ])
}

fn settled() -> impl Strategy<Value = Record> {
    (
        address(),
        step_status(),
        prop::option::of(value()),
        prop::option::of(error()),
        any::<bool>(),
        prop::option::of(reason()),
        prop::option::of(time()),
    )
        .prop_map(
            |(at, status, output, error, handled, reason, started)| Record::Settled {
                at,
                status,
                output,
                error,
                handled,
                reason,
                started,
            },
        )
}

fn record() -> impl Strategy<Value = Record> {
    let timer = prop_oneof![
        any::<u32>().prop_map(Timer::Attempt),
        any::<u32>().prop_map(Timer::Pause),
        Just(Timer::Step),
        Just(Timer::Run),
    ];
    let run_status = prop::sample::select(vec![
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Waiting,
        RunStatus::Cancelled,
    ]);
    let choice = prop_oneof![
        Just(Choice::Retry),
        Just(Choice::Skip),
        value().prop_map(Choice::Set),
    ];
    let result = prop_oneof![output().prop_map(Ok), error().prop_map(Err)];
    prop_oneof![
        (text(), value()).prop_map(|(digest, header)| Record::Opened {
            run: Some("r".parse().unwrap()),
            digest: digest.into(),
            header
        }),
        (
            address(),
            text(),
            text(),
            any::<u32>(),
            value(),
            prop::option::of(text())
        )
            .prop_map(|(at, server, tool, attempt, args, consent)| Record::Sent {
                at,
                server: server.into(),
                tool,
                attempt,
                args,
                consent
            }),
        (address(), any::<u32>(), result).prop_map(|(at, attempt, result)| Record::Answered {
            at,
            attempt,
            result
        }),
        (address(), any::<u32>()).prop_map(|(at, attempt)| Record::Aborted { at, attempt }),
        (
            address(),
            [text(), text()],
            value(),
            [
                prop::option::of(text()),
                prop::option::of(text()),
                prop::option::of(text()),
                prop::option::of(text()),
                prop::option::of(text())
            ]
        )
            .prop_map(
                |(at, [server, tool], args, [origin, definition, seal, reason, flow])| {
                    let subject = CallSubject {
                        server: server.into(),
                        tool,
                        origin,
                        definition,
                        args,
                        seal,
                        flow,
                    };
                    Record::Asked {
                        at,
                        subject: Box::new(subject),
                        reason,
                    }
                }
            ),
        (
            address(),
            any::<bool>(),
            prop::option::of(value()),
            prop::option::of(text())
        )
            .prop_map(|(at, approved, changed_args, because)| Record::Decided {
                at,
                approved,
                changed_args,
                because
            }),
        (address(), choice).prop_map(|(at, choice)| Record::Chosen { at, choice }),
        (address(), timer).prop_map(|(at, timer)| Record::TimerFired { at, timer }),
        (text(), any::<u32>()).prop_map(|(digest, steps)| Record::Extended {
            digest: digest.into(),
            steps: steps as usize
        }),
        Just(Record::Closed),
        Just(Record::Draining),
        Just(Record::Cancelled),
        Just(Record::OutOfTime),
        any::<u64>().prop_map(|after| Record::Paused { after }),
        Just(Record::Resumed),
        settled(),
        run_status.prop_map(|status| Record::Ended { status }),
    ]
}

fn any_entry() -> impl Strategy<Value = Entry> {
    (time(), 0..u64::MAX / 2, record()).prop_map(|(at, turn, record)| Entry { at, turn, record })
}

proptest! {
    // Each case has a store of its own, and a database takes a second.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn entries_come_back_as_they_were(entries in prop::collection::vec(any_entry(), 0..12)) {
        check(entries);
    }
}

#[test]
fn large_values_are_stored_once_and_shared_in_memory() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let large = Value::from("x".repeat(100_000));
    let [_, answered, settled] = step("a", &large);
    let mut records = vec![answered, settled];
    for index in 0..50 {
        let [mut sent, ..] = step(&format!("b{index}"), &Value::Null);
        if let Record::Sent { args, .. } = &mut sent {
            *args = Value::object([("text", large.clone()), ("n", Value::from(index))]);
        }
        records.push(sent);
    }
    let expected = entries(records);
    append(&run, expected.clone()).unwrap();
    let found = read(&scene.store, "r");
    assert_eq!(found, expected);
    let texts: Vec<*const u8> = found
        .iter()
        .filter_map(|entry| match &entry.record {
            Record::Sent { args, .. } => args.get("text")?.as_text().map(str::as_ptr),
            _ => None,
        })
        .collect();
    assert_eq!(texts.len(), 50);
    assert!(texts.iter().all(|text| *text == texts[0]));
}

#[test]
fn a_value_that_is_nested_too_deeply_fails_its_journal() {
    let scene = scene();
    let run = create(&scene.store, "r");
    append(&run, entries(step("a", &Value::Null))).unwrap();
    let deep = (0..5_000).fold(Value::Null, |inner, _| Value::list([inner]));
    let error = append(&run, entries(step("b", &deep))).unwrap_err();
    assert!(error.message.contains("deeper"), "{error}");
    assert_eq!(append(&run, entries(step("c", &Value::Null))), Err(error));
    assert_eq!(read(&scene.store, "r").len(), 3);
}
