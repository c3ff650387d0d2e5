//! `GET /api/runs/ID` and its parts: the graph, the report, and one step.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use indexmap::IndexMap;
use planwright::core::Object;
use planwright::drawing::{GraphLayoutV1, LaidOutStepV1, TimelineV1};
use planwright::engine::run::estimate;
use planwright::format::{DiffV1, ReportV1, RevisionV1, RunClock, UsageV1, milliseconds};
use planwright::service::StepStates;
use planwright::stored::{OpenQuestion, PlanChange, StoredRun, compare_runs};
use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::control::{is_offered, may_run};
use super::find;
use super::input::Parameters;
use super::inspection::Inspections;
use super::states::StepStateEntry;
use super::step::{StepDetail, detail};
use crate::board::{Question, RunRow, WholeArguments};
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;

/// A run with the graph of its plan.
#[derive(Serialize)]
struct RunPicture<'a> {
    run: Arc<RunRow>,
    title: Option<&'a str>,
    /// The number of journal entries that the states contain.
    seq: usize,
    /// The graph; `None` if the plan has errors now.
    graph: Option<Cow<'a, GraphLayoutV1>>,
    /// The reason why there is no graph.
    no_graph: Option<&'a str>,
    /// The states of the steps that have begun, by address.
    states: IndexMap<String, StepStateEntry>,
    revisions: Vec<Revision>,
    /// True if the run can be cancelled from this page.
    can_cancel: bool,
    /// True if the run can be resumed from this page.
    can_resume: bool,
    /// True if what the run did can be undone from this page, as far as that is known without its tools.
    can_revert: bool,
}

/// The data of plans and tools in the response with a run.
#[derive(Serialize)]
struct RunData<'a> {
    /// The inputs, without secrets.
    inputs: &'a Object,
    questions: Vec<Arc<Question>>,
}

/// A change of the plan of a run.
#[derive(Serialize)]
struct Revision {
    /// The number of the plan, from 2.
    number: usize,
    /// The reason, if a model wrote the plan after a failure.
    reason: Option<RevisionV1>,
    /// True if the previous plan was a beginning that the model did not continue.
    ends_beginning: bool,
}

pub(crate) async fn show(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    blocking(move || picture(&state, &visitor, &id)).await
}

/// Writes the response. This is done here, on a thread that may block, because the response of a large plan would delay the events of other
/// pages.
fn picture(state: &PageState, visitor: &Visitor, id: &str) -> Result<Response, ApiError> {
    let info = find(state, visitor, id)?;
    let (run, questions) = state.board.row(&info)?;
    let read = Inspections::read(state, &info)?;
    let layout = read.plan.layout(&*state.settings.mark_flow, &read.stored);
    let (graph, no_graph) = match layout {
        Ok(layout) => {
            let mut layout = Cow::Borrowed(layout);
            // The plan does not say whether a step runs for several instances.
            let is_new = |node: &LaidOutStepV1| !node.is_group && read.parts.is_divided(&node.at);
            if layout.nodes.iter().any(is_new) {
                for node in &mut layout.to_mut().nodes {
                    node.is_group |= read.parts.is_divided(&node.at);
                }
            }
            (Some(layout), None)
        }
        Err(reason) => (None, Some(reason)),
    };
    let plan = read.plan.checked.as_ref().ok();
    let is_driven = info.holder.is_some();
    let revision = |(index, change): (usize, PlanChange)| Revision {
        number: index + 2,
        reason: change.revision,
        ends_beginning: change.ends_beginning,
    };
    let data = RunData {
        inputs: &read.stored.vars,
        questions,
    };
    let picture = RunPicture {
        title: plan.and_then(|plan| plan.plan().title.as_deref()),
        seq: read.states.entries(),
        graph,
        no_graph,
        states: StepStateEntry::all(&read.states, read.states.addresses(), is_driven),
        revisions: read
            .stored
            .changes()
            .into_iter()
            .enumerate()
            .map(revision)
            .collect(),
        can_cancel: info.is_cancellable(),
        can_resume: !is_driven
            && run.status != "succeeded"
            && !read.stored.is_unfinished()
            && may_run(state, visitor).is_ok(),
        can_revert: may_run(state, visitor).is_ok() && is_offered(&info, &read.stored),
        run,
    };
    response_with(&picture, &data)
}

