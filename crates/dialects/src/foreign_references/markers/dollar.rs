//! Markers that begin with a dollar; and JSONPath ([RFC 9535](https://www.rfc-editor.org/rfc/rfc9535)) as expressions of this dialect: names,
//! positions, `[*]`, filters and `.length()`.

use planwright_core::expression::parse_form;

use super::{Marker, ReferenceNames};
use crate::foreign_references::paths::path_length;

impl ReferenceNames<'_> {
    /// The first marker in `text` that is a dollar and a path.
    pub(super) fn dollar_marker(
        &self,
        text: &str,
        is_apart: impl Fn(usize) -> bool,
    ) -> Option<Marker> {
        if let Some(path) = text.strip_prefix("$.")
            && let Some(meaning) = expression(path, |root| self.path(root))
        {
            // A tool may take a JSONPath, but hardly one that begins with the name of a step.
            let root = path.split(['.', '[']).next().unwrap_or_default();
            let is_step = self.is_native
                && (matches!(root, "steps" | "inputs" | "item") || self.steps.contains_key(root));
            let is_certain = path.contains(['*', '?', '(']) || is_step;
            return Some(Marker::new(0..text.len(), meaning, is_certain));
        }
        for (start, _) in text.match_indices('$') {
            if !is_apart(start) {
                continue;
            }
            let rest = &text[start + 1..];
            // `$.x` may be a JSONPath for the tool.
            let is_json_path = rest.starts_with('.');
            let skipped = ["ref:", "."].iter().find(|word| rest.starts_with(**word));
            let inside = start + 1 + skipped.map_or(0, |word| word.len());
            let is_of_path = |c: char| c.is_alphanumeric() || "_-.[]*'\"".contains(c);
            let rest = &text[inside..];
            let length = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
            // `a..b` and the beginning of a filter have no counterpart: only the part before them is a path.
            let path = rest[..length].split("..").next().unwrap_or_default();
            // A full stop or a quote may end a sentence. A word without a path may also be a price or a shell variable.
            let path = path.trim_end_matches(['.', '-', '*', '\'', '"', '[']);
            let path = without_extension(path, &text[..start], &rest[path.len()..]);
            let is_whole = start == 0 && length == rest.len();
            // In other dialects, which cannot escape it, `$2.50` or `$2.x` is text.
            if !self.is_native && path.starts_with(|sign: char| sign.is_ascii_digit()) {
                continue;
            }
            // The name of a step is hardly that of a shell variable as well.
            let is_step = self.is_native
                && path.len() > 1
                && path.starts_with(char::is_lowercase)
                && self.steps.contains_key(path);
            let is_certain = (is_whole || is_step || path.contains(['.', '['])) && !is_json_path;
            if let Some(meaning) = self.path(path) {
                let range = start..inside + path.len();
                if !(self.form.is_own)(&text[range.clone()]) {
                    return Some(Marker::new(range, meaning, is_certain));
                }
            }
        }
        None
    }
}

/// Extensions of files.
const EXTENSIONS: [&str; 18] = [
    "csv", "gif", "htm", "html", "ini", "jpg", "json", "log", "md", "pdf", "png", "svg", "toml",
    "tsv", "txt", "xml", "yaml", "yml",
];

/// `path` without the extension of a file at its end, if it is the end of the path of a file: the text `before` it has a slash, and
/// nothing comes `after` it.
fn without_extension<'p>(path: &'p str, before: &str, after: &str) -> &'p str {
    match path.rsplit_once('.') {
        Some((stem, extension))
            if before.contains('/') && after.is_empty() && EXTENSIONS.contains(&extension) =>
        {
            stem
        }
        Some(_) | None => path,
    }
}

/// Returns the native expression for the JSONPath `path`, without its `$.`; `root` gives the path for its first part, which may
/// name a step or an input. `None` if a part has no counterpart, such as `..`.
fn expression(path: &str, root: impl Fn(&str) -> Option<String>) -> Option<String> {
    let begin = path.find(['[', '(']).unwrap_or(path.len());
    let begin = path[..begin].find("..").unwrap_or(begin);
    // A method is not a field.
    let begin = path[..begin]
        .strip_suffix(".length")
        .map_or(begin, str::len);
    let mut written = root(&path[..begin])?;
    let mut rest = &path[begin..];
    let mut is_list = false;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[?") {
            let end = end_of_filter(after)?;
            written = format!("{written}.filter(x, {})", condition(&after[..end])?);
            is_list = true;
            rest = &after[end + 1..];
        } else if let Some(after) = rest.strip_prefix(".length()") {
            written = format!("size({written})");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("[*]") {
            // The items of a list that a filter has made are the list.
            if !is_list {
                written.push_str("[*]");
            }
            rest = after;
        } else {
            let length = path_length(rest);
            if length == 0 {
                return None;
            }
            let (fields, after) = rest.split_at(length);
            if is_list && fields.starts_with('.') {
                written = format!("{written}.map(x, x{fields})");
            } else {
                written.push_str(fields);
            }
            rest = after;
        }
    }
    parse_form(&written).is_ok().then_some(written)
}

/// The byte of the bracket that ends a filter.
fn end_of_filter(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (Some(_) | None, _) => {}
        }
    }
    None
}

/// The condition of a filter, `(@.a == 'b')`, over an item called `x`; `@` in a text has no counterpart.
fn condition(filter: &str) -> Option<String> {
    let filter = filter.trim();
    let inside = filter
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let inside = inside.unwrap_or(filter).trim();
    let is_quoted = |at: usize| inside[..at].matches(['\'', '"']).count() % 2 == 1;
    if inside.match_indices('@').any(|(at, _)| is_quoted(at)) {
        return None;
    }
    // `@.a` alone tests that the field exists.
    let path = inside.strip_prefix("@.");
    Some(
        match path.filter(|path| path_length(&format!(".{path}")) == path.len() + 1) {
            Some(path) => format!("has(x.{path})"),
            None => inside.replace('@', "x"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_filters() {
        let check = |path: &str, expected: Option<&str>| {
            let found = expression(path, |root| Some(root.to_owned()));
            assert_eq!(found.as_deref(), expected, "{path}");
        };
        check("a.rows[*].id", Some("a.rows[*].id"));
        check("a.rows[0].id", Some("a.rows[0].id"));
        check(
            "a.rows[?(@.kind=='x')].name",
            Some("a.rows.filter(x, x.kind=='x').map(x, x.name)"),
        );
        check(
            "a.rows[?@.n > 1 && @.kind == ']'][*].m.k",
            Some("a.rows.filter(x, x.n > 1 && x.kind == ']').map(x, x.m.k)"),
        );
        check("a.rows[?(@.n)]", Some("a.rows.filter(x, has(x.n))"));
        check("a.rows.length()", Some("size(a.rows)"));
        check("a..id", None);
        check("a.rows[?(@.n == '@')]", None);
        check("a.rows[?(@.n =~ /x/)]", None);
        check("a.rows[?(@.n", None);
        check("a.rows[0:2]", None);
    }
}
