//! The arguments of `resume`.

use std::path::PathBuf;

use clap::Args;

use super::{
    AdaptArguments, ConsentArguments, GuardArguments, OPTIONS, RUNNING, RunFormat, StoreArguments,
    ToolArguments, dialect_names,
};

/// `resume`
#[derive(Args, Clone, Debug)]
pub(crate) struct ResumeArguments {
    /// The run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// Call the tool of this step again, though it may have been called before.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP")]
    pub(crate) retry: Vec<String>,
    /// Do without this step.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP")]
    pub(crate) skip: Vec<String>,
    /// Go on as if this step had given VALUE, which is JSON where it parses, else text.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP=VALUE")]
    pub(crate) set: Vec<String>,
    /// A plan in place of the one so far: finished steps keep their results unless it changes them, or what they were computed from.
    #[arg(help_heading = OPTIONS, long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Keep the result of this finished step, though that plan changes what it was computed from.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP", requires = "plan")]
    pub(crate) keep: Vec<String>,
    /// The dialect of that plan, if its shape does not tell.
    #[arg(help_heading = OPTIONS, long, value_name = "DIALECT", value_parser = dialect_names(), requires = "plan")]
    pub(crate) dialect: Option<String>,
    /// A folder of plans that steps of that plan may run by name: `DIR/NAME.json`.
    #[arg(help_heading = OPTIONS, long, value_name = "DIR", requires = "plan")]
    pub(crate) library: Option<PathBuf>,
    /// Kill the servers that an earlier process of the run has left running.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) kill_servers: bool,
    /// An input, such as a secret one, which is never kept; VALUE is JSON where it parses, else text.
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
    /// Output: a person's view, one JSON report, or one JSON event a line.
    #[arg(help_heading = RUNNING, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

impl ResumeArguments {
    /// Returns whether nothing is said that the run would not do by itself.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.plan.is_none() && self.retry.is_empty() && self.skip.is_empty() && self.set.is_empty()
    }
}
