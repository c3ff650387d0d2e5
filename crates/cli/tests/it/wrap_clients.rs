//! The clients with entries of their own form: `tests/golden/wrap` has a folder for each, with its file before and after `wrap`, our
//! file of servers, the report, and the file after `--undo` if something else in it was edited meanwhile.

use std::fs;
use std::path::{Path, PathBuf};

use planwright_testkit::generated;
use regex::Regex;
use serde_json::Value;

use crate::program::{planwright, run_program, stderr, stdout};

const GOLDEN: &str = "crates/cli/tests/golden/wrap";

fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(generated::project_file(GOLDEN)).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// Replaces what differs by machine: paths, and the digest of a path.
fn neutral(text: &str, home: &Path) -> String {
    let text = text
        .replace(env!("CARGO_BIN_EXE_planwright"), "/bin/planwright")
        .replace(&home.display().to_string(), "~");
    let digest = Regex::new(r"-[0-9a-f]{8}\.(json|backup)").unwrap();
    digest.replace_all(&text, "-DIGEST.$1").into_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn generated_files_of_wrapped_clients_are_current() {
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let case = fs::read_to_string(folder.join("case.json")).unwrap();
        let case: Value = serde_json::from_str(&case).unwrap();
        let text = |field: &str| case[field].as_str().unwrap().to_owned();
        let (client, file) = (text("client"), text("file"));
        let ending = Path::new(&file).extension().unwrap().to_str().unwrap();
        let before = fs::read_to_string(folder.join(format!("before.{ending}"))).unwrap();
        let machine = tempfile::tempdir().unwrap();
        let home = machine.path();
        let path = home.join(&file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &before).unwrap();
        let golden = |file: &str, text: &str| {
            generated::check(&format!("{GOLDEN}/{name}/{file}"), &neutral(text, home));
        };
        let wrap = |more: &[&str]| {
            let output = run_program(home, &[&["wrap", &client], more].concat());
            assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
            stdout(&output)
        };

        let seen = wrap(&["--dry-run"]);
        assert!(!seen.contains("s3cret"), "{name}: {seen}");
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "{name}");
        golden("report.txt", &wrap(&[]));
        let wrapped = fs::read_to_string(&path).unwrap();
        golden(&format!("wrapped.{ending}"), &wrapped);
        let ours = fs::read_dir(home.join(".config/planwright/wrapped")).unwrap();
        let ours = ours.map(|entry| entry.unwrap().path());
        let servers = ours.filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.split_once('.')
                .is_some_and(|(_, ending)| ending == "json")
        });
        let servers: Vec<PathBuf> = servers.collect();
        assert_eq!(servers.len(), 1, "{name}");
        golden("servers.json", &fs::read_to_string(&servers[0]).unwrap());
        let own = home.join(".config/planwright/planwright.toml");
        golden(
            "planwright.toml",
            &fs::read_to_string(&own).unwrap_or_default(),
        );

        assert!(wrap(&[]).contains("nothing to move"), "{name}");
        wrap(&["--undo"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "{name}");
        let left = fs::read_dir(home.join(".config/planwright/wrapped")).unwrap();
        assert_eq!(left.count(), 0, "{name}");

        wrap(&[]);
        let edit = |at: usize| case["edit"][at].as_str().unwrap().to_owned();
        assert!(wrapped.contains(&edit(0)), "{name}");
        fs::write(&path, wrapped.replace(&edit(0), &edit(1))).unwrap();
        wrap(&["--undo"]);
        golden(
            &format!("returned.{ending}"),
            &fs::read_to_string(&path).unwrap(),
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_servers_of_our_file_are_usable() {
    for folder in folders() {
        let servers = folder.join("servers.json");
        let output = planwright(&folder)
            .args(["servers", "--servers"])
            .arg(&servers)
            .args(["--format", "json"])
            .output()
            .unwrap();
        let listing: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let listed = listing["servers"].as_array().unwrap();
        assert!(!listed.is_empty(), "{}", folder.display());
        for server in listed {
            assert!(server.get("problem").is_none_or(Value::is_null), "{server}");
        }
    }
}

#[test]
fn without_a_client_the_lists_are_shown() {
    let machine = tempfile::tempdir().unwrap();
    let home = machine.path();
    let overview = || {
        let output = run_program(home, &["wrap", "--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let listing: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(listing["schema"], "planwright.clients/1");
        listing["lists"].as_array().unwrap().clone()
    };
    assert_eq!(overview().len(), 0);
    let output = run_program(home, &["wrap"]);
    assert!(stderr(&output).contains("no known client lists servers here"));
    fs::create_dir_all(home.join(".codex")).unwrap();
    let toml = "[mcp_servers.git]\ncommand = \"git-server\"\n";
    fs::write(home.join(".codex/config.toml"), toml).unwrap();
    fs::write(home.join(".mcp.json"), r#"{"mcpServers": {"#).unwrap();
    let lists = overview();
    assert_eq!(lists[0]["client"], "claude-code");
    assert!(
        lists[0]["problem"]
            .as_str()
            .unwrap()
            .contains("it is not JSON")
    );
    // The home folder is also the working folder here.
    let codex: Vec<&Value> = lists
        .iter()
        .filter(|list| list["client"] == "codex")
        .collect();
    assert_eq!(codex[0]["wrapped"], false);
    assert_eq!(codex[0]["servers"], serde_json::json!(["git"]));
    let text = stdout(&run_program(home, &["wrap"]));
    assert!(text.contains("not wrapped: 1 server"), "{text}");
    let output = run_program(home, &["wrap", "codex", "--scope", "user"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let codex = overview();
    let codex: Vec<&Value> = codex
        .iter()
        .filter(|list| list["client"] == "codex" && list["scope"] == "user")
        .collect();
    assert_eq!(codex[0]["wrapped"], true);
    let text = stdout(&run_program(home, &["wrap"]));
    assert!(text.contains("wrapped"), "{text}");
}

#[test]
fn what_stands_is_said_where_a_file_is_gone() {
    let machine = tempfile::tempdir().unwrap();
    let home = machine.path();
    let file = home.join("c.json");
    let text = r#"{"mcpServers": {"git": {"command": "git-server"}}}"#;
    fs::write(&file, text).unwrap();
    let wrap = |more: &[&str]| {
        let output = run_program(
            home,
            &[&["wrap", "c.json", "--format", "json"], more].concat(),
        );
        let report: Value = serde_json::from_str(&stdout(&output)).unwrap_or_default();
        (output.status.code(), report["files"][0].clone())
    };
    let (_, done) = wrap(&[]);
    let servers = done["servers_file"].as_str().unwrap();
    let backup = done["backup"].as_str().unwrap();
    let wrapped = fs::read_to_string(&file).unwrap();

    fs::remove_file(&file).unwrap();
    let (exit, gone) = wrap(&["--undo"]);
    assert_eq!(exit, Some(1));
    let problem = format!("it is gone; its servers are in `{servers}`");
    assert_eq!(gone["problem"], problem.as_str());
    assert_eq!(gone["backup"], backup);
    assert!(Path::new(servers).is_file() && Path::new(backup).is_file());

    fs::write(&file, &wrapped).unwrap();
    fs::remove_file(servers).unwrap();
    let (exit, gone) = wrap(&["--undo"]);
    assert_eq!(exit, Some(1));
    let problem = gone["problem"].as_str().unwrap();
    assert!(
        problem.contains("still starts the gateway with"),
        "{problem}"
    );
    assert_eq!(gone["backup"], backup);
    assert_eq!(fs::read_to_string(&file).unwrap(), wrapped);
    let output = run_program(home, &["wrap", "c.json", "--undo"]);
    let said = stdout(&output);
    assert!(said.contains(&format!("  backup: {backup}")), "{said}");
}
