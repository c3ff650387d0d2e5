//! The forms of graphs, steps and timelines.

use serde_json::{Value, json};

use crate::world::{PAY, World};

const PLAN: &str = r#"{"name": "rent", "inputs": {"who": {"default": "ada"}}, "steps": [
    {"id": "each", "tool": "bank.balance", "args": {"of": "${item}"}, "for_each": ["a", "b"]},
    {"id": "inner", "plan": {"steps": [
        {"id": "one", "tool": "bank.balance", "args": {"of": "c"}},
        {"id": "two", "value": "${one.amount}"}
    ]}},
    {"id": "pay", "tool": "bank.pay", "args": {"to": "${inputs.who}", "amount": "${each[0].amount}"}, "after": ["inner"]}
]}"#;

/// Replaces the times and digests, which vary from run to run.
fn mask_varying_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let varies = name.ends_with("_ms")
                    || ["time", "started", "asked", "digest", "plan_digest"].contains(&&**name);
                if varies && !field.is_null() && !field.is_object() {
                    *field = json!("[varies]");
                } else {
                    mask_varying_fields(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_varying_fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check(name: &str, path: &str) {
    let world = World::new();
    world.run(PLAN, "r1", None);
    let (status, mut value) = world.get(path);
    assert_eq!(status, 200, "{value}");
    mask_varying_fields(&mut value);
    if let Some(Value::Array(bars)) = value.get_mut("bars") {
        // Parallel calls begin and end in any order.
        bars.sort_by_key(|bar| bar["at"].to_string());
        value["critical"] = json!("[varies]");
    }
    if let Some(Value::Object(states)) = value.get_mut("states") {
        states.sort_keys();
    }
    insta::assert_json_snapshot!(name, value);
}

#[test]
fn graph() {
    check("graph", "runs/r1/graph");
}

/// Opens `open` in the graph of a run of `plan`, and returns the nodes with their parts' states, one line each.
fn opened(plan: &str, open: &str) -> String {
    let world = World::new();
    world.run(plan, "r1", None);
    let (status, graph) = world.get(&format!("runs/r1/graph?open={open}"));
    assert_eq!(status, 200, "{graph}");
    let lines = graph["nodes"].as_array().unwrap().iter().map(|node| {
        let at = node["at"].as_str().unwrap();
        let part = node["part"].as_str().unwrap_or("step");
        let state = graph["parts"][at]["status"].as_str().unwrap_or("-");
        format!("{at}: {part} {state} {}", node["lines"][0])
    });
    lines.collect::<Vec<_>>().join("\n")
}

const LOOP: &str = r#"{"steps": [
    {"id": "each", "for_each": ["ada", "bob"], "args": {"of": "${item}"}, "plan": {
        "inputs": {"of": {}},
        "steps": [
            {"id": "a", "tool": "bank.balance", "args": {"of": "${inputs.of}"}},
            {"id": "p", "tool": "bank.pay", "args": {"to": "${inputs.of}", "amount": "${a.amount}"}}
        ]
    }},
    {"id": "again", "tool": "bank.balance", "repeat": {"until": "${last.amount > 99}", "max": 3}, "on_error": "continue"}
]}"#;

