//! `diff` compares two runs.

use planwright::core::Value;

use super::support::{Shop, json};
use crate::program::stdout;

const PLAN: &str = r#"{"name": "shop", "inputs": {"total": {"default": 3}}, "steps": [
    {"id": "list", "tool": "list"},
    {"id": "price", "tool": "price", "args": {"total": "${inputs.total}"}},
    {"id": "tell", "tool": "echo", "args": {"list": ["a", {"price": "${price.price}"}]}}
]}"#;

/// Lines with every length of time, and what comes of them, replaced.
fn even(text: &str) -> Vec<String> {
    let time = regex::Regex::new(r"<?\d[\d.]*m?s → <?\d[\d.]*m?s( \(× [\d.]+\))?").unwrap();
    let lines = text.lines().skip(1);
    lines
        .map(|line| time.replace_all(line, "TIMES").into_owned())
        .collect()
}

#[track_caller]
fn check(shop: &Shop, before: &str, after: &str, status: i32, expected: &[&str]) {
    let output = shop.command(&["diff", before, after]);
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert_eq!(even(&stdout(&output)), expected);
}

#[test]
fn runs_of_one_plan_are_the_same() {
    let shop = Shop::new();
    let (one, two) = (shop.run(PLAN, &[]), shop.run(PLAN, &[]));
    let expected = ["plan: the same", "time: TIMES", "", "3 steps, all the same"];
    check(&shop, &one, &two[..10], 0, &expected);
}

#[test]
fn differences_are_named() {
    let shop = Shop::new();
    let one = shop.run(PLAN, &[]);
    let two = shop.run(PLAN, &["--var", "total=4"]);
    check(
        &shop,
        &one,
        &two,
        1,
        &[
            "plan: the same",
            "inputs/total: 3 → 4",
            "status: succeeded → failed",
            "calls: 3 → 2",
            "time: TIMES",
            "",
            "price  succeeded → failed, TIMES",
            "  arguments/total: 3 → 4",
            "  output: {\"price\":30} → nothing",
            "  error: nothing → \"no price\"",
            "tell  succeeded → skipped, attempts 1 → 0",
            "  arguments: {\"list\":[\"a\",{\"price\":30}]} → nothing",
            "  output: {\"list\":[\"a\",{\"price\":30}]} → nothing",
        ],
    );
}

#[test]
fn plans_differ_by_their_steps() {
    let shop = Shop::new();
    let one = shop.run(PLAN, &[]);
    let other = PLAN.replace("\"a\"", "\"b\"").replace(
        r#"{"id": "list", "tool": "list"}"#,
        r#"{"id": "first", "tool": "list"}"#,
    );
    let two = shop.run(&other, &[]);
    check(
        &shop,
        &one,
        &two,
        1,
        &[
            "plan: shop, changed",
            "  added: first",
            "  removed: list",
            "  changed: tell",
            "time: TIMES",
            "",
            "first  only in the second: succeeded",
            "tell  TIMES",
            "  arguments/list/0: \"a\" → \"b\"",
            "  output/list/0: \"a\" → \"b\"",
            "list  only in the first: succeeded",
        ],
    );
    let diff = json(&shop.command(&["diff", &one, &two, "--format", "json"]));
    assert_eq!(diff.get("same"), Some(&Value::Bool(false)));
    let changed = diff.get("plan").and_then(|plan| plan.get("changed"));
    assert_eq!(changed, Some(&Value::list([Value::from("tell")])));
}

#[test]
fn a_plan_that_has_a_step_more_keeps_what_the_others_gave() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &["--var", "total=4"]);
    let longer = PLAN
        .replace(
            "[\n    {",
            "[\n    {\"id\": \"first\", \"tool\": \"echo\"},\n    {",
        )
        .replace("\"${inputs.total}\"", "3");
    shop.write("longer.json", &longer);
    let resumed = shop.command(&["resume", &run, "--plan", "longer.json", "--format", "json"]);
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
    let log = json(&shop.command(&["logs", &run, "list", "--format", "json"]));
    assert_eq!(
        log.get("lines").unwrap().as_list().unwrap().len(),
        1,
        "{log}"
    );
}
