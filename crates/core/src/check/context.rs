//! The context of a check: tools, other plans, policy and inputs.

use crate::flow::RecalledLabels;
use std::sync::Arc;

use indexmap::IndexMap;

use super::policy::Policy;
use crate::{Catalog, Object, Plan};

/// The context that a plan is checked against.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    /// The tools that the plan may call.
    pub catalog: &'a Catalog,
    /// The plans that it may run by name.
    pub library: &'a Library,
    /// The policy that it must obey.
    pub policy: &'a Policy,
    /// The inputs and variables of the run, by name.
    pub inputs: &'a Object,
    /// The labels of the results of earlier runs that it refers to.
    pub recalled: &'a RecalledLabels,
}

impl<'a> CheckContext<'a> {
    /// Creates a context with the tools of `catalog`, no other plans, the default limits and no inputs.
    pub fn new(catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            library: Library::none(),
            policy: Policy::permissive(),
            inputs: no_values(),
            recalled: no_labels(),
        }
    }

    /// Sets the library of plans.
    #[must_use]
    pub fn with_library(mut self, library: &'a Library) -> Self {
        self.library = library;
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn with_policy(mut self, policy: &'a Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the inputs and variables of the run.
    #[must_use]
    pub fn with_inputs(mut self, inputs: &'a Object) -> Self {
        self.inputs = inputs;
        self
    }

    /// Sets the labels of the results of earlier runs that the plan refers to.
    #[must_use]
    pub fn with_recalled(mut self, recalled: &'a RecalledLabels) -> Self {
        self.recalled = recalled;
        self
    }
}

/// The plans that steps can run by name.
#[derive(Clone, Debug, Default)]
pub struct Library {
    plans: IndexMap<Arc<str>, Arc<Plan>>,
    /// The names of plans that exist but were not loaded.
    others: IndexMap<Arc<str>, Readable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readable {
    Unknown,
    No,
}

impl Library {
    /// Creates an empty library.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `plan` under `name` and replaces an earlier one.
    pub fn add(&mut self, name: impl Into<Arc<str>>, plan: Plan) {
        self.plans.insert(name.into(), Arc::new(plan));
    }

    /// Registers the name of an existing plan that was not loaded. It is used in suggestions only.
    pub fn mention(&mut self, name: impl Into<Arc<str>>) {
        // A plan known to be unreadable stays so.
        self.others.entry(name.into()).or_insert(Readable::Unknown);
    }

    /// Registers the name of a plan that cannot be read. The caller reports why.
    pub fn add_unreadable(&mut self, name: impl Into<Arc<str>>) {
        self.others.insert(name.into(), Readable::No);
    }

    /// Returns true if the plan `name` exists but cannot be read.
    pub fn is_unreadable(&self, name: &str) -> bool {
        self.others.get(name) == Some(&Readable::No)
    }

    /// Returns the plan `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Plan>> {
        self.plans.get(name)
    }

    /// Returns the names of the loaded plans, in insertion order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.plans.keys()
    }

    /// Returns the names of all known plans, loaded or not.
    pub fn known_names(&self) -> impl Iterator<Item = &Arc<str>> {
        let others = self.others.keys();
        self.plans
            .keys()
            // A plan may be registered by name first and loaded later.
            .chain(others.filter(|name| !self.plans.contains_key(*name)))
    }

    fn none() -> &'static Self {
        static NONE: std::sync::OnceLock<Library> = std::sync::OnceLock::new();
        NONE.get_or_init(Self::new)
    }
}

fn no_values() -> &'static Object {
    static NONE: std::sync::OnceLock<Object> = std::sync::OnceLock::new();
    NONE.get_or_init(Object::default)
}

fn no_labels() -> &'static RecalledLabels {
    static NONE: RecalledLabels = RecalledLabels::new();
    &NONE
}
