//! Finds tools by words: BM25 over their names, titles, descriptions, and parameters.
//!
//! Design: [Tool search uses the crate `bm25` without its tokenizer](https://github.com/planwright/planwright/blob/main/docs/design/tools.md#tool-search-uses-the-crate-bm25-without-its-tokenizer).

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, TokenEmbedder, TokenEmbedding};
use planwright_core::{Tool, Value};
use rust_stemmers::{Algorithm, Stemmer};

/// The number of words of a text that count. Descriptions come from servers and have unbounded length.
const MAX_WORDS: usize = 2000;

/// Words without meaning for a search.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "if", "in", "is", "it", "of",
    "on", "or", "that", "the", "this", "to", "with",
];

/// The tokenizer of the index. English words are stemmed, so that `issues` finds `issue`; other languages are not.
#[derive(Clone, Copy, Debug)]
struct ToolTokenizer;

impl bm25::Tokenizer for ToolTokenizer {
    fn tokenize(&self, text: &str) -> Vec<String> {
        tokenize(text)
    }
}

/// Splits `text` into words, in order.
fn tokenize(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    subwords(text)
        .map(str::to_lowercase)
        .filter(|word| !STOP_WORDS.contains(&word.as_str()))
        .map(|word| stemmer.stem(&word).into_owned())
        .take(MAX_WORDS)
        .collect()
}

/// Splits into runs of letters and digits; a run in mixed case yields the whole and its parts: `GitHub` yields `GitHub`, `Git`,
/// `Hub`.
fn subwords(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .flat_map(|run| {
            let parts = split_case(run);
            // Both `github` and `hub` must find `GitHub`.
            let whole = (parts.len() > 1 && !run.contains(is_ideographic)).then_some(run);
            whole.into_iter().chain(parts)
        })
        .filter(|piece| !piece.is_empty())
}

/// Splits a run at case changes: `HTTPServer2` yields `HTTP`, `Server2`.
fn split_case(run: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = run.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, window) in letters.windows(2).enumerate() {
        let [(_, before), (at, letter)] = *window else {
            continue;
        };
        let after = letters.get(index + 2).map(|(_, after)| *after);
        let begins = letter.is_uppercase()
            && (!before.is_uppercase() || after.is_some_and(char::is_lowercase));
        if begins || is_ideographic(letter) || is_ideographic(before) {
            parts.push(&run[start..at]);
            start = at;
        }
    }
    parts.push(&run[start..]);
    parts
}

