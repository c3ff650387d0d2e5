//! Inputs for the target `expression`.
#![no_main]

planwright_fuzz_targets::target!("expression");
