//! Inputs for the target `bind`.
#![no_main]

planwright_fuzz_targets::target!("bind");
