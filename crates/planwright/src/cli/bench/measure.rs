//! Puts the same tasks into several orders.

use std::num::NonZeroUsize;

use planwright::engine::forecast::{Bounds, Found, Jobs, Order, order_of_run, simulate};
use planwright::engine::schedule::Limits;
use planwright::wfformat::Workflow;
use planwright::wire::{BENCH_SCHEMA, BenchOrderV1, BenchV1, BenchWidthV1};

use super::super::args::BenchArguments;

/// Measures `workflow` at every width that was asked for.
pub(super) fn measure(workflow: &Workflow, arguments: &BenchArguments) -> BenchV1 {
    let jobs = workflow.jobs();
    let mut noise = Noise::new(arguments.noise, arguments.seed);
    let believed = jobs.with_times(|takes| noise.disturb(takes));
    let alone = Bounds::of(&jobs, NonZeroUsize::MIN);
    BenchV1 {
        schema: BENCH_SCHEMA,
        workflow: workflow.name.clone(),
        tasks: jobs.len(),
        edges: jobs.waits().iter().map(Vec::len).sum(),
        work_s: seconds(alone.work),
        path_s: seconds(alone.path),
        noise: arguments.noise,
        seed: arguments.seed,
        widths: arguments
            .width
            .iter()
            .map(|width| at(*width, &jobs, &believed))
            .collect(),
    }
}

fn at(width: NonZeroUsize, jobs: &Jobs, believed: &Jobs) -> BenchWidthV1 {
    let limits = Limits {
        total: width,
        ..Limits::default()
    };
    let bounds = Bounds::of(jobs, width);
    let order = |jobs: &Jobs, order: Order<'_>| {
        let makespan = simulate(jobs, &limits, order).makespan;
        BenchOrderV1 {
            makespan_s: seconds(makespan),
            ratio: seconds(makespan) / seconds(bounds.lower()),
        }
    };
    let foresight = order_of_run(believed, &limits);
    BenchWidthV1 {
        width: width.get(),
        bound_s: seconds(bounds.lower()),
        provable_s: seconds(bounds.provable),
        barrier: order(&jobs.with_barriers(), Order::FirstCome),
        first_come: order(jobs, Order::FirstCome),
        ours: order(jobs, Order::Ranked(&foresight.ranks)),
        found: match foresight.found {
            Found::LongestPath => "longest_path",
            Found::Backwards => "backwards",
            Found::FirstCome => "first_come",
            Found::Search => "search",
        },
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody needs the microseconds of three hundred years"
)]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Durations as they might have been learned: off by up to a share of themselves, the same for the same seed.
struct Noise {
    share: f64,
    state: u64,
}

impl Noise {
    fn new(share: f64, seed: u64) -> Self {
        Self { share, state: seed }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "noise need not be exact, and a share of at most one leaves nothing negative"
    )]
    fn disturb(&mut self, takes: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let unit = (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        (takes as f64 * (1.0 + self.share * unit)).round() as u64
    }
}
