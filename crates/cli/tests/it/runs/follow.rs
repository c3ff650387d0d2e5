//! Runs in progress that other processes follow.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

use planwright_testkit::fake_server::Recorder;
use serde_json::{Value, json};

use crate::program::{spawn_program, spawn_run, write_served_plan};

/// A run with a call in flight: `slow` answers once the recorder releases it.
struct Fixture {
    folder: tempfile::TempDir,
    recorder: Recorder,
    run: Child,
    id: String,
}

fn fixture() -> Fixture {
    let (folder, recorder) = (tempfile::tempdir().unwrap(), Recorder::new());
    let schema = json!({"type": "object"});
    let script = json!({"record": recorder.address(), "tools": [
        {"name": "quick", "inputSchema": schema, "does": {"text": "done"}},
        {"name": "slow", "inputSchema": schema, "does": {"wait_for_release": true, "text": "done"}}
    ]});
    let plan = json!({"name": "report", "steps": [
        {"id": "a", "tool": "quick"},
        {"id": "b", "tool": "slow", "after": ["a"]},
        {"id": "c", "tool": "quick", "args": {"n": 3}, "after": ["b"]}
    ]});
    write_served_plan(folder.path(), &script, &plan);
    let mut run = spawn_run(folder.path(), &[]);
    let mut id = String::new();
    let mut events = BufReader::new(run.stdout.take().unwrap());
    loop {
        let mut line = String::new();
        assert!(events.read_line(&mut line).unwrap() > 0, "the run ended");
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == "run_started" {
            event["run"].as_str().unwrap().clone_into(&mut id);
        }
        if event["event"] == "attempt_started" && event["step"] == "b" {
            break;
        }
    }
    // The journal has what a call in flight needs: the ends of the steps before it.
    for _ in ["a", "b"] {
        recorder.message("tools/call");
    }
    // The rest of the events must not fill the pipe, nor find it closed.
    std::thread::spawn(move || std::io::copy(&mut events, &mut std::io::sink()));
    Fixture {
        folder,
        recorder,
        run,
        id,
    }
}

/// Reads lines until one contains `text`, and returns them.
fn read_until(lines: &mut impl BufRead, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        assert!(
            lines.read_line(&mut read).unwrap() > 0,
            "no `{text}` in:\n{read}"
        );
    }
    read
}

/// The text with the ids of the run and its processes and times masked.
fn masked(text: &str, id: &str) -> String {
    let text = text.replace(&id[..8], "RUN");
    let time = regex::Regex::new(r"<?\b[0-9.]+ ?(ms|s)\b").unwrap();
    time.replace_all(&text, "TIME").into_owned()
}

#[test]
fn a_run_of_another_process_is_attached_to() {
    let mut scene = fixture();
    let mut attached = spawn_program(scene.folder.path(), &["attach", &scene.id]);
    let mut shown = BufReader::new(attached.stderr.take().unwrap());
    let mut text = read_until(&mut shown, "leaves it running");
    scene.recorder.release();
    shown.read_to_string(&mut text).unwrap();
    assert_eq!(attached.wait().unwrap().code(), Some(0));
    assert_eq!(scene.run.wait().unwrap().code(), Some(0));
    insta::assert_snapshot!(masked(&text, &scene.id), @r"
    run RUN of `report`, in another process: 1 of 3 steps done; Ctrl-C leaves it running
    ✓ b  slow   TIME
    ✓ c  quick  TIME
    run RUN: succeeded, 3 of 3 steps done
    ");
}

#[test]
fn a_run_that_has_ended_is_shown_and_left() {
    let mut scene = fixture();
    scene.recorder.release();
    scene.run.wait().unwrap();
    let output = spawn_program(scene.folder.path(), &["watch", &scene.id])
        .wait_with_output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        masked(&text, &scene.id),
        "run RUN: succeeded, 3 of 3 steps done\n"
    );
}

