//! Pinned tools: changes of the tools of a server since they were first seen or accepted, and approvals for them.
//!
//! A tool is pinned by the digest of its definition: name, title, description, schemas and hints, with the identity of its
//! server. If a definition changed in a way that matters to consent, each call of the tool needs approval until a person accepts the
//! change.

/// Definitions as they are stored, so that a change can be shown.
mod definition;

/// The differences between two definitions.
mod change;

/// Tools compared with their pins.
#[cfg(feature = "store")]
mod verdict;

/// Changes that wait for a person.
#[cfg(feature = "store")]
mod pending;

pub use self::change::{DifferenceLine, difference};
pub use self::definition::PinPolicy;
pub use change::{Changes, HintChange};
pub use definition::{Definition, DefinitionPart, StatedHints};
#[cfg(feature = "store")]
pub use pending::{Pending, PendingTool, selection_digest};
#[cfg(feature = "store")]
pub use verdict::{Notice, NoticeKind, Pinning, Verdicts};

#[cfg(test)]
mod tests;
