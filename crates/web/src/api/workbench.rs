//! The workbench: checks, conversions and runs of plans that a person writes.

mod example;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use planwright::core::expression::EvaluationLimits;
use planwright::core::plan::Input;
use planwright::core::{CheckedPlan, Code, Diagnostic, Diagnostics, Object, Severity, Value};
use planwright::dialects::{self, ReadOptions};
use planwright::drawing::{Drawing, GraphLayoutV1};
use planwright::engine::approval::Always;
use planwright::engine::backend::Simulated;
use planwright::engine::run::preview;
use planwright::engine::{Approver, Decision, RunId, RunOptions};
use planwright::format::{ReportStatus, ReportV1, StepV1};
use planwright::loaded_plan::{LoadedPlan, declared_inputs};
use planwright::service::{RunSpec, RunStorage};
use planwright::store::{LeaseHolder, Store};
use planwright::stored::StoreApprover;
use serde::{Deserialize, Serialize};

use super::catalog::listed;
use super::control::may_run;
use super::input::JsonBody;
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;
use crate::tools::OpenTools;

pub(super) use example::example;

/// A plan that a person writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenPlan {
    text: String,
    dialect: Option<String>,
    #[serde(default)]
    inputs: Object,
}

/// The result of a check.
#[derive(Serialize)]
pub(crate) struct CheckResult {
    /// True if the plan is sound.
    ok: bool,
    dialect: Option<&'static str>,
    diagnostics: Vec<DiagnosticEntry>,
    /// The graph; of a plan with errors, the part that can be drawn.
    graph: Option<GraphLayoutV1>,
    estimate: Option<EstimateEntry>,
    inputs: Vec<InputEntry>,
}

#[derive(Serialize)]
struct DiagnosticEntry {
    code: &'static str,
    severity: Severity,
    message: String,
    help: Option<String>,
    pointer: String,
    /// The part of the text, in UTF-16 units.
    start: Option<usize>,
    end: Option<usize>,
    /// The line and the column of the start, from 1.
    line: Option<usize>,
    column: Option<usize>,
}

#[derive(Serialize)]
struct EstimateEntry {
    expected_ms: f64,
    calls: usize,
    work_ms: f64,
    /// The steps of the longest path.
    path: Vec<String>,
}

#[derive(Serialize)]
struct InputEntry {
    name: Arc<str>,
    schema: Value,
    default: Option<Value>,
    required: bool,
}

/// Reads a plan.
pub(super) fn read(text: &str, dialect: Option<&str>) -> Result<LoadedPlan, ApiError> {
    if let Some(name) = dialect
        && dialects::dialect(name).is_none()
    {
        return Err(ApiError::bad(format!("no dialect is called `{name}`")));
    }
    let options = ReadOptions {
        dialect,
        ..ReadOptions::new("plan")
    };
    let result = dialects::parse(text.as_bytes(), &options);
    Ok(LoadedPlan::new("plan", result))
}

/// Returns the parameter `dialect`; `None` if it is empty, as forms send an absent one.
fn named(dialect: Option<&String>) -> Option<&str> {
    dialect.map(String::as_str).filter(|name| !name.is_empty())
}

pub(crate) async fn check(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(written): JsonBody<WrittenPlan>,
) -> Result<Json<CheckResult>, ApiError> {
    if !state.settings.tools.can_run() {
        return blocking(move || drawn(written).map(Json)).await;
    }
    may_run(&state, &visitor)?;
    let tools = listed(&state).await?;
    blocking(move || checked(&state, &tools, written).map(Json)).await
}

/// Draws a plan without a check: a view of a client already has the result of the check.
fn drawn(written: WrittenPlan) -> Result<CheckResult, ApiError> {
    let loaded = read(&written.text, named(written.dialect.as_ref()))?.with_inputs(written.inputs);
    let plan = loaded.plan.as_ref();
    let graph =
        plan.map(|plan| Drawing::of_unchecked(plan).layout(&std::collections::BTreeSet::new()));
    let inputs = plan.map_or(&[][..], |plan| &plan.inputs);
    Ok(CheckResult {
        ok: plan.is_some() && !loaded.diagnostics.has_errors(),
        inputs: inputs.iter().map(InputEntry::of).collect(),
        dialect: loaded.dialect,
        diagnostics: entries(&loaded.diagnostics, &written.text),
        graph,
        estimate: None,
    })
}

