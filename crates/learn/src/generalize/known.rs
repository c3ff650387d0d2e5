//! The answers that are known so far, and the places in them where a value occurs.

use std::collections::{HashMap, HashSet};

use planwright_core::path::read_path;
use planwright_core::plan::{Missing, Path, Segment};
use planwright_core::{StepId, Value};

/// Maximum number of parts of an answer that are searched.
const MAX_PARTS: usize = 50_000;

/// Maximum number of places that depend on a position.
const MAX_POSITIONAL: usize = 16;

/// Maximum depth of a path.
const MAX_DEPTH: usize = 12;

/// A step of the plan so far, with its calls in each trace.
#[derive(Debug)]
pub(super) struct KnownStep {
    pub(super) id: StepId,
    /// The answer in each trace; a list of answers for a loop.
    pub(super) answers: Vec<Option<Value>>,
    /// The last round of its calls in each trace.
    pub(super) rounds: Vec<Option<usize>>,
    /// The scalar arguments of its calls in each trace, as JSON.
    pub(super) given: Vec<HashSet<String>>,
}

/// A place in a known answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlaceInAnswer {
    /// The position of the step.
    pub(super) step: usize,
    pub(super) path: Path,
    /// The position of the index in the path that selects the only item of a list.
    pub(super) only: Option<usize>,
    /// True if the arguments of the step have the same value.
    pub(super) is_echo: bool,
}

/// The places of a value.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The places that do not depend on the position in a list.
    pub(super) stable: Vec<PlaceInAnswer>,
    /// Some places that depend on the position in a list.
    pub(super) positional: Vec<PlaceInAnswer>,
}

/// The view of a call on the answers: the traces that have it, and its round in each of them.
#[derive(Clone, Debug)]
pub(super) struct PresentCalls {
    pub(super) present: Vec<usize>,
    /// The first round of the call, for each of these traces.
    pub(super) rounds: Vec<usize>,
}

/// All known answers.
#[derive(Debug, Default)]
pub(super) struct KnownAnswers {
    pub(super) steps: Vec<KnownStep>,
    /// The places of each value, as JSON, in each trace.
    index: Vec<HashMap<String, Vec<(usize, Path)>>>,
    /// The lists in each trace.
    lists: Vec<Vec<(usize, Path)>>,
}

impl KnownAnswers {
    pub(super) fn new(traces: usize) -> Self {
        Self {
            steps: Vec::new(),
            index: vec![HashMap::new(); traces],
            lists: vec![Vec::new(); traces],
        }
    }

    pub(super) fn add(&mut self, step: KnownStep) {
        let number = self.steps.len();
        let tables = self.index.iter_mut().zip(&mut self.lists);
        for (answer, (index, lists)) in step.answers.iter().zip(tables) {
            let Some(answer) = answer else { continue };
            each_part(answer, &mut |path, part| {
                if let Value::List(items) = part {
                    lists.push((number, path.clone()));
                    for (inner, projected) in projections(items) {
                        let path = path.iter().cloned().chain([Segment::Each]).chain(inner);
                        index
                            .entry(projected.to_json())
                            .or_default()
                            .push((number, path.collect()));
                    }
                }
                index
                    .entry(part.to_json())
                    .or_default()
                    .push((number, path.clone()));
            });
        }
        self.steps.push(step);
    }

    /// Returns true if the step has answered before the call in all traces that have the call.
    pub(super) fn precedes(&self, step: usize, view: &PresentCalls) -> bool {
        self.steps.get(step).is_some_and(|known| {
            view.present.iter().zip(&view.rounds).all(|(trace, round)| {
                matches!(known.rounds.get(*trace), Some(Some(before)) if before < round)
            })
        })
    }

    /// Returns the answer of a step in a trace.
    pub(super) fn answer(&self, step: usize, trace: usize) -> Option<&Value> {
        self.steps.get(step)?.answers.get(trace)?.as_ref()
    }

    /// Returns the places that have the values, one for each trace of `view`.
    pub(super) fn places(&self, values: &[&Value], view: &PresentCalls) -> Places {
        let mut places = Places::default();
        let (Some(first), Some(value)) = (view.present.first(), values.first()) else {
            return places;
        };
        let found = self
            .index
            .get(*first)
            .and_then(|index| index.get(&value.to_json()));
        for (step, path) in found.into_iter().flatten() {
            let fits = view.present.iter().zip(values).all(|(trace, value)| {
                let answer = self.answer(*step, *trace);
                let part = answer.and_then(|answer| read_path(answer, path, Missing::Fail).ok());
                part.is_some_and(|part| part == **value)
            });
            if !fits || !self.precedes(*step, view) {
                continue;
            }
            let given = self.steps.get(*step).map(|known| &known.given);
            let is_echo = view.present.iter().zip(values).all(|(trace, value)| {
                given
                    .and_then(|given| given.get(*trace))
                    .is_some_and(|given| given.contains(&value.to_json()))
            });
            let place = |only| PlaceInAnswer {
                step: *step,
                path: path.clone(),
                only,
                is_echo,
            };
            match self.position(*step, path, view) {
                Position::Stable => places.stable.push(place(None)),
                Position::Only(at) => places.stable.push(place(Some(at))),
                Position::Item if places.positional.len() < MAX_POSITIONAL => {
                    places.positional.push(place(None));
                }
                Position::Item => {}
            }
        }
        if places.stable.iter().any(|place| !place.is_echo) {
            places.stable.retain(|place| !place.is_echo);
        }
        places
    }

