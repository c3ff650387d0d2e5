//! Steps that hold other steps: groups, branches and bodies of loops.

mod control;
mod otherwise;
mod sequence;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) use self::control::is_control;
pub(super) use self::otherwise::has_alternative;
pub(super) use self::sequence::sequence;
use planwright_core::{Code, Diagnostic, Place, SourceText, TextEdit};

use super::names::Names;
use super::texts::{UsedIds, bare_name, expression_of, without_markers};
use super::words::{
    FOR_EACH, GROUPS, ITEM_NAMES, STEP, Synonyms, are_steps, has_branches, is_branch, is_switch,
    negates,
};
use super::{Guesses, field, get, has, is_for_people};
use crate::document::{Item, ItemEntry, ItemKind, quote};

/// The maximum length of steps in advice, in bytes.
const MAX_SHOWN_STEPS: usize = 2000;

/// The maximum size of the conditions, in bytes, and of the ids that one group adds to its steps.
const MAX_ADDED: usize = 100_000;

/// The maximum number of steps before a loop whose outputs its plan may use.
const MAX_OUTER: usize = 1000;

impl Guesses<'_> {
    /// Replaces groups of steps by the steps that have the same effect, and reports each with these steps.
    pub(super) fn flatten(&mut self, items: &mut Vec<Item>) {
        let mut controls = Vec::new();
        let mut used: UsedIds = self.ids.iter().map(ToString::to_string).collect();
        for mut item in std::mem::take(items) {
            hoist_branches(&mut item);
            if let Some(found) = control::control(&item, &self.ids, &mut used) {
                self.replace_control(&item, found, &mut controls, items);
                continue;
            }
            let Some(word) = group_of(&item) else {
                items.push(item);
                continue;
            };
            let place = item.place;
            let ItemKind::Object(mut entries) = item.kind else {
                continue;
            };
            let Some(at) = entries.iter().position(|entry| *entry.key == *word) else {
                continue;
            };
            let group = entries.remove(at);
            let is_loop = |entry: &ItemEntry| meaning_of(entry) == Some("for_each");
            let loop_at = entries.iter().position(is_loop);
            let is_sequence = matches!(&*group.key, "sequence" | "sequential");
            let (mut steps, otherwise) = match (&*group.key, loop_at) {
                ("cases" | "then", _) => {
                    entries.retain(|entry| !control::is_part(entry));
                    (Some(steps_in(&group.item)), ARE_UNCERTAIN)
                }
                (_, Some(at)) => {
                    let over = entries.remove(at);
                    let inner = if is_sequence {
                        chain(steps_in(&group.item))
                    } else {
                        Some(steps_in(&group.item))
                    };
                    let steps = inner.and_then(|steps| loop_of(steps, &mut entries, &over, items));
                    (
                        steps,
                        "put these steps into `steps`, each with its own `for_each`",
                    )
                }
                (_, None) if is_sequence => (chain(steps_in(&group.item)), ARE_PARALLEL),
                _ => (Some(steps_in(&group.item)), ARE_PARALLEL),
            };
            let fixed = fixed_field(&group.key, &entries, steps.as_mut());
            let message = format!("a step cannot hold the steps in {}", quote(&group.key));
            let mut diagnostic = Diagnostic::error(Code::UnknownField, message).help(otherwise);
            if let Some(field) = &fixed {
                let field = quote(field);
                diagnostic = diagnostic.help(format!(
                    "put these steps into `steps`; what {field} of this step means for all of them together has to be written for each"
                ));
            }
            // Branches that were not read before have parts without a counterpart.
            let is_branch = matches!(&*group.key, "cases" | "then");
            let Some(steps) = steps.filter(|_| fixed.is_none() && !is_branch) else {
                self.sink.push_at_key(&group, diagnostic);
                items.extend(steps_in(&group.item));
                continue;
            };
            let written = steps.iter().map(|step| step.to_value().to_json());
            let written = written.collect::<Vec<_>>().join(", ");
            if written.len() <= MAX_SHOWN_STEPS && !written.contains('`') {
                let reason = if otherwise == ARE_PARALLEL {
                    " (steps that do not refer to each other run in parallel)"
                } else {
                    ""
                };
                let id = get(&entries, "id")
                    .and_then(Item::as_text)
                    .filter(|_| otherwise == ARE_PARALLEL);
                let names = id.map_or_else(String::new, |id| {
                    let first = steps
                        .iter()
                        .find_map(|step| step.get("id")?.as_text().cloned());
                    let first = first.unwrap_or_else(|| "step".into());
                    format!(", and `${{{first}}}` in place of `${{{id}.{first}}}`")
                });
                let help = format!("write these steps in its place: `{written}`{reason}{names}");
                let span = self.source.span(place);
                let is_replaced = names.is_empty()
                    && !has_comment(self.source, place)
                    && !is_field(self.source, place);
                let edit = span
                    .filter(|_| is_replaced)
                    .map(|span| TextEdit::new(span, written));
                diagnostic = diagnostic.help(help).fixes(edit);
            }
            self.sink.push_at_key(&group, diagnostic);
            items.extend(steps);
        }
        apply(&controls, items);
    }

    /// Reports the step `item`, which calls nothing itself, with what is written in its place.
    fn replace_control(
        &mut self,
        item: &Item,
        found: control::Control,
        controls: &mut Vec<AppliedControl>,
        items: &mut Vec<Item>,
    ) {
        let text = |word: &str| item.get(word).and_then(Item::as_text);
        let id = text("id").or_else(|| text("name")).cloned();
        let name = id
            .as_ref()
            .map_or_else(String::new, |id| format!(" {}", quote(id)));
        let message = format!("the step{name} calls nothing, as no step of a plan does");
        let written: Vec<String> = found
            .steps
            .iter()
            .map(|step| step.to_value().to_json())
            .collect();
        let written = written.join(", ");
        let mut parts = Vec::new();
        if !written.is_empty() && written.len() <= MAX_SHOWN_STEPS && !written.contains('`') {
            parts.push(format!("write in its place `{written}`"));
        } else if !written.is_empty() {
            parts.push(ARE_UNCERTAIN.to_owned());
        } else {
            parts.push("leave it out".to_owned());
        }
        for (id, condition) in &found.conditions {
            let when = format!("\"when\": \"${{{condition}}}\"");
            parts.push(format!("write `{when}` in the step {}", quote(id)));
        }
        let after = item.as_object().and_then(|entries| {
            let after = entries
                .iter()
                .find(|entry| meaning_of(entry) == Some("after"));
            ids_of(&after?.item)
        });
        // A question follows what it shows.
        let read = after.unwrap_or_else(|| read_steps(item, &self.ids));
        if found.asks {
            let next = id.as_ref().map(|id| quote(id));
            let next = next.map_or_else(
                || "the next step".to_owned(),
                |id| format!("each step that waits for {id}"),
            );
            let waits = match read.as_slice() {
                [] => String::new(),
                ids => {
                    let ids: Vec<String> = ids.iter().map(|id| id.to_value().to_json()).collect();
                    format!("\"after\": [{}], ", ids.join(", "))
                }
            };
            parts.push(format!("write `{waits}\"approval\": true` in {next}: a person sees the call with its arguments, and decides"));
        }
        let mut help = parts.join(", and ");
        if !found.reason.is_empty() {
            help = format!("{help}, {}", found.reason);
        }
        let span = self.source.span(item.place);
        // Other steps may wait for this one.
        let has_id = |step: &Item| step.get("id").and_then(Item::as_text) == id.as_ref();
        let is_gone = id.is_some() && !found.steps.iter().any(has_id);
        if is_gone && !written.is_empty() {
            let ends = found.steps.iter().filter_map(|step| step.get("id"));
            let ends: Vec<String> = ends.map(|id| id.to_value().to_json()).collect();
            help = format!(
                "{help}; in place of{name}, an `after` or an `output` has `{}`",
                ends.join(", ")
            );
        }
        let is_replaced = !written.is_empty()
            && !is_gone
            && found.conditions.is_empty()
            && !has_comment(self.source, item.place)
            && !is_field(self.source, item.place);
        let edit = span
            .filter(|_| is_replaced)
            .map(|span| TextEdit::new(span, written));
        let diagnostic = Diagnostic::error(Code::UnknownField, message).help(help);
        self.sink.push(item.place, diagnostic.fixes(edit));
        let ends = found
            .steps
            .iter()
            .filter_map(|step| step.get("id").cloned());
        let ends: Vec<Item> = if found.steps.is_empty() {
            read
        } else {
            ends.collect()
        };
        controls.push(AppliedControl {
            id,
            ends,
            conditions: found.conditions,
            asks: found.asks.then_some(items.len()),
        });
        items.extend(found.steps);
    }
}

