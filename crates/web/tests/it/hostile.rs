//! Values that would do harm as markup: they are JSON texts, and nothing else.

use serde_json::json;

use crate::world::World;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}\u{200b}";

#[test]
fn values_are_texts_of_json() {
    let world = World::new();
    let plan = json!({"name": HOSTILE, "steps": [
        {"id": "ask", "title": HOSTILE, "tool": "bank.pay", "args": {"to": HOSTILE, "amount": 1}},
        {"id": "fail", "tool": "bank.fail"},
    ]});
    world.run(&plan.to_string(), "r1", None);
    for path in [
        "runs",
        "inbox",
        "runs/r1",
        "runs/r1/steps/ask",
        "runs/r1/report",
        "runs/r1/timeline",
    ] {
        let response = world.events(path);
        assert_eq!(
            response.header("content-type"),
            Some("application/json"),
            "{path}"
        );
        assert_eq!(
            response.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
    }
    let question = world.question("r1");
    assert_eq!(question["arguments"]["to"], HOSTILE);
    let shown = question["arguments_shown"].to_string();
    assert!(
        !shown.contains('\u{202e}') && !shown.contains('\u{200b}'),
        "{shown}"
    );
    let (_, step) = world.get("runs/r1/steps/fail");
    assert_eq!(step["error"]["message"], "<script>alert(1)</script>");
    let (status, body) = world.get("runs/%3Cscript%3E");
    assert_eq!(status, 404);
    assert_eq!(body["error"]["message"], "there is no run `<script>`");
}

#[test]
fn long_values_are_cut_until_they_are_wanted() {
    let world = World::new();
    let long = "x".repeat(1_000_000);
    let plan =
        json!({"steps": [{"id": "ask", "tool": "bank.pay", "args": {"to": long, "amount": 1}}]});
    world.run(&plan.to_string(), "r1", None);
    let (_, step) = world.get("runs/r1/steps/ask");
    assert_eq!(step["cut"], true);
    assert!(
        step.to_string().len() < 300_000,
        "{}",
        step.to_string().len()
    );
    let (_, step) = world.get("runs/r1/steps/ask?whole=1");
    assert_eq!(step["cut"], false);
    assert_eq!(step["arguments"]["to"], long);
    let shown = world.question("r1")["arguments_shown"].to_string();
    assert!(shown.len() < 1000, "{shown}");
}

#[test]
fn a_long_log_is_cut_until_it_is_wanted() {
    let world = World::new();
    let items: Vec<String> = (0..1100).map(|item: u32| item.to_string()).collect();
    let plan = json!({"steps": [
        {"id": "all", "tool": "bank.balance", "args": {"of": "${item}"}, "for_each": items}
    ]});
    world.run(&plan.to_string(), "r1", None);
    let lines = |path: &str| {
        let (_, step) = world.get(path);
        (step["log"].as_array().unwrap().len(), step["cut"].clone())
    };
    assert_eq!(lines("runs/r1/steps/all"), (1000, json!(true)));
    let (whole, cut) = lines("runs/r1/steps/all?whole=1");
    assert!(whole > 1000, "{whole}");
    assert_eq!(cut, json!(false));
}
