//! Crash tests: engine and journal on a virtual clock, with tools that are slow, fail, hang or lose the connection,
//! and processes that are killed between any two events. Everything follows from a seed.

mod life;
mod plans;
mod world;

use std::ops::Range;

use life::live;
use world::Chance;
use world::Disk;

/// Simulates the lives of runs for these seeds, split up so that no test takes long.
#[track_caller]
fn check(seeds: Range<u64>) {
    let mut seen = life::Seen::default();
    for seed in seeds {
        seen.add(&look_at(seed));
    }
    // A simulation without faults would prove nothing.
    seen.must_have_seen_everything();
}

/// No loss and no repetition when processes die.
mod nothing_is_lost_and_nothing_happens_twice {
    use super::check;

    #[test]
    fn in_the_first_thousand() {
        check(0..1000);
    }

    #[test]
    fn in_the_second_thousand() {
        check(1000..2000);
    }

    #[test]
    fn in_the_third_thousand() {
        check(2000..3000);
    }
}

/// Simulates one life. A failure shows the stored entries.
fn look_at(seed: u64) -> life::Seen {
    let disk = Disk::default();
    let lived = std::panic::catch_unwind(|| live(Chance::new(seed), &disk));
    lived.unwrap_or_else(|_| {
        let journal: Vec<String> = disk
            .entries()
            .iter()
            .map(|entry| format!("{:>4} {:?} {:?}", entry.turn, entry.at, entry.record))
            .collect();
        panic!("seed {seed}:\n{}", journal.join("\n"))
    })
}
