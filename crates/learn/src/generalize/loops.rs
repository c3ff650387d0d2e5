//! Repeated calls of one tool: loops over the items of an earlier list, or of an input.

use std::sync::Arc;

use planwright_core::path::read_path;
use planwright_core::plan::{Field, ForEach, Missing, Node, Path, Read, Segment, Source, Step};
use planwright_core::{Object, Place, Value};
use planwright_engine::run::contains_mask;

use super::arguments::{ArgumentPlace, is_distinctive, says};
use super::columns::CallColumn;
use super::finding::{Finding, FindingKind};
use super::known::{PlaceInAnswer, PresentCalls, each_part, scalars};
use super::template::Insertion;
use super::{Generalizer, inputs, references, template};

/// Minimum number of characters of a part of an item inside of a text. Several items agree, so it may be short.
const MIN_ITEM_CHARS: usize = 2;

/// The calls of a loop in each trace that has them, as their arguments.
type Rounds = Vec<Vec<Object>>;

/// The arguments of a loop over a list: the nodes that depend on the item, and the names of the others.
struct LoopArguments {
    items: Vec<(Arc<str>, Node)>,
    others: Vec<Arc<str>>,
    /// True if an argument is the same as several parts of each item.
    is_ambiguous: bool,
}

/// A list of an earlier answer with an item for each call.
struct FittingList {
    /// True if the values are those that the arguments of the step gave.
    is_echo: bool,
    step: usize,
    path: Path,
    arguments: LoopArguments,
    /// The list in each trace.
    lists: Vec<Value>,
}

