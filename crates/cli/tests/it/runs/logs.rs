//! `logs` prints the calls and decisions of a run.

use planwright::core::Value;

use super::support::{Shop, json};
use crate::program::{stderr, stdout};

const PLAN: &str = r#"{"name": "shop", "steps": [
    {"id": "flaky", "tool": "flaky", "retry": {"attempts": 2, "delay": "1ms"}},
    {"id": "list", "after": ["flaky"], "tool": "list"},
    {"id": "price", "for_each": "${list.orders}", "max_parallel": 1, "tool": "price", "args": {"total": "${item.total}"}},
    {"id": "pay", "tool": "pay", "args": {"sum": 7, "for": "${list.orders[0].id}"}}
]}"#;

/// Summarizes a line in a few words.
fn words(line: &Value) -> String {
    let text = |name: &str| line.get(name).and_then(Value::as_text);
    let mut words = vec![text("what").unwrap().to_owned()];
    words.extend(text("address").map(str::to_owned));
    words.extend(line.get("attempt").map(Value::to_json));
    words.extend(
        ["status", "choice"]
            .iter()
            .filter_map(|name| text(name))
            .map(str::to_owned),
    );
    words.extend(line.get("approved").map(Value::to_json));
    words.join(" ")
}

fn lines(shop: &Shop, args: &[&str]) -> Vec<String> {
    let log = json(&shop.command(&[&["logs", "--format", "json"], args].concat()));
    let lines = log.get("lines").and_then(Value::as_list).unwrap();
    lines.iter().map(words).collect()
}

#[test]
fn all_entries_are_logged_in_order() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &["--max-parallel", "1"]);
    let resumed = shop.command(&["resume", &run, "--approve", "all", "--skip", "price[1]"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert_eq!(
        lines(&shop, &[&run]),
        [
            "began",
            "call flaky 1 failed",
            "call flaky 2 succeeded",
            "call list 1 succeeded",
            "asked pay",
            "call price[0] 1 succeeded",
            "call price[1] 1 failed",
            "ended waiting",
            "began",
            "asked pay",
            "chosen price[1] skip",
            "decided pay true",
            "call pay 1 succeeded",
            "ended succeeded",
        ]
    );
}

#[test]
fn a_plan_without_a_name_is_that_of_its_file() {
    let shop = Shop::new();
    let run = shop.run(r#"{"steps": [{"id": "list", "tool": "list"}]}"#, &[]);
    let short = run.get(..8).unwrap();
    let first = format!("run {short} of plan.json: succeeded");
    for command in [&["logs", &run][..], &["show", &run, "--step", "list"]] {
        let shown = stdout(&shop.command(command));
        assert!(shown.contains(&first), "{command:?}: {shown}");
    }
    shop.run(r#"{"steps": [{"id": "first", "tool": "list"}]}"#, &[]);
    let shown = stdout(&shop.command(&["diff"]));
    assert!(shown.contains("plan: plan.json, changed"), "{shown}");
}

#[test]
fn a_single_step_can_be_selected() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    assert_eq!(
        lines(&shop, &[&run, "price"]),
        ["call price[0] 1 succeeded", "call price[1] 1 failed"]
    );
    assert_eq!(
        lines(&shop, &[&run, "price[1]"]),
        ["call price[1] 1 failed"]
    );
    let output = shop.command(&["logs", &run, "prise"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "error: the run has no step `prise`\n  hint: did you mean `price`?\n"
    );
}

#[test]
fn foreign_texts_are_shown_and_not_obeyed() {
    let shop = Shop::new();
    let plan = r#"{"name": "\u001b[2J", "steps": [{"id": "echo", "tool": "echo", "args": {"text": "a\u001b[2Jb"}}]}"#;
    let run = shop.run(plan, &[]);
    for command in [
        &["logs", run.as_str()][..],
        &["runs"],
        &["show", run.as_str()],
    ] {
        let text = stdout(&shop.command(command));
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(text.contains("[2J"), "{text:?}");
    }
}
