//! The search for markers: in the items of a native plan, and in the texts that are still literal after a plan of another
//! system was lowered.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Action, Input, Node, NodeKind, Output, Step, TextPart};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, PointerSegment, Value};

use super::expressions::expressions;
use super::markers::phrase::names_call_zero;
use super::markers::{CHECKED_FIELDS, Marker, ReferenceForm, ReferenceNames};
use super::outside::outside_operation;
use crate::document::{DiagnosticSink, Item, ItemEntry, ItemKind};
use crate::native::{UsedIds, path_of};

/// The maximum number of markers of one text that are replaced.
const MAX_REPLACEMENTS: usize = 32;

/// Reports each text of the native plan with these `steps` and `output` that has a marker of a step or an input. Returns the
/// steps with references in place of the markers that are errors, if there are any, so that later checks report no follow-up
/// errors.
pub(crate) fn check(
    steps: &[Item],
    output: Option<&Item>,
    inputs: &[Input],
    sink: &mut DiagnosticSink,
) -> Option<Vec<Item>> {
    let ids = steps
        .iter()
        .filter_map(|step| field(step, "id")?.as_text().map(|id| &**id));
    let of_loops = steps.iter().filter(|step| step.has("for_each"));
    let named = of_loops
        .clone()
        .filter_map(|step| step.get("as")?.as_text());
    let items = of_loops
        .take(1)
        .flat_map(|_| ["item", "index"])
        .chain(named.map(|name| &**name));
    let mut names = ReferenceNames::with_items(ids.collect(), inputs, items);
    names.counts_from_zero = steps.iter().any(names_zero);
    let before = sink.count();
    for (index, step) in steps.iter().enumerate() {
        names.search_step(index);
        for name in CHECKED_FIELDS {
            if let Some(item) = field(step, name) {
                names.item(item, sink);
            }
        }
    }
    if let Some(output) = output {
        names.item(output, sink);
    }
    let is_found = sink.count() > before;
    is_found.then(|| {
        let steps = steps.iter().enumerate().map(|(index, step)| {
            names.search_step(index);
            names.with_references(step)
        });
        steps.collect()
    })
}

/// Returns true if a text in `item` names the output of the call 0.
fn names_zero(item: &Item) -> bool {
    match &item.kind {
        ItemKind::Text(text) => names_call_zero(text),
        ItemKind::List(items) => items.iter().any(names_zero),
        ItemKind::Object(entries) => entries.iter().any(|entry| names_zero(&entry.item)),
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => false,
    }
}

fn field<'a>(item: &'a Item, name: &str) -> Option<&'a Item> {
    let mut entries = item.as_object()?.iter();
    let entry = entries.find(|entry| &*entry.key == name)?;
    Some(&entry.item)
}

/// Reports each literal text of `plan`, whose own references have the form `form`, that has a marker of a step, a slot or
/// an input.
pub(crate) fn check_plan(plan: &Plan, form: ReferenceForm) -> Diagnostics {
    let search = searched(plan, form);
    let expressions = search.expressions.into_iter().map(|found| {
        let diagnostic = expression_message(&found.written, found.is_certain);
        let help = "this dialect has no such expressions: write the plan in the native dialect, with `${…}`";
        diagnostic.help(help).at(found.place, &plan.sources)
    });
    let found = search.found.into_iter();
    let mut native = None;
    let diagnostics = found.map(|found| {
        let help = match (form.write)(&found.meaning) {
            Some(reference) => format!("write `{reference}`"),
            None if found.is_certain && native.is_none() => {
                native = Some(native_form(plan, form));
                match native.as_ref().and_then(Option::as_ref) {
                    Some(json) => format!(
                        "this dialect has no references: write the plan in the native dialect, `{json}`"
                    ),
                    None => format!(
                        "this dialect has no references: write the plan in the native dialect, with `${{{}}}`",
                        found.meaning
                    ),
                }
            }
            None => format!(
                "this dialect has no references: write the plan in the native dialect, with `${{{}}}`",
                found.meaning
            ),
        };
        let diagnostic = message(&found.written, "text", found.is_certain).help(help);
        diagnostic.at(found.place, &plan.sources)
    });
    diagnostics.chain(expressions).collect()
}

/// The maximum length of a plan in advice, in bytes.
const MAX_SHOWN_PLAN: usize = 2000;

