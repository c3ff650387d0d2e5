//! `planwright explain`.

use std::fs;

use planwright::core::Code;
use planwright::engine::ErrorKind;
use planwright_testkit::generated;
use serde_json::Value;

use crate::program::{planwright, stderr, stdout};

#[test]
fn generated_pages_of_the_program() {
    let codes = Code::ALL.iter().map(|code| format!("docs/codes/{code}.md"));
    let kinds = ErrorKind::ALL.map(|kind| format!("docs/errors/{}.md", kind.as_str()));
    let pages: Vec<String> = codes
        .chain(kinds)
        .map(|page| {
            let text = fs::read_to_string(generated::project_file(&page)).unwrap();
            text.trim_end().to_owned()
        })
        .collect();
    let text = pages.join("\n\n") + "\n";
    generated::check("crates/cli/src/inspect/explain/pages.txt", &text);
}

fn explain(arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = planwright(folder.path())
        .arg("explain")
        .args(arguments)
        .output()
        .unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn a_page() {
    let (exit, page, _) = explain(&["PW0201"]);
    assert_eq!(exit, Some(0));
    insta::assert_snapshot!(page, @r#"
    PW0201: a tool is not known

    A step calls a tool that no configured server offers.

    Why. The name is misspelt, or the server is not configured. For a step with `extract`: no model is
    configured.

    How to fix it. Use the name that the hint proposes, or add the server. `planwright tools` lists the
    available tools. Configure a model for steps with `extract`.

    With these tools:

        {"get_weather": {}, "get_time": {}}

    Wrong:

        {"steps": [{"id": "a", "tool": "get_wether", "args": {"city": "Oslo"}}]}

    Right:

        {"steps": [{"id": "a", "tool": "get_weather", "args": {"city": "Oslo"}}]}
    "#);
}

#[test]
fn a_page_as_json() {
    let (exit, text, _) = explain(&["pw201", "--format", "json"]);
    assert_eq!(exit, Some(0));
    let page: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(page["schema"], "planwright.explanation/1");
    assert_eq!(page["code"], "PW0201");
    assert_eq!(page["title"], "a tool is not known");
    let source = fs::read_to_string(generated::project_file("docs/codes/PW0201.md")).unwrap();
    assert_eq!(page["page"], source.trim_end());
}

#[test]
fn all_codes_and_kinds() {
    let count = Code::ALL.len() + ErrorKind::ALL.len();
    let (exit, text, _) = explain(&[]);
    assert_eq!(exit, Some(0));
    assert_eq!(text.lines().count(), count);
    assert!(
        text.contains("PW0201       a tool is not known\n"),
        "{text}"
    );
    let (_, text, _) = explain(&["--format", "json"]);
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(all.len(), count);
}

#[test]
fn a_misspelt_code() {
    let (exit, data, error) = explain(&["PW0299"]);
    assert_eq!((exit, &*data), (Some(2), ""));
    insta::assert_snapshot!(error, @r"
    error: `PW0299` is neither a diagnostic code nor a kind of error
      hint: did you mean `planwright explain PW0209`?
    ");
}

#[test]
fn the_page_of_a_kind_of_error() {
    let (exit, page, _) = explain(&["timeout"]);
    assert_eq!(exit, Some(0));
    assert!(
        page.starts_with("timeout: the call took too long\n\n"),
        "{page}"
    );
    let (_, text, _) = explain(&["timeout", "--format", "json"]);
    let page: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(page["code"], "timeout");
    assert_eq!(page["title"], "the call took too long");
}
