//! `[store]`: how long and up to which size a gateway stores runs.

use std::ops::Range;
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::Bound;
use serde::Deserialize;
use toml::Spanned;

use super::listing::{List, shown_time};
use super::source::{ConfigSource, Origin};
use super::words::{Size, TimeLimit};

/// The time and the size for which `serve` stores runs; without limits if not set. Only in your own file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "store"))]
pub(super) struct StoreTable {
    /// The time for which runs that have ended are stored, such as `30d`. Runs that wait or were interrupted are not deleted.
    #[cfg_attr(test, schemars(with = "String"))]
    keep: Option<Spanned<TimeLimit>>,
    /// The size of the store from which on the oldest runs that have ended are forgotten: a number, or text such as `1GiB`.
    #[cfg_attr(test, schemars(schema_with = "super::reference::size"))]
    max_bytes: Option<Spanned<Size>>,
}

/// The time and the size for which runs are stored.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    /// The time for which runs that have ended are stored.
    pub keep: Option<Bound<Duration>>,
    /// The size from which on the oldest are forgotten.
    pub max_bytes: Option<Bound>,
}

impl Retention {
    /// Only the user's own file decides which of the user's runs are deleted.
    pub(super) fn add(&mut self, source: &ConfigSource) {
        if source.origin == Origin::Project {
            return;
        }
        let table = &source.file.store;
        if let Some(keep) = &table.keep {
            self.keep = Some(Bound::set_in(keep.get_ref().0, source.place(keep)));
        }
        if let Some(size) = &table.max_bytes {
            self.max_bytes = Some(Bound::set_in(size.get_ref().0, source.place(size)));
        }
    }

    pub(super) fn list(&self, list: &mut List) {
        let keep = self.keep.as_ref();
        list.said("store.keep", keep, |keep| Value::from(shown_time(keep)));
        list.said("store.max_bytes", self.max_bytes.as_ref(), Value::from);
    }
}

/// The faults of a file's settings of the store: place, fault, way out.
pub(super) fn faults(source: &ConfigSource) -> Vec<(Range<usize>, String, String)> {
    let table = &source.file.store;
    let said = [
        table.keep.as_ref().map(Spanned::span),
        table.max_bytes.as_ref().map(Spanned::span),
    ];
    match said.into_iter().flatten().next() {
        Some(span) if source.origin == Origin::Project => vec![(
            span,
            "a project cannot say how long runs are stored".to_owned(),
            "the store has the runs of all projects: put it into your own planwright.toml"
                .to_owned(),
        )],
        _ => Vec::new(),
    }
}
