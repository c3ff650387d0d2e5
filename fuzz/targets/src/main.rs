//! The fuzz binary: searches for inputs that violate the property of `planwright-fuzz` that [`TARGET_VARIABLE`] names.
#![no_main]

use std::env;
use std::sync::LazyLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use planwright_fuzz::{Target, mutation, targets};

/// The environment variable with the name of the property. One binary serves all properties, since they share nearly all of its code.
const TARGET_VARIABLE: &str = "PLANWRIGHT_FUZZ_TARGET";

/// The share of inputs that are mutated byte by byte, as libFuzzer does it, in tenths.
const BY_BYTES: u32 = 5;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = env::var(TARGET_VARIABLE).unwrap_or_default();
    let found = targets().into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("`{TARGET_VARIABLE}` names no property: `{name}`"))
});

fuzz_target!(|input: &[u8]| TARGET.try_input(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    change(data, size, max_size, seed)
});

/// Mutates the first `size` bytes of `data`, by their structure if they have one, and returns the new size.
fn change(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let by_structure = (seed % 10 >= BY_BYTES)
        .then(|| mutation::change(&data[..size], seed.into()))
        .flatten()
        .filter(|changed| changed.len() <= max_size.min(data.len()));
    match by_structure {
        Some(changed) => {
            data[..changed.len()].copy_from_slice(&changed);
            changed.len()
        }
        None => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    }
}
