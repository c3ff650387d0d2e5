//! The order of starting tasks, and the effect of limits.

use super::scene::check;
use crate::schedule::ranks;

/// The lines follow the requests of all tasks, given by rank and terms.
#[track_caller]
fn check_order(limits: &str, tasks: &[(u64, &str)], lines: &[(&str, &str)]) {
    let mut all: Vec<(String, String)> = Vec::new();
    for (task, (rank, terms)) in tasks.iter().enumerate() {
        all.push((format!("add rank={rank}"), String::new()));
        all.push((format!("start {task}"), format!("prepare {task}")));
        all.push((format!("call {task} {terms}"), String::new()));
    }
    let owned = |&(line, answer): &(&str, &str)| (line.to_owned(), answer.to_owned());
    all.extend(lines.iter().map(owned));
    let all: Vec<(&str, &str)> = all.iter().map(|(one, two)| (&**one, &**two)).collect();
    check(limits, &all);
}

#[test]
fn the_longest_path_goes_first_then_the_oldest() {
    let tasks = [(1, "a"), (3, "x.b"), (2, "a"), (3, "a"), (2, "x.b")];
    check_order(
        "",
        &tasks,
        &[("go", "call 1.1, call 3.1, call 2.1, call 4.1, call 0.1")],
    );
    check_order(
        "total=2",
        &tasks,
        &[
            ("go", "call 1.1, call 3.1"),
            ("go", ""),
            ("final 3.1", "settled 3 by Attempt"),
            ("go", "call 2.1"),
            ("final 1.1", "settled 1 by Attempt"),
            ("final 2.1", "settled 2 by Attempt"),
            ("go", "call 4.1, call 0.1"),
        ],
    );
}

#[test]
fn a_new_rank_counts_from_the_next_time_on() {
    check_order(
        "total=1",
        &[(3, "a attempts=2"), (2, "a"), (1, "a")],
        &[
            ("rank 2 9", ""),
            ("see 2", "Ready 0 9"),
            ("go", "call 0.1"),
            ("rank 0 1", ""),
            ("fail 0.1 5", "again after 0.1 in 5ms, set pause 0.1 in 5ms"),
            ("fire pause 0.1", ""),
            ("go", "call 1.1"),
            ("final 1.1", "settled 1 by Attempt"),
            ("go", "call 0.2"),
            ("final 0.2", "settled 0 by Attempt"),
            ("go", "call 2.1"),
        ],
    );
}

#[test]
fn what_is_queued_keeps_its_place_among_those_that_run_alone() {
    // Both are added before either may start, so they are sorted.
    let two = |first, second, more: &[(&'static str, &'static str)]| {
        let mut lines = vec![
            ("add rank=1", ""),
            ("add rank=2", ""),
            ("start 0", "prepare 0"),
            ("start 1", "prepare 1"),
            (first, ""),
            (second, ""),
            ("rank 0 9", ""),
        ];
        lines.extend(more);
        check("", &lines);
    };
    two(
        "call 0 a",
        "call 1 b alone",
        &[
            ("go", "call 1.1"),
            ("final 1.1", "settled 1 by Attempt"),
            ("go", "call 0.1"),
        ],
    );
    two(
        "call 0 a alone",
        "call 1 b",
        &[
            ("go", "call 1.1"),
            ("final 1.1", "settled 1 by Attempt"),
            ("go", "call 0.1"),
        ],
    );
}

#[test]
fn a_new_rank_counts_the_same_way_under_limits_and_alone() {
    for (terms, limits) in [("a", "total=1"), ("a", "tool=1"), ("a alone", "")] {
        check_order(
            limits,
            &[(3, terms), (2, terms), (1, terms)],
            &[
                ("rank 2 9", ""),
                ("see 2", "Ready 0 9"),
                ("go", "call 0.1"),
                ("final 0.1", "settled 0 by Attempt"),
                ("go", "call 1.1"),
                ("final 1.1", "settled 1 by Attempt"),
                ("go", "call 2.1"),
            ],
        );
    }
}

#[test]
fn tools_with_limits_and_without_are_one_order() {
    check_order(
        "total=1 s.b=1",
        &[
            (1, "a"),
            (5, "b"),
            (4, "a"),
            (3, "b"),
            (2, "a alone"),
            (2, "b"),
        ],
        &[
            ("go", "call 1.1"),
            ("final 1.1", "settled 1 by Attempt"),
            ("go", "call 2.1"),
            ("final 2.1", "settled 2 by Attempt"),
            ("go", "call 3.1"),
            ("final 3.1", "settled 3 by Attempt"),
            ("go", "call 4.1"),
            ("final 4.1", "settled 4 by Attempt"),
            ("go", "call 5.1"),
            ("final 5.1", "settled 5 by Attempt"),
            ("go", "call 0.1"),
        ],
    );
}

#[test]
fn a_tool_has_a_limit() {
    check_order(
        "tool=1 s.b=2",
        &[(6, "a"), (5, "a"), (4, "b"), (3, "b"), (2, "b"), (1, "x.b")],
        &[
            ("go", "call 0.1, call 2.1, call 3.1, call 5.1"),
            ("final 2.1", "settled 2 by Attempt"),
            ("go", "call 4.1"),
            ("final 0.1", "settled 0 by Attempt"),
            ("go", "call 1.1"),
        ],
    );
}

