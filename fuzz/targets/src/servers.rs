//! Inputs for the target `servers`.
#![no_main]

planwright_fuzz_targets::target!("servers");
