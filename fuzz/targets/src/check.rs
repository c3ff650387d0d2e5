//! Inputs for the target `check`.
#![no_main]

planwright_fuzz_targets::target!("check");
