//! Kinds of fields that the native dialect has more than once: choices, names, bounds, durations.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::Name;
use planwright_core::{Code, Diagnostic};

use crate::document::{DiagnosticSink, Fields, Item, ItemKind, nearest, quote};
use crate::native::choices::{Choices, all, value_of};
use crate::native::duration;

/// The choice in `name`; the default if it is absent or invalid.
pub(super) fn choice<T: Copy + Default>(
    fields: &mut Fields<'_>,
    name: &'static str,
    choices: Choices<T>,
    sink: &mut DiagnosticSink,
) -> T {
    let Some(item) = fields.optional(name) else {
        return T::default();
    };
    let Some(word) = item.as_text() else {
        sink.push_wrong_type(item, name, "text");
        return T::default();
    };
    value_of(choices, word).unwrap_or_else(|| {
        wrong_word(item, name, word, &all(choices).collect::<Vec<_>>(), sink);
        T::default()
    })
}

/// Reports that `word`, in the field `name`, is not one of `known`.
pub(super) fn wrong_word(
    item: &Item,
    name: &str,
    word: &str,
    known: &[&str],
    sink: &mut DiagnosticSink,
) {
    let message = format!("`{name}` cannot be {}", quote(word));
    let help = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write `{}`", known.join("`, `")),
    };
    let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
    sink.push(item.place, diagnostic.help(help));
}

/// The list of texts in `name`, empty if absent.
pub(super) fn names(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut DiagnosticSink,
) -> Vec<Name> {
    let items = fields.list(name, sink).unwrap_or_default();
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        match item.as_text() {
            Some(text) => names.push(Name {
                text: Arc::clone(text),
                place: item.place,
            }),
            None => sink.push_wrong_type(item, name, "a list of texts"),
        }
    }
    names
}

/// The whole number from 1 on in `name`.
pub(super) fn bound(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut DiagnosticSink,
) -> Option<NonZeroU32> {
    let item = fields.optional(name)?;
    bound_of(item, name, sink)
}

/// The whole number from 1 on in `item`.
pub(super) fn bound_of(item: &Item, name: &str, sink: &mut DiagnosticSink) -> Option<NonZeroU32> {
    let ItemKind::Number(number) = &item.kind else {
        sink.push_wrong_type(item, name, "a whole number");
        return None;
    };
    let count = number
        .as_u64()
        .and_then(|count| u32::try_from(count).ok())
        .and_then(NonZeroU32::new);
    if count.is_none() {
        let message = format!(
            "`{name}` must be a whole number from 1 to {}, found `{number}`",
            u32::MAX
        );
        sink.push(
            item.place,
            Diagnostic::error(Code::InvalidFieldValue, message),
        );
    }
    count
}

/// The duration in `name`.
pub(super) fn time(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut DiagnosticSink,
) -> Option<Duration> {
    let item = fields.optional(name)?;
    let (found, written) = match &item.kind {
        ItemKind::Text(text) => (duration::read(text), text.to_string()),
        ItemKind::Number(number) => (
            number.as_f64().and_then(duration::from_milliseconds),
            number.to_string(),
        ),
        _ => {
            sink.push_wrong_type(item, name, "a duration");
            return None;
        }
    };
    if found.is_none() {
        let message = format!("`{name}` cannot be {}", quote(&written));
        let help = "write a duration such as `\"250ms\"`, `\"30s\"` or `\"2m\"`, or milliseconds";
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        sink.push(item.place, diagnostic.help(help));
    }
    found
}
