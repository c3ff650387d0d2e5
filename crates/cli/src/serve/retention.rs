//! Forgets runs of the store that are too old or too many, for as long as the gateway serves.

use std::convert::Infallible;
use std::time::{Duration, UNIX_EPOCH};

use planwright::config::{Config, Retention};
use planwright_store::{Prune, PruneReport, Store, StoreError};

use crate::printer::Printer;
use crate::view::live::words::counted;
use crate::{run_storage, store};

/// The interval at which the store is checked.
const PERIOD: Duration = Duration::from_mins(1);

/// The retention of runs in a store.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    store: Store,
    keep: Option<Duration>,
    most: Option<u64>,
    /// For how long later plans may refer to results.
    recalled: Duration,
    printer: Printer,
}

impl Keeper {
    /// Returns the retention that `config` sets for `store`, whose results later plans may refer to for as long as `recalled`; `None` if it limits
    /// neither their age nor the size of the store. What an agent did is deleted only if a person has said so.
    pub(crate) fn new(
        store: Store,
        config: &Config,
        recalled: Duration,
        printer: Printer,
    ) -> Option<Self> {
        let Retention { keep, max_bytes } = config.retention();
        if keep.is_none() && max_bytes.is_none() {
            return None;
        }
        Some(Self {
            store,
            keep: keep.as_ref().map(|keep| keep.most),
            most: max_bytes.as_ref().map(|most| most.most),
            recalled,
            printer,
        })
    }

    /// Looks at the store now, and again and again for as long as this is awaited.
    pub(crate) async fn run(self) -> Infallible {
        let mut period = tokio::time::interval(PERIOD);
        loop {
            period.tick().await;
            let keeper = self.clone();
            let forgetting = tokio::task::spawn_blocking(move || keeper.forget());
            match forgetting.await {
                Ok(Ok(pruned)) if !pruned.runs.is_empty() => {
                    let runs = counted(pruned.runs.len(), "stored run");
                    self.printer.talk(&format!(
                        "{runs} forgotten: `[store]` in planwright.toml says how long and up to which size runs are stored"
                    ));
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "old runs cannot be forgotten"),
                Err(error) => tracing::warn!(%error, "old runs were not forgotten"),
            }
        }
    }

    fn forget(&self) -> Result<PruneReport, StoreError> {
        let now = run_storage::now();
        let before = |age| Prune {
            before: now.checked_sub(age).unwrap_or(UNIX_EPOCH),
            keep: 0,
            unfinished: false,
            dry_run: false,
        };
        let holder = store::this_process();
        let mut pruned = match self.keep {
            Some(keep) => self.store.prune(&before(keep), &holder)?,
            None => PruneReport::default(),
        };
        if let Some(most) = self.most {
            let large = self.store.prune_to(most, &before(self.recalled), &holder)?;
            pruned.runs.extend(large.runs);
        }
        Ok(pruned)
    }
}
