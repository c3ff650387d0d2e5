//! The contract with scripts: exit statuses, data on standard output, messages on standard error.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::program::{planwright, run_program, stderr, stdout};

const TOOLS: &str = r#"{"tools": {
    "ok": {"echo": true},
    "bad": {"fails": {"code": "no_funds", "message": "no funds"}},
    "pay": {"approval": true, "returns": "paid"}
}}"#;

fn plan(tool: &str) -> String {
    format!(r#"{{"name": "p", "steps": [{{"id": "a", "tool": "{tool}", "args": {{}}}}]}}"#)
}

fn folder(plan: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> Output {
    planwright(folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn check(plan: &str, args: &[&str], exit: i32, on_stdout: &str, on_stderr: &str) {
    let folder = folder(plan);
    let output = run(folder.path(), args);
    let (data, log) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(exit), "{args:?}\n{data}\n{log}");
    assert!(
        data.contains(on_stdout),
        "{args:?}: `{on_stdout}` is not in {data}"
    );
    assert!(
        log.contains(on_stderr),
        "{args:?}: `{on_stderr}` is not in {log}"
    );
}

#[test]
fn missing_tools_are_explained_where_tools_are_missing() {
    let check_note = |plan: &str, expected: bool| {
        for command in ["check", "run"] {
            let folder = folder(plan);
            let output = run(folder.path(), &[command, "plan.json"]);
            assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
            let has_note = stderr(&output).contains("note: there are no tools");
            assert_eq!(has_note, expected, "{command} {plan}");
        }
    };
    check_note(&plan("gone"), true);
    check_note("no plan", false);
    check_note(r#"{"steps": [{"id": "a", "value": "${b}"}]}"#, false);
}

#[test]
fn files_beside_the_plan_are_read_as_editors_write_them() {
    let folder = folder(r#"{"inputs": {"x": {}}, "steps": [{"id": "a", "value": "${inputs.x}"}]}"#);
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), format!("\u{feff}{text}")).unwrap();
    };
    write("vars.json", r#"{"x": "from a file"}"#);
    write("script.json", TOOLS);
    write("approvals.json", "{}");
    let args = "run plan.json --no-store --vars vars.json --simulate script.json --approvals approvals.json";
    let args: Vec<&str> = args.split(' ').collect();
    let output = run(folder.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("from a file"));
}

#[cfg(unix)]
#[test]
fn a_device_that_never_ends_is_no_file() {
    let plan = r#"{"steps": [{"id": "a", "value": 1}]}"#;
    for flag in ["--vars", "--simulate", "--servers", "--approvals"] {
        let args = ["run", "plan.json", "--no-store", flag, "/dev/zero"];
        check(plan, &args, 2, "", "has more than 268435456 bytes");
    }
}

#[test]
fn statuses() {
    let simulated = ["run", "plan.json", "--simulate", "tools.json"];
    let with = |more: &[&'static str]| [&simulated[..], more].concat();
    check(&plan("ok"), &simulated, 0, "", "");
    check(&plan("bad"), &simulated, 1, "", "no funds");
    check(&plan("gone"), &simulated, 3, "", "PW0201");
    check(&plan("pay"), &simulated, 4, "", "");
    check(&plan("pay"), &with(&["--approve", "all"]), 0, "paid", "");
    check(
        &plan("pay"),
        &with(&["--approve", "none"]),
        1,
        "",
        "rejected",
    );
    check(&plan("ok"), &with(&["--dry-run"]), 0, "a", "");
    check(
        &plan("ok"),
        &with(&["--max-parallel", "0"]),
        2,
        "",
        "--max-parallel",
    );
    for (flag, value, says) in [
        ("--attempts", "0", "at least 1"),
        ("--max-parallel", "-1", "at least 1"),
        ("--timeout", "0", "more than zero"),
        ("--step-timeout", "soon", "`soon` is not a time"),
        ("--retry-delay", "5x", "`x` is not a unit"),
        ("--dialect", "nativ", "a similar value exists: 'native'"),
        ("--var", "=1", "has no name"),
        ("--vars", "missing.json", "cannot read `missing.json`"),
        ("--vars", "plan.json/x", "cannot read `plan.json/x`"),
        ("--library", "missing", "cannot read `missing`"),
        ("--library", "plan.json", "not a directory"),
    ] {
        check(&plan("ok"), &with(&[flag, value]), 2, "", says);
    }
    check(&plan("ok"), &with(&["--var", "x"]), 2, "", "NAME=VALUE");
    check(
        &plan("ok"),
        &["run", "missing.json"],
        2,
        "",
        "cannot read `missing.json`",
    );
    check(
        &plan("ok"),
        &["check", "plan.json", "--simulate", "tools.json"],
        0,
        "",
        "sound",
    );
    check(
        &plan("gone"),
        &["check", "plan.json", "--simulate", "tools.json"],
        3,
        "",
        "PW0201",
    );
    check("not json", &simulated, 3, "", "PW0001");
    check(&plan("ok"), &["show", "plan.json"], 0, "ok", "");
    check(
        &plan("ok"),
        &["show", "plan.json", "--as", "mermaid"],
        0,
        "flowchart",
        "",
    );
    check(
        &plan("ok"),
        &["tools", "--simulate", "tools.json"],
        0,
        "pay()  (asks first)",
        "",
    );
    check(&plan("ok"), &["completions", "bash"], 0, "complete", "");
    check(&plan("ok"), &["nonsense"], 2, "", "nonsense");
}

#[test]
fn limits_are_about_what_there_is() {
    let limit = |more: &str, exit: i32, says: &[&str]| {
        let args = format!("run plan.json --no-store --simulate tools.json {more}");
        let args: Vec<&str> = args.split(' ').collect();
        for says in says.iter().chain(says.is_empty().then_some(&"")) {
            check(&plan("ok"), &args, exit, "", says);
        }
    };
    limit("--max-per-tool 2 --max-per-server 2", 0, &[]);
    limit(
        "--max-per-tool simulated.pay=2 --max-per-server simulated=2",
        0,
        &[],
    );
    limit(
        "--max-per-tool pay=2",
        2,
        &[
            "`--max-per-tool` limits `pay`, but there is no such tool",
            "did you mean `simulated.pay`?",
        ],
    );
    limit("--max-per-tool transfer=2", 2, &["write `SERVER.TOOL=N`"]);
    limit(
        "--max-per-tool simulated.pey=2",
        2,
        &["did you mean `simulated.pay`?"],
    );
    limit(
        "--max-per-tool bank.transfer=2",
        2,
        &["`planwright tools` lists"],
    );
    limit(
        "--max-per-server simulatd=2",
        2,
        &[
            "`--max-per-server` limits `simulatd`, but there is no such server",
            "did you mean `simulated`?",
        ],
    );
}

#[test]
fn a_gateway_that_would_serve_nothing_is_refused() {
    let serve = |more: &str, says: &str| {
        let args: Vec<&str> = ["serve", "--no-store"]
            .into_iter()
            .chain(more.split(' '))
            .collect();
        check(&plan("ok"), &args, 2, "", says);
    };
    let plain = |flag: &str| format!("`{flag}` cannot be used with `--mode plain`");
    let search = |flag: &str| format!("`{flag}` cannot be used with `--mode search`");
    serve("--mode plain --simulate tools.json", &plain("--simulate"));
    serve("--mode plain --workspace .", &plain("--workspace"));
    serve("--mode search --with-plans", &search("--with-plans"));
    serve("--mode search --face agentle", &search("--face"));
    // Tools that plans can call are served in all these modes.
    for more in [
        "--mode plain --with-plans",
        "--mode plain --face agentle",
        "--mode search",
    ] {
        let args = format!("serve --no-store {more} --simulate tools.json");
        let args: Vec<&str> = args.split(' ').collect();
        check(&plan("ok"), &args, 0, "", "");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_report_that_cannot_be_written_is_no_success() {
    let folder = folder(&plan("ok"));
    let args = [
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--format",
        "json",
    ];
    let full = |args: &[&str]| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = planwright(folder.path());
        let output = command.args(args).stdout(full.unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(70), "{args:?}");
        stderr(&output)
    };
    assert!(full(&args).contains("cannot write the output"));
    full(&["--help"]);
    full(&["run", "--help"]);
    full(&["--version"]);
    let tools = r#"{"tools": {"ok": {"approval": true, "returns": 1}}}"#;
    fs::write(folder.path().join("tools.json"), tools).unwrap();
    assert!(full(&args).contains("cannot write the output"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_no_report_can_name_has_a_way_out() {
    use std::os::unix::ffi::OsStrExt;

    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join(std::ffi::OsStr::from_bytes(b"a\xff"));
    fs::create_dir(&folder).unwrap();
    fs::write(
        folder.join("plan.json"),
        r#"{"steps": [{"id": "a", "value": 1}]}"#,
    )
    .unwrap();
    let output = run_program(&folder, &["run", "plan.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("store nothing with `--no-store`"),
        "{}",
        stderr(&output)
    );
    let output = run_program(&folder, &["run", "plan.json", "--no-store"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_file_of_settings_that_is_something_else_has_few_hints() {
    let folder = tempfile::tempdir().unwrap();
    let text = "root:x:0:0\n".repeat(30);
    fs::write(folder.path().join("planwright.toml"), text).unwrap();
    let output = run_program(folder.path(), &["config"]);
    assert_eq!(output.status.code(), Some(2));
    let log = stderr(&output);
    assert_eq!(log.matches("hint:").count(), 6, "{log}");
    assert!(log.contains(" more problems"), "{log}");
}

#[test]
fn each_server_is_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    let tools = r#"{"tools": {"a": {}, "crm.b": {}, "c": {}}}"#;
    fs::write(folder.path().join("tools.json"), tools).unwrap();
    let output = run(folder.path(), &["tools", "--simulate", "tools.json"]);
    assert_eq!(stdout(&output), "simulated:\n  a()\n  c()\ncrm:\n  b()\n");
}

#[test]
fn the_listing_of_a_tool_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let (name, described) = ("n".repeat(5000), "d".repeat(5000));
    let tools =
        format!(r#"{{"tools": {{"{name}": {{"description": "{described}", "approval": true}}}}}}"#);
    fs::write(folder.path().join("tools.json"), tools).unwrap();
    let output = run(folder.path(), &["tools", "--simulate", "tools.json"]);
    let listed = format!(
        "simulated:\n  {}…  (asks first)\n      {}…\n",
        "n".repeat(999),
        "d".repeat(999)
    );
    assert_eq!(stdout(&output), listed);
    let whole = ["tools", "--simulate", "tools.json", "--format", "json"];
    let output = run(folder.path(), &whole);
    assert!(stdout(&output).contains(&name) && stdout(&output).contains(&described));
}

#[test]
fn plans_that_the_library_lacks() {
    let text = r#"{"steps": [{"id": "a", "plan": "summry"}]}"#;
    let run = ["run", "plan.json", "--simulate", "tools.json"];
    check(
        text,
        &run,
        3,
        "",
        "name the folder of plans with `--library DIR`",
    );
    let folder = folder(text);
    let library = folder.path().join("library");
    fs::create_dir(&library).unwrap();
    fs::write(library.join("summary.json"), "{").unwrap();
    fs::write(library.join("notes.txt"), "").unwrap();
    let found = |name: &str| {
        let text = format!(r#"{{"steps": [{{"id": "a", "plan": "{name}"}}]}}"#);
        fs::write(folder.path().join("plan.json"), text).unwrap();
        let output = planwright(folder.path())
            .args(run)
            .args(["--library", "library"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3));
        stderr(&output)
    };
    assert!(found("summry").contains("did you mean `summary`?"));
    assert!(found("notes").contains("the only plan is `summary`"));
    for path in ["../tools", "library/summary", ".", "", "summary.json"] {
        assert!(found(path).contains(&format!("there is no plan `{path}`")));
    }
    let unreadable = found("summary");
    assert!(unreadable.contains("the plan `summary` in the library cannot be read"));
    assert!(unreadable.contains("PW0001"));
}

#[test]
fn check_prints_json() {
    let folder = folder(&plan("gone"));
    let output = run(
        folder.path(),
        &[
            "check",
            "plan.json",
            "--simulate",
            "tools.json",
            "--format",
            "json",
        ],
    );
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["diagnostics"][0]["code"], "PW0201");
    assert_eq!(report["diagnostics"][0]["pointer"], "/steps/0/tool");
}

#[test]
fn events_are_one_json_object_a_line() {
    let folder = folder(&plan("ok"));
    let output = run(
        folder.path(),
        &[
            "run",
            "plan.json",
            "--simulate",
            "tools.json",
            "--format",
            "events",
        ],
    );
    let events: Vec<String> = stdout(&output)
        .lines()
        .map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            assert_eq!(event["schema"], "planwright.event/1");
            event["event"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(
        events,
        [
            "run_started",
            "step_started",
            "attempt_started",
            "attempt_ended",
            "step_ended",
            "run_ended"
        ]
    );
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_plan_comes_from_standard_input() {
    let folder = folder("");
    let mut child = planwright(folder.path())
        .args([
            "run",
            "-",
            "--simulate",
            "tools.json",
            "--var",
            "city=Oslo",
            "--format",
            "json",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let plan = r#"{"name": "p", "inputs": {"city": {"type": "string"}},
        "steps": [{"id": "a", "tool": "ok", "args": {"v": "${inputs.city}"}}]}"#;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(plan.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["output"]["a"]["v"], "Oslo");
}

#[test]
fn a_secret_is_shown_nowhere() {
    let native = r#"{"name": "p", "inputs": {"token": {"writeOnly": true}},
        "steps": [{"id": "a", "tool": "ok", "args": {"auth": "Bearer ${inputs.token}", "bare": "${inputs.token}"}},
                  {"id": "b", "tool": "ok", "args": {"again": "${a.auth}"}}]}"#;
    // In `acts`, the input schema marks secrets, too: in the inputs that are passed, and in those that the plan contains.
    let acts = r#"{"context": [
            {"type": "input", "schema": {"type": "object", "properties": {"token": {"writeOnly": true}, "pin": {"format": "password"}}}},
            {"type": "input", "pin": "s3cr3t-p1n"}],
        "calls": [{"_tool": "ok", "auth": "†input.token", "pin": "†input.pin"}]}"#;
    let all = r#"{"key": "s3cr3t-t0ken", "pins": [87654321, true]}"#;
    let cases = [
        (native, "s3cr3t-t0ken"),
        (native, "87654321"),
        (native, all),
        (acts, "s3cr3t-t0ken"),
        (acts, all),
    ];
    for (plan, input) in cases {
        for options in [
            &["--format", "text"][..],
            &["--format", "json"],
            &["--format", "events"],
            &["--dry-run"],
        ] {
            let folder = folder(plan);
            let token = format!("token={input}");
            let arguments = [
                "run",
                "plan.json",
                "--simulate",
                "tools.json",
                "--var",
                &token,
            ];
            let output = run(folder.path(), &[&arguments[..], options].concat());
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let all = stdout(&output) + &stderr(&output);
            assert!(!all.contains("s3cr3t"), "{all}");
            assert!(!all.contains("87654321"), "{all}");
            assert!(all.contains("[redacted]"), "{all}");
        }
    }
}

#[test]
fn strict_checks_treat_warnings_as_errors() {
    let text = r#"{"name": "p", "inputs": {"unused": {"default": 1}}, "steps": [{"id": "a", "tool": "ok"}]}"#;
    let folder = folder(text);
    let check = ["check", "plan.json", "--simulate", "tools.json"];
    let output = run(folder.path(), &check);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = run(folder.path(), &[&check[..], &["--strict"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("error PW0801"),
        "{}",
        stderr(&output)
    );
    let output = run(
        folder.path(),
        &[&check[..], &["--strict", "--format", "json"]].concat(),
    );
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["diagnostics"][0]["severity"], "error");
}

/// A program that stops reading has not got the report; a person who stops reading has read enough.
#[test]
fn a_reader_that_is_gone_is_reported_to_programs() {
    let folder = folder(&plan("ok"));
    for (format, exit) in [("json", 70), ("events", 70), ("text", 0)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = planwright(folder.path())
            .args([
                "run",
                "plan.json",
                "--simulate",
                "tools.json",
                "--format",
                format,
            ])
            .stdout(writer)
            .output()
            .unwrap();
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(exit), "{format}: {log}");
        let is_reported = log.contains("error: cannot write the output: ");
        assert_eq!(is_reported, exit != 0, "{format}: {log}");
    }
}

/// Text of servers and files cannot pass for messages of the program on a terminal.
#[test]
fn strangers_do_not_steer_the_terminal() {
    let folder = folder(&plan("ok"));
    let steering = r"\u001b[2K\u009b2J\u202e";
    let tools = format!(
        r#"{{"tools": {{"t{steering}": {{"echo": true, "description": "d{steering}",
            "input_schema": {{"properties": {{"p{steering}": {{"description": "s{steering}"}}}}}}}}}}}}"#
    );
    fs::write(folder.path().join("steering.json"), tools).unwrap();
    let servers = format!(
        r#"{{"mcpServers": {{"s{steering}": {{"command": "c{steering}", "args": ["a{steering}\n"]}}}}}}"#
    );
    fs::write(folder.path().join("servers.json"), servers).unwrap();
    let steers = |text: &str| {
        text.chars()
            .any(|character| character != '\n' && character.is_control() || character == '\u{202e}')
    };
    for args in [
        &["tools", "--simulate", "steering.json"][..],
        &["tools", "--simulate", "steering.json", "t"],
        &["trust", "servers.json"],
        &["trust", "gone\u{1b}\u{202e}"],
        &["tools", "--servers", "servers.json"],
    ] {
        let output = run(folder.path(), &[args, &["--color", "always"]].concat());
        let shown = stdout(&output) + &stderr(&output);
        assert!(shown.contains("\\u{202e}"), "{args:?}: {shown}");
        assert!(!steers(&shown), "{args:?}: {shown:?}");
    }
}

#[test]
fn a_result_that_does_not_fit_its_slot_fails_its_step() {
    let check = |kind: &str, path: &str, expected: Option<&str>| {
        let schema =
            format!(r#"{{"type": "object", "properties": {{"text": {{"type": "{kind}"}}}}}}"#);
        let plan = format!(
            r#"{{"context": [{{"type": "state", "schema": {schema}}}],
                "calls": [{{"_tool": "ok", "a": 1, "_outputPath": "†{path}"}}, {{"_tool": "ok", "b": "†{path}"}}]}}"#
        );
        let folder = folder(&plan);
        let output = run(
            folder.path(),
            &[
                "run",
                "plan.json",
                "--simulate",
                "tools.json",
                "--dialect",
                "acts",
                "--format",
                "json",
            ],
        );
        let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let step = &report["steps"][0];
        let Some(expected) = expected else {
            assert_eq!(output.status.code(), Some(0), "{report}");
            return;
        };
        assert_eq!(output.status.code(), Some(1), "{report}");
        let message = step["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(expected), "{message}");
        // The call has happened: its answer is not lost.
        assert_eq!(step["error"]["data"]["output"]["a"], 1, "{report}");
        assert_eq!(report["steps"][1]["status"], "skipped", "{report}");
    };
    let misfit = "the result does not match the schema of `state.text`: ";
    check("string", "state.text", Some(misfit));
    check("object", "state.text", None);
    // A slot without a schema takes any value.
    check("string", "state.other", None);
}
