//! What cargo knows about our crates.

use serde_json::Value;

use crate::command;
use crate::project::Project;

/// Our crates as `cargo metadata` describes them, without what they depend on.
///
/// # Errors
///
/// Why cargo does not know.
pub(crate) fn read(project: &Project) -> Result<Value, String> {
    let line = ["cargo", "metadata", "--no-deps", "--format-version", "1"];
    let text = command::output(command::command(&project.root, &line))?;
    serde_json::from_str(&text)
        .map_err(|error| format!("cannot read the metadata of cargo: {error}"))
}

/// The crates, with those that are never published or without.
pub(crate) fn packages(metadata: &Value, which: Which) -> Vec<&Value> {
    let packages = metadata["packages"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let is_published = |package: &Value| package["publish"].is_null();
    packages
        .iter()
        .filter(|package| match which {
            Which::Published => is_published(package),
            Which::Unpublished => !is_published(package),
        })
        .collect()
}

/// Which crates.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    Published,
    Unpublished,
}

/// A crate's name.
pub(crate) fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}