/// The native JSON of `plan`, whose steps are calls with literal arguments, with references in place of the markers that are
/// certain; `None` if it has other texts that look like references.
fn native_form(plan: &Plan, form: ReferenceForm) -> Option<String> {
    // The positions of calls without names are no names either.
    let has_name = |step: &Step| path_of(step.id.as_str()) == step.id.as_str();
    let named = plan.steps.iter().filter(|step| has_name(step));
    let mut used: UsedIds = named.map(|step| step.id.to_string()).collect();
    let ids = plan.steps.iter().map(|step| match &step.action {
        _ if has_name(step) => Some(step.id.to_string()),
        Action::Tool(tool) => Some(used.add_for(&tool.text)),
        Action::Value(_) | Action::Plan(_) => None,
    });
    let ids: Vec<String> = ids.collect::<Option<_>>()?;
    let names = if plan.steps.iter().all(has_name) {
        ReferenceNames::of_slots(plan, form)
    } else {
        names_of_calls(plan, &ids)
    };
    let steps = plan.steps.iter().zip(&ids).map(|(step, id)| {
        let (Action::Tool(tool), NodeKind::Literal(args)) = (&step.action, &step.args.kind) else {
            return None;
        };
        let args = names.as_native(args)?;
        Some(Value::object([
            ("id", Value::from(&**id)),
            ("tool", Value::from(&*tool.text)),
            ("args", args),
        ]))
    });
    let steps: Option<Vec<Value>> = steps.collect();
    let steps = Value::list(steps?);
    // Other expressions would stay text.
    if has_expressions(&steps, &names) {
        return None;
    }
    let json = Value::object([("steps", steps)]).to_json();
    (json.len() <= MAX_SHOWN_PLAN && !json.contains('`')).then_some(json)
}

/// The names of the steps of `plan` and of the tools that only one of them calls, as those of the steps `ids`.
fn names_of_calls<'a>(plan: &'a Plan, ids: &[String]) -> ReferenceNames<'a> {
    let tool = |step: &'a Step| match &step.action {
        Action::Tool(tool) => Some(&*tool.text),
        Action::Value(_) | Action::Plan(_) => None,
    };
    let mut paths: HashMap<&str, Cow<'_, str>> = HashMap::new();
    for (step, id) in plan.steps.iter().zip(ids) {
        let mut callers = plan.steps.iter().filter(|other| tool(other) == tool(step));
        if let (Some(tool), Some(_), None) = (tool(step), callers.next(), callers.next()) {
            paths.insert(tool, Cow::from(id.clone()));
        }
    }
    for (step, id) in plan.steps.iter().zip(ids) {
        paths.insert(step.id.as_str(), Cow::from(id.clone()));
    }
    let order = plan.steps.iter().map(|step| step.id.as_str()).collect();
    ReferenceNames::of_paths(order, paths, HashMap::new())
}

