//! The program is killed repeatedly at random moments, and resumes from its journal each time.
#![cfg(unix)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use planwright::engine::journal::Record;
use planwright_store::Store;
use planwright_testkit::chance::Chance;
use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

/// The number of kills of the program.
const KILLS: u64 = 200;

/// The number of steps of the plan.
const STEPS: usize = 60;

/// Three kinds of tools: one only reads, one may be called twice, one must not be.
fn tool_of(step: usize) -> &'static str {
    ["look", "put", "pay"][step % 3]
}

fn plan() -> Value {
    let steps: Vec<Value> = (0..STEPS)
        .map(|step| {
            let mut args = json!({"n": step});
            // Ten wide: each step reads two of the row before.
            if step >= 10 {
                args["left"] = json!(format!("${{s{}.n}}", step - 10));
                args["right"] = json!(format!("${{s{}}}", step / 10 * 10 - 10 + (step + 3) % 10));
            }
            json!({"id": format!("s{step}"), "tool": tool_of(step), "args": args})
        })
        .collect();
    json!({"name": "sixty", "steps": steps})
}

fn set_up(folder: &Path) {
    let effects = folder.join("effects");
    let tool = |name: &str, hints: Value| {
        json!({
            "name": name, "inputSchema": {"type": "object"}, "annotations": hints,
            "does": {"appends": effects, "then_delay_ms": 1}
        })
    };
    let script = json!({"tools": [
        tool("look", json!({"readOnlyHint": true})),
        tool("put", json!({"idempotentHint": true})),
        tool("pay", json!({})),
    ]});
    let config = json!({"mcpServers": {"fake": {
        "command": fake_server::program(), "args": [script.to_string()], "trusted": true
    }}});
    fs::write(folder.join("servers.json"), config.to_string()).unwrap();
    fs::write(folder.join("plan.json"), plan().to_string()).unwrap();
}

/// The end of a process.
struct Ended {
    run: Option<String>,
    was_killed: bool,
    status: Option<i32>,
    /// The steps with an unknown outcome.
    unknown: Vec<String>,
    log: String,
}