/// The meaning of a step that calls nothing for the other steps.
struct AppliedControl {
    id: Option<Arc<str>>,
    /// The ids that other steps wait for in its place.
    ends: Vec<Item>,
    conditions: Vec<(Arc<str>, String)>,
    /// The position of the step behind it, if a person decides whether that runs.
    asks: Option<usize>,
}

/// The maximum number of steps that ask a person whose names are searched in conditions.
const MAX_ASKING: usize = 16;

/// Gives the steps in `items` the conditions and the order that steps which call nothing have for them.
fn apply(controls: &[AppliedControl], items: &mut [Item]) {
    if controls.is_empty() {
        return;
    }
    let mut conditions: HashMap<&str, Vec<&str>> = HashMap::new();
    for (id, condition) in controls.iter().flat_map(|control| &control.conditions) {
        conditions.entry(id).or_default().push(condition);
    }
    let named = controls
        .iter()
        .filter_map(|control| Some((&**control.id.as_ref()?, control)));
    let named: HashMap<&str, &AppliedControl> = named.collect();
    let asking = controls.iter().filter(|control| control.asks.is_some());
    let asking: Vec<&AppliedControl> = asking.take(MAX_ASKING).collect();
    let mut answered: HashSet<usize> = HashSet::new();
    for item in items.iter_mut() {
        let place = item.place;
        let id = item.get("id").and_then(Item::as_text).cloned();
        for condition in id.iter().filter_map(|id| conditions.get(&**id)).flatten() {
            // A condition that is unreadable is reported for that.
            let _ = add_condition(item, condition);
        }
        let ItemKind::Object(fields) = &mut item.kind else {
            continue;
        };
        let mut asks = Vec::new();
        for entry in fields
            .iter_mut()
            .filter(|entry| meaning_of(entry) == Some("after"))
        {
            let Some(ids) = ids_of(&entry.item) else {
                continue;
            };
            let control = |id: &Item| named.get(&**id.as_text()?).copied();
            if !ids.iter().any(|id| control(id).is_some()) {
                continue;
            }
            let mut meant = Vec::new();
            for id in ids {
                match control(&id) {
                    Some(control) => {
                        asks.extend(control.asks);
                        meant.extend(control.ends.iter().cloned());
                    }
                    None => meant.push(id),
                }
            }
            entry.item.kind = ItemKind::List(meant);
        }
        fields.retain(|entry| {
            let text = entry
                .item
                .as_text()
                .filter(|_| meaning_of(entry) == Some("when"));
            let asked = text.and_then(|text| {
                let names = |control: &&&AppliedControl| {
                    control.id.as_ref().is_some_and(|id| text.contains(&**id))
                };
                asking.iter().find(names).and_then(|control| control.asks)
            });
            asks.extend(asked);
            asked.is_none()
        });
        if !asks.is_empty() {
            answered.extend(asks);
            if !has(fields, "approval") {
                fields.push(field("approval", ItemKind::Bool(true), place));
            }
        }
    }
    // Without a step that waits for it, it is about the next one.
    for at in asking.iter().filter_map(|control| control.asks) {
        if !answered.contains(&at)
            && let Some(ItemKind::Object(fields)) = items.get_mut(at).map(|item| &mut item.kind)
            && !has(fields, "approval")
        {
            fields.push(field("approval", ItemKind::Bool(true), Place::NOWHERE));
        }
    }
}

