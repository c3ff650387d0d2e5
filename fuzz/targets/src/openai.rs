//! Inputs for the target `openai`.
#![no_main]

planwright_fuzz_targets::target!("openai");
