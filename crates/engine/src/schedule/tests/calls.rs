//! Single calls: attempts, pauses, timers, approvals.

use super::scene::check;

#[test]
fn a_call_ends_at_its_last_attempt() {
    check(
        "",
        &[
            ("add rank=7", ""),
            ("start 0", "prepare 0"),
            ("see 0", "Preparing 0 7"),
            ("call 0 t", ""),
            ("see 0", "Ready 0 7"),
            ("see", ""),
            ("go", "call 0.1"),
            ("see 0", "Running 1 7"),
            ("see", ""),
            ("go", ""),
            // Events of other attempts, or without a request, have no effect.
            ("final 0.2", ""),
            ("final 1.1", ""),
            ("call 0 t", ""),
            ("approve 0", ""),
            ("reject 0", ""),
            ("final 0.1", "settled 0 by Attempt"),
            ("final 0.1", ""),
            ("see 0", "Settled 1 7"),
            ("see 9", "Settled 0 0"),
            ("see", "done"),
        ],
    );
}

#[test]
fn a_call_that_is_postponed_gives_its_place_back_and_has_not_begun() {
    check(
        "total=1",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1", "prepare 1"),
            ("call 0 t attempts=2 each=50 whole=900", ""),
            ("call 1 u", ""),
            (
                "go",
                "call 0.1, set attempt 0.1 in 50ms, set step 0 in 900ms",
            ),
            ("postpone 0.2 70", ""),
            ("postpone 1.1 70", ""),
            (
                "postpone 0.1 70",
                "clear attempt 0.1, set pause 0.0 in 70ms",
            ),
            ("postpone 0.1 70", ""),
            ("see 0", "Backoff 0 0"),
            ("see", ""),
            ("go", "call 1.1"),
            ("fire pause 0.0", ""),
            ("go", ""),
            ("final 1.1", "settled 1 by Attempt"),
            ("go", "call 0.1, set attempt 0.1 in 50ms"),
            (
                "fail 0.1 0",
                "clear attempt 0.1, again after 0.1 in 0ns, set pause 0.1 in 0ns",
            ),
            ("fire pause 0.1", ""),
            ("go", "call 0.2, set attempt 0.2 in 50ms"),
            (
                "postpone 0.2 10",
                "clear attempt 0.2, set pause 0.1 in 10ms",
            ),
            ("stop", "clear step 0, settled 0 by Stop"),
        ],
    );
}

#[test]
fn pauses_double_and_vary() {
    check(
        "",
        &[
            ("add", ""),
            ("start 0", "prepare 0"),
            ("call 0 t attempts=4 pause=1000 each=50 whole=9000", ""),
            ("go", "call 0.1, set attempt 0.1 in 50ms, set step 0 in 9s"),
            (
                "fail 0.1 0",
                "clear attempt 0.1, again after 0.1 in 1.2s, set pause 0.1 in 1.2s",
            ),
            ("see 0", "Backoff 1 0"),
            ("see", ""),
            ("fire pause 0.2", ""),
            ("fire attempt 0.1", ""),
            ("see 0", "Backoff 1 0"),
            ("fire pause 0.1", ""),
            ("fire pause 0.1", ""),
            ("see 0", "Ready 1 0"),
            ("go", "call 0.2, set attempt 0.2 in 50ms"),
            ("fire attempt 0.1", ""),
            (
                "fire attempt 0.2",
                "abort 0.2, clear attempt 0.2, again after 0.2 in 2.154s, set pause 0.2 in 2.154s",
            ),
            ("fire pause 0.2", ""),
            ("go", "call 0.3, set attempt 0.3 in 50ms"),
            // The pause is at least as long as the answer asks for.
            (
                "fail 0.3 20000",
                "clear attempt 0.3, again after 0.3 in 20s, set pause 0.3 in 20s",
            ),
            ("fire pause 0.3", ""),
            ("go", "call 0.4, set attempt 0.4 in 50ms"),
            (
                "fire attempt 0.4",
                "abort 0.4, clear attempt 0.4, clear step 0, settled 0 by AttemptTimeout",
            ),
        ],
    );
}

#[test]
fn a_pause_grows_to_a_minute_and_varies_there_too() {
    check(
        "",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1", "prepare 1"),
            ("call 0 t attempts=2 pause=600000", ""),
            ("call 1 t attempts=2 pause=60000", ""),
            ("go", "call 0.1, call 1.1"),
            ("unsure 0.1", "again after 0.1 in 72s, set pause 0.1 in 72s"),
            (
                "unsure 1.1",
                "again after 1.1 in 61.14s, set pause 1.1 in 61.14s",
            ),
        ],
    );
}

#[test]
fn what_may_have_happened_is_tried_again_only_where_that_is_right() {
    check(
        "",
        &[
            ("add", ""),
            ("start 0", "prepare 0"),
            ("call 0 t attempts=3 once", ""),
            ("go", "call 0.1"),
            ("fail 0.1 5", "again after 0.1 in 5ms, set pause 0.1 in 5ms"),
            ("fire pause 0.1", ""),
            ("go", "call 0.2"),
            ("unsure 0.2", "settled 0 by Attempt"),
        ],
    );
}

#[test]
fn the_time_of_a_step_goes_on_while_it_pauses() {
    check(
        "total=1",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1", "prepare 1"),
            ("call 0 t attempts=2 whole=70", ""),
            ("call 1 t", ""),
            ("go", "call 0.1, set step 0 in 70ms"),
            ("fail 0.1 5", "again after 0.1 in 5ms, set pause 0.1 in 5ms"),
            ("fire step 0", "settled 0 by StepTimeout"),
            ("fire step 0", ""),
            ("fire pause 0.1", ""),
            ("go", "call 1.1"),
            ("final 1.1", "settled 1 by Attempt"),
        ],
    );
    // The slot of an aborted call is free.
    check(
        "total=1",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1 0", ""),
            ("call 0 t whole=70 each=60", ""),
            (
                "go",
                "call 0.1, set attempt 0.1 in 60ms, set step 0 in 70ms",
            ),
            (
                "fire step 0",
                "abort 0.1, clear attempt 0.1, settled 0 by StepTimeout, prepare 1",
            ),
            ("final 0.1", ""),
            ("call 1 t", ""),
            ("go", "call 1.1"),
        ],
    );
}

#[test]
fn people_are_asked_first() {
    check(
        "",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1", "prepare 1"),
            ("call 0 t asks", "ask 0"),
            ("see 0", "AwaitingApproval 0 0"),
            ("call 1 t asks", "ask 1"),
            ("see", "people"),
            ("go", ""),
            ("approve 0", ""),
            ("see", ""),
            ("go", "call 0.1"),
            ("see", ""),
            ("reject 1", "settled 1 by Rejection"),
            ("approve 1", ""),
            ("final 0.1", "settled 0 by Attempt"),
            ("see", "done"),
        ],
    );
    // A task that pauses does not wait for a person.
    check(
        "",
        &[
            ("add", ""),
            ("add", ""),
            ("start 0", "prepare 0"),
            ("start 1", "prepare 1"),
            ("call 0 t asks", "ask 0"),
            ("call 1 t attempts=2", ""),
            ("see", ""),
            ("go", "call 1.1"),
            ("see", ""),
            ("fail 1.1 9", "again after 1.1 in 9ms, set pause 1.1 in 9ms"),
            ("see", ""),
            ("fire pause 1.1", ""),
            ("see", ""),
            ("go", "call 1.2"),
            ("final 1.2", "settled 1 by Attempt"),
            ("see", "people"),
        ],
    );
}