/// Returns true if a letter is a word by itself, because its script has no spaces between words.
fn is_ideographic(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The number of words of a query that count.
const MAX_QUERY_WORDS: usize = 32;

/// The shortest word that is expanded as a prefix.
const MIN_PREFIX_LENGTH: usize = 3;

/// The number of words that a prefix expands to.
const MAX_PREFIX_MATCHES: usize = 8;

/// A searchable index of tools.
///
/// Results have a deterministic order: the best first, and tools of equal score in catalog order.
pub struct SearchIndex {
    entries: Vec<IndexedTool>,
    scorer: Scorer<usize, u64>,
    vocabulary: BTreeSet<String>,
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
        let texts: Vec<String> = tools.iter().map(|tool| indexed_text(tool)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let embedder: Embedder<u64, ToolTokenizer> =
            EmbedderBuilder::with_tokenizer_and_fit_to_corpus(ToolTokenizer, &texts).build();
        let mut scorer = Scorer::new();
        let mut vocabulary = BTreeSet::new();
        for (index, text) in texts.iter().enumerate() {
            scorer.upsert(&index, embed(&embedder, text));
            vocabulary.extend(tokenize(text));
        }
        let entry = |tool: &&Arc<Tool>| IndexedTool {
            names: [tokenize(&tool.name), tokenize(&tool.qualified_name())],
            tool: Arc::clone(tool),
        };
        Self {
            entries: tools.iter().map(entry).collect(),
            scorer,
            vocabulary,
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
        let query_words = tokenize(query);
        let mut scores: Vec<Option<f32>> = vec![None; self.entries.len()];
        for found in self.scorer.matches(&self.embed_query(&query_words)) {
            if let Some(score) = scores.get_mut(found.id) {
                *score = Some(found.score);
            }
        }
        let mut found: Vec<(NameMatch, f32, &IndexedTool)> = self
            .entries
            .iter()
            .zip(scores)
            .filter(|(entry, _)| server.is_none_or(|server| *entry.tool.server == *server))
            .filter_map(|(entry, score)| {
                let name_match = entry.name_match(query, &query_words);
                // The tokenizer may drop all words of an exact name, which then has no score.
                let fits = score.is_some() || name_match > NameMatch::None || query.is_empty();
                fits.then_some((name_match, score.unwrap_or(0.0), entry))
            })
            .collect();
        // The sort is stable and keeps the catalog order of equal tools.
        found.sort_by(
            |(name_match, score, _), (other_name_match, other_score, _)| {
                let by_score = other_score.partial_cmp(score).unwrap_or(Ordering::Equal);
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

    /// Embeds each word of a query once. A word that no tool has expands to the words it is a prefix of, such as `repo` to
    /// `repository`.
    fn embed_query(&self, query_words: &[String]) -> Embedding<u64> {
        let mut known: Vec<&str> = Vec::new();
        for word in query_words.iter().take(MAX_QUERY_WORDS) {
            if self.vocabulary.contains(word) {
                known.push(word);
            } else if word.len() >= MIN_PREFIX_LENGTH {
                let from = self.vocabulary.range(word.clone()..);
                let begin = from.take_while(|longer| longer.starts_with(word.as_str()));
                known.extend(begin.take(MAX_PREFIX_MATCHES).map(String::as_str));
            }
        }
        let mut seen = BTreeSet::new();
        known.retain(|word| seen.insert(*word));
        let token = |word: &str| TokenEmbedding {
            index: u64::embed(word),
            value: 1.0,
        };
        Embedding(known.into_iter().map(token).collect())
    }
}

impl IndexedTool {
    fn name_match(&self, query: &str, query_words: &[String]) -> NameMatch {
        let tool = &self.tool;
        if *query == *tool.name || query == tool.qualified_name() || query == tool.model_name() {
            NameMatch::Exact
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

/// Embeds `text` with each token once, because the scorer reads only the first of equal tokens.
fn embed(embedder: &Embedder<u64, ToolTokenizer>, text: &str) -> Embedding<u64> {
    let mut embedding = embedder.embed(text);
    embedding.0.sort_by_key(|token| token.index);
    embedding.0.dedup_by_key(|token| token.index);
    embedding
}

/// The depth of nested parameters that are indexed.
const MAX_PARAMETER_DEPTH: usize = 4;

/// The number of parameters of a tool that are indexed, including nested ones.
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

    use planwright_core::{Catalog, Schema, Tool, Value};
    use proptest::prelude::*;

    use super::{SearchIndex, tokenize};

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

    #[track_caller]
    fn check_tokens(text: &str, expected: &[&str]) {
        assert_eq!(tokenize(text), expected, "{text}");
    }

    #[test]
    fn texts_are_tokenized() {
        check_tokens("search_issues", &["search", "issu"]);
        check_tokens("Searching for an issue.", &["search", "issu"]);
        check_tokens(
            "createPullRequest",
            &["createpullrequest", "creat", "pull", "request"],
        );
        check_tokens("GitHub", &["github", "git", "hub"]);
        check_tokens(
            "parseHTTPServer2",
            &["parsehttpserver2", "pars", "http", "server2"],
        );
        check_tokens("files.read-text", &["file", "read", "text"]);
        check_tokens("IDs", &["id", "i", "ds"]);
        check_tokens("HTTP", &["http"]);
        check_tokens("Größe ändern", &["größe", "ändern"]);
        check_tokens("検索 tool", &["検", "索", "tool"]);
        check_tokens("the of to", &[]);
        check_tokens("", &[]);
        assert_eq!(tokenize(&"word ".repeat(5000)).len(), 2000);
    }
}
