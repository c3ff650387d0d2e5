//! The tools that plans may call, as they are at one moment.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use planwright_core::{Catalog, Tool};
use planwright_mcp::UpstreamView;

use super::faces;
use super::search::SearchIndex;
use super::settings::GatewaySettings;

/// The tools that plans may call, with what finds them.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) catalog: Catalog,
    index: OnceLock<SearchIndex>,
    marks_sharing: OnceLock<bool>,
}

impl Offered {
    pub(super) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            index: OnceLock::new(),
            marks_sharing: OnceLock::new(),
        }
    }

    pub(super) fn index(&self) -> &SearchIndex {
        self.index
            .get_or_init(|| SearchIndex::new(self.catalog.tools()))
    }

    /// Whether any tool says which of its parameters take references.
    pub(super) fn marks_sharing(&self) -> bool {
        *self.marks_sharing.get_or_init(|| {
            let mut tools = self.catalog.tools();
            tools.any(|tool| faces::marks_sharing(tool.input.as_value()))
        })
    }
}

/// What servers offered last, so that it is put together once for each change.
#[derive(Debug, Default)]
pub(super) struct Latest(Mutex<Option<(Arc<UpstreamView>, Arc<Offered>)>>);

impl Latest {
    /// The tools of `view` and those of the settings, as the configuration knows them. What it denies is not there.
    pub(super) fn of(&self, view: &Arc<UpstreamView>, settings: &GatewaySettings) -> Arc<Offered> {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some((of, offered)) if Arc::ptr_eq(of, view) => Arc::clone(offered),
            _ => {
                let own = settings.own.0.tools().map(|tool| Tool::clone(tool));
                let all: Catalog = own.chain(view.tools().cloned()).collect();
                let offered = Arc::new(Offered::new(settings.config.catalog(&all)));
                *latest = Some((Arc::clone(view), Arc::clone(&offered)));
                offered
            }
        }
    }
}
