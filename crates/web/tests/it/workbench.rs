//! The workbench: checks, conversions and runs of plans that a person writes.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::world::{PAY, World};

#[test]
fn diagnostics_have_places_as_editors_count() {
    let world = World::new();
    let text = "{\"name\": \"😀\", \"steps\": [\n  {\"id\": \"a\", \"tool\": \"bank.balanse\"}]}";
    let (status, checked) = world.post("plan/check", &json!({"text": text}));
    assert_eq!((status, &checked["ok"]), (200, &json!(false)));
    let found = &checked["diagnostics"][0];
    assert_eq!(found["code"], "PW0201");
    let units: Vec<u16> = text.encode_utf16().collect();
    let at = |name: &str| usize::try_from(found[name].as_u64().unwrap()).unwrap();
    let part = String::from_utf16(&units[at("start")..at("end")]).unwrap();
    assert_eq!(part, "\"bank.balanse\"");
    assert_eq!(at("line"), 2);
    // The graph goes as far as the plan.
    assert_eq!(checked["graph"]["nodes"][0]["at"], "a");
    let (status, explained) = world.get("codes/PW0201");
    assert_eq!((status, &explained["code"]), (200, &json!("PW0201")));
    assert_eq!(explained["page"], "# A code\n\nIts meaning.");
    assert_eq!(world.get("codes/PW9999").0, 404);
}

#[test]
fn a_sound_plan_has_a_graph_and_an_estimate() {
    let world = World::new();
    let (status, checked) = world.post("plan/check", &json!({"text": PAY, "dialect": ""}));
    assert_eq!((status, &checked["ok"]), (200, &json!(true)));
    assert_eq!(checked["dialect"], "native");
    assert_eq!(checked["estimate"]["calls"], 2);
    assert_eq!(checked["graph"]["nodes"].as_array().unwrap().len(), 2);
}

#[test]
fn a_plan_is_converted() {
    let world = World::new();
    let (status, converted) = world.post("plan/convert", &json!({"text": PAY, "to": "lines"}));
    assert_eq!(status, 200);
    assert!(converted["text"].as_str().unwrap().contains("balance"));
    let unknown = json!({"text": PAY, "to": "latin"});
    assert_eq!(world.post("plan/convert", &unknown).0, 400);
}

#[test]
fn a_dry_run_calls_nothing() {
    let world = World::new();
    let (status, started) = world.post("plan/run", &json!({"text": PAY, "mode": "dry"}));
    assert_eq!(status, 200);
    assert_eq!(started["preview"]["status"], "dry_run");
    assert!(started.get("run").is_none());
    assert_eq!(world.get("runs").1["runs"], json!([]));
}

#[test]
fn a_real_run_asks_in_the_inbox_and_goes_on() {
    for mode in ["real", "simulated"] {
        let world = World::new();
        let mut stream = world.events("events");
        let (status, started) = world.post("plan/run", &json!({"text": PAY, "mode": mode}));
        assert_eq!(status, 200, "{started}");
        let run = started["run"].as_str().unwrap();
        let question = loop {
            let event = stream.message().expect("the stream lasts");
            let mut rows = event["changed"].as_array().into_iter().flatten();
            assert!(
                !rows.any(|row: &Value| row["status"] == "failed"),
                "{event}"
            );
            if event["questions"][0]["run"] == run {
                break event["questions"][0].clone();
            }
        };
        let body = json!({
            "run": run,
            "decisions": [{"at": question["at"], "digest": question["digest"]}],
            "decision": "approve",
        });
        assert_eq!(world.post("decisions", &body).0, 200);
        loop {
            let event = stream.message().expect("the stream lasts");
            let mut rows = event["changed"].as_array().into_iter().flatten();
            if rows.any(|row: &Value| row["id"] == run && row["status"] == "succeeded") {
                break;
            }
        }
        // Once no process drives it, the store has learned from it.
        let cancel = || world.post(&format!("runs/{run}/cancel"), &json!({})).0;
        while cancel() != 409 {}
        let has_learned = !world.store.durations().unwrap().is_empty();
        assert_eq!(has_learned, mode == "real");
    }
}

#[test]
fn a_loop_waits_as_long_as_one_of_its_calls() {
    let world = World::new();
    let plan = r#"{"steps": [{"id": "pay", "tool": "bank.pay", "args": {"to": "${item}", "amount": 1}, "for_each": ["a", "b"]}]}"#;
    let (_, started) = world.post("plan/run", &json!({"text": plan, "mode": "real"}));
    let run = started["run"].as_str().unwrap();
    let mut stream = world.events(&format!("events?run={run}"));
    let asked = |event: &Value| {
        let row = &event["run"];
        row["id"] == run && row["waiting"] == 2
    };
    while !asked(&stream.message().expect("the stream lasts")) {}
    let question = world.question(run);
    let call = json!({"at": question["at"], "digest": question["digest"]});
    let body = json!({"run": run, "decisions": [call], "decision": "approve"});
    assert_eq!(world.post("decisions", &body).0, 200);
    loop {
        let event = stream.message().expect("the stream lasts");
        let state = &event["states"]["pay"];
        if state["items_ended"] == 1 {
            assert_eq!(state["status"], "waiting", "{event}");
            break;
        }
    }
}

