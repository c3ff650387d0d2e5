//! The servers that a command starts: those that its plan names, and none whose stored list suffices.

use std::fs;
use std::path::Path;

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};
use crate::watching::Watching;

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

    /// Writes an `mcp.json` with the server `a`, whose list is in a file that the command line does not name, so that a stored
    /// list stays valid when the file changes.
    fn write_indirect_server(&self) {
        let start = "echo a >> starts; exec \"$0\" \"@$DIR/a.json\"";
        let arguments = json!(["-c", start, fake_server::program()]);
        let server = json!({"command": "sh", "args": arguments, "env": {"DIR": self.path()}});
        self.write_servers([("a".to_owned(), server)].into_iter().collect());
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
        let arguments: Vec<&str> = arguments.split(' ').collect();
        self.starts_with(&arguments, exit)
    }

    #[track_caller]
    fn starts_with(&self, arguments: &[&str], exit: i32) -> (String, String) {
        let _ = fs::remove_file(self.path().join("starts"));
        let output = planwright(self.path())
            .args(arguments)
            .args(["--servers", "mcp.json"])
            .output()
            .unwrap();
        let messages = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(exit), "{messages}");
        (self.started(), stderr(&output))
    }

    /// The servers that were started since the file was removed, sorted.
    fn started(&self) -> String {
        let text = fs::read_to_string(self.path().join("starts")).unwrap_or_default();
        let mut names: Vec<&str> = text.lines().collect();
        names.sort_unstable();
        names.join(" ")
    }

    /// Asks a model that gives these answers.
    #[track_caller]
    fn asks(&self, answers: &Value, arguments: &[&str], exit: i32) -> (String, String) {
        fs::write(self.path().join("answers.json"), answers.to_string()).unwrap();
        let model = ["--model", "replay:answers.json"];
        self.starts_with(&[arguments, &model].concat(), exit)
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
        messages.contains("the tools of `a`, `b`, `c` were listed up to"),
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
fn a_name_that_no_list_has_starts_only_servers_without_a_list() {
    let scene = Scene::new(&[("a", &["one"]), ("b", &["three"])]);
    scene.plan(&["a.one"]);
    assert_eq!(scene.starts("check plan.json", 0).0, "a");
    scene.plan(&["thre"]);
    assert_eq!(scene.starts("check plan.json", 3).0, "b");
    for tool in ["thre", "a.none", "c.none"] {
        scene.plan(&[tool]);
        assert_eq!(scene.starts("check plan.json", 3).0, "", "{tool}");
        let (started, _) = scene.starts("check plan.json --refresh", 3);
        assert_eq!(started, if tool == "a.none" { "a" } else { "a b" });
    }
    // The lists of the other servers have the name that was meant.
    scene.plan(&["one", "thre"]);
    let (started, messages) = scene.starts("run plan.json", 3);
    assert_eq!(started, "a");
    assert!(messages.contains("did you mean `three`"), "{messages}");
    let note = "were listed up to";
    assert!(messages.contains(note), "{messages}");
    assert!(
        messages.contains("`planwright tools --refresh`"),
        "{messages}"
    );
    // A tool that its server lists only now is found by a run, which starts the server, and by a check that asks anew.
    scene.write_indirect_server();
    scene.starts("tools", 0);
    let more = json!({"tools": [{"name": "one"}, {"name": "new"}]});
    fs::write(scene.path().join("a.json"), more.to_string()).unwrap();
    scene.plan(&["a.new"]);
    assert_eq!(scene.starts("check plan.json", 3).0, "");
    assert_eq!(scene.starts("check plan.json --refresh", 0).0, "a");
    // Its call waits: the server has changed since it was pinned.
    assert_eq!(scene.starts("run plan.json", 4).0, "a");
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
        messages.contains("note: the tools of `a` were listed up to"),
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
    // A plan that needs it shows all, one that may need it a line.
    scene.plan(&["broken.x"]);
    let (started, messages) = scene.starts("check plan.json", 3);
    assert_eq!(started, "broken");
    assert!(messages.contains("| Traceback"), "{messages}");
    scene.plan(&["x"]);
    let (started, messages) = scene.starts("check plan.json", 3);
    assert_eq!(started, "");
    assert!(!messages.contains("Traceback"), "{messages}");
    assert!(
        messages.contains("the tools of `broken` are missing, since it did not start"),
        "{messages}"
    );
}

/// A plan of a model that calls `tool`, and the answer after it.
fn plan_and_answer(tool: &str) -> Value {
    json!([
        json!({"steps": [{"id": "s", "tool": tool}]}).to_string(),
        "Done [s]."
    ])
}

#[test]
fn a_question_starts_the_servers_of_its_calls() {
    let scene = Scene::new(&[("a", &["one"]), ("b", &["two"])]);
    let answers = plan_and_answer("a.one");
    // No list is known yet.
    assert_eq!(scene.asks(&answers, &["ask", "one?"], 0).0, "a b");
    for stream in ["--stream", "--no-stream"] {
        let arguments = ["ask", "one?", stream];
        assert_eq!(scene.asks(&answers, &arguments, 0).0, "a", "{stream}");
    }
    // Steps that run at the same time wait for one start.
    let steps = ["x", "y"].map(|id| json!({"id": id, "tool": "a.one"}));
    let plan = json!({ "steps": steps }).to_string();
    let started = scene.asks(&json!([plan, "Done."]), &["ask", "one?"], 0).0;
    assert_eq!(started, "a");
    assert_eq!(
        scene
            .asks(&json!(["no", "no", "no"]), &["ask", "one?"], 1)
            .0,
        ""
    );
}

#[test]
fn a_server_whose_start_fails_once_is_started_again() {
    let scene = Scene::new(&[("a", &["one"])]);
    let script = scene.path().join("a.json").display().to_string();
    let start = "cat mode >> starts; case $(cat mode) in once) echo works > mode; exit 1;; never) exit 1;; esac; exec \"$0\" \"$1\"";
    let arguments = json!(["-c", start, fake_server::program(), format!("@{script}")]);
    let server = json!({"command": "sh", "args": arguments});
    scene.write_servers([("a".to_owned(), server)].into_iter().collect());
    let mode = |mode: &str| fs::write(scene.path().join("mode"), format!("{mode}\n")).unwrap();
    mode("works");
    scene.starts("tools", 0);
    let retry = json!({"attempts": 2, "delay": "1ms"});
    let plan = json!({"steps": [{"id": "s", "tool": "a.one", "retry": retry}]});
    let answers = json!([plan.to_string(), "Done [s]."]);
    mode("once");
    let (started, messages) = scene.asks(&answers, &["ask", "one?"], 0);
    assert_eq!(started, "once works", "{messages}");
    // A failure does not remove the list, by which plans are checked.
    mode("never");
    let (started, messages) = scene.asks(&answers, &["ask", "one?", "--replan", "0"], 1);
    assert_eq!(started, "never never", "{messages}");
    scene.plan(&["a.one"]);
    assert_eq!(scene.starts("check plan.json", 0).0, "");
}

#[test]
fn a_conversation_starts_the_servers_of_its_calls() {
    let scene = Scene::new(&[("a", &["one"]), ("b", &["two"])]);
    scene.starts("tools", 0);
    let answers = json!([
        {"calls": [{"name": "a__one", "arguments": {}}, {"name": "a__one", "arguments": {}}]},
        "Done."
    ]);
    assert_eq!(scene.asks(&answers, &["chat", "one?"], 0).0, "a");
    assert_eq!(scene.asks(&json!(["Hello."]), &["chat", "hi"], 0).0, "");
}

#[test]
fn a_call_of_a_tool_that_has_changed_is_not_sent() {
    let scene = Scene::new(&[("a", &["one"])]);
    scene.write_indirect_server();
    scene.starts("tools", 0);
    let other = json!({"tools": [{"name": "one", "description": "something else"}]});
    fs::write(scene.path().join("a.json"), other.to_string()).unwrap();
    let answers = plan_and_answer("a.one");
    let (started, messages) = scene.asks(&answers, &["ask", "one?", "--replan", "0"], 1);
    assert_eq!(started, "a");
    assert!(
        messages.contains(
            "the server `a` lists `one` with another definition than the plan was checked against"
        ),
        "{messages}"
    );
    // The start has stored the new list, and the pinned definition is another one.
    let approved = ["ask", "one?", "--approve", "all", "--replan", "0"];
    assert_eq!(scene.asks(&answers, &approved, 0).0, "a");
    fs::write(scene.path().join("a.json"), r#"{"tools": []}"#).unwrap();
    let (_, messages) = scene.asks(&answers, &approved, 1);
    assert!(
        messages.contains("the server `a` no longer lists `one`"),
        "{messages}"
    );
}

#[test]
fn a_question_reports_a_broken_server_in_one_line() {
    let scene = Scene::new(&[("a", &["one"])]);
    scene.add_broken();
    for (started, line) in [
        ("a broken", "the server `broken` did not start: "),
        ("a", "the server `broken` did not start "),
    ] {
        let (names, messages) = scene.asks(&plan_and_answer("a.one"), &["ask", "one?"], 0);
        assert_eq!(names, started, "{messages}");
        let about = messages.lines().filter(|line| line.contains("broken"));
        let about: Vec<&str> = about.collect();
        assert_eq!(about.len(), 1, "{messages}");
        assert!(about[0].contains(line), "{messages}");
        assert!(
            about[0].contains("`planwright servers test broken` shows why"),
            "{messages}"
        );
    }
    // A server that does not start for a call fails the call.
    scene.write_indirect_server();
    scene.starts("tools", 0);
    fs::write(scene.path().join("a.json"), "no script").unwrap();
    let arguments = ["ask", "one?", "--approve", "all", "--replan", "0"];
    let (_, messages) = scene.asks(&plan_and_answer("a.one"), &arguments, 1);
    assert!(
        messages.contains("the server `a` did not start: "),
        "{messages}"
    );
}

#[test]
fn a_watched_check_starts_servers_once() {
    let scene = Scene::new(&[("a", &["one"])]);
    scene.add_broken();
    scene.plan(&["a.one"]);
    let servers = ["--servers", "mcp.json"];
    let mut watching = Watching::over(&servers, scene.path(), &["plan.json"]);
    assert!(watching.next());
    assert_eq!(scene.started(), "a");
    for tool in ["nowhere", "neither", "a.other"] {
        scene.plan(&[tool]);
        assert!(!watching.next());
    }
    assert_eq!(scene.started(), "a broken");
    scene.plan(&["one"]);
    assert!(watching.next());
    assert_eq!(scene.started(), "a broken");
    assert_eq!(watching.interrupt(), Some(0));
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
            .contains("a project cannot make parameters sharable")
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