fn checked(
    state: &PageState,
    tools: &OpenTools,
    written: WrittenPlan,
) -> Result<CheckResult, ApiError> {
    let loaded = read(&written.text, named(written.dialect.as_ref()))?.with_inputs(written.inputs);
    let unchecked = loaded.plan.clone();
    let inputs = unchecked.as_ref().map_or(&[][..], |plan| &plan.inputs);
    let inputs = inputs.iter().map(InputEntry::of).collect();
    let (plan, loaded) = tools.service.check_loaded(loaded);
    let graph = match (&plan, &unchecked) {
        (Some(plan), _) => {
            let mut drawing = Drawing::of(plan);
            (state.settings.mark_flow)(&mut drawing, plan, loaded.labels());
            Some(drawing.layout(&std::collections::BTreeSet::new()))
        }
        (None, Some(plan)) => {
            Some(Drawing::of_unchecked(plan).layout(&std::collections::BTreeSet::new()))
        }
        (None, None) => None,
    };
    let estimate = match &plan {
        Some(plan) => Some(EstimateEntry::of(state, tools, plan)?),
        None => None,
    };
    Ok(CheckResult {
        ok: plan.is_some(),
        dialect: loaded.dialect,
        diagnostics: entries(&loaded.diagnostics, &written.text),
        graph,
        estimate,
        inputs,
    })
}

impl InputEntry {
    fn of(input: &Input) -> Self {
        Self {
            name: Arc::clone(&input.name),
            schema: input.schema.clone(),
            default: input.default.clone(),
            required: input.default.is_none(),
        }
    }
}

impl EstimateEntry {
    fn of(state: &PageState, tools: &OpenTools, plan: &CheckedPlan) -> Result<Self, ApiError> {
        let durations = state.settings.store.durations()?;
        let estimate = tools.service.estimate(plan, &durations);
        Ok(Self {
            expected_ms: estimate.expected.as_secs_f64() * 1000.0,
            calls: estimate.calls,
            work_ms: estimate.work.as_secs_f64() * 1000.0,
            path: estimate
                .path
                .iter()
                .map(|call| call.at.to_string())
                .collect(),
        })
    }
}

/// The diagnostics with their places in `text`, as editors count.
fn entries(diagnostics: &Diagnostics, text: &str) -> Vec<DiagnosticEntry> {
    let mut offsets: Vec<usize> = diagnostics
        .iter()
        .filter_map(|diagnostic| diagnostic.span)
        .flat_map(|span| [span.start, span.end])
        .collect();
    offsets.sort_unstable();
    offsets.dedup();
    let places = Places::of(text, &offsets);
    let entry = |diagnostic: &Diagnostic| {
        // Plans that the plan runs by name have separate texts.
        let span = diagnostic.span.filter(|_| diagnostic.source.is_none());
        let start = span.and_then(|span| places.at(span.start));
        let end = span.and_then(|span| places.at(span.end));
        DiagnosticEntry {
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity,
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            pointer: diagnostic.pointer.clone(),
            start: start.map(|place| place.offset),
            end: end.map(|place| place.offset),
            line: start.map(|place| place.line),
            column: start.map(|place| place.column),
        }
    };
    diagnostics.iter().map(entry).collect()
}

/// A place in a text, in UTF-16 units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextPlace {
    offset: usize,
    line: usize,
    column: usize,
}

/// The places at some bytes of a text.
struct Places(Vec<(usize, TextPlace)>);

impl Places {
    /// Finds the places at `offsets`, which are sorted, in one pass.
    fn of(text: &str, offsets: &[usize]) -> Self {
        let mut place = TextPlace {
            offset: 0,
            line: 1,
            column: 1,
        };
        let mut found = Vec::with_capacity(offsets.len());
        let mut wanted = offsets.iter().copied().peekable();
        for (byte, character) in text.char_indices() {
            while let Some(offset) = wanted.next_if(|offset| *offset <= byte) {
                found.push((offset, place));
            }
            place.offset += character.len_utf16();
            if character == '\n' {
                place.line += 1;
                place.column = 1;
            } else {
                place.column += character.len_utf16();
            }
        }
        found.extend(wanted.map(|offset| (offset, place)));
        Self(found)
    }