/// Returns true if a text in `value` has an expression of another system.
fn has_expressions(value: &Value, names: &ReferenceNames<'_>) -> bool {
    match value {
        Value::Text(text) => !expressions(text, true, &|name| names.is_name(name)).is_empty(),
        Value::List(items) => items.iter().any(|item| has_expressions(item, names)),
        Value::Object(fields) => fields.values().any(|field| has_expressions(field, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A marker in a literal text of a plan.
pub(crate) struct ForeignReference {
    pub(crate) place: Place,
    /// The text of the marker.
    pub(crate) written: String,
    /// The path in the native dialect.
    meaning: String,
    /// True if it can hardly be plain text.
    pub(crate) is_certain: bool,
}

/// The markers of steps, slots and inputs in the literal texts of `plan`, whose own references have the form `form`.
pub(crate) fn find(plan: &Plan, form: ReferenceForm) -> Vec<ForeignReference> {
    searched(plan, form).found
}

/// The search of all literal texts of `plan`, whose own references have the form `form`.
fn searched(plan: &Plan, form: ReferenceForm) -> PlanSearch<'_> {
    let mut search = PlanSearch {
        names: ReferenceNames::of_slots(plan, form),
        plan,
        found: Vec::new(),
        expressions: Vec::new(),
    };
    for (index, step) in plan.steps.iter().enumerate() {
        search.names.search_step(index);
        search.node(&step.args);
        for node in &step.positional {
            search.node(node);
        }
        if let Action::Value(node) = &step.action {
            search.node(node);
        }
    }
    if let Output::Value(node) = &plan.output {
        search.node(node);
    }
    search
}

/// The search of the literal texts of a lowered plan.
struct PlanSearch<'a> {
    names: ReferenceNames<'a>,
    plan: &'a Plan,
    found: Vec<ForeignReference>,
    expressions: Vec<ExpressionInText>,
}

/// An expression of another system in a literal text of a plan.
struct ExpressionInText {
    place: Place,
    written: String,
    /// True if it names a step or an input.
    is_certain: bool,
}

impl PlanSearch<'_> {
    fn node(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Literal(value) => self.value(value, node.place, &mut Vec::new()),
            NodeKind::Reference(_) => {}
            NodeKind::Text(parts) => {
                for part in parts {
                    if let TextPart::Literal(text) = part {
                        self.text(text, false, (node.place, &[]));
                    }
                }
            }
            NodeKind::List(items) => items.iter().for_each(|item| self.node(item)),
            NodeKind::Object(fields) => fields.iter().for_each(|field| self.node(&field.value)),
        }
    }

    /// Searches the part at `path` of the literal at `place`.
    fn value(&mut self, value: &Value, place: Place, path: &mut Vec<PointerSegment>) {
        match value {
            Value::Text(text) => self.text(text, true, (place, path)),
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(PointerSegment::Index(index));
                    self.value(item, place, path);
                    path.pop();
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields.iter() {
                    path.push(PointerSegment::Key(Arc::clone(key)));
                    let text = field.as_text().filter(|_| fields.len() == 1);
                    let text = text.filter(|_| !(self.names.form.is_own)(key));
                    let meaning = text.and_then(|text| self.names.keyed_reference(key, text));
                    match (text, meaning) {
                        (Some(text), Some(meaning)) => {
                            self.push(text, &meaning, true, (place, path));
                        }
                        _ => self.value(field, place, path),
                    }
                    path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Searches `text`, a whole value if it `is_whole`.
    fn text(&mut self, text: &str, is_whole: bool, spot: (Place, &[PointerSegment])) {
        let mut markers = self.names.markers(text);
        // Not every dialect can escape such a text, so only one that is almost certainly a reference is an error. One reference makes
        // the others of its text as certain.
        let is_certain = markers.iter().any(|marker| {
            let written = &text[marker.range.clone()];
            let is_all = is_whole && written.len() == text.len();
            let is_named = has_path(written) || self.names.has_call(&marker.meaning);
            marker.is_certain && (is_all || is_named)
        });
        let is_apart = |range: &Range<usize>| {
            let mut of_markers = markers.iter().map(|marker| &marker.range);
            !of_markers.any(|other| range.start < other.end && other.start < range.end)
        };
        let names = &self.names;
        for found in expressions(text, false, &|name| names.is_name(name)) {
            let written = &text[found.range.clone()];
            let is_meant = found.is_certain || !found.is_plain;
            if is_meant && is_apart(&found.range) && !(names.form.is_own)(written) {
                self.expressions.push(ExpressionInText {
                    place: self.plan.sources.descend(spot.0, spot.1),
                    written: written.to_owned(),
                    is_certain: found.is_certain,
                });
            }
        }
        markers.dedup_by(|one, other| text[one.range.clone()] == text[other.range.clone()]);
        for mut marker in markers {
            marker.leave_lead();
            self.push(&text[marker.range], &marker.meaning, is_certain, spot);
        }
    }

    /// Adds the marker `written` in the part of a place.
    fn push(
        &mut self,
        written: &str,
        meaning: &str,
        is_certain: bool,
        (place, path): (Place, &[PointerSegment]),
    ) {
        self.found.push(ForeignReference {
            // The first call takes time linear in the text, which plans without such texts do not pay.
            place: self.plan.sources.descend(place, path),
            written: written.to_owned(),
            meaning: meaning.to_owned(),
            is_certain,
        });
    }
}

/// Returns true if the marker `written` names a field or an item.
fn has_path(written: &str) -> bool {
    let inside = written.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let end = inside.find(['|', ' ']).unwrap_or(inside.len());
    inside[..end].contains(['.', '['])
}

impl ReferenceNames<'_> {
    /// Returns true if `name` is that of a step, a slot or an input.
    fn is_name(&self, name: &str) -> bool {
        self.steps.contains_key(name) || self.has_input(name)
    }

    /// Returns true if `meaning` is the id of a call, such as `call_1`: an API has made it, and no text has it by chance.
    fn has_call(&self, meaning: &str) -> bool {
        let is_of_id = |sign: char| sign.is_ascii_digit() || sign == '_';
        (self.form.write)(meaning).is_none() && meaning.contains(is_of_id)
    }

    /// The markers in `text`, in order.
    fn markers(&self, text: &str) -> Vec<Marker> {
        let mut found: Vec<Marker> = Vec::new();
        let mut parts = vec![(0, text.len())];
        while let Some((first, last)) = parts.pop()
            && found.len() < MAX_REPLACEMENTS
        {
            if let Some(mut marker) = self.marker(&text[first..last]) {
                // Only at the start of the text does the `=` mark an expression.
                if first > 0
                    && let Some(lead) = marker.lead.take()
                {
                    marker.range.start += 1 + lead;
                }
                let (start, end) = (first + marker.range.start, first + marker.range.end);
                marker.range = start..end;
                found.push(marker);
                parts.extend([(end, last), (first, start)]);
            }
        }
        found.sort_by_key(|marker| marker.range.start);
        found
    }

    /// The first part of `text` that names the output of a call by a number that no call has.
    pub(crate) fn unresolved(&self, text: &str) -> Option<Range<usize>> {
        let found = self.markers(text).into_iter();
        let mut found = found.filter(|marker| marker.is_unresolved);
        found.next().map(|marker| marker.range)
    }

    /// `value` with references in place of the markers that are certain; `None` if another text looks like a reference.
    pub(crate) fn as_native(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::Text(text) => {
                let markers = self.markers(text);
                let is_doubtful =
                    !markers.is_empty() && !markers.iter().any(|marker| marker.is_certain);
                if is_doubtful || markers.iter().any(|marker| marker.is_unresolved) {
                    return None;
                }
                let mut written = String::new();
                let mut end = 0;
                for marker in markers {
                    let before = text.get(end..marker.range.start)?;
                    if before.contains("${") {
                        return None;
                    }
                    written.push_str(before);
                    written.push_str(&marker.replacement(text));
                    end = marker.range.end;
                }
                let rest = text.get(end..)?;
                if rest.contains("${") {
                    return None;
                }
                written.push_str(rest);
                written.into()
            }
            Value::List(items) => {
                let items = items.iter().map(|item| self.as_native(item));
                Value::list(items.collect::<Option<Vec<_>>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, field)| Some((Arc::clone(key), self.as_native(field)?)));
                Value::object(fields.collect::<Option<Vec<_>>>()?)
            }
            scalar @ (Value::Null | Value::Bool(_) | Value::Number(_)) => scalar.clone(),
        })
    }

    /// The step `step` with references in place of the markers that are errors.
    fn with_references(&self, step: &Item) -> Item {
        let mut step = step.clone();
        if let ItemKind::Object(entries) = &mut step.kind {
            for entry in entries {
                if CHECKED_FIELDS.contains(&&*entry.key) {
                    self.replace_markers(&mut entry.item, false);
                }
            }
        }
        step
    }

    fn replace_markers(&self, item: &mut Item, is_command: bool) {
        match &mut item.kind {
            ItemKind::Text(text) => {
                if !is_command && let Some(found) = outside_operation(text) {
                    let mut replaced = text.to_string();
                    replaced.replace_range(found.range, &format!("${{{}}}", found.meaning));
                    *text = replaced.into();
                }
                // Each replacement leaves one marker less; the bound is for texts with very many.
                for _ in 0..MAX_REPLACEMENTS {
                    let marker = self.marker(text);
                    let Some(marker) =
                        marker.filter(|marker| marker.is_certain && !marker.is_unresolved)
                    else {
                        break;
                    };
                    let mut replaced = text.to_string();
                    let replacement = marker.replacement(text);
                    replaced.replace_range(marker.range, &replacement);
                    *text = replaced.into();
                }
            }
            ItemKind::List(items) => {
                for item in items {
                    self.replace_markers(item, is_command);
                }
            }
            ItemKind::Object(entries) => {
                let keyed = match &entries[..] {
                    [entry] => entry
                        .item
                        .as_text()
                        .and_then(|text| self.keyed_reference(&entry.key, text)),
                    _ => self.path_object(entries),
                };
                let keyed = keyed.or_else(|| self.operator_object(entries, 0));
                if let Some(meaning) = keyed {
                    item.kind = ItemKind::Text(format!("${{{meaning}}}").into());
                    return;
                }
                for entry in entries {
                    self.replace_markers(&mut entry.item, is_command_key(&entry.key));
                }
            }
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {}
        }
    }

    fn item(&self, item: &Item, sink: &mut DiagnosticSink) {
        self.part(item, false, sink);
    }

    /// Reports the markers in `item`, which is a command of a shell if it `is_command`: there, a pipe is its own operator.
    fn part(&self, item: &Item, is_command: bool, sink: &mut DiagnosticSink) {
        match &item.kind {
            ItemKind::Text(text) => self.text_part((item, text), is_command, sink),
            ItemKind::List(items) => {
                for item in items {
                    self.part(item, is_command, sink);
                }
            }
            ItemKind::Object(entries) => {
                if let [entry] = &entries[..]
                    && let Some(text) = entry.item.as_text()
                    && let Some(meaning) = self.keyed_reference(&entry.key, text)
                {
                    let written = item.to_value().to_json();
                    report(
                        item,
                        (&written, None),
                        (&format!("${{{meaning}}}"), ""),
                        true,
                        sink,
                    );
                    return;
                }
                let meaning = self.path_object(entries);
                if let Some(meaning) = meaning.or_else(|| self.operator_object(entries, 0)) {
                    let written = item.to_value().to_json();
                    report(
                        item,
                        (&written, None),
                        (&format!("${{{meaning}}}"), ""),
                        true,
                        sink,
                    );
                    return;
                }
                if let Some((written, meaning)) = self.output_by_reference(entries) {
                    report(
                        item,
                        (&written, None),
                        (&format!("${{{meaning}}}"), ""),
                        false,
                        sink,
                    );
                }
                for entry in entries {
                    self.part(&entry.item, is_command_key(&entry.key), sink);
                }
            }
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {}
        }
    }

    /// Reports the markers in the `text` of an item. It is no part of [`part`](Self::part), whose frames are one for each level of a value.
    fn text_part(&self, (item, text): (&Item, &str), is_command: bool, sink: &mut DiagnosticSink) {
        // Each replacement leaves one marker less; the bound is for texts with very many.
        let mut rest = Cow::from(text);
        if !is_command && let Some(found) = outside_operation(text) {
            let written = &text[found.range.clone()];
            let message = format!(
                "`{written}` is text from the end of the braces on, and nothing computes it"
            );
            let help = format!(
                "write `${{{}}}`; for the text itself, `{}`",
                found.meaning, found.literal
            );
            let diagnostic = Diagnostic::error(Code::MalformedReference, message);
            sink.push(item.place, diagnostic.help(help));
            rest.to_mut().replace_range(found.range, "");
        }
        for _ in 0..MAX_REPLACEMENTS {
            let Some(marker) = self.marker(&rest) else {
                break;
            };
            let written = &rest[marker.range.clone()];
            let long = self.long_form(written);
            let is_path = !marker.meaning.contains([' ', '(']);
            let long = long.filter(|long| is_path && *long != marker.meaning);
            let also = long.map_or_else(String::new, |long| {
                format!(", or `${{{long}}}` if the answer has such a field")
            });
            let escaped = self.literal_marker(written);
            if marker.is_partial {
                let message =
                    format!("`{written}` is an expression in other systems, and only text here");
                let help = format!(
                    "write it as an expression of this dialect, with `{}` for the reference in it, between `${{` and `}}`",
                    marker.meaning
                );
                let diagnostic = Diagnostic::error(Code::MalformedReference, message);
                sink.push(item.place, diagnostic.help(help));
            } else if marker.is_unresolved {
                let message = format!("`{written}` is only text, and no call has its number");
                let literal = escaped.as_deref().unwrap_or(written);
                let help = format!(
                    "`${{ID}}` is the output of the step `ID`; for the text itself, write `{literal}`"
                );
                let diagnostic = Diagnostic::error(Code::MalformedReference, message);
                sink.push(item.place, diagnostic.help(help));
            } else {
                report(
                    item,
                    (written, escaped.as_deref()),
                    (&marker.replacement(&rest), &also),
                    marker.is_certain,
                    sink,
                );
            }
            let Some(escaped) = escaped else {
                break;
            };
            let dollars = &rest[..marker.range.start];
            let dollars = dollars.len() - dollars.trim_end_matches('$').len();
            let escaped = format!("{}{escaped}", "$".repeat(dollars));
            rest.to_mut().replace_range(marker.range, &escaped);
        }
        let expressions = expressions(&rest, true, &|name| self.is_name(name)).into_iter();
        for found in expressions.filter(|found| found.is_certain || !found.is_plain) {
            let written = &rest[found.range];
            let literal = self.literal_marker(written);
            let literal = literal.map_or_else(String::new, |literal| {
                format!("; for the text itself, `{literal}`")
            });
            let help = format!(
                "an expression of this dialect stands between `${{` and `}}`, such as `${{STEP.FIELD}}`{literal}"
            );
            let diagnostic = expression_message(written, found.is_certain);
            sink.push(item.place, diagnostic.help(help));
        }
    }

    /// The path in this dialect of `{"from": "id", "path": "a.b"}`, if that names a step.
    pub(super) fn path_object(&self, entries: &[ItemEntry]) -> Option<String> {
        // `{"type": "reference", "step": "id", "path": "a.b"}`
        let is_mark = |entry: &&ItemEntry| {
            let text = entry.item.as_text().map(|text| text.to_lowercase());
            matches!(&*entry.key, "type" | "$type" | "kind")
                && text.is_some_and(|text| text.contains("ref") || text.contains("output"))
        };
        if entries.len() - entries.iter().filter(is_mark).count() != 2 {
            return None;
        }
        let steps = [
            "from",
            "from_step",
            "fromStep",
            "step",
            "step_id",
            "stepId",
            "source",
            "node",
            "task",
            "ref",
        ];
        let paths = [
            "path", "field", "key", "output", "property", "select", "pointer",
        ];
        let text = |words: &[&str]| {
            let is_one = |entry: &&ItemEntry| words.contains(&entry.key.trim_start_matches('$'));
            entries.iter().find(is_one)?.item.as_text()
        };
        let (id, path) = (text(&steps)?, text(&paths)?);
        let path = path.trim_start_matches(['$', '.', '/']).replace('/', ".");
        let output = self.steps.get(&**id)?;
        Some(if path.is_empty() {
            output.to_string()
        } else {
            format!("{output}.{path}")
        })
    }

    /// A reference of the form `{"output_by_reference": {"id": ["key"]}}`: its text, and the path in this dialect.
    fn output_by_reference(&self, entries: &[ItemEntry]) -> Option<(String, String)> {
        let [entry] = entries else {
            return None;
        };
        let [step] = entry.item.as_object()? else {
            return None;
        };
        let names = &*entry.key == "output_by_reference" && self.steps.contains_key(&*step.key);
        let path = step.item.as_list().filter(|_| names)?;
        let mut meaning = step.key.to_string();
        for key in path {
            let _ = match key.as_text() {
                Some(key) => write!(meaning, ".{key}"),
                None => write!(meaning, "[{}]", key.to_value().to_json()),
            };
        }
        let inner = entry.item.to_value().to_json();
        Some((format!("{{\"output_by_reference\":{inner}}}"), meaning))
    }
}

