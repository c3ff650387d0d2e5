//! Rules about the tools of a library user: a configuration, and pins.

use planwright_core::Catalog;

use super::Error;
#[cfg(feature = "store")]
use super::storage;
#[cfg(feature = "config")]
use crate::config::Config;
#[cfg(feature = "store")]
use crate::pins::{PinPolicy, Pinning};
#[cfg(feature = "store")]
use crate::stored::StoredRunError;

/// Rules about tools beside the policy.
#[derive(Default)]
pub(super) struct Rules {
    #[cfg(feature = "config")]
    pub(super) config: Option<Config>,
    #[cfg(feature = "store")]
    pub(super) pins: Option<Pins>,
}

/// The store in which the tools of MCP servers are pinned, and the policy for tools that changed.
#[cfg(feature = "store")]
pub(super) struct Pins {
    pub(super) store: planwright_store::Store,
    pub(super) policy: PinPolicy,
}

impl Rules {
    /// The tools as these rules make them, and what people should know of them.
    #[cfg(feature = "store")]
    pub(super) fn apply(&self, catalog: &Catalog) -> Result<(Catalog, Vec<String>), Error> {
        let Some(pins) = &self.pins else {
            return Ok((self.configured(catalog), Vec::new()));
        };
        let pinning = Pinning {
            store: &pins.store,
            policy: pins.policy,
            accepts_servers: false,
            now: storage::now(),
        };
        let compared = pinning.compare(catalog.tools().map(AsRef::as_ref));
        let verdicts = compared.map_err(StoredRunError::from)?;
        let notices = verdicts.notices().iter().map(ToString::to_string);
        let catalog = verdicts.catalog(catalog, |catalog| self.configured(catalog));
        Ok((catalog, notices.collect()))
    }

    /// The tools as these rules make them, and what people should know of them.
    #[cfg(not(feature = "store"))]
    #[expect(clippy::unnecessary_wraps, reason = "a store may fail")]
    pub(super) fn apply(&self, catalog: &Catalog) -> Result<(Catalog, Vec<String>), Error> {
        Ok((self.configured(catalog), Vec::new()))
    }

    #[cfg_attr(
        not(feature = "config"),
        expect(clippy::unused_self, reason = "there is no configuration")
    )]
    fn configured(&self, catalog: &Catalog) -> Catalog {
        #[cfg(feature = "config")]
        if let Some(config) = &self.config {
            return config.catalog(catalog);
        }
        catalog.clone()
    }
}
