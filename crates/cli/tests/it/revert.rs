//! `planwright revert`: what it says as JSON, what it refuses, and how it asks.

use std::fs;
use std::path::Path;
use std::process::Output;

use planwright_store::Store;
use serde_json::{Value, json};

use crate::program::{json_report, run_program, stderr};

const TOOLS: &str = r#"{"tools": {
    "create": {"output_schema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
               "annotations": {"destructiveHint": false}, "returns": {"id": "e-1"}},
    "delete": {"input_schema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": false},
               "approval": true, "returns": "deleted"},
    "delete_all": {"annotations": {"destructiveHint": false}, "returns": "deleted"},
    "post": {"annotations": {"destructiveHint": false}, "returns": "posted"},
    "send": {"annotations": {"destructiveHint": false}, "returns": "sent"},
    "look": {"annotations": {"readOnlyHint": true}, "returns": "seen"},
    "fail": {"fails": {"code": "no", "message": "no"}}
}}"#;

const UNDO: &str = r#""undo": {"tool": "delete", "arguments": {"id": "${output.id}"}}"#;

/// A folder in which `steps` ran; `UNDO` is the undo of a step.
fn folder(steps: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    let plan = steps.replace("UNDO", UNDO);
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    folder
}

fn program(folder: &Path, arguments: &[&str]) -> Output {
    let more = ["--store", "store.db", "--format", "json"];
    run_program(folder, &[arguments, &more].concat())
}

fn run(folder: &Path) -> Value {
    let run = ["run", "plan.json", "--simulate", "tools.json"];
    json_report(&program(folder, &run))
}

