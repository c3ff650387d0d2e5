//! Servers whose tools ask by requests keep that behind the gateway, for clients and people that can be asked so.

use std::path::Path;
use std::process::Command;

use planwright_testkit::conformance::{Suite, run_server_suite};
use planwright_testkit::judges;
use planwright_testkit::listening::HttpServerProcess;
use serde_json::json;

use super::serve::Behind;

const SCENARIOS: [&str; 3] = [
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
];

/// A server on the official SDK passes the scenarios directly, and the same checks behind one gateway for all of them.
fn check(sdk: &str, suite: Suite) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/pushing.mjs");
    let mut command = Command::new(judges::node());
    command
        .args([&script, Path::new(sdk)])
        .arg(judges::program("typescript-server"));
    let server = HttpServerProcess::start(command);
    let behind = Behind::reaching(&json!({"pushing": {"url": server.url()}}));
    let gateway = behind.listening(&["--mode", "plain"]);
    for scenario in SCENARIOS {
        let direct = run_server_suite(suite, server.url(), Some(scenario));
        let through = run_server_suite(suite, gateway.url(), Some(scenario));
        let mut checks = direct.values().flatten();
        assert!(checks.all(|check| check.status == "SUCCESS"), "{direct:#?}");
        assert_eq!(direct, through);
    }
}

#[test]
fn one_that_speaks_earlier_revisions_alone() {
    check("sdk", Suite::Stable);
}

#[test]
fn one_that_speaks_the_newest_as_well() {
    check("server", Suite::Stable);
}

#[test]
fn one_that_speaks_the_newest_as_well_to_the_newer_suite() {
    check("server", Suite::Next("2025-11-25"));
}
