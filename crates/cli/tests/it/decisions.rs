//! Calls that wait for a decision, and processes that decide.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Output, Stdio};

use serde_json::{Value, json};

use crate::program::{approve, planwright, stderr, stdout};
use crate::typing;

pub(crate) fn set_up(folder: &Path) {
    let tools = json!({"tools": {
        "look": {"annotations": {"readOnlyHint": true}, "echo": true},
        "pay": {
            "input_schema": {"type": "object", "properties": {"amount": {"type": "number"}, "token": {"type": "string"}}},
            "echo": true
        }
    }});
    fs::write(folder.join("tools.json"), tools.to_string()).unwrap();
    let plan = json!({
        "name": "pay",
        "inputs": {"token": {"type": "string", "writeOnly": true, "default": "none"}},
        "steps": [
            {"id": "first", "tool": "look", "args": {"n": 1}},
            {"id": "pay", "approval": true, "tool": "pay", "args": {"amount": 3, "token": "${inputs.token}"}},
            {"id": "final", "tool": "look", "args": {"paid": "${pay.amount}"}}
        ],
        "output": {"paid": "${final.paid}"}
    });
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
}

pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    planwright(folder).args(arguments).output().unwrap()
}

pub(crate) const RUN: [&str; 4] = ["run", "plan.json", "--simulate", "tools.json"];

/// Runs the plan until it waits; gives the run's id.
pub(crate) fn waiting(folder: &Path, more: &[&str]) -> String {
    set_up(folder);
    let output = planwright(folder)
        .args(RUN)
        .args(["--format", "json"])
        .args(more)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["status"], "waiting");
    report["run"].as_str().unwrap().to_owned()
}

/// Resumes a run. Returns the exit status and the output, or the error of the step that waited.
pub(crate) fn resumed(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = planwright(folder)
        .arg("resume")
        .args(arguments)
        .args(["--format", "json"])
        .output()
        .unwrap();
    let report: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let error = &report["steps"][1]["error"]["message"];
    let came_to = if error.is_null() {
        report["output"]["paid"].clone()
    } else {
        error.clone()
    };
    (output.status.code(), came_to)
}

#[test]
fn decisions_of_another_process_count_when_the_run_goes_on() {
    for (decision, expected) in [
        (&["approve"][..], (Some(0), json!(3))),
        (
            &["approve", "--args", r#"{"amount":5}"#],
            (Some(0), json!(5)),
        ),
        (&["reject"], (Some(1), json!("the call was rejected"))),
        (
            &["reject", "--because", "too much"],
            (Some(1), json!("the call was rejected: too much")),
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let id = waiting(folder.path(), &[]);
        // There is no decision yet, so nothing changes.
        assert_eq!(resumed(folder.path(), &[&id]).0, Some(4));
        let (command, more) = decision.split_first().unwrap();
        let decided = match *command {
            "approve" => approve(folder.path(), &id[..8], "pay", more),
            _ => run(folder.path(), &[&[command, &id[..8], "pay"], more].concat()),
        };
        assert_eq!(decided.status.code(), Some(0), "{}", stderr(&decided));
        assert_eq!(resumed(folder.path(), &[&id]), expected, "{decision:?}");
        // Resuming again calls nothing and asks nothing.
        assert_eq!(resumed(folder.path(), &[&id]), expected, "{decision:?}");
    }
}

#[test]
fn a_no_can_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &[]);
    run(folder.path(), &["reject", &id, "pay"]);
    assert_eq!(resumed(folder.path(), &[&id]).0, Some(1));
    assert_eq!(resumed(folder.path(), &[&id, "--retry", "pay"]).0, Some(4));
    approve(folder.path(), &id, "pay", &[]);
    assert_eq!(resumed(folder.path(), &[&id]), (Some(0), json!(3)));
}

