//! The capabilities and instructions of the gateway.

use planwright_core::Value;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};

use super::state::GatewayState;
use crate::upstream::{UpstreamState, UpstreamView};

pub(super) const METHODS: &[&str] = &[
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// The methods that 2026-07-28 has removed.
pub(super) const REMOVED_METHODS: &[&str] = &[
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Returns the configuration for the handshake response.
pub(super) fn config(gateway: &GatewayState) -> ServerConfig {
    let view = gateway.upstreams.view();
    let mut config = ServerConfig::new(capabilities(gateway, &view));
    config.server_info = Implementation::new("planwright", env!("CARGO_PKG_VERSION"));
    config.instructions = instructions(gateway, &view);
    config
}

fn capabilities(gateway: &GatewayState, view: &UpstreamView) -> ServerCapabilities {
    let passes_through = gateway.passes_through();
    // The capabilities of a starting server are unknown.
    let is_open = view
        .servers
        .iter()
        .any(|server| matches!(server.state, UpstreamState::Idle | UpstreamState::Starting));
    let has = |name: &str| {
        passes_through
            && (is_open
                || view
                    .servers
                    .iter()
                    .any(|server| server.capabilities.get(name).is_some()))
    };
    let mut offered = serde_json::json!({"tools": {"listChanged": true}});
    // Outputs that are too large for a response are resources, with and without passthrough.
    offered["resources"] = if has("resources") {
        serde_json::json!({"subscribe": true, "listChanged": true})
    } else {
        serde_json::json!({})
    };
    if has("prompts") {
        offered["prompts"] = serde_json::json!({"listChanged": true});
    }
    for plain in ["completions", "logging"] {
        if has(plain) {
            offered[plain] = serde_json::json!({});
        }
    }
    if gateway.host.supports_tasks() {
        offered["extensions"] = serde_json::json!({"io.modelcontextprotocol/tasks": {}});
    }
    serde_json::from_value(offered).unwrap_or_default()
}

/// Returns the instructions of the host, followed by those of the servers in passthrough mode.
fn instructions(gateway: &GatewayState, view: &UpstreamView) -> Option<String> {
    let mut parts: Vec<String> = gateway.host.instructions().into_iter().collect();
    if gateway.passes_through() {
        let says = |instructions: &Value| instructions.as_text().map(str::to_owned);
        let mut own: Vec<(&str, String)> = Vec::new();
        for server in &view.servers {
            own.extend(says(&server.instructions).map(|text| (&*server.name, text)));
        }
        match own.as_slice() {
            [(_, only)] if view.servers.len() == 1 => parts.push(only.clone()),
            several => parts.extend(several.iter().map(|(name, text)| format!("{name}: {text}"))),
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}
