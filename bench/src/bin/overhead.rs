//! Prints what the gateway adds to a call, and what a plan saves of twenty.
//!
//! ```console
//! $ cargo build --release -p planwright && cargo run --release -p planwright-bench --bin overhead [PLANWRIGHT]
//! ```
//!
//! All goes over stdio to a server of ours that answers at once, or after 50 ms. Direct and through the gateway take turns, so that
//! what else the machine does meets both.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use planwright_bench::tokens::Session;
use planwright_testkit::fake_server;
use serde_json::{Value, json};

/// Calls that are measured, one after the other.
const CALLS: usize = 1000;

/// Calls of one plan.
const STEPS: usize = 20;

/// How often the plan is measured.
const ROUNDS: usize = 15;

fn main() {
    let named = std::env::args().nth(1);
    let named = named.map(|named| std::path::absolute(named).expect("a path"));
    let beside = || {
        let this = std::env::current_exe().expect("the path of this program");
        this.with_file_name(format!("planwright{}", std::env::consts::EXE_SUFFIX))
    };
    let planwright = named.unwrap_or_else(beside);
    let script = json!({"tools": [
        {"name": "echo", "does": {}},
        {"name": "slow", "does": {"delay_ms": 50, "text": "done"}},
    ]})
    .to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let servers =
        json!({"mcpServers": {"fake": {"command": fake_server::program(), "args": [script]}}});
    std::fs::write(folder.path().join("mcp.json"), servers.to_string()).expect("a file");
    one_call(&planwright, folder.path(), &script);
    twenty_calls(&planwright, folder.path());
}

fn gateway(planwright: &Path, folder: &Path, mode: &str) -> Session {
    let mut command = Command::new(planwright);
    command
        .args([
            "serve",
            "--mode",
            mode,
            "--servers",
            "mcp.json",
            "--store",
            "runs.db",
        ])
        .env("XDG_CONFIG_HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .current_dir(folder);
    Session::start(&mut command)
}

fn one_call(planwright: &Path, folder: &Path, script: &str) {
    let mut direct = Session::start(Command::new(fake_server::program()).arg(script));
    let mut through = gateway(planwright, folder, "plain");
    let arguments = json!({"word": "hello", "number": 7});
    let (mut alone, mut behind) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        alone.push(timed(|| direct.call("echo", &arguments)));
        behind.push(timed(|| through.call("echo", &arguments)));
    }
    let (alone, behind) = (median(alone), median(behind));
    println!("one call, median of {CALLS}");
    println!("  direct              {alone:>10.3?}");
    println!("  through the gateway {behind:>10.3?}");
    println!(
        "  more                {:>10.3?}",
        behind.saturating_sub(alone)
    );
}

fn twenty_calls(planwright: &Path, folder: &Path) {
    let mut session = gateway(planwright, folder, "plan");
    let mut single = gateway(planwright, folder, "plain");
    let steps: Vec<Value> = (0..STEPS)
        .map(|step| json!({"id": format!("s{step}"), "tool": "slow", "args": {}}))
        .collect();
    let plan = json!({"plan": {"steps": steps, "output": ["s0"]}});
    let (mut one_by_one, mut planned) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one_by_one.push(timed(|| {
            for _ in 0..STEPS {
                single.call("slow", &json!({}));
            }
        }));
        planned.push(timed(|| session.call("execute_plan", &plan)));
    }
    let (one_by_one, planned) = (median(one_by_one), median(planned));
    println!("{STEPS} independent calls of 50 ms, median of {ROUNDS}");
    println!("  one by one          {one_by_one:>10.3?}");
    println!("  one plan, kept      {planned:>10.3?}");
    println!(
        "  ratio               {:>10.2}",
        one_by_one.as_secs_f64() / planned.as_secs_f64()
    );
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