impl Generalizer<'_> {
    /// Adds a loop over a list of earlier answers. Returns false if the calls fit no list.
    pub(super) fn add_loop(&mut self, column: &CallColumn, condition: Option<Node>) -> bool {
        let Some(rounds) = self.rounds_of(column) else {
            return false;
        };
        let counts: Vec<usize> = rounds.iter().map(Vec::len).collect();
        if counts.iter().all(|count| *count < 2) {
            return false;
        }
        let view = self.view(column);
        let mut found: Vec<FittingList> = Vec::new();
        for (step, path) in self.known.lists(&counts, &view) {
            let lists: Option<Vec<Value>> = view
                .present
                .iter()
                .map(|trace| {
                    let answer = self.known.answer(step, *trace)?;
                    read_path(answer, &path, Missing::Fail).ok()
                })
                .collect();
            let given = self.known.steps.get(step).map(|known| &known.given);
            let used = scalars(rounds.iter().flatten().flat_map(Object::values));
            let is_echo = given.is_some_and(|given| {
                used.iter()
                    .all(|value| given.iter().any(|given| given.contains(value)))
            });
            if let Some(lists) = lists
                && let Some(arguments) = item_arguments(&rounds, &lists)
            {
                found.push(FittingList {
                    is_echo,
                    step,
                    path,
                    arguments,
                    lists,
                });
            }
        }
        // A list that repeats the values of an earlier one is not their origin.
        if found.iter().any(|list| !list.is_echo) {
            found.retain(|list| !list.is_echo);
        }
        let several = found.len() > 1;
        let Some(FittingList {
            step,
            path,
            arguments,
            lists,
            ..
        }) = found.into_iter().next()
        else {
            return false;
        };
        let id = self.free_id(&column.tool);
        let at = ArgumentPlace {
            view: &view,
            step: &id,
            argument: "",
        };
        let place = PlaceInAnswer {
            step,
            path,
            only: None,
            is_echo: false,
        };
        let Some(over) = self.place_reference(&place) else {
            return false;
        };
        if several {
            let message = format!(
                "the calls of `{}` fit several lists, such as `{}`",
                column.tool, over.text
            );
            self.find(&at, FindingKind::AmbiguousLoop, message);
        }
        if let Some(field) = self.selecting_field(&view, step, &lists) {
            let message = format!(
                "the calls of `{}` are made for all items of `{}`, which all have the same `{field}`, and a request names it",
                column.tool, over.text
            );
            self.find(&at, FindingKind::PossibleSelection, message);
        }
        if arguments.is_ambiguous {
            let message = format!(
                "the calls of `{}` fit several parts of the items of `{}`",
                column.tool, over.text
            );
            self.find(&at, FindingKind::AmbiguousLoop, message);
        }
        let mut fields: Vec<Field> = Vec::new();
        for name in arguments.others {
            let values: Vec<&Value> = rounds
                .iter()
                .filter_map(|calls| calls.first()?.get(&name))
                .collect();
            let at = ArgumentPlace {
                argument: &name,
                ..at
            };
            let value = self.value(&at, &values);
            fields.push(Field {
                key: name.clone(),
                value,
            });
        }
        fields.extend(
            arguments
                .items
                .into_iter()
                .map(|(key, value)| Field { key, value }),
        );
        let args = Node::object(fields, Place::NOWHERE);
        let mut step = self.step_of(id, &column.tool, args);
        step.when = condition;
        step.for_each = Some(over_list(references::node(over)));
        self.add_loop_step(step, column);
        true
    }

    /// Returns a field that all items of the list of a trace have with the same value, if a request names this value, or a field that is
    /// true. The request may mean only such items, and the list of another trace may have others. A value that the arguments of `step` gave
    /// has selected the items already.
    fn selecting_field(&self, view: &PresentCalls, step: usize, lists: &[Value]) -> Option<String> {
        let given = &self.known.steps.get(step)?.given;
        let is_asked = |value: &Value| self.asked.iter().any(|request| says(request, value));
        let mut found = None;
        for (trace, list) in view.present.iter().zip(lists) {
            let items = list.as_list().unwrap_or_default();
            each_part(items.first().unwrap_or(&Value::Null), &mut |path, part| {
                let Some(Segment::Key(name)) = path.last() else {
                    return;
                };
                let is_named = match part {
                    Value::Text(_) => is_asked(part),
                    Value::Bool(true) => is_asked(&Value::Text(Arc::clone(name))),
                    _ => false,
                };
                let is_same = |item: &Value| {
                    read_path(item, path, Missing::Fail).is_ok_and(|other| other == *part)
                };
                let is_given = given
                    .get(*trace)
                    .is_some_and(|given| given.contains(&part.to_json()));
                if found.is_none() && is_named && !is_given && items.iter().all(is_same) {
                    found = Some(name.to_string());
                }
            });
        }
        found
    }

    /// Adds a loop over a new input, for calls whose number differs between traces.
    pub(super) fn add_input_loop(&mut self, column: &CallColumn, condition: Option<Node>) {
        let view = self.view(column);
        let Some(rounds) = self.rounds_of(column) else {
            let message = format!(
                "the calls of `{}` differ in number and in the names of their arguments",
                column.tool
            );
            self.findings
                .push(Finding::new(FindingKind::OptionalCall, message));
            return;
        };
        let names: Vec<Arc<str>> = names_of(&rounds);
        let is_constant = |name: &str| {
            rounds.iter().all(|calls| {
                let first = calls.first().and_then(|args| args.get(name));
                calls.iter().all(|args| args.get(name) == first)
            })
        };
        let (others, varying): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| is_constant(name));
        let id = self.free_id(&column.tool);
        let at = ArgumentPlace {
            view: &view,
            step: &id,
            argument: "",
        };
        let lists: Vec<Value> = rounds
            .iter()
            .map(|calls| {
                let items = calls.iter().map(|args| match varying.as_slice() {
                    [only] => args.get(only).cloned().unwrap_or_default(),
                    several => Value::object(several.iter().map(|name| {
                        (
                            Arc::clone(name),
                            args.get(name).cloned().unwrap_or_default(),
                        )
                    })),
                });
                Value::list(items)
            })
            .collect();
        let name = match varying.as_slice() {
            [only] => format!("{only}_list"),
            _ => format!("{}_list", inputs::identifier(id.as_str())),
        };
        let over = self.add_input(&name, &id, &lists, &view);
        let message = format!(
            "no earlier answer lists what the calls of `{}` are repeated for",
            column.tool
        );
        self.find(&at, FindingKind::InputLoop, message);
        let mut fields: Vec<Field> = Vec::new();
        for name in others {
            let values: Vec<&Value> = rounds
                .iter()
                .filter_map(|calls| calls.first()?.get(&name))
                .collect();
            let at = ArgumentPlace {
                argument: &name,
                ..at
            };
            let value = self.value(&at, &values);
            fields.push(Field {
                key: name.clone(),
                value,
            });
        }
        let is_single = varying.len() == 1;
        for key in varying {
            let path = if is_single {
                Path::new()
            } else {
                vec![Segment::Key(Arc::clone(&key))]
            };
            let value = references::node(references::of_read(Read::part(Source::Item, path)));
            fields.push(Field { key, value });
        }
        let args = Node::object(fields, Place::NOWHERE);
        let mut step = self.step_of(id, &column.tool, args);
        step.when = condition;
        step.for_each = Some(over_list(references::node(over)));
        self.add_loop_step(step, column);
    }

    fn add_loop_step(&mut self, step: Step, column: &CallColumn) {
        self.add_step(step, column, |calls| {
            let answers: Option<Vec<Value>> = calls
                .iter()
                .map(|call| call.answer.output().cloned())
                .collect();
            answers.filter(|_| !calls.is_empty()).map(Value::from)
        });
    }

    /// Returns the arguments of the calls of a column; `None` if they have different names.
    fn rounds_of(&self, column: &CallColumn) -> Option<Rounds> {
        let rounds: Option<Rounds> = self
            .calls_of(column)
            .iter()
            .map(|calls| {
                calls
                    .iter()
                    .map(|call| call.args.as_object().cloned())
                    .collect()
            })
            .collect();
        let rounds = rounds?;
        let first = rounds.first()?.first()?.clone();
        let has_same_names = rounds.iter().flatten().all(|args| {
            args.len() == first.len() && args.keys().all(|name| first.contains_key(name))
        });
        has_same_names.then_some(rounds)
    }
}

