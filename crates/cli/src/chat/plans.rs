//! The tools of the model that write and run plans.

use std::sync::PoisonError;

use planwright::core::check::CheckedPlan;
use planwright::core::{Object, Plan, Value};
use planwright::dialects::Dialect;
use planwright::dialects::native::Native;
use planwright::engine::RunId;
use planwright::engine::run::StepSummary;
use planwright::engine::{RunStatus, RunSummary, StepStatus};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::create::PlanResponse;

use super::calls::{CallHandler, CallOutcome, error_lines, trimmed};
use super::chat_plans::ChatPlan;
use super::context::ChatContext;
use crate::approval::review::{self, MAX_CHANGES, ReviewChoice, TextChecker, changed_goal};
use crate::args::Approve;
use crate::error::CommandError;
use crate::planning::create::PlanRequirements;
use crate::planning::progress;
use crate::runs::store;
use crate::view::printer::counted;

impl CallHandler<'_> {
    /// `plan_create`
    pub(super) async fn create(&self, goal: &str) -> Result<CallOutcome, CommandError> {
        Ok(match self.write_plan(goal).await? {
            Ok(id) => self.describe_plan(&id),
            Err(outcome) => outcome,
        })
    }

    /// `plan_create_and_execute`
    pub(super) async fn create_and_execute(&self, goal: &str) -> Result<CallOutcome, CommandError> {
        if self.context.is_streamed {
            return self.stream(goal).await;
        }
        match self.write_plan(goal).await? {
            Ok(id) => self.execute(&id).await,
            Err(outcome) => Ok(outcome),
        }
    }

    /// `plan_execute`
    pub(super) async fn execute(&self, id: &str) -> Result<CallOutcome, CommandError> {
        for _ in 0..MAX_CHANGES {
            let Some(stored) = self.plan(id) else {
                return Ok(CallOutcome::failure(self.unknown_plan_message(id)));
            };
            let loaded = ChatContext::read(id, &stored.text, Some(Native.name()));
            let (plan, loaded) = self.context.check(loaded);
            let Some(plan) = plan else {
                return Ok(CallOutcome::failure(error_lines(&loaded.diagnostics)));
            };
            if !matches!(self.context.arguments.consent.approve, Approve::Plan(_)) {
                return self.run(id, &loaded, &plan, false).await;
            }
            let check = |text: &str| self.check_text(id, text);
            match review(self.context, &plan, &stored.text, &check).await {
                ReviewChoice::Run => return self.run(id, &loaded, &plan, true).await,
                ReviewChoice::Edited(text) => {
                    let (loaded, plan) = self.check_text(id, &text);
                    self.put(id, ChatPlan { text, ..stored });
                    return match plan {
                        Some(plan) => self.run(id, &loaded, &plan, true).await,
                        None => Ok(CallOutcome::failure(error_lines(&loaded.diagnostics))),
                    };
                }
                ReviewChoice::Change(change) => {
                    let goal = changed_goal(&stored.goal, &stored.text, &change);
                    match self.ask_model(&goal).await? {
                        Ok(text) => self.put(id, ChatPlan { text, ..stored }),
                        Err(outcome) => return Ok(outcome),
                    }
                }
                ReviewChoice::Reject => {
                    return Ok(CallOutcome::failure("the person rejected the plan"));
                }
            }
        }
        Ok(CallOutcome::failure(
            "the person asked for too many changes",
        ))
    }

    /// Reads and checks a text that a person wrote.
    fn check_text(&self, id: &str, text: &str) -> (LoadedPlan, Option<CheckedPlan>) {
        let (plan, loaded) = self.context.check(ChatContext::read(id, text, None));
        (loaded, plan)
    }

    /// Asks the model for a plan, and adds it to the conversation. Returns its id.
    async fn write_plan(&self, goal: &str) -> Result<Result<String, CallOutcome>, CommandError> {
        let text = match self.ask_model(goal).await? {
            Ok(text) => text,
            Err(outcome) => return Ok(Err(outcome)),
        };
        Ok(Ok(self.add(goal, text)))
    }

    /// Adds a plan to the conversation. Returns its id.
    pub(super) fn add(&self, goal: &str, text: String) -> String {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let goal = goal.to_owned();
        plans.add(ChatPlan { goal, text })
    }

    /// Asks the model for a plan. Returns its text.
    async fn ask_model(&self, goal: &str) -> Result<Result<String, CallOutcome>, CommandError> {
        let context = self.context;
        let requirements = self.requirements(goal)?;
        let created = requirements
            .ask(context.model.as_ref(), &context.arguments.planning)
            .await;
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) += created.usage;
        progress::report_response(&created, context.model.name(), context.printer);
        Ok(match created.plan {
            Some(plan) => Ok(plan.text),
            None => Err(missing_plan_outcome(&created)),
        })
    }

    pub(super) fn requirements<'w>(
        &'w self,
        goal: &'w str,
    ) -> Result<PlanRequirements<'w>, CommandError> {
        let context = self.context;
        let durations = match &context.store {
            Some(store) => store.durations().map_err(store::explain)?,
            None => context.toolbox.durations.clone(),
        };
        Ok(PlanRequirements::new(
            goal,
            &context.toolbox,
            &context.known,
            durations,
            &context.planner_config(),
        ))
    }

    async fn run(
        &self,
        id: &str,
        loaded: &LoadedPlan,
        plan: &CheckedPlan,
        is_approved: bool,
    ) -> Result<CallOutcome, CommandError> {
        let run = RunId::random();
        self.context.output.line(&headline(id, plan, &run));
        let summary = self.context.run(&run, loaded, plan, is_approved).await?;
        Ok(self.outcome_of(id, &summary))
    }

    /// Returns the outcome of a run, for the model.
    pub(super) fn outcome_of(&self, id: &str, summary: &RunSummary) -> CallOutcome {
        let limit = self.context.arguments.bounds.result;
        CallOutcome {
            text: outcome(id, summary, limit, self.context.is_stored()).to_json(),
            is_success: summary.status == RunStatus::Succeeded,
        }
    }

    pub(super) fn plan(&self, id: &str) -> Option<ChatPlan> {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.by_id.get(id).cloned()
    }

    pub(super) fn put(&self, id: &str, plan: ChatPlan) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.by_id.insert(id.to_owned(), plan);
    }

    pub(super) fn unknown_plan_message(&self, id: &str) -> String {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let known: Vec<&str> = plans.by_id.keys().map(String::as_str).collect();
        format!("there is no plan `{id}`; there are: {}", known.join(", "))
    }

    /// Describes a plan for the model.
    pub(super) fn describe_plan(&self, id: &str) -> CallOutcome {
        let text = self.plan(id).map(|stored| stored.text).unwrap_or_default();
        let plan = ChatContext::read(id, &text, Some(Native.name())).plan;
        let plan = plan.unwrap_or_default();
        self.context
            .output
            .line(&format!("  {id}: {} steps, not run", plan.steps.len()));
        CallOutcome {
            text: steps(id, &plan).to_json(),
            is_success: true,
        }
    }
}

