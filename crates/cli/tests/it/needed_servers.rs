//! The servers that a command starts: those that its plan names, and none whose stored list suffices.

use std::fs;
use std::path::Path;

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

/// A folder with an `mcp.json` whose servers write their names into the file `starts` when they start.
struct Scene(tempfile::TempDir);

impl Scene {
    /// The servers, each with its tools.
    fn new(servers: &[(&str, &[&str])]) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        let servers = servers.iter().map(|(name, tools)| {
            let tools = tools.iter().map(|tool| json!({"name": tool}));
            let script = json!({"tools": tools.collect::<Vec<_>>()});
            fs::write(
                scene.path().join(format!("{name}.json")),
                script.to_string(),
            )
            .unwrap();
            ((*name).to_owned(), scene.server(name))
        });
        let servers: serde_json::Map<String, Value> = servers.collect();
        scene.write_servers(servers);
        scene
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn server(&self, name: &str) -> Value {
        let script = format!("@{}", self.path().join(format!("{name}.json")).display());
        let start = format!("echo {name} >> starts; exec \"$0\" \"$1\"");
        json!({"command": "sh", "args": ["-c", start, fake_server::program(), script]})
    }

    fn write_servers(&self, servers: serde_json::Map<String, Value>) {
        let text = json!({ "mcpServers": servers }).to_string();
        fs::write(self.path().join("mcp.json"), text).unwrap();
    }

    /// Adds a server that writes to its standard error and ends.
    fn add_broken(&self) {
        let text = fs::read_to_string(self.path().join("mcp.json")).unwrap();
        let mut file: Value = serde_json::from_str(&text).unwrap();
        let start = "echo broken >> starts; echo Traceback >&2; echo oops >&2; exit 1";
        file["mcpServers"]["broken"] = json!({"command": "sh", "args": ["-c", start]});
        fs::write(self.path().join("mcp.json"), file.to_string()).unwrap();
    }

    /// Runs a command. Returns the servers that it started, and its standard error.
    #[track_caller]
    fn starts(&self, arguments: &str, exit: i32) -> (String, String) {
        let starts = self.path().join("starts");
        let _ = fs::remove_file(&starts);
        let output = planwright(self.path())
            .args(arguments.split(' '))
            .args(["--servers", "mcp.json"])
            .output()
            .unwrap();
        let messages = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(exit), "{messages}");
        let text = fs::read_to_string(starts).unwrap_or_default();
        let mut names: Vec<&str> = text.lines().collect();
        names.sort_unstable();
        (names.join(" "), stderr(&output))
    }

    fn plan(&self, tools: &[&str]) {
        let steps = tools.iter().enumerate();
        let steps = steps.map(|(index, tool)| json!({"id": format!("s{index}"), "tool": tool}));
        let plan = json!({"name": "p", "steps": steps.collect::<Vec<_>>()});
        fs::write(self.path().join("plan.json"), plan.to_string()).unwrap();
    }
}

#[test]
fn a_check_starts_nothing_whose_tools_are_known() {
    let scene = Scene::new(&[
        ("a", &["one", "same"]),
        ("b", &["two", "same"]),
        ("c", &["three"]),
    ]);
    scene.plan(&["a.one", "two"]);
    assert_eq!(scene.starts("check plan.json", 0).0, "a b c");
    assert_eq!(scene.starts("check plan.json", 0).0, "");
    assert_eq!(scene.starts("show plan.json", 0).0, "");
    assert_eq!(scene.starts("flow plan.json", 0).0, "");
    assert_eq!(scene.starts("run plan.json --dry-run", 0).0, "");
    let (started, messages) = scene.starts("tools", 0);
    assert_eq!(started, "");
    assert!(
        messages.contains("the tools of `a`, `b`, `c` are those that were listed up to"),
        "{messages}"
    );
    assert!(messages.contains("`--refresh`"), "{messages}");
    let (started, messages) = scene.starts("tools --refresh", 0);
    assert_eq!(started, "a b c");
    assert!(!messages.contains("--refresh"), "{messages}");
    assert_eq!(scene.starts("servers test c", 0).0, "c");
}

#[test]
fn a_run_starts_what_its_plan_names() {
    let scene = Scene::new(&[
        ("a", &["one", "same"]),
        ("b", &["two", "same"]),
        ("c", &["three"]),
    ]);
    scene.plan(&["a.one"]);
    assert_eq!(scene.starts("run plan.json", 0).0, "a");
    scene.plan(&["b__two"]);
    assert_eq!(scene.starts("run plan.json", 0).0, "b");
    // The list of `c` is not known yet.
    scene.plan(&["two"]);
    assert_eq!(scene.starts("run plan.json", 0).0, "b c");
    assert_eq!(scene.starts("run plan.json", 0).0, "b");
    assert_eq!(scene.starts("call three", 0).0, "c");
    // Two servers have it, so both are needed to see that the name is not clear.
    scene.plan(&["same"]);
    let (started, messages) = scene.starts("check plan.json", 3);
    assert_eq!(started, "");
    assert!(
        messages.contains("2 servers offer a tool `same`"),
        "{messages}"
    );
}