#[test]
fn items_and_rounds_are_nodes_of_an_open_loop() {
    insta::assert_snapshot!(opened(LOOP, ""), @r#"
    each: step - "each"
    again: step - "again"
    "#);
    insta::assert_snapshot!(opened(LOOP, "each,again,each%5B1%5D"), @r##"
    each: step - "each"
    each[0]: item waiting "[0]"
    each[1]: item waiting "[1]"
    each[1]/a: step succeeded "a"
    each[1]/p: step waiting "p"
    again: step - "again"
    again#0: round succeeded "#0"
    "##);
}

#[test]
fn the_parts_beyond_the_first_fifty_are_one_node() {
    let items: Vec<u32> = (0..60).collect();
    let plan = json!({"steps": [{"id": "each", "for_each": items, "tool": "bank.balance"}]});
    let nodes = opened(&plan.to_string(), "each");
    assert_eq!(nodes.lines().count(), 52);
    assert!(
        nodes.contains("each[49]: item succeeded \"[49]\""),
        "{nodes}"
    );
    assert!(nodes.ends_with("rest - \"10 more\""), "{nodes}");
}

#[test]
fn graph_with_an_open_plan() {
    check("graph_open", "runs/r1/graph?open=inner");
}

#[test]
fn run() {
    check("run", "runs/r1");
}

#[test]
fn step() {
    check("step", "runs/r1/steps/each");
}

#[test]
fn item() {
    check("item", "runs/r1/steps/each%5B1%5D");
}

#[test]
fn timeline() {
    check("timeline", "runs/r1/timeline");
}

#[test]
fn the_critical_path_follows_the_step_that_ended_last() {
    let world = World::new();
    let plan = r#"{"steps": [
        {"id": "a", "tool": "bank.balance"},
        {"id": "b", "tool": "bank.balance", "args": {"of": "${a.amount}"}},
        {"id": "c", "value": "${b.amount}"}
    ]}"#;
    let plan = plan.replace("\"of\": \"${a.amount}\"", "\"of\": \"x ${a.amount}\"");
    world.run(&plan, "r1", None);
    assert_eq!(
        world.get("runs/r1/timeline").1["critical"],
        json!(["a", "b", "c"])
    );
}

#[test]
fn two_runs_are_compared() {
    let world = World::new();
    world.run(PLAN, "r1", None);
    world.run(&PLAN.replace("\"c\"", "\"d\""), "r2", None);
    let (status, diff) = world.get("diff?a=r1&b=r2");
    assert_eq!((status, &diff["same"]), (200, &json!(false)));
    assert_eq!(diff["plan"]["changed"], json!(["inner"]));
}

#[test]
fn the_list_of_runs_has_pages() {
    let world = World::new();
    let quick = r#"{"steps": [{"id": "balance", "tool": "bank.balance", "args": {"of": "ada"}}]}"#;
    let mut expected = Vec::new();
    for number in 0..20 {
        let id = format!("run-{number}");
        // All runs begin at the same time, so the store lists the run that was added last first.
        let waits = number == 3;
        world.run(if waits { PAY } else { quick }, &id, None);
        if !waits {
            expected.insert(0, id);
        }
    }
    expected.insert(0, "run-3".to_owned());
    let (mut found, mut path) = (Vec::new(), "runs?limit=2".to_owned());
    loop {
        let (status, page) = world.get(&path);
        assert_eq!(status, 200, "{page}");
        let rows = page["runs"].as_array().unwrap().iter();
        found.extend(rows.map(|row| row["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        path = format!("runs?limit=2&before={next}");
    }
    assert_eq!(found, expected);
}

#[test]
fn runs_are_filtered() {
    let world = World::new();
    world.run(PLAN, "r1", None);
    world.run(
        r#"{"name": "look", "steps": [{"id": "a", "tool": "bank.balance"}]}"#,
        "r2",
        None,
    );
    let ids = |query: &str| -> Vec<String> {
        let (status, runs) = world.get(&format!("runs?{query}"));
        assert_eq!(status, 200, "{runs}");
        let rows = runs["runs"].as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    // A waiting run comes first, even if it is older.
    assert_eq!(ids(""), ["r1", "r2"]);
    assert_eq!(ids("status=waiting"), ["r1"]);
    assert_eq!(ids("status=succeeded"), ["r2"]);
    assert_eq!(ids("text=LOO"), ["r2"]);
    assert_eq!(ids("plan=rent"), ["r1"]);
    assert_eq!(ids("client=bob"), [""; 0]);
    assert_eq!(ids("time=yesterday"), [""; 0]);
    assert_eq!(ids("limit=1"), ["r1"]);
    assert_eq!(ids("limit=1&before=r1"), ["r2"]);
    let (status, body) = world.get("runs?time=someday%20soonish");
    assert_eq!(status, 400, "{body}");
    assert!(body["error"]["help"].is_string());
}