#[test]
fn a_run_of_this_page_is_cancelled() {
    let world = World::new();
    let (_, started) = world.post("plan/run", &json!({"text": PAY, "mode": "real"}));
    let run = started["run"].as_str().unwrap().to_owned();
    let mut stream = world.events("events");
    let cancelled = world.post(&format!("runs/{run}/cancel"), &json!({}));
    assert_eq!(cancelled, (200, json!({"run": run})));
    loop {
        let event = stream.message().expect("the stream lasts");
        let mut rows = event["changed"].as_array().into_iter().flatten();
        if rows.any(|row: &Value| row["id"] == *run && row["status"] == "cancelled") {
            break;
        }
    }
    let again = world.post(&format!("runs/{run}/cancel"), &json!({}));
    assert_eq!(again.0, 409);
}

#[test]
fn a_page_that_ends_ends_its_runs_and_closes_their_tools() {
    let world = World::new();
    let (_, started) = world.post("plan/run", &json!({"text": PAY, "mode": "real"}));
    let run = started["run"].as_str().unwrap();
    assert_eq!(world.opened.closed.load(Ordering::Relaxed), 0);
    world.drain();
    assert_eq!(world.opened.closed.load(Ordering::Relaxed), 1);
    let info = world.store.run(run).unwrap();
    assert!(info.holder.is_none(), "{info:?}");
    // A run that starts after the shutdown began is drained as well.
    let (_, started) = world.post("plan/run", &json!({"text": PAY, "mode": "real"}));
    world.drain();
    let info = world.store.run(started["run"].as_str().unwrap()).unwrap();
    assert!(info.holder.is_none(), "{info:?}");
}

#[test]
fn refreshed_tools_are_those_of_the_servers() {
    let world = World::new();
    for (path, fresh) in [("tools", 0), ("tools?refresh=1", 1), ("tools", 1)] {
        assert_eq!(world.get(path).0, 200);
        let count = world.opened.fresh_lists.load(Ordering::Relaxed);
        assert_eq!(count, fresh, "{path}");
    }
}

#[test]
fn tools_come_with_examples() {
    let world = World::new();
    let (status, tools) = world.get("tools");
    assert_eq!(status, 200);
    let pay = tools["servers"][0]["tools"].as_array().unwrap().iter();
    let pay = pay
        .into_iter()
        .find(|tool| tool["name"] == "bank.pay")
        .unwrap();
    assert_eq!(pay["example"], json!({"to": "text", "amount": 1}));
    assert_eq!(pay["approval"], true);
}

#[test]
fn plans_are_stored_with_their_versions() {
    let world = World::new();
    let save = |text: &str| world.post("plans", &json!({"name": "rent", "text": text}));
    assert_eq!(
        save(PAY),
        (200, json!({"name": "rent", "version": 1, "is_new": true}))
    );
    assert_eq!(save(PAY).1["is_new"], false);
    let other = PAY.replace("bob", "eve");
    assert_eq!(save(&other).1["version"], 2);
    assert_eq!(save("no plan").0, 422);
    let (_, plans) = world.get("plans");
    assert_eq!(plans["plans"].as_array().unwrap().len(), 1);
    let (_, plan) = world.get("plans/rent");
    assert_eq!(plan["text"], other);
    assert_eq!(plan["versions"].as_array().unwrap().len(), 2);
    assert_eq!(world.get("plans/rent?version=1").1["text"], PAY);
    assert_eq!(world.get("plans/none").0, 404);
}

#[test]
fn a_value_that_the_plan_does_not_know_stops_the_run() {
    let world = World::new();
    for mode in ["dry", "simulated", "real"] {
        let body = json!({"text": PAY, "mode": mode, "inputs": {"nope": 1}});
        let (status, answer) = world.post("plan/run", &body);
        assert_eq!(status, 422, "{mode}: {answer}");
        let message = "a value is given for `nope`, which the plan does not know";
        assert_eq!(answer["error"]["message"], message);
    }
    assert_eq!(world.get("runs").1["runs"], json!([]));
}

#[test]
fn faults_of_simulated_tools_are_those_of_the_text() {
    let world = World::new();
    let script = r#"{"tools": {"bank.pay": {"retuns": 1}}}"#;
    let body = json!({"text": PAY, "mode": "simulated", "simulate": script});
    let (status, answer) = world.post("plan/run", &body);
    assert_eq!(status, 400, "{answer}");
    assert_eq!(
        answer["error"]["message"],
        "this is not a file of simulated tools"
    );
    let help = answer["error"]["help"].as_str().unwrap();
    assert!(help.contains("retuns"), "{help}");
}

#[test]
fn an_invalid_parameter_is_named() {
    let world = World::new();
    let save = world.post("plans", &json!({"name": "a/b", "text": PAY}));
    assert_eq!(save.0, 422, "{}", save.1);
    let (status, answer) = world.get("runs?limit=-1");
    assert_eq!(status, 400);
    assert_eq!(
        answer["error"]["message"],
        "the parameters cannot be read: limit: invalid digit found in string"
    );
    let (status, answer) = world.get("runs?status=bogus");
    assert_eq!(status, 400);
    assert_eq!(answer["error"]["message"], "no run has the status `bogus`");
}