const ARE_PARALLEL: &str = "put these steps into `steps`: those that do not refer to each other run in parallel, and `after` puts one behind others";

const ARE_UNCERTAIN: &str = "put these steps into `steps`, each with `\"when\": \"${…}\"`, those of `else` with `\"when\": \"${!(…)}\"`";

/// Moves the fields `entries` of a group into each of its `steps`, where they have the same meaning. Returns the key of the first
/// field that cannot move; the steps are then incomplete.
fn fixed_field(
    group: &str,
    entries: &[ItemEntry],
    steps: Option<&mut Vec<Item>>,
) -> Option<Arc<str>> {
    let steps = steps?;
    let says_nothing = |entry: &ItemEntry| {
        let is_mark = matches!(&*entry.key, "type" | "kind")
            && entry.item.as_text().is_some_and(|word| {
                let of_branches = ["condition", "conditional", "branch", "if", "switch"];
                let of_loops = ["loop", "for_each", "foreach", "forEach", "map"];
                let is_other = of_branches.iter().chain(&of_loops);
                is_other.into_iter().any(|mark| **word == **mark)
                    || (&**word == "parallel" && !matches!(group, "sequence" | "sequential"))
            });
        matches!(&*entry.key, "title" | "note" | "name")
            || meaning_of(entry) == Some("id")
            || is_mark
            || is_for_people(&entry.key, &entry.item)
    };
    for entry in entries.iter().filter(|entry| !says_nothing(entry)) {
        let mut steps = steps.iter_mut();
        let is_moved = match meaning_of(entry) {
            Some("when") => condition_of(entry)
                .filter(|condition| condition.len() * steps.len() <= MAX_ADDED)
                .and_then(|condition| steps.try_for_each(|step| add_condition(step, &condition))),
            Some("after") => ids_of(&entry.item)
                .filter(|ids| ids.len() * steps.len() <= MAX_ADDED)
                .and_then(|ids| steps.try_for_each(|step| add_after(step, &ids))),
            _ => None,
        };
        if is_moved.is_none() {
            return Some(Arc::clone(&entry.key));
        }
    }
    None
}

