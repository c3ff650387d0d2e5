//! An `mcp.json` that was found starts nothing until it is trusted.

use std::fs;
use std::process::Stdio;

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{planwright, run_program, stderr, stdout};

#[test]
fn files_that_are_trusted_at_the_same_time_are_all_trusted() {
    const FILES: usize = 16;
    let folder = tempfile::tempdir().unwrap();
    let trusting: Vec<_> = (0..FILES)
        .map(|number| {
            let file = format!("{number}.json");
            fs::write(folder.path().join(&file), r#"{"mcpServers": {}}"#).unwrap();
            planwright(folder.path())
                .args(["trust", &file, "--no-store"])
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in trusting {
        assert!(child.wait().unwrap().success());
    }
    let list = fs::read_to_string(folder.path().join(".config/planwright/trusted.json")).unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["files"].as_array().unwrap().len(), FILES);
}

#[test]
fn a_server_that_was_found_is_not_started_until_it_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let script = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "does": {"text": "hello"}}]});
    let config = |note: &str| {
        json!({"mcpServers": {"fake": {
            "command": fake_server::program(), "args": [script.to_string()], "env": {"NOTE": note}
        }}})
        .to_string()
    };
    fs::write(path.join("mcp.json"), config("one")).unwrap();
    fs::write(
        path.join("plan.json"),
        r#"{"name": "p", "steps": [{"id": "a", "tool": "t"}]}"#,
    )
    .unwrap();
    let run = |args: &[&str]| {
        planwright(path)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };

    let output = run(&["run", "plan.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("planwright trust mcp.json"),
        "{}",
        stderr(&output)
    );

    let output = run(&["trust", "mcp.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = run(&["run", "plan.json", "--format", "json"]);
    let report: Value = serde_json::from_str(&stdout(&output))
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    assert_eq!(report["output"]["a"], "hello");

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let trusted = path.join(".config/planwright/trusted.json");
        let mode = fs::metadata(trusted).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "readable by its owner alone");
    }

    fs::write(path.join("mcp.json"), config("two")).unwrap();
    let output = run(&["run", "plan.json"]);
    assert_eq!(output.status.code(), Some(2), "a change ends the trust");

    let output = run(&["run", "plan.json", "--servers", "mcp.json"]);
    assert_eq!(
        output.status.code(),
        Some(4),
        "a file that was named is trusted by that, but its server is another one than before, so its tools ask"
    );
    let output = run(&["run", "plan.json", "--servers", "mcp.json", "--no-store"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));

    run(&["trust", "mcp.json"]);
    run(&["trust", "--remove", "mcp.json"]);
    let output = run(&["run", "plan.json"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_plan_without_tools_runs_beside_a_file_that_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let servers = r#"{"mcpServers": {"fake": {"command": "no-such-program"}}}"#;
    fs::write(path.join("mcp.json"), servers).unwrap();
    let plan = r#"{"steps": [{"id": "a", "value": 1}]}"#;
    fs::write(path.join("plan.json"), plan).unwrap();
    let output = run_program(path, &["run", "plan.json", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("note: `mcp.json` is not trusted"));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_folder_is_no_list_of_servers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let made = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(made.unwrap().success());
    for arguments in [&["servers"][..], &["tools"], &["doctor"]] {
        let output = run_program(folder.path(), arguments);
        let (out, log) = (stdout(&output), stderr(&output));
        assert!(
            out.contains("it is not a file") || log.contains("it is not a file"),
            "{arguments:?}: {out}{log}"
        );
    }
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("gone.json", &file).unwrap();
    let output = run_program(folder.path(), &["servers"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("cannot read `mcp.json`"));
}

#[test]
fn a_secret_hides_nothing_of_what_a_file_would_start() {
    let folder = tempfile::tempdir().unwrap();
    let program = "touch evil/x";
    let config = json!({"mcpServers": {
        "a": {"command": "sh", "args": ["-c", program], "cwd": "evil/x",
            "env": {"API_TOKEN": program, "OTHER_KEY": "evil/x", "LD_PRELOAD": "evil/x"}},
        "b": {"url": "https://evil.example/mcp", "headers": {"Authorization": "evil.example", "X-Host": "evil.example"}}
    }});
    fs::write(folder.path().join("mcp.json"), config.to_string()).unwrap();
    let output = planwright(folder.path())
        .args(["trust", "mcp.json", "--no-store"])
        .output()
        .unwrap();
    insta::assert_snapshot!(stderr(&output), @r"
      a: sh -c 'touch evil/x'
        in the folder evil/x
        with API_TOKEN=[redacted]
        with OTHER_KEY=[redacted]
        with LD_PRELOAD=evil/x
      b: talk to https://evil.example/mcp
        with Authorization: [redacted]
        with X-Host: evil.example
    `mcp.json` is trusted as it is now
    ");
}

/// The lines of `planwright trust` about the servers of a file.
fn shown(servers: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({"mcpServers": servers});
    fs::write(folder.path().join("mcp.json"), config.to_string()).unwrap();
    let output = planwright(folder.path())
        .args(["trust", "mcp.json", "--no-store"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn a_server_whose_variables_make_it_valid_is_shown() {
    let servers = json!({
        "header": {"url": "http://127.0.0.1:8899/mcp", "headers": {"A": "${HOME:-\n}${AWS_SECRET:-}"}},
        "address": {"url": "http://evil.example${HOME}@x"},
        "grant": {"url": "http://evil.example/", "headers": {"Authorization": "swordfish"},
            "oauth": {"clientId": "c", "clientSecret": "${AWS_SECRET}", "grant": "${G:-client_credentials}"}},
        "slow": {"command": "sleep", "args": ["${TIME}"], "timeout": "never", "more": 1},
    });
    insta::assert_snapshot!(shown(&servers), @r#"
      header: talk to http://127.0.0.1:8899/mcp
        with A: ${HOME:- }${AWS_SECRET:-}
      address: talk to http://evil.example${HOME}@x
      the server `grant` cannot be started: unknown grant `${G:-client_credentials}`
      the server `slow` cannot be started: `timeout` must be a duration
      grant as written: {"url":"http://evil.example/","headers":{"Authorization":"[redacted]"},"oauth":{"clientId":"c","clientSecret":"${AWS_SECRET}","grant":"${G:-client_credentials}"}}
      slow as written: {"command":"sleep","args":["${TIME}"],"timeout":"never","more":1}
      warning: the field `more` of the server `slow` is unknown and was ignored
    `mcp.json` is trusted as it is now
    "#);
}

#[test]
fn each_field_of_a_server_is_shown() {
    let servers = json!({
        "a": {"command": "sh", "trusted": true, "timeout": "90s", "startTimeout": 1500, "protocol": "2025-11-25"},
        "b": {"url": "http://127.0.0.1:8898/mcp", "oauth": {"clientId": "c d", "grant": "client_credentials",
            "clientSecret": "${MY_PRIVATE}", "clientMetadataUrl": "https://example.com/c", "scopes": ["x", "y"], "callbackPort": 8000}},
        "c": {"url": "http://127.0.0.1:8898/mcp", "oauth": {"clientId": "c", "clientSecret": "swordfish"}},
    });
    insta::assert_snapshot!(shown(&servers), @r#"
      a: sh
        trusted: its statements about its tools count, so that calls which it states to be harmless are repeated without a question
        timeout: 90s
        startTimeout: 1.5s
        protocol: 2025-11-25
      b: talk to http://127.0.0.1:8898/mcp
        logs in with grant=client_credentials clientId='c d' clientSecret='${MY_PRIVATE}' clientMetadataUrl=https://example.com/c scopes='x y' callbackPort=8000
      c: talk to http://127.0.0.1:8898/mcp
        logs in with clientId=c clientSecret='[redacted]'
    `mcp.json` is trusted as it is now
    "#);
}
