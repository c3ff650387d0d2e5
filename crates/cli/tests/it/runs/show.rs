//! `show` draws runs with the status of each step.

use planwright::core::Value;

use super::support::{Shop, json};
use crate::program::{stderr, stdout};

const PLAN: &str = r#"{"name": "shop", "steps": [
    {"id": "list", "tool": "list"},
    {"id": "price", "for_each": "${list.orders}", "tool": "price", "args": {"total": "${item.total}"}},
    {"id": "flaky", "tool": "flaky", "retry": {"attempts": 2, "delay": "1ms"}},
    {"id": "pay", "tool": "pay", "args": {"sum": 7}},
    {"id": "never", "when": "${flaky == 1}", "tool": "echo"},
    {"id": "inner", "plan": {"steps": [{"id": "a", "tool": "echo"}, {"id": "b", "after": ["a"], "tool": "echo"}]}}
]}"#;

/// Draws the run. Returns the lines of its steps, and of the plans inside of its plan.
fn drawn(shop: &Shop, run: &str) -> Vec<String> {
    let graph = json(&shop.command(&["show", run, "--as", "json"]));
    let plans = graph.get("plans").and_then(Value::as_list).unwrap_or(&[]);
    [&graph]
        .into_iter()
        .chain(plans)
        .flat_map(|plan| plan.get("steps").unwrap().as_list().unwrap())
        .map(|step| {
            let text = |name: &str| step.get(name).and_then(Value::as_text).unwrap_or("");
            let attempts = step.get("attempts").map(Value::to_json).unwrap_or_default();
            let words = [text("id"), text("status"), &attempts, text("note")];
            words.join(" ").trim_end().to_owned()
        })
        .collect()
}

#[test]
fn every_step_says_how_it_stands() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    assert_eq!(
        drawn(&shop, &run),
        [
            "list succeeded 1",
            "price failed 2 item 1: no price",
            "flaky succeeded 2",
            "pay waiting 0 waits for a decision",
            "never skipped 0 skipped",
            "inner succeeded 2",
            "a succeeded 1",
            "b succeeded 1",
        ]
    );
    shop.command(&["resume", &run, "--approve", "all", "--skip", "price"]);
    let drawn = drawn(&shop, &run);
    assert_eq!(
        drawn[1..4],
        [
            "price skipped 0 skipped",
            "flaky succeeded 2",
            "pay succeeded 1"
        ]
    );
    let graph = json(&shop.command(&["show", &run, "--as", "json"]));
    let drawn = graph.get("run").unwrap();
    assert_eq!(drawn.get("id").and_then(Value::as_text), Some(&*run));
    assert_eq!(
        drawn.get("status").and_then(Value::as_text),
        Some("succeeded")
    );
}

#[test]
fn all_pictures_have_marks() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    for (kind, marks) in [
        ("text", ["✓", "✗", "○", "–"]),
        ("ascii", ["+  ", "x  ", "o  ", "-  "]),
        ("mermaid", ["✓ list", "✗ price", "○ pay", "– never"]),
        ("dot", ["✓ list", "✗ price", "○ pay", "– never"]),
    ] {
        let text = stdout(&shop.command(&["show", &run[..8], "--as", kind]));
        for mark in marks {
            assert!(text.contains(mark), "{mark}: {text}");
        }
    }
    let source = stdout(&shop.command(&["show", &run, "--as", "source"]));
    assert_eq!(source, PLAN);
}

#[test]
fn running_steps_differ_from_interrupted_ones() {
    let shop = Shop::new();
    let mut child = shop.begin(
        r#"{"name": "slow", "steps": [{"id": "wait", "tool": "wait"}, {"id": "then", "after": ["wait"], "tool": "echo"}]}"#,
    );
    let runs = json(&shop.command(&["runs", "--format", "json"]));
    let run = runs.get("runs").unwrap().as_list().unwrap()[0].clone();
    let run = run.get("id").unwrap().as_text().unwrap();
    assert_eq!(
        drawn(&shop, run),
        ["wait running 1 in flight", "then not_run 0 not run"]
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        drawn(&shop, run),
        ["wait interrupted 1 was in flight", "then not_run 0 not run"]
    );
    let text = stdout(&shop.command(&["show", run]));
    assert!(text.contains("?  wait  wait  was in flight"), "{text}");
}

#[test]
fn files_and_saved_plans_come_first() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    shop.write(
        &run,
        r#"{"name": "file", "steps": [{"id": "one", "tool": "echo"}]}"#,
    );
    let text = stdout(&shop.command(&["show", &run]));
    assert!(text.starts_with("file\n"), "{text}");
    let output = shop.command(&["show", "none"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("planwright runs"));
}

/// A mail whose sender chooses a recipient.
const REPLY: &str = r#"{"name": "reply", "steps": [
    {"id": "list", "tool": "list"},
    {"id": "send", "tool": "echo", "args": {"to": "${list.orders[0].id}"}}
]}"#;