/// Drives the run with `arguments`, and kills the process after it has reported that many events.
fn drive(folder: &Path, arguments: &[String], kill_at: Option<u64>) -> Ended {
    let mut child = planwright(folder)
        .args(arguments)
        .args(["--format", "events"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut run = None;
    let mut unknown = Vec::new();
    let mut was_killed = false;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (number, line) in (1..).zip(lines.map_while(Result::ok)) {
        let Ok(event) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        match event["event"].as_str() {
            Some("run_started") => run = event["run"].as_str().map(str::to_owned),
            Some("outcome_unknown") => {
                unknown.push(event["address"].as_str().unwrap().to_owned());
            }
            _ => {}
        }
        if kill_at == Some(number) {
            child.kill().unwrap();
            was_killed = true;
        }
    }
    let mut log = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut log).unwrap();
    let status = child.wait().unwrap().code();
    Ended {
        run,
        // It may have ended by itself just before.
        was_killed: was_killed && status.is_none(),
        status,
        unknown,
        log,
    }
}

/// The calls that the server really carried out, by their keys.
fn effects(folder: &Path) -> HashMap<String, Vec<Value>> {
    let text = fs::read_to_string(folder.join("effects")).unwrap_or_default();
    let mut effects: HashMap<String, Vec<Value>> = HashMap::new();
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        // A kill can cut a write where a page of the file ends. A partial line is not an effect, and the next line follows it directly.
        let whole = line
            .rfind(r#"{"tool":"#)
            .map_or(*line, |start| &line[start..]);
        let effect: Value = match serde_json::from_str(whole) {
            Ok(effect) => effect,
            Err(error) if error.is_eof() && number + 1 == lines.len() => continue,
            Err(error) => panic!("{error}: {line}"),
        };
        // The digest at its end is that of the call, which is the same in all attempts.
        let (key, _) = effect["key"].as_str().unwrap().rsplit_once(':').unwrap();
        let key = key.to_owned();
        effects.entry(key).or_default().push(effect);
    }
    effects
}

/// No call follows upon a good answer of the same step, and every intent comes before its answer.
fn check_journal(folder: &Path, run: &str) {
    let store = Store::open(folder.join("store.db")).unwrap();
    let mut answered = HashSet::new();
    for entry in store.entries(run).unwrap() {
        match entry.unwrap().record {
            Record::Sent { at, .. } => {
                assert!(
                    !answered.contains(&at),
                    "`{at}` was completed and called again"
                );
            }
            Record::Answered {
                at, result: Ok(_), ..
            } => {
                answered.insert(at);
            }
            _ => {}
        }
    }
}

fn arguments(command: &[&str]) -> Vec<String> {
    command
        .iter()
        .copied()
        .chain(["--store", "store.db"])
        .map(str::to_owned)
        .collect()
}

/// Runs the plan to its end with random kills. Returns the number of kills, and of steps with an unknown outcome.
fn live(chance: &mut Chance, kills_left: u64) -> (u64, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    set_up(path);
    let mut kills = 0;
    let mut in_doubt = 0;
    let mut retried: BTreeMap<String, usize> = BTreeMap::new();
    let mut run: Option<String> = None;
    let mut next = arguments(&[
        "run",
        "plan.json",
        "--servers",
        "servers.json",
        "--max-parallel",
        "4",
    ]);
    loop {
        let kill_at = (kills < kills_left).then(|| 1 + chance.below(140));
        let ended = drive(path, &next, kill_at);
        run = run.or(ended.run);
        let Some(id) = run.clone() else {
            // It died before it had begun to keep anything.
            assert!(ended.was_killed, "{}", ended.log);
            kills += 1;
            continue;
        };
        kills += u64::from(ended.was_killed);
        match ended.status {
            None => next = arguments(&["resume", &id]),
            Some(0) => break,
            Some(4) => {
                assert!(!ended.unknown.is_empty(), "{}", ended.log);
                in_doubt += ended.unknown.len();
                next = arguments(&["resume", &id]);
                let done = effects(path);
                for step in &ended.unknown {
                    let key = format!("{id}/{step}");
                    match done.get(&key).and_then(|done| done.last()) {
                        // The server gives its arguments back.
                        Some(effect) => {
                            next.push("--set".to_owned());
                            next.push(format!("{step}={}", effect["arguments"]));
                        }
                        None => {
                            *retried.entry(key).or_default() += 1;
                            next.push("--retry".to_owned());
                            next.push(step.clone());
                        }
                    }
                }
            }
            other => panic!("exit {other:?}: {}", ended.log),
        }
    }
    let id = run.unwrap();
    for (key, calls) in effects(path) {
        let is_pay = calls[0]["tool"] == "pay";
        assert!(
            !is_pay || calls.len() == 1,
            "`{key}` was carried out {} times: {retried:?}",
            calls.len()
        );
    }
    check_journal(path, &id);
    check_report(path, &id);
    (kills, in_doubt)
}

/// Resumes a finished run, which makes no calls and prints the complete values again.
fn check_report(folder: &Path, run: &str) {
    let before = fs::read_to_string(folder.join("effects")).unwrap();
    let output = planwright(folder)
        .args(arguments(&["resume", run, "--format", "json"]))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["status"], "succeeded");
    let output = &report["output"];
    for step in 0..STEPS {
        let mut expected = json!({"n": step});
        if step >= 10 {
            expected["left"] = json!(step - 10);
            let right = format!("s{}", step / 10 * 10 - 10 + (step + 3) % 10);
            expected["right"] = output[right].clone();
        }
        assert_eq!(output[format!("s{step}")], expected, "s{step}");
    }
    assert_eq!(fs::read_to_string(folder.join("effects")).unwrap(), before);
}

#[test]
fn a_run_that_is_killed_200_times_comes_to_the_same() {
    let mut chance = Chance::new(20_261_121);
    let (mut kills, mut in_doubt) = (0, 0);
    while kills < KILLS {
        let (more, doubtful) = live(&mut chance, KILLS - kills);
        kills += more;
        in_doubt += doubtful;
    }
    // Or nothing was in the middle of anything.
    assert!(in_doubt > 0);
}
