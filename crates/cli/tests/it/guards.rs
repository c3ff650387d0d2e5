//! Guards end to end: flags, `planwright.toml`, output, and limits of a resumed run.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{planwright, stderr, stdout};

const TOOLS: &str = r#"{"tools": {
    "a": {"returns": "one"},
    "big": {"returns": {"rows": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "name": "x"}},
    "destroy": {"annotations": {"destructiveHint": true}, "returns": "gone"}
}}"#;
const PLAN: &str = r#"{"name": "p", "steps": [
    {"id": "one", "tool": "a"},
    {"id": "two", "tool": "a", "args": {"of": "${one}"}},
    {"id": "big", "tool": "big", "after": ["two"]}
]}"#;

fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    fs::write(folder.path().join("plan.json"), PLAN).unwrap();
    fs::write(folder.path().join("planwright.toml"), config).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str], exit: i32) -> Output {
    let output = planwright(folder).args(args).output().unwrap();
    let log = stderr(&output);
    assert_eq!(output.status.code(), Some(exit), "{args:?}\n{log}");
    output
}

fn report(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

const RUN: [&str; 6] = [
    "run",
    "plan.json",
    "--simulate",
    "tools.json",
    "--format",
    "json",
];

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

#[test]
fn a_run_that_used_up_its_budget_goes_on_with_a_larger_one() {
    let folder = folder("");
    let first = report(&run(folder.path(), &with(&RUN, &["--max-calls", "1"]), 1));
    assert_eq!(first["steps"][1]["error"]["data"]["set_in"], "--max-calls");
    let id = first["run"].as_str().unwrap();
    // The limit of the flag and the calls made so far apply to the resumed run.
    let resume = ["resume", id, "--format", "json"];
    let same = report(&run(folder.path(), &resume, 1));
    assert_eq!(same["steps"][1]["error"]["data"]["limit"], 1);
    let more = report(&run(
        folder.path(),
        &with(&resume, &["--max-calls", "2"]),
        1,
    ));
    assert_eq!(more["steps"][1]["status"], "succeeded");
    assert_eq!(more["steps"][2]["error"]["kind"], "budget");
    run(folder.path(), &with(&resume, &["--max-calls", "3"]), 0);
    run(folder.path(), &["replay", id], 0);
}

#[test]
fn a_rate_holds_across_processes() {
    let folder = folder("budgets.wall_time = '100ms'\nrates.simulated = '2/1h'");
    let first = report(&run(folder.path(), &RUN, 1));
    assert_eq!(first["calls"].as_array().map(Vec::len), Some(2));
    let id = first["run"].as_str().unwrap();
    let config = folder.path().join("planwright.toml");
    fs::write(
        &config,
        "budgets.wall_time = '400ms'\nrates.simulated = '2/1h'",
    )
    .unwrap();
    let resume = ["resume", id, "--format", "json"];
    let next = report(&run(folder.path(), &resume, 1));
    assert_eq!(next["steps"][2]["error"]["data"]["guard"], "wall_time");
    assert_eq!(next["calls"].as_array().map(Vec::len), Some(2));
    fs::write(&config, "rates.simulated = '3/1h'").unwrap();
    let last = report(&run(folder.path(), &resume, 0));
    assert_eq!(last["calls"].as_array().map(Vec::len), Some(3));
    run(folder.path(), &["replay", id], 0);
}

#[test]
fn decisions_of_guards_can_be_replayed() {
    let configs = [
        "rates.simulated = '2/100ms'",
        "runaway.same_call = 1\nbudgets.tools.'b*' = 0",
        "budgets.output_bytes = 12\nbudgets.servers.simulated = 2",
        "budgets.wall_time = '50ms'\nrates.simulated = '1/1s'",
    ];
    for (config, exit) in configs.into_iter().zip([0, 1, 1, 1]) {
        let folder = folder(config);
        let outcome = report(&run(folder.path(), &RUN, exit));
        let id = outcome["run"].as_str().unwrap();
        run(folder.path(), &["replay", id], 0);
    }
}

#[test]
fn a_run_that_goes_on_heeds_the_configuration_as_it_is_then() {
    let folder = folder("budgets.calls = 1");
    let first = report(&run(folder.path(), &RUN, 1));
    assert_eq!(
        first["steps"][1]["error"]["data"]["set_in"],
        "planwright.toml:1"
    );
    let id = first["run"].as_str().unwrap();
    fs::write(
        folder.path().join("planwright.toml"),
        "tools.deny = ['big']",
    )
    .unwrap();
    let denied = report(&run(folder.path(), &["resume", id, "--format", "json"], 3));
    assert_eq!(denied["diagnostics"][0]["code"], "PW0602");
    fs::write(folder.path().join("planwright.toml"), "").unwrap();
    run(folder.path(), &["resume", id], 0);
}

#[test]
fn the_file_is_looked_for_upwards_as_far_as_the_repository() {
    let folder = folder("budgets.calls = 7");
    let inner = folder.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    let calls = |from: &Path| {
        let output = planwright(folder.path())
            .current_dir(from)
            .args(["config", "--format", "json"])
            .output()
            .unwrap();
        let settings = report(&output);
        assert_eq!(settings["schema"], "planwright.config/1");
        let settings = settings["settings"].as_array().unwrap().iter();
        let mut calls = settings.filter(|setting| setting["key"] == "budgets.calls");
        calls.next().unwrap()["value"].clone()
    };
    assert_eq!(calls(&inner), 7);
    fs::create_dir(folder.path().join("a/.git")).unwrap();
    assert_eq!(calls(&inner), Value::Null);
}

#[test]
fn large_values_are_trimmed_only_when_they_are_shown() {
    let folder = folder("");
    let whole = report(&run(folder.path(), &RUN, 0));
    let output = whole["steps"][2]["output"].clone();
    assert_eq!(output["rows"][11], 12);
    let trimmed = report(&run(folder.path(), &with(&RUN, &["--max-output", "10"]), 0));
    assert_eq!(trimmed["steps"][0]["output"], "one");
    assert_eq!(trimmed["steps"][2]["output"]["$trimmed"]["bytes"], 48);
    assert_eq!(
        trimmed["steps"][2]["output"]["$trimmed"]["start"],
        "{\"rows\":[1"
    );
    assert_eq!(trimmed["output"]["big"]["$trimmed"]["bytes"], 48);
    // It was passed on and stored untrimmed.
    let id = trimmed["run"].as_str().unwrap();
    let again = report(&run(folder.path(), &["resume", id, "--format", "json"], 0));
    assert_eq!(again["steps"][2]["output"], output);
    fs::write(
        folder.path().join("planwright.toml"),
        "output.max_bytes = 10",
    )
    .unwrap();
    let events = [
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--format",
        "events",
    ];
    let lines = stdout(&run(folder.path(), &events, 0));
    assert!(
        lines.contains(r#""output":{"$trimmed":{"bytes":48,"#),
        "{lines}"
    );
    assert!(!lines.contains("12]"), "{lines}");
    let text = stdout(&run(folder.path(), &events[..4], 0));
    assert!(text.contains("… trimmed at"), "{text}");
}

#[test]
fn a_tool_that_destroys_asks_unless_its_user_says_otherwise() {
    let folder = folder("");
    let plan = r#"{"name": "p", "steps": [{"id": "one", "tool": "destroy"}]}"#;
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    run(folder.path(), &RUN, 4);
    let mine = folder.path().join(".config/planwright");
    fs::create_dir_all(&mine).unwrap();
    fs::write(mine.join("planwright.toml"), "tools.no_ask = ['destroy']").unwrap();
    run(folder.path(), &RUN, 0);
    fs::write(folder.path().join("planwright.toml"), "tools.ask = ['*']").unwrap();
    run(folder.path(), &RUN, 4);
    fs::write(
        folder.path().join("planwright.toml"),
        "tools.no_ask = ['*']",
    )
    .unwrap();
    let log = stderr(&run(folder.path(), &RUN, 2));
    assert!(log.contains("put `no_ask` into your own"), "{log}");
}

#[cfg(unix)]
#[test]
fn a_file_of_settings_that_cannot_be_read_is_not_ignored() {
    use std::os::unix::fs::symlink;

    let folder = folder("");
    let config = folder.path().join("planwright.toml");
    fs::remove_file(&config).unwrap();
    symlink("gone", &config).unwrap();
    run(folder.path(), &RUN, 2);
    fs::remove_file(&config).unwrap();
    symlink("/dev/zero", &config).unwrap();
    run(folder.path(), &RUN, 2);
    fs::remove_file(&config).unwrap();
    fs::create_dir(&config).unwrap();
    run(folder.path(), &RUN, 2);
    fs::remove_dir(&config).unwrap();
    run(folder.path(), &RUN, 0);

    let mine = folder.path().join(".config/planwright");
    fs::create_dir_all(&mine).unwrap();
    symlink("gone", mine.join("planwright.toml")).unwrap();
    run(folder.path(), &RUN, 2);
}