/// Returns true if the argument `key` takes commands of a shell.
fn is_command_key(key: &str) -> bool {
    matches!(
        key,
        "command" | "cmd" | "script" | "shell" | "bash" | "commands"
    )
}

/// The diagnostic for `written`, which is in a value of the kind `what`.
fn message(written: &str, what: &str, is_certain: bool) -> Diagnostic {
    let message = format!("`{written}` is a reference in other systems, and only {what} here");
    if is_certain {
        Diagnostic::error(Code::MalformedReference, message)
    } else {
        Diagnostic::warning(Code::MalformedReference, message)
    }
}

/// The diagnostic for the expression `written`, which is only text.
fn expression_message(written: &str, is_certain: bool) -> Diagnostic {
    let message = format!("`{written}` is an expression in other systems, and only text here");
    if is_certain {
        Diagnostic::error(Code::MalformedReference, message)
    } else {
        Diagnostic::warning(Code::MalformedReference, message)
    }
}

/// Reports the marker `written` and how its text is written, with what it means in this dialect and the words after that.
fn report(
    item: &Item,
    (written, text): (&str, Option<&str>),
    (meaning, also): (&str, &str),
    is_certain: bool,
    sink: &mut DiagnosticSink,
) {
    let is_text = item.as_text().is_some();
    let what = if is_text { "text" } else { "an object" };
    let help = match text {
        Some(text) => format!("write `{meaning}`{also}; for the text itself, `{text}`"),
        None => format!("write `{meaning}`{also}"),
    };
    let diagnostic = message(written, what, is_certain);
    sink.push(item.place, diagnostic.help(help));
}
