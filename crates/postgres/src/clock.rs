//! A clock that goes on while the machine sleeps: leases expire meanwhile.

use std::time::Duration;

/// Returns the time since some point in the past. It goes on while this process is stopped or the machine sleeps.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn now() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    // The clock exists on each such system, so the fallback has no effect.
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::MAX, Duration::from)
}

/// Returns the time since some point in the past. It goes on while this process is stopped.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(
    clippy::disallowed_methods,
    reason = "the age of a lease is real time, whatever a test does with its clock"
)]
pub(crate) fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
