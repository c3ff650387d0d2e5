//! Tests of the guard alone: admitted calls, and the errors of refused ones.

use std::num::NonZeroU32;
use std::time::Duration;

use planwright_core::{ServerName, Tool, Value};
use proptest::prelude::*;

use super::guards::{RateLimiter, WrittenBudget, WrittenMeter};
use super::{Bound, BudgetGuard, Guards, Rate};
use crate::backend::{ToolError, ToolOutput};

fn outcome(result: Result<(), ToolError>) -> String {
    match result {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("{}: {} {}", error.kind.as_str(), error.message, error.data),
    }
}

/// Reserves calls, each of a tool with some arguments, and compares the last result.
fn check(guards: Guards, calls: &[(&str, &str, u32)], expected: &str) {
    let mut guard = BudgetGuard::new(guards);
    let mut last = String::new();
    for (index, (tool, args, attempt)) in calls.iter().enumerate() {
        let (server, name) = tool.split_once('.').unwrap();
        let args = Value::from_json(args).unwrap();
        last = outcome(guard.reserve(&Tool::new(server, name), &args, *attempt));
        if index + 1 < calls.len() {
            assert_eq!(last, "ok", "call {index}");
        }
    }
    assert_eq!(last, expected);
}

#[test]
fn calls_are_counted_in_each_budget() {
    let two = [("s.t", "{}", 1), ("s.t", "{}", 2), ("r.t", "{}", 1)];
    check(Guards::new(), &two, "ok");
    check(Guards::new().calls(3), &two, "ok");
    check(
        Guards::new().calls(Bound::set_in(2, "--max-calls")),
        &two,
        r#"budget: the run has made 2 calls, the limit of `--max-calls` {"guard":"calls","limit":2,"set_in":"--max-calls"}"#,
    );
    check(
        Guards::new().calls_of("*.t", 2).calls_of("r.*", 1),
        &two,
        r#"budget: the run has made 2 calls of `*.t`, the limit of `RunOptions` {"guard":"tools","limit":2,"set_in":"RunOptions"}"#,
    );
    check(
        Guards::new().calls_of("s.*", 2).calls_of_server("s", 2),
        &two,
        "ok",
    );
    check(
        Guards::new().calls_of_server("r", 0),
        &two,
        r#"budget: the run has made 0 calls of the server `r`, the limit of `RunOptions` {"guard":"servers","limit":0,"set_in":"RunOptions"}"#,
    );
}

#[test]
fn what_one_budget_refuses_counts_in_no_other() {
    let mut guard = BudgetGuard::new(Guards::new().calls(2).calls_of_server("s", 1));
    let (s, r, args) = (
        Tool::new("s", "t"),
        Tool::new("r", "t"),
        Value::empty_object(),
    );
    assert!(guard.reserve(&s, &args, 1).is_ok());
    assert!(guard.reserve(&s, &args, 1).is_err());
    assert!(guard.reserve(&r, &args, 1).is_ok());
    assert!(guard.reserve(&r, &args, 1).is_err());
}

