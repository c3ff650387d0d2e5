//! The origin of each argument: an input, an earlier answer, a template of both, or a constant.

use std::collections::HashSet;

use planwright_core::plan::{Field, Node};
use planwright_core::{Place, StepId, Value};
use planwright_engine::run::contains_mask;

use super::finding::FindingKind;
use super::known::{PlaceInAnswer, PresentCalls, is_identifier};
use super::{Generalizer, Origin, references};

/// The place of an argument: a step, and the name of the innermost field around the value.
#[derive(Clone, Copy)]
pub(super) struct ArgumentPlace<'b> {
    pub(super) view: &'b PresentCalls,
    pub(super) step: &'b StepId,
    pub(super) argument: &'b str,
}

impl Generalizer<'_> {
    /// Returns the node of an object whose value in each trace of the view is one of `values`.
    pub(super) fn object(&mut self, at: &ArgumentPlace<'_>, values: &[&Value]) -> Node {
        let objects: Option<Vec<_>> = values.iter().map(|value| value.as_object()).collect();
        let Some((first, objects)) = objects.and_then(|all| Some((*all.first()?, all))) else {
            return self.value(at, values);
        };
        let mut fields = Vec::new();
        let mut names: Vec<_> = first.keys().cloned().collect();
        for other in objects.iter().flat_map(|object| object.keys()) {
            if !names.contains(other) {
                names.push(other.clone());
            }
        }
        for name in names {
            let parts: Vec<&Value> = objects
                .iter()
                .filter_map(|object| object.get(&name))
                .collect();
            let at = ArgumentPlace {
                argument: &name,
                ..*at
            };
            if parts.len() < objects.len() {
                let message = format!(
                    "`{name}` is present in {} of {} traces",
                    parts.len(),
                    objects.len()
                );
                self.find(&at, FindingKind::OptionalArgument, message);
                continue;
            }
            let value = self.value(&at, &parts);
            fields.push(Field { key: name, value });
        }
        Node::object(fields, Place::NOWHERE)
    }

    /// Returns the node of a value, which is one of `values` in each trace of the view.
    pub(super) fn value(&mut self, at: &ArgumentPlace<'_>, values: &[&Value]) -> Node {
        let Some(first) = values.first() else {
            return Node::default();
        };
        if values.iter().any(|value| contains_mask(value)) {
            return self.redacted(at, values);
        }
        if let Some(node) = self.known_value(at, values) {
            return node;
        }
        let is_same = values.iter().all(|value| value == first);
        let constant = || Node::literal((*first).clone(), Place::NOWHERE);
        if is_same && values.len() > 1 {
            let places = || self.known.places(values, at.view);
            let is_open = is_scalar(first)
                && is_distinctive(first)
                && is_identifier(&first.to_inserted_text())
                && (self.is_said(values, at.view)
                    || !places().stable.is_empty()
                    || !places().positional.is_empty());
            if is_open {
                let message = format!(
                    "`{}` is the same in all traces, and may be an input",
                    shown(first)
                );
                self.find(at, FindingKind::PossibleInput, message);
            }
            return constant();
        }
        let same_keys = |value: &&Value| match (value.as_object(), first.as_object()) {
            (Some(object), Some(first)) => {
                object.len() == first.len() && object.keys().all(|key| first.contains_key(key))
            }
            _ => false,
        };
        if values.iter().all(same_keys) {
            return self.object(at, values);
        }
        if let Some(items) = self.items(at, values) {
            return items;
        }
        let texts: Option<Vec<&str>> = values.iter().map(|value| value.as_text()).collect();
        if let Some(texts) = texts
            && let Some(node) = self.template(at, &texts)
        {
            return node;
        }
        if values.len() == 1 {
            if is_distinctive(first) && !matches!(first, Value::List(_)) {
                let message = format!("`{}` may be an input", shown(first));
                self.find(at, FindingKind::PossibleInput, message);
            }
            return constant();
        }
        if self.requests.iter().any(Option::is_some)
            && values.iter().all(|value| is_distinctive(value))
            && !self.is_replied(values, at.view)
        {
            let message = if self.has_other_type(values, at.view) {
                format!(
                    "`{}` occurs in an earlier answer only as a value of another type",
                    shown(first)
                )
            } else {
                format!(
                    "`{}` occurs neither in the request nor in an earlier answer",
                    shown(first)
                )
            };
            self.find(at, FindingKind::UnknownOrigin, message);
        }
        self.input(at, values)
    }

    /// Returns the node of a value that was redacted in a trace. Its redacted parts are inputs.
    fn redacted(&mut self, at: &ArgumentPlace<'_>, values: &[&Value]) -> Node {
        if values.iter().all(|value| value.as_object().is_some()) {
            return self.object(at, values);
        }
        self.input(at, values)
    }

    /// Returns the node of a value whose origin is known: an input or an earlier answer.
    fn known_value(&mut self, at: &ArgumentPlace<'_>, values: &[&Value]) -> Option<Node> {
        let first = *values.first()?;
        let several = values.len() > 1;
        let is_same = values.iter().all(|value| *value == first);
        let is_clear = values.iter().all(|value| is_distinctive(value));
        if is_clear && let Some(origin) = self.origin(values, at.view) {
            return Some(references::node(origin));
        }
        let is_said = is_clear && self.is_said(values, at.view);
        if is_said && several && is_same {
            return None;
        }
        if is_said && is_scalar(first) {
            return Some(self.input(at, values));
        }
        let is_usable = is_clear || (!self.is_body && is_telling(values));
        // Equal constants of several traces are constants, unless they look like identifiers.
        let may_be_constant = several && is_same && !is_identifier(&first.to_inserted_text());
        if !is_usable || may_be_constant {
            return None;
        }
        let places = self.known.places(values, at.view);
        match (places.stable.as_slice(), places.positional.first()) {
            ([], positional) => {
                if !several || is_same || !is_scalar(first) {
                    return None;
                }
                if is_clear && let Some(reference) = self.selection(at, values) {
                    return Some(references::node(reference));
                }
                let place = positional?;
                let message = format!(
                    "`{}` is the item of a list at `{}`, which another trace may have at another position",
                    shown(first),
                    self.place_text(place)
                );
                self.find(at, FindingKind::PositionalReference, message);
                Some(self.input(at, values))
            }
            ([place], _) => {
                let reference = self.place_reference(place)?;
                if !several && !is_identifier(&first.to_inserted_text()) && is_scalar(first) {
                    let message = format!(
                        "`{}` is read from `{}` and may be a constant",
                        shown(first),
                        self.place_text(place)
                    );
                    self.find(at, FindingKind::PossibleConstant, message);
                }
                self.add_origin(values, at.view, &reference, place.step);
                Some(references::node(reference))
            }
            (several_places, _) => {
                if is_same && several {
                    return None;
                }
                // Different values in each trace that are the same at all places: the plan reads them as long as they are.
                let agreeing: Option<Vec<String>> = several_places
                    .iter()
                    .map(|place| {
                        let reference = self.place_reference(place)?;
                        Some(references::inside(&reference)?.to_owned())
                    })
                    .collect();
                let is_checkable = several && is_clear && several_places.len() <= MAX_AGREEING;
                let agreeing = agreeing.filter(|_| is_checkable && is_scalar(first));
                let reference = agreeing.and_then(|texts| references::of_agreeing(&texts));
                let texts: Vec<String> = several_places
                    .iter()
                    .take(4)
                    .map(|place| format!("`{}`", self.place_text(place)))
                    .collect();
                let message = format!("`{}` occurs in {}", shown(first), texts.join(" and "));
                if let Some(reference) = reference {
                    let last = several_places.iter().map(|place| place.step).max();
                    self.add_origin(values, at.view, &reference, last.unwrap_or(0));
                    self.find(
                        at,
                        FindingKind::AgreeingReferences,
                        format!("{message}; the plan fails where these differ"),
                    );
                    return Some(references::node(reference));
                }
                self.find(at, FindingKind::AmbiguousReference, message);
                Some(self.input(at, values))
            }
        }
    }

    /// Returns the node of a list, item by item, if all lists have the same length and each item is known or has parts.
    fn items(&mut self, at: &ArgumentPlace<'_>, values: &[&Value]) -> Option<Node> {
        let lists: Option<Vec<&[Value]>> = values.iter().map(|value| value.as_list()).collect();
        let lists = lists?;
        let length = lists.first()?.len();
        if length == 0 || lists.iter().any(|list| list.len() != length) {
            return None;
        }
        let has_objects = lists
            .iter()
            .flat_map(|list| list.iter())
            .all(|item| matches!(item, Value::Object(_)));
        let column = |index: usize| -> Option<Vec<&Value>> {
            lists.iter().map(|list| list.get(index)).collect()
        };
        // Items that would all become inputs are one input, which may have any number of items.
        let is_recoverable = has_objects
            || (0..length).all(|index| {
                column(index).is_some_and(|items| {
                    let is_same =
                        items.len() > 1 && items.iter().all(|item| Some(item) == items.first());
                    is_same || self.is_known(&items, at.view)
                })
            });
        if !is_recoverable {
            return None;
        }
        let items: Option<Vec<Node>> = (0..length)
            .map(|index| Some(self.value(at, &column(index)?)))
            .collect();
        Some(Node::list(items?, Place::NOWHERE))
    }

    /// Returns true if a value has one origin without an additional input.
    fn is_known(&self, values: &[&Value], view: &PresentCalls) -> bool {
        let is_clear = values.iter().all(|value| is_distinctive(value));
        if !is_clear {
            return false;
        }
        let differ = values.iter().any(|value| Some(value) != values.first());
        self.origin(values, view).is_some()
            || match self.known.places(values, view).stable.len() {
                0 => differ && self.is_selectable(values, view),
                1 => true,
                several => differ && several <= MAX_AGREEING,
            }
    }

    /// Returns the reference to values whose origin was decided before.
    pub(super) fn origin(
        &self,
        values: &[&Value],
        view: &PresentCalls,
    ) -> Option<planwright_core::plan::Reference> {
        let found = self.origins.iter().find(|origin| {
            let fits = view.present.iter().zip(values).all(|(trace, value)| {
                matches!(origin.values.get(*trace), Some(Some(known)) if known == *value)
            });
            fits && !view.present.is_empty()
        });
        found.map(|origin| origin.reference.clone())
    }

    pub(super) fn add_origin(
        &mut self,
        values: &[&Value],
        view: &PresentCalls,
        reference: &planwright_core::plan::Reference,
        step: usize,
    ) {
        let mut all = vec![None; self.calls.len()];
        for (trace, value) in view.present.iter().zip(values) {
            if let Some(slot) = all.get_mut(*trace) {
                *slot = Some((*value).clone());
            }
        }
        self.origins.push(Origin {
            values: all,
            reference: reference.clone(),
            step: Some(step),
        });
    }

    /// Returns the node of a new input.
    pub(super) fn input(&mut self, at: &ArgumentPlace<'_>, values: &[&Value]) -> Node {
        let values: Vec<Value> = values.iter().map(|value| (*value).clone()).collect();
        references::node(self.add_input(at.argument, at.step, &values, at.view))
    }

    /// Returns true if the request of each trace says the value.
    pub(super) fn is_said(&self, values: &[&Value], view: &PresentCalls) -> bool {
        view.present.iter().zip(values).all(|(trace, value)| {
            let request = self.requests.get(*trace).copied().flatten();
            request.is_some_and(|request| says(request, value))
        })
    }

    /// Returns true if a later message of the user says the value, in each trace.
    fn is_replied(&self, values: &[&Value], view: &PresentCalls) -> bool {
        view.present.iter().zip(values).all(|(trace, value)| {
            let replies = self.replies.get(*trace).copied().unwrap_or_default();
            replies.iter().any(|reply| says(reply, value))
        })
    }

    /// Returns true if an earlier answer has the values as texts in place of numbers, or the other way round.
    fn has_other_type(&self, values: &[&Value], view: &PresentCalls) -> bool {
        let other = |value: &&Value| match value {
            Value::Text(text) => {
                let number = Value::from_tool_json(text).ok();
                number.filter(|number| matches!(number, Value::Number(_)))
            }
            Value::Number(_) => Some(Value::from(value.to_json().as_str())),
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Object(_) => None,
        };
        let others: Option<Vec<Value>> = values.iter().map(other).collect();
        others.is_some_and(|others| {
            let others: Vec<&Value> = others.iter().collect();
            let places = self.known.places(&others, view);
            !places.stable.is_empty() || !places.positional.is_empty()
        })
    }

    pub(super) fn place_reference(
        &self,
        place: &PlaceInAnswer,
    ) -> Option<planwright_core::plan::Reference> {
        let step = self.known.steps.get(place.step)?;
        references::of_place(&step.id, place)
    }

    fn place_text(&self, place: &PlaceInAnswer) -> String {
        let id = self
            .known
            .steps
            .get(place.step)
            .map_or("", |step| step.id.as_str());
        format!(
            "{id}{}",
            planwright_core::expression::print_path(&place.path)
        )
    }
}