#[test]
fn a_name_that_no_list_has_starts_all_that_could_have_it() {
    let scene = Scene::new(&[("a", &["one"]), ("b", &["two"])]);
    assert_eq!(scene.starts("tools", 0).0, "a b");
    scene.plan(&["thre"]);
    assert_eq!(scene.starts("check plan.json", 3).0, "a b");
    scene.plan(&["a.none"]);
    assert_eq!(scene.starts("check plan.json", 3).0, "a");
    scene.plan(&["c.none"]);
    assert_eq!(scene.starts("check plan.json", 3).0, "a b");
}

#[test]
fn a_run_is_checked_against_the_tools_of_the_running_server() {
    let scene = Scene::new(&[("a", &["one"]), ("b", &["two"])]);
    scene.plan(&["one"]);
    scene.starts("check plan.json", 0);
    // The server lists something else now, though its configuration and its files are the same: the list is read from
    // a file that the command line does not name.
    let script = scene.path().join("a.json");
    let indirect = json!({"command": "sh", "args": ["-c", "exec \"$0\" \"@$DIR/a.json\"", fake_server::program()],
        "env": {"DIR": scene.path()}});
    let mut servers = serde_json::Map::new();
    servers.insert("a".to_owned(), indirect);
    servers.insert("b".to_owned(), scene.server("b"));
    scene.write_servers(servers);
    scene.starts("check plan.json", 0);
    let other =
        json!({"tools": [{"name": "one", "inputSchema": {"type": "object", "required": ["x"]}}]});
    fs::write(&script, other.to_string()).unwrap();
    scene.starts("check plan.json", 0);
    let (_, messages) = scene.starts("run plan.json", 3);
    assert!(messages.contains("PW0502"), "{messages}");
    // The run has stored the list.
    let (started, messages) = scene.starts("check plan.json", 3);
    assert_eq!(started, "");
    assert!(messages.contains("PW0502"), "{messages}");
    assert!(
        messages.contains("note: the tools of `a` are those that were listed up to"),
        "{messages}"
    );
    // A tool that is gone may be at another server now.
    fs::write(&script, r#"{"tools": []}"#).unwrap();
    fs::write(
        scene.path().join("b.json"),
        r#"{"tools": [{"name": "one"}]}"#,
    )
    .unwrap();
    let (started, _) = scene.starts("run plan.json", 0);
    assert_eq!(started, "b");
}

#[test]
fn a_broken_server_that_is_not_needed_is_one_line() {
    let scene = Scene::new(&[("a", &["one"])]);
    scene.add_broken();
    scene.plan(&["a.one"]);
    let (started, messages) = scene.starts("check plan.json", 0);
    assert_eq!(started, "a");
    assert!(!messages.contains("broken"), "{messages}");
    scene.plan(&["one"]);
    let (started, messages) = scene.starts("run plan.json", 0);
    assert_eq!(started, "a broken");
    let about: Vec<&str> = messages
        .lines()
        .filter(|line| line.contains("broken"))
        .collect();
    assert_eq!(about.len(), 1, "{messages}");
    assert!(
        about[0].contains("`planwright servers test broken` shows why"),
        "{messages}"
    );
    assert!(!messages.contains("Traceback"), "{messages}");
    // It is not tried again for a while.
    let (started, messages) = scene.starts("run plan.json", 0);
    assert_eq!(started, "a");
    assert!(!messages.contains("broken"), "{messages}");
    // A plan that needs it, or that may, shows all.
    for tool in ["broken.x", "x"] {
        scene.plan(&[tool]);
        let (_, messages) = scene.starts("check plan.json", 3);
        assert!(messages.contains("| Traceback"), "{messages}");
    }
}

#[test]
fn a_user_marks_parameters_of_other_peoples_servers() {
    let scene = Scene::new(&[("a", &["one", "two"])]);
    let step =
        json!({"id": "s2", "tool": "two", "args": {"x": {"output_by_reference": {"s1": []}}}});
    let plan = json!({"steps": [{"id": "s1", "tool": "one", "args": {}}, step]});
    fs::write(scene.path().join("plan.json"), plan.to_string()).unwrap();
    let check = "check plan.json --dialect concierge";
    assert!(scene.starts(check, 3).1.contains("PW0601"));
    // A project cannot say so.
    let rule = "tools.sharable = [\"a.two:x\"]";
    fs::write(scene.path().join("planwright.toml"), rule).unwrap();
    assert!(
        scene
            .starts(check, 2)
            .1
            .contains("a project cannot say which parameters take references")
    );
    fs::remove_file(scene.path().join("planwright.toml")).unwrap();
    let own = scene.path().join(".config/planwright");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("planwright.toml"), rule).unwrap();
    scene.starts(check, 0);
    fs::write(
        own.join("planwright.toml"),
        "tools.sharable = [\"a.two:y\"]",
    )
    .unwrap();
    assert!(scene.starts(check, 3).1.contains("PW0601"));
}
