//! One binary for each property of `planwright-fuzz`.

#[doc(hidden)]
pub use libfuzzer_sys;
pub use planwright_fuzz::Target;
use planwright_fuzz::targets;

/// Makes this binary look for inputs for which the property called `$name` does not hold.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        static TARGET: std::sync::LazyLock<$crate::Target> =
            std::sync::LazyLock::new(|| $crate::find($name));

        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGET.try_input(input));
    };
}

/// The property called `name`.
///
/// # Panics
///
/// Where there is none of that name.
pub fn find(name: &str) -> Target {
    let found = targets().into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no property is called `{name}`"))
}
