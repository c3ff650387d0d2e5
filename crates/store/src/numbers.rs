//! Conversion of times and counts to the 64-bit integers of the tables. Values out of range saturate.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Converts a count, which saturates at `i64::MAX`.
pub(crate) fn to_i64(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// Converts a count from a table; a negative one becomes 0.
pub(crate) fn to_usize(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// Returns whole nanoseconds, which saturate after 584 years.
pub(crate) fn duration_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the nanoseconds since 1970, which saturate in both directions.
pub(crate) fn to_nanos(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => to_i64(after.as_nanos()),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

/// Returns the time that is `nanos` nanoseconds after 1970.
pub(crate) fn from_nanos(nanos: i64) -> SystemTime {
    let distance = Duration::from_nanos(nanos.unsigned_abs());
    if nanos < 0 {
        UNIX_EPOCH - distance
    } else {
        UNIX_EPOCH + distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back() {
        for nanos in [0, 1, -1, 1_763_000_000_123_456_789, i64::MAX, -i64::MAX] {
            assert_eq!(to_nanos(from_nanos(nanos)), nanos);
        }
    }
}
