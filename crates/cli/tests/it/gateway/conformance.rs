//! The official conformance suite against the gateway.

use std::collections::BTreeSet;
use std::process::Command;

use planwright_testkit::conformance::{CheckResults, Suite, run_server_suite};
use planwright_testkit::conformance_server;
use planwright_testkit::listening::HttpServerProcess;

use super::serve::Behind;

/// The upstream server passes the whole suite, so every failure through the gateway is a defect of the gateway.
fn check_server(suite: Suite) {
    let server = server();
    let failures = failures(&run_server_suite(suite, server.url(), None));
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

/// Through the gateway, each check comes out as it does when the server is asked directly: none fails, none is left out.
fn check_gateway(suite: Suite) {
    let server = server();
    let direct = run_server_suite(suite, server.url(), None);
    let behind = Behind::new(&[("conformance", conformance_server::program(), &[])]);
    let gateway = behind.listening(&["--mode", "plain"]);
    let through = run_server_suite(suite, gateway.url(), None);
    let failures = failures(&through);
    assert!(failures.is_empty(), "{failures:#?}");
    let (direct, through) = (outcomes(&direct), outcomes(&through));
    let lost: Vec<_> = direct.difference(&through).collect();
    let new: Vec<_> = through.difference(&direct).collect();
    assert!(
        lost.is_empty() && new.is_empty(),
        "lost: {lost:#?}\nnew: {new:#?}"
    );
}

#[test]
fn the_gateway_passes_the_stable_suite() {
    check_gateway(Suite::Stable);
}

#[test]
fn the_gateway_passes_at_2025_06_18() {
    check_gateway(Suite::Next("2025-06-18"));
}

#[test]
fn the_gateway_passes_at_2025_11_25() {
    check_gateway(Suite::Next("2025-11-25"));
}

#[test]
fn the_gateway_passes_at_2026_07_28() {
    check_gateway(Suite::Next("2026-07-28"));
}

/// The checks that apply if clients see the tools for plans only: those of the connection. The others call tools
/// and read resources of servers, see `docs/conformance.md`.
const ABOUT_THE_CONNECTION: &[&str] = &[
    "caching",
    "dns-rebinding-protection",
    "http-header-validation",
    "input-required-result-unsupported-methods",
    "ping",
    "resources-list",
    "sep-2164-resource-not-found",
    "server-initialize",
    "server-session-lifecycle",
    "server-sse-multiple-streams",
    "tools-list",
];

#[test]
fn plans_are_served_over_the_same_connection() {
    let behind = Behind::new(&[("conformance", conformance_server::program(), &[])]);
    let gateway = behind.listening(&[]);
    let mut missed: BTreeSet<&str> = ABOUT_THE_CONNECTION.iter().copied().collect();
    for suite in [
        Suite::Stable,
        Suite::Next("2025-06-18"),
        Suite::Next("2025-11-25"),
        Suite::Next("2026-07-28"),
    ] {
        let mut findings = run_server_suite(suite, gateway.url(), None);
        findings.retain(|scenario, _| ABOUT_THE_CONNECTION.contains(&scenario.as_str()));
        let failures = failures(&findings);
        assert!(failures.is_empty(), "{suite:?}: {failures:#?}");
        missed.retain(|scenario| !findings.contains_key(*scenario));
    }
    assert!(missed.is_empty(), "no suite has {missed:?}");
}

/// Renders the outcome of each check, one a line.
fn outcomes(findings: &CheckResults) -> BTreeSet<String> {
    findings
        .iter()
        .flat_map(|(scenario, checks)| checks.iter().map(move |check| (scenario, check)))
        .map(|(scenario, check)| format!("{scenario}: {}: {}", check.id, check.status))
        .collect()
}

fn server() -> HttpServerProcess {
    let mut command = Command::new(conformance_server::program());
    command.args(["--listen", "127.0.0.1:0"]);
    HttpServerProcess::start(command)
}

/// Returns the failures of the suite, a line for each.
fn failures(findings: &CheckResults) -> Vec<String> {
    findings
        .iter()
        .flat_map(|(scenario, checks)| checks.iter().map(move |check| (scenario, check)))
        .filter(|(_, check)| check.status == "FAILURE")
        .map(|(scenario, check)| format!("{scenario}: {}: {}", check.id, check.message))
        .collect()
}
