//! Prints the time from a question to the end of the last call, for a model that writes sixty tokens a second and calls that take half
//! a second.
//!
//! ```console
//! $ cargo run --release -p planwright-bench --bin streaming [ROUNDS]
//! ```
//!
//! Time is real, and the methods take turns, so that other load on the machine affects all of them.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

use std::time::{Duration, Instant};

use planwright_bench::streaming::{
    CALL_DURATION, RoundSize, Scene, TOKENS_PER_SECOND, TaskSyntax, line_wise, plan_then_run,
    rounds, streamed,
};
use planwright_bench::tokens::tokens as real_tokens;
use planwright_dialects::native::PlanDialect;

/// The default number of rounds.
const ROUNDS: usize = 5;

/// The methods, ours first, each with the index of the one that it is compared with, whose plan is equally short.
const METHODS: [(&str, Method, usize); 8] = [
    ("streamed", Method::Streamed(PlanDialect::Json), 0),
    ("plan, then run", Method::PlanThenRun(PlanDialect::Json), 0),
    (
        "streamed, in lines",
        Method::Streamed(PlanDialect::Lines),
        2,
    ),
    (
        "plan, then run, in lines",
        Method::PlanThenRun(PlanDialect::Lines),
        2,
    ),
    ("one call a round", Method::Rounds(RoundSize::One), 0),
    ("rounds of calls", Method::Rounds(RoundSize::AllReady), 0),
    (
        "LLMCompiler's scheme, its lines",
        Method::LineWise(TaskSyntax::Lines),
        2,
    ),
    (
        "LLMCompiler's scheme, our plan",
        Method::LineWise(TaskSyntax::Plan),
        0,
    ),
];

#[derive(Clone, Copy)]
enum Method {
    Streamed(PlanDialect),
    PlanThenRun(PlanDialect),
    Rounds(RoundSize),
    LineWise(TaskSyntax),
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let rounds = std::env::args().nth(1);
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    println!(
        "{TOKENS_PER_SECOND} tokens a second, {CALL_DURATION:?} a call; medians of {rounds} rounds, and how many times as long as streamed, or as streamed in lines\n"
    );
    for scene in Scene::all() {
        measure(&scene, rounds).await;
    }
}

async fn measure(scene: &Scene, rounds: usize) {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); METHODS.len()];
    let mut first_call_at = vec![0.0_f64; METHODS.len()];
    for _ in 0..rounds {
        for (index, (_, method, _)) in METHODS.iter().enumerate() {
            let begin = Instant::now();
            let first = go(scene, *method).await.unwrap_or(0.0);
            times[index].push(begin.elapsed());
            first_call_at[index] = first_call_at[index].max(first);
        }
    }
    let tokens = |text: String| text.chars().count().div_ceil(4);
    println!(
        "{}: a plan of {} tokens, {} in lines, {} in LLMCompiler's; the first call with {:.0} % written, {:.0} % in lines",
        scene.name,
        tokens(scene.plan()),
        tokens(scene.plan_in_lines()),
        tokens(scene.lines()),
        first_call_at[0] * 100.0,
        first_call_at[2] * 100.0
    );
    println!(
        "  by o200k_base these are {}, {} and {}",
        real_tokens(&scene.plan()),
        real_tokens(&scene.plan_in_lines()),
        real_tokens(&scene.lines())
    );
    for ((name, _, beside), method) in METHODS.iter().zip(&times) {
        let ratios: Vec<f64> = method
            .iter()
            .zip(&times[*beside])
            .map(|(time, ours)| time.as_secs_f64() / ours.as_secs_f64())
            .collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "  {name:<32} {:>6.2} s  {:>5.2} × (least {least:.2})",
            middle(method.clone()).as_secs_f64(),
            middle(ratios),
        );
    }
    println!();
}

/// Runs one method. Returns the share of the plan that was written before the first call, if known.
async fn go(scene: &Scene, method: Method) -> Option<f64> {
    match method {
        Method::Streamed(dialect) => return Some(streamed(scene, dialect).await.first_call_at),
        Method::PlanThenRun(dialect) => plan_then_run(scene, dialect).await,
        Method::Rounds(size) => rounds(scene, size).await,
        Method::LineWise(dialect) => line_wise(scene, dialect).await,
    }
    None
}

fn middle<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("numbers"));
    values[values.len() / 2]
}
