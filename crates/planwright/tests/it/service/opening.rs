//! Tools are opened together, or what is in the way is said.

use std::num::NonZeroU32;

use planwright::config::{Config, ConfigSource, Origin};
use planwright::core::Tool;
use planwright::core::check::{Policy, check};
use planwright::core::plan::RetryPolicy;
use planwright::engine::RunOptions;
use planwright::engine::backend::Simulated;
use planwright::service::Builder;
use planwright::{Functions, Planwright, Value, parse};
use serde_json::json;

use super::support::{fake, functions};

fn script() -> serde_json::Value {
    json!({"tools": [{"name": "echo"}]})
}

fn simulated(server: &str) -> Simulated {
    let script = json!({"tools": {format!("{server}.say"): {"returns": "no"}}});
    Simulated::from_script(&Value::from(script)).unwrap()
}

async fn names(builder: Builder) -> Vec<String> {
    let planwright = builder.open().await.unwrap();
    let catalog = planwright.catalog();
    let names = catalog
        .tools()
        .map(|tool| tool.qualified_name().to_string())
        .collect();
    planwright.close().await;
    names
}

#[tokio::test]
async fn every_source_adds_its_tools() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    std::fs::write(&file, fake(&script())).unwrap();
    let all = Planwright::builder()
        .functions(functions())
        .backend("own", [Tool::new("other", "tool")], Functions::new())
        .simulated(simulated("played"))
        .servers_file(&file);
    let expected = [
        "functions.weather",
        "functions.note",
        "functions.never",
        "own.tool",
        "played.say",
        "fake.echo",
    ];
    assert_eq!(names(all).await, expected);
    let workspace = Planwright::builder().workspace(folder.path());
    assert_eq!(names(workspace).await.len(), 5);
}

#[tokio::test]
async fn a_configuration_rules_over_tools_and_runs() {
    let text = "tools.deny = ['never']\ntools.ask = ['note']\nbudgets.calls = 1";
    let source = ConfigSource::read(Origin::Project, "planwright.toml", text).unwrap();
    let builder = Planwright::builder()
        .functions(functions())
        .config(Config::of([&source]));
    check_configured(builder).await;
    let builder = Planwright::builder()
        .config(Config::of([&source]))
        .policy(Policy::new())
        .options(RunOptions::default())
        .functions(functions());
    check_configured(builder).await;
}

async fn check_configured(builder: Builder) {
    let planwright = builder.open().await.unwrap();
    let denied = r#"{"steps": [{"id": "a", "tool": "never"}]}"#;
    assert!(planwright.check(parse(denied)).is_err());
    let asks: Vec<bool> = planwright
        .catalog()
        .tools()
        .map(|tool| tool.needs_approval())
        .collect();
    assert_eq!(asks, [false, true, false]);
    let twice = r#"{"steps": [{"id": "a", "tool": "weather", "args": {"city": "Oslo"}},
        {"id": "b", "tool": "weather", "args": {"city": "Rome"}}]}"#;
    let summary = planwright
        .run(planwright.check(parse(twice)).unwrap())
        .await
        .unwrap();
    assert_eq!(summary.calls.len(), 1);
    let error = summary.steps[1].error.as_ref().unwrap();
    assert_eq!(
        error.data.get("set_in"),
        Some(&Value::from("planwright.toml:3"))
    );
}

#[tokio::test]
async fn variables_are_looked_up() {
    let config = fake(&script()).replace(
        "\"command\"",
        "\"env\": {\"KEY\": \"${NAME}\"}, \"command\"",
    );
    let planwright = Planwright::builder()
        .servers_json(config)
        .variables(|name| (name == "NAME").then(|| "secret-value".to_owned()))
        .open()
        .await
        .unwrap();
    let text =
        r#"{"steps": [{"id": "a", "tool": "echo", "args": {"x": "has secret-value inside"}}]}"#;
    let plan = planwright.check(parse(text)).unwrap();
    let summary = planwright.run(plan).await.unwrap();
    assert_eq!(
        summary.output,
        Value::from(json!({"a": {"x": "has [redacted] inside"}}))
    );
    planwright.close().await;
}

#[tokio::test]
async fn what_is_open_can_be_used_without_it() {
    let options = RunOptions {
        retry: RetryPolicy {
            attempts: NonZeroU32::new(2).unwrap(),
            ..RetryPolicy::default()
        },
        secrets: vec!["Oslo".into()],
        ..RunOptions::default()
    };
    let builder = Planwright::builder().functions(functions());
    let planwright = builder.options(options).open().await.unwrap();
    let text = r#"{"steps": [{"id": "a", "tool": "weather", "args": {"city": "Oslo"}}]}"#;
    let (plan, findings) = check(parse(text).plan.unwrap(), &planwright.check_context());
    assert!(findings.is_empty());
    let plan = plan.unwrap();
    let hidden = Value::from(json!({"a": {"city": "[redacted]", "temp": 4}}));
    let summary = planwright
        .engine()
        .run("r".parse().unwrap(), plan.clone())
        .await;
    assert_eq!(summary.output, hidden);
    // Other options do not show what was secret.
    let summary = planwright
        .run(plan)
        .options(RunOptions::default())
        .await
        .unwrap();
    assert_eq!(summary.output, hidden);
    assert_eq!(planwright.options().retry.attempts.get(), 2);
}

/// The message and the way out of a failed opening.
async fn failure(builder: Builder) -> (String, Option<String>) {
    let error = builder.open().await.unwrap_err();
    (error.to_string(), error.help().map(str::to_owned))
}

#[tokio::test]
async fn what_is_in_the_way_is_said() {
    let twice = Planwright::builder()
        .functions(functions())
        .functions(Functions::new());
    assert_eq!(failure(twice).await.0, "two servers are called `functions`");
    let gone = Planwright::builder().servers_file("no/such/mcp.json");
    assert_eq!(failure(gone).await.0, "cannot read `no/such/mcp.json`");
    let gone = Planwright::builder().workspace("no/such/folder");
    assert_eq!(failure(gone).await.0, "cannot read `no/such/folder`");
    let (message, help) = failure(Planwright::builder().servers_json("{}")).await;
    assert_eq!(message, "mcp.json: the file has no `mcpServers`");
    assert!(help.unwrap().starts_with("write `{\"mcpServers\""));
    let missing = Planwright::builder().server("gone", "planwright-no-such-program", ["--now"]);
    let (message, help) = failure(missing).await;
    assert!(message.starts_with("the server `gone` did not start: "));
    assert!(help.is_some());
    let broken = Planwright::builder().server("broken", "sh", ["-c", "echo oh no >&2; exit 3"]);
    let error = broken.open().await.unwrap_err();
    let message = format!("{error:?}");
    assert!(message.ends_with("\nIt wrote:\noh no"), "{message}");
}

#[tokio::test]
async fn a_missing_server_may_be_left_out() {
    let planwright = Planwright::builder()
        .functions(functions())
        .server::<&str>("gone", "planwright-no-such-program", [])
        .without_missing_servers()
        .open()
        .await
        .unwrap();
    assert_eq!(&*planwright.missing_servers()[0].server, "gone");
    assert_eq!(planwright.catalog().len(), 3);
}
