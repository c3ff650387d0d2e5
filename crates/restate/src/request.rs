//! The request that starts a run: everything that its decisions depend on, so that each worker that continues the run decides the same.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::SystemTime;

use planwright::CheckedPlan;
use planwright::format::{FlowModeV1, PlanTextV1, ProcessV1, RunV1, ToolSourcesV1};
use planwright::loaded_plan::LoadedPlan;
use planwright::stored::{process, tools_of};
use planwright_core::Tool;
use planwright_core::plan::OnFailure;
use planwright_engine::run::redacted_inputs;
use planwright_engine::{Decision, Durations, RunOptions};
use serde::{Deserialize, Serialize};

use crate::services::WorkerState;

/// The schema's name and version.
const SCHEMA: &str = "planwright.restate-run/1";

/// The maximum number of calls of a run in flight. Restate's library examines all of them for each result, so the time of a run with
/// 10,000 in flight would grow with the square of its calls.
const MAX_IN_FLIGHT: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// A run that is about to be submitted.
#[derive(Debug)]
pub struct RunRequest<'a> {
    /// The plan, checked with the tools of the submitting process.
    pub plan: &'a CheckedPlan,
    /// The text of the plan.
    pub text: PlanTextV1,
    /// The options.
    pub options: &'a RunOptions,
    /// The sources of its tools.
    pub tools: ToolSourcesV1,
    /// The address of the ingress of Restate.
    pub ingress: &'a str,
    /// The decision about all calls that need consent; `None` if they wait for people.
    pub decision: Option<AutomaticDecision>,
    /// The current time.
    pub now: SystemTime,
}

/// A decision that is the same for all calls of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AutomaticDecision {
    /// All calls are approved.
    Approve,
    /// All calls are rejected.
    Reject,
}

impl AutomaticDecision {
    pub(crate) fn decision(self) -> Decision {
        match self {
            Self::Approve => Decision::Approve { args: None },
            Self::Reject => Decision::Reject { because: None },
        }
    }
}

/// The request of a run, as Restate keeps it: `planwright.restate-run/1`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequestV1 {
    schema: String,
    /// The header of the run in the store.
    pub(crate) run: RunV1,
    /// The header of its one process.
    pub(crate) process: ProcessV1,
    /// The ingress through which decisions reach the run.
    pub(crate) ingress: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<AutomaticDecision>,
}

/// The reason why a plan does not run on Restate.
#[derive(Debug, thiserror::Error)]
pub enum RunRequestError {
    /// The plan reads `env` or `secrets`.
    #[error(
        "the plan refers to `{0}`, and Restate would store the value: plans with secrets do not run on Restate"
    )]
    Secret(String),
    /// An input is secret, or contains a secret.
    #[error(
        "the input `{0}` is secret, and Restate would store it: plans with secrets do not run on Restate"
    )]
    SecretInput(String),
    /// A step extracts data with a model.
    #[error("the step `{0}` extracts data with a model, which does not run on Restate")]
    Extraction(String),
    /// The plan undoes what it did if it fails.
    #[error("the plan has `on_failure: revert`, which does not run on Restate")]
    Revert,
    /// Another version has written the request.
    #[error("the request of the run has the schema `{0}`, which this version does not read")]
    Schema(String),
    /// The plan has errors with the tools of the worker.
    #[error("the plan has errors with the tools of the worker: {0}")]
    Rejected(String),
    /// A tool is another one than the plan was checked with.
    #[error("the worker has another tool `{tool}` than the plan was checked with: {changes}")]
    OtherTool {
        /// The tool.
        tool: String,
        /// The changes, in a few words.
        changes: String,
    },
    /// The flow policy differs.
    #[error(
        "the worker checks plans with another flow policy than the process that submitted the plan"
    )]
    OtherFlow,
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] planwright_store::StoreError),
}

impl RunRequest<'_> {
    /// Returns the request, as Restate keeps it.
    ///
    /// # Errors
    ///
    /// If the plan uses what Restate must not store, or what a worker cannot do.
    pub fn encode(self) -> Result<RunRequestV1, RunRequestError> {
        if let Some((what, name)) = self.plan.outside().into_iter().next() {
            return Err(RunRequestError::Secret(format!("{what}.{name}")));
        }
        let vars = redacted_inputs(self.plan, &self.options.masked_texts());
        let inputs = self.plan.inputs();
        if let Some((name, _)) = vars
            .iter()
            .find(|(name, value)| inputs.get(*name) != Some(value))
        {
            return Err(RunRequestError::SecretInput(name.to_string()));
        }
        if self.plan.plan().on_failure == OnFailure::Revert {
            return Err(RunRequestError::Revert);
        }
        if let Some(step) = extracting_step(self.plan) {
            return Err(RunRequestError::Extraction(step));
        }
        let mut options = self.options.clone();
        options.limits.total = options.limits.total.min(MAX_IN_FLIGHT);
        let run = RunV1 {
            driven_by: Some(format!("restate={}", self.ingress)),
            ..RunV1::new(self.text, vars, self.tools)
        };
        Ok(RunRequestV1 {
            schema: SCHEMA.to_owned(),
            run,
            process: process(self.plan, &options, self.now),
            ingress: self.ingress.to_owned(),
            decision: self.decision,
        })
    }
}

fn extracting_step(plan: &CheckedPlan) -> Option<String> {
    let mut steps = plan.plan().steps.iter().zip(plan.steps());
    steps.find_map(|(step, checked)| {
        if checked
            .tool
            .as_ref()
            .is_some_and(|tool| tool.is_extraction())
        {
            return Some(step.id.to_string());
        }
        checked.plan.as_ref().and_then(extracting_step)
    })
}

impl RunRequestV1 {
    /// Returns the plan, checked with the tools of this worker, and the options of the run. Two workers with the same tools and rules return the
    /// same ones, which the replay of a run relies on.
    pub(crate) fn open(
        &self,
        worker: &WorkerState,
    ) -> Result<(CheckedPlan, RunOptions), RunRequestError> {
        let service = &worker.service;
        if self.schema != SCHEMA {
            return Err(RunRequestError::Schema(self.schema.clone()));
        }
        let loaded = LoadedPlan::from_stored(&self.run.plan, self.run.vars.clone());
        let (plan, loaded) = service.check_loaded(loaded);
        let plan = plan.ok_or_else(|| RunRequestError::Rejected(loaded.diagnostics.to_string()))?;
        let tools = tools_of(&plan);
        for then in &self.process.tools {
            let same_name = |now: &&Arc<Tool>| now.server == then.server && *now.name == *then.name;
            // The same text with other tools may call other ones, for example by a short name.
            let changes = match tools.iter().find(same_name) {
                Some(now) => then.changes(now),
                None => Some("the plan does not call it here".to_owned()),
            };
            if let Some(changes) = changes {
                let tool = format!("{}.{}", then.server, then.name);
                return Err(RunRequestError::OtherTool { tool, changes });
            }
        }
        let flow: Option<FlowModeV1> = plan.flow().map(|flow| flow.planner.into());
        if flow != self.process.flow {
            return Err(RunRequestError::OtherFlow);
        }
        let options = self.process.run_options();
        let options = RunOptions {
            durations: Durations::from(&self.process.durations),
            secrets: worker.secrets.clone(),
            seal_key: Some(worker.store.seal_key()?),
            computed_bytes: service.options().computed_bytes,
            ..options
        };
        Ok((plan, options))
    }
}
