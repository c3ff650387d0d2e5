//! The digests of the tools that a run calls.

use std::cell::RefCell;
use std::sync::Arc;

use planwright_core::Tool;

/// Digests of tool definitions, each computed once.
#[derive(Debug, Default)]
pub(in crate::run) struct DefinitionDigests(RefCell<Vec<(Arc<Tool>, Arc<str>)>>);

impl DefinitionDigests {
    pub(super) fn digest(&self, tool: &Arc<Tool>) -> Arc<str> {
        let mut known = self.0.borrow_mut();
        if let Some((_, digest)) = known.iter().find(|(known, _)| Arc::ptr_eq(known, tool)) {
            return Arc::clone(digest);
        }
        let digest: Arc<str> = tool.definition_digest().into();
        known.push((Arc::clone(tool), Arc::clone(&digest)));
        digest
    }
}
