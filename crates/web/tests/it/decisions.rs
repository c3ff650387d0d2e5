//! Decisions: each is about exactly the call that was shown, and counts once.

use planwright::core::Value as PlanValue;
use planwright::engine::Decision;
use planwright::engine::journal::Record;
use planwright::stored::{Decider, Passphrase, StoredRun};
use serde_json::{Value, json};

use crate::world::{PAY, World, answered};

fn decision(question: &Value, more: &Value) -> Value {
    let mut body = json!({
        "run": question["run"],
        "decisions": [{"at": question["at"], "digest": question["digest"]}],
        "decision": "approve",
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[test]
fn a_question_shows_the_whole_call() {
    let world = World::new();
    world.run(PAY, "r1", None);
    let mut question = world.question("r1");
    for varying in ["asked", "digest", "plan_digest"] {
        assert!(question[varying].is_string());
        question[varying] = json!("[varies]");
    }
    insta::assert_json_snapshot!(question);
}

#[test]
fn a_decision_counts_once() {
    let world = World::new();
    world.run(PAY, "r1", None);
    let question = world.question("r1");
    let approve = decision(&question, &json!({}));
    assert_eq!(
        world.post("decisions", &approve),
        (200, json!({"decided": 1}))
    );
    let (status, body) = world.post("decisions", &approve);
    assert_eq!(status, 409, "{body}");
    let reject = decision(&question, &json!({"decision": "reject"}));
    assert_eq!(world.post("decisions", &reject).0, 409);
    // It waits to be applied.
    assert_eq!(world.question("r1")["decision"], "approve");
    let (_, runs) = world.get("runs");
    assert_eq!(runs["runs"][0]["waiting"], 0);
    let stored = world.store.decisions("r1").unwrap();
    assert_eq!(stored[0].by.as_deref(), Some("ada"));
}

#[test]
fn a_decision_about_another_call_is_refused() {
    let world = World::new();
    world.run(PAY, "r1", None);
    let other = PAY.replace("\"bob\"", "\"eve\"");
    world.run(&other, "r2", None);
    let question = world.question("r1");
    let mut changed = question.clone();
    changed["digest"] = world.question("r2")["digest"].clone();
    let mut elsewhere = question.clone();
    elsewhere["at"] = json!("balance");
    let mut beginning = question.clone();
    beginning["digest"] = json!(question["digest"].as_str().unwrap()[..16]);
    for wrong in [changed, elsewhere, beginning] {
        let (status, body) = world.post("decisions", &decision(&wrong, &json!({})));
        assert_eq!(status, 409, "{body}");
    }
    assert!(world.store.decisions("r1").unwrap().is_empty());
}

#[test]
fn one_wrong_digest_stops_all_decisions_of_a_request() {
    let world = World::new();
    let plan = r#"{"steps": [{"id": "pay", "tool": "bank.pay", "args": {"to": "${item}", "amount": 1}, "for_each": ["a", "b"]}]}"#;
    world.run(plan, "r1", None);
    let (_, inbox) = world.get("inbox");
    let calls: Vec<Value> = inbox["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|question| json!({"at": question["at"], "digest": question["digest"]}))
        .collect();
    assert_eq!(calls.len(), 2);
    let mut wrong = calls.clone();
    wrong[1]["digest"] = json!("0");
    let body = json!({"run": "r1", "decisions": wrong, "decision": "approve"});
    assert_eq!(world.post("decisions", &body).0, 409);
    assert!(world.store.decisions("r1").unwrap().is_empty());
    let body = json!({"run": "r1", "decisions": calls, "decision": "approve"});
    assert_eq!(world.post("decisions", &body), (200, json!({"decided": 2})));
}

#[test]
fn a_decision_made_elsewhere_stops_all_decisions_of_a_request() {
    let world = World::new();
    let plan = r#"{"steps": [{"id": "pay", "tool": "bank.pay", "args": {"to": "${item}", "amount": 1}, "for_each": ["a", "b", "c"]}]}"#;
    world.run(plan, "r1", None);
    let open = world.service.questions("r1").unwrap();
    let yes = Decision::Approve { args: None };
    let elsewhere = Decider::new(Some("bob".to_owned()));
    world.service.decide(&open[1], yes, &elsewhere).unwrap();
    let calls: Vec<Value> = open
        .iter()
        .map(|question| json!({"at": question.at.to_string(), "digest": question.digest()}))
        .collect();
    let body = json!({"run": "r1", "decisions": calls, "decision": "approve"});
    let (status, refused) = world.post("decisions", &body);
    assert_eq!(status, 409, "{refused}");
    let stored = world.store.decisions("r1").unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].by.as_deref(), Some("bob"));
}

#[test]
fn the_inbox_has_the_calls_of_a_run_in_order() {
    let world = World::new();
    let plan = r#"{"steps": [{"id": "pay", "tool": "bank.pay", "args": {"to": "${item}", "amount": 1}, "for_each": ["a", "b"]}]}"#;
    world.run(plan, "r1", None);
    world.run(plan, "r2", None);
    let (_, inbox) = world.get("inbox");
    let calls: Vec<String> = inbox["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|question| format!("{} {}", question["run"], question["at"]).replace('"', ""))
        .collect();
    assert_eq!(calls, ["r1 pay[0]", "r1 pay[1]", "r2 pay[0]", "r2 pay[1]"]);
}

#[test]
fn guesses_at_the_passphrase_are_limited() {
    let world = World::new();
    Passphrase::set(&world.store, Some("correct horse")).unwrap();
    world.run(PAY, "r1", None);
    let question = world.question("r1");
    let with = |passphrase: &str| {
        let more = json!({"passphrase": passphrase});
        world.post("decisions", &decision(&question, &more)).0
    };
    let compared = (0..9).take_while(|_| with("wrong horse") == 403).count();
    assert_eq!(compared, 5);
    // After too many guesses, even the right one is not compared.
    assert_eq!(with("correct horse"), 429);
    let retry = json!({"retry": ["pay"], "passphrase": "correct horse"});
    assert_eq!(world.post("runs/r1/resume", &retry).0, 429);
    assert!(world.store.decisions("r1").unwrap().is_empty());
}

#[test]
fn changed_arguments_have_to_fit() {
    let world = World::new();
    world.run(PAY, "r1", None);
    let question = world.question("r1");
    let change = |arguments: Value| {
        let more = json!({"decision": "change", "arguments": arguments});
        world.post("decisions", &decision(&question, &more)).0
    };
    assert_eq!(change(json!({"to": "bob"})), 422);
    assert_eq!(change(json!("bob")), 400);
    let check =
        json!({"run": "r1", "server": "bank", "tool": "pay", "arguments": {"to": 1, "amount": 2}});
    let (status, problems) = world.post("check_arguments", &check);
    assert_eq!(
        (status, &problems["findings"][0]["pointer"]),
        (200, &json!("/to"))
    );
    let more = json!({"arguments": {"to": "bob", "amount": 2}});
    assert_eq!(world.post("decisions", &decision(&question, &more)).0, 400);
    assert_eq!(change(json!({"to": "bob", "amount": 2})), 200);
}

#[test]
fn numbers_stay_as_they_were_written() {
    let world = World::new();
    let plan = r#"{"steps": [{"id": "pay", "tool": "bank.pay", "args": {"to": "x", "amount": 175928847299117063}}]}"#;
    world.run(plan, "r1", None);
    let inbox = world.events("inbox").text();
    assert!(inbox.contains(r#""amount":175928847299117063"#), "{inbox}");
    let question = world.question("r1");
    let change = |amount: &str| {
        let body = decision(&question, &json!({"decision": "change", "arguments": {}}));
        let arguments = format!(r#""arguments":{{"to":"x","amount":{amount}}}"#);
        let body = body.to_string().replace(r#""arguments":{}"#, &arguments);
        let request = world
            .request("decisions", &json!({}))
            .header("origin", &world.origin());
        answered(world.session().sign(request).body(body).send())
    };
    // 64 bits cannot represent it, so the call would be about another number.
    let (status, refused) = change("175928847299117063175928847299117063");
    assert_eq!(status, 400, "{refused}");
    assert_eq!(change("175928847299117065").0, 200);
    let stored = world.store.decisions("r1").unwrap();
    let args = PlanValue::from_json(r#"{"to": "x", "amount": 175928847299117065}"#).unwrap();
    let changed = Decision::Approve { args: Some(args) };
    assert_eq!(stored[0].decision, changed);
}

#[test]
fn decisions_require_the_passphrase_if_one_is_set() {
    let world = World::new();
    Passphrase::set(&world.store, Some("correct horse")).unwrap();
    world.run(PAY, "r1", None);
    assert_eq!(world.get("config").1["passphrase"], true);
    let question = world.question("r1");
    let with = |passphrase: &str| {
        let more = json!({"passphrase": passphrase});
        world.post("decisions", &decision(&question, &more))
    };
    assert_eq!(
        world.post("decisions", &decision(&question, &json!({}))).0,
        403
    );
    assert_eq!(with("wrong horse").0, 403);
    assert!(world.store.decisions("r1").unwrap().is_empty());
    let retry = json!({"retry": ["pay"]});
    assert_eq!(world.post("runs/r1/resume", &retry).0, 403);
    assert_eq!(with("correct horse").0, 200);
}

#[test]
fn a_run_goes_on_after_a_decision() {
    let world = World::new();
    world.run(PAY, "r1", None);
    let question = world.question("r1");
    world.post("decisions", &decision(&question, &json!({})));
    let mut stream = world.events("events?run=r1");
    assert_eq!(world.post("runs/r1/resume", &json!({})).0, 200);
    loop {
        let event = stream.message().expect("the stream lasts");
        if event["run"]["status"] == "succeeded" {
            break;
        }
    }
    assert_eq!(world.get("runs/r1/report").1["output"]["pay"], "paid");
}

/// Two payments, one after the other.
const TWICE: &str = r#"{"name": "twice", "steps": [
    {"id": "first", "tool": "bank.pay", "args": {"to": "bob", "amount": 1}},
    {"id": "second", "tool": "bank.pay", "args": {"to": "eve", "amount": 2}, "after": ["first"]}
]}"#;

#[test]
fn a_whole_plan_is_approved_by_its_digest() {
    let world = World::new();
    world.run(TWICE, "r1", None);
    let question = world.question("r1");
    assert_eq!(question["at"], "first");
    let whole = decision(&question, &json!({"plan_digest": question["plan_digest"]}));
    assert_eq!(
        world.post("decisions", &whole),
        (200, json!({"decided": 1}))
    );
    // It counts once, like any other.
    assert_eq!(world.post("decisions", &whole).0, 409);
    let mut stream = world.events("events?run=r1");
    assert_eq!(world.post("runs/r1/resume", &json!({})).0, 200);
    loop {
        let event = stream.message().expect("the stream lasts");
        if event["run"]["status"] == "succeeded" {
            break;
        }
    }
    // Another run of the same plan asks again.
    world.run(TWICE, "r2", None);
    assert_eq!(world.question("r2")["at"], "first");
}

#[test]
fn a_plan_is_not_approved_by_another_digest() {
    let world = World::new();
    world.run(TWICE, "r1", None);
    world.run(&TWICE.replace("\"eve\"", "\"mallory\""), "r2", None);
    let question = world.question("r1");
    let other = world.question("r2")["plan_digest"].clone();
    assert_ne!(question["plan_digest"], other);
    for digest in [other, json!("0"), json!(""), question["digest"].clone()] {
        let (status, body) = world.post(
            "decisions",
            &decision(&question, &json!({"plan_digest": digest})),
        );
        assert_eq!(status, 409, "{body}");
    }
    let own = question["plan_digest"].clone();
    let reject = json!({"plan_digest": own, "decision": "reject"});
    assert_eq!(
        world.post("decisions", &decision(&question, &reject)).0,
        400
    );
    let arguments = json!({"to": "bob", "amount": 2});
    let change = json!({"plan_digest": own, "decision": "change", "arguments": arguments});
    assert_eq!(
        world.post("decisions", &decision(&question, &change)).0,
        400
    );
    assert!(world.store.decisions("r1").unwrap().is_empty());
}

#[test]
fn a_plan_is_approved_with_all_calls_that_wait() {
    let world = World::new();
    let plan = r#"{"steps": [{"id": "pay", "tool": "bank.pay", "args": {"to": "${item}", "amount": 1}, "for_each": ["a", "b"]}]}"#;
    world.run(plan, "r1", None);
    let (_, inbox) = world.get("inbox");
    let mut questions = inbox["questions"].as_array().unwrap().iter();
    let question = questions
        .find(|question| question["at"] == "pay[0]")
        .unwrap();
    let whole = json!({"plan_digest": question["plan_digest"]});
    let (status, body) = world.post("decisions", &decision(question, &whole));
    assert_eq!(status, 409);
    assert_eq!(
        body["error"]["message"],
        "the call of `pay[1]` waits as well, and was not shown"
    );
    assert!(world.store.decisions("r1").unwrap().is_empty());
}

#[test]
fn a_whole_plan_requires_the_passphrase_if_one_is_set() {
    let world = World::new();
    Passphrase::set(&world.store, Some("correct horse")).unwrap();
    world.run(TWICE, "r1", None);
    let question = world.question("r1");
    let whole = json!({"plan_digest": question["plan_digest"]});
    assert_eq!(world.post("decisions", &decision(&question, &whole)).0, 403);
    let mut proven = whole;
    proven["passphrase"] = json!("correct horse");
    assert_eq!(
        world.post("decisions", &decision(&question, &proven)).0,
        200
    );
}

/// A step that fails, one that waits for a person, and one after it.
const FAIL_AND_PAY: &str = r#"{"steps": [
    {"id": "broken", "tool": "bank.fail", "on_error": "continue"},
    {"id": "pay", "tool": "bank.pay", "args": {"to": "bob", "amount": 1}},
    {"id": "after", "tool": "bank.balance", "args": {"of": "${pay}"}}
]}"#;

#[test]
fn a_step_that_ended_twice_counts_once() {
    let world = World::new();
    world.run(FAIL_AND_PAY, "r1", None);
    let shown = |world: &World| world.get("runs/r1").1["run"].clone();
    let row = shown(&world);
    assert_eq!(
        (&row["status"], &row["steps_ended"]),
        (&json!("waiting"), &json!(1))
    );
    assert_eq!(row["since"], Value::Null);
    let mut events = world.events("events?run=r1");
    let set = json!({"set": {"broken": "mended"}});
    assert_eq!(world.post("runs/r1/resume", &set).0, 200);
    let row = loop {
        events.message().expect("the stream lasts");
        let entries = world.store.entries("r1").unwrap();
        let asked =
            entries.filter(|entry| matches!(entry.as_ref().unwrap().record, Record::Asked { .. }));
        if asked.count() == 2 {
            break shown(&world);
        }
    };
    assert_eq!(
        (&row["status"], &row["steps_ended"]),
        (&json!("running"), &json!(1))
    );
    // The page adds the time that passes without an entry.
    assert!(row["since"].is_string(), "{row}");
    world.drain();
}

#[test]
fn a_run_that_was_read_is_continued() {
    let world = World::new();
    world.run(PAY, "r1", None);
    let before = StoredRun::read(&world.store, "r1").unwrap();
    assert!(before.updated(&world.store, "r1").unwrap().is_none());
    let question = world.question("r1");
    assert_eq!(
        world.post("decisions", &decision(&question, &json!({}))).0,
        200
    );
    let mut events = world.events("events?run=r1");
    assert_eq!(world.post("runs/r1/resume", &json!({})).0, 200);
    loop {
        events.message().expect("the stream lasts");
        let (_, shown) = world.get("runs/r1");
        if shown["run"]["status"] == "succeeded" {
            assert_eq!(shown["states"]["pay"]["status"], "succeeded");
            break;
        }
    }
    let continued = before.updated(&world.store, "r1").unwrap().unwrap();
    let read = StoredRun::read(&world.store, "r1").unwrap();
    assert_eq!(continued.entries, read.entries);
    assert_eq!(continued.process, read.process);
}
