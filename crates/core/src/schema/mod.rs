//! JSON Schema (2020-12): structural types for checks before a run, and validators for values during it.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/schemas.md).

mod cost;
mod display;
mod document;
mod equality;
mod fast_accept;
mod format;
mod instance;
mod lookup;
mod secret;
mod template;
mod type_reader;
mod types;
mod violation;

pub(crate) use display::shown;
pub use document::Schema;
pub use lookup::{KnownFields, PathLookup, fillable, fillable_part};
pub use secret::{PartPath, declares_secrets, is_secret, part_at, replace_parts, secret_parts};
pub(crate) use template::TemplateValue;
pub(crate) use type_reader::resolve_pointer;
pub use types::{Additional, Compatibility, ListType, ObjectType, Property, Type};
pub use violation::{SchemaViolation, SchemaViolationKind};

#[cfg(test)]
mod tests;
