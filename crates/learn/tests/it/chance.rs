//! Tests of agreement by chance: what fits all traces and is not proved by them.

use planwright_learn::{FindingKind, Trace, generalize};

use crate::plans::{asked, catalog, kinds, text, trace};

/// A session that changes each item of a list. All items have the same `state`.
fn all_changed(request: &str, arguments: &str, state: &str, ids: &[&str]) -> Trace {
    let items: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"id": "{id}", "state": {state}, "open": true}}"#))
        .collect();
    let answer = format!(r#"{{"items": [{}]}}"#, items.join(", "));
    let args: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"id": "{id}"}}"#))
        .collect();
    let mut calls = vec![("find", arguments, &*answer)];
    calls.extend(args.iter().map(|args| ("change", &**args, "1")));
    asked(request, &calls)
}

#[test]
fn a_loop_over_items_that_all_have_what_a_request_names_is_undecided() {
    let ids = [
        &["ab-1001", "ab-1002"][..],
        &["ab-2001", "ab-2002", "ab-2003"],
    ];
    let both = |request: &str, arguments: &str, state: &str| {
        kinds(&ids.map(|ids| all_changed(request, arguments, state, ids)))
    };
    let (learned, found) = both("Change the late tickets.", "{}", r#""late""#);
    assert_eq!(found, [FindingKind::PossibleSelection]);
    assert!(!learned.is_complete());
    assert!(
        learned.findings[0].message.contains("the same `state`"),
        "{}",
        learned.findings[0].message
    );
    // A field that is true, by its name.
    let (_, found) = both("Change the open tickets.", "{}", "1");
    assert_eq!(found, [FindingKind::PossibleSelection]);
    // The call of the list has selected the items.
    let (_, found) = both(
        "Change the late tickets.",
        r#"{"state": "late"}"#,
        r#""late""#,
    );
    assert_eq!(found, []);
    // No request names the field.
    let (_, found) = both("Change the tickets.", "{}", r#""late""#);
    assert_eq!(found, []);
}

#[test]
fn a_condition_that_excludes_one_value_needs_several_others() {
    let session = |state: &str| {
        let answer = format!(r#"{{"state": "{state}"}}"#);
        let calls = [("find", "{}", &*answer), ("change", "{}", "1")];
        trace(if state == "on time" {
            &calls[..1]
        } else {
            &calls[..]
        })
    };
    let (learned, found) = kinds(&["late", "lost", "on time", "on time"].map(session));
    assert_eq!(found, [FindingKind::PossibleCondition]);
    assert!(
        text(&learned).contains(r#"find.state != "on time""#),
        "{}",
        text(&learned)
    );
    let many = ["late", "lost", "torn", "wet", "on time", "on time"].map(session);
    assert_eq!(kinds(&many).1, []);
    // A condition that names its value does not hold for further ones.
    let other_way = |state: &str| {
        let answer = format!(r#"{{"state": "{state}"}}"#);
        let calls = [("find", "{}", &*answer), ("change", "{}", "1")];
        trace(if state == "late" {
            &calls[..]
        } else {
            &calls[..1]
        })
    };
    assert_eq!(
        kinds(&["late", "late", "lost", "on time"].map(other_way)).1,
        []
    );
}

#[test]
fn calls_that_a_trace_does_not_have_are_undecided() {
    let session = || Trace {
        left_out: vec!["`send` is called by a subagent, so it is left out".to_owned()],
        ..trace(&[("change", "{}", "1")])
    };
    let (learned, found) = kinds(&[session(), session()]);
    assert!(found.contains(&FindingKind::LeftOutCall), "{found:?}");
    assert!(!learned.is_complete());
    assert_eq!(
        learned.findings[0].message,
        "in `trace`, `send` is called by a subagent, so it is left out"
    );
}

#[test]
fn the_origin_of_an_input_is_said_as_it_is() {
    let session = |found: &str, given: &str, reply: &str| {
        let found = format!(r#"{{"missing": {found}}}"#);
        let given = format!(r#"{{"quantity": {given}}}"#);
        Trace {
            replies: vec![reply.to_owned()],
            ..asked(
                "Order what is missing.",
                &[("find", "{}", &found), ("change", &given, "1")],
            )
        }
    };
    let learned = |one: Trace, other: Trace| {
        let learned = generalize(&[one, other], &catalog(&["find", "change"]));
        let messages = learned.findings.into_iter().map(|found| found.message);
        messages.collect::<Vec<String>>()
    };
    let other_type = "`4711` occurs in an earlier answer only as a value of another type";
    assert_eq!(
        learned(
            session(r#""4711""#, "4711", ""),
            session(r#""8822""#, "8822", "")
        ),
        [other_type]
    );
    assert_eq!(
        learned(
            session("4711", r#""4711""#, ""),
            session("8822", r#""8822""#, "")
        ),
        [other_type]
    );
    assert_eq!(
        learned(session("1", "4711", ""), session("2", "8822", "")),
        ["`4711` occurs neither in the request nor in an earlier answer"]
    );
    // The user has said it later.
    assert_eq!(
        learned(
            session("1", "4711", "Make it 4711."),
            session("2", "8822", "Please 8822")
        ),
        [""; 0]
    );
}