/// Returns a line with the plan and the run that it starts.
pub(super) fn headline(id: &str, plan: &CheckedPlan, run: &RunId) -> String {
    let steps = counted(plan.steps().len(), "step");
    format!("  {id}: {steps}, run {}", store::short_id(run))
}

/// Returns the outcome of a request that yielded no plan, for the model.
pub(super) fn missing_plan_outcome(created: &PlanResponse) -> CallOutcome {
    let diagnostics = created.attempts.last();
    CallOutcome::failure(match (&created.failure, &created.declined, diagnostics) {
        (Some(error), ..) if error.reply.is_empty() => error.to_string(),
        (Some(error), ..) => format!("{error}; it said: {}", error.reply),
        (None, Some(declined), _) => format!("no plan was written: the model {declined}"),
        (None, None, last) => format!(
            "no valid plan was written; the last one has these errors:\n{}",
            last.map(|last| error_lines(&last.diagnostics))
                .unwrap_or_default()
        ),
    })
}

fn steps(id: &str, plan: &Plan) -> Value {
    let steps = plan.steps.iter().map(|step| {
        let mut fields = vec![("id", Value::from(step.id.as_str()))];
        if let Some(tool) = step.tool() {
            fields.push(("tool", Value::Text(tool.text.clone())));
        }
        if let Some(title) = &step.title {
            fields.push(("title", Value::Text(title.clone())));
        }
        Value::object(fields)
    });
    Value::object([("plan_id", Value::from(id)), ("steps", Value::list(steps))])
}

/// Returns the outcome of a run, for the model.
fn outcome(id: &str, summary: &RunSummary, limit: u64, is_stored: bool) -> Value {
    let mut fields = Object::default();
    fields.insert("plan_id".into(), Value::from(id));
    fields.insert("run".into(), Value::Text(summary.run.clone().into()));
    fields.insert("status".into(), Value::from(summary.status.as_str()));
    fields.insert("output".into(), trimmed(&summary.output, limit));
    let bad = summary
        .steps
        .iter()
        .filter(|step| step.status != StepStatus::Succeeded);
    let bad: Vec<Value> = bad.map(failed_step_value).collect();
    if !bad.is_empty() {
        fields.insert("not_done".into(), bad.into());
    }
    if summary.status == RunStatus::Waiting {
        let run = store::short_id(&summary.run);
        let next = if is_stored {
            format!(
                "a person decides with `planwright approve {run} STEP`, then `planwright resume {run}`"
            )
        } else {
            "a person would have to decide, which needs a stored run; the run has ended".to_owned()
        };
        fields.insert("next".into(), Value::from(next));
    }
    fields.into()
}

fn failed_step_value(step: &StepSummary) -> Value {
    let mut fields = vec![
        ("step", Value::from(step.at.to_string())),
        ("status", Value::from(step.status.as_str())),
    ];
    if let Some(error) = &step.error {
        fields.push(("error", error.as_value()));
    }
    Value::object(fields)
}

/// Shows `plan`, whose text is `text`, and asks for a decision about it. Questions of several runs are asked one at a time.
pub(super) async fn review(
    context: &ChatContext<'_>,
    plan: &CheckedPlan,
    text: &str,
    check: &TextChecker<'_>,
) -> ReviewChoice {
    let _turn = context.turn.lock().await;
    let store = context.store.as_ref();
    review::review(store, plan, text, check, context.printer).await
}
