//! Inputs for the target `clear-ai`.
#![no_main]

planwright_fuzz_targets::target!("clear-ai");
