//! The index of tools: BM25 over their names, titles, descriptions, and parameters.
//!
//! Design: [Tool search is BM25 over words that may be misspelt](https://github.com/planwright/planwright/blob/main/docs/design/tools.md#tool-search-is-bm25-over-words-that-may-be-misspelt).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use planwright_core::{Tool, Value};

use super::expansion::expand;
use super::words::{query_words, tokenize};

/// The saturation of BM25: repetitions of a word count more, the larger it is.
const SATURATION: f32 = 2.0;

/// The influence of the length of a text in BM25, from none (0) to proportional (1).
const LENGTH_INFLUENCE: f32 = 0.75;

/// A searchable index of tools.
///
/// Results have a deterministic order: the best first, and tools of equal score in catalog order.
pub struct SearchIndex {
    entries: Vec<IndexedTool>,
    /// The tools with each word, as their positions in `entries` with the score of the word in that tool.
    postings: BTreeMap<String, Vec<(usize, f32)>>,
}

/// A tool, and the words of its bare and its qualified name.
struct IndexedTool {
    tool: Arc<Tool>,
    names: [Vec<String>; 2],
}

/// A tool found by a search.
#[derive(Clone, Debug)]
pub struct ToolHit {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The BM25 score; comparable only within one search.
    pub score: f32,
    /// True if the query is the tool's exact name.
    pub is_named: bool,
}

/// The match between a tool's name and a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NameMatch {
    /// Different names.
    None,
    /// The same words.
    SameWords,
    /// The exact name.
    Exact,
}

impl SearchIndex {
    /// Indexes `tools`.
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a Arc<Tool>>) -> Self {
        let tools: Vec<&Arc<Tool>> = tools.into_iter().collect();
        let entry = |tool: &&Arc<Tool>| IndexedTool {
            names: [tokenize(&tool.name), tokenize(&tool.qualified_name())],
            tool: Arc::clone(tool),
        };
        Self {
            entries: tools.iter().map(entry).collect(),
            postings: postings(tools.iter().map(|tool| indexed_text(tool))),
        }
    }

    /// Finds the best `limit` tools for `query`. A tool of that name comes first; an empty query returns all tools, in catalog
    /// order.
    pub fn search(&self, query: &str, limit: usize) -> Vec<ToolHit> {
        self.search_in_server(None, query, limit)
    }

    /// Searches like [`search`](Self::search), restricted to the tools of `server` if given.
    pub fn search_in_server(
        &self,
        server: Option<&str>,
        query: &str,
        limit: usize,
    ) -> Vec<ToolHit> {
        let query = query.trim();
        // A name is compared with all words, also those that say nothing in a question.
        let name_words = tokenize(query);
        let scores = self.scores(&query_words(query));
        let mut found: Vec<(NameMatch, f32, &IndexedTool)> = self
            .entries
            .iter()
            .zip(scores)
            .filter(|(entry, _)| server.is_none_or(|server| *entry.tool.server == *server))
            .filter_map(|(entry, score)| {
                let name_match = entry.name_match(query, &name_words);
                // The tokenizer may drop all words of an exact name, which then has no score.
                let fits = score.is_some() || name_match > NameMatch::None || query.is_empty();
                fits.then_some((name_match, score.unwrap_or(0.0), entry))
            })
            .collect();
        // The sort is stable and keeps the catalog order of equal tools.
        found.sort_by(
            |(name_match, score, _), (other_name_match, other_score, _)| {
                let by_score = other_score.total_cmp(score);
                other_name_match.cmp(name_match).then(by_score)
            },
        );
        let hits = found.into_iter().take(limit);
        hits.map(|(name_match, score, entry)| ToolHit {
            tool: Arc::clone(&entry.tool),
            score,
            is_named: name_match == NameMatch::Exact,
        })
        .collect()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no tools.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the score of each tool that has any of the words.
    fn scores(&self, words: &[String]) -> Vec<Option<f32>> {
        let mut scores: Vec<Option<f32>> = vec![None; self.entries.len()];
        for (word, weight) in expand(words, &self.postings) {
            for (index, score) in self.postings.get(word).into_iter().flatten() {
                if let Some(sum) = scores.get_mut(*index) {
                    *sum = Some(sum.unwrap_or_default() + weight * score);
                }
            }
        }
        scores
    }
}