/// The field of a step that `entry` is, or stands for.
fn meaning_of(entry: &ItemEntry) -> Option<&'static str> {
    let is_meant =
        |group: &&Synonyms| *entry.key == *group.field || group.words.contains(&&*entry.key);
    STEP.iter().find(is_meant).map(|group| group.field)
}

/// The text inside of `${…}`, or all of `text` if it is not a reference.
fn inside(text: &str) -> &str {
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    inside.unwrap_or(text)
}

/// The condition in `entry`, as an expression; otherwise `None`.
pub(super) fn condition_of(entry: &ItemEntry) -> Option<String> {
    let text = entry.item.as_text()?;
    let condition =
        expression_of(inside(text)).or_else(|| expression_of(&without_markers(text)?))?;
    Some(if negates(&entry.key) {
        format!("!({condition})")
    } else {
        condition
    })
}

/// Adds `condition` to that of `step`; `None` if the step's own condition is not an expression, or applies to branches inside the
/// step.
fn add_condition(step: &mut Item, condition: &str) -> Option<()> {
    let place = step.place;
    if matches!(group_of(step).as_deref(), Some("if" | "then" | "cases")) {
        return None;
    }
    let ItemKind::Object(fields) = &mut step.kind else {
        return None;
    };
    let mut condition = condition.to_owned();
    while let Some(at) = fields
        .iter()
        .position(|entry| meaning_of(entry) == Some("when"))
    {
        let own = condition_of(&fields.remove(at))?;
        condition = format!("({condition}) && ({own})");
    }
    let when = ItemKind::Text(format!("${{{condition}}}").into());
    fields.push(field("when", when, place));
    Some(())
}

