//! Options of the commands about runs: decisions and resumption; and of those about stored runs and plans.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use planwright::format::day;

use super::shared::{OPTIONS, dialect_names, digest};
use super::{
    AdaptArguments, ConsentArguments, DrainArguments, Format, GuardArguments, RunFormat,
    RunOutputArguments, StoreArguments, TextArguments, ToolArguments,
};

/// `waiting`
#[derive(Args, Clone, Debug)]
pub(crate) struct WaitingArguments {
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `approve`
#[derive(Args, Clone, Debug)]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    pub(crate) question: QuestionArguments,
    /// Make the call with these arguments in place of its own: a JSON object.
    #[arg(help_heading = OPTIONS, long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Approve the call with this digest without a question on the terminal; at least its first 12 digits. For several calls, the digest
    /// of each.
    #[arg(help_heading = OPTIONS, long, value_name = "DIGEST", value_parser = digest)]
    pub(crate) digest: Vec<String>,
    /// Approve the whole plan of the run: the calls that wait, and every later call. With it, `--digest` is the digest of the plan.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["args", "format", "steps"])]
    pub(crate) plan: bool,
    /// Print the calls with all of their arguments and their digests, and decide nothing.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["args", "digest"])]
    pub(crate) show: bool,
    /// Output format of `--show`.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text, requires = "show")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `reject`
// The command does not ask on the terminal before it decides, so a default run would be too easy to reject by mistake.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("run", |run| run.required(true)))]
pub(crate) struct RejectArguments {
    #[command(flatten)]
    pub(crate) question: QuestionArguments,
    /// The reason, which becomes the error of the step.
    #[arg(help_heading = OPTIONS, long, value_name = "TEXT")]
    pub(crate) because: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `passphrase`
#[derive(Args, Clone, Debug)]
pub(crate) struct PassphraseArguments {
    /// Remove the passphrase.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// The calls that a person decides about.
#[derive(Args, Clone, Debug)]
pub(crate) struct QuestionArguments {
    /// The run: its id, or the beginning of it; `last` or `@1` for the newest run of this project, `@2` for the one before. Default: `@1`.
    #[arg(value_name = "RUN", help_heading = OPTIONS, index = 1)]
    pub(crate) run: Option<String>,
    /// The calling steps, each with its item or round, if any: `STEP[0]`. `*` stands for any text: `'STEP[*]'`. Default: all waiting
    /// calls of the run.
    #[arg(value_name = "STEP", help_heading = OPTIONS, index = 2)]
    pub(crate) steps: Vec<String>,
}

/// `resume`
#[derive(Args, Clone, Debug)]
pub(crate) struct ResumeArguments {
    /// The run: its id, or the beginning of it; `last` or `@1` for the newest run of this project, `@2` for the one before. Default: `@1`.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: Option<String>,
    /// Call the tool of this step again, even if it may have been called before. Several steps are separated by commas; `'pay[*]'` stands for
    /// the items of `pay` that have not succeeded, and `all` for all steps with a call whose outcome is unknown.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP")]
    pub(crate) retry: Vec<String>,
    /// Repeat every call whose outcome is unknown, as `--retry all` does.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) retry_unknown: bool,
    /// Skip this step; several steps, patterns and `all` as for `--retry`.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP")]
    pub(crate) skip: Vec<String>,
    /// Continue as if this step had returned VALUE, which is JSON if it parses, else text.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP=VALUE")]
    pub(crate) set: Vec<String>,
    /// A plan that replaces the current one: finished steps keep their results unless it changes them or their inputs.
    #[arg(help_heading = OPTIONS, long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Keep the result of this finished step, even if the plan of `--plan` changes its inputs.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP", requires = "plan")]
    pub(crate) keep: Vec<String>,
    /// The dialect of the plan of `--plan`; default: detected.
    #[arg(help_heading = OPTIONS, long, value_name = "DIALECT", value_parser = dialect_names(), requires = "plan")]
    pub(crate) dialect: Option<String>,
    /// A folder of plans that steps of the plan of `--plan` may run by name: `DIR/NAME.json`.
    #[arg(help_heading = OPTIONS, long, value_name = "DIR", requires = "plan")]
    pub(crate) library: Option<PathBuf>,
    /// Kill the servers that an earlier process of the run has left running.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) kill_servers: bool,
    /// An input; secret ones must be passed again, because no run stores them. VALUE is parsed as JSON, or else taken as text.
    #[arg(help_heading = OPTIONS, long = "var", value_name = "NAME=VALUE")]
    pub(crate) vars: Vec<String>,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) adapt: AdaptArguments,
    #[command(flatten)]
    pub(crate) guards: GuardArguments,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    #[command(flatten)]
    pub(crate) drain: DrainArguments,
    #[command(flatten)]
    pub(crate) output: RunOutputArguments,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

impl ResumeArguments {
    /// Returns true if the arguments do not change the run.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.plan.is_none() && !self.retries() && self.skip.is_empty() && self.set.is_empty()
    }