#[derive(Deserialize)]
pub(crate) struct GraphParameters {
    /// The addresses of the steps and parts that are open, with commas between them.
    open: Option<String>,
    /// The number of the plan, from 1.
    revision: Option<usize>,
}

/// The graph of a run, with the states of the items and rounds that are open in it. They are not part of the stream of events: a
/// change of one changes the state of its step. The graph of an earlier plan has the states of all steps, at the time of its
/// replacement.
#[derive(Serialize)]
pub(crate) struct OpenGraph {
    #[serde(flatten)]
    layout: GraphLayoutV1,
    /// The states, by address.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    parts: IndexMap<String, StepStateEntry>,
}

pub(crate) async fn graph(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Parameters(parameters): Parameters<GraphParameters>,
) -> Result<Response, ApiError> {
    blocking(move || {
        let info = find(&state, &visitor, &id)?;
        let open = parameters.open.unwrap_or_default();
        let open = open.split(',').filter(|at| !at.is_empty());
        let open: BTreeSet<String> = open.map(str::to_owned).collect();
        let graph = match parameters.revision {
            None => {
                let read = Inspections::read(&state, &info)?;
                let layout = read.drawing(&state)?.layout_of_run(&open, &read.parts);
                let nodes = layout.nodes.iter();
                let parts = nodes.filter_map(|node| {
                    let at = node.part_address.as_ref()?;
                    let state = read.part_state(at, node.is_group)?;
                    Some((node.at.clone(), state))
                });
                OpenGraph {
                    parts: parts.collect(),
                    layout,
                }
            }
            Some(number) => {
                let stored = StoredRun::read(&state.settings.store, info.id.as_str())?;
                let entries = stored.entries.len();
                let missing = || ApiError::missing("plan", &number.to_string());
                let before = number.checked_sub(1).ok_or_else(missing)?;
                let stored = stored.with_plan(before)?.ok_or_else(missing)?;
                let plan = stored.latest_plan()?;
                let mut drawing = planwright::drawing::Drawing::of(&plan);
                (state.settings.mark_flow)(&mut drawing, &plan, &stored.labels());
                let is_driven = info.holder.is_some() && stored.entries.len() == entries;
                let mut states = StepStates::new(info.id, plan.plan().steps.len());
                for entry in &stored.entries {
                    states.entry(entry);
                }
                OpenGraph {
                    layout: drawing.layout(&open),
                    parts: StepStateEntry::all(&states, states.addresses(), is_driven),
                }
            }
        };
        response_of(&graph)
    })
    .await
}

