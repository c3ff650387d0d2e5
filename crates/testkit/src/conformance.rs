//! Runs the official conformance suite against a server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::judges;

/// A version of the suite.
#[derive(Clone, Copy, Debug)]
pub enum Suite {
    /// The stable version, for 2025-06-18 and 2025-11-25.
    Stable,
    /// The development version, at one revision of the protocol.
    Next(&'static str),
}

/// The length of the time stamp in the name of a scenario's folder, such as `-2026-11-21T22-53-15-411Z`.
const TIME: usize = 25;

/// The checks of each scenario.
pub type CheckResults = BTreeMap<String, Vec<Check>>;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Check {
    /// The name of the check.
    pub id: String,
    /// `SUCCESS`, `FAILURE`, `WARNING` or `SKIPPED`.
    pub status: String,
    /// The error message.
    pub message: String,
}

/// Runs all server scenarios against `url`, or only `scenario`.
///
/// # Panics
///
/// If the suite is not installed or gives no results.
pub fn run_server_suite(suite: Suite, url: &str, scenario: Option<&str>) -> CheckResults {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = match suite {
        Suite::Stable => "suite/node_modules/.bin/conformance",
        Suite::Next(_) => "suite-next/node_modules/.bin/conformance",
    };
    let mut command = Command::new(judges::node());
    command
        .arg(judges::program(program))
        .args(["server", "--url", url, "--output-dir"])
        .arg(folder.path())
        .stdin(Stdio::null());
    match scenario {
        Some(name) => command.args(["--scenario", name]),
        None => command.args(["--suite", "all"]),
    };
    if let Suite::Next(revision) = suite {
        command.args(["--spec-version", revision]);
    }
    let output = command.output().expect("the suite can be started");
    let results = read(folder.path());
    // A suite that did not run must not look like one without failures.
    assert!(
        !results.is_empty(),
        "the suite has found nothing:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    results
}

/// Reads the results in `folder`: one folder `server-NAME-TIME` with checks per scenario.
fn read(folder: &Path) -> CheckResults {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = name.strip_prefix("server-").unwrap_or(&name);
            let scenario = &name[..name.len().saturating_sub(TIME)];
            let text = fs::read_to_string(entry.path().join("checks.json"));
            let text = text.expect("each scenario leaves its checks");
            let checks: Vec<Value> = serde_json::from_str(&text).expect("they are JSON");
            (
                scenario.to_owned(),
                checks.iter().filter_map(check).collect(),
            )
        })
        .collect()
}

/// A check, unless it is only a log of the wire.
fn check(check: &Value) -> Option<Check> {
    let text = |name: &str| check[name].as_str().unwrap_or_default().to_owned();
    (check["status"] != "INFO").then(|| Check {
        id: text("id"),
        status: text("status"),
        message: text("errorMessage"),
    })
}
