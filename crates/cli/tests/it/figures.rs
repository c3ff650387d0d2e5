//! The page with the figures of the flow policy has what the measurements in `bench/agentdojo` have written.

use std::fs;

use planwright::core::Value;
use planwright_testkit::generated::project_file;

fn read(path: &str) -> String {
    fs::read_to_string(project_file(path)).unwrap()
}

fn number(of: &Value, path: &[&str]) -> usize {
    let found = path.iter().try_fold(of, |at, key| at.get(key));
    match found.unwrap_or_else(|| panic!("no {path:?}")) {
        Value::List(items) => items.len(),
        number => number.to_json().parse().unwrap(),
    }
}

#[test]
fn the_page_has_the_figures_that_were_measured() {
    let page = read("docs/security-figures.md");
    let figures = Value::from_json(&read("bench/agentdojo/figures.json")).unwrap();
    let second = Value::from_json(&read("bench/agentdojo/second.json")).unwrap();
    let mut rows = Vec::new();
    for (name, all, key) in [
        (
            "tasks that ask, of N",
            Some(&["tasks"][..]),
            "tasks_that_ask",
        ),
        ("questions", None, "questions"),
        (
            "attacks that succeed without consent, of N",
            Some(&["pairs", "all"][..]),
            "attacks_that_succeed",
        ),
        (
            "adaptive attacks of our own that succeed without consent, of N",
            Some(&["adaptive"][..]),
            "adaptive_that_succeed",
        ),
        (
            "tasks whose goal is met if a person consents",
            None,
            "utility_with_consent",
        ),
        (
            "tasks whose goal is met without consent",
            None,
            "utility_without_consent",
        ),
    ] {
        let name = match all {
            Some(all) => name.replace('N', &number(&figures, all).to_string()),
            None => name.to_owned(),
        };
        let cells = ["none", "every-change", "builtin", "policy"]
            .map(|condition| number(&figures, &["conditions", condition, key]).to_string());
        rows.push(format!("| {name} | {} |", cells.join(" | ")));
    }
    let domains = ["retail", "airline"];
    let sizes =
        domains.map(|domain| format!("{domain}, of {}", number(&second, &[domain, "tasks"])));
    rows.push(format!("| | {} |", sizes.join(" | ")));
    for (name, condition) in [
        ("asking at every changing tool", "every-change"),
        ("built-in guards", "builtin"),
        (
            "built-in guards, planner exposed from the start",
            "builtin-exposed",
        ),
        ("policy", "policy"),
        ("policy, planner exposed from the start", "policy-exposed"),
    ] {
        let cells = domains
            .map(|domain| number(&second, &[domain, condition, "tasks_that_ask"]).to_string());
        rows.push(format!("| {name} | {} |", cells.join(" | ")));
    }
    let asking = number(&figures, &["asking", "builtin"]);
    rows.push(format!("- Each of the {asking} tasks that ask"));
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(*row)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
