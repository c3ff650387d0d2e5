//! Waiting tasks, groups of tasks, and their ends.

use super::scene::check;

#[test]
fn tasks_wait_for_all_of_those_before() {
    check(
        "",
        &[
            ("add", ""),
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1", "prepare 1"),
            ("start 2 0 1", ""),
            ("see 2", "Waiting 0 0"),
            ("value 0", "settled 0 by Itself"),
            ("value 0", ""),
            ("value 1", "settled 1 by Itself, prepare 2"),
            // The task turns out to need a settled task, then an unsettled one.
            ("wait 2 0", "prepare 2"),
            ("add", ""),
            ("wait 2 3 0", ""),
            ("start 3", "prepare 3"),
            ("value 3", "settled 3 by Itself, prepare 2"),
            ("value 2", "settled 2 by Itself"),
            ("see", "done"),
        ],
    );
}

#[test]
fn what_waits_for_itself_is_stuck() {
    check(
        "",
        &[
            ("see", "done"),
            ("add", ""),
            ("add", ""),
            ("start 0 1", ""),
            ("start 1 0", ""),
            ("see", "stuck"),
            (
                "cancel",
                "settled 1 by Cancel, prepare 0, settled 0 by Cancel",
            ),
            ("value 0", ""),
            ("see", "done"),
        ],
    );
    // The run is not stuck while something else may still happen.
    check(
        "",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0 0", ""),
            ("start 1", "prepare 1"),
            ("call 1 t asks attempts=2", "ask 1"),
            ("see", "people"),
            ("approve 1", ""),
            ("see", ""),
            ("go", "call 1.1"),
            ("see", ""),
            ("fail 1.1 5", "again after 1.1 in 5ms, set pause 1.1 in 5ms"),
            ("see", ""),
            ("fire pause 1.1", ""),
            ("go", "call 1.2"),
            ("final 1.2", "settled 1 by Attempt"),
            ("see", "stuck"),
        ],
    );
}

#[test]
fn a_group_closes_after_its_last_child() {
    check(
        "",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1 0", ""),
            ("seal 1", ""),
            ("group 0 whole=500", "set step 0 in 500ms"),
            ("add in=0", ""),
            ("add in=0", ""),
            ("start 2", "prepare 2"),
            ("start 3", "prepare 3"),
            ("value 2", "settled 2 by Itself, child 2 of 0"),
            ("seal 0", ""),
            ("value 3", "settled 3 by Itself, close 0"),
            ("see 0", "Group 0 0"),
            ("close 0", "clear step 0, settled 0 by Itself, prepare 1"),
            ("close 0", ""),
            ("seal 0", ""),
        ],
    );
    // An empty group closes when it is sealed.
    check(
        "",
        &[
            ("add", ""),
            ("start 0", "prepare 0"),
            ("group 0", ""),
            ("seal 0", "close 0"),
        ],
    );
}

#[test]
fn a_group_that_takes_too_long_ends_with_all_in_it() {
    check(
        "",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1", "prepare 1"),
            ("group 0 whole=500", "set step 0 in 500ms"),
            ("add in=0", ""),
            ("add in=0", ""),
            ("start 2", "prepare 2"),
            ("start 3", "prepare 3"),
            ("group 3", ""),
            ("add in=3", ""),
            ("start 4", "prepare 4"),
            ("call 4 t each=70", ""),
            ("call 1 t", ""),
            ("go", "call 1.1, call 4.1, set attempt 4.1 in 70ms"),
            (
                "fire step 0",
                "abort 4.1, clear attempt 4.1, settled 4 by Cancel, child 4 of 3, settled 3 by Cancel, child 3 of 0, settled 2 by Cancel, child 2 of 0, settled 0 by StepTimeout",
            ),
            ("see 1", "Running 1 0"),
            ("final 1.1", "settled 1 by Attempt"),
            ("see", "done"),
        ],
    );
}

#[test]
fn stopping_a_group_lets_the_others_go_on() {
    check(
        "",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("group 0", ""),
            ("add in=0", ""),
            ("add in=0", ""),
            ("add in=0", ""),
            ("add in=0", ""),
            ("add in=0", ""),
            ("start 1", "prepare 1"),
            ("start 2", "prepare 2"),
            ("start 3", "prepare 3"),
            ("start 4", "prepare 4"),
            ("start 5", "prepare 5"),
            ("call 2 t attempts=3", ""),
            ("call 3 t asks", "ask 3"),
            ("group 4", ""),
            ("add in=4", ""),
            ("call 5 t attempts=2", ""),
            ("start 7 2", ""),
            ("go", "call 2.1, call 5.1"),
            ("fail 5.1 5", "again after 5.1 in 5ms, set pause 5.1 in 5ms"),
            (
                "stop 0",
                "settled 3 by Stop, child 3 of 0, settled 5 by Stop, child 5 of 0, settled 6 by Stop, child 6 of 0, settled 7 by Stop, child 7 of 4",
            ),
            ("see 1", "Preparing 0 0"),
            ("see 4", "Group 0 0"),
            // The run starts nothing new, and retries nothing.
            ("add in=4", ""),
            ("start 8", "settled 8 by Stop, child 8 of 4"),
            ("seal 4", "close 4"),
            ("close 4", "settled 4 by Itself, child 4 of 0"),
            ("fail 2.1 5", "settled 2 by Stop, child 2 of 0"),
            ("seal 0", "close 0"),
            ("close 0", "settled 0 by Itself"),
            ("call 1 t", ""),
            ("go", "call 1.1"),
        ],
    );
}

#[test]
fn stopping_and_cancelling_everything() {
    let before = [
        ("add", ""),
        ("add", ""),
        ("add", ""),
        ("start 0", "prepare 0"),
        ("start 1", "prepare 1"),
        ("start 2 0", ""),
        ("call 0 t", ""),
        ("call 1 t asks", "ask 1"),
        ("go", "call 0.1"),
    ];
    let stopped = [
        ("stop", "settled 1 by Stop, settled 2 by Stop"),
        ("approve 1", ""),
        ("final 0.1", "settled 0 by Attempt"),
        ("add", ""),
        ("start 3", "settled 3 by Stop"),
        ("see", "done"),
    ];
    check("", &[&before[..], &stopped].concat());
    let cancelled = [
        (
            "cancel",
            "settled 2 by Cancel, settled 1 by Cancel, abort 0.1, settled 0 by Cancel",
        ),
        ("final 0.1", ""),
        ("cancel", ""),
        ("add", ""),
        ("start 3", "settled 3 by Stop"),
        ("see", "done"),
    ];
    check("", &[&before[..], &cancelled].concat());
}
