//! Inputs for the target `anthropic`.
#![no_main]

planwright_fuzz_targets::target!("anthropic");
