//! Revision of failed plans with scripted models.
//!
//! A case is a file in `tests/golden/adapt`: tools as `--simulate` takes them, a plan that fails, the replies, and optionally the step whose
//! arguments to correct. Its snapshot holds the whole conversation and the outcome.

use std::fmt::Write as _;
use std::path::Path;

use planwright_core::{Catalog, CheckContext, CheckedPlan, Diagnostics, check as check_plan};
use planwright_dialects::{ReadOptions, parse};
use planwright_engine::backend::Simulated;
use planwright_engine::{Engine, RunStatus};
use planwright_planner::adapt::{FailedRun, ReplanRequest, correct, replan};
use planwright_planner::create::CreateSettings;
use planwright_planner::dates::{Now, Zone};
use planwright_planner::model::{Message, ModelRequest};
use planwright_planner::prompt::{TimeContext, TimePhrase};
use serde_json::Value as Json;

use crate::support::RecordedModel;
use crate::support::{assert_golden, cases, read, value};

#[tokio::test]
async fn failed_runs_get_a_revised_plan() {
    for file in cases("adapt") {
        check(&file).await;
    }
}

/// Runs the case in `file` and compares it with its snapshot.
async fn check(file: &Path) {
    let case = read(file);
    let tools = planwright_core::Value::object([("tools", value(&case["tools"]))]);
    let simulated = Simulated::from_script(&tools).unwrap();
    let catalog: Catalog = simulated.tools().cloned().collect();
    let check = |text: &str| checked(text, &catalog);
    let (before, diagnostics) = checked(&case["plan"].to_string(), &catalog);
    let before = before.unwrap_or_else(|| panic!("{}: {diagnostics}", file.display()));
    let summary = Engine::new(simulated)
        .run("run".parse().unwrap(), before.clone())
        .await;
    assert_eq!(summary.status, RunStatus::Failed, "{}", file.display());
    let failed_run = FailedRun::of(&before, &summary).unwrap();
    let model = RecordedModel::new(case["replies"].as_array().unwrap());
    let now = Now::parse("2025-10-12T09:00:00Z", &Zone::utc()).unwrap();
    let times = TimePhrase::all(failed_run.goal.as_deref().unwrap_or_default(), &now);
    let revision = ReplanRequest {
        model: &model,
        failed_run: &failed_run,
        before: &before,
        moment: TimeContext {
            today: "2025-10-12 (Sunday), UTC",
            times: &times,
        },
        catalog: &catalog,
        check: &check,
        settings: &CreateSettings::default(),
    };
    let mut found = String::new();
    let plan = match case["correct"].as_str() {
        Some(step) => {
            let mut troubles = failed_run.correctable(&before).into_iter();
            let trouble = troubles.find(|trouble| &*trouble.step == step);
            let trouble = trouble.unwrap_or_else(|| panic!("`{step}` cannot be corrected"));
            let correction = correct(&revision, trouble).await;
            if let Some(correction_failure) = &correction.correction_failure {
                writeln!(
                    found,
                    "--- correction_failure\nthe model {correction_failure}"
                )
                .unwrap();
            }
            if let Some(failure) = &correction.failure {
                writeln!(found, "--- failed\n{failure}").unwrap();
            }
            correction.plan
        }
        None => {
            let revised = replan(&revision).await;
            for diagnostic in revised
                .attempts
                .iter()
                .flat_map(|attempt| &attempt.diagnostics)
            {
                writeln!(found, "--- found\n{diagnostic}").unwrap();
            }
            if let Some(declined) = &revised.declined {
                writeln!(found, "--- declined\nthe model {declined}").unwrap();
            }
            if let Some(failure) = &revised.failure {
                writeln!(found, "--- failed\n{failure}\nit said: {}", failure.reply).unwrap();
            }
            revised.plan
        }
    };
    assert_eq!(case["sound"], plan.is_some(), "{}", file.display());
    let text = plan.map_or_else(String::new, |(text, _)| pretty(&text));
    let asked = asked(&model.requests());
    assert_golden(file, &format!("{asked}{found}--- plan\n{text}\n"));
}

fn checked(text: &str, catalog: &Catalog) -> (Option<CheckedPlan>, Diagnostics) {
    let options = ReadOptions::new("plan.json").in_dialect("native");
    let read = parse(text.as_bytes(), &options);
    let Some(plan) = read.plan else {
        return (None, read.diagnostics);
    };
    check_plan(plan, &CheckContext::new(catalog))
}

fn asked(requests: &[ModelRequest]) -> String {
    let mut text = String::new();
    if let Some(first) = requests.first() {
        // The rules of plans are the same in all cases.
        let tools = first.system.split_once("\n\nThe tools.");
        let system = match tools {
            Some((_, tools)) => format!("… The tools.{tools}"),
            None => first.system.to_string(),
        };
        writeln!(text, "--- system\n{}", system.trim_end()).unwrap();
    }
    for request in requests {
        let Some(Message::User(words)) = request.messages.last() else {
            panic!("the last word is the model's: {request:?}");
        };
        writeln!(text, "--- asked\n{}", words.trim_end()).unwrap();
    }
    text
}

fn pretty(text: &str) -> String {
    let json: Json = serde_json::from_str(text).unwrap();
    serde_json::to_string_pretty(&json).unwrap()
}