/// The ids in the value of `after`, which is a list or one id.
fn ids_of(item: &Item) -> Option<Vec<Item>> {
    match &item.kind {
        ItemKind::List(ids) => Some(ids.clone()),
        ItemKind::Text(_) | ItemKind::Number(_) => Some(vec![item.clone()]),
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Object(_) => None,
    }
}

/// Makes `step` wait for `ids` besides those that it waits for.
pub(super) fn add_after(step: &mut Item, ids: &[Item]) -> Option<()> {
    let place = step.place;
    let ItemKind::Object(fields) = &mut step.kind else {
        return None;
    };
    let mut all = ids.to_vec();
    let mut known: HashSet<String> = ids.iter().map(|id| id.to_value().to_json()).collect();
    while let Some(at) = fields
        .iter()
        .position(|entry| meaning_of(entry) == Some("after"))
    {
        for id in ids_of(&fields.remove(at).item)? {
            if known.insert(id.to_value().to_json()) {
                all.push(id);
            }
        }
    }
    fields.push(field("after", ItemKind::List(all), place));
    Some(())
}

/// Makes the steps at the ends of `edges` wait for those at their starts; a name is the id of a step, or its title.
pub(super) fn add_edges(items: &mut [Item], edges: &[(Arc<str>, Arc<str>)]) {
    let words = [
        "id", "step_id", "stepId", "taskId", "task_id", "name", "title",
    ];
    if edges.is_empty() {
        return;
    }
    let mut positions: HashMap<String, usize> = HashMap::new();
    let mut ids: Vec<Option<Item>> = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        for name in words.iter().filter_map(|word| item.get(word)) {
            positions
                .entry(name.to_value().to_inserted_text())
                .or_insert(at);
        }
        ids.push(words.iter().find_map(|word| item.get(word)).cloned());
    }
    let mut before: HashMap<usize, Vec<Item>> = HashMap::new();
    for (from, to) in edges {
        if let (Some(from), Some(to)) = (positions.get(&**from), positions.get(&**to)) {
            before
                .entry(*to)
                .or_default()
                .extend(ids.get(*from).cloned().flatten());
        }
    }
    for (at, ids) in before {
        if let Some(item) = items.get_mut(at) {
            // A step whose own `after` is unreadable is reported for that.
            let _ = add_after(item, &ids);
        }
    }
}

/// Returns true if the text at `place` may have a comment, which a replacement would lose.
pub(super) fn has_comment(source: &SourceText, place: Place) -> bool {
    let span = source.span(place).unwrap_or_default();
    let text = source.text().get(span.start..span.end);
    text.is_none_or(|text| text.contains("//") || text.contains("/*") || text.contains('#'))
}

/// Returns true if the value at `place` belongs to a key, so that no two values can replace it.
fn is_field(source: &SourceText, place: Place) -> bool {
    let span = source.span(place).unwrap_or_default();
    let before = source.text().get(..span.start);
    before.is_none_or(|before| before.trim_end().ends_with(':'))
}

/// The steps `ids` that the texts of `item` refer to, in their order there.
fn read_steps(item: &Item, ids: &HashSet<Arc<str>>) -> Vec<Item> {
    let text = item.to_value().to_json();
    let mut found: Vec<Item> = Vec::new();
    for (at, _) in text.match_indices("${").take(MAX_READ_STEPS) {
        let inside = &text[at + 2..];
        let end = inside.find(['.', '[', '}', ' ']).unwrap_or(inside.len());
        let id = ids.get(&inside[..end]);
        let is_known = |id: &Arc<str>| found.iter().any(|known| known.as_text() == Some(id));
        if let Some(id) = id.filter(|id| !is_known(id)) {
            found.push(Item {
                kind: ItemKind::Text(Arc::clone(id)),
                place: item.place,
            });
        }
    }
    found
}

