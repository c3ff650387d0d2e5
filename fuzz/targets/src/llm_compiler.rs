//! Inputs for the target `llm-compiler`.
#![no_main]

planwright_fuzz_targets::target!("llm-compiler");