#[test]
fn invalid_decisions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &["--var", "token=sesame-open"]);
    let short = &id[..8];
    let remedy = format!(
        "\n  hint: write `[redacted]` as the call shows it, in the same place: the run has the secret\n  hint: for another secret: \
         `planwright resume {short} --var NAME=VALUE`, or the variable of the environment that it is in"
    );
    for (arguments, message) in [
        (
            vec!["approve", &id, "pya"],
            format!("no call of `pya` waits for a decision in the run `{short}`\n  hint: did you mean `pay`?"),
        ),
        (
            vec!["approve", &id, "final"],
            format!("no call of `final` waits for a decision in the run `{short}`\n  hint: steps waiting for approval: `pay`"),
        ),
        (
            vec!["approve", &id, "pay", "--args", "[1]"],
            "`--args` is a list, not an object\n  hint: write them as {\"NAME\": VALUE, …}".to_owned(),
        ),
        (
            vec!["approve", &id, "pay", "--args", r#"{"amount": "x"}"#],
            "the tool does not take these arguments\n  hint: `\"x\"` is text, not a number at `/amount`".to_owned(),
        ),
        (
            vec!["approve", &id, "pay", "--args", r#"{"token": "sesame-shut"}"#],
            format!("the arguments cannot be used: the secret at `/token` was replaced{remedy}"),
        ),
        (
            vec!["approve", &id, "pay", "--args", r#"{"amount": "[redacted]"}"#],
            format!("the arguments cannot be used: `/amount` is `[redacted]`, but the call has no secret there{remedy}"),
        ),
        (
            vec!["approve", "none", "pay"],
            "there is no run `none`\n  hint: `planwright runs` lists them".to_owned(),
        ),
        (
            vec!["resume", &id],
            "the input `token` is secret, so it was not stored\n  hint: provide it again: `--var token=VALUE`".to_owned(),
        ),
    ] {
        let output = run(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stderr(&output), format!("error: {message}\n"), "{arguments:?}");
    }
    approve(folder.path(), &id, "pay", &[]);
    let again = run(folder.path(), &["reject", &id, "pay"]);
    assert!(
        stderr(&again).contains("was already decided"),
        "{}",
        stderr(&again)
    );
    let decision = ["resume", &id, "--var", "token=sesame-open"];
    assert_eq!(run(folder.path(), &decision).status.code(), Some(0));
    // Neither the store nor anything beside it has ever seen the secret.
    for file in fs::read_dir(folder.path().join(".local/share/planwright")).unwrap() {
        let path = file.unwrap().path();
        let bytes = if path.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sesame"), "{}", path.display());
    }
}

/// Neither the store nor anything beside it holds any of `texts`.
#[track_caller]
fn never_stored(folder: &Path, texts: &[&str]) {
    for file in fs::read_dir(folder.join(".local/share/planwright")).unwrap() {
        let path = file.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let stored = fs::read(&path).unwrap();
        let stored = String::from_utf8_lossy(&stored);
        for text in texts {
            assert!(!stored.contains(text), "{text} in {}", path.display());
        }
    }
}

#[test]
fn a_secret_stays_when_other_arguments_change() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let id = waiting(folder, &["--var", "token=sesame-open"]);
    for typed in [
        r#"{"amount":5,"token":"sesame-shut"}"#,
        r#"{"amount":5,"token":{"new":"sesame-shut"}}"#,
        r#"{"amount":5,"note":"[redacted]"}"#,
    ] {
        let refused = approve(folder, &id, "pay", &["--args", typed]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(!stderr(&refused).contains("shut"), "{}", stderr(&refused));
        never_stored(folder, &["sesame"]);
    }
    let stored_args = r#"{"amount":5,"token":"[redacted]"}"#;
    let decided = approve(folder, &id, "pay", &["--args", stored_args]);
    assert_eq!(decided.status.code(), Some(0), "{}", stderr(&decided));
    never_stored(folder, &["sesame"]);
    let output = run(
        folder,
        &[
            "resume",
            &id,
            "--var",
            "token=sesame-open",
            "--format",
            "json",
        ],
    );
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["output"]["paid"], json!(5), "{report}");
    assert_eq!(
        report["steps"][1]["args"],
        json!({"amount": 5, "token": "[redacted]"})
    );
    assert!(!report.to_string().contains("sesame"), "{report}");
    never_stored(folder, &["sesame"]);
    let replayed = run(folder, &["replay", &id]);
    assert_eq!(replayed.status.code(), Some(0), "{}", stderr(&replayed));
}

#[test]
fn a_file_of_decisions_cannot_replace_a_secret() {
    for (args, expected) in [
        (json!({"amount": 5, "token": "[redacted]"}), Ok(5)),
        (json!({"amount": 5, "token": "sesame-open"}), Ok(5)),
        (
            json!({"amount": 5, "token": "sesame-shut"}),
            Err(
                "the call was rejected: the changed arguments cannot be used: the secret at `/token` was replaced",
            ),
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        set_up(folder);
        let decisions = json!({"pay": {"decision": "approve", "args": args}});
        fs::write(folder.join("decisions.json"), decisions.to_string()).unwrap();
        let more = [
            "--var",
            "token=sesame-open",
            "--approvals",
            "decisions.json",
        ];
        let output = run(folder, &[&RUN[..], &more, &["--format", "json"]].concat());
        let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
        match expected {
            Ok(paid) => assert_eq!(report["output"]["paid"], json!(paid), "{report}"),
            Err(message) => assert_eq!(report["steps"][1]["error"]["message"], message),
        }
        assert!(!report.to_string().contains("sesame"), "{report}");
        never_stored(folder, &["sesame"]);
    }
}

/// A process that waits, and the line that says for what.
fn wait_for(folder: &Path, arguments: &[&str]) -> (Child, String) {
    let mut child = planwright(folder)
        .args(arguments)
        .args(["--approve", "wait"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    // A FIFO blocks its writer until there is a reader.
    std::thread::spawn(move || lines.for_each(drop));
    (child, line)
}

#[test]
fn a_process_that_waits_goes_on_when_another_decides() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    let (child, line) = wait_for(folder.path(), &RUN);
    let id = line
        .split_once("planwright approve ")
        .and_then(|(_, rest)| rest.split(' ').next())
        .unwrap_or_else(|| panic!("{line}"));
    let decided = approve(folder.path(), id, "pay", &[]);
    assert!(
        stderr(&decided).contains("continues automatically"),
        "{}",
        stderr(&decided)
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), "paid: 3\n");
}

#[test]
fn of_ten_processes_one_has_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &[]);
    let mut ten: Vec<Child> = (0..10)
        .map(|_| {
            planwright(folder.path())
                .args(["resume", &id, "--approve", "wait"])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    // Each says one thing at first: that it waits, or who has the run.
    let first: Vec<String> = ten
        .iter_mut()
        .map(|child| {
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
            let line = lines.next().unwrap().unwrap();
            std::thread::spawn(move || lines.for_each(drop));
            line
        })
        .collect();
    let winner = first
        .iter()
        .position(|line| line.contains("`pay` waits"))
        .unwrap();
    let pid = ten[winner].id();
    for (index, line) in first.iter().enumerate() {
        if index != winner {
            let says = format!("error: the run `{id}` is in use by process {pid}");
            assert!(line.starts_with(&says), "{line}");
        }
    }
    assert_eq!(
        approve(folder.path(), &id, "pay", &[]).status.code(),
        Some(0)
    );
    for (index, child) in ten.into_iter().enumerate() {
        let code = child.wait_with_output().unwrap().status.code();
        assert_eq!(code, Some(if index == winner { 0 } else { 2 }));
    }
}

#[test]
fn a_dry_run_shows_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    for format in ["text", "json"] {
        let output = planwright(folder.path())
            .args(RUN)
            .args([
                "--dry-run",
                "--var",
                "token=sesame-open",
                "--format",
                format,
            ])
            .output()
            .unwrap();
        let (shown, log) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{log}");
        assert!(shown.contains("[redacted]"), "{shown}");
        assert!(
            !shown.contains("sesame") && !log.contains("sesame"),
            "{shown}{log}"
        );
    }
}

#[test]
fn a_selector_is_never_a_path() {
    let folder = tempfile::tempdir().unwrap();
    waiting(folder.path(), &[]);
    fs::write(folder.path().join("x.json"), "{}").unwrap();
    for selector in ["../x", "x.json", "./x", "..", "a/b", "%", "*"] {
        for command in [
            &["resume"][..],
            &["logs"],
            &["replay"],
            &["export"],
            &["delete"],
        ] {
            let output = run(folder.path(), &[command, &[selector]].concat());
            assert_eq!(output.status.code(), Some(2), "{command:?} {selector}");
            let kind = if command == ["delete"] { "plan" } else { "run" };
            let message = format!("error: there is no {kind} `{selector}`");
            assert!(stderr(&output).starts_with(&message), "{}", stderr(&output));
        }
    }
    assert!(folder.path().join("x.json").exists());
}

#[test]
fn a_whole_plan_is_approved_by_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    let refused = planwright(folder.path())
        .args(RUN)
        .args(["--approve", "plan:0123456789ab"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let log = stderr(&refused);
    let digest = log
        .split_once("its digest is `")
        .and_then(|(_, rest)| rest.split('`').next())
        .unwrap_or_else(|| panic!("{log}"));
    let approve = format!("plan:{digest}");
    let output = planwright(folder.path())
        .args(RUN)
        .args(["--approve", &approve])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "paid: 3\n");
}

/// Runs a plan on a pseudo terminal, where a person types `answers`.
fn at_a_terminal(folder: &Path, more: &str, answers: &str) -> (Option<i32>, String) {
    let line = format!("{} --var token=sesame-open {more}", RUN.join(" "));
    typed(folder, &line, answers)
}

#[cfg(target_os = "linux")]
#[test]
fn a_plan_is_shown_in_colours() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    let (exit, screen) = at_a_terminal(folder.path(), "--approve plan --color always", "n\n");
    assert_eq!(exit, Some(3), "{screen}");
    assert!(screen.contains("\u{1b}[1mpay"), "{screen:?}");
    assert!(!screen.contains("\\u{1b}"), "{screen}");
}

