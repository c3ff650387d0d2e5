//! Output about runs conforms to the published schemas.

use std::fs;

use planwright::core::{Schema, Value};
use planwright_testkit::generated::project_file;

use super::support::Shop;
use crate::program::stdout;

const PLAN: &str = r#"{"name": "shop", "steps": [
    {"id": "list", "tool": "list"},
    {"id": "price", "for_each": "${list.orders}", "tool": "price", "args": {"total": "${item.total}"}, "timeout": "3s"},
    {"id": "pay", "tool": "pay"}
]}"#;

/// Checks a document against the published schema of its name.
#[track_caller]
pub(crate) fn fits(text: &str, name: &str) {
    let path = project_file(&format!("docs/schema/{name}.schema.json"));
    let published = Value::from_json(&fs::read_to_string(path).unwrap()).unwrap();
    let published = Schema::from_value(published);
    assert_eq!(published.malformed(), None);
    let value = Value::from_json(text).unwrap();
    let violations = published.validate(&value);
    assert!(violations.is_empty(), "{violations:#?}\n{text}");
    assert!(!published.is_valid(&Value::empty_object()));
}

#[track_caller]
fn check(shop: &Shop, args: &[&str], name: &str) {
    let printed = stdout(&shop.command(args));
    let texts: Vec<&str> = match args {
        [.., "events"] => printed.lines().collect(),
        _ => vec![&printed],
    };
    assert!(!texts.is_empty(), "{args:?}");
    for text in texts {
        fits(text, name);
    }
}

#[test]
fn printed_documents_fit_the_published_schemas() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    shop.command(&["resume", &run, "--skip", "price", "--approve", "none"]);
    check(&shop, &["runs", "--format", "json"], "runs");
    check(&shop, &["logs", &run, "--format", "json"], "log");
    check(&shop, &["logs", &run, "--format", "events"], "entry");
    check(&shop, &["replay", &run, "--format", "json"], "replay");
    let other = shop.run(&PLAN.replace('3', "4"), &["--approve", "all"]);
    check(&shop, &["diff", &run, &other, "--format", "json"], "diff");
}
