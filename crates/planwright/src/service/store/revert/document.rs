//! A revert as a document that a person reads before it begins, and the digest of exactly that.

use planwright_core::text::hex;
use sha2::{Digest, Sha256};

use super::Revert;
use crate::format::{InDoubtV1, REVERT_SCHEMA, RevertV1, UndoV1, UnrevertedV1};

impl Revert {
    /// Returns what is undone and what is not, as a document.
    pub fn document(&self) -> RevertV1 {
        let undos = self.undos.iter().map(|undo| UndoV1 {
            step: undo.step.clone(),
            call: undo.at.to_string(),
            called: undo.called.clone(),
            tool: undo.tool.clone(),
            args: undo.arguments.clone(),
        });
        let unreverted = self.unreverted.iter().map(|call| UnrevertedV1 {
            call: call.at.to_string(),
            tool: call.tool.clone(),
            reason: call.reason.clone(),
        });
        let in_doubt = self.in_doubt.iter().map(|call| InDoubtV1 {
            call: call.at.to_string(),
            tool: call.tool.clone(),
            undone_by: call.undone_by.clone(),
        });
        RevertV1 {
            schema: REVERT_SCHEMA,
            run: self.run.clone(),
            undos: undos.collect(),
            unreverted: unreverted.collect(),
            in_doubt: in_doubt.collect(),
            undone_before: self.undone_before,
        }
    }

    /// Returns the digest of the [document](Self::document), to which a person agrees. That of a further revert is another one.
    pub fn digest(&self) -> String {
        // Serialized types have no values that JSON cannot express.
        let document = serde_json::to_string(&self.document()).unwrap_or_default();
        let text = format!("planwright.revert/1 {} {document}", self.id);
        hex(&Sha256::digest(text))
    }
}
