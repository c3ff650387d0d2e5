//! The store as others use it: what it keeps, what it survives, who may have what.

mod damage;
mod decisions;
mod exchange;
mod groups;
mod learned;
mod leases;
mod names;
mod pins;
mod plans;
mod processes;
mod prune;
mod records;
mod runs;
mod support;