#[test]
fn a_watched_list_without_a_terminal_has_changed_rows_only() {
    let mut scene = fixture();
    let mut watching = spawn_program(scene.folder.path(), &["runs", "--watch"]);
    let mut shown = BufReader::new(watching.stdout.take().unwrap());
    let first = read_until(&mut shown, &scene.id[..8]);
    assert!(first.starts_with("run "), "{first}");
    scene.recorder.release();
    scene.run.wait().unwrap();
    let ended = read_until(&mut shown, "succeeded");
    assert!(!ended.contains("began"), "{ended}");
    let plan = json!({"name": "second", "steps": [{"id": "a", "tool": "quick"}]});
    std::fs::write(scene.folder.path().join("plan.json"), plan.to_string()).unwrap();
    let second = ["run", "plan.json", "--servers", "servers.json"];
    let output = spawn_program(scene.folder.path(), &second).wait_with_output();
    assert!(output.unwrap().status.success());
    let text = read_until(&mut shown, "succeeded");
    assert!(text.contains("second"), "{text}");
    assert!(!text.contains(&scene.id[..8]), "{text}");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn a_watched_list_notices_the_death_of_a_process() {
    let mut scene = fixture();
    let mut watching = spawn_program(scene.folder.path(), &["runs", "--watch"]);
    let mut shown = BufReader::new(watching.stdout.take().unwrap());
    read_until(&mut shown, "running");
    scene.run.kill().unwrap();
    scene.run.wait().unwrap();
    read_until(&mut shown, "interrupted");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn an_attached_terminal_leaves_the_run_alone() {
    let mut scene = fixture();
    let mut attached = spawn_program(scene.folder.path(), &["attach"]);
    let mut shown = BufReader::new(attached.stderr.take().unwrap());
    read_until(&mut shown, "leaves it running");
    let sent = Command::new("kill")
        .args(["-INT", &attached.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    assert_eq!(attached.wait().unwrap().code(), Some(130));
    assert!(read_until(&mut shown, "continues").contains(&scene.id[..8]));
    scene.recorder.release();
    assert_eq!(scene.run.wait().unwrap().code(), Some(0));
}

#[test]
fn the_death_of_the_process_is_noticed() {
    for command in ["attach", "logs"] {
        let mut scene = fixture();
        let more: &[&str] = if command == "logs" {
            &["--follow"]
        } else {
            &[]
        };
        let mut following = spawn_program(
            scene.folder.path(),
            &[&[command, &*scene.id], more].concat(),
        );
        if command == "logs" {
            let mut shown = BufReader::new(following.stdout.take().unwrap());
            read_until(&mut shown, "quick");
            std::thread::spawn(move || std::io::copy(&mut shown, &mut std::io::sink()));
        }
        let mut shown = BufReader::new(following.stderr.take().unwrap());
        if command == "attach" {
            read_until(&mut shown, "leaves it running");
        }
        scene.run.kill().unwrap();
        scene.run.wait().unwrap();
        let text = read_until(&mut shown, "resume with");
        assert!(text.contains("its process died"), "{text}");
        assert_eq!(following.wait().unwrap().code(), Some(130));
    }
}

#[test]
fn a_log_is_followed_until_the_run_ends() {
    let mut scene = fixture();
    let path = scene.folder.path();
    let mut text = spawn_program(path, &["logs", &scene.id, "-f"]);
    let mut lines = BufReader::new(text.stdout.take().unwrap());
    let mut log = read_until(&mut lines, "gave");
    let json = spawn_program(path, &["logs", &scene.id, "-f", "--format", "json"]);
    let step = spawn_program(path, &["logs", &scene.id, "c", "-f", "--format", "events"]);
    // The call in flight has no line yet.
    assert!(!log.contains("slow"), "{log}");
    scene.recorder.release();
    lines.read_to_string(&mut log).unwrap();
    assert_eq!(text.wait().unwrap().code(), Some(0));
    scene.run.wait().unwrap();
    let order = [
        "planwright 0.1.0",
        "fake.quick",
        "fake.slow",
        "with {\"n\":3}",
        "ended: succeeded",
    ];
    let places: Vec<Option<usize>> = order.iter().map(|text| log.find(text)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?} in {log}"
    );
    let read = |child: Child| -> Vec<Value> {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let what = |line: &Value| line["what"].as_str().unwrap().to_owned();
    let lines: Vec<String> = read(json).iter().map(what).collect();
    assert_eq!(lines, ["began", "call", "call", "call", "ended"]);
    let of_step = read(step);
    let records: Vec<String> = of_step.iter().map(|line| what(&line["record"])).collect();
    assert_eq!(records, ["sent", "answered", "settled"]);
}
