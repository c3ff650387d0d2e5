//! Runs that die: engine and journal on a virtual clock, with tools that are slow, fail, hang or lose the connection, and
//! processes that are killed between any two events. Whatever happens follows from a seed.

mod chance;
mod disk;
mod life;
mod plans;
mod world;

use std::ops::Range;

use chance::Chance;
use disk::Disk;
use life::live;

/// Looks at the lives of runs that follow from these seeds. They are split up, so that none of the tests takes long.
#[track_caller]
fn check(seeds: Range<u64>) {
    let mut seen = life::Seen::default();
    for seed in seeds {
        seen.add(&look_at(seed));
    }
    // A simulation in which nothing goes wrong proves nothing.
    seen.must_have_seen_everything();
}

/// Whenever processes die, nothing is lost, and nothing happens twice.
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

/// One life. What was kept up to a fault is shown with it.
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
