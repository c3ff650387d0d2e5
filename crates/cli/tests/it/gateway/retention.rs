//! A gateway keeps its store small.

use planwright_testkit::fake_server;
use serde_json::json;

use super::serve::Behind;

#[test]
fn ended_runs_are_forgotten_after_their_time() {
    let script = json!({"tools": [{"name": "echo", "annotations": {"readOnlyHint": true}}]});
    let behind = Behind::new(&[("fake", fake_server::program(), &[&script.to_string()])]);
    let plan = json!({"steps": [{"id": "a", "tool": "echo"}]});
    std::fs::write(behind.folder().join("plan.json"), plan.to_string()).unwrap();
    behind.run(&["run", "plan.json", "--servers", "mcp.json"]);
    behind.set("[store]\nkeep = \"30d\"\n");
    let stored = || {
        behind
            .run(&["runs", "--format", "json"])
            .contains("succeeded")
    };
    assert!(stored());
    behind.set("[store]\nkeep = \"1ms\"\n");
    let mut command = behind.command(&[]);
    command.stderr(std::process::Stdio::piped());
    command.stdin(std::process::Stdio::piped());
    let mut gateway = command.spawn().unwrap();
    let mut log = std::io::BufReader::new(gateway.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut log, &mut line).unwrap();
    drop(gateway.stdin.take());
    gateway.wait().unwrap();
    assert!(line.starts_with("1 stored run deleted"), "{line}");
    assert!(!stored());
}
