//! The client scenarios of the official conformance suite, against the client in `examples/conformance_client.rs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use planwright_testkit::judges;

/// The scenarios that do not apply, each with its suite (`None` for all) and the reason.
const LEFT_OUT: &[(&str, Option<&str>, &str)] = &[
    (
        "auth/2025-03-26-oauth-metadata-backcompat",
        Some("suite"),
        "the metadata names another issuer than it was asked for; the newer suite has mended that",
    ),
    (
        "auth/client-credentials-jwt",
        None,
        "an extension: assertions signed with a key are not offered",
    ),
    (
        "auth/cross-app-access-complete-flow",
        None,
        "an extension: logging in through a company's identity provider is not offered",
    ),
    (
        "auth/enterprise-managed-authorization",
        None,
        "the same under its newer name",
    ),
    (
        "auth/dpop",
        None,
        "an extension: tokens bound to a key are not offered",
    ),
    ("auth/dpop-nonce", None, "the same"),
    (
        "auth/wif-jwt-bearer",
        None,
        "an extension: the identity of a workload is not offered",
    ),
    (
        "sep-2640-client-no-prefetch",
        None,
        "an extension: skills are not read",
    ),
    ("sep-2640-client-verify-digest", None, "the same"),
    ("sep-2640-client-verify-size", None, "the same"),
    ("sep-2640-client-verify-frontmatter", None, "the same"),
];

fn suite(name: &str, arguments: &[&str]) -> Output {
    let suite = judges::program(&format!(
        "{name}/node_modules/@modelcontextprotocol/conformance/dist/index.js"
    ));
    let output = Command::new(judges::node())
        .arg(suite)
        .args(arguments)
        .output();
    output.unwrap()
}

/// Returns the client scenarios of `suite`.
fn scenarios(name: &str) -> Vec<String> {
    let list = suite(name, &["list", "--client"]);
    let list = String::from_utf8(list.stdout).unwrap();
    let lines = list.lines().filter_map(|line| line.strip_prefix("  - "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// Returns the client, which is built beside the tests.
fn client() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let mut folders = test.ancestors();
    let client = folders.find_map(|folder| {
        let client = folder.join("examples").join("conformance_client");
        client.exists().then_some(client)
    });
    client.expect("cargo builds the examples beside the tests")
}

/// Runs the scenarios of `suite`, two at a time.
fn check(name: &str, least: usize) {
    let scenarios: Vec<String> = scenarios(name)
        .into_iter()
        .filter(|scenario| {
            let mut left_out = LEFT_OUT.iter();
            !left_out.any(|(left_out, only, _)| {
                left_out == scenario && only.is_none_or(|only| only == name)
            })
        })
        .collect();
    assert!(least <= scenarios.len(), "{scenarios:?}");
    let client = client();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let halves = scenarios.chunks(scenarios.len().div_ceil(2));
        let runs: Vec<_> = halves
            .map(|half| scope.spawn(|| failures(name, half, &client)))
            .collect();
        runs.into_iter()
            .flat_map(|run| run.join().unwrap())
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn failures(name: &str, scenarios: &[String], client: &Path) -> Vec<String> {
    let client = client.to_str().unwrap();
    let runs = scenarios.iter().filter_map(|scenario| {
        let arguments = ["client", "--command", client, "--scenario", scenario];
        let output = suite(name, &arguments);
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        // A scenario without checks has not passed.
        let has_passed = output.status.success() && !report.contains("Passed: 0/0");
        (!has_passed).then(|| {
            let complaints = String::from_utf8_lossy(&output.stderr);
            format!("{scenario}\n{report}\n{complaints}")
        })
    });
    runs.collect()
}

#[test]
fn the_client_passes_the_suite() {
    check("suite", 23);
}

#[test]
fn the_client_passes_the_newer_suite() {
    check("suite-next", 39);
}
