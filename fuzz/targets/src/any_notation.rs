//! Inputs for the target `any-notation`.
#![no_main]

planwright_fuzz_targets::target!("any-notation");
