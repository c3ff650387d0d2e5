//! The stream of events.

use serde_json::{Value, json};

use crate::world::{PAY, World};

#[test]
fn a_stream_continues_where_it_broke_off() {
    let world = World::new();
    world.run(PAY, "r1", None);
    let open = |after: Option<&str>| {
        let request = world.session().sign(world.read("events?run=r1"));
        let mut stream = match after {
            Some(id) => request.header("last-event-id", id),
            None => request,
        }
        .send();
        assert_eq!(stream.header("content-type"), Some("text/event-stream"));
        loop {
            let event = stream.message().expect("the stream lasts");
            if event.get("seq").is_some() {
                let id = stream.last_event().map(str::to_owned);
                return (event, id);
            }
        }
    };
    let (first, id) = open(None);
    let states = first["states"].as_object().unwrap();
    assert_eq!(states["balance"]["status"], "succeeded");
    assert_eq!(states["pay"]["status"], "waiting");
    let id = id.unwrap();
    assert_eq!(first["seq"], json!(id.parse::<u64>().unwrap()));
    let (again, _) = open(Some(&id));
    assert_eq!(again["states"], json!({}));
    assert_eq!(again["seq"], first["seq"]);
}

#[test]
fn a_new_run_arrives_in_the_list_and_in_the_inbox() {
    let world = World::new();
    let mut stream = world.events("events");
    let inbox = stream.message().unwrap();
    assert_eq!(inbox["questions"], json!([]));
    world.run(PAY, "r1", None);
    let mut waits = false;
    let mut asked = false;
    while !waits || !asked {
        let event = stream.message().expect("the stream lasts");
        let rows = event["changed"].as_array().into_iter().flatten();
        waits |= rows
            .into_iter()
            .any(|row: &Value| row["id"] == "r1" && row["waiting"] == 1);
        asked |= event["questions"][0]["run"] == "r1";
    }
}

#[test]
fn all_pages_of_a_run_see_every_change() {
    let world = World::new();
    let (_, started) = world.post("plan/run", &json!({"text": PAY, "mode": "real"}));
    let run = started["run"].as_str().unwrap();
    let open = || world.events(&format!("events?run={run}"));
    let mut streams = [open(), open(), open()];
    let mut digest = None;
    for stream in &mut streams {
        while digest.is_none() {
            let event = stream.message().expect("the stream lasts");
            let asked = event["run"]["id"] == run && !event["questions"][0].is_null();
            digest = asked.then(|| event["questions"][0]["digest"].clone());
        }
    }
    // One that comes later has what was before.
    let mut later = open();
    let decision =
        json!({"run": run, "decisions": [{"at": "pay", "digest": digest}], "decision": "approve"});
    assert_eq!(world.post("decisions", &decision).0, 200);
    for stream in streams.iter_mut().chain([&mut later]) {
        let mut ended = Vec::new();
        loop {
            let event = stream.message().expect("the stream lasts");
            let states = event["states"].as_object().into_iter().flatten();
            let succeeded = states.filter(|(_, state)| state["status"] == "succeeded");
            ended.extend(succeeded.map(|(at, _)| at.clone()));
            if event["run"]["status"] == "succeeded" {
                break;
            }
        }
        ended.sort();
        ended.dedup();
        assert_eq!(ended, ["balance", "pay"]);
    }
}
