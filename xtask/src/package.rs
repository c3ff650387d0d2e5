//! What would be published: that it is whole, says what it is, and builds without the rest of the project.

use serde_json::Value;

use crate::command;
use crate::metadata::{self, Which, name};
use crate::project::Project;

/// What a registry shows of a crate.
const FIELDS: &[&str] = &[
    "description",
    "license",
    "readme",
    "repository",
    "keywords",
    "categories",
];

/// Packs every crate that is published and builds it from its package, over the packages of the others.
///
/// # Errors
///
/// What a crate does not say about itself, or that one of them does not build.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    let metadata = metadata::read(project)?;
    let findings: Vec<String> = metadata::packages(&metadata, Which::Published)
        .into_iter()
        .flat_map(missing)
        .collect();
    if !findings.is_empty() {
        return Err(findings.join("\n"));
    }
    let line = [
        "cargo",
        "package",
        "--quiet",
        "--workspace",
        "--allow-dirty",
    ];
    let mut command = command::command(&project.root, &line);
    for package in metadata::packages(&metadata, Which::Unpublished) {
        command.args(["--exclude", name(package)]);
    }
    // A package knows nothing of the profiles of the workspace. With these settings, what it depends on is built alike,
    // and so not built again.
    command
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0");
    command::run(command)
}

/// What a crate does not say about itself.
fn missing(package: &Value) -> Vec<String> {
    let is_said = |field: &&&str| match &package[**field] {
        Value::Null => false,
        Value::Array(words) => !words.is_empty(),
        _ => true,
    };
    FIELDS
        .iter()
        .filter(|field| !is_said(field))
        .map(|field| format!("the crate `{}` has no `{field}`", name(package)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn crates_say_what_they_are() {
        let mut package = json!({
            "name": "a", "description": "…", "license": "MIT", "readme": "README.md",
            "repository": "https://example.com", "keywords": ["b"], "categories": ["c"],
        });
        assert!(missing(&package).is_empty());
        package["keywords"] = json!([]);
        package["readme"] = Value::Null;
        assert_eq!(
            missing(&package),
            [
                "the crate `a` has no `readme`",
                "the crate `a` has no `keywords`"
            ]
        );
    }
}
