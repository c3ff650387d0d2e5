//! Runs on a Restate server of three nodes, with a PostgreSQL server as the store: workers, nodes and the PostgreSQL server are killed at
//! random moments.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use planwright_postgres::PostgresOptions;
use planwright_store::{RunFilter, Store};
use planwright_testkit::chance::Chance;
use planwright_testkit::fake_server;
use planwright_testkit::postgres::PostgresServer;
use planwright_testkit::restate::RestateServer;
use serde_json::{Value, json};

use crate::effects::{chains, effects, script, succeeded, tool_of};
use crate::program::{json_report, planwright};
use crate::restate::{WorkerProcess, free_port};

/// The number of kills, unless the variable [`COUNT`] has another one.
const FAULTS: u64 = 8;

/// The variable with the number of kills.
const COUNT: &str = "PLANWRIGHT_TEST_FAULTS";

/// The number of steps of a run.
const STEPS: usize = 60;

/// The number of runs that are kept in progress.
const RUNS: usize = 3;

#[expect(clippy::disallowed_methods, reason = "a longer run of the test")]
fn count() -> u64 {
    std::env::var(COUNT).map_or(FAULTS, |count| count.parse().unwrap())
}

/// A process that follows a run. It is killed when this is dropped, also by a test that fails.
struct Following(Option<Child>);

impl Following {
    fn is_running(&mut self) -> bool {
        let child = self.0.as_mut();
        child.is_some_and(|child| child.try_wait().unwrap().is_none())
    }

    /// Returns the report of the run.
    fn report(mut self) -> Value {
        json_report(&self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Submits a plan through a node, and returns the process that follows its run.
fn submit(folder: &Path, store: &str, ingress: &str, run: usize) -> Following {
    let first = run * STEPS;
    let plan = json!({"steps": chains(first..first + STEPS)});
    let file = format!("plan-{run}.json");
    fs::write(folder.join(&file), plan.to_string()).unwrap();
    let mut child = planwright(folder)
        .args(["run", &file, "--servers", "servers.json", "--store", store])
        .args(["--on", &format!("restate={ingress}"), "--format", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that cannot open its store fails at once, so nothing is killed before.
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut output = String::new();
    while !output.contains("on Restate") {
        assert!(0 < errors.read_line(&mut output).unwrap(), "{output}");
    }
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::stderr()));
    Following(Some(child))
}

/// Returns all runs of the store.
fn runs(store: &Store) -> Vec<String> {
    let runs = store.runs(&RunFilter::default()).unwrap();
    runs.into_iter().map(|run| run.id.to_string()).collect()
}

#[expect(clippy::print_stdout, reason = "the figures of a longer run")]
#[test]
fn nothing_is_lost_and_nothing_happens_twice() {
    let mut postgres = PostgresServer::start().unwrap();
    let url = postgres.url();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let config = json!({"mcpServers": {"fake": {
        "command": fake_server::program(), "args": [script(folder).to_string()], "trusted": true
    }}});
    fs::write(folder.join("servers.json"), config.to_string()).unwrap();
    let mut restate = RestateServer::start_cluster().unwrap();
    let (port, tools) = (free_port(), ["--servers", "servers.json", "--store", &url]);
    let start_worker = |restate: &RestateServer| {
        let worker = WorkerProcess::start(folder, restate, port, &tools);
        Some(worker)
    };
    let mut worker = start_worker(&restate);
    let options = PostgresOptions::new(folder.join("lists"));
    let store = planwright_postgres::open(&url, options).unwrap();
    let mut chance = Chance::new(7);
    let mut following: Vec<Following> = Vec::new();
    let mut completed: HashMap<u64, usize> = HashMap::new();
    let mut kills = [0; 3];
    for fault in 0..count() {
        let in_progress = following.iter_mut();
        let in_progress = in_progress
            .filter_map(|run| run.is_running().then_some(()))
            .count();
        for _ in in_progress..RUNS {
            let any = usize::try_from(chance.below(3)).unwrap();
            let run = submit(folder, &url, &restate.ingress_of(any), following.len());
            following.push(run);
        }
        // The moments of the kills are what is random here.
        let wait = |chance: &mut Chance, most: u64| {
            std::thread::sleep(Duration::from_millis(20 + chance.below(most)));
        };
        wait(&mut chance, 1_000);
        match fault % 4 {
            1 => {
                // The others continue without it.
                restate.kill_node(usize::try_from(chance.below(3)).unwrap());
                wait(&mut chance, 1_500);
                restate.start_again().unwrap();
                kills[1] += 1;
            }
            3 => {
                postgres.kill();
                wait(&mut chance, 500);
                postgres.start_again().unwrap();
                kills[2] += 1;
            }
            _ => {
                drop(worker.take());
                worker = start_worker(&restate);
                kills[0] += 1;
            }
        }
        let ids = runs(&store).into_iter();
        let done: Vec<u64> = ids.flat_map(|run| succeeded(&store, &run)).collect();
        let counts = effects(folder);
        for step in done {
            let count = counts.get(&step).copied().unwrap_or(0);
            completed.entry(step).or_insert(count);
        }
    }
    let submitted = following.len();
    let reports: Vec<_> = following.into_iter().map(Following::report).collect();
    let counts = effects(folder);
    for (step, before) in &completed {
        let now = counts.get(step).copied().unwrap_or(0);
        assert_eq!(now, *before, "completed step {step}");
    }
    let mut unknown = 0;
    for (run, report) in reports.iter().enumerate() {
        for (step, reported) in (run * STEPS..).zip(report["steps"].as_array().unwrap()) {
            let count = counts.get(&(step as u64)).copied().unwrap_or(0);
            let is_pay = tool_of(step) == "pay";
            assert!(!is_pay || count <= 1, "step {step} has paid {count} times");
            if reported["status"] == "succeeded" && reported["error"].is_null() {
                assert!(1 <= count, "step {step} has no effect: {reported}");
            } else {
                assert!(is_pay, "{reported}");
                unknown += 1;
            }
        }
    }
    println!(
        "{} kills of workers, {} of nodes, {} of the PostgreSQL server; {submitted} runs, {} effects, {unknown} steps with an unknown outcome",
        kills[0],
        kills[1],
        kills[2],
        counts.values().sum::<usize>()
    );
}
