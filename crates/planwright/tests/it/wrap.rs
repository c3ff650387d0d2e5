//! The gateway in front of the servers that a client has, and away again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

const CLAUDE: &str = r#"{
  "mcpServers": {
    "git": {
      "command": "uvx",
      "args": ["mcp-server-git"]
    },
    "time": {
      "command": "uvx",
      "args": ["mcp-server-time"],
      "env": { "API_TOKEN": "s3cret" }
    }
  }
}
"#;

const VS_CODE: &str = r#"{
	// The team's servers.
	"inputs": [{"type": "promptString", "id": "key", "password": true}],
	"servers": {
		"mail": {"type": "stdio", "command": "mail", "env": {"KEY": "${input:key}"}},
		"git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"]}, // ours
	},
}
"#;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = machine.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn give(&self, args: &[&str]) -> Output {
        planwright(self.0.path()).args(args).output().unwrap()
    }

    /// The report of a command that goes well.
    #[track_caller]
    fn report(&self, args: &[&str]) -> Value {
        let output = self.give(&[args, &["--format", "json"]].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{args:?}: {}",
            stderr(&output)
        );
        serde_json::from_str(&stdout(&output)).unwrap()
    }

    /// What our files are called.
    fn ours(&self) -> Vec<String> {
        let folder = fs::read_dir(self.path(".config/planwright/wrapped"));
        let entries = folder.into_iter().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Wraps a client's file and unwraps it: servers move, the file is what it was.
#[track_caller]
fn check(target: &str, file: &str, text: &str, pointer: &str, moved: &[&str]) {
    let machine = Machine::new(&[(file, text)]);
    let seen = machine.report(&["wrap", target, "--dry-run"]);
    assert_eq!(
        (machine.text(file).as_str(), machine.ours().len()),
        (text, 0),
        "a dry run changes nothing"
    );
    assert!(!seen.to_string().contains("s3cret"));

    let report = machine.report(&["wrap", target]);
    assert_eq!(report["schema"], "planwright.wrap/1");
    let done = &report["files"][0];
    assert_eq!(
        (&done["moved"], &seen["files"][0]["moved"]),
        (&json!(moved), &json!(moved)),
        "{report}"
    );
    let ours = done["servers_file"].as_str().unwrap();
    let servers = value(&fs::read_to_string(ours).unwrap().replace("// ours", ""));
    let names: Vec<&String> = servers["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, moved);
    let client = value(
        &machine
            .text(file)
            .replace("// The team's servers.", "")
            .replace("},\n\t},\n}", "}}}"),
    );
    let entry = &client.pointer(pointer).unwrap()[done["entry"].as_str().unwrap()];
    assert_eq!(entry["args"], json!(["serve", "--servers", ours]));
    assert!(Path::new(entry["command"].as_str().unwrap()).is_file());

    let wrapped = machine.text(file);
    let again = machine.report(&["wrap", target]);
    assert_eq!(
        (&again["files"][0]["changed"], machine.text(file)),
        (&json!(false), wrapped)
    );

    let back = machine.report(&["wrap", target, "--undo"]);
    assert_eq!(back["files"][0]["returned"], json!(moved));
    assert_eq!(machine.text(file), text);
    assert_eq!(machine.ours(), [""; 0]);
    assert_eq!(
        machine.report(&["wrap", target, "--undo"])["files"],
        json!([])
    );
}

#[test]
fn every_client_can_be_wrapped() {
    let both = ["git", "time"];
    check("claude-code", ".mcp.json", CLAUDE, "/mcpServers", &both);
    check("claude-code", ".claude.json", CLAUDE, "/mcpServers", &both);
    check("cursor", ".cursor/mcp.json", CLAUDE, "/mcpServers", &both);
    check("vscode", ".vscode/mcp.json", VS_CODE, "/servers", &["git"]);
    check("some.json", "some.json", CLAUDE, "/mcpServers", &both);
    check(
        "./folder/of/mine.json",
        "folder/of/mine.json",
        VS_CODE,
        "/servers",
        &["git"],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn clients_with_folders_of_their_own() {
    let both = ["git", "time"];
    check(
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        CLAUDE,
        "/mcpServers",
        &both,
    );
    check(
        "vscode",
        ".config/Code/User/mcp.json",
        VS_CODE,
        "/servers",
        &["git"],
    );
}

#[test]
fn each_scope_has_an_entry_of_its_own() {
    let machine = Machine::new(&[(".mcp.json", CLAUDE)]);
    let here = machine.0.path().canonicalize().unwrap();
    let mine = json!({
        "numStartups": 7,
        "mcpServers": {"mail": {"command": "mail"}},
        "projects": {here.to_str().unwrap(): {"mcpServers": {"db": {"command": "db"}}}, "/else": {"mcpServers": {"x": {"command": "x"}}}},
    });
    let text = serde_json::to_string_pretty(&mine).unwrap();
    fs::write(machine.path(".claude.json"), &text).unwrap();
    let output = planwright(&here)
        .env("HOME", machine.0.path())
        .args(["wrap", "claude-code", "--format", "json"])
        .output()
        .unwrap();
    let report = value(&stdout(&output));
    let files = report["files"].as_array().unwrap();
    let entries: Vec<(&str, &Value)> = files
        .iter()
        .map(|file| (file["entry"].as_str().unwrap(), &file["moved"]))
        .collect();
    assert_eq!(
        entries,
        [
            ("planwright-project", &json!(["git", "time"])),
            ("planwright-local", &json!(["db"])),
            ("planwright", &json!(["mail"]))
        ]
    );
    let client = value(&machine.text(".claude.json"));
    assert_eq!(client["projects"]["/else"], mine["projects"]["/else"]);
    // One of them alone, then the rest.
    let undo = |more: &[&str]| {
        let args = [&["wrap", "claude-code", "--undo"], more].concat();
        let output = planwright(&here)
            .env("HOME", machine.0.path())
            .args(args)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    };
    undo(&["--scope", "project"]);
    assert_eq!(
        (machine.text(".mcp.json").as_str(), machine.ours().len()),
        (CLAUDE, 4)
    );
    undo(&[]);
    assert_eq!(
        (machine.text(".claude.json"), machine.ours().len()),
        (text, 0)
    );
}

#[test]
fn what_came_meanwhile_is_not_lost() {
    let machine = Machine::new(&[("c.json", CLAUDE)]);
    let report = machine.report(&["wrap", "c.json"]);
    let ours = report["files"][0]["servers_file"].as_str().unwrap();
    let text = fs::read_to_string(ours).unwrap().replace(
        "\"git\": {",
        "\"added\": {\"command\": \"a\"},\n    \"git\": {",
    );
    fs::write(ours, text).unwrap();
    let text = machine.text("c.json").replace(
        "\"planwright\":",
        "\"new\": {\"command\": \"n\"},\n    \"planwright\":",
    );
    fs::write(machine.path("c.json"), text).unwrap();
    let output = machine.give(&["wrap", "c.json", "--undo"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("back: added, git, time"),
        "{}",
        stdout(&output)
    );
    let servers = value(&machine.text("c.json"));
    let names: Vec<&String> = servers["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["new", "added", "git", "time"]);
    // The copy stays where the file is not what it was.
    let kept = machine.ours();
    assert!(kept.len() == 1 && kept[0].ends_with(".backup"), "{kept:?}");
}

#[test]
fn nothing_is_touched_that_cannot_be_changed() {
    let check = |text: &str, args: &[&str], expected: &str| {
        let machine = Machine::new(&[("c.json", text)]);
        let output = machine.give(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert_eq!(
            (machine.text("c.json").as_str(), machine.ours().len()),
            (text, 0)
        );
    };
    check(
        "{\"mcpServers\": {",
        &["wrap", "c.json"],
        "`c.json` cannot be changed: it is not JSON: EOF",
    );
    check(
        "{}",
        &["wrap", "c.json"],
        "there are no servers to stand in front of",
    );
    check("{}", &["wrap", "cursor"], ".cursor/mcp.json");
    check("{}", &["wrap", "cursr"], "the clients that are known are");
    check("{}", &["wrap", "gone.json"], "cannot read `gone.json`");
    check(
        r#"{"mcpServers": {"planwright": {"command": "mine"}, "a": {"command": "a"}}}"#,
        &["wrap", "c.json"],
        "it has another server that is called `planwright`",
    );
}

#[test]
fn servers_that_stay_are_told() {
    let machine = Machine::new(&[(".vscode/mcp.json", VS_CODE)]);
    let output = machine.give(&["wrap", "vscode"]);
    let said = stdout(&output);
    assert!(
        said.contains("1 server went behind `planwright-project`"),
        "{said}"
    );
    assert!(
        said.contains("stays: mail (only the client can fill in `${input:key}`)"),
        "{said}"
    );
    assert!(
        stderr(&output).contains("may be shared with others"),
        "{}",
        stderr(&output)
    );
}

#[cfg(unix)]
#[test]
fn who_may_read_a_file_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let machine = Machine::new(&[("real/c.json", CLAUDE)]);
    let real = machine.path("real/c.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&real, machine.path("c.json")).unwrap();
    let report = machine.report(&["wrap", "c.json"]);
    assert!(
        machine
            .path("c.json")
            .symlink_metadata()
            .unwrap()
            .is_symlink()
    );
    assert_eq!(mode(&real), 0o644);
    for file in ["servers_file", "backup"] {
        let path = report["files"][0][file].as_str().unwrap();
        assert_eq!(mode(Path::new(path)), 0o600, "{file}");
    }
    machine.report(&["wrap", "c.json", "--undo"]);
    assert_eq!(
        (fs::read_to_string(&real).unwrap().as_str(), mode(&real)),
        (CLAUDE, 0o644)
    );
}
