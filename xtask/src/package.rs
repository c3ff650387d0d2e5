//! Checks of the packages to publish: complete metadata, and a build without the rest of the project.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command;
use crate::project::{CrateSelection, Project, crate_name, packages, read_metadata};

/// The manifest fields that a registry shows.
const FIELDS: &[&str] = &[
    "description",
    "license",
    "readme",
    "repository",
    "keywords",
    "categories",
];

/// Packs every published crate, and builds it from its package, over the packages of the others.
///
/// # Errors
///
/// Missing manifest fields, or a build that fails.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    let metadata = read_metadata(project)?;
    let violations: Vec<String> = packages(&metadata, CrateSelection::Published)
        .into_iter()
        .flat_map(missing)
        .collect();
    if !violations.is_empty() {
        return Err(violations.join("\n"));
    }
    forget_earlier_packages(&cargo_home()?)?;
    let line = [
        "cargo",
        "package",
        "--quiet",
        "--workspace",
        "--allow-dirty",
    ];
    let mut command = command::command(&project.root, &line);
    for package in packages(&metadata, CrateSelection::Unpublished) {
        command.args(["--exclude", crate_name(package)]);
    }
    // A package does not have the profiles of the workspace. With these settings its dependencies are built alike, and so not built
    // again.
    command
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0");
    let built = project.target().join("debug");
    forget_earlier_builds(&built)?;
    let packed = command::run(command);
    forget_earlier_builds(&built)?;
    packed
}

/// Returns cargo's home folder.
fn cargo_home() -> Result<PathBuf, String> {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    named
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
        .ok_or_else(|| "neither CARGO_HOME nor HOME is set".to_owned())
}

/// Removes the sources that cargo unpacked from earlier packages of our crates.
///
/// To build a package over the packages of the others, cargo creates a temporary registry, whose name depends on its path. It reuses
/// the sources that it has unpacked from a registry, since a published version never changes; ours do.
fn forget_earlier_packages(cargo_home: &Path) -> Result<(), String> {
    for part in ["src", "cache"] {
        for registry in entries(&cargo_home.join("registry").join(part))? {
            // The name of a registry with an address has a prefix before the dash.
            if !file_name(&registry).starts_with('-') {
                continue;
            }
            for package in entries(&registry)? {
                if !file_name(&package).starts_with("planwright") {
                    continue;
                }
                let removed = if package.is_dir() {
                    fs::remove_dir_all(&package)
                } else {
                    fs::remove_file(&package)
                };
                removed.map_err(|error| explain(&package, &error))?;
            }
        }
    }
    Ok(())
}

/// Removes the fingerprints of earlier builds of our packages from the folder `built`. Cargo compares versions only, so it would
/// reuse these builds for changed sources.
fn forget_earlier_builds(built: &Path) -> Result<(), String> {
    for unit in entries(&built.join(".fingerprint"))? {
        let name = file_name(&unit);
        let Some((package, hash)) = name.rsplit_once('-') else {
            continue;
        };
        let sources = built.join(format!("deps/{}-{hash}.d", package.replace('-', "_")));
        let is_packed = match fs::read_to_string(&sources) {
            // The name of the temporary registry has no prefix before the dash.
            Ok(sources) => sources.contains("/registry/src/-"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(explain(&sources, &error)),
        };
        if is_packed && package.starts_with("planwright") {
            fs::remove_dir_all(&unit).map_err(|error| explain(&unit, &error))?;
        }
    }
    Ok(())
}

/// Returns the entries of a folder, or none if it does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(explain(folder, &error)),
    };
    listed
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(|error| explain(folder, &error))
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn explain(path: &Path, error: &std::io::Error) -> String {
    format!("`{}`: {error}", path.display())
}

/// Returns the required fields that a crate lacks.
fn missing(package: &Value) -> Vec<String> {
    let is_said = |field: &&&str| match &package[**field] {
        Value::Null => false,
        Value::Array(words) => !words.is_empty(),
        _ => true,
    };
    FIELDS
        .iter()
        .filter(|field| !is_said(field))
        .map(|field| format!("the crate `{}` has no `{field}`", crate_name(package)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_our_own_earlier_packages_go() {
        let home = std::env::temp_dir().join(format!("planwright-xtask-{}", std::process::id()));
        let present = [
            "registry/src/index.crates.io-1/planwright-core-0.1.0",
            "registry/src/-2/serde-1.0.0",
        ];
        let gone = [
            "registry/src/-2/planwright-core-0.1.0",
            "registry/cache/-2/planwright-0.1.0.crate",
        ];
        for path in present.iter().chain(&gone) {
            fs::create_dir_all(home.join(path)).unwrap();
        }
        forget_earlier_packages(&home).unwrap();
        let is_there = |path: &&str| home.join(path).exists();
        assert!(present.iter().all(is_there));
        assert!(!gone.iter().any(is_there));
        fs::remove_dir_all(&home).unwrap();
        // It succeeds if there are no packages yet.
        forget_earlier_packages(&home).unwrap();
    }

    #[test]
    fn only_what_was_built_from_packages_is_built_anew() {
        let built = std::env::temp_dir().join(format!("planwright-built-{}", std::process::id()));
        fs::create_dir_all(built.join("deps")).unwrap();
        let units = [
            (
                "planwright-core-1a",
                Some("/cargo/registry/src/-3c/planwright-core-0.1.0/src/lib.rs"),
                false,
            ),
            ("planwright-core-2b", Some("crates/core/src/lib.rs"), true),
            ("planwright-core-3c", None, true),
            (
                "serde-4d",
                Some("/cargo/registry/src/-3c/serde-1.0.0/src/lib.rs"),
                true,
            ),
        ];
        for (unit, source, _) in units {
            fs::create_dir_all(built.join(".fingerprint").join(unit)).unwrap();
            let (package, hash) = unit.rsplit_once('-').unwrap();
            let file = format!("{}-{hash}.d", package.replace('-', "_"));
            if let Some(source) = source {
                fs::write(built.join("deps").join(file), format!("x.rlib: {source}\n")).unwrap();
            }
        }
        forget_earlier_builds(&built).unwrap();
        for (unit, _, stays) in units {
            assert_eq!(
                built.join(".fingerprint").join(unit).exists(),
                stays,
                "{unit}"
            );
        }
        fs::remove_dir_all(&built).unwrap();
        // It succeeds if there are no builds yet.
        forget_earlier_builds(&built).unwrap();
    }

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
