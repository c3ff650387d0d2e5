//! Items that a request selects: the item of a list with a field that the user has named.

use std::sync::Arc;

use planwright_core::Value;
use planwright_core::expression::print_path;
use planwright_core::path::read_path;
use planwright_core::plan::{Missing, Path, Read, Reference, Segment, Source};

use super::arguments::{ArgumentPlace, is_distinctive};
use super::known::PresentCalls;
use super::{Generalizer, references};

/// A way to select the item of a list that has a value.
struct Selection {
    step: usize,
    list: Path,
    rest: Path,
    /// The field that the request names, with its value in each trace.
    field: Arc<str>,
    named: Vec<Value>,
}

impl Generalizer<'_> {
    /// Returns the reference to values that an item of an earlier list has, if the request of each trace names one field of that item
    /// and no other item of the list has it. Only one such field may exist.
    pub(super) fn selection(
        &mut self,
        at: &ArgumentPlace<'_>,
        values: &[&Value],
    ) -> Option<Reference> {
        // The position in the list differs between traces, so the first one alone finds it.
        let alone = PresentCalls {
            present: at.view.present.get(..1)?.to_vec(),
            rounds: at.view.rounds.get(..1)?.to_vec(),
        };
        let places = self.known.places(values.get(..1)?, &alone);
        let mut found: Vec<Selection> = Vec::new();
        for place in places.positional.iter().chain(&places.stable) {
            let mut positions = place
                .path
                .iter()
                .enumerate()
                .filter(|(_, segment)| !matches!(segment, Segment::Key(_)));
            let (Some((position, Segment::Index(_))), None) = (positions.next(), positions.next())
            else {
                continue;
            };
            let list = place.path.get(..position)?.to_vec();
            let rest = place.path.get(position + 1..)?.to_vec();
            found.extend(self.selections(at.view, values, place.step, &list, &rest));
        }
        let mut found = found.into_iter();
        let (Some(only), None) = (found.next(), found.next()) else {
            return None;
        };
        let named: Vec<&Value> = only.named.iter().collect();
        let id = self.known.steps.get(only.step)?.id.clone();
        let input = match self.origin(&named, at.view) {
            Some(known) => known,
            None => self.add_input(&only.field, &id, &only.named, at.view),
        };
        let input = input.text.strip_prefix("${")?.strip_suffix('}')?.to_owned();
        let list = references::text_of(&Read::part(Source::Step(id), only.list));
        let field = print_path(&[Segment::Key(only.field)]);
        let rest = print_path(&only.rest);
        // The plan fails rather than choose among several items.
        references::of_expression(&format!(
            "{list}.filter(each, each{field} == {input} && {list}.exists_one(other, other{field} == {input}))[0]{rest}"
        ))
    }

    /// Returns the fields that select the items with `values` at `rest` from a list.
    fn selections(
        &self,
        view: &PresentCalls,
        values: &[&Value],
        step: usize,
        list: &Path,
        rest: &Path,
    ) -> Vec<Selection> {
        let items: Option<Vec<(Value, Value)>> = view
            .present
            .iter()
            .zip(values)
            .map(|(trace, value)| {
                let items =
                    read_path(self.known.answer(step, *trace)?, list, Missing::Fail).ok()?;
                let has_value = |item: &&Value| {
                    read_path(item, rest, Missing::Fail).is_ok_and(|part| part == **value)
                };
                let mut fitting = items.as_list()?.iter().filter(has_value);
                let item = fitting.next()?.clone();
                fitting.next().is_none().then_some((items, item))
            })
            .collect();
        let Some(items) = items.filter(|_| self.known.precedes(step, view)) else {
            return Vec::new();
        };
        let fields = items.first().and_then(|(_, item)| item.as_object());
        let names = fields.into_iter().flat_map(|fields| fields.keys());
        names
            .filter_map(|field| {
                let named: Option<Vec<Value>> = items
                    .iter()
                    .map(|(_, item)| item.get(field).cloned())
                    .collect();
                let named = named?;
                let all: Vec<&Value> = named.iter().collect();
                let is_named = all
                    .iter()
                    .all(|value| value.as_text().is_some() && is_distinctive(value))
                    && all.iter().any(|value| Some(value) != all.first())
                    && self.is_said(&all, view);
                let is_unique = items.iter().zip(&named).all(|((items, _), value)| {
                    let items = items.as_list().unwrap_or_default().iter();
                    items.filter(|item| item.get(field) == Some(value)).count() == 1
                });
                (is_named && is_unique).then(|| Selection {
                    step,
                    list: list.clone(),
                    rest: rest.clone(),
                    field: Arc::clone(field),
                    named,
                })
            })
            .collect()
    }
}
