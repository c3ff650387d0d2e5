//! Comparison of the crates with their last release, with `cargo-semver-checks`.

use std::path::PathBuf;

use crate::command::{self, command};
use crate::install::install_tool;
use crate::project::{CrateSelection, Project, crate_name, packages, read_metadata};

const TOOL: &str = "cargo-semver-checks";
/// The pinned version. It parses the output of rustdoc, so it must support the compiler in `rust-toolchain.toml`.
const VERSION: &str = "0.51.0";

/// The action to take.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// Skips the comparison for this reason.
    Nothing(&'static str),
    /// Compares these crates with those of the release.
    Compare {
        release: String,
        crates: Vec<String>,
    },
}

/// The releases according to git.
struct Releases<'a> {
    /// The names of all tags.
    tags: &'a [&'a str],
    is_shallow: bool,
}

/// Compares every crate with the latest release, if there is one.
///
/// # Errors
///
/// An incompatible change without a new major version, or a comparison that fails.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    match decide_here(project)? {
        Decision::Nothing(reason) => {
            println!("{reason}");
            Ok(())
        }
        Decision::Compare { release, crates } => {
            let tool = install_tool(project, TOOL, VERSION)?;
            let mut compare = command(&project.root, &[&tool.to_string_lossy()]);
            compare.args(["semver-checks", "check-release", "--baseline-rev", &release]);
            for name in &crates {
                compare.args(["--package", name]);
            }
            println!("comparing {} with {release}", crates.join(", "));
            command::run(compare)
        }
    }
}

fn decide_here(project: &Project) -> Result<Decision, String> {
    if !project.root.join(".git").exists() {
        return Ok(Decision::Nothing(
            "this is not a git repository, so there is no release to compare with",
        ));
    }
    let git = |arguments: &[&str]| {
        let mut git = command(&project.root, &["git"]);
        git.args(arguments);
        git
    };
    let tags = command::output(git(&["tag", "--list"]))?;
    let shallow = command::output(git(&["rev-parse", "--is-shallow-repository"]))?;
    let metadata = read_metadata(project)?;
    let crates: Vec<(String, String)> = packages(&metadata, CrateSelection::Published)
        .into_iter()
        .map(|package| {
            let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
            let place = manifest.strip_prefix(&project.root).unwrap_or(&manifest);
            let name = crate_name(package).to_owned();
            (name, place.to_string_lossy().into_owned())
        })
        .collect();
    let releases = Releases {
        tags: &tags.lines().collect::<Vec<_>>(),
        is_shallow: shallow.trim() == "true",
    };
    Ok(decide(&releases, &crates, |release, manifest| {
        let spot = format!("{release}:{manifest}");
        let mut look = git(&["cat-file", "-e", &spot]);
        look.stderr(std::process::Stdio::null());
        look.status().is_ok_and(|status| status.success())
    }))
}

/// Selects those of the `crates`, by name and manifest, that the latest of the `releases` contains.
fn decide(
    releases: &Releases<'_>,
    crates: &[(String, String)],
    had: impl Fn(&str, &str) -> bool,
) -> Decision {
    let latest = releases
        .tags
        .iter()
        .filter_map(|tag| Some((version(tag)?, *tag)));
    let Some((_, release)) = latest.max() else {
        return Decision::Nothing(if releases.is_shallow {
            "this is a shallow clone without tags, so there is no release to compare with"
        } else {
            "there is no release yet, so there is nothing to compare with"
        });
    };
    let crates: Vec<String> = crates
        .iter()
        .filter(|(_, manifest)| had(release, manifest))
        .map(|(name, _)| name.clone())
        .collect();
    if crates.is_empty() {
        return Decision::Nothing("every crate is new since the last release");
    }
    Decision::Compare {
        release: release.to_owned(),
        crates,
    }
}

/// Returns the version that a tag `v1.2.3` names; `None` for a pre-release such as `v1.2.3-rc.1`, which promises nothing.
fn version(tag: &str) -> Option<[u64; 3]> {
    let parts: Vec<u64> = tag
        .strip_prefix('v')?
        .split('.')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    parts.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHALLOW: bool = true;

    fn check_decision(tags: &[&str], is_shallow: bool, had: &[&str], expected: Decision) {
        let crates = ["core", "new"].map(|name| (name.to_owned(), format!("crates/{name}")));
        let releases = Releases { tags, is_shallow };
        let decision = decide(&releases, &crates, |release, manifest| {
            had.contains(&&*format!("{release}:{manifest}"))
        });
        assert_eq!(decision, expected, "{tags:?}");
    }

    fn compare(release: &str, crates: &[&str]) -> Decision {
        Decision::Compare {
            release: release.to_owned(),
            crates: crates.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn the_latest_release_is_compared_with() {
        let none = "there is no release yet, so there is nothing to compare with";
        check_decision(&[], !SHALLOW, &[], Decision::Nothing(none));
        let others = [
            "before-fuzzing",
            "v1",
            "v1.2",
            "v1.2.3-rc.1",
            "v1.2.x",
            "1.2.3",
        ];
        check_decision(&others, !SHALLOW, &[], Decision::Nothing(none));
        check_decision(
            &["v0.9.0", "v0.10.0", "v0.2.11", "v1.0.0-rc.1"],
            !SHALLOW,
            &["v0.10.0:crates/core", "v0.9.0:crates/new"],
            compare("v0.10.0", &["core"]),
        );
        check_decision(
            &["v0.1.0"],
            SHALLOW,
            &["v0.1.0:crates/core", "v0.1.0:crates/new"],
            compare("v0.1.0", &["core", "new"]),
        );
    }

    #[test]
    fn nothing_is_said_where_nothing_is_known() {
        let shallow =
            "this is a shallow clone without tags, so there is no release to compare with";
        check_decision(&[], SHALLOW, &[], Decision::Nothing(shallow));
        let new = "every crate is new since the last release";
        check_decision(&["v0.1.0"], !SHALLOW, &[], Decision::Nothing(new));
    }
}
