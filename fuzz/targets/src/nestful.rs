//! Inputs for the target `nestful`.
#![no_main]

planwright_fuzz_targets::target!("nestful");
