//! The examples say what they said when they were written.

use std::path::{Path, PathBuf};
use std::process::Command;

use planwright_testkit::real_servers;
use serde_json::json;

/// Runs an example and compares all that it prints.
fn check(name: &str, arguments: &[&Path]) {
    let output = Command::new(program(name))
        .args(arguments)
        .output()
        .unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} failed: {talk}");
    assert_eq!(talk, "", "{name} has something to say");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../golden/examples");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, String::from_utf8_lossy(&output.stdout)));
}

/// Cargo builds examples beside the tests, into a folder of their own.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = profile.join("examples").join(name);
    assert!(
        program.exists(),
        "{name} is not built: run the tests of the whole package"
    );
    program
}

#[test]
fn examples_print_what_they_printed() {
    let alone = [
        "hello_plan",
        "own_tools",
        "custom_backend",
        "watch_events",
        "own_dialect",
        "extend_run",
        "durable_run",
        "follow",
    ];
    for name in alone {
        check(name, &[]);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut written: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()?
                .to_str()
                .map(str::to_owned)
        })
        .filter(|name| name != "two_servers")
        .collect();
    written.sort();
    let mut known = alone.map(str::to_owned);
    known.sort();
    assert_eq!(written, known, "every example is tested");
}

#[test]
fn data_goes_between_two_servers() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let file = root.join("poem.txt");
    std::fs::write(&file, "one line\nanother line\n").unwrap();
    let servers = json!({"mcpServers": {
        "files": {"command": real_servers::program("mcp-server-filesystem"), "args": [root]},
        "everything": {"command": real_servers::program("mcp-server-everything")},
    }});
    let config = root.join("mcp.json");
    std::fs::write(&config, servers.to_string()).unwrap();
    check("two_servers", &[&config, &file]);
}
