//! Lossless encoding of addresses: ids of steps may contain any character, so an address is a list, not a text.

use std::sync::Arc;

use planwright_core::StepId;
use planwright_engine::event::Address;
use serde::{Deserialize, Serialize};

/// The maximum nesting of plans, far above what occurs. An address is dropped recursively, so this bounds the stack.
const MAX_NESTED_PLANS: usize = 1024;

/// The positions, the outermost plan first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AddressV1(Vec<PositionV1>);

/// A step of one plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PositionV1 {
    step: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
}

impl AddressV1 {
    pub(crate) fn encode(address: &Address) -> Self {
        let mut positions = Vec::with_capacity(address.depth() + 1);
        let mut next = Some(address);
        while let Some(at) = next {
            positions.push(PositionV1 {
                step: Arc::clone(at.step.text()),
                instance: at.instance.clone(),
                item: at.item,
                round: at.round,
            });
            next = at.inside.as_deref();
        }
        positions.reverse();
        Self(positions)
    }

    pub(crate) fn decode(&self) -> Result<Arc<Address>, String> {
        if MAX_NESTED_PLANS < self.0.len() {
            return Err(format!(
                "an address is nested in more than {MAX_NESTED_PLANS} plans"
            ));
        }
        let mut outer = None;
        for position in &self.0 {
            outer = Some(Arc::new(Address {
                inside: outer.take(),
                instance: position.instance.clone(),
                step: StepId::new(Arc::clone(&position.step)),
                item: position.item,
                round: position.round,
            }));
        }
        outer.ok_or_else(|| "an address names no step".to_owned())
    }
}