    /// Returns true if calls are to be made again.
    pub(crate) fn retries(&self) -> bool {
        self.retry_unknown || !self.retry.is_empty()
    }
}

/// `revert`
#[derive(Args, Clone, Debug)]
pub(crate) struct RevertArguments {
    /// The run: its id, or the beginning of it; `last` or `@1` for the newest run of this project, `@2` for the one before.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// Undo only the call of this step that ended first, and the calls that ended after it.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP")]
    pub(crate) from: Option<String>,
    /// Undo the rest if some calls have no undo, or may or may not have happened.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) partial: bool,
    /// Do everything except the calls: show what would be undone, and what would not. The exit status is 0, also if the revert would refuse.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) guards: GuardArguments,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    #[command(flatten)]
    pub(crate) drain: DrainArguments,
    #[command(flatten)]
    pub(crate) output: RunOutputArguments,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

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
    /// List all versions of this plan instead of the newest version of each plan: its name, or the beginning of an id.
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
    /// Maximum number of runs, the newest ones.
    #[arg(help_heading = OPTIONS, long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// List the sessions of clients that called tools without a plan, in place of runs.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["status", "plan", "watch"])]
    pub(crate) sessions: bool,
    /// List the runs again whenever the list changes, until Ctrl-C; without a terminal, list only the changed runs.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) watch: bool,
    /// Output format. With `--watch`, each JSON document is a line.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunStateArgument {
    /// Every step that had to run succeeded.
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
    /// The run: its id, or the beginning of it; `last` or `@1` for the newest run of this project, `@2` for the one before. Default: `@1`.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: Option<String>,
    /// Only entries of this step and its parts; an item or a round is `STEP[0]` or `STEP#0`.
    #[arg(value_name = "STEP", help_heading = OPTIONS)]
    pub(crate) step: Option<String>,
    /// Follow the run until no process drives it. The line of a call is printed when the call ends. With `--format json`, each line is one
    /// JSON object. Exit status: that of the run, as for `run`; 130 if its process died.
    #[arg(help_heading = OPTIONS, long, short)]
    pub(crate) follow: bool,
    /// Output: human-readable text, one JSON object with whole values, or each entry of the journal on a line.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `cancel`
#[derive(Args, Clone, Debug)]
pub(crate) struct CancelArguments {
    /// The run: its id, or the beginning of it; `last` or `@1` for the newest run of this project, `@2` for the one before.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `attach`
#[derive(Args, Clone, Debug)]
pub(crate) struct AttachArguments {
    /// The run: its id, or the beginning of it; `last` or `@1` for the newest run of this project, `@2` for the one before. Default: `@1`.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `replay`
#[derive(Args, Clone, Debug)]
pub(crate) struct ReplayArguments {
    /// The run: its id, or the beginning of it; `last` or `@1` for the newest run of this project, `@2` for the one before. Default: `@1`.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: Option<String>,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `diff`
#[derive(Args, Clone, Debug)]
pub(crate) struct DiffArguments {
    /// The first run, or the file of the first plan. A run is given by its id, the beginning of its id, or a position such as `@2`. Default: `@2`, the run before the newest one of this project.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) before: Option<String>,
    /// The second run, or the file of the second plan. Default: `@1`, the newest.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) after: Option<String>,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `export`
#[derive(Args, Clone, Debug)]
pub(crate) struct ExportArguments {
    /// The run: its id, or the beginning of it; `last` or `@1` for the newest run of this project, `@2` for the one before. Default: `@1`.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: Option<String>,
    /// The file to write, atomically; default: standard output.
    #[arg(help_heading = OPTIONS, long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file.
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

/// Parses a time before now.
fn age(text: &str) -> Result<Duration, String> {
    planwright::config::time(text).map_err(|_| {
        format!("`{text}` is neither a time such as `2d`, nor a day such as `2026-11-21`")
    })
}

/// The earliest start of the listed runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// A time before now.
    Ago(Duration),
    /// A fixed time.
    At(SystemTime),
}

impl Since {
    /// Returns the earliest start, relative to `now`.
    pub(crate) fn moment(self, now: SystemTime) -> SystemTime {
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
