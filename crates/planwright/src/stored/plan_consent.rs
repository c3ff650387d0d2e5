//! The digest that consent to the whole plan of a run is bound to, and the tools that it covers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::{Object, PlanConsent, ServerName, Tool, Value};
use planwright_engine::RunOptions;
use planwright_engine::journal::Entry;
use planwright_engine::run::redacted_inputs;
use sha2::{Digest, Sha256};

use crate::format::{ChoiceV1, FormatError, ProcessV1};

/// Returns the digest that consent to the whole plan of a new run is bound to: SHA-256 in hexadecimal digits over the meaning of
/// the plan, its inputs, and for each tool its definition, the identity of its server, and its assumed effects. For runs with a
/// key to seal them with, a keyed digest of secret inputs and of the values of `env` and `secrets` references follows after a
/// dot; without a key, consent covers only their names. Consent ends if any of these changes, for example if a tool has become
/// destructive, or if a server has been replaced by another program. [`EarlierConsents`] has the digests of resumed runs.
pub fn plan_consent(plan: &CheckedPlan, options: &RunOptions) -> PlanConsent {
    consent_after(&[], plan, options)
}

/// The digests that consent to the whole plan was bound to under the earlier processes of a run, in order.
///
/// A process that resumes the run and changes anything, be it the plan, an input, a tool, or the outcome of a step, has a digest
/// that no earlier process had. The digest also covers earlier changes: results of an earlier plan stay in the run even if a
/// later process returns to the approved plan.
#[derive(Clone, Debug, Default)]
pub struct EarlierConsents(Vec<Option<PlanConsent>>);

impl EarlierConsents {
    /// Reads the digests from the headers in a journal.
    ///
    /// # Errors
    ///
    /// If another version wrote it.
    pub fn of(entries: &[Entry]) -> Result<Self, FormatError> {
        let headers = entries.iter().filter_map(|entry| entry.record.header());
        let consents = headers.map(|header| Ok(ProcessV1::from_value(header)?.plan_consent));
        consents.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the digest for the next process of the run, whose header is `process`.
    pub fn next(
        &self,
        process: &ProcessV1,
        plan: &CheckedPlan,
        options: &RunOptions,
    ) -> PlanConsent {
        let Self(all) = self;
        if !changes_results(process)
            && let Some(Some(latest)) = all.last()
        {
            let since = all
                .iter()
                .rposition(|consent| consent.as_ref() != Some(latest));
            let before = all.get(..since.map_or(0, |index| index + 1));
            if consent_after(before.unwrap_or_default(), plan, options) == *latest {
                return latest.clone();
            }
        }
        consent_after(all, plan, options)
    }
}

/// Returns true if a process changes results of earlier ones. A repeated call of the same tool is no such change.
fn changes_results(process: &ProcessV1) -> bool {
    let is_change = |choice: &ChoiceV1| choice.choice != "retry";
    !process.forgotten.is_empty()
        || !process.retained.is_empty()
        || process.choices.iter().any(is_change)
}

/// The digest of consent to a plan after processes with the digests `before`.
fn consent_after(
    before: &[Option<PlanConsent>],
    plan: &CheckedPlan,
    options: &RunOptions,
) -> PlanConsent {
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
        Value::from(plan.digest().as_str()),
        Value::from(shown.clone()),
        Value::list(tools),
    ];
    // Without a flow policy and in a new run, the digest is that of earlier versions.
    let flow = plan.flow().map(|flow| Value::from(&*flow.policy));
    let before = (!before.is_empty()).then(|| {
        let before = before.iter().map(|consent| match consent {
            Some(consent) => Value::from(&**consent),
            None => Value::Null,
        });
        Value::list(before)
    });
    let all = Value::list(parts.into_iter().chain(flow).chain(before));
    let digest = Sha256::digest(all.to_json());
    let hex = digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a text cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    match (&options.seal_key, sealed(plan, options, &shown)) {
        (Some(key), Some(sealed)) => format!("{hex}.{}", key.seal(&sealed)).into(),
        _ => hex.into(),
    }
}

/// The values that are sealed: all inputs if one of them is secret, and those of `env` and `secrets` references.
fn sealed(plan: &CheckedPlan, options: &RunOptions, shown: &Object) -> Option<Value> {
    let inputs = plan.inputs();
    let is_secret = shown
        .iter()
        .any(|(name, value)| inputs.get(name) != Some(value));
    let outside: Object = plan
        .outside()
        .into_iter()
        .filter_map(|(what, name)| {
            let text = options.secret_values.get(what, &name)?;
            Some((Arc::from(format!("{what}.{name}")), Value::from(&*text)))
        })
        .collect();
    let inputs = || Value::from(inputs.clone());
    match (is_secret, outside.is_empty()) {
        (false, true) => None,
        (true, true) => Some(inputs()),
        (_, false) => Some(Value::list([inputs(), Value::from(outside)])),
    }
}

/// The tools that a plan calls, those that undo its steps and those of the plans that it runs included, by name.
pub fn tools_of(plan: &CheckedPlan) -> Vec<Arc<Tool>> {
    type Tools = BTreeMap<(ServerName, Arc<str>), Arc<Tool>>;
    fn collect(plan: &CheckedPlan, tools: &mut Tools) {
        for step in plan.steps() {
            for tool in step.tool.iter().chain(&step.undo) {
                tools
                    .entry((tool.server.clone(), Arc::clone(&tool.name)))
                    .or_insert_with(|| tool.listed());
            }
            if let Some(inner) = &step.plan {
                collect(inner, tools);
            }
        }
    }
    let mut tools = Tools::new();
    collect(plan, &mut tools);
    tools.into_values().collect()
}
