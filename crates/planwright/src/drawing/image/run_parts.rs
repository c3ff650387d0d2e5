//! The items, rounds and instances of a run's steps, which a layout draws as nodes inside of their steps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use planwright_engine::event::Address;

/// The items, rounds and instances of a run's steps, by the step.
#[derive(Clone, Debug, Default)]
pub struct RunParts(HashMap<String, BTreeMap<PartKey, Arc<Address>>>);

/// The instance, item and round of a part, by which it is sorted.
type PartKey = (Option<Arc<str>>, Option<u64>, Option<u64>);

impl RunParts {
    /// Collects the parts with a record in the journal of a run, from the `addresses` in it.
    pub fn of<'a>(addresses: impl IntoIterator<Item = &'a Arc<Address>>) -> Self {
        let mut found = Self::default();
        for at in addresses {
            found.add(at);
        }
        found
    }

    /// Adds a part, and the parts that contain it.
    fn add(&mut self, at: &Arc<Address>) {
        if let Some(outer) = &at.inside {
            self.add(outer);
        }
        let Some((whole, _)) = whole_of(at) else {
            return;
        };
        let key = (at.instance.clone(), at.item, at.round);
        let parts = self.0.entry(whole.to_string()).or_default();
        if parts.insert(key, Arc::clone(at)).is_none() {
            self.add(&Arc::new(whole));
        }
    }

    /// The parts of the step, item or instance at `at`, in order.
    pub(super) fn parts(&self, at: &Address) -> impl Iterator<Item = &Arc<Address>> {
        self.0
            .get(&at.to_string())
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    /// Returns true if the step at the address `at` has parts.
    pub fn is_divided(&self, at: &str) -> bool {
        self.0.contains_key(at)
    }
}

/// The address that a part belongs to, and the kind of the part; `None` for a whole step.
pub(super) fn whole_of(at: &Address) -> Option<(Address, PartKind)> {
    let mut whole = at.clone();
    let kind = if whole.round.take().is_some() {
        PartKind::Round
    } else if whole.item.take().is_some() {
        PartKind::Item
    } else {
        whole.instance.take()?;
        PartKind::Instance
    };
    Some((whole, kind))
}

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// An item of a loop.
    Item,
    /// A round of a repetition.
    Round,
    /// A step for one of several instances of its plan.
    Instance,
    /// All parts beyond those that are drawn.
    Rest,
}

impl PartKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Round => "round",
            Self::Instance => "instance",
            Self::Rest => "rest",
        }
    }
}
