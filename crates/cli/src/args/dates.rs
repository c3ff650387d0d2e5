//! The arguments of `dates`.

use clap::Args;

use super::Format;

/// The heading of what is about time.
const TIME: &str = "Time";

/// `dates`
#[derive(Args, Clone, Debug)]
pub(crate) struct DatesArguments {
    /// The phrase, such as `last week` or `October 1st to October 10th`.
    #[arg(value_name = "PHRASE", required = true)]
    pub(crate) phrase: Vec<String>,
    #[command(flatten)]
    pub(crate) moment: MomentArguments,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The assumed time and place.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct MomentArguments {
    /// The time to go by, such as `2025-10-12T09:00:00Z`; without an offset it is the zone's own. The clock's, if not given.
    #[arg(help_heading = TIME, long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// The time zone whose days are meant, such as `Europe/Berlin`; else what `TZ` says, else the system's.
    #[arg(help_heading = TIME, long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
}
