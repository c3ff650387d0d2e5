//! Tests of the check, by pass.

mod arguments;
mod cycles;
mod dependencies;
mod expressions;
mod fixture;
mod inputs;
mod large;
mod names;
mod places;
mod plans;
mod policy;
mod references;
mod slots;
mod speculative;
