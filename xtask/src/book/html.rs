//! What a page of the built book links to, and what can be linked to in it.

use std::collections::HashSet;
use std::path::Path;

/// A file of the built book.
#[derive(Debug)]
pub(super) struct Page {
    /// Its path in the book.
    pub(super) name: String,
    /// What it holds; nothing where it is no page.
    pub(super) text: String,
}

impl Page {
    /// Whether it is a page.
    pub(super) fn is_html(&self) -> bool {
        is_html(Path::new(&self.name))
    }

    /// The targets of its links and pictures.
    pub(super) fn targets(&self) -> impl Iterator<Item = String> {
        attributes(&self.text, "href").chain(attributes(&self.text, "src"))
    }

    /// The names of the places that a link can lead to.
    pub(super) fn anchors(&self) -> HashSet<String> {
        attributes(&self.text, "id").collect()
    }
}

/// Whether a file is a page.
pub(super) fn is_html(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "html")
}

/// The values of an attribute. Code and prose have no quotes of their own in the page: they stand there as `&quot;`.
fn attributes(text: &str, name: &str) -> impl Iterator<Item = String> {
    let opening = format!(" {name}=\"");
    let parts: Vec<&str> = text.split(&opening).skip(1).collect();
    parts
        .into_iter()
        .filter_map(|part| part.split_once('"'))
        .map(|(value, _)| plain(value))
}

/// A value with its entities taken for what they stand for.
fn plain(value: &str) -> String {
    value
        .replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}