#[test]
fn identical_calls_are_recognized_by_their_content() {
    let once = || Guards::new().same_call(1);
    let same = r#"budget: `s.t` was called 1 time with these arguments, the limit of `RunOptions` {"guard":"same_call","limit":1,"set_in":"RunOptions"}"#;
    let check_pair = |one: &str, other: &str, expected: &str| {
        check(once(), &[("s.t", one, 1), ("s.t", other, 1)], expected);
    };
    check_pair(
        r#"{"a": 1, "b": [1, {}]}"#,
        r#"{"b": [1, {}], "a": 1}"#,
        same,
    );
    check_pair(r#"{"a": 1}"#, r#"{"a": 2}"#, "ok");
    check_pair(r#"{"a": "1"}"#, r#"{"a": 1}"#, "ok");
    check_pair(r#"{"a": [1, 2]}"#, r#"{"a": [2, 1]}"#, "ok");
    check_pair(r#"{"a": null}"#, "{}", "ok");
    check_pair(r#"{"a": {"b": 1}}"#, r#"{"b": {"a": 1}}"#, "ok");
    check(once(), &[("s.t", "{}", 1), ("s.t", "{}", 2)], "ok");
    check(once(), &[("s.t", "{}", 1), ("s.u", "{}", 1)], "ok");
    check(once(), &[("s.t", "{}", 1), ("r.t", "{}", 1)], "ok");
}

#[test]
fn failures_in_a_row_close_the_guard_for_good() {
    let mut guard = BudgetGuard::new(Guards::new().failures_in_a_row(2));
    let tool = Tool::new("s", "t");
    for failed in [true, false, true] {
        guard.ended(failed);
        assert_eq!(outcome(guard.check(&tool)), "ok");
    }
    guard.ended(true);
    guard.ended(true);
    guard.ended(false);
    assert_eq!(
        outcome(guard.check(&tool)),
        r#"budget: 2 calls failed in a row, the limit of `RunOptions` {"guard":"failures_in_a_row","limit":2,"set_in":"RunOptions"}"#
    );
}

#[test]
fn bytes_are_those_of_the_json() {
    let mut guard = BudgetGuard::new(Guards::new().output_bytes(10));
    let tool = Tool::new("s", "t");
    assert_eq!(
        outcome(guard.count_output(&ToolOutput::value(Value::from("four")))),
        "ok"
    );
    assert_eq!(outcome(guard.count_output(&ToolOutput::text("[ 1]"))), "ok");
    assert_eq!(outcome(guard.check(&tool)), "ok");
    let refused = r#"budget: the outputs of the run exceed the 10 bytes that `RunOptions` allows {"guard":"output_bytes","limit":10,"set_in":"RunOptions"}"#;
    assert_eq!(
        outcome(guard.count_output(&ToolOutput::value(Value::from(1)))),
        refused
    );
    assert_eq!(outcome(guard.check(&tool)), refused);
}

#[test]
fn what_earlier_processes_did_counts() {
    let guards = Guards::new().calls(5).same_call(2).output_bytes(10);
    let mut guard = BudgetGuard::new(guards);
    let (tool, args) = (Tool::new("s", "t"), Value::empty_object());
    let output = ToolOutput::value(Value::from("sixsix"));
    guard.restore_call(&tool, &args, 1, Some(&output));
    guard.restore_call(&tool, &args, 2, None);
    guard.restore_call(&tool, &args, 3, None);
    assert_eq!(outcome(guard.reserve(&tool, &args, 1)), "ok");
    assert!(outcome(guard.reserve(&tool, &args, 1)).contains("same_call"));
    assert_eq!(outcome(guard.reserve(&tool, &args, 2)), "ok");
    assert!(outcome(guard.reserve(&tool, &args, 3)).contains("5 calls"));
    assert_eq!(
        outcome(guard.count_output(&ToolOutput::value(Value::from(12)))),
        "ok"
    );
    assert!(
        guard
            .count_output(&ToolOutput::value(Value::from(1)))
            .is_err()
    );
}

#[test]
fn any_bound_is_one() {
    assert!(Guards::new().is_empty());
    assert!(BudgetGuard::new(Guards::new()).is_idle());
    assert!(!BudgetGuard::new(Guards::new().calls(1)).is_idle());
    assert!(!Guards::new().same_rounds(2).is_empty());
}

#[test]
fn time_ends_once() {
    let mut guard = BudgetGuard::new(Guards::new());
    assert_eq!(guard.wall_time(), None);
    assert_eq!(guard.expire(), None);
    guard = BudgetGuard::new(Guards::new().wall_time(Duration::from_millis(1500)));
    assert_eq!(guard.wall_time(), Some(Duration::from_millis(1500)));
    let message = r#"budget: the run has taken 1.5s, the limit of `RunOptions` {"guard":"wall_time","limit":1500,"set_in":"RunOptions"}"#;
    assert_eq!(outcome(guard.expire().map_or(Ok(()), Err)), message);
    assert_eq!(outcome(guard.check(&Tool::new("s", "t"))), message);
}

#[test]
fn only_servers_with_a_rate_wait() {
    let mut guard = BudgetGuard::new(Guards::new().rate("s", rate(1, 100)));
    let mut wait = |server: &str, now: u64| {
        let now = Duration::from_millis(now);
        let wait = guard.rate_delay(&Tool::new(server, "t"), now, false);
        wait.map(|wait| wait.as_millis())
    };
    assert_eq!(wait("s", 0), None);
    assert_eq!(wait("s", 10), Some(90));
    assert_eq!(wait("r", 10), None);
}

#[test]
fn a_rate_counts_calls_of_earlier_processes() {
    let server = ServerName::from("s");
    let mut guard = BudgetGuard::new(Guards::new().rate("s", rate(2, 1000)));
    // The run's clock stood still for ten seconds.
    let sent = [100, 10_200].map(|at| (Duration::from_millis(at), &server));
    guard.restore_rates(Duration::from_secs(10), sent);
    let mut wait = |now: u64| {
        let wait = guard.rate_delay(&Tool::new("s", "t"), Duration::from_millis(now), false);
        wait.map(|wait| wait.as_millis())
    };
    assert_eq!(wait(600), None);
    assert_eq!(wait(600), Some(600));
}

#[test]
fn rounds_may_give_the_same_for_a_while() {
    let guard = BudgetGuard::new(Guards::new().same_rounds(3));
    assert_eq!(outcome(guard.check_rounds(2)), "ok");
    assert_eq!(
        outcome(guard.check_rounds(3)),
        r#"budget: the last 3 rounds had the same output, the limit of `RunOptions` {"guard":"same_rounds","limit":3,"set_in":"RunOptions"}"#
    );
    assert_eq!(
        outcome(BudgetGuard::new(Guards::new()).check_rounds(9)),
        "ok"
    );
}

fn rate(calls: u32, per: u64) -> Rate {
    Rate {
        calls: NonZeroU32::new(calls).unwrap(),
        per: Duration::from_millis(per),
    }
}

#[test]
fn a_gate_lets_through_as_many_as_its_rate_says() {
    let mut limiter = RateLimiter::new(rate(2, 100));
    let mut pass = |now: u64, has_waited: bool| {
        let wait = limiter.acquire(Duration::from_millis(now), has_waited);
        wait.map(|wait| wait.as_millis())
    };
    assert_eq!(pass(0, false), None);
    assert_eq!(pass(30, false), None);
    assert_eq!(pass(40, false), Some(60));
    assert_eq!(pass(50, false), Some(80));
    assert_eq!(pass(60, false), Some(140));
    // New calls do not overtake postponed ones.
    assert_eq!(pass(100, false), Some(130));
    assert_eq!(pass(100, true), None);
    // The second comes late, and so does the one behind it.
    assert_eq!(pass(190, true), None);
    assert_eq!(pass(200, true), None);
    assert_eq!(pass(240, true), Some(60));
}

proptest! {
    #[test]
    fn no_stretch_of_time_has_more_calls_than_the_rate(
        calls in 1_u32..5,
        per in 1_u64..50,
        arrivals in prop::collection::vec((0_u64..20, 0_u64..15), 1..60),
    ) {
        let mut limiter = RateLimiter::new(rate(calls, per));
        let mut now = 0;
        // Random times of calls, with retries that may be late by any amount.
        let mut queue: Vec<(u64, u64, bool)> = Vec::new();
        for (after, late) in arrivals {
            now += after;
            queue.push((now, late, false));
        }
        let mut sent: Vec<u64> = Vec::new();
        let mut turns = 0;
        while !queue.is_empty() {
            turns += 1;
            prop_assert!(turns < 10_000, "a task waits for ever");
            let next = (0..queue.len()).min_by_key(|index| queue[*index].0).unwrap();
            let (at, late, has_waited) = queue.remove(next);
            match limiter.acquire(Duration::from_millis(at), has_waited) {
                None => sent.push(at),
                Some(wait) => {
                    let wait = u64::try_from(wait.as_millis()).unwrap();
                    prop_assert!(wait > 0);
                    queue.push((at + wait + late, late, true));
                }
            }
        }
        for window in sent.windows(calls as usize + 1) {
            prop_assert!(window[calls as usize] - window[0] >= per, "{sent:?}");
        }
    }
}

fn check_written(budget: &WrittenBudget, bytes: u64, expected: Option<&str>) {
    let error = budget.check(bytes).err();
    let error = error.map(|error| format!("{} {}", error.message, error.data));
    assert_eq!(error.as_deref(), expected);
}

#[test]
fn what_is_received_may_be_written_some_times_more() {
    let mut budget = WrittenBudget::new(None, WrittenMeter::default());
    check_written(&budget, Guards::WRITTEN_BYTES, None);
    check_written(
        &budget,
        Guards::WRITTEN_BYTES + 1,
        Some(
            r#"the values of the run exceed 67108864 bytes as written, the limit of `budgets.written_bytes` by default {"guard":"written_bytes","limit":67108864,"set_in":"default"}"#,
        ),
    );
    budget.receive(1000);
    check_written(&budget, Guards::WRITTEN_BYTES + 4000, None);
    assert!(budget.check(Guards::WRITTEN_BYTES + 4001).is_err());
}

#[test]
fn a_bound_that_is_set_holds_as_it_is() {
    let (bound, meter) = (
        Bound::set_in(10, "planwright.toml:3"),
        WrittenMeter::default(),
    );
    let mut budget = WrittenBudget::new(Some(bound), meter.clone());
    budget.receive(1000);
    budget.restore(4);
    assert!(budget.take(5).is_ok());
    check_written(&budget, 1, None);
    check_written(
        &budget,
        2,
        Some(
            r#"the values of the run exceed 10 bytes as written, the limit of `planwright.toml:3` for `written_bytes` {"guard":"written_bytes","limit":10,"set_in":"planwright.toml:3"}"#,
        ),
    );
    // A value that did not fit was not counted.
    assert_eq!((budget.written(), meter.bytes()), (9, 9));
}
