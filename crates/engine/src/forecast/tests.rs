//! Properties for any jobs: the bounds hold, and the optimization never makes the makespan worse.

use std::num::NonZeroUsize;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::schedule::ConcurrencyLimits;

fn jobs(times: &[u64], waits: &[&[JobId]]) -> Jobs {
    let mut jobs = Jobs::new();
    let lane = jobs.lane(&"s".into(), &Arc::from("t"));
    for (index, takes) in times.iter().enumerate() {
        let job = Job {
            takes: *takes,
            lane: Some(lane),
            is_exclusive: false,
        };
        jobs.add(
            job,
            waits.get(index).map(|on| on.to_vec()).unwrap_or_default(),
        );
    }
    jobs
}

fn wide(width: usize) -> ConcurrencyLimits {
    ConcurrencyLimits {
        total: NonZeroUsize::new(width).unwrap(),
        ..ConcurrencyLimits::default()
    }
}

/// A unit long enough to make the optimization worthwhile.
const SECOND: u64 = 1_000_000;

/// Makespans are in `unit`s.
fn check(jobs: &Jobs, width: usize, barrier: u64, first_come: u64, ours: u64, unit: u64) {
    let limits = wide(width);
    let barriers = simulate(&jobs.with_barriers(), &limits, StartOrder::FirstCome);
    assert_eq!(barriers.makespan, barrier * unit, "barrier");
    let first = simulate(jobs, &limits, StartOrder::FirstCome);
    assert_eq!(first.makespan, first_come * unit, "first come");
    assert_eq!(
        optimize_order(jobs, &limits).timeline.makespan,
        ours * unit,
        "ours"
    );
}

#[test]
fn orders_differ_where_they_should() {
    // A short job before a long one, beside a long one before a short one: only a barrier waits.
    let crossed = jobs(&[1, 9, 9, 1], &[&[], &[], &[0], &[1]]);
    check(&crossed, 2, 18, 10, 10, 1);
    // The chain was written last, so first come, first served delays it.
    let late = jobs(&[4, 4, 4, 4, 8], &[&[], &[], &[], &[], &[3]]);
    check(&late, 2, 16, 16, 12, 1);
}

#[test]
fn jobs_change_places_where_that_is_worth_it() {
    // Longest first puts the two long ones beside each other, from whichever end; together they fit beside the short ones.
    let packed = jobs(&[3, 3, 2, 2, 2], &[]);
    check(
        &packed.with_times(|takes| takes * SECOND),
        2,
        7,
        7,
        6,
        SECOND,
    );
    // Microseconds are less to gain than the search would cost.
    check(&packed, 2, 7, 7, 7, 1);
}

#[test]
fn a_run_looks_ahead_where_that_is_worth_it() {
    let check = |jobs: &Jobs, expected: OrderSource| {
        assert_eq!(run_order(jobs, &wide(2)).found, expected);
    };
    let packed = |unit: u64| jobs(&[3, 3, 2, 2, 2], &[]).with_times(|takes| takes * unit);
    check(&packed(SECOND), OrderSource::Search);
    assert!(is_worth_optimizing(&packed(1000)));
    assert!(!is_worth_optimizing(&packed(100)));
    let mut many = packed(100_000 * SECOND);
    assert_eq!(optimize_order(&many, &wide(2)).found, OrderSource::Search);
    while many.len() <= MAX_OPTIMIZED_JOBS {
        many.add(Job::default(), Vec::new());
    }
    check(&many, OrderSource::LongestPath);
}

