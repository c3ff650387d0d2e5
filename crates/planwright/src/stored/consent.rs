//! Consent to a plan as a whole.

use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::{Object, Value};
use planwright_engine::RunOptions;
use planwright_engine::run::redacted_inputs;
use sha2::{Digest, Sha256};

use super::tools_of;

/// The digest that consent to a whole plan is bound to: SHA-256 in hexadecimal digits over what the plan means, what it is given,
/// and each tool that it calls with its definition, the identity of its server, and what is assumed of its effects. If secrets are
/// among what it is given, a keyed digest of them follows behind a dot, for runs with a key to seal it with.
///
/// Consent ends when any of it changes: a tool that has become destructive, a server that is another program.
pub fn plan_consent(plan: &CheckedPlan, options: &RunOptions) -> String {
    let shown = redacted_inputs(plan, &options.masked_texts());
    let tools = tools_of(plan).into_iter().map(|tool| {
        let assumed = &tool.annotations;
        let flags = [
            assumed.read_only,
            assumed.destructive,
            assumed.idempotent,
            assumed.open_world,
            assumed.trusted,
            tool.approval,
        ];
        Value::list([
            Value::from(tool.definition_digest()),
            Value::list(flags.map(Value::from)),
        ])
    });
    let parts = [
        Value::from("planwright.plan-consent/1"),
        Value::from(plan.digest()),
        Value::from(shown.clone()),
        Value::list(tools),
    ];
    // Without a flow policy, the digest is that of earlier versions.
    let flow = plan
        .flow()
        .map(|flow| Value::Text(Arc::clone(&flow.policy).into()));
    let all = Value::list(parts.into_iter().chain(flow));
    let digest = Sha256::digest(all.to_json());
    let hex = digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a text cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let given: Object = plan.inputs().clone();
    let is_sealed = shown
        .iter()
        .any(|(name, value)| given.get(name) != Some(value));
    match &options.seal_key {
        Some(key) if is_sealed => format!("{hex}.{}", key.seal(&Value::from(given))),
        _ => hex,
    }
}
