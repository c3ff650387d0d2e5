//! Checks of the links in the built book.

use std::collections::{HashMap, HashSet};

use super::html::Page;
use crate::project::resolve;

/// The page for paths that do not exist. Its links are relative to the root of the server.
const NOT_FOUND: &str = "404.html";

/// Follows the links within the book, and checks the form of all others.
pub(super) fn check(pages: &[Page]) -> Vec<String> {
    let anchors: HashMap<&str, HashSet<String>> = pages
        .iter()
        .map(|page| (page.name.as_str(), page.anchors()))
        .collect();
    let mut findings = Vec::new();
    let mut count = 0;
    for page in pages.iter().filter(|page| page.name != NOT_FOUND) {
        for target in page.targets() {
            count += 1;
            if let Some(error) = error(&anchors, &page.name, &target) {
                findings.push(format!("{}: the link to `{target}` {error}", page.name));
            }
        }
    }
    findings.dedup();
    if count == 0 {
        findings.push("the book has no links".to_owned());
    }
    findings
}

/// Returns the problem of a link, if any.
fn error(
    anchors: &HashMap<&str, HashSet<String>>,
    from: &str,
    target: &str,
) -> Option<&'static str> {
    if target.contains("://") {
        let is_sound = target.starts_with("https://") && !target.contains([' ', '<', '>', '"']);
        return (!is_sound).then_some("is not an address");
    }
    if target.starts_with('/') {
        return Some("leaves the book");
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => from.to_owned(),
        path => resolve(from, path),
    };
    let Some(there) = anchors.get(path.as_str()) else {
        return Some("leads nowhere");
    };
    let is_there = anchor.is_empty() || there.contains(anchor);
    (!is_there).then_some("leads to no place of that page")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_page(text: &str, expected: &[&str]) {
        let page = |name: &str, text: &str| Page {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        let pages = [
            page("index.html", "<h2 id=\"why-this\">Why</h2>"),
            page("demo.svg", ""),
            page("guide/first.html", text),
        ];
        assert_eq!(check(&pages), expected, "{text}");
    }

    #[test]
    fn links_are_followed() {
        check_page(
            "<a href=\"../index.html#why-this\"></a><img src=\"../demo.svg\"><a href=\"#a&amp;b\" id=\"a&b\">",
            &[],
        );
        check_page("<a href=\"https://example.com/a?b=c\">", &[]);
        check_page("no links", &["the book has no links"]);
        for (target, error) in [
            ("gone.html", "leads nowhere"),
            ("../guide/first.md", "leads nowhere"),
            ("../index.html#gone", "leads to no place of that page"),
            ("#gone", "leads to no place of that page"),
            ("/index.html", "leaves the book"),
            ("http://example.com", "is not an address"),
            ("https://example.com/a b", "is not an address"),
        ] {
            let expected = format!("guide/first.html: the link to `{target}` {error}");
            check_page(&format!("<a href=\"{target}\">"), &[&expected]);
        }
    }
}