#[test]
fn much_to_gain_is_not_looked_for_forever() {
    // The bound cannot be reached: of nine long jobs, one always runs alone at the end.
    let alike = jobs(&[1000 * SECOND; 9], &[]);
    let first = optimize_order(&alike, &wide(8));
    assert_eq!(first.timeline.makespan, 2000 * SECOND);
    assert_eq!(first.found, OrderSource::LongestPath);
    // The longest possible times, with jobs that need no slot among them.
    let mut endless = jobs(&[u64::MAX; 4], &[&[], &[0], &[], &[]]);
    let gate = Job {
        takes: u64::MAX,
        ..Job::default()
    };
    endless.add(gate, vec![1, 2]);
    let bounds = Bounds::of(&endless, NonZeroUsize::new(2).unwrap());
    let ours = optimize_order(&endless, &wide(2)).timeline.makespan;
    assert_eq!((bounds.lower(), ours), (u64::MAX, u64::MAX));
}

#[test]
fn bounds_see_what_cannot_be_cut() {
    let bounds = Bounds::of(&jobs(&[3, 3, 3], &[]), NonZeroUsize::new(2).unwrap());
    assert_eq!((bounds.path, bounds.work, bounds.provable), (3, 5, 6));
    let waist = jobs(
        &[5, 4, 4, 4, 4, 5],
        &[&[], &[0], &[0], &[0], &[0], &[1, 2, 3, 4]],
    );
    let bounds = Bounds::of(&waist, NonZeroUsize::new(2).unwrap());
    assert_eq!((bounds.path, bounds.work, bounds.provable), (14, 13, 18));
}

prop_compose! {
    /// Random jobs of several tools, each waiting for some of those before it; `size` jobs.
    fn any_jobs()(size in 1_usize..30)(
        times in prop::collection::vec(0_u64..50, size),
        tools in prop::collection::vec(0_u8..3, size),
        edges in prop::collection::vec((0..size, 0..size), 0..size * 2),
    ) -> Jobs {
        let mut waits = vec![Vec::new(); times.len()];
        for (a, b) in edges {
            if a != b {
                waits[a.max(b)].push(u32::try_from(a.min(b)).unwrap());
            }
        }
        let mut jobs = Jobs::new();
        for ((takes, tool), waits) in times.into_iter().zip(tools).zip(waits) {
            let lane = jobs.lane(&"s".into(), &Arc::from(tool.to_string()));
            jobs.add(Job { takes, lane: Some(lane), is_exclusive: false }, waits);
        }
        jobs
    }
}

proptest! {
    #[test]
    fn looking_ahead_is_never_worse(
        jobs in any_jobs(),
        width in 1_usize..6,
        per_tool in prop::option::of(1_usize..3),
        unit in prop::sample::select(vec![1, 100, 5_000]),
    ) {
        let jobs = jobs.with_times(|takes| takes * unit);
        let limits = ConcurrencyLimits { per_tool: per_tool.and_then(NonZeroUsize::new), ..wide(width) };
        let bounds = Bounds::of(&jobs, limits.total);
        let first = simulate(&jobs, &limits, StartOrder::FirstCome);
        let again = simulate(&jobs, &limits, StartOrder::Ranked(&first.as_ranks()));
        prop_assert_eq!(&again, &first, "a timeline comes about again by its ranks");
        let ours = optimize_order(&jobs, &limits).timeline;
        prop_assert!(ours.makespan <= first.makespan);
        prop_assert!(bounds.lower() <= bounds.provable);
        for timeline in [&first, &ours] {
            prop_assert!(bounds.provable <= timeline.makespan);
            for (id, (start, end)) in timeline.starts.iter().zip(&timeline.ends).enumerate() {
                prop_assert_eq!(end - start, jobs.jobs()[id].takes.max(1));
                for on in &jobs.waits()[id] {
                    prop_assert!(timeline.end(*on) <= *start);
                }
                let together = timeline.starts.iter().zip(&timeline.ends);
                let together = together.filter(|(from, to)| *from <= start && start < *to).count();
                prop_assert!(together <= width);
            }
        }
        let unlimited = simulate(&jobs, &wide(jobs.len()), StartOrder::FirstCome);
        prop_assert_eq!(unlimited.makespan, bounds.path);
        let barrier = simulate(&jobs.with_barriers(), &wide(jobs.len()), StartOrder::FirstCome);
        prop_assert!(barrier.makespan >= bounds.path);
    }
}
