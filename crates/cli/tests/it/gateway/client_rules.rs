//! The rules of `[clients]`: what a client sees, calls and decides, alone and in plans.

use std::sync::Arc;

use planwright::mcp::gateway::{GatewayClient, Host};
use planwright_serve::GatewayMode;
use serde_json::{Value, json};

use super::continued::endless;
use super::host::{Scene, named, run_of};

const RULES: &str = r#"
[clients.staff]
who = ["group:staff"]
allow = ["simulated.echo", "simulated.pay", "simulated.broken"]
ask = ["simulated.echo"]
[clients.staff.budgets]
calls = 2

[clients.guest]
who = ["token:guest"]
deny = ["simulated.echo"]
max_plans = 1

[clients.help]
who = ["token:help"]
runs_of = ["subject:ada"]

[clients.boss]
who = ["token:boss"]
runs_of = ["*"]
"#;

/// A client with a token of the group `staff`.
fn ada() -> GatewayClient {
    let mut client = named("oauth:https://id.example.com#ada");
    client.groups = ["staff".into()].into();
    client
}

async fn call(scene: &Scene, client: &GatewayClient, tool: &str, arguments: Value) -> Value {
    let answered = scene.start_as(client.clone(), tool, arguments).await;
    Value::from(&answered.unwrap())
}

fn plan(tools: &[&str]) -> Value {
    let steps: Vec<Value> = tools
        .iter()
        .enumerate()
        .map(|(at, tool)| json!({"id": format!("s{at}"), "tool": tool, "args": {}}))
        .collect();
    json!({"plan": {"steps": steps}})
}

/// Returns all that a client learns about tools: lists, search, descriptions, calls, and the errors of plans.
async fn learned(scene: &Scene, client: &GatewayClient, tool: &str) -> Vec<String> {
    let tools = Arc::clone(&scene.host).tools(client.clone()).await;
    let mut all = vec![
        tools
            .iter()
            .map(|tool| Value::from(tool).to_string())
            .collect(),
    ];
    for (name, arguments) in [
        ("search_tools", json!({"query": tool})),
        ("search_tools", json!({"query": ""})),
        ("describe_tools", json!({"tools": [tool]})),
        ("check_plan", plan(&[tool])),
        ("execute_plan", plan(&[tool])),
    ] {
        all.push(call(scene, client, name, arguments).await.to_string());
    }
    all
}

#[tokio::test]
async fn a_tool_that_is_not_allowed_is_unknown() {
    let scene = Scene::governed(RULES, |_| {});
    for (client, hidden, visible) in [
        (ada(), "long", "echo"),
        (named("token:guest"), "echo", "long"),
    ] {
        // A tool that exists nowhere is described by the same words.
        let nowhere = learned(&scene, &client, "nope").await;
        let about = learned(&scene, &client, hidden).await;
        for (about, nowhere) in about.iter().zip(&nowhere) {
            assert_eq!(about.replace(hidden, "nope"), *nowhere);
        }
        let listed = &about[0];
        assert!(listed.contains(&format!("simulated.{visible}")), "{listed}");
        assert!(
            about[3].contains("unknown") || about[3].contains("no tool"),
            "{}",
            about[3]
        );
        assert!(about[5].contains("PW"), "{}", about[5]);
    }
    // Other clients have all tools.
    for client in [named("local"), named("token:other")] {
        let about = learned(&scene, &client, "echo").await;
        assert!(about[0].contains("simulated.echo") && about[0].contains("simulated.long"));
        assert!(about[5].contains("succeeded"), "{}", about[5]);
    }
}

#[tokio::test]
async fn a_call_by_name_is_refused_as_well() {
    let scene = Scene::governed(RULES, |settings| settings.mode = GatewayMode::Search);
    let arguments = |tool: &str| json!({"tool": tool, "arguments": {}});
    let guest = named("token:guest");
    let refused = call(&scene, &guest, "call_tool", arguments("echo")).await;
    let nowhere = call(&scene, &guest, "call_tool", arguments("nope")).await;
    assert_eq!(refused["isError"], true);
    assert_eq!(
        refused.to_string().replace("echo", "nope"),
        nowhere.to_string()
    );
    let other = call(
        &scene,
        &named("token:other"),
        "call_tool",
        arguments("echo"),
    )
    .await;
    assert_ne!(other["isError"], true, "{other}");
}

#[tokio::test]
async fn approvals_and_budgets_are_those_of_the_client() {
    let scene = Scene::governed(RULES, |_| {});
    let asked = call(&scene, &ada(), "execute_plan", plan(&["echo"])).await;
    assert_eq!(asked["structuredContent"]["status"], "waiting", "{asked}");
    let free = call(
        &scene,
        &named("token:other"),
        "execute_plan",
        plan(&["echo"]),
    )
    .await;
    assert_eq!(free["structuredContent"]["status"], "succeeded");
    let spent = |client: GatewayClient| {
        let steps = (0..3).map(|at| json!({"id": format!("s{at}"), "tool": "broken", "args": {}, "on_error": "continue"}));
        let plan = json!({"plan": {"steps": steps.collect::<Vec<_>>()}});
        let scene = &scene;
        async move { call(scene, &client, "execute_plan", plan).await.to_string() }
    };
    let bounded = spent(ada()).await;
    assert!(
        bounded.contains("the limit of `planwright.toml:"),
        "{bounded}"
    );
    let unbounded = spent(named("token:other")).await;
    assert!(!unbounded.contains("the limit of"), "{unbounded}");
}

