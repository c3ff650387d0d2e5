//! Inputs for the target `lines`.
#![no_main]

planwright_fuzz_targets::target!("lines");