    fn at(&self, byte: usize) -> Option<TextPlace> {
        let position = self.0.binary_search_by_key(&byte, |(byte, _)| *byte).ok()?;
        self.0.get(position).map(|(_, place)| *place)
    }
}

/// A plan to convert.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanToConvert {
    text: String,
    dialect: Option<String>,
    to: String,
}

#[derive(Serialize)]
pub(crate) struct Conversion {
    /// The plan; none if the dialect cannot express it.
    text: Option<String>,
    /// The parts that the dialect cannot express, and other diagnostics.
    losses: Vec<String>,
}

/// Converts a plan. This needs no tools, so every visitor may do it.
pub(crate) async fn convert(
    JsonBody(new): JsonBody<PlanToConvert>,
) -> Result<Json<Conversion>, ApiError> {
    blocking(move || {
        let target = dialects::dialect(&new.to)
            .ok_or_else(|| ApiError::bad(format!("no dialect is called `{}`", new.to)))?;
        let loaded = read(&new.text, named(new.dialect.as_ref()))?;
        let mut diagnostics = loaded.diagnostics;
        let plan = loaded.plan.filter(|_| !diagnostics.has_errors());
        let text = plan.and_then(|plan| {
            let (text, found) = target.print(&plan);
            diagnostics.extend(found);
            text
        });
        let text = text.filter(|_| !diagnostics.has_errors());
        let losses = diagnostics
            .iter()
            .map(|diagnostic| diagnostic.message.clone());
        Ok(Json(Conversion {
            text,
            losses: losses.collect(),
        }))
    })
    .await
}

/// A plan to run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanToRun {
    text: String,
    dialect: Option<String>,
    #[serde(default)]
    inputs: Object,
    mode: Mode,
    /// The script of the simulated tools, in the format of `--simulate`. Without it, each tool answers with an example of its output.
    simulate: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Dry,
    Simulated,
    Real,
}

/// A run that has started, or the preview of a dry run.
#[derive(Default, Serialize)]
pub(crate) struct Started {
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<ReportV1>,
}

pub(crate) async fn run(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(new): JsonBody<PlanToRun>,
) -> Result<Json<Started>, ApiError> {
    may_run(&state, &visitor)?;
    if new.simulate.is_some() && new.mode != Mode::Simulated {
        return Err(ApiError::bad("`simulate` belongs to `simulated` alone"));
    }
    let loaded = read(&new.text, named(new.dialect.as_ref()))?.with_inputs(new.inputs);
    let tools = match new.mode {
        Mode::Dry => listed(&state).await?,
        Mode::Simulated => {
            let script = match &new.simulate {
                Some(text) => simulated(text)?,
                None => script(&listed(&state).await?),
            };
            let simulated = state.settings.tools.simulate(script).await?;
            OpenTools {
                service: simulated.service.without_learning(),
                ..simulated
            }
        }
        Mode::Real => state.settings.tools.open(loaded.tool_names()).await?,
    };
    blocking(move || {
        let (plan, loaded) = tools.service.check_loaded(loaded);
        let Some(plan) = plan else {
            let first = loaded.diagnostics.iter().find(|found| found.is_error());
            let reason = first.map_or_else(String::new, |found| format!(": {}", found.message));
            let message = format!("the plan is not sound{reason}");
            return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, message));
        };
        let mut found = loaded.diagnostics.iter();
        if let Some(unknown) = found.find(|found| found.code == Code::UnknownInput) {
            let error = ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, &unknown.message);
            return Err(match &unknown.help {
                Some(help) => error.help(help),
                None => error,
            });
        }
        let started = match new.mode {
            Mode::Dry => Started {
                preview: Some(previewed(&plan, &loaded)),
                ..Started::default()
            },
            Mode::Simulated | Mode::Real => Started {
                run: Some(launch(&state, tools, plan, &loaded)?),
                ..Started::default()
            },
        };
        Ok(Json(started))
    })
    .await
}

