//! The words of texts and queries.

use indexmap::IndexSet;
use rust_stemmers::{Algorithm, Stemmer};

/// Maximum number of words of a text that count. Descriptions come from servers and have unbounded length.
const MAX_WORDS: usize = 2000;

/// Words without meaning for a search.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "if", "in", "is", "it", "of",
    "on", "or", "that", "the", "this", "to", "with",
];

/// Splits `text` into words, in order. English words are stemmed, so that `issues` finds `issue`; other languages are not.
pub(super) fn tokenize(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    subwords(text)
        .map(str::to_lowercase)
        .filter(|word| !STOP_WORDS.contains(&word.as_str()))
        .map(|word| stemmer.stem(&word).into_owned())
        .take(MAX_WORDS)
        .collect()
}

/// Words of a query that carry no information about the tool. Some of them have a meaning in descriptions, so the index contains
/// them.
const QUERY_STOP_WORDS: &[&str] = &[
    "about", "also", "am", "because", "been", "being", "but", "can", "could", "did", "do", "does",
    "had", "has", "have", "he", "her", "here", "his", "how", "i", "into", "its", "just", "know",
    "let", "like", "me", "my", "need", "no", "not", "our", "please", "she", "should", "so", "some",
    "such", "than", "their", "them", "then", "there", "these", "they", "those", "too", "us",
    "very", "want", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will",
    "would", "you", "your",
];

/// Splits a query into words, each once. Words without meaning are left out, unless there are no others.
pub(super) fn query_words(query: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    // The words are stemmed, so the fillers must be as well.
    let is_filler = |word: &String| {
        QUERY_STOP_WORDS
            .iter()
            .any(|filler| stemmer.stem(filler) == word.as_str())
    };
    let words: IndexSet<String> = tokenize(query).into_iter().collect();
    let meaningful: Vec<String> = words
        .iter()
        .filter(|word| !is_filler(word))
        .cloned()
        .collect();
    if meaningful.is_empty() {
        return words.into_iter().collect();
    }
    meaningful
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
        // The last capital of `HTTPS` in `HTTPServer` begins the next word, because a small letter follows it.
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
    use super::{query_words, tokenize};

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

    #[test]
    fn queries_have_each_meaningful_word_once() {
        fn check(query: &str, expected: &[&str]) {
            assert_eq!(query_words(query), expected, "{query}");
        }
        check("What is the weather? I need the weather!", &["weather"]);
        check("who am i", &["who", "am", "i"]);
        check("", &[]);
    }
}
