//! Puts the same tasks into several orders.

use std::num::NonZeroUsize;

use planwright_engine::forecast::{Bounds, Jobs, OrderSource, StartOrder, run_order, simulate};
use planwright_engine::schedule::ConcurrencyLimits;

use super::{BENCH_SCHEMA, BenchOrderV1, BenchV1, BenchWidthV1, Workflow};

/// The widths and the error of the durations for one measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The numbers of tasks that may run at the same time, measured one after the other.
    pub widths: Vec<NonZeroUsize>,
    /// The largest error of the durations that our order is computed from, as a share of each: 0.2 is a fifth up or down.
    pub noise: f64,
    /// The seed of the error.
    pub seed: u64,
}

/// Measures `workflow` at every width of `settings`.
pub fn measure(workflow: &Workflow, settings: &Settings) -> BenchV1 {
    let jobs = workflow.jobs();
    let mut noise = Noise::new(settings.noise, settings.seed);
    let believed = jobs.with_times(|takes| noise.disturb(takes));
    let alone = Bounds::of(&jobs, NonZeroUsize::MIN);
    BenchV1 {
        schema: BENCH_SCHEMA,
        workflow: workflow.name.clone(),
        tasks: jobs.len(),
        edges: jobs.waits().iter().map(Vec::len).sum(),
        work_s: seconds(alone.work),
        path_s: seconds(alone.path),
        noise: settings.noise,
        seed: settings.seed,
        widths: settings
            .widths
            .iter()
            .map(|width| at(*width, &jobs, &believed))
            .collect(),
    }
}

fn at(width: NonZeroUsize, jobs: &Jobs, believed: &Jobs) -> BenchWidthV1 {
    let limits = ConcurrencyLimits {
        total: width,
        ..ConcurrencyLimits::default()
    };
    let bounds = Bounds::of(jobs, width);
    let order = |jobs: &Jobs, order: StartOrder<'_>| {
        let makespan = simulate(jobs, &limits, order).makespan;
        BenchOrderV1 {
            makespan_s: seconds(makespan),
            ratio: seconds(makespan) / seconds(bounds.lower()),
        }
    };
    let foresight = run_order(believed, &limits);
    BenchWidthV1 {
        width: width.get(),
        bound_s: seconds(bounds.lower()),
        provable_s: seconds(bounds.provable),
        barrier: order(&jobs.with_barriers(), StartOrder::FirstCome),
        first_come: order(jobs, StartOrder::FirstCome),
        ours: order(jobs, StartOrder::Ranked(&foresight.ranks)),
        found: match foresight.found {
            OrderSource::LongestPath => "longest_path",
            OrderSource::Backwards => "backwards",
            OrderSource::FirstCome => "first_come",
            OrderSource::Search => "search",
        },
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a duration in microseconds is less than three hundred years"
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
