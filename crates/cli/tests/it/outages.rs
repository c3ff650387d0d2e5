//! Stores that are full or away for a while, those with the tables of another version, and a run watched from another machine. No call is made whose intent is not kept.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use planwright::engine::journal::Record;
use planwright_postgres::PostgresOptions;
use planwright_store::{RunFilter, Store};
use planwright_testkit::fake_server;
use planwright_testkit::postgres::{PostgresDatabase, PostgresServer};
use serde_json::{Value, json};

use crate::effects::effects;
use crate::program::{json_report, planwright, stderr, stdout};

/// The number of steps of a run.
const STEPS: usize = 120;

/// Writes a chain of calls that leave a mark in a file, and whose answers are large.
fn write_chain(folder: &Path) {
    let script = json!({"tools": [{
        "name": "put", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": false},
        "does": {"appends": folder.join("effects"), "delay_ms": 10, "structured": {"large": "x".repeat(20_000)}}
    }]});
    let config = json!({"mcpServers": {"fake": {
        "command": fake_server::program(), "args": [script.to_string()], "trusted": true
    }}});
    fs::write(folder.join("servers.json"), config.to_string()).unwrap();
    let steps = (0..STEPS).map(|n| {
        let mut args = json!({"n": n, "of": format!("{n} ").repeat(2_000)});
        if 0 < n {
            args["before"] = json!(format!("${{s{}.large}}", n - 1));
        }
        json!({"id": format!("s{n}"), "tool": "put", "args": args})
    });
    let plan = json!({"steps": steps.collect::<Vec<Value>>(), "output": []});
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
}

fn command(folder: &Path, store: &str) -> Command {
    let mut command = planwright(folder);
    command
        .args(["run", "plan.json", "--servers", "servers.json"])
        .args(["--format", "json", "--store", store])
        .stdin(Stdio::null());
    command
}

/// Runs a command with a file system of 2 MB in memory at `disk`, and leaves a copy of it at `copy`. The mount namespace ends with the
/// command, so that nothing stays mounted.
fn run_with_small_disk(folder: &Path, command: &Command) -> Output {
    const SCRIPT: &str = "mkdir disk && mount -t tmpfs -o size=2m tmpfs disk || exit 90
        \"$@\"; status=$?; cp -r disk copy; exit $status";
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut unshare = Command::new("/usr/bin/unshare");
    unshare.env_clear();
    if !is_root {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare
        .args(["--mount", "sh", "-c", SCRIPT, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(folder)
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => unshare.env(name, value),
            None => unshare.env_remove(name),
        };
    }
    unshare.output().unwrap()
}

/// Returns the only run of a store, after a check that each effect has an intent there.
#[track_caller]
fn intents_are_kept(folder: &Path, store: &Store, run: &str) -> usize {
    let entries = store.entries(run).unwrap().map(Result::unwrap);
    let called = entries.filter(|entry| matches!(entry.record, Record::Sent { .. }));
    let (called, effects) = (called.count(), effects(folder));
    assert!(
        effects.values().all(|count| *count == 1),
        "a call was repeated"
    );
    assert!(
        effects.len() <= called,
        "{} effects of {called} intents",
        effects.len()
    );
    effects.len()
}

#[track_caller]
fn is_full(output: &Output) -> String {
    let errors = stderr(output);
    assert!(
        errors.contains("the run was ended, since it cannot be stored")
            && errors.contains("cannot grow: the disk is full"),
        "{errors}"
    );
    let report = json_report(output);
    assert_eq!(report["status"], "failed", "{report:#}");
    report["run"].as_str().unwrap().to_owned()
}

#[test]
fn a_full_disk_ends_a_run_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_chain(folder);
    let output = run_with_small_disk(folder, &command(folder, "disk/runs.db"));
    let run = is_full(&output);
    let store = Store::open(folder.join("copy/runs.db")).unwrap();
    let made = intents_are_kept(folder, &store, &run);
    assert!((1..STEPS).contains(&made), "{made} calls");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_a_run_in_a_server_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_chain(folder);
    let server = PostgresServer::start_with_small_disk(2 << 20).unwrap();
    let url = server.url();
    let store = open(folder, &url);
    let room = server.small_disk_from_here().unwrap().join("room");
    // All values are on the small disk, as large as they are.
    let small = server.small_disk();
    for sql in [
        &format!("CREATE TABLESPACE small LOCATION '{}'", small.display()),
        "ALTER TABLE planwright.blobs SET TABLESPACE small",
        "ALTER TABLE planwright.blobs ALTER COLUMN json SET STORAGE EXTERNAL",
    ] {
        server.execute(sql).unwrap();
    }
    fs::write(&room, vec![0; 3 << 19]).unwrap();
    let output = command(folder, &url).output().unwrap();
    let run = is_full(&output);
    let made = intents_are_kept(folder, &store, &run);
    assert!((1..STEPS).contains(&made), "{made} calls");
    fs::remove_file(&room).unwrap();
    // The outcome of the last call was not stored, and a person knows it.
    let set = format!("s{}={}", made - 1, json!({"large": "x"}));
    let resumed = planwright(folder)
        .args(["resume", &run, "--set", &set, "--format", "json"])
        .args(["--store", &url])
        .output()
        .unwrap();
    let report = json_report(&resumed);
    assert_eq!(report["status"], "succeeded", "{report:#}");
    assert_eq!(intents_are_kept(folder, &store, &run), STEPS);
}

