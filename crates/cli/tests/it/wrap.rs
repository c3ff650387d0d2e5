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

    /// Returns the names of Planwright's own files.
    fn own_files(&self) -> Vec<String> {
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
        (machine.text(file).as_str(), machine.own_files().len()),
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
    let servers_file = done["servers_file"].as_str().unwrap();
    let servers = value(
        &fs::read_to_string(servers_file)
            .unwrap()
            .replace("// ours", ""),
    );
    let names: Vec<&String> = servers["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, moved);
    let client = value(
        &machine
            .text(file)
            .replace("// The team's servers.", "")
            .replace("},\n\t},\n}", "}}}"),
    );
    let entry = &client.pointer(pointer).unwrap()[done["entry"].as_str().unwrap()];
    assert_eq!(entry["args"], json!(["serve", "--servers", servers_file]));
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
    assert_eq!(machine.own_files(), [""; 0]);
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
        (
            machine.text(".mcp.json").as_str(),
            machine.own_files().len()
        ),
        (CLAUDE, 4)
    );
    undo(&[]);
    assert_eq!(
        (machine.text(".claude.json"), machine.own_files().len()),
        (text, 0)
    );
}

#[test]
fn changes_made_meanwhile_are_not_lost() {
    let machine = Machine::new(&[("c.json", CLAUDE)]);
    let report = machine.report(&["wrap", "c.json"]);
    let servers_file = report["files"][0]["servers_file"].as_str().unwrap();
    let text = fs::read_to_string(servers_file).unwrap().replace(
        "\"git\": {",
        "\"added\": {\"command\": \"a\"},\n    \"git\": {",
    );
    fs::write(servers_file, text).unwrap();
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
    let backups = machine.own_files();
    assert!(
        backups.len() == 1 && backups[0].ends_with(".backup"),
        "{backups:?}"
    );
}

