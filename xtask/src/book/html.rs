//! Links and anchors of a page of the built book.

use std::collections::HashSet;
use std::path::Path;

/// A file of the built book.
#[derive(Debug)]
pub(super) struct Page {
    /// The path in the book.
    pub(super) name: String,
    /// The content; empty for other files than pages.
    pub(super) text: String,
}

impl Page {
    /// Returns true for an HTML page.
    pub(super) fn is_html(&self) -> bool {
        is_html(Path::new(&self.name))
    }

    /// Returns the targets of links and images.
    pub(super) fn targets(&self) -> impl Iterator<Item = String> {
        attributes(&self.text, "href").chain(attributes(&self.text, "src"))
    }

    /// Returns the anchors that a link can name.
    pub(super) fn anchors(&self) -> HashSet<String> {
        attributes(&self.text, "id").collect()
    }
}

/// Returns true for the path of an HTML page.
pub(super) fn is_html(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "html")
}

/// Returns the values of an attribute. Quotes in code and prose are not a problem: a page contains them as `&quot;`.
fn attributes(text: &str, name: &str) -> impl Iterator<Item = String> {
    let opening = format!(" {name}=\"");
    let parts: Vec<&str> = text.split(&opening).skip(1).collect();
    parts
        .into_iter()
        .filter_map(|part| part.split_once('"'))
        .map(|(value, _)| plain(value))
}

/// Decodes the entities in a value.
fn plain(value: &str) -> String {
    value
        .replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}
