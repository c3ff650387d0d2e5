//! Points in time as whole nanoseconds since 1970, as the tables have them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time as a number; what lies too far away counts as the farthest that there is.
pub(crate) fn to_nanos(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

/// The point in time that a number stands for.
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
