//! Inputs for the target `rewoo`.
#![no_main]

planwright_fuzz_targets::target!("rewoo");
