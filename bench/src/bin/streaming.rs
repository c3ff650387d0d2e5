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

/// How often each is measured, unless told otherwise.
const ROUNDS: usize = 5;

/// The ways, ours first.
const WAYS: [(&str, Way); 6] = [
    ("streamed", Way::Streamed),
    ("plan, then run", Way::WrittenFirst),
    ("one call a round", Way::Rounds(Together::One)),
    ("rounds of calls", Way::Rounds(Together::AllThatMay)),
    (
        "LLMCompiler's scheme, its lines",
        Way::LineWise(Notation::Lines),
    ),
    (
        "LLMCompiler's scheme, our plan",
        Way::LineWise(Notation::Plan),
    ),
];

#[derive(Clone, Copy)]
enum Way {
    Streamed,
    WrittenFirst,
    Rounds(Together),
    LineWise(Notation),
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let rounds = std::env::args().nth(1);
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    println!(
        "{TOKENS_PER_SECOND} tokens a second, {TOOL_TAKES:?} a call; medians of {rounds} rounds, and ours in times of it\n"
    );
    for scene in Scene::all() {
        measure(&scene, rounds).await;
    }
}

async fn measure(scene: &Scene, rounds: usize) {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); WAYS.len()];
    let mut first_call_at: f64 = 0.0;
    for _ in 0..rounds {
        for ((_, way), times) in WAYS.iter().zip(&mut times) {
            let begin = Instant::now();
            first_call_at = first_call_at.max(go(scene, *way).await.unwrap_or(0.0));
            times.push(begin.elapsed());
        }
    }
    let tokens = |text: String| text.chars().count().div_ceil(4);
    println!(
        "{}: a plan of {} tokens, {} in lines; the first call with {:.0} % written",
        scene.name,
        tokens(scene.plan()),
        tokens(scene.lines()),
        first_call_at * 100.0
    );
    let ours = times[0].clone();
    for ((name, _), times) in WAYS.iter().zip(times) {
        let ratios: Vec<f64> = times
            .iter()
            .zip(&ours)
            .map(|(time, ours)| time.as_secs_f64() / ours.as_secs_f64())
            .collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "  {name:<32} {:>6.2} s  {:>5.2} × (least {least:.2})",
            middle(times).as_secs_f64(),
            middle(ratios),
        );
    }
    println!();
}

/// Goes one way; how much was written before the first call, where that is told.
async fn go(scene: &Scene, way: Way) -> Option<f64> {
    match way {
        Way::Streamed => return Some(streamed(scene).await.first_call_at),
        Way::WrittenFirst => written_first(scene).await,
        Way::Rounds(together) => rounds(scene, together).await,
        Way::LineWise(notation) => line_wise(scene, notation).await,
    }
    None
}

fn middle<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("numbers"));
    values[values.len() / 2]
}
