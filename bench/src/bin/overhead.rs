//! Prints the overhead of the gateway for a call, and the time that a plan of twenty calls saves.
//!
//! ```console
//! $ cargo build --release -p planwright-cli && cargo run --release -p planwright-bench --bin overhead [PLANWRIGHT]
//! ```
//!
//! All calls go over stdio to our own server, which answers at once, or after 50 ms. Direct calls and those through the gateway take
//! turns, so that other load on the machine affects both.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use planwright_bench::program;
use planwright_bench::tokens::Session;
use planwright_testkit::fake_server;
use serde_json::{Value, json};

/// The number of measured sequential calls.
const CALLS: usize = 1000;

/// The number of calls of one plan.
const STEPS: usize = 20;

/// The number of measured runs of the plan.
const ROUNDS: usize = 15;

/// The gateway stores its runs, as it does by default.
const STORED: &[&str] = &["--store", "runs.db"];

fn main() {
    let planwright = program::planwright();
    let script = json!({"tools": [
        {"name": "echo", "does": {}},
        {"name": "slow", "does": {"delay_ms": 50, "text": "done"}},
    ]})
    .to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let servers =
        json!({"mcpServers": {"fake": {"command": fake_server::program(), "args": [script]}}});
    std::fs::write(folder.path().join("mcp.json"), servers.to_string()).expect("a file");
    // A plan that waits for approval calls nothing.
    let settings = folder.path().join("planwright");
    std::fs::create_dir(&settings).expect("a folder");
    std::fs::write(
        settings.join("planwright.toml"),
        "[tools]\nno_ask = [\"*\"]\n",
    )
    .expect("a file");
    one_call(&planwright, folder.path(), &script);
    twenty_calls(&planwright, folder.path());
}

fn gateway(planwright: &Path, folder: &Path, mode: &str, store_args: &[&str]) -> Session {
    let mut command = Command::new(planwright);
    command
        .args(["serve", "--mode", mode, "--servers", "mcp.json"])
        .args(store_args)
        .env("XDG_CONFIG_HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .current_dir(folder);
    Session::start(&mut command)
}

fn one_call(planwright: &Path, folder: &Path, script: &str) {
    let mut direct = Session::start(Command::new(fake_server::program()).arg(script));
    let mut through = gateway(planwright, folder, "plain", STORED);
    let arguments = json!({"word": "hello", "number": 7});
    let (mut alone, mut behind) = (Times::default(), Times::default());
    for _ in 0..CALLS {
        alone.time(|| direct.call("echo", &arguments));
        behind.time(|| through.call("echo", &arguments));
    }
    println!("one call, {CALLS} times: median, least");
    alone.row("direct");
    behind.row("through the gateway");
    println!(
        "  more                 {:>10.3?} {:>10.3?}",
        behind.median().saturating_sub(alone.median()),
        behind.least().saturating_sub(alone.least())
    );
}

fn twenty_calls(planwright: &Path, folder: &Path) {
    let mut single = gateway(planwright, folder, "plain", STORED);
    let mut stored = gateway(planwright, folder, "plan", STORED);
    let mut forgotten = gateway(planwright, folder, "plan", &["--no-store"]);
    let steps: Vec<Value> = (0..STEPS)
        .map(|step| json!({"id": format!("s{step}"), "tool": "slow", "args": {}}))
        .collect();
    let plan = json!({"plan": {"steps": steps, "output": ["s0"]}});
    let mut times: [Times; 3] = Default::default();
    let [one_by_one, one_stored, one_forgotten] = &mut times;
    for _ in 0..ROUNDS {
        one_by_one.time(|| {
            for _ in 0..STEPS {
                single.call("slow", &json!({}));
            }
        });
        for (times, session) in [
            (&mut *one_stored, &mut stored),
            (&mut *one_forgotten, &mut forgotten),
        ] {
            let result = times.time(|| session.call("execute_plan", &plan));
            assert!(result.contains("done"), "the plan has no result: {result}");
        }
    }
    println!("{STEPS} independent calls of 50 ms, {ROUNDS} times: median, least");
    one_by_one.row("one by one");
    for (name, plan) in [
        ("one plan, kept", one_stored),
        ("one plan, not kept", one_forgotten),
    ] {
        plan.row(name);
        let ratio = |one: Duration, all: Duration| all.as_secs_f64() / one.as_secs_f64();
        println!(
            "    ratio              {:>10.2} {:>10.2}",
            ratio(plan.median(), one_by_one.median()),
            ratio(plan.least(), one_by_one.least())
        );
    }
}

/// A series of measured durations.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        self.0.push(begun.elapsed());
        self.0.sort();
        result
    }

    fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    fn least(&self) -> Duration {
        self.0[0]
    }

    fn row(&self, name: &str) {
        println!(
            "  {name:<20} {:>10.3?} {:>10.3?}",
            self.median(),
            self.least()
        );
    }
}
