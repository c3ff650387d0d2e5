//! The words for choices, shared by reader, printer and schema.

use planwright_core::plan::{Method, Mode, OnFailure, Ordering, Sharing, SlotKind};

/// The words for the values of a field, the default first.
pub(super) type Choices<T> = &'static [(&'static str, T)];

pub(super) const ORDERINGS: Choices<Ordering> = &[
    ("dataflow", Ordering::Dataflow),
    ("listed", Ordering::Listed),
];

pub(super) const ON_FAILURES: Choices<OnFailure> = &[
    ("keep_going", OnFailure::KeepGoing),
    ("stop", OnFailure::Stop),
];

pub(super) const SHARINGS: Choices<Sharing> =
    &[("open", Sharing::Open), ("marked", Sharing::MarkedOnly)];

pub(super) const MODES: Choices<Mode> = &[("run", Mode::Run), ("show", Mode::Show)];

pub(super) const METHODS: Choices<Method> = &[
    ("set", Method::Set),
    ("merge", Method::Merge),
    ("assign", Method::Assign),
    ("push", Method::Push),
    ("concat", Method::Concat),
];

pub(super) const KINDS: Choices<SlotKind> = &[
    ("inputs", SlotKind::Inputs),
    ("vars", SlotKind::Vars),
    ("state", SlotKind::State),
    ("data", SlotKind::Data),
];

/// Words with a meaning in references: a step with such an id is reached by `steps["…"]` only.
pub(super) const REFERENCE_ROOTS: &[&str] = &[
    "inputs", "vars", "slots", "steps", "results", "item", "index", "last", "env", "secrets",
    "true", "false", "null", "in",
];

/// The value with the name `word`.
pub(super) fn value_of<T: Copy>(choices: Choices<T>, word: &str) -> Option<T> {
    choices
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, value)| *value)
}

/// The word for `value`, or `None` if it is the default.
pub(super) fn word_for<T: Copy + PartialEq>(choices: Choices<T>, value: T) -> Option<&'static str> {
    choices
        .iter()
        .skip(1)
        .find(|(_, known)| *known == value)
        .map(|(word, _)| *word)
}

/// All words of a field.
pub(super) fn all<T>(choices: Choices<T>) -> impl Iterator<Item = &'static str> {
    choices.iter().map(|(word, _)| *word)
}
