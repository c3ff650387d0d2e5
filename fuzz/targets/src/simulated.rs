//! Inputs for the target `simulated`.
#![no_main]

planwright_fuzz_targets::target!("simulated");
