//! The words of a text: in lower case, without endings, names taken apart.

use rust_stemmers::{Algorithm, Stemmer};

/// The most words that count of one text. Descriptions come from servers, and nobody bounds them.
const MOST: usize = 2000;

/// Words that stand in any text.
const EVERYWHERE: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "if", "in", "is", "it", "of",
    "on", "or", "that", "the", "this", "to", "with",
];

/// Takes texts apart. English endings are dropped, so that `issues` finds `issue`; other languages keep theirs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words;

impl bm25::Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        words(text)
    }
}

/// The words of `text`, in their order.
pub(super) fn words(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    pieces(text)
        .map(str::to_lowercase)
        .filter(|word| !EVERYWHERE.contains(&word.as_str()))
        .map(|word| stemmer.stem(&word).into_owned())
        .take(MOST)
        .collect()
}

/// Runs of letters and digits; of a run in mixed case, the whole and its parts: `GitHub` is `GitHub`, `Git`, `Hub`.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .flat_map(|run| {
            let parts = parts(run);
            let whole = (parts.len() > 1 && !run.contains(stands_alone)).then_some(run);
            whole.into_iter().chain(parts)
        })
        .filter(|piece| !piece.is_empty())
}

/// `HTTPServer2` is `HTTP`, `Server2`.
fn parts(run: &str) -> Vec<&str> {
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
        if begins || stands_alone(letter) || stands_alone(before) {
            parts.push(&run[start..at]);
            start = at;
        }
    }
    parts.push(&run[start..]);
    parts
}

/// Whether a letter is a word by itself: such scripts put no spaces between words.
fn stands_alone(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::words;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected, "{text}");
    }

    #[test]
    fn texts_are_taken_apart() {
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
        assert_eq!(words(&"word ".repeat(5000)).len(), 2000);
    }
}