fn previewed(plan: &CheckedPlan, loaded: &LoadedPlan) -> ReportV1 {
    let diagnostics = loaded.diagnostics.iter().cloned();
    let mut report = ReportV1::without_run(ReportStatus::DryRun, loaded.dialect, diagnostics);
    report.plan.name.clone_from(&plan.plan().name);
    report.steps = preview(plan, &EvaluationLimits::default())
        .iter()
        .map(StepV1::from)
        .collect();
    report
}

fn launch(
    state: &PageState,
    tools: OpenTools,
    plan: CheckedPlan,
    loaded: &LoadedPlan,
) -> Result<RunId, ApiError> {
    let now = (state.settings.now)();
    let store = &state.settings.store;
    let id = RunId::random();
    let run = tools.service.launch(RunSpec {
        id: id.clone(),
        options: RunOptions {
            secret_values: (tools.external_values)(&plan)?,
            ..tools.options.clone()
        },
        approver: inbox_approver(store),
        storage: RunStorage::New {
            store: store.clone(),
            holder: LeaseHolder::this_process("", now),
            run: Box::new(loaded.new_run(tools.sources.clone(), now)),
        },
        ..RunSpec::new(plan)
    })?;
    state.running.drive(run, tools);
    Ok(id)
}

/// Returns the approver of a run of the page: its calls that need consent wait in the inbox.
pub(super) fn inbox_approver(store: &Store) -> Arc<dyn Approver> {
    let approver = StoreApprover::new(store.clone()).or(Arc::new(Always(Decision::Later)));
    Arc::new(approver.waiting())
}

/// Reads a script that a person wrote. The tools of the page store it in a file, whose name would be no help.
fn simulated(text: &str) -> Result<Value, ApiError> {
    let script = Value::from_json(text)
        .map_err(|error| ApiError::bad(format!("the simulated tools are not JSON: {error}")))?;
    Simulated::from_script(&script).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        ApiError::bad("this is not a file of simulated tools").help(faults.join("\n"))
    })?;
    Ok(script)
}

/// A script in which each tool answers with an example of its output.
fn script(tools: &OpenTools) -> Value {
    let catalog = tools.service.catalog();
    let tools = catalog.tools().map(|tool| {
        let effects = &tool.annotations;
        let annotations = Value::object([
            ("readOnlyHint", Value::from(effects.read_only)),
            ("destructiveHint", Value::from(effects.destructive)),
            ("idempotentHint", Value::from(effects.idempotent)),
            ("openWorldHint", Value::from(effects.open_world)),
        ]);
        let fields = [
            ("input_schema", tool.input.as_value().clone()),
            ("output_schema", tool.output.as_value().clone()),
            ("annotations", annotations),
            ("approval", Value::from(tool.needs_approval())),
            ("returns", example(&tool.output).unwrap_or_default()),
        ];
        let fields = fields
            .into_iter()
            .filter(|(_, value)| *value != Value::Null);
        (tool.qualified_name().to_string(), Value::object(fields))
    });
    let tools: Vec<(String, Value)> = tools.collect();
    let tools = Value::object(
        tools
            .iter()
            .map(|(name, tool)| (name.as_str(), tool.clone())),
    );
    Value::object([("tools", tools)])
}

/// The stored declaration of the inputs of a plan.
pub(super) fn declared(loaded: &LoadedPlan) -> Value {
    loaded.plan.as_ref().map_or(Value::Null, declared_inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_editors_count() {
        let text = "a😀\nä\"";
        let places = Places::of(text, &[0, 1, 5, 6, 8, 9]);
        let place = |byte| {
            let place = places.at(byte).unwrap();
            (place.offset, place.line, place.column)
        };
        assert_eq!(place(0), (0, 1, 1));
        assert_eq!(place(1), (1, 1, 2));
        assert_eq!(place(5), (3, 1, 4));
        assert_eq!(place(6), (4, 2, 1));
        assert_eq!(place(8), (5, 2, 2));
        assert_eq!(place(9), (6, 2, 3));
    }
}
