//! Options of the commands about stored runs and plans.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use planwright::format::day;

use super::{Format, OPTIONS, StoreArguments, TextArguments};

/// `save`
#[derive(Args, Clone, Debug)]
pub(crate) struct SaveArguments {
    #[command(flatten)]
    pub(crate) text: TextArguments,
    /// The name; by default that of the plan, or of its file. Letters, digits, `_`, `-` and `.`.
    #[arg(help_heading = OPTIONS, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `list`
#[derive(Args, Clone, Debug)]
pub(crate) struct ListArguments {
    /// All versions of this plan, in place of the newest of each: its name, or the beginning of an id.
    #[arg(value_name = "NAME", help_heading = OPTIONS)]
    pub(crate) name: Option<String>,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `delete`
#[derive(Args, Clone, Debug)]
pub(crate) struct DeleteArguments {
    /// The plan: its name, for all versions; `NAME@VERSION` or the beginning of an id, for one.
    #[arg(value_name = "NAME", help_heading = OPTIONS)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `runs`
#[derive(Args, Clone, Debug)]
pub(crate) struct RunsArguments {
    /// Only runs in this state.
    #[arg(help_heading = OPTIONS, long, value_enum)]
    pub(crate) status: Option<RunStateArgument>,
    /// Only runs of plans with this name.
    #[arg(help_heading = OPTIONS, long, value_name = "NAME")]
    pub(crate) plan: Option<String>,
    /// Only runs that began since this time: a time ago, such as `90m`, `12h` or `2d`, or a day in UTC, such as `2026-11-21`.
    #[arg(help_heading = OPTIONS, long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<Since>,
    /// No more than this many, the newest.
    #[arg(help_heading = OPTIONS, long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunStateArgument {
    /// Every step that had to run did.
    Succeeded,
    /// A step failed.
    Failed,
    /// A call waits for a person.
    Waiting,
    /// The run was cancelled.
    Cancelled,
    /// The run is in progress, or was interrupted.
    Open,
}

/// `logs`
#[derive(Args, Clone, Debug)]
pub(crate) struct LogsArguments {
    /// The run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// Only entries of this step and its parts; an item or a round is `STEP[0]` or `STEP#0`.
    #[arg(value_name = "STEP", help_heading = OPTIONS)]
    pub(crate) step: Option<String>,
    /// Output: a person's view, one JSON object with whole values, or each entry of the journal on a line.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) format: LogFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// The output of `logs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A person's view.
    Text,
    /// A JSON object.
    Json,
    /// The journal, a JSON object per line.
    Events,
}

/// `replay`
#[derive(Args, Clone, Debug)]
pub(crate) struct ReplayArguments {
    /// The run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `diff`
#[derive(Args, Clone, Debug)]
pub(crate) struct DiffArguments {
    /// The one run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) before: String,
    /// The second run.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) after: String,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `export`
#[derive(Args, Clone, Debug)]
pub(crate) struct ExportArguments {
    /// The run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// The file to write it to, in one go; else it goes to standard output.
    #[arg(help_heading = OPTIONS, long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it is there already.
    #[arg(help_heading = OPTIONS, long, requires = "output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `import`
#[derive(Args, Clone, Debug)]
pub(crate) struct ImportArguments {
    /// The file that `export` wrote, or `-` for standard input.
    #[arg(value_name = "FILE", help_heading = OPTIONS)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `prune`
#[derive(Args, Clone, Debug)]
pub(crate) struct PruneArguments {
    /// Delete runs that began longer ago than this, such as `12h` or `30d`; default: `30d`, unless `--keep` is given.
    #[arg(help_heading = OPTIONS, long, value_name = "TIME", value_parser = age)]
    pub(crate) older_than: Option<Duration>,
    /// Keep the newest N runs.
    #[arg(help_heading = OPTIONS, long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Also delete runs that wait for a person or whose process died. A run in progress is never deleted.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) unfinished: bool,
    /// Only list the runs that would be deleted.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Parses the value of `--since`.
fn since(text: &str) -> Result<Since, String> {
    match day(text) {
        Some(moment) => Ok(Since::At(moment)),
        None => age(text).map(Since::Ago),
    }
}

/// Reads how long ago something was.
fn age(text: &str) -> Result<Duration, String> {
    super::duration(text).map_err(|_| {
        format!("`{text}` is neither a time such as `2d`, nor a day such as `2026-11-21`")
    })
}

/// From when on runs are of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// So long ago.
    Ago(Duration),
    /// From this moment on.
    At(SystemTime),
}

impl Since {
    /// The moment that is meant, if it is `now`.
    pub(crate) fn begins(self, now: SystemTime) -> SystemTime {
        match self {
            Self::Ago(time) => now.checked_sub(time).unwrap_or(SystemTime::UNIX_EPOCH),
            Self::At(moment) => moment,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn moments_are_read() {
        let hours = |hours: u64| Ok(Since::Ago(Duration::from_secs(hours * 3600)));
        assert_eq!(since("2d"), hours(48));
        assert_eq!(since("0.5d"), hours(12));
        assert_eq!(since("3h"), hours(3));
        assert_eq!(
            since("1970-01-02"),
            Ok(Since::At(UNIX_EPOCH + Duration::from_hours(24)))
        );
        for text in [
            "",
            "d",
            "-2d",
            "2 weeks",
            "2026-13-01",
            "1e99d",
            "yesterday",
        ] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