#[test]
fn what_would_be_undone_is_said_first() {
    let folder = folder(
        r#"{"steps": [{"id": "a", "tool": "create", UNDO}, {"id": "b", "tool": "send", "after": ["a"]}, {"id": "c", "tool": "look"}]}"#,
    );
    let report = run(folder.path());
    let run = report["run"].as_str().unwrap();
    for (arguments, status) in [
        (vec!["revert", run, "--dry-run"], 0),
        (vec!["revert", run], 3),
    ] {
        let output = program(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        let shown = json_report(&output);
        assert_eq!(
            shown,
            json!({
                "schema": "planwright.revert/1", "run": run, "undone_before": 0, "in_doubt": [],
                "undos": [{"step": "undo_a", "call": "a", "called": "simulated.create", "tool": "delete", "args": {"id": "e-1"}}],
                "unreverted": [{"call": "b", "tool": "simulated.send", "reason": null}],
            }),
            "{arguments:?}"
        );
    }
}

#[test]
fn an_unsound_undo_of_the_configuration_is_named_and_the_rest_is_offered() {
    let folder = folder(
        r#"{"steps": [{"id": "a", "tool": "create", UNDO}, {"id": "b", "tool": "send", "after": ["a"]}, {"id": "c", "tool": "post", "after": ["b"]}]}"#,
    );
    let config = r#"[tools.undo]
"simulated.send" = "unsend(id=1)"
"simulated.post" = "delete(number=${output})"
"#;
    // A run with such undos does not start, so the configuration changes after it.
    let report = run(folder.path());
    fs::write(folder.path().join("planwright.toml"), config).unwrap();
    let run = report["run"].as_str().unwrap();
    let unreverted = json!([
        {"call": "b", "tool": "simulated.send", "reason": "there is no tool `unsend`"},
        {"call": "c", "tool": "simulated.post", "reason": "the tool `delete` needs the argument `id`"},
    ]);
    for (arguments, status) in [
        (vec!["revert", run, "--dry-run"], 0),
        (vec!["revert", run], 3),
    ] {
        let output = program(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        let shown = json_report(&output);
        assert_eq!(shown["undos"][0]["step"], "undo_a", "{arguments:?}");
        assert_eq!(shown["undos"].as_array().map(Vec::len), Some(1));
        assert_eq!(shown["unreverted"], unreverted, "{arguments:?}");
    }
    let partial = ["revert", run, "--partial", "--approve", "all"];
    let partial = program(folder.path(), &partial);
    assert_eq!(partial.status.code(), Some(0), "{}", stderr(&partial));
    let again = json_report(&program(folder.path(), &["revert", run]));
    assert_eq!(again["undone_before"], 1);
    assert_eq!(again["unreverted"], unreverted);
}

#[test]
fn an_undo_of_the_configuration_is_checked_with_the_plans_that_use_its_tool() {
    let folder = folder(
        r#"{"steps": [{"id": "a", "tool": "create"}, {"id": "b", "tool": "look"}, {"id": "c", "tool": "create"}], "output": ["b"]}"#,
    );
    let closed = TOOLS.replacen(
        r#""required": ["id"]}"#,
        r#""required": ["id"], "additionalProperties": false}"#,
        1,
    );
    fs::write(folder.path().join("tools.json"), closed).unwrap();
    let tools = ["plan.json", "--simulate", "tools.json", "--format", "json"];
    let check = |undo: &str| {
        let config = format!("[tools.undo]\n\"simulated.create\" = \"{undo}\"\n");
        fs::write(folder.path().join("planwright.toml"), config).unwrap();
        let output = run_program(folder.path(), &[&["check"][..], &tools].concat());
        let report = json_report(&output);
        let found = report["diagnostics"].as_array().unwrap().clone();
        (output.status.code(), found)
    };
    assert_eq!(check("delete(id=${output.id})"), (Some(0), Vec::new()));
    for (undo, code, message) in [
        ("unmake(id=1)", "PW0201", "there is no tool `unmake`"),
        (
            "delete(id=${output.idd})",
            "PW0402",
            "there is no field `idd` in the output of the call to undo",
        ),
        (
            "delete()",
            "PW0502",
            "the tool `delete` needs the argument `id`",
        ),
    ] {
        let (status, found) = check(undo);
        assert_eq!(status, Some(3), "{undo}");
        assert_eq!(found[0]["code"], code, "{found:?}");
        let said = found[0]["message"].as_str().unwrap();
        let entry = "the undo of `simulated.create` in ";
        assert!(said.starts_with(entry), "{said}");
        assert!(said.contains("planwright.toml:2: "), "{said}");
        assert!(said.contains(message), "{said}");
        assert_eq!(found[0]["pointer"], "/steps/0/tool");
    }
    let run = [&["run"][..], &tools, &["--no-store"]].concat();
    let run = run_program(folder.path(), &run);
    assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
    // A plan that does not use the tool runs.
    fs::write(
        folder.path().join("plan.json"),
        r#"{"steps": [{"id": "b", "tool": "look"}], "output": ["b"]}"#,
    )
    .unwrap();
    assert_eq!(check("unmake(id=1)").0, Some(0));
}

#[test]
fn an_undo_that_reads_null_is_not_made() {
    let folder = folder(
        r#"{"steps": [{"id": "a", "tool": "create", "undo": {"tool": "delete_all", "arguments": {"id": "${output.id}"}}}]}"#,
    );
    let tools = TOOLS.replace(r#""returns": {"id": "e-1"}"#, r#""returns": {"id": null}"#);
    let tools = tools.replace(
        r#"{"id": {"type": "string"}}, "required": ["id"]},
               "annotations""#,
        r#"{"id": {}}},
               "annotations""#,
    );
    fs::write(folder.path().join("tools.json"), tools).unwrap();
    let report = run(folder.path());
    let run = report["run"].as_str().unwrap();
    let refused = program(folder.path(), &["revert", run]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    let refused = json_report(&refused);
    assert_eq!(refused["undos"], json!([]));
    assert_eq!(refused["unreverted"][0]["reason"], "`${output.id}` is null");
}

#[test]
fn an_undo_with_untrusted_arguments_asks_or_is_refused() {
    let steps = r#"{"steps": [{"id": "a", "tool": "create", "undo": {"tool": "delete_all", "arguments": {"id": "${output.id}"}}}]}"#;
    // Without a flow policy, with one that asks, and with one that denies.
    for (flow, denies, status) in [(false, false, 0), (true, false, 4), (true, true, 3)] {
        let folder = folder(steps);
        if denies {
            let config = "[flow]\nviolation = \"deny\"\n";
            fs::write(folder.path().join("planwright.toml"), config).unwrap();
        }
        let run = ["run", "plan.json", "--simulate", "tools.json", "--flow"];
        let output = program(folder.path(), &run[..4 + usize::from(flow)]);
        let report = json_report(&output);
        // The run makes no undo, so the analysis of its plan does not look at them.
        assert_eq!(report["status"], "succeeded");
        let revert = program(folder.path(), &["revert", report["run"].as_str().unwrap()]);
        assert_eq!(revert.status.code(), Some(status), "{}", stderr(&revert));
        if denies {
            let refused = json_report(&revert);
            assert_eq!(refused["undos"], json!([]));
            let reason = refused["unreverted"][0]["reason"].as_str().unwrap();
            assert!(reason.contains("delete_all"), "{reason}");
        }
    }
}

#[test]
fn an_undo_asks_as_any_call() {
    let folder = folder(r#"{"steps": [{"id": "a", "tool": "create", UNDO}]}"#);
    let report = run(folder.path());
    let run = report["run"].as_str().unwrap();
    let waiting = program(folder.path(), &["revert", run]);
    assert_eq!(waiting.status.code(), Some(4), "{}", stderr(&waiting));
    let waiting = json_report(&waiting);
    let id = waiting["run"].as_str().unwrap();
    // A person is not asked about one call by two runs.
    let second = program(folder.path(), &["revert", run]);
    assert_eq!(second.status.code(), Some(2));
    let said = stderr(&second);
    assert!(said.contains("waits for a decision"), "{said}");
    let resumed = program(folder.path(), &["resume", id, "--approve", "all"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    let again = json_report(&program(folder.path(), &["revert", run]));
    assert_eq!(again["undone_before"], 1);
    assert_eq!(again["undos"], json!([]));
}

#[test]
fn a_plan_that_is_undone_when_it_fails() {
    let folder = folder(
        r#"{"on_failure": "revert", "steps": [{"id": "a", "tool": "create", UNDO}, {"id": "b", "tool": "fail", "after": ["a"]}]}"#,
    );
    let unstored = [
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--no-store",
        "--format",
        "json",
    ];
    let unstored = run_program(folder.path(), &unstored);
    assert_eq!(unstored.status.code(), Some(2));
    assert!(
        stderr(&unstored).contains("`on_failure: revert`, and the run is not stored"),
        "{}",
        stderr(&unstored)
    );
    let run = [
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--approve",
        "all",
    ];
    let output = program(folder.path(), &run);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report = json_report(&output);
    assert_eq!(report["status"], "failed");
    assert_eq!(report["revert"]["status"], "succeeded");
    let failed = report["run"].as_str().unwrap();
    let again = json_report(&program(folder.path(), &["revert", failed]));
    assert_eq!(again["undone_before"], 1);
}

#[test]
fn a_list_needs_no_tools() {
    let folder = folder(r#"{"steps": [{"id": "a", "tool": "create", UNDO}]}"#);
    let report = run(folder.path());
    let run = report["run"].as_str().unwrap();
    fs::remove_file(folder.path().join("tools.json")).unwrap();
    let listed = program(folder.path(), &["revert", run, "--dry-run"]);
    assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
    assert_eq!(json_report(&listed)["undos"][0]["step"], "undo_a");
    let said = stderr(&listed);
    assert!(said.contains("the undos were not checked"), "{said}");
    let refused = program(folder.path(), &["revert", run]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

#[test]
fn runs_that_are_exported_with_another_are_named() {
    let folder = folder(r#"{"steps": [{"id": "a", "tool": "create", UNDO}]}"#);
    let report = run(folder.path());
    let run = report["run"].as_str().unwrap();
    let export = |arguments: &[&str]| {
        let store = ["--store", "store.db"];
        let output = run_program(folder.path(), &[&["export"], arguments, &store].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stderr(&output)
    };
    assert_eq!(export(&[run, "--output", "alone.run"]), "");
    let undone = program(folder.path(), &["revert", run, "--approve", "all"]);
    let revert = json_report(&undone)["run"].as_str().unwrap().to_owned();
    let with_it = |id: &str| format!("exported with it: the run {}\n", &id[..8]);
    assert_eq!(export(&[run, "--output", "both.run"]), with_it(&revert));
    // A revert is exported with the run that it undid.
    assert_eq!(export(&[&revert, "--output", "revert.run"]), with_it(run));
}

#[test]
fn what_an_imported_run_did_is_listed_without_its_tools() {
    let folder = folder(r#"{"steps": [{"id": "a", "tool": "create", UNDO}]}"#);
    let report = run(folder.path());
    let run = report["run"].as_str().unwrap();
    for arguments in [
        ["export", run, "--store", "store.db", "--output", "a.run"].as_slice(),
        &["import", "a.run", "--store", "other.db"],
    ] {
        let output = run_program(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let revert = |arguments: &[&str]| {
        let other = ["revert", run, "--store", "other.db", "--format", "json"];
        run_program(folder.path(), &[&other, arguments].concat())
    };
    let listed = revert(&["--dry-run"]);
    assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
    assert_eq!(json_report(&listed)["undos"][0]["step"], "undo_a");
    let said = stderr(&listed);
    assert!(said.contains("the undos were not checked"), "{said}");
    let refused = revert(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    let said = stderr(&refused);
    assert!(said.contains("`planwright revert"), "{said}");
}

#[test]
fn a_revert_of_an_imported_run_has_nothing_that_its_file_claims() {
    let folder = folder(r#"{"steps": [{"id": "a", "tool": "create", UNDO}]}"#);
    let path = |name: &str| folder.path().join(name);
    let report = run(folder.path());
    let run = report["run"].as_str().unwrap();
    let export = ["export", run, "--store", "store.db", "--output", "a.run"];
    let exported = run_program(folder.path(), &export);
    assert_eq!(exported.status.code(), Some(0), "{}", stderr(&exported));
    let schema = r#""schema":"planwright.run/1","#;
    let text = fs::read_to_string(path("a.run")).unwrap();
    assert!(text.contains(schema), "{text}");
    let claimed = text.replace(schema, &format!(r#"{schema}"client":"ada","#));
    fs::write(path("a.run"), claimed).unwrap();
    // The file names tools that are elsewhere now.
    fs::rename(path("tools.json"), path("here.json")).unwrap();
    let other = |arguments: &[&str]| {
        let other = ["--store", "other.db"];
        run_program(folder.path(), &[arguments, &other].concat())
    };
    let imported = other(&["import", "a.run"]);
    assert_eq!(imported.status.code(), Some(0), "{}", stderr(&imported));
    let revert = ["revert", run, "--simulate", "here.json", "--format", "json"];
    let waiting = other(&revert);
    assert_eq!(waiting.status.code(), Some(4), "{}", stderr(&waiting));
    let revert = json_report(&waiting)["run"].as_str().unwrap().to_owned();
    let store = Store::open(path("other.db")).unwrap();
    let header = store.header(&revert).unwrap().to_json();
    assert!(
        !header.contains("ada") && !header.contains("tools.json"),
        "{header}"
    );
    let resumed = other(&["resume", &revert, "--approve", "all"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
}