#[tokio::test]
async fn plans_in_progress_are_limited_by_client() {
    let scene = Scene::governed(RULES, |_| {});
    let (_first, _) = endless(&scene, "token:guest").await;
    let arguments = json!({"plan": {"steps": [{"id": "a", "value": 1}]}});
    let second = call(&scene, &named("token:guest"), "execute_plan", arguments).await;
    assert_eq!(second["isError"], true, "{second}");
    let refused = second.to_string();
    assert!(
        refused.contains("the maximum of plans in progress (1)"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_run_belongs_to_the_client_that_started_it() {
    let scene = Scene::governed(RULES, |_| {});
    let waiting = call(&scene, &ada(), "execute_plan", plan(&["pay"])).await;
    let id = run_of(&waiting);
    let get = json!({"run": id});
    let nowhere = call(
        &scene,
        &named("token:guest"),
        "get_run",
        json!({"run": "nope"}),
    )
    .await
    .to_string();
    let mut other_issuer = ada();
    other_issuer.id = named("oauth:https://other.example.com#ada").id;
    for stranger in [
        named("token:guest"),
        named("token:ada"),
        named("local"),
        other_issuer,
    ] {
        for tool in ["get_run", "resume_plan"] {
            let answer = call(&scene, &stranger, tool, get.clone()).await.to_string();
            assert_eq!(answer.replace(id, "nope"), nowhere, "{tool} {stranger:?}");
        }
    }
    for viewer in [ada(), named("token:help"), named("token:boss")] {
        let seen = call(&scene, &viewer, "get_run", get.clone()).await;
        assert_eq!(seen["structuredContent"]["status"], "waiting", "{seen}");
    }
    // A run that another client resumes stays that of its owner.
    let resumed = call(&scene, &named("token:help"), "resume_plan", get.clone()).await;
    assert_eq!(run_of(&resumed), id);
    let stored = scene.store.run(id).unwrap();
    let stored = planwright::stored::StoredRun::read(&scene.store, stored.id.as_str()).unwrap();
    assert_eq!(stored.run.client.as_deref(), Some(ada().id.as_str()));
    let again = call(&scene, &ada(), "get_run", get.clone()).await;
    assert_eq!(run_of(&again), id);
    let guest = call(&scene, &named("token:guest"), "get_run", get.clone()).await;
    assert_eq!(guest["isError"], true);
    // `help` sees no runs of other clients, and `boss` no runs of the local user.
    let of_guest = call(
        &scene,
        &named("token:guest"),
        "execute_plan",
        plan(&["long"]),
    )
    .await;
    let of_local = call(&scene, &named("local"), "execute_plan", plan(&["long"])).await;
    for (viewer, run, is_seen) in [
        ("token:help", &of_guest, false),
        ("token:boss", &of_guest, true),
        ("token:boss", &of_local, false),
    ] {
        let answer = call(
            &scene,
            &named(viewer),
            "get_run",
            json!({"run": run_of(run)}),
        )
        .await;
        assert_eq!(answer["isError"] != true, is_seen, "{viewer}: {answer}");
    }
}

#[tokio::test]
async fn another_client_that_resumes_a_run_drops_none_of_its_approvals() {
    let scene = Scene::governed(RULES, |_| {});
    let waiting = call(&scene, &ada(), "execute_plan", plan(&["echo"])).await;
    assert_eq!(waiting["structuredContent"]["status"], "waiting");
    let run = json!({"run": run_of(&waiting)});
    let resumed = call(&scene, &named("token:help"), "resume_plan", run).await;
    assert_eq!(
        resumed["structuredContent"]["status"], "waiting",
        "{resumed}"
    );
}

#[tokio::test]
async fn tools_of_servers_that_pass_through_are_narrowed_as_well() {
    let scene = Scene::governed(RULES, |settings| settings.mode = GatewayMode::Plain);
    let allows = |client: &GatewayClient, tool: &str| {
        let tool = planwright::core::Tool::new("simulated", tool);
        scene.host.allows(client, &tool).is_ok()
    };
    assert!(allows(&ada(), "echo") && !allows(&ada(), "long"));
    assert!(!allows(&named("token:guest"), "echo") && allows(&named("token:guest"), "long"));
    assert!(allows(&named("token:other"), "echo") && allows(&named("local"), "echo"));
    let mut stranger = ada();
    stranger.groups = Arc::default();
    assert!(allows(&stranger, "long"));
    let long = planwright::core::Tool::new("simulated", "long");
    assert!(!scene.host.knows(&ada(), &long) && scene.host.knows(&stranger, &long));
}
