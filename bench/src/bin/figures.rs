//! Prints a table of all figures in `docs/performance.md`, measured now, with their bounds.
//!
//! ```console
//! $ cargo run --release -p planwright-bench --bin figures [scheduler] [soundness] [engine] [store] [stdio]
//! ```
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(
    clippy::cast_precision_loss,
    reason = "figures are printed with three digits"
)]

use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use planwright_bench::plans::Density;
use planwright_bench::scheduler::schedule;
use planwright_bench::shape::Shape;
use planwright_bench::stdio::{PlanClient, RmcpClient, TestServer};
use planwright_bench::{durable, engine, plans, program};
use planwright_core::check::{CheckedPlan, Policy};
use planwright_engine::{Engine, RunOptions};
use planwright_store::Store;
use planwright_testkit::fake_server;
use tokio::runtime::{self, Runtime};

/// The allocator of the program, so that the figures are those of its users.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The parts that can be measured.
const PARTS: [&str; 5] = ["scheduler", "soundness", "engine", "store", "stdio"];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let known = |part: &String| PARTS.contains(&part.as_str());
    assert!(
        wanted.iter().all(known),
        "what can be measured is {}",
        PARTS.join(", ")
    );
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == part);
    println!("{:<52} {:>12} {:>12}", "what", "measured", "at most");
    let runtime = Runtime::new().expect("a runtime");
    if is_wanted("scheduler") {
        memory_of_a_step();
        scheduler();
    }
    if is_wanted("soundness") {
        soundness();
    }
    if is_wanted("engine") {
        let single = runtime::Builder::new_current_thread().enable_all().build();
        whole_engine("one thread", &single.expect("a runtime"));
        whole_engine("all threads", &runtime);
        one_value(&runtime);
    }
    if is_wanted("store") {
        stored(&runtime);
    }
    if is_wanted("stdio") {
        over_stdio(&runtime);
        start();
    }
}

fn row(what: &str, measured: &str, bound: &str) {
    println!("{what:<52} {measured:>12} {bound:>12}");
}

/// Returns the median of `rounds` measurements.
fn median(rounds: usize, mut measure: impl FnMut() -> Duration) -> Duration {
    middle((0..rounds).map(|_| measure()).collect())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn per_step(time: Duration, steps: u32) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(steps)
}

/// Measures memory. Runs first, since other measurements leave memory behind that would be reused.
fn memory_of_a_step() {
    let steps = 1_000_000;
    let waits = Shape::Layered.waits(steps);
    let before = planwright_bench::resident();
    let waiting = planwright_bench::scheduler::set_up(&waits);
    let after = planwright_bench::resident();
    drop(waiting);
    let measured = before.zip(after).map_or_else(
        || "unknown".to_owned(),
        |(before, after)| format!("{} B", after.saturating_sub(before) / steps as usize),
    );
    row("scheduler of a step", &measured, "1024 B");
}

/// The number of steps that are scheduled for one figure of the scheduler.
const MILLION: u32 = 1_000_000;

/// The sizes of graphs, in ascending order.
const SIZES: [u32; 3] = [1_000, 100_000, MILLION];

fn scheduler() {
    for shape in Shape::ALL {
        // A million steps at any size. The graphs differ, since branch prediction and caches learn a small graph that is repeated.
        let graphs = SIZES.map(|steps| shape.graphs(steps, MILLION / steps));
        let mut times = SIZES.map(|_| Vec::new());
        // The sizes take turns, so that other load on the machine affects all of them.
        for _ in 0..9 {
            for (graphs, times) in graphs.iter().zip(&mut times) {
                times.push(timed(|| {
                    for waits in graphs {
                        assert_eq!(schedule(waits), waits.len());
                    }
                }));
            }
        }
        let costs = times.map(|times| per_step(middle(times), MILLION));
        for (steps, cost) in SIZES.iter().zip(costs) {
            row(
                &format!("scheduler, {}, {steps} steps", shape.name()),
                &format!("{cost:.3} µs"),
                "1 µs",
            );
        }
        let growth = costs[2].max(costs[1]) / costs[0];
        row(
            &format!("scheduler, {}, from smallest to largest", shape.name()),
            &format!("{growth:.2} ×"),
            "1.50 ×",
        );
    }
}

