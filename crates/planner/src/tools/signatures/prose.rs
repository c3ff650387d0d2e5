//! Shortens and cleans the texts that servers give for tools.

use std::borrow::Cow;

use planwright_core::text::without_hidden;

/// Abbreviations whose full stop does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "incl.", "no.",
];

/// Returns the first sentence of `text` on one line, in at most `max_bytes` bytes.
pub(super) fn first_sentence(text: &str, max_bytes: usize) -> String {
    let text = without_hidden(text.trim_start());
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let mut sentence = String::new();
    // A cut sentence needs no more words than bytes.
    for word in paragraph.split_whitespace().take(max_bytes) {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.extend(word.chars().filter(|letter| !letter.is_control()));
        let ends = word.ends_with(['.', '!', '?', '。'])
            && !ABBREVIATIONS.contains(&word.to_lowercase().as_str());
        if ends || sentence.len() > max_bytes {
            break;
        }
    }
    if sentence.len() > max_bytes {
        return cut(&sentence, max_bytes);
    }
    sentence.trim_end_matches(['.', '。']).to_owned()
}

/// Returns `text` on one line, with runs of white space collapsed.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    let visible = without_hidden(text);
    if *visible != *text {
        return Cow::Owned(one_line(&visible).into_owned());
    }
    let is_clean = !text.contains(char::is_control) && !text.contains("  ") && text.trim() == text;
    if is_clean {
        return Cow::Borrowed(text);
    }
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    Cow::Owned(words.join(" "))
}

/// Returns `text` trimmed, without control characters except line breaks and tabs.
pub(super) fn multi_line(text: &str) -> String {
    let is_kept = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    without_hidden(text.trim())
        .chars()
        .filter(is_kept)
        .collect()
}

/// Returns the whole words at the start of `text` that fit into `max_bytes` bytes, and an ellipsis.
fn cut(text: &str, max_bytes: usize) -> String {
    let end = text.floor_char_boundary(max_bytes.saturating_sub('…'.len_utf8()));
    let beginning = &text[..end];
    let whole_words = beginning
        .rsplit_once(' ')
        .map_or(beginning, |(words, _)| words);
    format!("{}…", whole_words.trim_end_matches([',', ';', ':', '-']))
}
