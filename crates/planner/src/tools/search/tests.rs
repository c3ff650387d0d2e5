//! Ranking of search results.

use std::sync::Arc;

use planwright_core::{Catalog, Schema, Tool, Value};
use proptest::prelude::*;

use super::SearchIndex;

fn tool(server: &str, name: &str, description: &str, input: &str) -> Tool {
    Tool {
        description: Some(description.into()),
        input: Schema::from_value(Value::from_json(input).unwrap()),
        ..Tool::new(server, name)
    }
}

fn catalog() -> Catalog {
    let nothing = "{}";
    Catalog::from_iter([
        tool(
            "github",
            "search_issues",
            "Find issues and pull requests.",
            r#"{"properties": {"query": {"type": "string"}, "state": {"enum": ["open", "closed"]}}}"#,
        ),
        tool(
            "github",
            "createPullRequest",
            "Open a pull request.",
            r#"{"properties": {"draft": {"type": "boolean", "description": "Not ready for review yet"}}}"#,
        ),
        tool(
            "github",
            "get_repository",
            "Tell about a repository.",
            nothing,
        ),
        tool(
            "files",
            "read_file",
            "Read the text of a file.",
            r#"{"properties": {"options": {"properties": {"encoding": {"description": "such as utf-8 or latin1"}}}}}"#,
        ),
        tool("files", "write_file", "Write text into a file.", nothing),
        tool(
            "mail",
            "send",
            "Send a letter. A file may be attached.",
            nothing,
        ),
        tool("mail", "search", "Look for letters.", nothing),
        tool("chat", "search", "Look for messages.", nothing),
    ])
}

fn names(server: Option<&str>, query: &str, limit: usize) -> Vec<String> {
    let index = SearchIndex::new(catalog().tools());
    let hits = index.search_in_server(server, query, limit);
    hits.iter().map(|hit| hit.tool.qualified_name()).collect()
}

#[track_caller]
fn check(query: &str, expected: &[&str]) {
    assert_eq!(names(None, query, 3), expected, "{query}");
}

#[test]
fn the_best_comes_first() {
    check("find an issue", &["github.search_issues"]);
    check(
        "pull requests",
        &["github.createPullRequest", "github.search_issues"],
    );
    check(
        "write files",
        &["files.write_file", "files.read_file", "mail.send"],
    );
    // Parameters, their descriptions, their values, those of inner ones.
    check("drafts for review", &["github.createPullRequest"]);
    check("closed", &["github.search_issues"]);
    check("latin1 encoding", &["files.read_file"]);
    // The beginning of a word.
    check("repo", &["github.get_repository"]);
    check("nothing of the kind here", &[]);
}

#[test]
fn exact_names_come_first() {
    check("send", &["mail.send"]);
    check(
        "mail.search",
        &["mail.search", "chat.search", "github.search_issues"],
    );
    check(
        "chat__search",
        &["chat.search", "mail.search", "github.search_issues"],
    );
    check(
        " search ",
        &["mail.search", "chat.search", "github.search_issues"],
    );
    check(
        "create pull request",
        &["github.createPullRequest", "github.search_issues"],
    );
    let index = SearchIndex::new(catalog().tools());
    let named: Vec<bool> = index
        .search("search", 3)
        .iter()
        .map(|hit| hit.is_named)
        .collect();
    assert_eq!(named, [true, true, false]);
}

#[test]
fn limits_and_servers() {
    assert_eq!(names(Some("mail"), "search", 9), ["mail.search"]);
    assert_eq!(names(Some("mail"), "", 9), ["mail.send", "mail.search"]);
    assert_eq!(names(Some("mails"), "search", 9), [""; 0]);
    assert_eq!(names(None, "search", 0), [""; 0]);
    assert_eq!(
        names(None, "", 2),
        ["github.search_issues", "github.createPullRequest"]
    );
    assert!(SearchIndex::new([]).search("x", 3).is_empty());
}

#[test]
fn equal_scores_keep_catalog_order() {
    let tools: Vec<Arc<Tool>> = (0..300)
        .map(|index| Arc::new(tool("s", &format!("t{index}"), "Count the sheep.", "{}")))
        .collect();
    for _ in 0..3 {
        let hits = SearchIndex::new(&tools).search("sheep", 300);
        let found = hits.iter().map(|hit| &hit.tool);
        assert!(
            found
                .map(|tool| &tool.name)
                .eq(tools.iter().map(|tool| &tool.name))
        );
    }
}

proptest! {
    #[test]
    fn any_query_is_accepted(query in ".{0,60}", limit in 0_usize..12) {
        let found = names(None, &query, limit);
        prop_assert!(found.len() <= limit);
        prop_assert_eq!(found, names(None, &query, limit));
    }
}
