//! The arguments about calls that need consent.

use std::path::PathBuf;

use clap::Args;

use super::{Format, OPTIONS, RUNNING, StoreArguments};

/// The way in which calls that need consent are decided.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConsentArguments {
    /// Decisions given ahead: `{TOOL: {"decision": "approve" or "reject", "args": {…}}}`.
    #[arg(help_heading = RUNNING, long, value_name = "FILE")]
    pub(crate) approvals: Option<PathBuf>,
    /// Policy for calls that need consent and have no decision yet: `ask` on the terminal, and without one let them wait; make them `all`;
    /// make `none`; `wait` until another process decides; approve the whole `plan` once, on the terminal, or as `plan:DIGEST`.
    #[arg(help_heading = RUNNING, long, value_parser = approve, default_value = "ask", value_name = "WHAT")]
    pub(crate) approve: Approve,
}

/// `approve`
#[derive(Args, Clone, Debug)]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    pub(crate) question: QuestionArguments,
    /// Make the call with these arguments in place of its own: a JSON object.
    #[arg(help_heading = OPTIONS, long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Approve the call that this digest stands for, without a question on the terminal: its first 12 digits or more.
    #[arg(help_heading = OPTIONS, long, value_name = "DIGEST", value_parser = digest)]
    pub(crate) digest: Option<String>,
    /// Print the call with all of its arguments and its digest, and decide nothing.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["args", "digest"])]
    pub(crate) show: bool,
    /// Output format of `--show`.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text, requires = "show")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `reject`
#[derive(Args, Clone, Debug)]
pub(crate) struct RejectArguments {
    #[command(flatten)]
    pub(crate) question: QuestionArguments,
    /// The reason: the step fails with it.
    #[arg(help_heading = OPTIONS, long, value_name = "TEXT")]
    pub(crate) because: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `passphrase`
#[derive(Args, Clone, Debug)]
pub(crate) struct PassphraseArguments {
    /// Take the passphrase away.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// A call that waits for a decision.
#[derive(Args, Clone, Debug)]
pub(crate) struct QuestionArguments {
    /// The run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// The step that wants to call, with its item or round where it has one: `STEP[0]`.
    #[arg(value_name = "STEP", help_heading = OPTIONS)]
    pub(crate) step: String,
}

/// The policy for calls that need consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Approve {
    /// Ask on the terminal; without one, let them wait.
    Ask,
    /// Make them.
    All,
    /// Reject them.
    None,
    /// Let them wait, and the process with them, until another process decides.
    Wait,
    /// Make them once the whole plan is approved: on the terminal, or by the beginning of its digest.
    Plan(Option<String>),
}

/// Reads the digest of a call.
fn digest(text: &str) -> Result<String, String> {
    if text.len() < SHORTEST_DIGEST {
        return Err(format!(
            "a digest has at least its first {SHORTEST_DIGEST} digits"
        ));
    }
    Ok(text.to_owned())
}

/// The fewest digits that stand for a digest.
const SHORTEST_DIGEST: usize = 12;

/// Reads what `--approve` takes.
fn approve(text: &str) -> Result<Approve, String> {
    Ok(match text {
        "ask" => Approve::Ask,
        "all" => Approve::All,
        "none" => Approve::None,
        "wait" => Approve::Wait,
        "plan" => Approve::Plan(None),
        other => match other.strip_prefix("plan:") {
            Some(digest) if digest.len() >= SHORTEST_DIGEST => {
                Approve::Plan(Some(digest.to_owned()))
            }
            Some(_) => return Err("a digest has at least its first 12 digits".to_owned()),
            None => return Err("it is one of ask, all, none, wait, plan, plan:DIGEST".to_owned()),
        },
    })
}
