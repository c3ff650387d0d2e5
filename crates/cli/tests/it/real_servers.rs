//! A plan that takes data from one real server to another: JavaScript and Python, old revision and new.

use std::fs;
use std::process::Command;

use planwright_testkit::real_servers::program;
use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

#[test]
fn data_goes_from_server_to_server() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let root_text = root.to_str().unwrap();
    for args in [
        &["init", "--quiet", "--initial-branch", "main"][..],
        &["config", "user.name", "Ada"],
        &["config", "user.email", "ada@example.com"],
    ] {
        let status = Command::new("git").args(args).current_dir(&root).status();
        assert!(status.unwrap().success());
    }
    let server = |name: &str, args: &[&str]| json!({ "command": program(&format!("mcp-server-{name}")), "args": args });
    let config = json!({ "mcpServers": {
        "time": server("time", &["--local-timezone", "UTC"]),
        "git": server("git", &["--repository", root_text]),
        "files": server("filesystem", &[root_text]),
        "everything": server("everything", &[]),
    }});
    fs::write(root.join("servers.json"), config.to_string()).unwrap();
    let note = format!("{root_text}/note.txt");
    let plan = json!({
        "name": "note-the-time",
        "steps": [
            {"id": "now", "tool": "get_current_time", "args": {"timezone": "UTC"}},
            {"id": "write", "tool": "files.write_file",
             "args": {"path": note, "content": "It is ${now.datetime} in ${now.timezone}"}},
            {"id": "read", "tool": "files.read_text_file", "args": {"path": note}, "after": ["write"]},
            {"id": "add", "tool": "git_add", "args": {"repo_path": root_text, "files": ["note.txt"]}, "after": ["write"]},
            {"id": "commit", "tool": "git_commit", "args": {"repo_path": root_text, "message": "Note ${now.datetime}"},
             "after": ["add"]},
            {"id": "log", "tool": "git_log", "args": {"repo_path": root_text, "max_count": 1}, "after": ["commit"]},
            {"id": "echo", "tool": "everything.echo", "args": {"message": "${log}"}}
        ]
    });
    fs::write(root.join("plan.json"), plan.to_string()).unwrap();
    let output = planwright(&root)
        .env("PATH", path())
        .args([
            "run",
            "plan.json",
            "--servers",
            "servers.json",
            "--format",
            "json",
            "--approve",
            "all",
        ])
        .output()
        .unwrap();
    let report: Value = serde_json::from_str(&stdout(&output))
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(&output), stderr(&output)));
    assert_eq!(
        report["status"],
        "succeeded",
        "{report:#}\n{}",
        stderr(&output)
    );
    let time = report["output"]["now"]["datetime"].as_str().unwrap();
    let written = fs::read_to_string(&note).unwrap();
    assert_eq!(written, format!("It is {time} in UTC"));
    let read = report["output"]["read"].to_string();
    assert!(read.contains(time), "{read}");
    let echo = report["output"]["echo"].to_string();
    assert!(echo.contains(&format!("Note {time}")), "{echo}");
}

/// The machine's own path: the servers need Node.js and git.
#[expect(
    clippy::disallowed_methods,
    reason = "the test stands in for a person's shell"
)]
fn path() -> String {
    std::env::var("PATH").unwrap()
}