fn soundness() {
    let tools = 500;
    let catalog = plans::catalog(tools);
    let no_flow = Policy::new();
    let policies = [
        ("built-in guards", plans::builtin_guards(), false),
        ("guards on each step, violated", plans::flow_policy(), false),
        ("the same with all words", plans::flow_policy(), true),
    ];
    for (density, name, bounds) in [
        (Density::Typical, "usual", ["0.3 ms", "20 ms"]),
        (Density::High, "many references", ["0.3 ms", "20 ms"]),
        (Density::Expressions, "expressions", ["0.45 ms", "25 ms"]),
    ] {
        for ((steps, rounds), bound) in [(20, 501), (1_000, 51)].into_iter().zip(bounds) {
            let text = plans::text(steps, tools, density);
            let checked = |policy, with_words| {
                timed(|| {
                    let (plan, findings) = plans::findings_by(&text, &catalog, policy);
                    if with_words {
                        black_box(findings.len());
                    }
                    drop(plan);
                })
            };
            let about = format!("parse and check, {name}, {steps} steps, {tools} tools");
            for (position, (with, policy, with_words)) in policies.iter().enumerate() {
                // In pairs, so that the ratio does not depend on the speed of the machine at the time.
                let pairs: Vec<_> = (0..rounds)
                    .map(|_| (checked(&no_flow, false), checked(policy, *with_words)))
                    .collect();
                let median_of = |mut values: Vec<f64>| {
                    values.sort_by(f64::total_cmp);
                    values.get(values.len() / 2).copied().unwrap_or_default()
                };
                let plain = pairs.iter().map(|(plain, _)| plain.as_secs_f64() * 1e3);
                let flow = pairs.iter().map(|(_, flow)| flow.as_secs_f64() * 1e3);
                let ratio = pairs
                    .iter()
                    .map(|(plain, flow)| flow.as_secs_f64() / plain.as_secs_f64());
                if position == 0 {
                    row(
                        &about,
                        &format!("{:.3} ms", median_of(plain.collect())),
                        bound,
                    );
                }
                row(
                    &format!("{about}, {with}"),
                    &format!("{:.3} ms", median_of(flow.collect())),
                    bound,
                );
                row(
                    &format!("{about}, {with}, against without a policy"),
                    &format!("{:.2} ×", median_of(ratio.collect())),
                    "1.25 ×",
                );
            }
        }
    }
}

fn whole_engine(threads: &str, runtime: &Runtime) {
    let engine = engine::engine();
    let catalog = engine::catalog();
    for shape in Shape::ALL {
        for (steps, rounds) in [(1_000, 51), (10_000, 11)] {
            let plan = plans::shaped(shape, steps, &catalog);
            let time = median(rounds, || {
                let plan = plan.clone();
                timed(|| drop(runtime.block_on(engine::run(&engine, plan))))
            });
            row(
                &format!("engine, {threads}, {}, {steps} no-op steps", shape.name()),
                &format!("{:.2} µs", per_step(time, steps)),
                "5 µs",
            );
        }
    }
}

fn one_value(runtime: &Runtime) {
    let engine = engine::engine_for_large_values();
    let [small, big] = ["small", "big"].map(|source| {
        let plan = engine::one_to_many(source, 1_000);
        median(21, || {
            let plan = plan.clone();
            timed(|| drop(runtime.block_on(engine::run(&engine, plan))))
        })
    });
    row(
        "10 MB for 1000 readers, against 3 bytes",
        &format!("{:.2} ×", big.as_secs_f64() / small.as_secs_f64()),
        "",
    );
    let plan = engine::one_to_many("big", 1_000);
    let before = planwright_bench::resident();
    let summary = runtime.block_on(engine::run(&engine, plan));
    if let (Some(before), Some(after)) = (before, planwright_bench::resident()) {
        let more = after.saturating_sub(before) as f64 / 1e6;
        row(
            "10 MB for 1000 readers in all",
            &format!("{more:.1} MB"),
            "",
        );
    }
    drop(summary);
}

