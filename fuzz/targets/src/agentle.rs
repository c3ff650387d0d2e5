//! Inputs for the target `agentle`.
#![no_main]

planwright_fuzz_targets::target!("agentle");