/// Computes the score of each word in each text by BM25.
fn postings(texts: impl Iterator<Item = String>) -> BTreeMap<String, Vec<(usize, f32)>> {
    let mut postings: BTreeMap<String, Vec<(usize, f32)>> = BTreeMap::new();
    let mut lengths: Vec<f32> = Vec::new();
    for (index, text) in texts.enumerate() {
        let mut length = 0.0;
        for word in tokenize(&text) {
            length += 1.0;
            let found = postings.entry(word).or_default();
            match found.last_mut() {
                Some((last, count)) if *last == index => *count += 1.0,
                _ => found.push((index, 1.0)),
            }
        }
        lengths.push(length);
    }
    let count = as_float(lengths.len());
    // Without any words the average would be zero, and the scores no numbers.
    let average = (lengths.iter().sum::<f32>() / count).max(1.0);
    for found in postings.values_mut() {
        let having = as_float(found.len());
        // A rare word says more.
        let rarity = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
        for (index, score) in found {
            let length = lengths.get(*index).copied().unwrap_or_default() / average;
            let damping = SATURATION * (1.0 - LENGTH_INFLUENCE + LENGTH_INFLUENCE * length);
            *score = rarity * *score * (SATURATION + 1.0) / (*score + damping);
        }
    }
    postings
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no catalog has more than 2 to the power of 24 tools"
)]
fn as_float(count: usize) -> f32 {
    count as f32
}

impl IndexedTool {
    fn name_match(&self, query: &str, query_words: &[String]) -> NameMatch {
        let tool = &self.tool;
        if *query == *tool.name || tool.qualified_name() == *query || query == tool.model_name() {
            NameMatch::Exact
        // `list orders` means `list_orders`, whatever else mentions orders.
        } else if !query_words.is_empty() && self.names.iter().any(|name| name == query_words) {
            NameMatch::SameWords
        } else {
            NameMatch::None
        }
    }
}

impl fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchIndex")
            .field("tools", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// Maximum depth of nested parameters that are indexed.
const MAX_PARAMETER_DEPTH: usize = 4;

/// Maximum number of parameters of a tool that are indexed, including nested ones.
const MAX_PARAMETERS: usize = 200;

/// Returns the text to index for a tool. Repetition is weight: the name weighs more than the description.
fn indexed_text(tool: &Tool) -> String {
    let mut text = String::new();
    let mut add = |part: &str, times: usize| {
        for _ in 0..times {
            text.push_str(part);
            text.push('\n');
        }
    };
    // BM25 counts occurrences, so that a repeated text weighs more.
    add(&tool.name, 4);
    add(&tool.server, 1);
    add(tool.title.as_deref().unwrap_or_default(), 2);
    add(tool.description.as_deref().unwrap_or_default(), 1);
    let mut left = MAX_PARAMETERS;
    add_parameters(
        tool.input.as_value(),
        MAX_PARAMETER_DEPTH,
        &mut left,
        &mut |part| {
            add(part, 1);
        },
    );
    text
}

/// Adds the names, titles, descriptions, and enum values of the properties of `schema`. References are not followed.
fn add_parameters(schema: &Value, depth: usize, left: &mut usize, add: &mut impl FnMut(&str)) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    for (name, property) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        // The schema comes from a server, and may have any number of properties.
        if *left == 0 {
            return;
        }
        *left -= 1;
        add(name);
        for word in ["title", "description"] {
            add(property
                .get(word)
                .and_then(Value::as_text)
                .unwrap_or_default());
        }
        for choice in property
            .get("enum")
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            // Long enumerations, such as time zones, would drown the rest of the text.
            .take(20)
        {
            add(choice.as_text().unwrap_or_default());
        }
        add_parameters(property, deeper, left, add);
        if let Some(items) = property.get("items") {
            add_parameters(items, deeper, left, add);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use planwright_core::{Catalog, Schema, Tool, ToolName, Value};
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

    fn names(server: Option<&str>, query: &str, limit: usize) -> Vec<ToolName> {
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
    fn misspelt_words_and_synonyms_are_found() {
        check("find an isue", &["github.search_issues"]);
        check(
            "pull reqeust",
            &["github.createPullRequest", "github.search_issues"],
        );
        check("repositroy", &["github.get_repository"]);
        // No tool has `email` or `locate`.
        check("email", &["mail.send", "chat.search", "mail.search"]);
        // A known word is not replaced by similar ones.
        check("drafts", &["github.createPullRequest"]);
    }

    /// The words that matter may come last.
    #[test]
    fn long_queries_are_read_to_their_end() {
        let query = format!(
            "{} the repository",
            "several other things before ".repeat(30)
        );
        check(&query, &["github.get_repository"]);
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
}
