//! The language of docs and comments: plain statements in the terms of the field.

use std::fmt;

use super::Violation;
use super::rust_text::RustText;
use super::sources::SourceFile;
use crate::project::ProjectFile;

/// Words and phrases that prose must not contain, in lower case.
const UNWANTED: &[&str] = &[
    "nobody",
    "somebody",
    "whoever",
    "anybody",
    "told",
    "of which",
    "from then on",
];

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

/// Words that begin a description instead of a name: an item doc begins with a noun or a verb.
const OPENERS: &[&str] = &[
    "What", "Where", "Who", "Whom", "Whose", "Which", "When", "How", "Whether", "It", "One",
    "Those", "That",
];

/// The maximum share of item docs that begin with one of the [`OPENERS`], in percent.
const MAX_SHARE: usize = 5;

/// The number of files that a violation of [`MAX_SHARE`] lists.
const LISTED_FILES: usize = 15;

/// Checks the prose of one file for unwanted words.
pub(super) fn check(file: &ProjectFile) -> Vec<Violation> {
    let is_page = PAGES.contains(&file.path.as_str()) || file.path.starts_with(BOOK);
    let tokens = if QUOTED.iter().any(|folder| file.path.contains(folder)) {
        Vec::new()
    } else if file.is_rust() {
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
    let mut violations = Vec::new();
    for (index, (line, _)) in tokens.iter().enumerate() {
        for phrase in UNWANTED {
            let words = phrase.split(' ');
            let mut found = tokens[index..].iter().map(|(_, word)| word.as_str());
            if words.into_iter().all(|word| found.next() == Some(word)) {
                violations.push(format!("{}:{line}: `{phrase}` is unwanted", file.path));
            }
        }
    }
    violations
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

/// The openings of the item docs of all sources.
#[derive(Debug)]
pub(super) struct Openings {
    docs: usize,
    /// The number of docs that begin with an opener, by file, in descending order.
    files: Vec<(usize, String)>,
}

/// Counts the item docs in `sources`, and those that begin with an opener.
pub(super) fn openings(sources: &[SourceFile<'_>]) -> Openings {
    let mut docs = 0;
    let mut files = Vec::new();
    for source in sources {
        let mut count = 0;
        let mut in_doc = false;
        for line in source.text.comments.lines() {
            let text = line.trim_start().strip_prefix("///");
            let text = text.filter(|text| !text.starts_with('/'));
            if let Some(text) = text.filter(|_| !in_doc) {
                docs += 1;
                count += usize::from(begins_with_opener(text.trim_start()));
            }
            in_doc = text.is_some();
        }
        if count > 0 {
            files.push((count, source.path.to_owned()));
        }
    }
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    Openings { docs, files }
}

fn begins_with_opener(doc: &str) -> bool {
    let rest = OPENERS.iter().find_map(|word| {
        doc.strip_prefix(word)
            .filter(|rest| rest.is_empty() || rest.starts_with([' ', '.', ',']))
    });
    rest.is_some()
}

impl Openings {
    fn count(&self) -> usize {
        self.files.iter().map(|(count, _)| count).sum()
    }

    /// Returns a violation with the worst files if the share is too large.
    pub(super) fn violations(&self) -> Vec<Violation> {
        if self.count() * 100 <= self.docs * MAX_SHARE {
            return Vec::new();
        }
        let mut violations = vec![format!("{self}, more than {MAX_SHARE} %")];
        let worst = self.files.iter().take(LISTED_FILES);
        violations.extend(worst.map(|(count, path)| format!("{path}: {count} of these docs")));
        violations
    }
}

impl fmt::Display for Openings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permille = (self.count() * 1000).checked_div(self.docs).unwrap_or(0);
        write!(
            f,
            "{} of {} item docs ({}.{} %) begin with a pronoun or a question word",
            self.count(),
            self.docs,
            permille / 10,
            permille % 10
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_prose(path: &str, text: &str, expected: &[&str]) {
        let file = ProjectFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(check(&file), expected, "violations of {text}");
    }

    #[test]
    fn unwanted_words_are_found_in_comments() {
        let told = |line| format!("a.rs:{line}: `told` is unwanted");
        check_prose("a.rs", "let told = \"nobody\"; // retold", &[]);
        check_prose("a.rs", "//! It is told.", &[&told(1)]);
        check_prose(
            "a.rs",
            "fn a() {} // Told\n/// (told)",
            &[&told(1), &told(2)],
        );
        check_prose("a.rs", "/* a\n * told */", &[&told(2)]);
        check_prose(
            "a.rs",
            "/// [`told`]\n/// ```\n/// // told\n/// ```\n// told",
            &[&told(5)],
        );
        check_prose("crates/a/tests/golden/a.rs", "// told", &[]);
        check_prose("a.rs", "// nobody's", &["a.rs:1: `nobody` is unwanted"]);
    }

    #[test]
    fn unwanted_phrases_are_found_across_lines() {
        let phrase = "a.rs:1: `from then on` is unwanted";
        check_prose("a.rs", "/// b from then\n/// on c", &[phrase]);
        check_prose("a.rs", "// b from then\nfn a() {}\n// on c", &[]);
        check_prose("a.rs", "// b from then, on c", &[]);
        check_prose("a.rs", "/// b from then\n///\n/// on c", &[]);
        check_prose("a.rs", "// Of  which", &["a.rs:1: `of which` is unwanted"]);
    }

    #[test]
    fn unwanted_words_are_found_in_prose() {
        let text = "Told\n\n```\ntold\n```\n\n`told` whoever";
        let found = |path: &str| {
            let places = [(1, "told"), (7, "whoever")];
            places.map(|(line, word)| format!("{path}:{line}: `{word}` is unwanted"))
        };
        for path in [
            "README.md",
            "docs/guide/runs.md",
            "docs/reference/commands.md",
        ] {
            check_prose(path, text, &found(path).each_ref().map(String::as_str));
        }
        check_prose("crates/a/tests/golden/README.md", text, &[]);
        check_prose("notes.md", text, &[]);
        check_prose("docs/demo.svg", text, &[]);
    }

    fn check_openings(text: &str, expected: (usize, usize)) {
        let openings = openings(&[SourceFile {
            path: "a.rs",
            text: RustText::new(text),
        }]);
        assert_eq!((openings.count(), openings.docs), expected, "{text}");
    }

    #[test]
    fn openings_of_item_docs_are_counted() {
        check_openings("//! What\n// What\n//// What\nfn a() {}", (0, 0));
        check_openings("/// What it is.\nfn a() {}", (1, 1));
        check_openings(
            "/// A value.\n/// What\nfn a() {}\n    /// Which.\nb",
            (1, 2),
        );
        check_openings("/// Iterates.\n#[a]\n/// Whatever\nfn a() {}", (0, 2));
        check_openings("let a = \"\n/// What\n\";", (0, 0));
        check_openings("/// That, too.\na\n/// Ones\nb\n/// When\nc", (2, 3));
    }

    #[test]
    fn the_share_of_openers_is_limited() {
        let doc = |opener: bool| {
            if opener {
                "/// It is.\na\n"
            } else {
                "/// A.\na\n"
            }
        };
        for (openers, expected) in [(1, 0), (2, 2)] {
            let text: String = (0..20).map(|number| doc(number < openers)).collect();
            let openings = openings(&[SourceFile {
                path: "a.rs",
                text: RustText::new(&text),
            }]);
            let violations = openings.violations();
            assert_eq!(violations.len(), expected, "{violations:?}");
            if let [summary, file] = &violations[..] {
                assert!(
                    summary.starts_with("2 of 20 item docs (10.0 %)"),
                    "{summary}"
                );
                assert_eq!(file, "a.rs: 2 of these docs");
            }
        }
    }
}
