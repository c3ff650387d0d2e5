//! `runs` lists stored runs.

use planwright::core::Value;

use super::support::{Shop, json};
use crate::program::{stderr, stdout};
#[cfg(target_os = "linux")]
use crate::prompts::screens;

const GOOD: &str = r#"{"name": "good", "steps": [{"id": "list", "tool": "list"}]}"#;
const BAD: &str = r#"{"name": "bad", "steps": [{"id": "price", "tool": "price", "args": {"total": 4}}, {"id": "pay", "tool": "pay"}]}"#;

/// The plan and the status of each listed run.
fn listed(shop: &Shop, args: &[&str]) -> Vec<(String, String)> {
    let args = [&["runs", "--format", "json"], args].concat();
    let runs = json(&shop.command(&args));
    let runs = runs.get("runs").and_then(Value::as_list).unwrap();
    let text = |run: &Value, name: &str| run.get(name).and_then(Value::as_text).unwrap().to_owned();
    runs.iter()
        .map(|run| (text(run, "plan"), text(run, "status")))
        .collect()
}

#[track_caller]
fn check(shop: &Shop, args: &[&str], expected: &[(&str, &str)]) {
    let listed = listed(shop, args);
    let listed: Vec<(&str, &str)> = listed
        .iter()
        .map(|(plan, status)| (plan.as_str(), status.as_str()))
        .collect();
    assert_eq!(listed, expected, "{args:?}");
}

#[test]
fn runs_are_filtered() {
    let shop = Shop::new();
    check(&shop, &[], &[]);
    assert_eq!(stderr(&shop.command(&["runs"])), "no runs are stored yet\n");
    shop.run(GOOD, &[]);
    shop.run(BAD, &[]);
    shop.run(BAD, &["--approve", "none"]);
    let (good, waits, bad) = (("good", "succeeded"), ("bad", "waiting"), ("bad", "failed"));
    check(&shop, &[], &[bad, waits, good]);
    check(&shop, &["--limit", "2"], &[bad, waits]);
    check(&shop, &["--plan", "good"], &[good]);
    check(&shop, &["--status", "failed"], &[bad]);
    check(&shop, &["--status", "open"], &[]);
    check(&shop, &["--since", "1h", "--limit", "1"], &[bad]);
    check(&shop, &["--since", "2999-01-01"], &[]);
    let nothing = shop.command(&["runs", "--plan", "none"]);
    assert_eq!(stderr(&nothing), "no run matches\n");
    assert_eq!(nothing.status.code(), Some(0));
    let misread = shop.command(&["runs", "--since", "yesterday"]);
    assert_eq!(misread.status.code(), Some(2));
}

#[test]
fn people_see_a_line_each() {
    let shop = Shop::new();
    let run = shop.run(BAD, &["--approve", "none"]);
    let text = stdout(&shop.command(&["runs"]));
    let (heading, line) = text.trim_end().split_once('\n').unwrap();
    assert_eq!(
        heading
            .split("  ")
            .filter(|title| !title.is_empty())
            .count(),
        7
    );
    assert!(line.starts_with(&run[..8]), "{line}");
    assert!(!line.contains(&run), "{line}");
    assert!(line.contains("  failed  bad     2/2      1  "), "{line}");
}

#[test]
fn the_owner_and_the_later_outcome_of_a_run_are_listed() {
    let shop = Shop::new();
    let plan = r#"{"name": "slow", "steps": [{"id": "wait", "tool": "wait"}]}"#;
    let mut child = shop.begin(plan);
    let pid = i64::from(child.id());
    let runs = json(&shop.command(&["runs", "--format", "json", "--status", "open"]));
    let run = runs.get("runs").unwrap().as_list().unwrap()[0].clone();
    assert_eq!(run.get("status"), Some(&Value::from("running")));
    assert_eq!(run.get("pid"), Some(&Value::from(pid)));
    let id = run.get("id").and_then(Value::as_text).unwrap();
    let log = stdout(&shop.command(&["logs", id]));
    assert!(log.contains("◉ wait  simulated.wait  in flight"), "{log}");
    child.kill().unwrap();
    child.wait().unwrap();
    check(&shop, &["--status", "open"], &[("slow", "interrupted")]);
    let log = stdout(&shop.command(&["logs", id]));
    assert!(
        log.contains("? wait  simulated.wait  its process ended"),
        "{log}"
    );
    assert!(log.contains("process died: interrupted"), "{log}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_list_fits_the_terminal() {
    let shop = Shop::new();
    let plan =
        r#"{"name": "a plan with a name of many words", "steps": [{"id": "a", "tool": "echo"}]}"#;
    shop.run(plan, &[]);
    let head = |columns: u16| {
        let screens = screens(shop.path(), "runs --color never", &[], (6, columns));
        let screen = screens.into_iter().next_back().unwrap();
        let lines: Vec<&str> = screen.lines().collect();
        assert_eq!(lines.len(), 2, "{screen}");
        for line in &lines {
            assert!(line.chars().count() <= usize::from(columns), "{screen}");
        }
        let head: Vec<&str> = lines[0].split_whitespace().collect();
        assert!(lines[1].contains("a plan with"), "{screen}");
        head.join(" ")
    };
    assert_eq!(head(100), "run began status plan steps calls time");
    assert_eq!(head(76), "run began status plan steps calls time");
    assert_eq!(head(60), "run began status plan steps time");
}