/// Measures stored runs. Disks differ more in the speed of commits than in anything else here, so plain commits are measured in turn.
fn stored(runtime: &Runtime) {
    let folder = tempfile::tempdir_in(".").expect("a folder on a real disk");
    let store = Store::open(folder.path().join("store.db")).expect("a store");
    let engine = engine::engine();
    let catalog = engine::catalog();
    let steps = 200;
    let chain = plans::shaped(Shape::Chain, steps, &catalog);
    let mut number = 0;
    let mut run = |engine: &Engine, plan: &CheckedPlan| {
        number += 1;
        let (id, plan) = (durable::run_id(number), plan.clone());
        timed(|| drop(runtime.block_on(durable::run(engine, &store, &id, plan))))
    };
    let mut bare = durable::bare(&folder.path().join("bare.db"));
    let mut ratios = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..21 {
        let raw = timed(|| durable::bare_commits(&mut bare, steps));
        let stored = run(&engine, &chain);
        ours.push(per_step(stored, steps));
        ratios.push(raw.as_secs_f64() / stored.as_secs_f64());
    }
    ratios.sort_unstable_by(f64::total_cmp);
    ours.sort_unstable_by(f64::total_cmp);
    row(
        "kept, chain of 200, a step",
        &format!("{:.0} µs", ours[ours.len() / 2]),
        "",
    );
    row(
        "kept, chain, against bare commits of SQLite",
        &format!("{:.2} ×", ratios[ratios.len() / 2]),
        ">= 0.50 ×",
    );
    let steps = 1_000;
    let wide = plans::shaped(Shape::Wide, steps, &catalog);
    for together in [16, 256] {
        let total = NonZeroUsize::new(together).unwrap_or(NonZeroUsize::MIN);
        let mut options = RunOptions::default();
        options.limits.total = total;
        let engine = engine::engine().with_options(options);
        let time = median(21, || run(&engine, &wide));
        row(
            &format!("kept, 1000 independent steps, {together} together"),
            &format!("{:.0} /s", f64::from(steps) / time.as_secs_f64()),
            ">= 20000 /s",
        );
    }
    let larger = plans::shaped(Shape::Wide, 10 * steps, &catalog);
    let mut costs = [Vec::new(), Vec::new()];
    // The sizes take turns, so that other load on the machine affects both.
    for _ in 0..5 {
        for (plan, costs) in [&wide, &larger].into_iter().zip(&mut costs) {
            costs.push(run(&engine, plan).div_f64(plan.steps().len() as f64));
        }
    }
    let [small, large] = costs.map(|costs| middle(costs).as_secs_f64());
    row(
        "kept, a step of 10,000 independent, against 1000",
        &format!("{:.2} ×", large / small),
        "1.50 ×",
    );
    let many = durable::for_each(100_000);
    number += 1;
    let id = durable::run_id(number);
    drop(runtime.block_on(durable::run(&engine, &store, &id, many.clone())));
    let time = median(5, || {
        let many = many.clone();
        timed(|| drop(runtime.block_on(durable::resume(&engine, &store, &id, many))))
    });
    row(
        "kept, 100,000 calls, to resume",
        &format!("{:.2} s", time.as_secs_f64()),
        "2 s",
    );
}

fn over_stdio(runtime: &Runtime) {
    let calls = 1_000;
    for (name, peer) in [("quick", TestServer::quick()), ("real", TestServer::real())] {
        let ours = runtime.block_on(PlanClient::connect(&peer));
        let bare = runtime.block_on(RmcpClient::connect(&peer));
        let plan = ours.plan(calls);
        let mut pairs: Vec<f64> = (0..31)
            .map(|round| {
                let run = || {
                    let plan = plan.clone();
                    timed(|| runtime.block_on(ours.run(plan)))
                };
                let call = || timed(|| runtime.block_on(bare.call(calls)));
                // The two take turns in going first.
                let (ours, bare) = if round % 2 == 0 {
                    let ours = run();
                    (ours, call())
                } else {
                    let bare = call();
                    (run(), bare)
                };
                ours.as_secs_f64() / bare.as_secs_f64()
            })
            .collect();
        pairs.sort_unstable_by(f64::total_cmp);
        row(
            &format!("{calls} calls over stdio, {name} server, against rmcp"),
            &format!("{:.3} ×", pairs[pairs.len() / 2]),
            "1.050 ×",
        );
        runtime.block_on(async {
            ours.close().await;
            bare.close().await;
        });
    }
}

/// Measures the time from the start of the program to the first call, according to its events.
fn start() {
    let program = program::beside();
    if !program.exists() {
        row("program, from start to first call", "not built", "20 ms");
        return;
    }
    let folder = std::env::temp_dir().join(format!("planwright-figures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let plan = folder.join("plan.json");
    let servers = folder.join("mcp.json");
    std::fs::write(
        &plan,
        r#"{"steps": [{"id": "a", "tool": "echo", "args": {"message": "x"}}], "output": ["a"]}"#,
    )
    .expect("a file");
    let script = r#"{"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}"#;
    let server = serde_json::json!({"mcpServers": {"quick": {
        "command": fake_server::program(), "args": [script],
    }}});
    std::fs::write(&servers, server.to_string()).expect("a file");
    let time = median(31, || first_call(&program, &plan, &servers));
    row(
        "program, from start to first call",
        &format!("{:.1} ms", time.as_secs_f64() * 1e3),
        "20 ms",
    );
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}

fn first_call(program: &Path, plan: &Path, servers: &Path) -> Duration {
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(["run", "--format", "events", "--no-store"])
        .arg(plan)
        .arg("--servers")
        .arg(servers)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let events = BufReader::new(child.stdout.take().expect("an output"));
    let mut first = None;
    for line in events.lines() {
        let line = line.expect("a line");
        if first.is_none() && line.contains("attempt_started") {
            first = Some(start.elapsed());
        }
    }
    child.wait().expect("the program ends");
    first.expect("a call")
}
