//! What time it is, and where.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

use super::Day;
use super::vocabulary::weekday_name;

/// Zones are those that the program brings along, so that they are the same on every machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A moment, and the zone whose days are meant.
#[derive(Clone, Debug)]
pub struct Now {
    moment: Timestamp,
    zone: TimeZone,
    today: Day,
}

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// Why there is no such moment or zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// A text is no time.
    #[error("`{0}` is no time such as `2025-10-12T09:00:00Z`")]
    Malformed(String),
    /// There is no such zone.
    #[error("`{0}` is no time zone such as `Europe/Berlin` or `UTC`")]
    UnknownZone(String),
    /// The moment is before the year 1 or behind the year 9999.
    #[error("the moment is out of the calendar")]
    OutOfRange,
}

impl Now {
    /// A moment by the time since 1970 began in UTC.
    pub fn at(since_1970: Duration, zone: &Zone) -> Result<Self, TimeError> {
        let seconds = i64::try_from(since_1970.as_secs()).map_err(|_| TimeError::OutOfRange)?;
        let moment = Timestamp::from_second(seconds).map_err(|_| TimeError::OutOfRange)?;
        Self::new(moment, zone)
    }

    /// A moment in RFC 3339, such as `2025-10-12T09:00:00Z`. Without an offset it is the zone's own time, and a day alone is
    /// its beginning.
    pub fn parse(text: &str, zone: &Zone) -> Result<Self, TimeError> {
        let malformed = || TimeError::Malformed(text.to_owned());
        let moment = text.parse::<Timestamp>().or_else(|_| {
            let local: DateTime = text.parse().map_err(|_| malformed())?;
            let zoned = zone.0.to_ambiguous_zoned(local).compatible();
            zoned
                .map(|zoned| zoned.timestamp())
                .map_err(|_| malformed())
        })?;
        Self::new(moment, zone)
    }

    /// The day that it is.
    pub fn today(&self) -> Day {
        self.today
    }

    /// The moment in RFC 3339, in UTC, such as `2025-10-12T09:00:00.000Z`.
    pub fn timestamp(&self) -> String {
        format!("{:.3}", self.moment)
    }

    /// The name of the zone, or its offset where it has none.
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

    /// The day that it is so much later.
    pub(super) fn day_after(&self, seconds: i64) -> Option<Date> {
        let moment = self
            .moment
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()?;
        Some(moment.to_zoned(self.zone.clone()).date())
    }
}

impl fmt::Display for Now {
    /// `2025-10-12 (Sunday), Europe/Berlin`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weekday = weekday_name(self.today.date().weekday());
        write!(f, "{} ({weekday}), {}", self.today, self.zone())
    }
}

impl Zone {
    /// Coordinated universal time.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// A zone by its name (`Europe/Berlin`), its offset (`+02:00`) or its rules (`EST5EDT,M3.2.0,M11.1.0`).
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

/// A zone that somebody else has found, such as that of the system.
impl From<TimeZone> for Zone {
    fn from(zone: TimeZone) -> Self {
        Self(zone)
    }
}

/// The time since 1970 of a date of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
#[cfg(feature = "providers")]
pub(crate) fn http_date(text: &str) -> Option<Duration> {
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    let moment = parser.parse_timestamp(text.trim()).ok()?;
    u64::try_from(moment.as_second())
        .ok()
        .map(Duration::from_secs)
}