/// The maximum number of references in a step that is replaced.
const MAX_READ_STEPS: usize = 100;

/// The steps in the value of a group.
pub(super) fn steps_in(item: &Item) -> Vec<Item> {
    match &item.kind {
        ItemKind::List(inner) => inner.clone(),
        ItemKind::Object(_) => vec![item.clone()],
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => Vec::new(),
    }
}

/// Reads `"if": {"condition": …, "then": …}` as the fields in it.
fn hoist_branches(item: &mut Item) {
    let ItemKind::Object(entries) = &mut item.kind else {
        return;
    };
    let Some(at) = entries.iter().position(has_branches) else {
        return;
    };
    let entry = entries.remove(at);
    if let ItemKind::Object(inner) = entry.item.kind {
        entries.extend(inner);
    }
}

/// Moves the parts of a loop that holds its list and its steps, `"for_each": {"items": …, "steps": […]}`, beside its list.
pub(super) fn hoist_loop(item: &mut Item) {
    let ItemKind::Object(entries) = &mut item.kind else {
        return;
    };
    let lists = FOR_EACH.iter().find(|group| group.field == "items");
    let lists = lists.map_or(&[][..], |group| group.words);
    let is_list = |entry: &ItemEntry| &*entry.key == "items" || lists.contains(&&*entry.key);
    let is_group = |entry: &ItemEntry| {
        // A single call stands in the step itself.
        let is_list = entry.item.as_list().is_some_and(|steps| steps.len() > 1);
        GROUPS.contains(&&*entry.key) && is_list && are_steps(&entry.item)
    };
    let holds_steps = |entry: &&mut ItemEntry| {
        let inner = entry.item.as_object().unwrap_or_default();
        inner.iter().any(is_group)
            && inner.iter().any(is_list)
            && meaning_of(entry) == Some("for_each")
    };
    let Some(over) = entries.iter_mut().find(holds_steps) else {
        return;
    };
    let ItemKind::Object(inner) = &mut over.item.kind else {
        return;
    };
    let mut inner = std::mem::take(inner);
    let Some(at) = inner.iter().position(is_list) else {
        return;
    };
    over.item = inner.remove(at).item;
    entries.extend(inner);
}

/// `steps`, each after the one before it; `None` if one to wait for has no id, or is a group.
fn chain(mut steps: Vec<Item>) -> Option<Vec<Item>> {
    if steps.iter().any(|step| group_of(step).is_some()) {
        return None;
    }
    let ids: Vec<Option<Item>> = steps.iter().map(|step| step.get("id").cloned()).collect();
    for (step, before) in steps.iter_mut().skip(1).zip(ids) {
        add_after(step, &[before?])?;
    }
    Some(steps)
}

