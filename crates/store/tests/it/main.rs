//! Tests of the public interface of the store: durability, exclusivity, formats.

mod answers;
mod damage;
mod decisions;
mod durations;
mod exchange;
mod groups;
mod leases;
mod names;
mod pins;
mod plans;
mod processes;
mod prune;
mod records;
mod runs;
mod support;
