//! The engine with tools that do nothing or sleep.

use std::time::Duration;

use planwright_core::check::CheckedPlan;
use planwright_core::{Catalog, Value};
use planwright_engine::backend::{Function, Functions, ToolOutput};
use planwright_engine::{Backends, Bound, Engine, Guards, RunOptions, RunStatus, RunSummary};
use serde_json::json;

use crate::plans;

/// Returns the tools of the server `here`: `noop` returns `null`, `big` a list of ten megabytes, `sleep` sleeps for `ms` milliseconds.
pub fn functions() -> Functions {
    let big = Value::list((0..100).map(|_| Value::text("x".repeat(100_000))));
    let give = |value: Value| async move { Ok(ToolOutput::value(value)) };
    Functions::named("here")
        .with(Function::raw("noop", move |_| give(Value::Null)))
        .with(Function::raw("small", move |_| {
            give(Value::list([Value::text("x")]))
        }))
        .with(Function::raw("big", move |_| give(big.clone())))
        .with(Function::raw("sleep", |args: Value| async move {
            let pause = args.get("ms").and_then(Value::as_u64).unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            Ok(ToolOutput::value(Value::Null))
        }))
}

/// Returns the catalog of [`functions`].
pub fn catalog() -> Catalog {
    functions().tools().cloned().collect()
}

/// Creates an engine with [`functions`].
pub fn engine() -> Engine {
    Engine::new(Backends::new().with("here", functions()))
}

/// Creates an engine with [`functions`], whose runs may write values of any size, such as ten megabytes to each of a thousand calls.
pub fn engine_for_large_values() -> Engine {
    let guards = Guards {
        written_bytes: Some(Bound::new(u64::MAX)),
        ..Guards::default()
    };
    engine().with_options(RunOptions {
        guards,
        ..RunOptions::default()
    })
}

/// Runs a plan to its end.
///
/// # Panics
///
/// If it does not succeed.
pub async fn run(engine: &Engine, plan: CheckedPlan) -> RunSummary {
    let summary = engine.run("run".parse().expect("an id"), plan).await;
    let error = summary.steps.iter().find_map(|step| step.error.as_ref());
    assert_eq!(summary.status, RunStatus::Succeeded, "{error:?}");
    summary
}

/// Returns a plan in which `readers` steps receive the whole result of the tool `source`.
pub fn one_to_many(source: &str, readers: usize) -> CheckedPlan {
    let readers = (0..readers).map(
        |number| json!({"id": format!("r{number}"), "tool": "noop", "args": {"all": "${source}", "n": number}}),
    );
    let steps: Vec<serde_json::Value> = std::iter::once(json!({"id": "source", "tool": source}))
        .chain(readers)
        .collect();
    plans::checked(
        &json!({"steps": steps, "output": ["r0"]}).to_string(),
        &catalog(),
    )
}