#[test]
fn pictures_mark_the_flow_of_plans_and_runs() {
    let shop = Shop::new();
    let run = shop.run(REPLY, &[]);
    let plan = ["plan.json", "--simulate", "tools.json"];
    for shown in [plan.as_slice(), &[&run]] {
        for (kind, marks) in [
            (
                "text",
                [
                    "untrusted from list",
                    "to: untrusted (PW1001)",
                    "flow: ┃ carries",
                ],
            ),
            (
                "ascii",
                [
                    "untrusted from list",
                    "to: untrusted (PW1001)",
                    "flow: ! carries",
                ],
            ),
            (
                "mermaid",
                [
                    "s0 -->|untrusted| s1",
                    "to: untrusted (PW1001)",
                    "linkStyle 0 stroke",
                ],
            ),
            (
                "dot",
                [
                    "s0 -> s1 [label=\"untrusted\"",
                    "to: untrusted (PW1001)",
                    "penwidth",
                ],
            ),
        ] {
            let args = [&["show", "--flow", "--as", kind], shown].concat();
            let marked = shop.command(&args);
            assert_eq!(marked.status.code(), Some(0), "{}", stderr(&marked));
            let text = stdout(&marked);
            for mark in marks {
                assert!(text.contains(mark), "{mark}: {text}");
            }
            let args = [&["show", "--as", kind], shown].concat();
            let text = stdout(&shop.command(&args));
            assert!(!text.contains("untrusted"), "{text}");
        }
        let graph = json(&shop.command(&[&["show", "--flow", "--as", "json"], shown].concat()));
        let edge = &graph.get("edges").and_then(Value::as_list).unwrap()[0];
        let text = |name: &str| edge.get(name).and_then(Value::as_text);
        assert_eq!(text("integrity"), Some("untrusted"));
        assert_eq!(text("confidentiality"), Some("public"));
    }
}

#[test]
fn marks_follow_the_policy_and_the_author() {
    let shop = Shop::new();
    let literal = r#"{"steps": [{"id": "send", "tool": "echo", "args": {"to": "a@b.c"}}]}"#;
    let run = shop.run(literal, &[]);
    for shown in [
        ["plan.json", "--simulate", "tools.json"].as_slice(),
        &[&run],
    ] {
        let clean = stdout(&shop.command(&[&["show", "--flow"], shown].concat()));
        assert!(
            clean.contains("no untrusted or private value goes"),
            "{clean}"
        );
        assert!(!clean.contains("PW1001"), "{clean}");
        let exposed = stdout(&shop.command(&[&["show", "--exposed"], shown].concat()));
        assert!(exposed.contains("1 violation of the policy"), "{exposed}");
    }
    // A plan that the policy denies is drawn with its marks.
    shop.run(REPLY, &[]);
    shop.write("planwright.toml", "[flow]\nviolation = \"deny\"\n");
    let denied = shop.command(&["show", "--flow", "plan.json", "--simulate", "tools.json"]);
    assert_eq!(denied.status.code(), Some(3));
    assert!(
        stdout(&denied).contains("to: untrusted (PW1001)"),
        "{}",
        stdout(&denied)
    );
    assert!(stderr(&denied).contains("1 error"), "{}", stderr(&denied));

    let refused = shop.command(&["show", "--flow", "--as", "source", "plan.json"]);
    assert_eq!(refused.status.code(), Some(2));
    let untold = shop.command(&["show", "--flow", "plan.json"]);
    assert_eq!(untold.status.code(), Some(3));
    assert!(
        stderr(&untold).contains("there are no tools"),
        "{}",
        stderr(&untold)
    );
}

#[test]
fn a_step_is_shown_as_data() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    let shown = |args: &[&str]| {
        let output = shop.command(&[&["show", "--format", "json"], args].concat());
        serde_json::from_str::<serde_json::Value>(&stdout(&output)).unwrap()
    };
    let price = shown(&[&run, "--step", "price"]);
    assert_eq!(price["schema"], "planwright.step/1");
    let planned = &price["planned"];
    assert_eq!(planned["step"]["tool"], "price");
    assert_eq!(planned["step"]["status"], "failed");
    assert_eq!(
        planned["arguments"].to_string(),
        r#"[{"name":"total","value":"${item.total}","origins":["the item"]}]"#
    );
    assert_eq!(planned["waits_for"].to_string(), r#"["list"]"#);
    let addresses = |shown: &serde_json::Value| {
        let lines = shown["log"]["lines"].as_array().unwrap().iter();
        let addresses = lines.map(|line| line["address"].as_str().unwrap().to_owned());
        addresses.collect::<Vec<_>>()
    };
    assert_eq!(addresses(&price), ["price[0]", "price[1]"]);
    let one = shown(&[&run, "--step", "price[0]"]);
    assert_eq!(one["planned"], planned.clone());
    assert_eq!(addresses(&one), ["price[0]"]);
    let inner = shown(&["plan.json", "--step", "inner/b"]);
    assert_eq!(inner["planned"]["waits_for"].to_string(), r#"["a"]"#);
    assert_eq!(inner.get("log"), None);
    let missing = shop.command(&["show", "plan.json", "--step", "pric", "--format", "json"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("did you mean `price`?"));
    // Without a step, it is the graph.
    let graph = shop.command(&["show", &run, "--as", "json"]);
    let graph: serde_json::Value = serde_json::from_str(&stdout(&graph)).unwrap();
    assert_eq!(shown(&[&run]), graph);
    let both = shop.command(&["show", &run, "--as", "dot", "--format", "json"]);
    assert_eq!(both.status.code(), Some(2));
}