/// Maximum number of places of a value whose agreement a plan checks.
const MAX_AGREEING: usize = 6;

/// Maximum number of characters of a value in a message.
const MAX_SHOWN: usize = 60;

/// Returns a value for a message.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_inserted_text().replace(['\n', '\r', '`'], " ");
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Object(_))
}

/// Words that are frequent as values, whatever they mean.
const COMMON: [&str; 16] = [
    "true", "false", "yes", "no", "null", "none", "asc", "desc", "all", "any", "open", "closed",
    "done", "default", "auto", "other",
];

/// Returns true if a value is so rare that an equal one in an earlier answer is the same one.
pub(super) fn is_distinctive(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => value.to_json().chars().filter(char::is_ascii_digit).count() >= 4,
        Value::Text(text) => {
            let text = text.trim();
            text.chars().count() >= 3 && !COMMON.contains(&text.to_lowercase().as_str())
        }
        Value::List(items) => !items.is_empty() && items.iter().any(is_distinctive),
        Value::Object(fields) => fields.values().any(is_distinctive),
    }
}

/// Minimum number of different short values whose origin is that of equal ones in an earlier answer. Fewer agree too often by chance.
const MIN_SHORT_VALUES: usize = 3;

/// Returns true if values that differ between traces are evidence of their origin, although one of them alone is none.
fn is_telling(values: &[&Value]) -> bool {
    let is_short = |value: &&Value| match value {
        Value::Number(_) => value.to_json().chars().filter(char::is_ascii_digit).count() >= 2,
        _ => is_distinctive(value),
    };
    let different: HashSet<String> = values.iter().map(|value| value.to_json()).collect();
    MIN_SHORT_VALUES <= different.len() && values.iter().all(is_short)
}

/// Returns true if a request has the value as whole words.
pub(super) fn says(request: &str, value: &Value) -> bool {
    let wanted = match value {
        Value::Text(text) => text.trim().to_lowercase(),
        Value::Number(_) => value.to_json(),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Object(_) => return false,
    };
    let request = request.to_lowercase();
    let is_border = |sign: Option<char>| !sign.is_some_and(char::is_alphanumeric);
    !wanted.is_empty()
        && request.match_indices(&wanted).any(|(start, found)| {
            let before = request
                .get(..start)
                .and_then(|text| text.chars().next_back());
            let after = request
                .get(start + found.len()..)
                .and_then(|text| text.chars().next());
            is_border(before) && is_border(after)
        })
}
