//! The language of docs and comments: plain statements in the terms of the field.

use super::Violation;
use super::rust_text::RustText;
use crate::project::ProjectFile;

/// Unwanted entries, one a line, in lower case: words, which occur nowhere (neither in prose, names, nor text in quotes), and
/// phrases of several words, which prose must not contain. They have a file of their own, so that this one passes its own check.
const UNWANTED: &str = include_str!("language/unwanted.txt");

/// The start of an attribute that keeps a word of a published format.
const FORMAT_ATTRIBUTE: &str = "rename = \"";

/// The extensions of files that are checked in full, names and text in quotes included.
const SPLIT_EXTENSIONS: &[&str] = &["rs", "toml", "py", "mjs", "sh"];

/// Folders with quoted text.
const QUOTED: &[&str] = &["/tests/golden/"];

/// The Markdown files at the root whose prose is checked. The reference and the changelog are checked as well, since not all of
/// their text comes from comments.
const PAGES: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
];

/// The folder of further Markdown files that are checked.
const BOOK: &str = "docs/";

/// Words that begin a description instead of a name: a doc begins with a noun or a verb. One a line.
const OPENERS: &str = include_str!("language/openers.txt");

/// The starts of docs: of an item, of a module, and as an attribute.
const DOC_STARTS: &[&str] = &["///", "//!", "#[doc = \"", "#![doc = \""];

/// Checks the language of one file.
pub(super) fn check(file: &ProjectFile) -> Vec<Violation> {
    if QUOTED.iter().any(|folder| file.path.contains(folder)) {
        return Vec::new();
    }
    let is_page = PAGES.contains(&file.path.as_str()) || file.path.starts_with(BOOK);
    let prose = if file.is_rust() {
        let comments = RustText::new(&file.text).comments;
        prose_tokens(
            comments
                .lines()
                .map(|line| comment_text(line).unwrap_or("\0")),
        )
    } else if file.is_markdown() && is_page {
        prose_tokens(file.text.lines())
    } else {
        Vec::new()
    };
    let mut violations = unwanted_words(file, &prose);
    for (index, (line, _)) in prose.iter().enumerate() {
        for phrase in UNWANTED.lines().filter(|entry| entry.contains(' ')) {
            let words = phrase.split(' ');
            let mut found = prose[index..].iter().map(|(_, word)| word.as_str());
            if words.into_iter().all(|word| found.next() == Some(word)) {
                violations.push(unwanted(file, *line, phrase));
            }
        }
    }
    if file.is_rust() {
        violations.extend(openers(file));
    }
    violations
}

/// Finds the [`UNWANTED`] words. Names in Rust and other languages are split into their words.
fn unwanted_words(file: &ProjectFile, prose: &[(usize, String)]) -> Vec<Violation> {
    let is_unwanted = |word: &str| UNWANTED.lines().any(|entry| entry == word);
    if !SPLIT_EXTENSIONS.contains(&file.extension()) {
        let found = prose.iter().filter(|(_, word)| is_unwanted(word));
        return found
            .map(|(line, word)| unwanted(file, *line, word))
            .collect();
    }
    let mut violations = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if line.contains(FORMAT_ATTRIBUTE) {
            continue;
        }
        let words = name_words(line);
        let found = words.iter().filter(|word| is_unwanted(word));
        violations.extend(found.map(|word| unwanted(file, index + 1, word)));
    }
    violations
}

fn unwanted(file: &ProjectFile, line: usize, phrase: &str) -> Violation {
    format!("{}:{line}: `{phrase}` is unwanted", file.path)
}

/// Splits a line into words in lower case: a capital letter after a small one begins a word, as in `OneName`.
fn name_words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = ' ';
    for letter in line.chars() {
        if letter.is_alphabetic() {
            let continues =
                previous.is_alphabetic() && !(previous.is_lowercase() && letter.is_uppercase());
            match words.last_mut().filter(|_| continues) {
                Some(word) => word.extend(letter.to_lowercase()),
                None => words.push(letter.to_lowercase().collect()),
            }
        }
        previous = letter;
    }
    words
}

