//! Tests of the check, by pass.

mod arguments;
mod cycles;
mod dependencies;
mod early;
mod fixes;
mod inputs;
mod large;
mod names;
mod others;
mod outside;
mod plans;
mod positional;
mod positions;
mod properties;
mod references;
mod sketch;
mod slots;