/// Runs a command on a pseudo-terminal, where a person gives `answers`, a line for each question.
pub(crate) fn typed(folder: &Path, arguments: &str, answers: &str) -> (Option<i32>, String) {
    typing::typed(folder, arguments, &[], answers)
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_at_a_terminal_is_asked() {
    for (more, answers, code, shown) in [
        ("", "y\n", 0, "paid: 3"),
        ("", "what\nyes\n", 0, "paid: 3"),
        ("", "c\n{\"amount\": 7}\ny\n", 0, "paid: 7"),
        ("", "n\n", 1, "the call was rejected"),
        ("", "l\n", 4, "waits for a decision"),
        ("--approve plan", "y\n", 0, "paid: 3"),
        (
            "--approve plan",
            "n\n",
            3,
            "the plan was not approved; nothing was called",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        set_up(folder.path());
        let (exit, screen) = at_a_terminal(folder.path(), more, answers);
        assert_eq!(exit, Some(code), "{more} {answers:?}: {screen}");
        assert!(screen.contains(shown), "{more} {answers:?}: {screen}");
        assert!(screen.contains("[redacted]"), "{screen}");
        assert!(!screen.contains("sesame"), "{screen}");
    }
}

#[test]
fn without_a_terminal_only_the_digest_of_the_call_approves_it() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &["--var", "token=sesame-open"]);
    let bare = run(folder.path(), &["approve", &id, "pay"]);
    assert_eq!(bare.status.code(), Some(2));
    let log = stderr(&bare);
    assert!(log.contains("pay wants to call simulated.pay"), "{log}");
    assert!(
        log.contains("  amount: 3\n  token: \"[redacted]\"\n"),
        "{log}"
    );
    assert!(
        log.contains("error: there is no terminal to approve the call on"),
        "{log}"
    );
    let other = run(
        folder.path(),
        &["approve", &id, "pay", "--digest", "0123456789abcdef"],
    );
    assert_eq!(other.status.code(), Some(2));
    assert!(
        stderr(&other).contains("the digest `0123456789abcdef` is not that of this call"),
        "{}",
        stderr(&other)
    );
    let short = run(folder.path(), &["approve", &id, "pay", "--digest", "01234"]);
    assert_eq!(short.status.code(), Some(2));
    let open = resumed(folder.path(), &[&id, "--var", "token=sesame-open"]);
    assert_eq!(open.0, Some(4));
    let approved = approve(folder.path(), &id, "pay", &["--args", r#"{"amount": 9}"#]);
    assert_eq!(approved.status.code(), Some(0), "{}", stderr(&approved));
    assert!(
        stderr(&approved).contains("with these arguments instead:\n  amount: 9\n"),
        "{}",
        stderr(&approved)
    );
    assert_eq!(
        resumed(folder.path(), &[&id, "--var", "token=sesame-open"]),
        (Some(0), json!(9))
    );
}

#[test]
fn a_digest_approves_nothing_but_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &[]);
    let look = run(
        folder.path(),
        &["approve", &id, "pay", "--show", "--format", "json"],
    );
    let call: Value = serde_json::from_str(&stdout(&look)).unwrap();
    assert_eq!(call["args"], json!({"amount": 3, "token": "[redacted]"}));
    assert_eq!(call["reason"], "the plan asks before this step");
    let digest = call["digest"].as_str().unwrap();
    // Another call has taken the place of the one that was looked at.
    let plan = fs::read_to_string(folder.path().join("plan.json")).unwrap();
    let plan = plan.replace(r#""amount":3"#, r#""amount":3000"#);
    fs::write(folder.path().join("other.json"), plan).unwrap();
    assert_eq!(
        resumed(folder.path(), &[&id, "--plan", "other.json"]).0,
        Some(4)
    );
    let output = run(folder.path(), &["approve", &id, "pay", "--digest", digest]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(resumed(folder.path(), &[&id]).0, Some(4));
    let shown = stdout(&run(folder.path(), &["runs", "--status", "waiting"]));
    assert!(shown.contains("  amount: 3000\n"), "{shown}");
    assert!(shown.contains("\n  digest: "), "{shown}");
    let shown = stdout(&run(folder.path(), &["show", &id]));
    assert!(shown.contains("  amount: 3000\n"), "{shown}");
}

#[test]
fn consent_to_one_tool_is_none_to_another() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    let plan = |tool: &str| {
        let step = json!({"id": "a", "tool": tool, "args": {"to": "x"}});
        json!({"name": "swap", "steps": [step]}).to_string()
    };
    let tools = json!({"tools": {
        "draft": {"approval": true, "fails": "no"},
        "send": {"approval": true, "returns": "SENT"},
    }});
    fs::write(folder.path().join("tools.json"), tools.to_string()).unwrap();
    fs::write(folder.path().join("plan.json"), plan("draft")).unwrap();
    fs::write(folder.path().join("send.json"), plan("send")).unwrap();
    let output = planwright(folder.path())
        .args(RUN)
        .args(["--format", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let id = report["run"].as_str().unwrap();
    approve(folder.path(), id, "a", &[]);
    // Another tool in the same step, with the same arguments.
    let swapped = run(folder.path(), &["resume", id, "--plan", "send.json"]);
    assert_eq!(swapped.status.code(), Some(4), "{}", stderr(&swapped));
    assert!(!stdout(&swapped).contains("SENT"));
    let look = stdout(&run(folder.path(), &["approve", id, "a", "--show"]));
    assert!(
        look.starts_with("a wants to call simulated.send\n"),
        "{look}"
    );
    // The decision about the other call was not used, but the person made it.
    assert!(look.contains("the tool was `simulated.draft`"), "{look}");
}

#[test]
fn an_approved_call_that_failed_is_asked_about_again() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    let tools = json!({"tools": {"pay": {"fails": "no"}, "look": {"echo": true}}});
    fs::write(folder.path().join("tools.json"), tools.to_string()).unwrap();
    let output = planwright(folder.path())
        .args(RUN)
        .args(["--format", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let id = report["run"].as_str().unwrap();
    approve(folder.path(), id, "pay", &[]);
    assert_eq!(resumed(folder.path(), &[id]).0, Some(1));
    for _ in 0..3 {
        assert_eq!(resumed(folder.path(), &[id]).0, Some(4));
    }
    let look = run(folder.path(), &["approve", id, "pay", "--show"]);
    assert!(
        stdout(&look).contains(
            "since the last question: the earlier decision about the same call was used up"
        ),
        "{}",
        stdout(&look)
    );
    let logs = stdout(&run(folder.path(), &["logs", id]));
    assert_eq!(logs.matches("✗ pay").count(), 1, "{logs}");
}

#[cfg(target_os = "linux")]
#[test]
fn approve_shows_the_call_and_asks_at_a_terminal() {
    for (answers, code, decided) in [("y\n", 0, Some(0)), ("n\n", 4, Some(4))] {
        let folder = tempfile::tempdir().unwrap();
        let id = waiting(folder.path(), &[]);
        let (exit, screen) = typed(folder.path(), &format!("approve {id} pay"), answers);
        assert_eq!(exit, Some(code), "{screen}");
        let shown = screen
            .find("amount: 3")
            .unwrap_or_else(|| panic!("{screen}"));
        let asked = screen
            .find("approve the call `pay` of `simulated.pay`?")
            .unwrap_or_else(|| panic!("{screen}"));
        assert!(shown < asked, "{screen}");
        assert_eq!(resumed(folder.path(), &[&id]).0, decided, "{screen}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn with_a_passphrase_no_decision_is_made_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &[]);
    let (exit, screen) = typed(
        folder.path(),
        "passphrase",
        "correct horse\ncorrect horse\n",
    );
    assert_eq!(exit, Some(0), "{screen}");
    fs::write(
        folder.path().join("yes.json"),
        r#"{"pay": {"decision": "approve"}}"#,
    )
    .unwrap();
    // Without a terminal there is no decision at all.
    let blind = approve(folder.path(), &id, "pay", &[]);
    assert_eq!(blind.status.code(), Some(2), "{}", stderr(&blind));
    let blind = run(folder.path(), &["reject", &id, "pay"]);
    assert_eq!(blind.status.code(), Some(2), "{}", stderr(&blind));
    for more in [
        &["--approve", "all"][..],
        &["--approvals", "yes.json"],
        &["--retry", "pay"],
    ] {
        let output = run(folder.path(), &[&["resume", &id], more].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{more:?} {}",
            stderr(&output)
        );
    }
    // With one, it takes the passphrase.
    let line = format!("approve {id} pay");
    for answers in ["y\n1\n2\n3\n", "y\n\n\n\n"] {
        let (exit, screen) = typed(folder.path(), &line, answers);
        assert_ne!(exit, Some(0), "{answers:?} {screen}");
    }
    for (more, answers) in [
        ("--approve all", "1\n2\n3\n"),
        ("--approve plan", "y\n1\n2\n3\n"),
        ("", "y\n1\n2\n3\nl\n"),
    ] {
        let (exit, screen) = at_a_terminal(folder.path(), more, answers);
        assert_ne!(exit, Some(0), "{more} {answers:?} {screen}");
        assert!(!screen.contains("paid: 3"), "{more} {answers:?} {screen}");
    }
    assert_eq!(resumed(folder.path(), &[&id]).0, Some(4));
    let (exit, screen) = typed(folder.path(), "passphrase --remove", "wrong guess\n");
    assert_eq!(exit, Some(2), "{screen}");
    let (exit, screen) = typed(folder.path(), &line, "y\ncorrect horse\n");
    assert_eq!(exit, Some(0), "{screen}");
    assert_eq!(resumed(folder.path(), &[&id]), (Some(0), json!(3)));
}

#[test]
fn settings_that_want_a_passphrase_want_one_to_be_set() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &[]);
    let settings = folder.path().join(".config/planwright");
    fs::create_dir_all(&settings).unwrap();
    fs::write(
        settings.join("planwright.toml"),
        "[approvals]\npassphrase = true\n",
    )
    .unwrap();
    let output = approve(folder.path(), &id, "pay", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("decisions require a passphrase, and none is set"),
        "{}",
        stderr(&output)
    );
    // Neither another store nor `--no-store` bypasses it.
    for more in [&["--no-store"][..], &["--store", "other.db"]] {
        let output = planwright(folder.path())
            .args(RUN)
            .args(["--approve", "all"])
            .args(more)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }
}
