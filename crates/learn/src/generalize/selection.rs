//! Items that a request selects: the item of a list with fields that the user has named, or the only item.

use planwright_core::Value;
use planwright_core::expression::print_path;
use planwright_core::path::read_path;
use planwright_core::plan::{Missing, Path, Read, Reference, Segment, Source};

use super::arguments::{ArgumentPlace, is_distinctive, shown};
use super::finding::FindingKind;
use super::known::{PresentCalls, each_part, is_identifier};
use super::{Generalizer, references};

/// Maximum number of places at which a selected value is looked up.
const MAX_PLACES: usize = 64;

/// Maximum number of selections whose agreement a plan checks.
const MAX_AGREEING: usize = 3;

/// Maximum number of fields that select an item.
const MAX_FIELDS: usize = 4;

/// The items of a list of an answer, or of a list within each item of another one. The values of an object whose keys are data are items as
/// well.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Collection {
    levels: Vec<Level>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Level {
    /// The path from an item of the level before, or from the answer.
    path: Path,
    /// True if the items are the values of an object.
    is_object: bool,
}

/// A way to select the item that has a value.
#[derive(Debug)]
pub(super) struct Selection {
    step: usize,
    collection: Collection,
    /// The path of the value in the item.
    rest: Path,
    by: SelectedBy,
}

#[derive(Debug)]
enum SelectedBy {
    /// The item is the only one.
    Only,
    /// The fields that the requests name.
    Fields(Vec<NamedField>),
}

/// A field that the requests name, with its value in each trace.
#[derive(Debug)]
struct NamedField {
    path: Path,
    values: Vec<Value>,
}

impl Collection {
    /// Splits the path of a value at the positions and at the keys that are data; `None` if there are none, or more than two.
    fn split(path: &[Segment]) -> Option<(Self, Path)> {
        let mut levels = Vec::new();
        let mut rest = Path::new();
        for segment in path {
            let is_object = match segment {
                Segment::Index(_) => false,
                Segment::Key(key) if is_identifier(key) => true,
                Segment::Key(_) => {
                    rest.push(segment.clone());
                    continue;
                }
                Segment::Each => return None,
            };
            let path = std::mem::take(&mut rest);
            levels.push(Level { path, is_object });
        }
        matches!(levels.len(), 1 | 2).then_some((Self { levels }, rest))
    }

    /// Returns the items in an answer; `None` if a part of the path is missing.
    fn items(&self, answer: &Value) -> Option<Vec<Value>> {
        let mut items = vec![answer.clone()];
        for level in &self.levels {
            let mut inner = Vec::new();
            for item in &items {
                let part = read_path(item, &level.path, Missing::Fail).ok()?;
                if level.is_object {
                    inner.extend(part.as_object()?.values().cloned());
                } else {
                    inner.extend(part.as_list()?.iter().cloned());
                }
            }
            items = inner;
        }
        Some(items)
    }

    /// Returns the expression of the items in the answer of a step.
    fn text(&self, id: &planwright_core::StepId) -> String {
        let mut text = String::new();
        for (number, level) in self.levels.iter().enumerate() {
            let values = if level.is_object { ".values()" } else { "" };
            text = if number == 0 {
                let read = Read::part(Source::Step(id.clone()), level.path.clone());
                format!("{}{values}", references::text_of(&read))
            } else {
                let path = print_path(&level.path);
                format!("{text}.map(part, part{path}{values}).flatten()")
            };
        }
        text
    }
}

