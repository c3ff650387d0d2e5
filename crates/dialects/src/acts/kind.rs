//! The words of the dialect: kinds of data, types of messages.

use planwright_core::plan::SlotKind;

use crate::document::Item;

/// The kinds that references name.
pub(super) const KINDS: [(&str, SlotKind); 3] = [
    ("input", SlotKind::Inputs),
    ("state", SlotKind::State),
    ("data", SlotKind::Data),
];

/// The types of messages whose data no plan reads: they are kept for whoever asks a model.
const OTHERS: [&str; 9] = [
    "tool",
    "text",
    "system",
    "user",
    "assistant",
    "meta",
    "advisor",
    "error",
    "preset",
];

/// The kind that is written `word`.
pub(super) fn kind_called(word: &str) -> Option<SlotKind> {
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == word)?;
    Some(*kind)
}

/// The word for `kind`, where the dialect has it.
pub(super) fn word_for(kind: SlotKind) -> Option<&'static str> {
    let (word, _) = KINDS.iter().find(|(_, known)| *known == kind)?;
    Some(word)
}

/// The words for all kinds.
pub(super) fn kind_words() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(word, _)| *word)
}

/// The words for all types of messages.
pub(super) fn message_types() -> impl Iterator<Item = &'static str> {
    kind_words().chain(["plan"]).chain(OTHERS)
}

/// Whether messages of the type `word` are only kept.
pub(super) fn is_only_kept(word: &str) -> bool {
    OTHERS.contains(&word)
}

/// Whether `item` is a message of a type that the dialect knows.
pub(super) fn is_message(item: &Item) -> bool {
    item.get("type")
        .and_then(Item::as_text)
        .is_some_and(|word| message_types().any(|known| known == &**word))
}