fn over_list(over: Node) -> ForEach {
    ForEach {
        over,
        max_parallel: None,
        item_name: None,
        with_item: false,
    }
}

fn names_of(rounds: &Rounds) -> Vec<Arc<str>> {
    let first = rounds.first().and_then(|calls| calls.first());
    first.into_iter().flat_map(Object::keys).cloned().collect()
}

/// Returns the nodes of the arguments that follow from the items of `lists`, and the names of the others, which are constant within each
/// trace. Returns `None` if an argument is neither, or if none follows from the items.
fn item_arguments(rounds: &Rounds, lists: &[Value]) -> Option<LoopArguments> {
    let mut items = Vec::new();
    let mut others = Vec::new();
    let mut is_ambiguous = false;
    for name in names_of(rounds) {
        let is_constant = rounds.iter().all(|calls| {
            let first = calls.first().and_then(|args| args.get(&name));
            calls.iter().all(|args| args.get(&name) == first)
        });
        if is_constant {
            others.push(name);
            continue;
        }
        let (node, has_others) = item_node(rounds, lists, &name)?;
        is_ambiguous |= has_others;
        items.push((name, node));
    }
    (!items.is_empty()).then_some(LoopArguments {
        items,
        others,
        is_ambiguous,
    })
}

/// Returns the node of an argument that follows from the item of each round: a part of it, or a text with parts inside. Also returns true if
/// other parts of the items are the same.
fn item_node(rounds: &Rounds, lists: &[Value], name: &str) -> Option<(Node, bool)> {
    let mut pairs: Vec<(&Value, &Value)> = Vec::new();
    for (calls, list) in rounds.iter().zip(lists) {
        for (args, item) in calls.iter().zip(list.as_list()?) {
            pairs.push((args.get(name)?, item));
        }
    }
    // A redacted value is none that an item has.
    if pairs.iter().any(|(value, _)| contains_mask(value)) {
        return None;
    }
    let (value, item) = *pairs.first()?;
    let mut paths: Vec<Path> = Vec::new();
    each_part(item, &mut |path, _| paths.push(path.clone()));
    let read_all = |path: &Path| -> Option<Vec<Value>> {
        let parts = pairs
            .iter()
            .map(|(_, item)| read_path(item, path, Missing::Fail).ok());
        parts.collect()
    };
    let reference = |path: &Path| references::of_read(Read::part(Source::Item, path.clone()));
    let is_same = |path: &&Path| {
        read_all(path).is_some_and(|parts| {
            parts
                .iter()
                .zip(&pairs)
                .all(|(part, (value, _))| part == *value)
        })
    };
    let is_clear = pairs.iter().any(|(value, _)| is_distinctive(value)) || pairs.len() > 2;
    if is_clear && let Some(path) = paths.iter().filter(is_same).min_by_key(|path| path.len()) {
        let has_others = paths.iter().filter(is_same).nth(1).is_some();
        return Some((references::node(reference(path)), has_others));
    }
    value.as_text()?;
    let texts: Option<Vec<&str>> = pairs.iter().map(|(value, _)| value.as_text()).collect();
    let insertions = paths.iter().filter_map(|path| {
        let parts = read_all(path)?;
        let texts: Option<Vec<String>> = parts
            .iter()
            .map(|part| part.as_text().map(str::to_owned))
            .collect();
        Some(Insertion {
            reference: reference(path),
            texts: texts?,
        })
    });
    let node = template::node(&texts?, insertions.collect(), MIN_ITEM_CHARS)?;
    Some((node, false))
}
