//! Fields of kinds that the native dialect has more than once: choices, names, bounds, durations.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::Name;
use planwright_core::{Code, Diagnostic};

use crate::document::{Fields, Findings, Item, ItemKind, nearest, quote};
use crate::native::duration;
use crate::native::words::{Words, all, value_of};

/// The choice in `name`; the usual one where it is left out or wrong.
pub(super) fn choice<T: Copy + Default>(
    fields: &mut Fields<'_>,
    name: &'static str,
    words: Words<T>,
    findings: &mut Findings,
) -> T {
    let Some(item) = fields.optional(name) else {
        return T::default();
    };
    let Some(word) = item.as_text() else {
        findings.wrong_type(item, name, "text");
        return T::default();
    };
    value_of(words, word).unwrap_or_else(|| {
        wrong_word(item, name, word, &all(words).collect::<Vec<_>>(), findings);
        T::default()
    })
}

/// Reports that `word`, in the field `name`, is none of `known`.
pub(super) fn wrong_word(
    item: &Item,
    name: &str,
    word: &str,
    known: &[&str],
    findings: &mut Findings,
) {
    let message = format!("`{name}` cannot be {}", quote(word));
    let help = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write `{}`", known.join("`, `")),
    };
    let finding = Diagnostic::error(Code::InvalidFieldValue, message);
    findings.push(item.place, finding.help(help));
}

/// The list of texts in `name`, empty where it is left out.
pub(super) fn names(
    fields: &mut Fields<'_>,
    name: &'static str,
    findings: &mut Findings,
) -> Vec<Name> {
    let items = fields.list(name, findings).unwrap_or_default();
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        match item.as_text() {
            Some(text) => names.push(Name {
                text: Arc::clone(text),
                place: item.place,
            }),
            None => findings.wrong_type(item, name, "a list of texts"),
        }
    }
    names
}

/// The whole number from 1 on in `name`.
pub(super) fn bound(
    fields: &mut Fields<'_>,
    name: &'static str,
    findings: &mut Findings,
) -> Option<NonZeroU32> {
    let item = fields.optional(name)?;
    bound_of(item, name, findings)
}

/// The whole number from 1 on that `item` is.
pub(super) fn bound_of(item: &Item, name: &str, findings: &mut Findings) -> Option<NonZeroU32> {
    let ItemKind::Number(number) = &item.kind else {
        findings.wrong_type(item, name, "a whole number");
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
        findings.push(
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
    findings: &mut Findings,
) -> Option<Duration> {
    let item = fields.optional(name)?;
    let (found, written) = match &item.kind {
        ItemKind::Text(text) => (duration::read(text), text.to_string()),
        ItemKind::Number(number) => (
            number.as_f64().and_then(duration::from_milliseconds),
            number.to_string(),
        ),
        _ => {
            findings.wrong_type(item, name, "a duration");
            return None;
        }
    };
    if found.is_none() {
        let message = format!("`{name}` cannot be {}", quote(&written));
        let help = "write a duration such as `\"250ms\"`, `\"30s\"` or `\"2m\"`, or milliseconds";
        let finding = Diagnostic::error(Code::InvalidFieldValue, message);
        findings.push(item.place, finding.help(help));
    }
    found
}
