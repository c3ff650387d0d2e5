//! The figures that `docs/performance.md` promises, on workflows of many shapes, sizes and seeds.

use std::num::NonZeroUsize;

use planwright_bench::workflow::Workflow;
use planwright_core::Value;
use planwright_engine::forecast::{Bounds, StartOrder, optimize_order, simulate};
use planwright_engine::schedule::ConcurrencyLimits;

use crate::shapes::{SHAPES, Shape};

/// The maximum makespan as a multiple of the lower bound, if the bound can be reached.
const MAX_RATIO: f64 = 1.02;

fn workflow(shape: Shape, size: usize, seed: u64) -> Workflow {
    let text = shape(size, seed).document().to_string();
    Workflow::from_value(&Value::from_json(&text).unwrap()).unwrap()
}

fn ratio(time: u64, bound: u64) -> f64 {
    f64::from(u32::try_from(time / 1000).unwrap()) / f64::from(u32::try_from(bound / 1000).unwrap())
}

#[test]
fn ours_is_close_to_the_bound_and_never_worse_than_first_come() {
    let mut reached = 0;
    for (name, shape) in SHAPES {
        for size in [40, 160, 480] {
            for seed in 1..=2 {
                let jobs = workflow(*shape, size, seed).jobs();
                for width in [4, 8, 16] {
                    let limits = ConcurrencyLimits {
                        total: NonZeroUsize::new(width).unwrap(),
                        ..ConcurrencyLimits::default()
                    };
                    let first_come = simulate(&jobs, &limits, StartOrder::FirstCome).makespan;
                    let ours = optimize_order(&jobs, &limits).timeline.makespan;
                    let of = format!("{name} of {size}, seed {seed}, {width} wide");
                    assert!(ours <= first_come, "{of}: {ours} after {first_come}");
                    if width != 8 {
                        continue;
                    }
                    let bounds = Bounds::of(&jobs, limits.total);
                    if ratio(bounds.provable, bounds.lower()) <= 1.005 {
                        assert!(
                            ratio(ours, bounds.lower()) <= MAX_RATIO,
                            "{of}: {ours}, {bounds:?}"
                        );
                        reached += 1;
                    }
                }
            }
        }
    }
    assert!(
        reached >= 15,
        "only {reached} workflows can reach the bound"
    );
}