pub(crate) async fn report(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Json<ReportV1>, ApiError> {
    blocking(move || {
        let info = find(&state, &visitor, &id)?;
        let read = Inspections::read(&state, &info)?;
        let summary = read.summary()?;
        let plan = read.plan()?;
        let dialect = read.stored.plan.dialect.as_str();
        let report = ReportV1::of_run(summary, Some(dialect), plan.warnings().iter().cloned());
        // The tokens and cost of models are not stored.
        let report = report.revised(&read.stored.revisions(), UsageV1::default());
        Ok(Json(report))
    })
    .await
}

#[derive(Deserialize)]
pub(crate) struct StepParameters {
    /// Set if the response must contain long values in full.
    whole: Option<String>,
}

pub(crate) async fn step(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path((id, address)): Path<(String, String)>,
    Parameters(parameters): Parameters<StepParameters>,
) -> Result<Json<StepDetail>, ApiError> {
    blocking(move || {
        let info = find(&state, &visitor, &id)?;
        let read = Inspections::read(&state, &info)?;
        detail(&read, &address, parameters.whole.is_some()).map(Json)
    })
    .await
}

/// The whole arguments of a call that waits.
pub(crate) async fn call(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path((id, address)): Path<(String, String)>,
) -> Result<Json<WholeArguments>, ApiError> {
    blocking(move || {
        let info = find(&state, &visitor, &id)?;
        let read = Inspections::read(&state, &info)?;
        let open = OpenQuestion::of(&info.id, &read.history);
        let call = WholeArguments::at(open, &address, &read.states);
        Ok(Json(
            call.ok_or_else(|| ApiError::missing("call", &address))?,
        ))
    })
    .await
}

/// The timeline of a run, with its expected time.
#[derive(Serialize)]
pub(crate) struct RunTimeline {
    #[serde(flatten)]
    timeline: TimelineV1,
    /// The present time, if a process drives the run.
    now_ms: Option<f64>,
    /// The expected duration, by the durations that were known when the run began or was resumed last.
    estimate_ms: Option<f64>,
}

pub(crate) async fn timeline(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    blocking(move || {
        let info = find(&state, &visitor, &id)?;
        let read = Inspections::read(&state, &info)?;
        let plan = read.plan.checked.as_ref().ok();
        let options = read.stored.options();
        let expected = plan.map(|plan| {
            estimate(
                plan,
                &options.durations,
                &options.limits,
                &options.evaluation,
            )
            .expected
        });
        let mut clock = RunClock::new(info.created);
        let last = read
            .stored
            .entries
            .iter()
            .map(|entry| (clock.time(entry), entry.at))
            .last();
        let now = last.filter(|_| info.holder.is_some()).map(|(time, at)| {
            let since = (state.settings.now)().duration_since(time);
            milliseconds(at + since.unwrap_or_default())
        });
        response_of(&RunTimeline {
            timeline: TimelineV1::of(plan, &read.stored.entries, &read.history, &read.states),
            now_ms: now,
            estimate_ms: expected.map(milliseconds),
        })
    })
    .await
}

#[derive(Deserialize)]
pub(crate) struct DiffParameters {
    a: String,
    b: String,
}

pub(crate) async fn diff(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Parameters(parameters): Parameters<DiffParameters>,
) -> Result<Json<DiffV1>, ApiError> {
    blocking(move || {
        let before = find(&state, &visitor, &parameters.a)?;
        let after = find(&state, &visitor, &parameters.b)?;
        Ok(Json(compare_runs(&state.settings.store, &before, &after)?))
    })
    .await
}

// Most numbers of a response are coordinates and times of Planwright itself. They are written as JavaScript writes them, because the page
// marks each number that JavaScript would change, and that takes long for the tens of thousands of numbers of a large run. Data of plans
// and tools is not changed.

/// The largest whole number that is written without a fraction, as JavaScript does.
const MAX_WHOLE: f64 = 1e15;

/// Writes whole numbers without a fraction: `4`, not `4.0`.
struct OwnNumbers;

impl Formatter for OwnNumbers {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if value.fract() == 0.0 && value.abs() < MAX_WHOLE {
            // The addition turns a negative zero into a positive one.
            write!(writer, "{:.0}", value + 0.0)
        } else {
            CompactFormatter.write_f64(writer, value)
        }
    }
}

/// Returns a response without data of plans and tools.
fn response_of(own: &impl Serialize) -> Result<Response, ApiError> {
    Ok(json(written(own)?))
}

/// Returns one object with the fields of `own` and those of `data`, whose numbers stay as they were written. Each has at least one field.
fn response_with(own: &impl Serialize, data: &impl Serialize) -> Result<Response, ApiError> {
    let mut body = written(own)?;
    let data = serde_json::to_vec(data).map_err(|error| ApiError::unwritable(&error))?;
    body.pop();
    body.push(b',');
    body.extend(data.into_iter().skip(1));
    Ok(json(body))
}

fn written(own: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::new();
    let written = own.serialize(&mut Serializer::with_formatter(&mut body, OwnNumbers));
    written.map_err(|error| ApiError::unwritable(&error))?;
    Ok(body)
}

fn json(body: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn whole_numbers_of_planwright_have_no_fraction() {
        let own = json!({"x": [410.0, -0.0, 0.5, -7.0, 1e15, 3]});
        let response = response_with(&own, &json!({"inputs": {"a": 1.0}})).unwrap();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX);
        let body = body.await.unwrap();
        let expected = r#"{"x":[410,0,0.5,-7,1000000000000000.0,3],"inputs":{"a":1.0}}"#;
        assert_eq!(String::from_utf8(body.to_vec()).unwrap(), expected);
    }
}
