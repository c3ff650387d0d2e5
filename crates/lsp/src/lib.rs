//! The language server of Planwright: plans in editors, as JSON and in lines.
//!
//! [`serve`] speaks the [Language Server Protocol 3.17](https://microsoft.github.io/language-server-protocol/) over a connection of
//! `lsp-server`: diagnostics while a plan is written, hover (types, schemas, labels), completion of tools, arguments, references and
//! paths, navigation between steps, renaming of steps, and the fixes of diagnostics. It calls no tool and starts nothing: its user hands
//! over the [tools](PlanTools) that plans are checked against, and may replace them at any time.

/// The plan in a text, with its types.
mod analysis;

/// The place of the cursor.
mod cursor;

/// Open texts.
mod document;

/// The features of an editor.
mod features;

/// The places that name steps.
mod occurrences;

/// The loop of the server.
mod server;

pub use server::{LspError, PlanTools, serve};