#[test]
fn a_server_with_newer_tables_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_chain(folder);
    let server = PostgresServer::start().unwrap();
    let url = server.url();
    drop(open(folder, &url));
    server
        .execute("INSERT INTO planwright.layouts (version) VALUES (99)")
        .unwrap();
    let output = command(folder, &url).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let errors = stderr(&output);
    assert!(
        errors.contains("was created by a newer version: its schema version is 99"),
        "{errors}"
    );
    assert!(effects(folder).is_empty());
}

/// Waits until the calls of the chain have left more marks than `count`.
fn wait_for_effects(folder: &Path, count: usize) -> usize {
    loop {
        let made = effects(folder).len();
        if count < made {
            return made;
        }
        std::thread::yield_now();
    }
}

fn open(folder: &Path, url: &str) -> Store {
    planwright_postgres::open(url, PostgresOptions::new(folder.join("lists"))).unwrap()
}

fn only_run(store: &Store) -> String {
    let runs = store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 1);
    runs[0].id.to_string()
}

#[test]
fn a_server_that_is_away_for_a_while_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_chain(folder);
    let mut server = PostgresServer::start().unwrap();
    let url = server.url();
    let mut run = command(folder, &url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_effects(folder, 10);
    let followers = [
        Follower::start(folder, &url, &["watch"], |child| {
            Box::new(child.stderr.take().unwrap())
        }),
        Follower::start(folder, &url, &["logs", "--follow"], |child| {
            Box::new(child.stdout.take().unwrap())
        }),
    ];
    server.kill();
    // The wait is shown once it is longer than a short restart.
    let mut errors = BufReader::new(run.stderr.take().unwrap());
    let mut shown = String::new();
    while !shown.contains("waiting for the store") {
        assert_ne!(errors.read_line(&mut shown).unwrap(), 0, "{shown}");
    }
    let made = effects(folder).len();
    assert!(made < STEPS, "{made} calls");
    server.start_again().unwrap();
    let store =
        planwright_postgres::open(&url, PostgresOptions::new(folder.join("lists"))).unwrap();
    let stored = store.runs(&RunFilter::default()).unwrap();
    let id = stored[0].id.as_str();
    // The calls that were made while the server was away had been stored before.
    intents_are_kept(folder, &store, id);
    let output = run.wait_with_output().unwrap();
    let report = json_report(&output);
    assert_eq!(report["status"], "succeeded", "{report:#}");
    assert_eq!(intents_are_kept(folder, &store, id), STEPS);
    for follower in followers {
        follower.assert_success();
    }
}

/// A command that follows the newest run.
struct Follower {
    child: Child,
    output: BufReader<Box<dyn Read>>,
}

impl Follower {
    /// Starts a command and waits for the first line of one of its outputs.
    fn start(
        folder: &Path,
        store: &str,
        arguments: &[&str],
        output: fn(&mut Child) -> Box<dyn Read>,
    ) -> Self {
        let mut command = planwright(folder);
        command.args(arguments).args(["--store", store]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(output(&mut child));
        let mut line = String::new();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "{arguments:?}");
        Self { child, output }
    }

    /// Waits for the end of the command, which is that of the run.
    fn assert_success(mut self) {
        let mut shown = String::new();
        self.output.read_to_string(&mut shown).unwrap();
        let ended = self.child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{shown} {}", stderr(&ended));
    }
}

#[test]
fn a_run_is_watched_from_another_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, other) = (folder.path(), tempfile::tempdir().unwrap());
    write_chain(folder);
    let database = PostgresDatabase::create().unwrap();
    let run = command(folder, database.url())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_effects(folder, 0);
    let store = open(folder, database.url());
    let watched = planwright(other.path())
        .args(["watch", &only_run(&store), "--store", database.url()])
        .output()
        .unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(json_report(&ended)["status"], "succeeded");
    let shown = stderr(&watched);
    assert_eq!(watched.status.code(), Some(0), "{shown}");
    assert!(shown.contains("120 steps"), "{shown} {}", stdout(&watched));
}