#[test]
fn a_server_has_a_limit() {
    check_order(
        "server=2 x=1",
        &[
            (9, "a"),
            (8, "b"),
            (7, "c"),
            (6, "a"),
            (5, "x.a"),
            (4, "x.b"),
            (3, "y.a"),
        ],
        &[
            ("go", "call 0.1, call 1.1, call 4.1, call 6.1"),
            ("final 4.1", "settled 4 by Attempt"),
            ("go", "call 5.1"),
            ("final 0.1", "settled 0 by Attempt"),
            ("go", "call 2.1"),
            ("final 1.1", "settled 1 by Attempt"),
            ("final 2.1", "settled 2 by Attempt"),
            ("go", "call 3.1"),
        ],
    );
}

#[test]
fn what_runs_alone_waits_until_nothing_runs() {
    check_order(
        "",
        &[(3, "a"), (2, "b alone"), (2, "b alone"), (1, "a")],
        &[
            // A task of lower rank does not overtake it.
            ("go", "call 0.1"),
            ("go", ""),
            ("final 0.1", "settled 0 by Attempt"),
            ("go", "call 1.1"),
            ("go", ""),
            ("final 1.1", "settled 1 by Attempt"),
            ("go", "call 2.1"),
            ("final 2.1", "settled 2 by Attempt"),
            ("go", "call 3.1"),
        ],
    );
    // It starts at once if nothing runs, and takes the only slot.
    check_order(
        "tool=1",
        &[(3, "a alone"), (2, "a")],
        &[
            ("go", "call 0.1"),
            ("final 0.1", "settled 0 by Attempt"),
            ("go", "call 1.1"),
        ],
    );
}

#[test]
fn what_was_stopped_is_not_started() {
    for terms in ["a", "a alone"] {
        let stopped = [
            ("go", "call 0.1"),
            ("stop", "settled 1 by Stop, settled 2 by Stop"),
            ("final 0.1", "settled 0 by Attempt"),
            ("go", ""),
            ("see", "done"),
        ];
        check_order("total=1", &[(3, "a"), (2, terms), (1, terms)], &stopped);
    }
}

#[test]
fn stopped_tasks_delay_no_others() {
    for (stopped, other) in [("a", "a"), ("a alone", "a"), ("a", "a alone")] {
        check(
            "tool=1",
            &[
                ("add", ""),
                ("start 0", "prepare 0"),
                ("group 0", ""),
                ("add in=0 rank=9", ""),
                ("add rank=1", ""),
                ("start 1", "prepare 1"),
                ("start 2", "prepare 2"),
                (&format!("call 1 {stopped}"), ""),
                (&format!("call 2 {other}"), ""),
                ("stop 0", "settled 1 by Stop, child 1 of 0"),
                ("go", "call 2.1"),
                ("final 2.1", "settled 2 by Attempt"),
                ("go", ""),
                // The queue is empty, so only a person can continue the run.
                ("add", ""),
                ("start 3", "prepare 3"),
                ("call 3 a asks", "ask 3"),
                ("see", "people"),
                ("reject 3", "settled 3 by Rejection"),
                ("see", "stuck"),
            ],
        );
    }
}

#[test]
fn what_comes_back_queues_by_rank_and_age() {
    // The ranks are out of order, so both halves of a queue are used.
    check_order(
        "tool=1",
        &[(5, "a"), (9, "a"), (5, "a"), (9, "a"), (7, "a"), (3, "a")],
        &[
            ("go", "call 1.1"),
            ("final 1.1", "settled 1 by Attempt"),
            ("go", "call 3.1"),
            ("final 3.1", "settled 3 by Attempt"),
            ("go", "call 4.1"),
            ("final 4.1", "settled 4 by Attempt"),
            ("go", "call 0.1"),
            ("final 0.1", "settled 0 by Attempt"),
            ("go", "call 2.1"),
            ("final 2.1", "settled 2 by Attempt"),
            ("go", "call 5.1"),
            ("final 5.1", "settled 5 by Attempt"),
            ("see", "done"),
        ],
    );
}

#[track_caller]
fn check_ranks(weights: &[u64], waits: &[&[u32]], expected: &[u64]) {
    let waits: Vec<Vec<u32>> = waits.iter().map(|list| list.to_vec()).collect();
    assert_eq!(ranks(weights, &waits), expected);
}

#[test]
fn the_longest_path_counts() {
    check_ranks(&[], &[], &[]);
    check_ranks(&[3, 5], &[&[], &[]], &[3, 5]);
    check_ranks(&[3, 5, 7], &[&[], &[0], &[1]], &[15, 12, 7]);
    // Two ways of different length, which meet again.
    check_ranks(
        &[1, 20, 3, 4, 5],
        &[&[], &[0], &[0], &[2], &[1, 3]],
        &[26, 25, 12, 9, 5],
    );
    // A dependency that is listed twice counts once.
    check_ranks(&[1, 1], &[&[], &[0, 0]], &[2, 1]);
    check_ranks(&[u64::MAX, 1], &[&[], &[0]], &[u64::MAX, 1]);
}

#[test]
fn tasks_stand_in_any_order() {
    check_ranks(&[3, 5], &[&[1], &[]], &[3, 8]);
    check_ranks(&[1, 2, 4], &[&[1], &[2], &[]], &[1, 3, 7]);
    check_ranks(&[1, 2, 4, 8], &[&[3], &[0], &[0, 1], &[]], &[7, 6, 4, 15]);
}

#[test]
fn what_is_on_a_cycle_counts_by_itself() {
    check_ranks(&[1, 2, 4], &[&[1], &[0], &[0]], &[5, 2, 4]);
    check_ranks(&[1, 2], &[&[], &[0, 1]], &[1, 2]);
}
