//! The current time and its zone.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

use super::Day;
use super::token::weekday_name;

/// The bundled time zones, so that results are the same on every machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A point in time, and the time zone of its calendar day.
#[derive(Clone, Debug)]
pub struct Now {
    moment: Timestamp,
    zone: TimeZone,
    today: Day,
}

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// The reason why a time or a zone is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// The text is not a time.
    #[error("`{0}` is not a time such as `2025-10-12T09:00:00Z`")]
    Malformed(String),
    /// The zone is not known.
    #[error("`{0}` is not a time zone such as `Europe/Berlin` or `UTC`")]
    UnknownZone(String),
    /// The time is outside of the years 1 to 9999.
    #[error("the time is outside of the years 1 to 9999")]
    OutOfRange,
}

impl Now {
    /// Creates a time from the duration since 1970-01-01 UTC.
    pub fn at(since_1970: Duration, zone: &Zone) -> Result<Self, TimeError> {
        // Phrases resolve to days and minutes; fractions of a second do not matter.
        let seconds = i64::try_from(since_1970.as_secs()).map_err(|_| TimeError::OutOfRange)?;
        let moment = Timestamp::from_second(seconds).map_err(|_| TimeError::OutOfRange)?;
        Self::new(moment, zone)
    }

    /// Parses a time in RFC 3339, such as `2025-10-12T09:00:00Z`. Without an offset it is local time of the zone, and a day alone
    /// is its start.
    pub fn parse(text: &str, zone: &Zone) -> Result<Self, TimeError> {
        let malformed = || TimeError::Malformed(text.to_owned());
        let moment = text.parse::<Timestamp>().or_else(|_| {
            let local: DateTime = text.parse().map_err(|_| malformed())?;
            // A local time that a clock change skips or repeats still resolves.
            let zoned = zone.0.to_ambiguous_zoned(local).compatible();
            zoned
                .map(|zoned| zoned.timestamp())
                .map_err(|_| malformed())
        })?;
        Self::new(moment, zone)
    }

    /// Returns the calendar day.
    pub fn today(&self) -> Day {
        self.today
    }

    /// Formats the time as RFC 3339 in UTC, such as `2025-10-12T09:00:00.000Z`.
    pub fn timestamp(&self) -> String {
        format!("{:.3}", self.moment)
    }

    /// Returns the name of the zone, or its offset if it has none.
    pub fn zone(&self) -> String {
        let name = self.zone.iana_name().map(str::to_owned);
        name.unwrap_or_else(|| self.zone.to_offset(self.moment).to_string())
    }

    fn new(moment: Timestamp, zone: &Zone) -> Result<Self, TimeError> {
        let today = moment.to_zoned(zone.0.clone()).date();
        Ok(Self {
            moment,
            zone: zone.0.clone(),
            today: Day::from_date(today).ok_or(TimeError::OutOfRange)?,
        })
    }

    /// Returns the calendar day `seconds` later.
    pub(super) fn day_after(&self, seconds: i64) -> Option<Date> {
        let moment = self
            .moment
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()?;
        Some(moment.to_zoned(self.zone.clone()).date())
    }
}

impl fmt::Display for Now {
    /// Writes `2025-10-12 (Sunday), Europe/Berlin`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weekday = weekday_name(self.today.date().weekday());
        write!(f, "{} ({weekday}), {}", self.today, self.zone())
    }
}

impl Zone {
    /// Returns coordinated universal time.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Parses a zone name (`Europe/Berlin`), an offset (`+02:00`), or POSIX rules (`EST5EDT,M3.2.0,M11.1.0`).
    pub fn named(name: &str) -> Result<Self, TimeError> {
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("z") {
            return Ok(Self::utc());
        }
        DateTimeParser::new()
            .parse_time_zone_with(&ZONES, name)
            .map(Self)
            .map_err(|_| TimeError::UnknownZone(name.to_owned()))
    }
}

/// Wraps a zone found by the caller, such as the system's.
impl From<TimeZone> for Zone {
    fn from(zone: TimeZone) -> Self {
        Self(zone)
    }
}

/// Parses an HTTP date, such as `Sun, 06 Nov 1994 08:49:37 GMT`, to the duration since 1970-01-01 UTC.
#[cfg(feature = "providers")]
pub(crate) fn http_date(text: &str) -> Option<Duration> {
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    let moment = parser.parse_timestamp(text.trim()).ok()?;
    u64::try_from(moment.as_second())
        .ok()
        .map(Duration::from_secs)
}
