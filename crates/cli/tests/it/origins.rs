//! Converted plans on the systems that they are for: mcp-cli's and Concierge's own executors run what is not refused, and each
//! step must give what it gives here. What is refused, and what is written for all four systems, is a snapshot.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use planwright::core::diagnostic::Severity;
use planwright::dialects::{ReadOptions, dialect, parse};
use planwright::engine::backend::Simulated;
use planwright::{Plan, Planwright, Value};
use planwright_testkit::judges;
use serde_json::{Value as Json, json};

const SYSTEMS: [&str; 4] = ["concierge", "mcp-cli", "clear-ai", "agentle"];

/// The systems whose executors can be installed, and the scripts that run plans with them.
const EXECUTORS: [(&str, &str); 2] = [
    ("concierge", "run_concierge.py"),
    ("mcp-cli", "run_mcp_cli.py"),
];

/// The warning about a plan that fails there, and says so, if the value that it reads is missing.
const FAILS_THERE: &str = "that a missing value gives `null`";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/origins")
}

/// The plans by what they show.
fn plans() -> BTreeMap<String, Plan> {
    let text = fs::read_to_string(folder().join("plans.json")).unwrap();
    let plans: BTreeMap<String, Json> = serde_json::from_str(&text).unwrap();
    let read = |json: &Json| {
        let options = ReadOptions::new("plan").in_dialect("native");
        let result = parse(json.to_string().as_bytes(), &options);
        assert!(
            !result.diagnostics.has_errors(),
            "{:#?}",
            result.diagnostics
        );
        result.plan.unwrap()
    };
    plans
        .iter()
        .map(|(name, json)| (name.clone(), read(json)))
        .collect()
}

/// The outputs of the steps of `plan` here, by their ids.
async fn outputs(plan: Plan) -> Json {
    let script = Value::from_json(r#"{"tools": {"echo": {"echo": true}}}"#).unwrap();
    let tools = Simulated::from_script(&script).unwrap();
    let planwright = Planwright::builder().simulated(tools).open().await.unwrap();
    let checked = planwright.check(plan).unwrap();
    let summary = planwright.run(checked).await.unwrap();
    let outputs = summary.steps.iter().map(|step| {
        let output = step.output.as_ref().unwrap().to_json();
        (step.at.to_string(), serde_json::from_str(&output).unwrap())
    });
    Json::Object(outputs.collect())
}

/// Runs `plans` with the executor of `system`.
fn run(system: &str, script: &str, plans: &[String]) -> Vec<Json> {
    let mut child = Command::new(judges::program(&format!("{system}/bin/python")))
        .arg(folder().join(script))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(json!(plans).to_string().as_bytes())
        .unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{system}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn converted_plans_do_the_same_on_the_systems_that_they_are_for() {
    for (system, script) in EXECUTORS {
        let mut converted = Vec::new();
        for (name, plan) in plans() {
            let (text, findings) = dialect(system).unwrap().print(&plan);
            let fails = findings.iter().any(|it| it.message.contains(FAILS_THERE));
            if let Some(text) = text {
                converted.push((name, text, (!fails).then_some(outputs(plan).await)));
            }
        }
        assert!(converted.len() >= 6, "{system} can say {}", converted.len());
        let texts: Vec<String> = converted.iter().map(|(_, text, _)| text.clone()).collect();
        for ((name, text, here), there) in converted.iter().zip(run(system, script, &texts)) {
            match here {
                Some(here) => {
                    let here = json!({"outputs": here});
                    assert_eq!(there, here, "{name} on {system}: {text}");
                }
                None => assert!(there["error"].is_string(), "{name} on {system}: {there}"),
            }
        }
    }
}

#[test]
fn plans_are_written_for_each_system() {
    let mut shown = String::new();
    for (name, plan) in plans() {
        writeln!(shown, "=== {name}").unwrap();
        for system in SYSTEMS {
            let (printed, findings) = dialect(system).unwrap().print(&plan);
            let printed = printed.map_or("refused".to_owned(), |text| {
                serde_json::from_str::<Json>(&text).unwrap().to_string()
            });
            writeln!(shown, "{system}: {printed}").unwrap();
            for finding in findings.iter().filter(|it| it.severity == Severity::Error) {
                let help = finding.help.as_deref().unwrap_or("no way out");
                writeln!(shown, "  {} ({help})", finding.message).unwrap();
            }
        }
    }
    insta::with_settings!({omit_expression => true, snapshot_path => folder(), prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("plans", shown);
    });
}
