//! What a server says of a tool, shortened.

use std::borrow::Cow;

use planwright_core::text::without_hidden;

/// Words that end with a full stop and no sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "incl.", "no.",
];

/// The first sentence of `text` on one line, of at most `most` bytes.
pub(super) fn first_sentence(text: &str, most: usize) -> String {
    let text = without_hidden(text.trim_start());
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let mut sentence = String::new();
    // Enough for a sentence that is cut: what is behind need not be looked at.
    for word in paragraph.split_whitespace().take(most) {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.extend(word.chars().filter(|letter| !letter.is_control()));
        let ends = word.ends_with(['.', '!', '?', '。'])
            && !ABBREVIATIONS.contains(&word.to_lowercase().as_str());
        if ends || sentence.len() > most {
            break;
        }
    }
    if sentence.len() > most {
        return cut(&sentence, most);
    }
    sentence.trim_end_matches(['.', '。']).to_owned()
}

/// `text` on one line, each run of white space as one space.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    let seen = without_hidden(text);
    if *seen != *text {
        return Cow::Owned(one_line(&seen).into_owned());
    }
    let is_clean = !text.contains(char::is_control) && !text.contains("  ") && text.trim() == text;
    if is_clean {
        return Cow::Borrowed(text);
    }
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    Cow::Owned(words.join(" "))
}

/// `text` without control characters but line breaks and tabs, and without space at its ends.
pub(super) fn multi_line(text: &str) -> String {
    let is_kept = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    without_hidden(text.trim())
        .chars()
        .filter(is_kept)
        .collect()
}

/// The beginning of `text`, up to the last word that goes into `most` bytes, and an ellipsis.
fn cut(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
    let beginning = &text[..end];
    let whole_words = beginning
        .rsplit_once(' ')
        .map_or(beginning, |(words, _)| words);
    format!("{}…", whole_words.trim_end_matches([',', ';', ':', '-']))
}
