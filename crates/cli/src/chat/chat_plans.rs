//! The plans of a conversation.

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::{Deserialize, Serialize};

/// A plan that was written in a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChatPlan {
    pub(super) goal: String,
    pub(super) text: String,
}

/// The plans of a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct ChatPlans {
    /// The plans by their ids, the oldest first.
    pub(super) by_id: IndexMap<String, ChatPlan>,
    /// The number of the plan that was written last.
    pub(super) last_number: u64,
}

impl ChatPlans {
    /// The plans of a stored conversation. Files of an earlier version have no last number.
    pub(super) fn stored(by_id: IndexMap<String, ChatPlan>, last_number: u64) -> Self {
        let numbers = by_id
            .keys()
            .filter_map(|id| id.strip_prefix("plan-")?.parse().ok());
        let last_number = numbers.fold(last_number, u64::max);
        Self { by_id, last_number }
    }

    /// Adds a plan under an id that no other plan has or had, and returns the id.
    pub(super) fn add(&mut self, plan: ChatPlan) -> String {
        loop {
            self.last_number += 1;
            let id = format!("plan-{}", self.last_number);
            // The name of a saved plan may look like such an id.
            if let Entry::Vacant(place) = self.by_id.entry(id.clone()) {
                place.insert(plan);
                return id;
            }
        }
    }
}
