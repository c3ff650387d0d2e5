//! The arguments of `create`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use planwright::planner::prompt::PlanDialect;

use super::{
    Format, ModelArguments, MomentArguments, OPTIONS, StoreArguments, ToolArguments, positive,
};

/// The heading of what is about the plan.
const PLANNING: &str = "Planning";

/// `create`
#[derive(Args, Clone, Debug)]
pub(crate) struct CreateArguments {
    /// The goal, in your words.
    #[arg(value_name = "GOAL")]
    pub(crate) goal: String,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
    /// Show the prompt, and ask no model.
    #[arg(help_heading = PLANNING, long)]
    pub(crate) show_prompt: bool,
    /// Take the plan from the last time, if the same was wanted with the same tools; else keep it for the next time.
    #[arg(help_heading = PLANNING, long)]
    pub(crate) cache: bool,
    /// Write the plan to this file.
    #[arg(help_heading = OPTIONS, long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file where it is there already.
    #[arg(help_heading = OPTIONS, long, requires = "output")]
    pub(crate) force: bool,
    /// Save the plan under this name, for `run NAME`.
    #[arg(help_heading = OPTIONS, long, value_name = "NAME")]
    pub(crate) save: Option<String>,
    /// Output: the plan, or the plan with every step of its creation.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Keep nothing on disk.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["store", "save", "cache"])]
    pub(crate) no_store: bool,
}

/// The material that a plan is written from, beside the goal.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlanningArguments {
    /// Maximum number of answers, each asked for with all errors of the one before.
    #[arg(help_heading = PLANNING, long, value_name = "N", default_value = "3", value_parser = positive::<NonZeroU32>, allow_negative_numbers = true)]
    pub(crate) tries: NonZeroU32,
    /// In what the model writes the plan: lines take about two thirds of the tokens of JSON. What it is kept as is JSON in either case.
    #[arg(help_heading = PLANNING, long, value_enum, value_name = "NOTATION")]
    pub(crate) notation: Option<NotationWord>,
    /// Memory of earlier questions: JSON with `semantic`, `episodic` and `entities`.
    #[arg(help_heading = PLANNING, long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// A JSON Schema of the state that the plan is to fill.
    #[arg(help_heading = PLANNING, long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Maximum number of tokens for the list of tools; tools that fit the goal best come first.
    #[arg(help_heading = PLANNING, long, value_name = "N", default_value_t = 6000)]
    pub(crate) tool_tokens: usize,
    #[command(flatten)]
    pub(crate) moment: MomentArguments,
}

/// In what a model writes a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NotationWord {
    /// JSON.
    Json,
    /// Lines.
    Lines,
}

impl From<NotationWord> for PlanDialect {
    fn from(word: NotationWord) -> Self {
        match word {
            NotationWord::Json => Self::Json,
            NotationWord::Lines => Self::Lines,
        }
    }
}