/// Finds the docs that begin with one of the [`OPENERS`].
fn openers(file: &ProjectFile) -> Vec<Violation> {
    let docs = doc_starts(&file.text).into_iter();
    let found = docs.filter_map(|(line, doc)| Some((line, opener(doc)?)));
    found
        .map(|(line, word)| {
            let path = &file.path;
            format!("{path}:{line}: a doc begins with a noun or a verb, not with `{word}`")
        })
        .collect()
}

/// Returns the number of docs of all items and modules in Rust files.
pub(super) fn docs(files: &[ProjectFile]) -> usize {
    let files = files.iter().filter(|file| file.is_rust());
    files.map(|file| doc_starts(&file.text).len()).sum()
}

/// Returns the first lines of all docs, with line numbers.
fn doc_starts(text: &str) -> Vec<(usize, &str)> {
    let RustText { code, comments } = RustText::new(text);
    let mut views = code.lines().zip(comments.lines());
    let mut previous = None;
    let mut docs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let (code, comment) = views.next().unwrap_or_default();
        let doc = DOC_STARTS.iter().find_map(|start| {
            let is_quoted =
                !comment.trim_start().starts_with("//") && !code.trim_start().starts_with('#');
            let rest = line.strip_prefix(start)?;
            (!is_quoted && !rest.starts_with('/')).then_some((*start, rest))
        });
        let start = doc.map(|(start, _)| start);
        if let Some((_, doc)) = doc.filter(|_| start != previous) {
            docs.push((index + 1, doc.trim_start()));
        }
        previous = start;
    }
    docs
}

/// Returns the opener that `doc` begins with.
fn opener(doc: &str) -> Option<&'static str> {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    OPENERS
        .lines()
        .find(|word| doc.strip_prefix(word).is_some_and(is_end))
}

/// Returns the text of a line in the view of comments, `None` if it has no comment.
fn comment_text(line: &str) -> Option<&str> {
    let text = line.trim_start();
    (!text.is_empty()).then(|| text.trim_start_matches(['/', '!', '*']).trim_start())
}

/// Returns the words of the lines in lower case, with line numbers. Punctuation, which ends a phrase, is an empty word. Fenced blocks
/// and inline code are left out.
fn prose_tokens<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(usize, String)> {
    let mut tokens = Vec::new();
    let mut in_block = false;
    for (index, line) in lines.enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        // An empty line ends a sentence, and no code block extends beyond its comment.
        if line.trim().is_empty() || line == "\0" {
            in_block &= line != "\0";
            tokens.push((index + 1, String::new()));
        }
        if in_block {
            continue;
        }
        for (part, text) in line.split('`').enumerate() {
            if part % 2 == 1 {
                tokens.push((index + 1, String::new()));
                continue;
            }
            for word in text.split_whitespace() {
                push_words(&mut tokens, index + 1, word);
            }
        }
    }
    tokens
}

fn push_words(tokens: &mut Vec<(usize, String)>, line: usize, text: &str) {
    for (index, word) in text
        .split(|letter: char| !letter.is_alphanumeric())
        .enumerate()
    {
        if index > 0 {
            tokens.push((line, String::new()));
        }
        if !word.is_empty() {
            tokens.push((line, word.to_lowercase()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files and their violations: `=== PATH`, the text, `---`, one violation a line.
    const CASES: &str = include_str!("language/cases.txt");

    #[test]
    fn violations_are_found() {
        let mut cases = 0;
        for case in CASES.split("=== ").skip(1) {
            let (path, case) = case.split_once('\n').expect("a path");
            let (text, expected) = case.split_once("---\n").expect("a line between");
            let file = ProjectFile {
                path: path.to_owned(),
                text: text.to_owned(),
            };
            let expected: Vec<String> = expected
                .lines()
                .filter(|line| !line.is_empty())
                .map(|violation| format!("{path}:{violation}"))
                .collect();
            assert_eq!(check(&file), expected, "violations of {text}");
            cases += 1;
        }
        assert!(cases > 20, "{cases} cases");
    }

    #[test]
    fn docs_are_counted() {
        let file = |path: &str| ProjectFile {
            path: path.to_owned(),
            text: "//! A\n//! B\n\n/// C\n///\n/// D\na\n/// E".to_owned(),
        };
        assert_eq!(docs(&[file("a.rs"), file("a.md")]), 3);
    }
}
