//! Support for the fuzz binaries, one for each property of `planwright-fuzz`.

#[doc(hidden)]
pub use libfuzzer_sys;
pub use planwright_fuzz::Target;
use planwright_fuzz::{mutation, targets};

/// The share of inputs that are mutated byte by byte, as libFuzzer does it, in tenths.
const BY_BYTES: u32 = 5;

/// Defines a binary that searches for inputs that violate the property `$name`.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        static TARGET: std::sync::LazyLock<$crate::Target> =
            std::sync::LazyLock::new(|| $crate::find($name));

        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGET.try_input(input));

        $crate::libfuzzer_sys::fuzz_mutator!(
            |data: &mut [u8], size: usize, max_size: usize, seed: u32| {
                $crate::change(data, size, max_size, seed)
            }
        );
    };
}

/// Mutates the first `size` bytes of `data`, by their structure if they have one, and returns the new size.
pub fn change(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
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

/// Returns the property called `name`.
///
/// # Panics
///
/// If there is no such property.
pub fn find(name: &str) -> Target {
    let found = targets().into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no property is called `{name}`"))
}
