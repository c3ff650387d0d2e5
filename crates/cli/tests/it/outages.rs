//! Stores that are full, and stores with the tables of another version. No call is made whose intent is not kept.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use planwright::engine::journal::Record;
use planwright_postgres::PostgresOptions;
use planwright_store::Store;
use planwright_testkit::fake_server;
use planwright_testkit::postgres::PostgresServer;
use serde_json::{Value, json};

use crate::effects::effects;
use crate::program::{json_report, planwright, stderr};

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

/// A file system of a few megabytes in memory, until it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path, size: &str) -> Self {
        fs::create_dir(folder).unwrap();
        let disk = Self(folder.to_owned());
        let arguments = ["-t", "tmpfs", "-o", size, "tmpfs"];
        disk.as_root("mount", &arguments, true);
        disk
    }

    /// Only the administrator mounts; the machines of the project's checks let their user be one.
    fn as_root(&self, program: &str, arguments: &[&str], is_required: bool) {
        let root = fs::metadata("/proc/self").is_ok_and(|me| {
            use std::os::unix::fs::MetadataExt;
            me.uid() == 0
        });
        let mut command = Command::new(if root { program } else { "sudo" });
        if !root {
            command.args(["-n", program]);
        }
        let status = command.args(arguments).arg(&self.0).status().unwrap();
        assert!(!is_required || status.success(), "{program} has failed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.as_root("umount", &["-l"], false);
    }
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
    let disk = SmallDisk::mount(&folder.join("disk"), "size=2m");
    let path = disk.0.join("runs.db");
    let output = command(folder, path.to_str().unwrap()).output().unwrap();
    let run = is_full(&output);
    let store = Store::open(&path).unwrap();
    let made = intents_are_kept(folder, &store, &run);
    assert!((1..STEPS).contains(&made), "{made} calls");
}

#[test]
fn a_server_with_newer_tables_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_chain(folder);
    let server = PostgresServer::start().unwrap();
    let (url, lists) = (server.url(), PostgresOptions::new(folder.join("lists")));
    drop(planwright_postgres::open(&url, lists).unwrap());
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
