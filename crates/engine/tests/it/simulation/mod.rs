//! Runs that die: engine and journal on a virtual clock, with tools that are slow, fail, hang or lose the connection, and
//! processes that are killed between any two events. Whatever happens follows from a seed.

mod chance;
mod disk;
mod life;
mod plans;
mod world;

use chance::Chance;
use disk::Disk;
use life::live;

/// How many lives of runs the suite looks at.
const SEEDS: u64 = 3000;

#[test]
fn nothing_is_lost_and_nothing_happens_twice_whenever_processes_die() {
    let mut seen = life::Seen::default();
    for seed in 0..SEEDS {
        seen.add(&look_at(seed));
    }
    // A simulation in which nothing goes wrong proves nothing.
    seen.must_have_seen_everything();
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
