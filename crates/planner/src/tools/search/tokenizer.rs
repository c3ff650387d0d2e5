//! Splits texts into words: lower case, stemmed, identifiers split into their parts.

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
pub(super) struct ToolTokenizer;

impl bm25::Tokenizer for ToolTokenizer {
    fn tokenize(&self, text: &str) -> Vec<String> {
        tokenize(text)
    }
}

/// Splits `text` into words, in order.
pub(super) fn tokenize(text: &str) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::tokenize;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(tokenize(text), expected, "{text}");
    }

    #[test]
    fn texts_are_tokenized() {
        check("search_issues", &["search", "issu"]);
        check("Searching for an issue.", &["search", "issu"]);
        check(
            "createPullRequest",
            &["createpullrequest", "creat", "pull", "request"],
        );
        check("GitHub", &["github", "git", "hub"]);
        check(
            "parseHTTPServer2",
            &["parsehttpserver2", "pars", "http", "server2"],
        );
        check("files.read-text", &["file", "read", "text"]);
        check("IDs", &["id", "i", "ds"]);
        check("HTTP", &["http"]);
        check("Größe ändern", &["größe", "ändern"]);
        check("検索 tool", &["検", "索", "tool"]);
        check("the of to", &[]);
        check("", &[]);
        assert_eq!(tokenize(&"word ".repeat(5000)).len(), 2000);
    }
}
