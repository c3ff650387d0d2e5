//! Inputs for the target `dates`.
#![no_main]

planwright_fuzz_targets::target!("dates");
