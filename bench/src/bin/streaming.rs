//! Prints how long it takes from a question to the end of the last call, where a model writes sixty tokens a second and each call takes
//! half a second.
//!
//! ```console
//! $ cargo run --release -p planwright-bench --bin streaming [ROUNDS]
//! ```
//!
//! Time is real, and the ways take turns, so that what else the machine does meets all of them.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

use std::time::{Duration, Instant};

use planwright_bench::streaming::{
    Notation, Scene, TOKENS_PER_SECOND, TOOL_TAKES, Together, line_wise, rounds, streamed,
    written_first,
};
use planwright_bench::tokens::tokens as real_tokens;
use planwright_planner::prompt::Notation as PlanNotation;

/// How often each is measured, unless told otherwise.
const ROUNDS: usize = 5;

/// The ways, ours first, each with the number of the one that it is compared with: what is written as briefly.
const WAYS: [(&str, Way, usize); 8] = [
    ("streamed", Way::Streamed(PlanNotation::Json), 0),
    ("plan, then run", Way::WrittenFirst(PlanNotation::Json), 0),
    ("streamed, in lines", Way::Streamed(PlanNotation::Lines), 2),
    (
        "plan, then run, in lines",
        Way::WrittenFirst(PlanNotation::Lines),
        2,
    ),
    ("one call a round", Way::Rounds(Together::One), 0),
    ("rounds of calls", Way::Rounds(Together::AllThatMay), 0),
    (
        "LLMCompiler's scheme, its lines",
        Way::LineWise(Notation::Lines),
        2,
    ),
    (
        "LLMCompiler's scheme, our plan",
        Way::LineWise(Notation::Plan),
        0,
    ),
];

#[derive(Clone, Copy)]
enum Way {
    Streamed(PlanNotation),
    WrittenFirst(PlanNotation),
    Rounds(Together),
    LineWise(Notation),
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let rounds = std::env::args().nth(1);
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    println!(
        "{TOKENS_PER_SECOND} tokens a second, {TOOL_TAKES:?} a call; medians of {rounds} rounds, and how many times as long as streamed, or as streamed in lines\n"
    );
    for scene in Scene::all() {
        measure(&scene, rounds).await;
    }
}

async fn measure(scene: &Scene, rounds: usize) {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); WAYS.len()];
    let mut first_call_at = vec![0.0_f64; WAYS.len()];
    for _ in 0..rounds {
        for (index, (_, way, _)) in WAYS.iter().enumerate() {
            let begin = Instant::now();
            let first = go(scene, *way).await.unwrap_or(0.0);
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
    for ((name, _, beside), way) in WAYS.iter().zip(&times) {
        let ratios: Vec<f64> = way
            .iter()
            .zip(&times[*beside])
            .map(|(time, ours)| time.as_secs_f64() / ours.as_secs_f64())
            .collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "  {name:<32} {:>6.2} s  {:>5.2} × (least {least:.2})",
            middle(way.clone()).as_secs_f64(),
            middle(ratios),
        );
    }
    println!();
}

/// Goes one way; how much was written before the first call, where that is told.
async fn go(scene: &Scene, way: Way) -> Option<f64> {
    match way {
        Way::Streamed(notation) => return Some(streamed(scene, notation).await.first_call_at),
        Way::WrittenFirst(notation) => written_first(scene, notation).await,
        Way::Rounds(together) => rounds(scene, together).await,
        Way::LineWise(notation) => line_wise(scene, notation).await,
    }
    None
}

fn middle<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("numbers"));
    values[values.len() / 2]
}
