//! Inputs for the target `concierge`.
#![no_main]

planwright_fuzz_targets::target!("concierge");
