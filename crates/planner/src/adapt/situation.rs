//! How a run stands that has failed, as a model is told.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::{CheckedPlan, Value};
use planwright_dialects::Dialect;
use planwright_dialects::native::Native;
use planwright_engine::run::{RunSummary, StepStatus, StepSummary};

use crate::tools::signatures::estimated_tokens;

/// How many tokens are spent on one result.
const RESULT_TOKENS: usize = 300;

/// How many tokens are spent on all results together.
const RESULTS_TOKENS: usize = 4000;

/// How a run stands that has failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Situation {
    /// What was wanted, as far as the plan says.
    pub goal: Option<String>,
    /// The plan in Planwright's own dialect.
    pub plan: Value,
    /// The steps that are done.
    pub done: Vec<Done>,
    /// The steps that failed.
    pub failed: Vec<Trouble>,
    /// The steps that did not run.
    pub rest: Vec<Arc<str>>,
}

/// A step that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Its id.
    pub step: Arc<str>,
    /// What it gave.
    pub output: Value,
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// Its id.
    pub step: Arc<str>,
    /// Its tool, as the plan names it.
    pub tool: Option<Arc<str>>,
    /// What the tool was given.
    pub args: Option<Value>,
    /// What kind of failure it is.
    pub kind: String,
    /// What failed.
    pub message: String,
}

impl Situation {
    /// How a run of `plan` stands that came to `summary`. Nothing where the plan cannot be written down in our own dialect, or runs for
    /// several instances, of which each stands otherwise.
    pub fn of(plan: &CheckedPlan, summary: &RunSummary) -> Option<Self> {
        if !plan.plan().instances.is_empty() {
            return None;
        }
        let (text, _) = Native.print(plan.plan());
        let written = Value::from_json(&text?).ok()?;
        let said = |name: &str| {
            let said = plan.plan().metadata.get(name).and_then(Value::as_text);
            said.map(str::to_owned)
        };
        let named = plan
            .plan()
            .title
            .as_deref()
            .or(plan.plan().description.as_deref());
        let goal = said("query").or_else(|| named.map(str::to_owned));
        let id = |step: &StepSummary| Arc::clone(step.at.step.text());
        let with = |status: StepStatus| {
            summary
                .steps
                .iter()
                .filter(move |step| step.status == status)
        };
        Some(Self {
            goal,
            plan: written,
            done: with(StepStatus::Succeeded)
                .map(|step| Done {
                    step: id(step),
                    output: step.output.clone().unwrap_or(Value::Null),
                })
                .collect(),
            failed: with(StepStatus::Failed)
                .filter(|step| !step.handled)
                .map(trouble)
                .collect(),
            rest: with(StepStatus::Skipped)
                .chain(with(StepStatus::NotRun))
                .map(id)
                .collect(),
        })
    }

    /// The ids of the steps that are done.
    pub(super) fn done_ids(&self) -> BTreeSet<&str> {
        self.done.iter().map(|done| &*done.step).collect()
    }

    /// It in words. Results are cut where they are long.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(goal) = &self.goal {
            let _ = writeln!(text, "What was wanted:\n{goal}\n");
        }
        let _ = writeln!(text, "The plan so far:\n{}\n", self.plan.to_json());
        if !self.done.is_empty() {
            text += "Done, with what each step gave:\n";
            text += &self.results();
            text.push('\n');
        }
        text += "Failed:\n";
        for trouble in &self.failed {
            let tool = trouble.tool.as_deref().unwrap_or("no tool");
            let _ = write!(
                text,
                "- `{}` ({tool}): {}: {}",
                trouble.step,
                trouble.kind,
                cut(&trouble.message)
            );
            if let Some(args) = &trouble.args {
                let _ = write!(text, "; it was given {}", cut(&args.to_json()));
            }
            text.push('\n');
        }
        if !self.rest.is_empty() {
            let _ = writeln!(text, "\nNot run: `{}`", self.rest.join("`, `"));
        }
        text
    }

    fn results(&self) -> String {
        let mut text = String::new();
        for done in &self.done {
            let line = format!("- `{}`: {}\n", done.step, cut(&done.output.to_json()));
            if estimated_tokens(&text) + estimated_tokens(&line) > RESULTS_TOKENS {
                let _ = writeln!(
                    text,
                    "- `{}`: done; there is no room for its result",
                    done.step
                );
            } else {
                text += &line;
            }
        }
        text
    }
}

fn trouble(step: &StepSummary) -> Trouble {
    let (kind, message) = match &step.error {
        Some(error) => (error.kind.as_str().to_owned(), error.message.clone()),
        None => ("internal".to_owned(), "it is not known why".to_owned()),
    };
    Trouble {
        step: Arc::clone(step.at.step.text()),
        tool: step.tool.clone(),
        args: step.args.clone(),
        kind,
        message,
    }
}

/// A text as far as there is room for one.
fn cut(text: &str) -> String {
    let most = RESULT_TOKENS * 4;
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most)
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    format!("{} … ({} bytes in all, cut here)", &text[..end], text.len())
}
