//! Step ids and instance names: how calls are told apart.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexSet;
use planwright_core::plan::Name;
use planwright_core::{Code, Diagnostic, StepId};

use crate::document::{Findings, nearest, quote};

/// The instances, in the order in which they appear.
pub(super) type Instances = IndexSet<Arc<str>>;

/// So many instances are looked at for one that was meant: looking at all would cost their number times that of
/// the faults.
const LOOKED_AT: usize = 100;

/// Gives each call its id: the name of its tool, later ones of the same name `name#2`, `name#3`.
#[derive(Debug, Default)]
pub(super) struct StepIds {
    counts: HashMap<Arc<str>, usize>,
    taken: HashSet<Arc<str>>,
}

impl StepIds {
    /// The id of the next call, whose `_tool` is `name`.
    pub(super) fn next(&mut self, name: &Arc<str>) -> StepId {
        let (id, count) = self.free(name);
        self.counts.insert(Arc::clone(name), count);
        self.taken.insert(Arc::clone(&id));
        StepId::new(id)
    }

    /// The `_tool` that would give the next call the id `id`, if there is one.
    pub(super) fn name_for(&self, id: &Arc<str>) -> Option<Arc<str>> {
        let stem = id.rsplit_once('#').map(|(stem, _)| Arc::from(stem));
        let names = [stem, Some(Arc::clone(id))];
        let mut fitting = names.into_iter().flatten();
        fitting.find(|name| *self.free(name).0 == **id)
    }

    fn free(&self, name: &Arc<str>) -> (Arc<str>, usize) {
        let mut count = self.counts.get(name).copied().unwrap_or(0);
        loop {
            count += 1;
            let id = if count == 1 {
                Arc::clone(name)
            } else {
                format!("{name}#{count}").into()
            };
            if !self.taken.contains(&id) {
                return (id, count);
            }
        }
    }
}

/// Whether one of `instances` is called `name`; reports it where none is.
pub(super) fn check_instance(name: &Name, instances: &Instances, findings: &mut Findings) -> bool {
    if instances.contains(&name.text) {
        return true;
    }
    let message = format!("no instance is called {}", quote(&name.text));
    let known = instances.iter().take(LOOKED_AT).map(|instance| &**instance);
    let help = if instances.is_empty() {
        "`_instance` on `state` and `input` messages makes instances, and there is none".to_owned()
    } else if let Some(near) = nearest(&name.text, known) {
        format!("did you mean `{near}`?")
    } else {
        let shown = instances.iter().take(20).map(|instance| quote(instance));
        format!("there are {}", shown.collect::<Vec<_>>().join(", "))
    };
    let finding = Diagnostic::error(Code::InvalidFieldValue, message);
    findings.push(name.place, finding.help(help));
    false
}
