//! Inputs for the target `any-dialect`.
#![no_main]

planwright_fuzz_targets::target!("any-dialect");
