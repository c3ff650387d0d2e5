//! The plans of `--library` that the model of a conversation may call, and the limit on the calls of the conversation.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use planwright::core::check::Library;
use planwright::dialects::document::ReadLimits;
use planwright::dialects::{ReadOptions, parse};
use planwright::engine::{Backends, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
use planwright::loaded_plan::LoadedPlan;

use crate::error::CommandError;

/// The plans of a folder.
#[derive(Debug, Default)]
pub(super) struct ChatLibrary {
    /// The parsed plans, against which solutions are checked.
    pub(super) library: Library,
    texts: BTreeMap<String, String>,
}

impl ChatLibrary {
    /// Reads all plans of `folder`: `NAME.json` for each.
    pub(super) fn open(folder: &Path) -> Result<Self, CommandError> {
        let unreadable = |error| CommandError::unreadable(folder, &error);
        let mut chat_library = Self::default();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_stem().and_then(OsStr::to_str);
            let (Some(name), Some("json")) = (name, path.extension().and_then(OsStr::to_str))
            else {
                continue;
            };
            let text = std::fs::read_to_string(&path)
                .map_err(|error| CommandError::unreadable(&path, &error))?;
            let read = parse(text.as_bytes(), &ReadOptions::new(name));
            let plan = read.plan.filter(|_| !read.diagnostics.has_errors());
            let Some(plan) = plan else {
                let message = format!("`{}` is not a valid plan", path.display());
                let found = read
                    .diagnostics
                    .iter()
                    .find(|diagnostic| diagnostic.is_error());
                return Err(match found {
                    Some(diagnostic) => CommandError::new(format!("{message}: {diagnostic}")),
                    None => CommandError::new(message),
                });
            };
            chat_library.library.add(name, plan);
            chat_library.texts.insert(name.to_owned(), text);
        }
        Ok(chat_library)
    }

    /// Resolves the plans that `loaded` calls by name.
    pub(super) fn add_to(&self, loaded: LoadedPlan) -> LoadedPlan {
        if self.texts.is_empty() {
            return loaded;
        }
        let find = |name: &str| {
            let text = self.texts.get(name);
            Ok::<_, Infallible>(text.map(|text| text.clone().into_bytes()))
        };
        let Ok(loaded) = loaded.with_library(ReadLimits::default(), find);
        loaded
    }
}

/// A tool backend that counts the calls of all runs of a conversation.
#[derive(Clone)]
pub(crate) struct CallCounter {
    tools: Backends,
    limit: Option<u64>,
    made: Arc<AtomicU64>,
}

impl CallCounter {
    /// Creates a backend that makes at most `limit` calls of `tools`, including `made` earlier ones.
    pub(crate) fn new(tools: Backends, limit: Option<u64>, made: u64) -> Self {
        Self {
            tools,
            limit,
            made: Arc::new(AtomicU64::new(made)),
        }
    }

    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }
}

impl ToolBackend for CallCounter {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let limit = self.limit.unwrap_or(u64::MAX);
        let one_more = |made: u64| (made < limit).then_some(made + 1);
        let is_within = self
            .made
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok();
        if is_within {
            return self.tools.call(call);
        }
        let message = format!("the conversation has reached its limit of {limit} calls");
        Box::pin(std::future::ready(Err(ToolError::new(
            ErrorKind::Budget,
            message,
        ))))
    }
}
