//! Tools that clients of the `search` mode find, read about and call.

use planwright::core::Value;
use planwright_serve::GatewayMode;
use serde_json::json;

use super::host::{Scene, run_of, simulated, text};

#[tokio::test]
async fn tools_are_found_described_and_called() {
    let scene = Scene::with(|settings| settings.mode = GatewayMode::Search);
    let found = scene
        .call("a", "search_tools", json!({"query": "echo"}))
        .await;
    // The best results are described in full.
    insta::assert_snapshot!(text(&found), @"
    simulated.echo
    takes nothing that is described
    effects: may destroy something, reaches beyond its own data
    ");
    let called = scene
        .call(
            "a",
            "call_tool",
            json!({"tool": "echo", "arguments": {"x": 1}}),
        )
        .await;
    assert_eq!(called["structuredContent"], json!({"result": {"x": 1}}));
    let unknown = scene.call("a", "call_tool", json!({"tool": "ecko"})).await;
    insta::assert_snapshot!(text(&unknown), @"there is no tool `ecko`: did you mean `simulated.echo`?");
    let asks = scene.call("a", "call_tool", json!({"tool": "pay"})).await;
    assert_eq!(asks["structuredContent"]["status"], "waiting", "{asks}");
    let resume = json!({"run": run_of(&asks)});
    let waits = scene.call("a", "resume_plan", resume).await;
    assert_eq!(waits["structuredContent"]["status"], "waiting", "{waits}");
    let scene = Scene::governed("[tools]\ndeny = [\"simulated.echo\"]\n", |settings| {
        settings.mode = GatewayMode::Search;
    });
    let denied = scene.call("a", "call_tool", json!({"tool": "echo"})).await;
    insta::assert_snapshot!(text(&denied), @"the policy denies the tool `simulated.echo`; the rule is `simulated.echo` in `planwright.toml:2`: do without the tool, or ask for another policy");
}

/// Clients without `describe_tools` learn the whole descriptions of the best results.
#[tokio::test]
async fn a_search_describes_the_best_results() {
    let script = || {
        Value::from(json!({"tools": {
            "flights": {
                "description": "Find flights. Use codes such as HAM-1.",
                "input_schema": {"type": "object", "properties": {
                    "to": {"type": "string", "description": "the code of the airport"}}},
            },
            "hotels": {"description": "Find hotels. Use names of towns."},
        }}))
    };
    for (mode, query, is_described) in [
        (GatewayMode::Search, "flights", true),
        (GatewayMode::Search, "", false),
        (GatewayMode::Plan, "flights", false),
    ] {
        let scene = Scene::with(|settings| {
            settings.mode = mode;
            settings.own = simulated(&script());
        });
        let found = scene
            .call("a", "search_tools", json!({"query": query}))
            .await;
        let found = text(&found);
        for part in ["Use codes such as HAM-1.", "the code of the airport"] {
            assert_eq!(found.contains(part), is_described, "{query}: {found}");
        }
    }
}