    /// Returns the places that have the first of the values in the first trace of `view`.
    pub(super) fn occurrences(&self, values: &[&Value], view: &PresentCalls) -> Vec<(usize, Path)> {
        let index = view
            .present
            .first()
            .and_then(|first| self.index.get(*first));
        let value = values.first().map(|value| value.to_json());
        let found = index
            .zip(value)
            .and_then(|(index, value)| index.get(&value));
        found.cloned().unwrap_or_default()
    }

    /// Determines if a path depends on the position in a list.
    fn position(&self, step: usize, path: &[Segment], view: &PresentCalls) -> Position {
        let mut only = None;
        for (at, segment) in path.iter().enumerate() {
            match segment {
                Segment::Index(_) => {
                    let lists = view.present.iter().map(|trace| {
                        let prefix = path.get(..at).unwrap_or_default();
                        let answer = self.answer(step, *trace)?;
                        let list = read_path(answer, prefix, Missing::Fail).ok()?;
                        list.as_list().map(<[Value]>::len)
                    });
                    let is_only = lists.into_iter().all(|length| length == Some(1));
                    if !is_only || only.is_some() || path.contains(&Segment::Each) {
                        return Position::Item;
                    }
                    only = Some(at);
                }
                // Keys such as `credit_card_4421` are data, and another trace has others.
                Segment::Key(key) if view.present.len() == 1 && is_identifier(key) => {
                    return Position::Item;
                }
                Segment::Key(_) | Segment::Each => {}
            }
        }
        only.map_or(Position::Stable, Position::Only)
    }

    /// Returns the lists of earlier answers with the numbers of items `counts`, one for each trace of `view`.
    pub(super) fn lists(&self, counts: &[usize], view: &PresentCalls) -> Vec<(usize, Path)> {
        let lists = view
            .present
            .first()
            .and_then(|first| self.lists.get(*first));
        let has_counts = |step: usize, path: &Path| {
            view.present.iter().zip(counts).all(|(trace, count)| {
                let answer = self.answer(step, *trace);
                let list = answer.and_then(|answer| read_path(answer, path, Missing::Fail).ok());
                list.as_ref().and_then(Value::as_list).map(<[Value]>::len) == Some(*count)
            })
        };
        let fitting = lists.into_iter().flatten().filter(|(step, path)| {
            matches!(self.position(*step, path, view), Position::Stable)
                && self.precedes(*step, view)
                && has_counts(*step, path)
        });
        fitting.cloned().collect()
    }

    /// Calls `visit` with each text of the answers in the first trace of `view`, with its place.
    pub(super) fn each_text(&self, view: &PresentCalls, visit: &mut dyn FnMut(&str)) {
        let index = view
            .present
            .first()
            .and_then(|first| self.index.get(*first));
        for json in index.into_iter().flat_map(HashMap::keys) {
            if json.starts_with('"')
                && let Ok(Value::Text(text)) = Value::from_tool_json(json)
            {
                visit(&text);
            }
        }
    }
}

enum Position {
    /// The path does not depend on a position.
    Stable,
    /// The path selects the only item of a list in all traces.
    Only(usize),
    /// The path selects an item among several.
    Item,
}

/// Returns true if a text looks like an identifier rather than a word: it has a digit, at least six characters and no blanks.
pub(super) fn is_identifier(text: &str) -> bool {
    text.chars().count() >= 6
        && text.chars().any(|sign| sign.is_ascii_digit())
        && !text.contains(char::is_whitespace)
}

/// Calls `visit` with each part of a value and its path.
pub(super) fn each_part(value: &Value, visit: &mut dyn FnMut(&Path, &Value)) {
    fn walk(
        value: &Value,
        path: &mut Path,
        left: &mut usize,
        visit: &mut dyn FnMut(&Path, &Value),
    ) {
        if *left == 0 || path.len() > MAX_DEPTH {
            return;
        }
        *left -= 1;
        visit(path, value);
        match value {
            Value::List(items) => {
                for (index, item) in (0..).zip(items.iter()) {
                    path.push(Segment::Index(index));
                    walk(item, path, left, visit);
                    path.pop();
                }
            }
            Value::Object(fields) => {
                for (key, part) in fields.iter() {
                    path.push(Segment::Key(key.clone()));
                    walk(part, path, left, visit);
                    path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }
    walk(value, &mut Path::new(), &mut MAX_PARTS.clone(), visit);
}

/// Returns the list of each field of the items of a list of objects.
fn projections(items: &[Value]) -> Vec<(Path, Value)> {
    let Some(Value::Object(first)) = items.first() else {
        return Vec::new();
    };
    first
        .keys()
        .filter_map(|key| {
            let parts: Option<Vec<Value>> =
                items.iter().map(|item| item.get(key).cloned()).collect();
            Some((vec![Segment::Key(key.clone())], Value::from(parts?)))
        })
        .collect()
}

/// Returns the scalars in arguments, as JSON.
pub(super) fn scalars<'a>(values: impl IntoIterator<Item = &'a Value>) -> HashSet<String> {
    let mut found = HashSet::new();
    for value in values {
        each_part(value, &mut |_, part| {
            if !matches!(part, Value::List(_) | Value::Object(_)) {
                found.insert(part.to_json());
            }
        });
    }
    found
}
