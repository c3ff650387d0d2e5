//! Metadata of runs, and their selection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::journal::Record;
use planwright_engine::{RunStatus, StepStatus};
use planwright_store::{NewRun, RunFilter, RunState, Store, StoreError};

use super::support::{append, at, create, ended, entries, me, new_run, opened, read, step, time};
use crate::scene::scene;

#[test]
fn a_new_run_has_its_initial_metadata() {
    let scene = scene();
    let run = create(&scene.store, "r1");
    let info = scene.store.run("r1").unwrap();
    assert_eq!((info.id.as_str(), info.steps), ("r1", 3));
    assert_eq!(info.plan.as_deref(), Some("weather"));
    assert_eq!(info.dialect.as_deref(), Some("native"));
    assert_eq!((info.digest.as_str(), info.created), ("d1", time(1000)));
    assert_eq!(info.state, RunState::Open);
    assert_eq!(info.holder, Some(me()));
    assert_eq!(scene.store.header("r1").unwrap(), new_run("r1").header);
    drop(run);
    assert_eq!(scene.store.run("r1").unwrap().holder, None);
}

#[test]
fn metadata_follow_the_entries() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let known = |store: &Store| {
        let info = store.run("r").unwrap();
        (info.state, info.steps, info.done, info.calls, info.duration)
    };
    let mut records = vec![opened()];
    records.extend(step("a", &Value::Null));
    records.extend(step("b", &Value::Null));
    append(&run, entries(records)).unwrap();
    let ms = Duration::from_millis;
    assert_eq!(known(&scene.store), (RunState::Open, 3, 2, 2, ms(6)));
    let more = [
        Record::Extended {
            digest: "d2".into(),
            steps: 5,
        },
        Record::Settled {
            at: at("c"),
            status: StepStatus::Unknown,
            output: None,
            error: None,
            handled: false,
            reason: None,
            started: None,
        },
        ended(RunStatus::Waiting),
    ];
    append(&run, entries(more)).unwrap();
    assert_eq!(
        known(&scene.store),
        (RunState::Ended(RunStatus::Waiting), 5, 2, 2, ms(2))
    );
    drop(run);

    let run = scene.store.lease_run("r", &me()).unwrap();
    let mut records = vec![opened()];
    records.extend(step("c", &Value::Null));
    append(&run, entries(records)).unwrap();
    assert_eq!(known(&scene.store), (RunState::Open, 5, 3, 3, ms(3)));
    append(&run, entries([ended(RunStatus::Succeeded)])).unwrap();
    assert_eq!(
        known(&scene.store),
        (RunState::Ended(RunStatus::Succeeded), 5, 3, 3, ms(0))
    );
    assert_eq!(read(&scene.store, "r").len(), 15);
}

#[test]
fn a_step_counts_once_however_often_the_run_was_resumed() {
    let scene = scene();
    let settled = |id: &str, status, handled| Record::Settled {
        at: at(id),
        status,
        output: None,
        error: None,
        handled,
        reason: None,
        started: None,
    };
    let fails = [
        settled("b", StepStatus::Failed, false),
        settled("c", StepStatus::NotRun, false),
        ended(RunStatus::Failed),
    ];
    let is_done = |done: usize| {
        assert_eq!(scene.store.run("r").unwrap().done, done);
    };
    let run = create(&scene.store, "r");
    let begin = [opened(), settled("a", StepStatus::Failed, true)];
    append(&run, entries(begin)).unwrap();
    append(&run, entries(fails.clone())).unwrap();
    is_done(2);
    drop(run);
    for _ in 0..2 {
        let run = scene.store.lease_run("r", &me()).unwrap();
        append(&run, entries([opened()])).unwrap();
        is_done(1);
        append(&run, entries([settled("b", StepStatus::Failed, false)])).unwrap();
        is_done(2);
        append(&run, entries(fails.clone().into_iter().skip(1))).unwrap();
        is_done(2);
    }
    let run = scene.store.lease_run("r", &me()).unwrap();
    // The new plan made the result of the first step stale.
    let again = ["a", "b", "c"].map(|id| settled(id, StepStatus::Succeeded, false));
    append(&run, entries([opened()].into_iter().chain(again))).unwrap();
    is_done(3);
    append(&run, entries([ended(RunStatus::Succeeded)])).unwrap();
    is_done(3);
    drop(run);

    let exported = scene.store.export("r").unwrap();
    let other = crate::scene::scene();
    other.store.import(&exported).unwrap();
    assert_eq!(other.store.run("r").unwrap().done, 3);
}

