//! What a plan is checked against: tools, other plans, rules, values that are known already.

use std::sync::Arc;

use indexmap::IndexMap;

use super::policy::Policy;
use crate::{Catalog, Object, Plan};

/// What a plan is checked against.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    /// The tools that the plan may call.
    pub catalog: &'a Catalog,
    /// The plans that it may run by name.
    pub library: &'a Library,
    /// What it may do, and how much.
    pub policy: &'a Policy,
    /// The inputs and variables that this run is given, by name.
    pub given: &'a Object,
}

impl<'a> CheckContext<'a> {
    /// The tools of `catalog`, no other plans, no rules but the default limits, nothing given.
    pub fn new(catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            library: Library::none(),
            policy: Policy::permissive(),
            given: no_values(),
        }
    }

    /// With the plans of `library`.
    #[must_use]
    pub fn with_library(mut self, library: &'a Library) -> Self {
        self.library = library;
        self
    }

    /// With the rules of `policy`.
    #[must_use]
    pub fn with_policy(mut self, policy: &'a Policy) -> Self {
        self.policy = policy;
        self
    }

    /// With `given` as the run's inputs and variables.
    #[must_use]
    pub fn with_given(mut self, given: &'a Object) -> Self {
        self.given = given;
        self
    }
}

/// Plans that steps run by name.
#[derive(Clone, Debug, Default)]
pub struct Library {
    plans: IndexMap<Arc<str>, Arc<Plan>>,
    /// Names of plans that are there and were not read, or could not be.
    others: IndexMap<Arc<str>, Readable>,
}

/// Whether a plan that is there can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readable {
    Unknown,
    No,
}

impl Library {
    /// A library without plans.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `plan` under `name`. An earlier one of that name is replaced.
    pub fn add(&mut self, name: impl Into<Arc<str>>, plan: Plan) {
        self.plans.insert(name.into(), Arc::new(plan));
    }

    /// Says that there is a plan called `name`, which nobody asked for yet: for advice alone.
    pub fn mention(&mut self, name: impl Into<Arc<str>>) {
        self.others.entry(name.into()).or_insert(Readable::Unknown);
    }

    /// Says that there is a plan called `name`, which could not be read. Why is told elsewhere.
    pub fn add_unreadable(&mut self, name: impl Into<Arc<str>>) {
        self.others.insert(name.into(), Readable::No);
    }

    /// Whether the plan called `name` is there and could not be read.
    pub fn is_unreadable(&self, name: &str) -> bool {
        self.others.get(name) == Some(&Readable::No)
    }

    /// The plan called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Plan>> {
        self.plans.get(name)
    }

    /// The names of the plans that it holds, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.plans.keys()
    }

    /// The names of all plans that are known to be there, held or not.
    pub fn known_names(&self) -> impl Iterator<Item = &Arc<str>> {
        let others = self.others.keys();
        self.plans
            .keys()
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
