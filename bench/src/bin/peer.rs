//! Our side of the comparison with other systems, a process that `cargo xtask peers` controls.
//!
//! `describe` prints the shapes that all systems run. `serve` reads the number of a shape from each line of its input, runs it once to
//! warm up and then as often as a turn requires, and prints the seconds of each run, from the text of a plan to the summary of its
//! run; `serve FILE` stores the runs. The results are verified after the time is taken. `parts` prints the shares of reading, checking
//! and running.
#![expect(clippy::print_stdout, reason = "others read what it prints")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::io::BufRead;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use planwright_bench::peers::{Contestant, Workload};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

/// The allocator of the program, so that the figures are those of its users.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("describe") => {
            let all: Vec<_> = Workload::all().iter().map(Workload::description).collect();
            println!("{}", json!(all));
            ExitCode::SUCCESS
        }
        Some("serve") => {
            let contestant = Contestant::new();
            serve(&match std::env::args().nth(2) {
                Some(store) => contestant.with_store(Path::new(&store)),
                None => contestant,
            });
            ExitCode::SUCCESS
        }
        Some("parts") => {
            parts();
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(2),
    }
}

/// Runs on a single thread, as the other systems do.
fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime")
}

fn serve(contestant: &Contestant) {
    let runtime = runtime();
    let workloads = Workload::all();
    for line in std::io::stdin().lock().lines() {
        let number: usize = line.expect("a line").trim().parse().expect("a number");
        let seconds = turn(&runtime, contestant, &workloads[number]);
        println!("{}", json!({ "seconds": seconds }));
    }
}

fn turn(runtime: &Runtime, contestant: &Contestant, workload: &Workload) -> Vec<f64> {
    let text = workload.text();
    let seconds = (0..=workload.runs).map(|_| {
        let start = Instant::now();
        let summary = runtime.block_on(contestant.run(&text));
        let time = start.elapsed();
        workload.verify(&summary);
        time.as_secs_f64()
    });
    seconds.skip(1).collect()
}

fn parts() {
    let rounds = 101;
    let runtime = runtime();
    let contestant = Contestant::new();
    for workload in Workload::all().iter().filter(|all| all.ideal().is_zero()) {
        let text = workload.text();
        let mut parts: [Vec<Duration>; 3] = Default::default();
        for _ in 0..rounds {
            let start = Instant::now();
            let plan = Contestant::read(&text);
            let read = Instant::now();
            let checked = contestant.check(plan);
            let is_checked = Instant::now();
            let summary = runtime.block_on(contestant.execute(checked));
            let done = Instant::now();
            workload.verify(&summary);
            parts[0].push(read.duration_since(start));
            parts[1].push(is_checked.duration_since(read));
            parts[2].push(done.duration_since(is_checked));
        }
        let [read, check, run] = parts.map(|mut times| {
            times.sort_unstable();
            times[rounds / 2]
        });
        println!(
            "{}: read {read:?}, check {check:?}, run {run:?}",
            workload.name
        );
    }
}
