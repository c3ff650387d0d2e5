//! Texts with values of earlier answers or inputs inside.

use planwright_core::plan::{Node, NodeKind, Reference, TextPart};
use planwright_core::{Place, Value};

use super::Generalizer;
use super::arguments::{ArgumentPlace, is_distinctive};
use super::known::is_identifier;

/// Minimum number of characters of a value inside of a text.
const MIN_CHARS: usize = 4;

/// Maximum number of different values inside of a text.
const MAX_INSERTIONS: usize = 12;

/// Maximum number of splits of a text. Texts with more are not templates.
const MAX_SPLITS: usize = 1000;

/// A value that may be inside of texts, with its text in each of them.
pub(super) struct Insertion {
    pub(super) reference: Reference,
    pub(super) texts: Vec<String>,
}

impl Generalizer<'_> {
    /// Returns the node of a text that consists of constant parts and known values; `None` if there is none inside, or if the parts
    /// between them differ.
    pub(super) fn template(&mut self, at: &ArgumentPlace<'_>, texts: &[&str]) -> Option<Node> {
        let first = *texts.first()?;
        let mut insertions: Vec<Insertion> = Vec::new();
        for origin in &self.origins {
            let values: Option<Vec<String>> = at
                .view
                .present
                .iter()
                .map(|trace| Some(origin.values.get(*trace)?.as_ref()?.to_inserted_text()))
                .collect();
            let is_clear = |values: &Vec<String>| {
                origin.step.is_none()
                    || texts.len() > 1
                    || values.iter().all(|text| is_identifier(text))
            };
            if let Some(values) = values.filter(is_clear) {
                insertions.push(Insertion {
                    reference: origin.reference.clone(),
                    texts: values,
                });
            }
        }
        let mut inside = Vec::new();
        self.known.each_text(at.view, &mut |text| {
            if text.chars().count() >= MIN_CHARS && text.len() < first.len() && first.contains(text)
            {
                inside.push(text.to_owned());
            }
        });
        // The index of answers has no order.
        inside.sort();
        for text in inside {
            // In a single trace, a common word of two texts says nothing.
            if texts.len() > 1 || is_identifier(&text) {
                insertions.extend(self.insertion(at, &text, texts));
            }
        }
        node(texts, insertions, MIN_CHARS)
    }

    /// Returns the insertion of the earlier answer that has `text` in the first trace, if one place of it fits all traces.
    fn insertion(&self, at: &ArgumentPlace<'_>, text: &str, texts: &[&str]) -> Option<Insertion> {
        let value = Value::from(text);
        if !is_distinctive(&value) {
            return None;
        }
        // The place is found by the first trace alone, then read in the others.
        let alone = super::PresentCalls {
            present: at.view.present.get(..1)?.to_vec(),
            rounds: at.view.rounds.get(..1)?.to_vec(),
        };
        let places = self.known.places(&[&value], &alone).stable;
        let mut fitting = places.iter().filter_map(|place| {
            let values: Option<Vec<Value>> = at
                .view
                .present
                .iter()
                .map(|trace| {
                    let answer = self.known.answer(place.step, *trace)?;
                    planwright_core::path::read_path(
                        answer,
                        &place.path,
                        planwright_core::plan::Missing::Fail,
                    )
                    .ok()
                })
                .collect();
            let values = values?;
            let all: Vec<&Value> = values.iter().collect();
            let found = self.known.places(&all, at.view).stable;
            let is_inside = values.iter().zip(texts).all(|(value, text)| {
                value
                    .as_text()
                    .is_some_and(|value| !value.is_empty() && text.contains(value))
            });
            (is_inside && found.len() == 1).then_some(())?;
            let reference = self.place_reference(found.first()?)?;
            Some(Insertion {
                reference,
                texts: values.iter().map(Value::to_inserted_text).collect(),
            })
        });
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }
}

/// Returns the node of texts with insertions of at least `min_chars` characters, the longest ones first.
pub(super) fn node(
    texts: &[&str],
    mut insertions: Vec<Insertion>,
    min_chars: usize,
) -> Option<Node> {
    insertions.retain(|insertion| {
        let mut pairs = insertion.texts.iter().zip(texts);
        pairs.all(|(inside, text)| inside.chars().count() >= min_chars && text.contains(&**inside))
    });
    let length = |insertion: &Insertion| insertion.texts.first().map_or(0, String::len);
    insertions.sort_by_key(|insertion| std::cmp::Reverse(length(insertion)));
    // Splitting tries each order of them.
    insertions.truncate(MAX_INSERTIONS);
    let parts = split(texts, &insertions, &mut MAX_SPLITS.clone())?;
    let has_reference = parts
        .iter()
        .any(|part| matches!(part, TextPart::Reference(_)));
    has_reference.then(|| Node {
        kind: NodeKind::Text(parts),
        place: Place::NOWHERE,
    })
}

/// Splits texts at the first insertion that occurs in all of them, then the rest; `None` if the remaining parts differ, or if no more splits
/// are `left`.
fn split(texts: &[&str], insertions: &[Insertion], left: &mut usize) -> Option<Vec<TextPart>> {
    *left = left.checked_sub(1)?;
    let first = texts.first()?;
    for (index, insertion) in insertions.iter().enumerate() {
        let halves: Option<Vec<(&str, &str)>> = texts
            .iter()
            .zip(&insertion.texts)
            .map(|(text, inside)| text.split_once(&**inside))
            .collect();
        let Some(halves) = halves else { continue };
        let (before, after): (Vec<&str>, Vec<&str>) = halves.into_iter().unzip();
        let rest = insertions.get(index..)?;
        if let Some(mut parts) = split(&before, rest, left)
            && let Some(after) = split(&after, rest, left)
        {
            parts.push(TextPart::Reference(insertion.reference.clone()));
            parts.extend(after);
            return Some(parts);
        }
    }
    if texts.iter().any(|text| text != first) {
        return None;
    }
    Some(if first.is_empty() {
        Vec::new()
    } else {
        vec![TextPart::Literal((*first).into())]
    })
}
