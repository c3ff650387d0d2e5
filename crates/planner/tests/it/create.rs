//! Plan creation with scripted models: the prompts, and the outcome.
//!
//! A case is a file in `tests/golden/create`: the goal, the tools, the context and the replies. Its snapshot holds the whole
//! conversation and the outcome.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use planwright_core::{Catalog, CheckContext, CheckedPlan, Schema, Tool};
use planwright_dialects::native::PlanDialect;
use planwright_planner::create::{CreateSettings, PlanOrigin, PlanRequest, PlanResponse, create};
use planwright_planner::model::{Message, ModelRequest};
use planwright_planner::prompt::{Memory, PlanTask, TimeContext, TimePhrase};
use serde_json::Value as Json;

use crate::support::RecordedModel;
use crate::support::{assert_golden, cases, read, value};

#[tokio::test]
async fn plans_are_created_from_goals() {
    for file in cases("create") {
        check(&file).await;
    }
}

/// Questions about the same tools, on other days and with other memory, have one system prompt.
#[test]
fn prompts_of_different_questions_begin_with_the_same_bytes() {
    let file = cases("create").remove(0);
    let catalog = catalog(&Json::Null, &file);
    let memory = Memory::read(&value(&serde_json::json!({"semantic": ["a fact"]}))).unwrap();
    let prompt = |goal, today, memory| {
        let task = PlanTask {
            goal,
            moment: TimeContext { today, times: &[] },
            catalog: &catalog,
            memory,
            state: None,
        };
        task.prompt(6000, 1000, PlanDialect::Json)
    };
    let one = prompt("Which shipments were rejected?", "2025-10-12", None);
    let other = prompt("Where is Berlin?", "2025-10-13", Some(&memory));
    assert!(one.is_shared && other.is_shared);
    assert_eq!(one.system, other.system);
    assert_ne!(one.text, other.text);
}

/// Runs the case in `file` and compares it with its snapshot.
async fn check(file: &Path) {
    let case = read(file);
    let catalog = catalog(&case, file);
    let times: Vec<TimePhrase> = list(&case["times"]).iter().map(time).collect();
    let memory = case
        .get("context")
        .map(|memory| Memory::read(&value(memory)).unwrap());
    let state = case.get("state").map(value);
    let model = RecordedModel::new(case["replies"].as_array().unwrap());
    let mut settings = CreateSettings::default();
    if let Some(word) = case["notation"].as_str() {
        settings.dialect = word.parse().unwrap();
    }
    if let Some(tries) = case["tries"].as_u64() {
        settings.tries = NonZeroU32::new(tries.try_into().unwrap()).unwrap();
    }
    if let Some(tokens) = case["tool_tokens"].as_u64() {
        settings.tool_tokens = tokens.try_into().unwrap();
    }
    let estimate = |_: &CheckedPlan| Some(Duration::from_millis(1500));
    let creation = PlanRequest {
        model: &model,
        task: PlanTask {
            goal: case["goal"].as_str().unwrap(),
            moment: TimeContext {
                today: case["today"].as_str().unwrap_or("2025-10-12 (Sunday), UTC"),
                times: &times,
            },
            catalog: &catalog,
            memory: memory.as_ref(),
            state: state.as_ref(),
        },
        check: CheckContext::new(&catalog),
        origin: PlanOrigin {
            timestamp: "2025-10-12T06:00:00.000Z",
            estimate: &estimate,
        },
        settings: &settings,
    };
    let created = create(&creation).await;
    let requests = model.requests();
    // Prose is sent back cut to a limit.
    for (attempt, request) in created.attempts.iter().zip(requests.iter().skip(1)) {
        let heard = request.messages.iter().rev().nth(1);
        let Some(Message::Assistant { text, .. }) = heard else {
            panic!("{}: {heard:?}", file.display());
        };
        let limit = if attempt.contains_plan {
            usize::MAX
        } else {
            2048
        };
        assert!(text.len() <= limit, "{}: {text}", file.display());
    }
    assert_eq!(
        case["sound"],
        created.plan.is_some(),
        "{}: {created:?}",
        file.display()
    );
    assert_golden(file, &shown(&requests, &created));
}

/// Formats the conversation and the outcome. Each request repeats the previous ones, so only the new part is shown.
fn shown(requests: &[ModelRequest], created: &PlanResponse) -> String {
    let mut text = String::new();
    if let Some(first) = requests.first() {
        // The rules are the same in all cases.
        let (_, tools) = first.system.split_once("\n\nThe tools.").unwrap();
        writeln!(text, "--- system\n… The tools.{}", tools.trim_end()).unwrap();
    }
    for (index, request) in requests.iter().enumerate() {
        // A further request repeats the question with the latest reply and its errors only.
        assert_eq!(request.messages.len(), if index == 0 { 1 } else { 3 });
        assert_eq!(request.system, requests[0].system);
        let Some(Message::User(words)) = request.messages.last() else {
            panic!("the last word is the model's: {request:?}");
        };
        writeln!(text, "--- asked\n{}", words.trim_end()).unwrap();
        if let Some(attempt) = created.attempts.get(index) {
            for repair in &attempt.repairs {
                writeln!(text, "--- mended\n{repair:?}").unwrap();
            }
            for diagnostic in &attempt.diagnostics {
                writeln!(text, "--- found\n{diagnostic}").unwrap();
            }
        }
    }
    if let Some(declined) = &created.declined {
        writeln!(text, "--- declined\nthe model {declined}").unwrap();
    }
    if let Some(failure) = &created.failure {
        writeln!(text, "--- failed\n{failure}").unwrap();
        if !failure.reply.is_empty() {
            writeln!(text, "--- said\n{}", failure.reply).unwrap();
        }
    }
    if let Some(plan) = &created.plan {
        writeln!(text, "--- plan\n{}", plan.text.trim_end()).unwrap();
    }
    text
}

/// Returns the tools of a case: its own, those it names of the shared ones, or all shared ones.
fn catalog(case: &Json, file: &Path) -> Catalog {
    let own = case.get("tools").filter(|tools| tools.is_object());
    let shared = read(&file.with_file_name("tools.json"));
    let all = own.unwrap_or(&shared).as_object().unwrap();
    let tools = all.iter().map(|(name, tool)| {
        let (server, name) = name.split_once('.').unwrap_or(("waste", name));
        Tool {
            description: tool["description"].as_str().map(Into::into),
            input: Schema::from_value(value(&tool["input"])),
            output: Schema::from_value(value(
                tool.get("output")
                    .unwrap_or(&Json::Object(serde_json::Map::new())),
            )),
            ..Tool::new(server, name)
        }
    });
    tools.collect()
}

fn list(value: &Json) -> Vec<Json> {
    value.as_array().cloned().unwrap_or_default()
}

fn time(value: &Json) -> TimePhrase {
    let text = |index: usize| value[index].as_str().unwrap().to_owned();
    TimePhrase {
        phrase: text(0),
        from: text(1),
        to: text(2),
    }
}
