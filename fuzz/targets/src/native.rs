//! Inputs for the target `native`.
#![no_main]

planwright_fuzz_targets::target!("native");
