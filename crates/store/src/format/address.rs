//! An address, written so that nothing of it is lost: ids of steps may hold any character.

use std::sync::Arc;

use planwright_core::StepId;
use planwright_engine::event::Address;
use serde::{Deserialize, Serialize};

/// How many plans may be inside of each other, far more than ever are: what is dropped is dropped from the outermost inwards,
/// one within the other.
const DEEPEST: usize = 1024;

/// From the outermost plan inwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AddressV1(Vec<SpotV1>);

/// One step in one plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpotV1 {
    step: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
}

impl AddressV1 {
    pub(crate) fn of(address: &Address) -> Self {
        let mut spots = Vec::with_capacity(address.depth() + 1);
        let mut next = Some(address);
        while let Some(at) = next {
            spots.push(SpotV1 {
                step: Arc::clone(at.step.text()),
                instance: at.instance.clone(),
                item: at.item,
                round: at.round,
            });
            next = at.inside.as_deref();
        }
        spots.reverse();
        Self(spots)
    }

    pub(crate) fn read(&self) -> Result<Arc<Address>, String> {
        if DEEPEST < self.0.len() {
            return Err(format!("an address is inside of more than {DEEPEST} plans"));
        }
        let mut outer = None;
        for spot in &self.0 {
            outer = Some(Arc::new(Address {
                inside: outer.take(),
                instance: spot.instance.clone(),
                step: StepId::new(Arc::clone(&spot.step)),
                item: spot.item,
                round: spot.round,
            }));
        }
        outer.ok_or_else(|| "an address names no step".to_owned())
    }
}
