//! What the official conformance suite says.

use std::process::Command;

use planwright_testkit::conformance::{Findings, Suite, judge_server};
use planwright_testkit::conformance_server;
use planwright_testkit::listening::Listening;

/// The server that the gateway stands before passes everything itself, so what fails through the gateway is its own doing.
fn check_server(suite: Suite) {
    let server = server();
    let failures = failures(&judge_server(suite, server.url(), None));
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn the_server_itself_passes_the_stable_suite() {
    check_server(Suite::Stable);
}

#[test]
fn the_server_itself_passes_at_2025_06_18() {
    check_server(Suite::Next("2025-06-18"));
}

#[test]
fn the_server_itself_passes_at_2025_11_25() {
    check_server(Suite::Next("2025-11-25"));
}

#[test]
fn the_server_itself_passes_at_2026_07_28() {
    check_server(Suite::Next("2026-07-28"));
}

fn server() -> Listening {
    let mut command = Command::new(conformance_server::program());
    command.args(["--listen", "127.0.0.1:0"]);
    Listening::start(command)
}

/// All that the suite holds against the server, a line for each.
fn failures(findings: &Findings) -> Vec<String> {
    findings
        .iter()
        .flat_map(|(scenario, checks)| checks.iter().map(move |check| (scenario, check)))
        .filter(|(_, check)| check.status == "FAILURE")
        .map(|(scenario, check)| format!("{scenario}: {}: {}", check.id, check.message))
        .collect()
}