#[test]
fn a_run_that_ends_while_it_is_read_does_not_look_interrupted() {
    let scene = scene();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..100 {
                let run = create(&scene.store, &format!("r{number}"));
                append(&run, entries([opened(), ended(RunStatus::Cancelled)])).unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        while !is_over.load(Ordering::Relaxed) {
            let newest = RunFilter {
                limit: Some(1),
                ..RunFilter::default()
            };
            for info in scene.store.runs(&newest).unwrap() {
                let is_interrupted = info.state == RunState::Open && info.holder.is_none();
                assert!(!is_interrupted, "{info:?}");
            }
        }
    });
}

#[test]
fn a_run_is_found_by_its_id_or_a_unique_prefix() {
    let scene = scene();
    for id in ["abc", "abcd", "abX", "x"] {
        drop(create(&scene.store, id));
    }
    let found = |selector: &str| scene.store.run(selector).map(|info| info.id);
    assert_eq!(found("abc").unwrap(), "abc");
    assert_eq!(found("abcd").unwrap(), "abcd");
    assert_eq!(found("abX").unwrap(), "abX");
    assert_eq!(found("x").unwrap(), "x");
    let Err(StoreError::Ambiguous { candidates, .. }) = found("ab") else {
        panic!("it is several");
    };
    assert_eq!(candidates, ["abX", "abc", "abcd"]);
    for missing in ["", "y", "abcde", "%", "a*", "../x", "x\0", "/x"] {
        assert!(
            matches!(found(missing), Err(StoreError::Missing { .. })),
            "{missing}"
        );
    }
}

#[test]
fn no_id_looks_like_an_option_and_each_stands_for_one_run() {
    let scene = scene();
    let create = |id: &str| scene.store.create_run(new_run(id), &me()).map(drop);
    for id in ["-", "-rf", "--help"] {
        assert!(
            matches!(create(id), Err(StoreError::BadName { .. })),
            "{id}"
        );
    }
    create("a").unwrap();
    assert_eq!(
        create("a").unwrap_err().to_string(),
        "the run `a` already exists"
    );
}

#[test]
fn runs_are_listed_from_the_newest_on() {
    let scene = scene();
    for (id, plan, created, status) in [
        ("a", Some("p"), 10, Some(RunStatus::Succeeded)),
        ("b", Some("q"), 30, None),
        ("c", None, 20, Some(RunStatus::Failed)),
        ("d", Some("p"), 40, Some(RunStatus::Failed)),
    ] {
        let new = NewRun {
            plan: plan.map(str::to_owned),
            created: time(created),
            ..new_run(id)
        };
        let run = scene.store.create_run(new, &me()).unwrap();
        append(&run, entries(status.map(ended))).unwrap();
    }
    let check = |filter: RunFilter, expected: &[&str]| {
        let runs = scene.store.runs(&filter).unwrap();
        let ids: Vec<&str> = runs.iter().map(|info| info.id.as_str()).collect();
        assert_eq!(ids, expected, "{filter:?}");
    };
    let all = RunFilter::default;
    check(all(), &["d", "b", "c", "a"]);
    check(
        RunFilter {
            limit: Some(2),
            ..all()
        },
        &["d", "b"],
    );
    check(
        RunFilter {
            since: Some(time(20)),
            ..all()
        },
        &["d", "b", "c"],
    );
    check(
        RunFilter {
            plan: Some("p".to_owned()),
            ..all()
        },
        &["d", "a"],
    );
    check(
        RunFilter {
            state: Some(RunState::Open),
            ..all()
        },
        &["b"],
    );
    let failed = Some(RunState::Ended(RunStatus::Failed));
    check(
        RunFilter {
            state: failed,
            ..all()
        },
        &["d", "c"],
    );
}

#[test]
fn a_reopened_store_has_all_entries() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let expected = entries(step("a", &Value::from(1)));
    append(&run, expected.clone()).unwrap();
    drop(run);
    assert_eq!(read(&scene.open_again(), "r"), expected);
}
