//! Our methods: a plan that runs once it is written, and one that runs while it is written.

use planwright_core::{CheckContext, CheckedPlan};
use planwright_dialects::native::PlanDialect;
use planwright_engine::{Engine, RunStatus, RunSummary};
use planwright_planner::create::{CreateSettings, PlanOrigin, PlanRequest, create};
use planwright_planner::model::Model;
use planwright_planner::prompt::{PlanTask, TimeContext};
use planwright_planner::stream::{StreamRequest, stream};

use super::scene::{Scene, Server, catalog, model};

/// The outcome of a run that began while its plan was written.
#[derive(Clone, Copy, Debug)]
pub struct StreamedOutcome {
    /// The share of the plan that was written when the first call was sent, between 0 and 1.
    pub first_call_at: f64,
}

/// Waits for the whole plan, then runs it.
pub async fn plan_then_run(scene: &Scene, dialect: PlanDialect) {
    let model = model([text(scene, dialect)]);
    let catalog = catalog();
    let settings = settings(dialect);
    let created = create(&creation(&model, &catalog, &settings)).await;
    let plan = created.plan.expect("a sound plan");
    let summary = Engine::new(Server::of(scene))
        .run("run".parse().unwrap(), plan.checked)
        .await;
    check(scene, &summary);
}

/// Runs the plan while it is written.
pub async fn streamed(scene: &Scene, dialect: PlanDialect) -> StreamedOutcome {
    let model = model([text(scene, dialect)]);
    let catalog = catalog();
    let settings = settings(dialect);
    let engine = Engine::new(Server::of(scene));
    let streamed = stream(StreamRequest {
        creation: creation(&model, &catalog, &settings),
        launcher: &engine,
        run: "run".parse().expect("an id"),
        storage: None,
        listener: &mut |_| {},
    })
    .await;
    check(scene, &streamed.summary.expect("a run"));
    StreamedOutcome {
        first_call_at: streamed.first_call_at.expect("a call"),
    }
}

fn text(scene: &Scene, dialect: PlanDialect) -> String {
    match dialect {
        PlanDialect::Json => scene.plan(),
        PlanDialect::Lines => scene.plan_in_lines(),
    }
}

fn settings(dialect: PlanDialect) -> CreateSettings {
    let mut settings = CreateSettings::default();
    settings.dialect = dialect;
    settings
}

fn check(scene: &Scene, summary: &RunSummary) {
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(summary.calls.len(), scene.calls.len());
}

fn creation<'a>(
    model: &'a dyn Model,
    catalog: &'a planwright_core::Catalog,
    settings: &'a CreateSettings,
) -> PlanRequest<'a> {
    PlanRequest {
        model,
        task: PlanTask {
            goal: "go",
            moment: TimeContext {
                today: "2025-10-12 (Sunday), UTC",
                times: &[],
            },
            catalog,
            memory: None,
            state: None,
        },
        check: CheckContext::new(catalog),
        origin: PlanOrigin {
            timestamp: "2025-10-12T06:00:00.000Z",
            estimate: &no_estimate,
        },
        settings,
    }
}

fn no_estimate(_: &CheckedPlan) -> Option<std::time::Duration> {
    None
}