/// The step that runs `steps` for each item of `over`: the only one of them, or one with an inner plan, which receives the item
/// and the outputs of the steps `before` as inputs. `None` if it has no name, or uses the inputs of the plan around it.
fn loop_of(
    mut steps: Vec<Item>,
    entries: &mut Vec<ItemEntry>,
    over: &ItemEntry,
    before: &[Item],
) -> Option<Vec<Item>> {
    let place = steps.first()?.place;
    let over = match &over.item.kind {
        list @ ItemKind::List(_) => list.clone(),
        ItemKind::Text(list) => {
            ItemKind::Text(format!("${{{}}}", expression_of(inside(list))?).into())
        }
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Object(_) => {
            return None;
        }
    };
    let over = field("for_each", over, place);
    // `name` is the name of the loop.
    let words = ITEM_NAMES.iter().filter(|word| **word != "name");
    let named_at = words.into_iter().find_map(|word| {
        let is_name = |entry: &ItemEntry| &*entry.key == *word && entry.item.as_text().is_some();
        entries.iter().position(is_name)
    });
    let item_name = match named_at {
        Some(at) => bare_name(entries.remove(at).item.as_text()?)?,
        None => "item".to_owned(),
    };
    let named = (item_name != "item")
        .then(|| field("as", ItemKind::Text(item_name.as_str().into()), place));
    if let [only] = steps.as_mut_slice() {
        let ItemKind::Object(fields) = &mut only.kind else {
            return None;
        };
        let loops = |entry: &ItemEntry| meaning_of(entry) == Some("for_each");
        if fields.iter().any(loops) {
            return None;
        }
        fields.push(over);
        fields.extend(named);
        return Some(steps);
    }
    let id = get(entries, "id").cloned().unwrap_or_else(|| Item {
        kind: ItemKind::Text(format!("each_{item_name}").into()),
        place,
    });
    if before.len() > MAX_OUTER {
        return None;
    }
    let mut of_plan = Names::default();
    for name in ["inputs", "vars"] {
        of_plan.add(name.into(), name.to_owned());
    }
    if steps.iter().any(|step| of_plan.are_in(step)) {
        return None;
    }
    let ids = |steps: &[Item]| -> Vec<Arc<str>> {
        let ids = steps.iter().filter_map(|step| step.get("id")?.as_text());
        ids.cloned().collect()
    };
    let own = ids(&steps);
    let is_own: HashSet<&Arc<str>> = own.iter().collect();
    let mut outer = ids(before);
    outer.retain(|id| !is_own.contains(id));
    outer.push(item_name.as_str().into());
    let mut names = Names::default();
    for name in &outer {
        names.add(Arc::clone(name), format!("inputs.{name}"));
    }
    for name in &own {
        names.add(Arc::clone(name), name.to_string());
    }
    let mut used = HashSet::new();
    for step in &mut steps {
        names.write_in(step, &mut used);
    }
    let mut args: Vec<ItemEntry> = Vec::new();
    for name in &outer {
        // An item may have the name of a step.
        if used.contains(name) && !has(&args, name) {
            let value = ItemKind::Text(format!("${{{name}}}").into());
            args.push(field(name, value, place));
        }
    }
    let inputs = args
        .iter()
        .map(|entry| field(&entry.key, ItemKind::Object(Vec::new()), place));
    let mut plan = Vec::new();
    if !args.is_empty() {
        plan.push(field("inputs", ItemKind::Object(inputs.collect()), place));
    }
    plan.push(field("steps", ItemKind::List(steps), place));
    let mut fields = vec![field("id", id.kind, place), over];
    fields.extend(named);
    // Other systems go through such a body round by round.
    if !entries
        .iter()
        .any(|entry| meaning_of(entry) == Some("max_parallel"))
    {
        let one = ItemKind::Number(planwright_core::Number::from(1_u64));
        fields.push(field("max_parallel", one, place));
    }
    // The other fields are those of this step.
    fields.extend(entries.drain(..).filter(|entry| &*entry.key != "id"));
    fields.push(field("plan", ItemKind::Object(plan), place));
    if !args.is_empty() {
        fields.push(field("args", ItemKind::Object(args), place));
    }
    Some(vec![Item {
        kind: ItemKind::Object(fields),
        place,
    }])
}

/// The field of `item` that holds other steps, if `item` makes no call itself.
pub(super) fn group_of(item: &Item) -> Option<Arc<str>> {
    let entries = item.as_object()?;
    if entries.iter().any(has_branches) {
        return Some("if".into());
    }
    let is_call = ["tool", "plan", "value", "extract"];
    if is_call.iter().any(|word| has(entries, word)) {
        return None;
    }
    let is_group = |entry: &&ItemEntry| {
        let is_list = entry.item.as_list().is_some() && are_steps(&entry.item);
        (GROUPS.contains(&&*entry.key) && is_list) || is_switch(entry) || is_branch(entry)
    };
    let group = entries.iter().find(is_group)?;
    Some(Arc::clone(&group.key))
}
