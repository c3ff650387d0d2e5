//! Text in HTML and SVG.

use std::fmt::Write as _;

use planwright_core::text::visible;

/// Escapes `text` for the content and the quoted attributes of HTML and XML. Line breaks stay; other characters that cannot be seen, or
/// that change how others look, become their escapes.
pub(super) fn escaped(text: &str) -> String {
    let mut markup = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            markup.push('\n');
        }
        for character in visible(line).chars() {
            match character {
                '&' => markup.push_str("&amp;"),
                '<' => markup.push_str("&lt;"),
                '>' => markup.push_str("&gt;"),
                '"' => markup.push_str("&quot;"),
                '\'' => markup.push_str("&#39;"),
                other => markup.push(other),
            }
        }
    }
    markup
}

/// Formats a coordinate, with at most one decimal.
pub(super) fn number(value: f64) -> String {
    let mut text = format!("{value:.1}");
    if let Some(whole) = text.strip_suffix(".0") {
        text.truncate(whole.len());
    }
    if text == "-0" { "0".to_owned() } else { text }
}

/// Writes an element with `text` as its content.
pub(super) fn element(name: &str, class: &str, text: &str) -> String {
    let mut markup = String::new();
    // Writing to a `String` cannot fail.
    let _ = write!(
        markup,
        "<{name} class=\"{class}\">{}</{name}>",
        escaped(text)
    );
    markup
}
