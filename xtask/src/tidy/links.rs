//! Links between the project's Markdown files.

use std::collections::HashSet;

use super::Violation;
use crate::project::{ProjectFile, resolve};

/// The published location of the project's files, which the book links to for files outside of `docs`.
const PUBLISHED: &str = "https://github.com/planwright/planwright/blob/main/";

/// Checks all links within the project.
pub(super) fn check(files: &[ProjectFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| file.is_markdown()) {
        for (line, target) in links(&file.text) {
            if !leads_somewhere(files, file, &target) {
                violations.push(format!(
                    "{}:{line}: the link to `{target}` leads nowhere",
                    file.path
                ));
            }
        }
    }
    violations
}

/// Returns the targets of all links, with line numbers.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (line, words) in prose(text) {
        for (at, _) in words.match_indices("](") {
            let target = &words[at + 2..];
            if let Some(end) = target.find([')', ' ']) {
                links.push((line, target[..end].to_owned()));
            }
        }
    }
    links
}

/// Returns the lines outside of code blocks, with line numbers and without inline code.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let words: Vec<&str> = line.split('`').step_by(2).collect();
            lines.push((index + 1, words.join("``")));
        }
    }
    lines
}

fn leads_somewhere(files: &[ProjectFile], from: &ProjectFile, target: &str) -> bool {
    let published = target.strip_prefix(PUBLISHED);
    if published.is_none() && (target.contains("://") || target.starts_with("mailto:")) {
        return true;
    }
    let target = published.unwrap_or(target);
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        path if published.is_some() => path.to_owned(),
        "" => from.path.clone(),
        path => resolve(&from.path, path),
    };
    let folder = match path.as_str() {
        "" => String::new(),
        path => format!("{path}/"),
    };
    match files.iter().find(|file| file.path == path) {
        Some(file) => anchor.is_empty() || anchors(&file.text).contains(anchor),
        None => anchor.is_empty() && files.iter().any(|file| file.path.starts_with(&folder)),
    }
}

/// Returns the anchors of all headings.
fn anchors(text: &str) -> HashSet<String> {
    let mut in_code = false;
    let mut anchors = HashSet::new();
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if !in_code && line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let anchor = heading
                .chars()
                .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
                .map(|letter| if letter == ' ' { '-' } else { letter });
            anchors.insert(anchor.collect());
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_page(text: &str, expected: &[&str]) {
        let file = |path: &str, text: &str| ProjectFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("README.md", "# Read me\n\n## Why `this`?\n"),
            file("docs/page.md", text),
        ];
        assert_eq!(check(&files), expected, "violations of {text}");
    }

    #[test]
    fn links_are_followed() {
        check_page("[a](../README.md) [b](#c)\n# C\n", &[]);
        check_page("[a](../README.md#why-this) [b](..) [c](./page.md)", &[]);
        check_page("[a](../docs) [b](https://example.com/x)", &[]);
        check_page("`[a](b)`\n```\n[a](b)\n```\n", &[]);
        let published = |path: &str| format!("[a]({PUBLISHED}{path})");
        check_page(&published("README.md#why-this"), &[]);
        let gone = format!("docs/page.md:1: the link to `{PUBLISHED}gone.md` leads nowhere");
        check_page(&published("gone.md"), &[&gone]);
        check_page(
            "x\n[a](gone.md)",
            &["docs/page.md:2: the link to `gone.md` leads nowhere"],
        );
        check_page(
            "[a](../README.md#gone \"title\")",
            &["docs/page.md:1: the link to `../README.md#gone` leads nowhere"],
        );
    }
}