impl Generalizer<'_> {
    /// Returns the reference to values that an item of an earlier list has, if the requests select this item: they name fields of it, and
    /// no other item of the list has the same. If several lists have such an item, the plan reads it only if they agree.
    pub(super) fn selection(
        &mut self,
        at: &ArgumentPlace<'_>,
        values: &[&Value],
    ) -> Option<Reference> {
        let found = self.selections(at.view, values);
        let (inputs, origins) = (self.inputs.len(), self.origins.len());
        let texts: Option<Vec<String>> = found
            .into_iter()
            .map(|selection| self.selected(at, selection))
            .collect();
        let reference = texts
            .as_deref()
            .and_then(|texts| Some((references::of_agreeing(texts)?, texts.len())));
        let Some((reference, count)) = reference else {
            // An input that nothing reads would have to be given.
            self.inputs.truncate(inputs);
            self.origins.truncate(origins);
            return None;
        };
        if count > 1 {
            let value = values
                .first()
                .map_or_else(String::new, |value| shown(value));
            let message = format!(
                "`{value}` is that of the selected items of {count} lists; the plan fails where these differ"
            );
            self.find(at, FindingKind::AgreeingReferences, message);
        }
        Some(reference)
    }

    /// Returns true if the requests select an item with the values.
    pub(super) fn is_selectable(&self, values: &[&Value], view: &PresentCalls) -> bool {
        !self.selections(view, values).is_empty()
    }

    /// Returns the expression of a selected value. The plan fails rather than choose among several items.
    fn selected(&mut self, at: &ArgumentPlace<'_>, selection: Selection) -> Option<String> {
        let id = self.known.steps.get(selection.step)?.id.clone();
        let list = selection.collection.text(&id);
        let rest = print_path(&selection.rest);
        let fields = match selection.by {
            SelectedBy::Only => {
                return Some(format!("{list}.filter(each, size({list}) == 1)[0]{rest}"));
            }
            SelectedBy::Fields(fields) => fields,
        };
        let mut conditions = Vec::new();
        for field in fields {
            let named: Vec<&Value> = field.values.iter().collect();
            let is_same = named.iter().all(|value| Some(value) == named.first());
            let wanted = if is_same {
                named.first()?.to_json()
            } else {
                let input = match self.origin(&named, at.view) {
                    Some(known) => known,
                    None => {
                        let name = match field.path.last()? {
                            Segment::Key(key) => key.to_string(),
                            Segment::Index(_) | Segment::Each => return None,
                        };
                        self.add_input(&name, &id, &field.values, at.view)
                    }
                };
                references::inside(&input)?.to_owned()
            };
            conditions.push((print_path(&field.path), wanted));
        }
        let condition = |item: &str| {
            let all: Vec<String> = conditions
                .iter()
                .map(|(path, wanted)| format!("{item}{path} == {wanted}"))
                .collect();
            all.join(" && ")
        };
        Some(format!(
            "{list}.filter(each, {} && {list}.exists_one(other, {}))[0]{rest}",
            condition("each"),
            condition("other")
        ))
    }

    /// Returns the selections of items with the values, at most one for each list; none if there are too many.
    fn selections(&self, view: &PresentCalls, values: &[&Value]) -> Vec<Selection> {
        let mut found: Vec<Selection> = Vec::new();
        let places = self.known.occurrences(values, view);
        for (step, path) in places.iter().take(MAX_PLACES) {
            let Some((collection, rest)) = Collection::split(path) else {
                continue;
            };
            let is_known = found
                .iter()
                .any(|one| one.step == *step && one.collection == collection && one.rest == rest);
            if is_known || !self.known.precedes(*step, view) {
                continue;
            }
            if let Some(by) = self.selected_by(view, values, *step, &collection, &rest) {
                found.push(Selection {
                    step: *step,
                    collection,
                    rest,
                    by,
                });
            }
        }
        if found.len() > MAX_AGREEING {
            found.clear();
        }
        found
    }

    /// Returns what selects the only item of a collection that has the values at `rest`.
    fn selected_by(
        &self,
        view: &PresentCalls,
        values: &[&Value],
        step: usize,
        collection: &Collection,
        rest: &Path,
    ) -> Option<SelectedBy> {
        let lists: Option<Vec<Vec<Value>>> = view
            .present
            .iter()
            .map(|trace| collection.items(self.known.answer(step, *trace)?))
            .collect();
        let lists = lists?;
        let positions: Option<Vec<usize>> = lists
            .iter()
            .zip(values)
            .map(|(items, value)| {
                let has_value = |item: &Value| {
                    read_path(item, rest, Missing::Fail).is_ok_and(|part| part == **value)
                };
                let mut fitting = items.iter().enumerate().filter(|(_, item)| has_value(item));
                let (position, _) = fitting.next()?;
                fitting.next().is_none().then_some(position)
            })
            .collect();
        let positions = positions?;
        if lists.iter().all(|items| items.len() == 1) {
            return Some(SelectedBy::Only);
        }
        let fields = self.named_fields(view, &lists, &positions, rest);
        let is_selected = |items: &Vec<Value>, trace: usize| {
            let has_all = |item: &&Value| {
                fields.iter().all(|field| {
                    let part = read_path(item, &field.path, Missing::Fail).ok();
                    part.is_some() && part.as_ref() == field.values.get(trace)
                })
            };
            items.iter().filter(has_all).count() == 1
        };
        let mut numbered = lists.iter().enumerate();
        if !fields.is_empty() && numbered.all(|(trace, items)| is_selected(items, trace)) {
            return Some(SelectedBy::Fields(fields));
        }
        // The first or the last item of all traces may be the cheapest or the newest one: its position proves nothing.
        None
    }

    /// Returns the fields of the items at `positions` that the request of each trace names. All items have these fields.
    fn named_fields(
        &self,
        view: &PresentCalls,
        lists: &[Vec<Value>],
        positions: &[usize],
        rest: &Path,
    ) -> Vec<NamedField> {
        let items: Option<Vec<&Value>> = lists
            .iter()
            .zip(positions)
            .map(|(items, position)| items.get(*position))
            .collect();
        let Some(items) = items else {
            return Vec::new();
        };
        let mut paths: Vec<Path> = Vec::new();
        if let Some(first) = items.first() {
            each_part(first, &mut |path, part| {
                let is_field = path
                    .iter()
                    .all(|segment| matches!(segment, Segment::Key(key) if !is_identifier(key)));
                if is_field && part.as_text().is_some() && !path.is_empty() && path != rest {
                    paths.push(path.clone());
                }
            });
        }
        let in_all = |path: &Path| {
            let mut all = lists.iter().flatten();
            all.all(|item| read_path(item, path, Missing::Fail).is_ok())
        };
        let fields = paths.into_iter().filter_map(|path| {
            let named: Option<Vec<Value>> = items
                .iter()
                .map(|item| read_path(item, &path, Missing::Fail).ok())
                .collect();
            let values = named?;
            let all: Vec<&Value> = values.iter().collect();
            let is_named = all
                .iter()
                .all(|value| value.as_text().is_some() && is_distinctive(value))
                && self.is_said(&all, view);
            (is_named && in_all(&path)).then_some(NamedField { path, values })
        });
        fields.take(MAX_FIELDS).collect()
    }
}
