//! Inputs for the target `acts`.
#![no_main]

planwright_fuzz_targets::target!("acts");
