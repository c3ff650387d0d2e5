//! Decisions that are given ahead are about tools that there are.

use std::fs;

use crate::program::{planwright, stderr};

const TOOLS: &str =
    r#"{"tools": {"pay": {"approval": true, "returns": "paid"}, "look": {"returns": 1}}}"#;
const PLAN: &str = r#"{"name": "p", "steps": [{"id": "a", "tool": "pay", "args": {}}]}"#;

/// Runs the plan with this file of decisions.
fn check(approvals: &str, exit: i32, on_stderr: &[&str]) {
    check_with((TOOLS, PLAN), approvals, exit, on_stderr);
}

fn check_with((tools, plan): (&str, &str), approvals: &str, exit: i32, on_stderr: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("tools.json", tools),
        ("plan.json", plan),
        ("yes.json", approvals),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let output = planwright(folder.path())
        .args([
            "run",
            "plan.json",
            "--simulate",
            "tools.json",
            "--approvals",
            "yes.json",
        ])
        .output()
        .unwrap();
    let log = stderr(&output);
    assert_eq!(output.status.code(), Some(exit), "{approvals}\n{log}");
    for words in on_stderr {
        assert!(log.contains(words), "`{words}` is not in {log}");
    }
}

#[test]
fn unknown_tools_are_no_decision() {
    check(r#"{"pay": {"decision": "approve"}}"#, 0, &[]);
    check(r#"{"simulated.pay": {"decision": "approve"}}"#, 0, &[]);
    // One that this plan does not call does no harm.
    check(
        r#"{"look": {"decision": "reject"}, "pay": {"decision": "approve"}}"#,
        0,
        &[],
    );
    check(
        r#"{"pya": {"decision": "approve"}}"#,
        2,
        &[
            "`yes.json` has a decision about `pya`, but there is no such tool",
            "did you mean `pay`?",
        ],
    );
    check(
        r#"{"pay": {"decision": "approve"}, "transfer_money": {"decision": "reject"}}"#,
        2,
        &["`planwright tools` lists them"],
    );
}

#[test]
fn a_decision_without_effect_is_an_error() {
    for (approvals, message) in [
        (
            r#"{"pay": {"decision": "reject"}, "pay": {"decision": "approve"}}"#,
            "the key `pay` occurs twice",
        ),
        (
            r#"{"pay": {"decision": "reject", "args": {}}}"#,
            "the decision about `pay` in `yes.json` rejects, so that `args` has no effect",
        ),
        (
            r#"{"pay": {"decision": "approve", "because": "x"}}"#,
            "the decision about `pay` in `yes.json` approves, so that `because` has no effect",
        ),
        (
            r#"{"pay": {"decision": "reject", "because": 5}}"#,
            "the decision about `pay` in `yes.json` has a number as `because`",
        ),
    ] {
        check(approvals, 2, &[message]);
    }
    check(
        r#"{"pay": {"decision": "reject", "because": " "}}"#,
        1,
        &["the call was rejected"],
    );
}

#[test]
fn a_name_that_several_servers_offer_decides_nothing() {
    let tools = r#"{"tools": {"a.pay": {"approval": true, "returns": 1}, "b.pay": {"approval": true, "returns": 2}, "pay": {"approval": true, "returns": 3}}}"#;
    let plan = PLAN.replace("\"pay\"", "\"a.pay\"");
    check_with(
        (tools, &plan),
        r#"{"pay": {"decision": "approve"}}"#,
        2,
        &[
            "`yes.json` has a decision about `pay`, which several servers offer",
            "name one: `a.pay`, `b.pay`, `simulated.pay`",
        ],
    );
}