#[test]
fn nothing_is_touched_that_cannot_be_changed() {
    let check = |text: &str, args: &[&str], expected: &str| {
        let machine = Machine::new(&[("c.json", text)]);
        let output = machine.give(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert_eq!(
            (machine.text("c.json").as_str(), machine.own_files().len()),
            (text, 0)
        );
    };
    check(
        "{\"mcpServers\": {",
        &["wrap", "c.json"],
        "`c.json` cannot be changed: it is not JSON: unterminated object on line 1 column 16",
    );
    check("{}", &["wrap", "c.json"], "there are no servers to wrap");
    check("{}", &["wrap", "cursor"], ".cursor/mcp.json");
    check("{}", &["wrap", "cursr"], "known clients are");
    check("{}", &["wrap", "gone.json"], "cannot read `gone.json`");
    check(
        r#"{"mcpServers": {"planwright": {"command": "mine"}, "a": {"command": "a"}}}"#,
        &["wrap", "c.json"],
        "it has another server named `planwright`",
    );
}

#[test]
fn servers_that_stay_are_reported() {
    let machine = Machine::new(&[(".vscode/mcp.json", VS_CODE)]);
    let output = machine.give(&["wrap", "vscode"]);
    let text = stdout(&output);
    assert!(
        text.contains("1 server went behind `planwright-project`"),
        "{text}"
    );
    assert!(
        text.contains("stays: mail (only the client can fill in `${input:key}`)"),
        "{text}"
    );
    assert!(
        stderr(&output).contains("may be shared with others"),
        "{}",
        stderr(&output)
    );
}

#[cfg(unix)]
#[test]
fn the_permissions_of_a_file_stay_as_they_are() {
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

const SETTINGS: &str = r#"{
  // Mine.
  "permissions": {
    "allow": ["mcp__git__git_status", "mcp__time", "Bash(git:*)", "mcp__other__x"],
    "ask": ["mcp__git__git_push"],
    "deny": ["mcp__*__git_reset", "Read(.env)"]
  }
}
"#;

const OWN: &str = "# Mine.\n[limits]\ncalls = 100 # enough\n";

/// A machine with a home folder, and a project in another.
fn in_a_project(files: &[(&str, &str)]) -> Machine {
    let machine = Machine::new(files);
    fs::create_dir_all(machine.path("project/.claude")).unwrap();
    machine
}

fn wrap_in_project(machine: &Machine, more: &[&str]) -> Output {
    planwright(&machine.path("project"))
        .env("HOME", machine.0.path())
        .args(["wrap"])
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn settings_with_rules_of_any_client_can_be_read() {
    let servers = r#"{"mcpServers": {"my srv": {"command": "x"}}}"#;
    let rules = r#"{"permissions": {"allow": ["mcp__my_srv__t"], "ask": ["mcp__my_srv__pay(*)"]}}"#;
    let machine = in_a_project(&[
        ("project/.mcp.json", servers),
        (".claude/settings.json", rules),
    ]);
    let output = wrap_in_project(&machine, &["claude-code"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let own = fs::read_to_string(machine.path(".config/planwright/planwright.toml")).unwrap();
    assert_eq!(
        own,
        "[tools]\nno_ask = [\"my srv.t\"]\nask = [\"my srv.pay\"]\n"
    );
    let config = planwright(&machine.path("project"))
        .env("HOME", machine.0.path())
        .arg("config")
        .output()
        .unwrap();
    assert_eq!(config.status.code(), Some(0), "{}", stderr(&config));
}

#[test]
fn the_rules_of_a_client_hold_behind_the_gateway() {
    let own = ".config/planwright/planwright.toml";
    let machine = in_a_project(&[
        ("project/.mcp.json", CLAUDE),
        (".claude/settings.json", SETTINGS),
        (own, OWN),
    ]);
    let added = "\n[tools]\nno_ask = [\"git.git_status\", \"time.*\"]\nask = [\"git.git_push\"]\ndeny = [\"git.git_reset\", \
                 \"time.git_reset\"]\n";
    let seen = stdout(&wrap_in_project(&machine, &["claude-code", "--dry-run"]));
    for line in added.trim().lines() {
        assert!(seen.contains(&format!("+ {line}\n")), "{seen}");
    }
    assert_eq!(machine.text(own), OWN);

    let output = wrap_in_project(&machine, &["claude-code"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(machine.text(own), format!("{OWN}{added}"));
    let text = stdout(&output);
    let from = machine.path(".claude/settings.json");
    for line in [
        format!(
            "  need not ask: git.git_status (`mcp__git__git_status` in `{}`)\n",
            from.display()
        ),
        format!(
            "  asks: git.git_push (`mcp__git__git_push` in `{}`)\n",
            from.display()
        ),
        format!(
            "  never called: git.git_reset (`mcp__*__git_reset` in `{}`)\n",
            from.display()
        ),
    ] {
        assert!(text.contains(&line), "{text}");
    }
    assert!(stderr(&output).contains("all other tools of these servers ask"));

    // Rules that the client has got since then follow.
    let more = SETTINGS.replace("mcp__time", "mcp__time__now\", \"mcp__time");
    fs::write(machine.path(".claude/settings.json"), more).unwrap();
    let again = wrap_in_project(&machine, &["claude-code"]);
    assert!(stdout(&again).contains("nothing to move\n"), "{again:?}");
    let more = added.replace("\"time.*\"", "\"time.*\", \"time.now\"");
    assert_eq!(machine.text(own), format!("{OWN}{more}"));

    let back = wrap_in_project(&machine, &["claude-code", "--undo"]);
    assert_eq!(back.status.code(), Some(0), "{}", stderr(&back));
    assert_eq!(machine.text(own), OWN);
    assert_eq!(machine.own_files(), [""; 0]);

    // Other changes of the file since then stay.
    wrap_in_project(&machine, &["claude-code"]);
    let edited = machine.text(own).replace(
        "ask = [\"git.git_push\"]",
        "ask = [\"git.git_push\", \"mail.send\"]",
    );
    fs::write(machine.path(own), edited).unwrap();
    wrap_in_project(&machine, &["claude-code", "--undo"]);
    assert_eq!(
        machine.text(own),
        format!("{OWN}\n[tools]\nask = [\"mail.send\"]\n")
    );
}

#[test]
fn a_project_makes_things_stricter_only() {
    let machine = in_a_project(&[
        ("project/.mcp.json", CLAUDE),
        ("project/.claude/settings.json", SETTINGS),
        (
            "project/.claude/settings.local.json",
            r#"{"permissions": {"allow": ["mcp__time__now"]}}"#,
        ),
    ]);
    let output = wrap_in_project(&machine, &["claude-code"]);
    let text = stdout(&output);
    assert!(
        text.contains("  not copied: `mcp__time` in `.claude/settings.json` (a project's file cannot waive approval for time.*)\n"),
        "{text}"
    );
    let own = ".config/planwright/planwright.toml";
    assert_eq!(
        machine.text(own),
        "[tools]\nno_ask = [\"time.now\"]\nask = [\"git.git_push\"]\ndeny = [\"git.git_reset\", \"time.git_reset\"]\n"
    );
    wrap_in_project(&machine, &["claude-code", "--undo"]);
    assert!(!machine.path(own).exists());
    assert_eq!(machine.own_files(), [""; 0]);
}

#[test]
fn rules_in_the_entries_of_servers() {
    let entries = r#"{"mcpServers": {
        "git": {"command": "git", "alwaysAllow": ["status"], "disabledTools": ["push"]},
        "hub": {"command": "hub", "autoApprove": ["list"], "trust": true, "excludeTools": ["delete"]}
    }}"#;
    let own = ".config/planwright/planwright.toml";
    let machine = in_a_project(&[
        ("cline_mcp_settings.json", entries),
        ("project/mcp.json", entries),
    ]);
    wrap_in_project(&machine, &["../cline_mcp_settings.json"]);
    assert_eq!(
        machine.text(own),
        "[tools]\nno_ask = [\"git.status\", \"hub.list\", \"hub.*\"]\ndeny = [\"git.push\", \"hub.delete\"]\n"
    );
    wrap_in_project(&machine, &["../cline_mcp_settings.json", "--undo"]);
    assert!(!machine.path(own).exists());
    wrap_in_project(&machine, &["mcp.json"]);
    assert_eq!(
        machine.text(own),
        "[tools]\ndeny = [\"git.push\", \"hub.delete\"]\n"
    );
}

#[test]
fn a_project_makes_no_server_trusted() {
    let entries = r#"{"mcpServers": {"git": {"command": "git", "trusted": true}, "time": {"command": "time", "trusted": false}}}"#;
    let machine = in_a_project(&[
        ("cline_mcp_settings.json", entries),
        ("project/mcp.json", entries),
    ]);
    let because = "a project's file cannot make it `trusted`";
    let output = wrap_in_project(&machine, &["mcp.json"]);
    let text = stdout(&output);
    assert!(text.contains(because), "{text}");
    assert!(machine.text("project/mcp.json").contains("\"git\""));
    assert!(!machine.text("project/mcp.json").contains("\"time\""));
    wrap_in_project(&machine, &["mcp.json", "--undo"]);
    assert_eq!(machine.text("project/mcp.json"), entries);
    let output = wrap_in_project(&machine, &["../cline_mcp_settings.json"]);
    assert!(!stdout(&output).contains(because), "{output:?}");
    assert!(!machine.text("cline_mcp_settings.json").contains("\"git\""));
}

#[test]
fn the_allowlist_of_cursor() {
    let list =
        r#"{"mcpAllowlist": ["git:git_status", "*:now"], /* mine */ "terminalAllowlist": ["git"]}"#;
    let own = ".config/planwright/planwright.toml";
    let machine = in_a_project(&[
        (".cursor/mcp.json", CLAUDE),
        (".cursor/permissions.json", list),
        (
            "project/.cursor/permissions.json",
            r#"{"mcpAllowlist": ["git:*"]}"#,
        ),
    ]);
    wrap_in_project(&machine, &["cursor"]);
    assert_eq!(
        machine.text(own),
        "[tools]\nno_ask = [\"git.git_status\", \"git.now\", \"time.now\"]\n"
    );
}

#[test]
fn nothing_changes_if_rules_cannot_be_read_or_written() {
    let own = ".config/planwright/planwright.toml";
    for (settings, mine) in [("{\"permissions\": ", OWN), (SETTINGS, "[tools")] {
        let machine = in_a_project(&[
            ("project/.mcp.json", CLAUDE),
            (".claude/settings.json", settings),
            (own, mine),
        ]);
        let output = wrap_in_project(&machine, &["claude-code"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert_eq!(machine.text(own), mine);
        assert_eq!(machine.text("project/.mcp.json"), CLAUDE);
        assert_eq!(machine.own_files(), [""; 0]);
    }
}
