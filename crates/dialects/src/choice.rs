//! The choice of a dialect for a text whose dialect is not named, and of the plan in a value around it.
//!
//! If a text does not say exactly what it is, it is read only if it has one possible meaning, and with a note; a text that could
//! be two different plans is refused.

use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, Span, TextEdit};

use crate::dialect::Dialect;
use crate::document::{Document, Item, ItemEntry, ItemKind, Syntax, quote};
use crate::embedded_plans::plan_in_text;
use crate::foreign_plans::translated;
use crate::foreign_references::{ReferenceForm, check_plan};
use crate::foreign_text::advice::{Extent, Reading, advice_of, certain_reading, reading};
use crate::native::{
    has_named_steps, is_for_people, resembles_plan, resembles_step, resembles_steps,
};
use crate::registry::{NATIVE, candidates, detect, nearest_dialects};

/// A dialect, and the document to read in it.
pub(crate) struct ChosenDialect {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) document: Document,
    /// The notes about how the text became a plan.
    pub(crate) notes: Diagnostics,
}

/// Chooses the dialect of `document`; a plan of another system is read for advice if that `is_advised`.
///
/// # Errors
///
/// The diagnostics, if no dialect or several dialects have its form.
pub(crate) fn choose(document: Document, is_advised: bool) -> Result<ChosenDialect, Diagnostics> {
    let is_advised = is_advised && document.syntax == Syntax::Json;
    if is_advised && let Some(plan) = plan_in_text(&document.root) {
        let message = "the plan is a text inside of another value";
        // The text around the plan may have a meaning, too.
        let extent = Extent::Part;
        let found = reading(&plan, extent).unwrap_or_else(|| Reading::new(plan, extent));
        return Err(advice_of(
            Code::UnknownDialect,
            message,
            &found,
            document.source.text(),
        ));
    }
    let document = match recognised(document) {
        Ok(found) => return found,
        Err(document) => *document,
    };
    if is_advised && let Some(found) = translated(&document.root.to_value()) {
        let message = format!("the text is {}, not a plan of a dialect", found.form);
        return Err(of_value(&document, &message));
    }
    if let Some((inner, note)) = unwrapped(&document.root) {
        let note = Diagnostic::note(Code::ReadAs, note)
            .at_span("", start_of(&document))
            .fixes(unwrapping_edits(&document, &inner));
        let document = Document {
            root: inner,
            ..document
        };
        let mut found = match recognised(document) {
            Ok(found) => found?,
            Err(document) => native(*document),
        };
        found.notes.push(note);
        return Ok(found);
    }
    if resembles_plan(&document.root) {
        return Ok(native(document));
    }
    if is_advised {
        let message = "the text is a plan of another system, not of a dialect";
        let found = of_value(&document, message);
        if !found.is_empty() {
            return Err(found);
        }
    }
    let mut diagnostics = Diagnostics::new();
    if let Err(diagnostic) = detect(&document) {
        diagnostics.push(*diagnostic);
    }
    diagnostics.extend(nearest_dialects(&document));
    Err(diagnostics)
}

/// The advice about `document`, whose plan was read with `diagnostics`: if it has unknown fields and is a complete plan of
/// another system, the translation of that plan.
pub(crate) fn other_reading(document: &Document, diagnostics: &Diagnostics) -> Option<Diagnostics> {
    if unled(diagnostics) == 0 {
        return None;
    }
    let text = document.source.text();
    let span = document.source.span(document.root.place);
    let range = span.map_or(0..0, |span| span.start..span.end);
    let found = certain_reading(&document.root.to_value(), Extent::of(range, text))?;
    let message = "the text is a plan of another system, not of a dialect";
    Some(advice_of(Code::UnknownDialect, message, &found, text))
}

/// The advice about the value of `document`, a plan of another system; none if it is not a plan.
fn of_value(document: &Document, message: &str) -> Diagnostics {
    let text = document.source.text();
    let span = document.source.span(document.root.place);
    let range = span.map_or(0..0, |span| span.start..span.end);
    match reading(&document.root.to_value(), Extent::of(range, text)) {
        Some(found) => advice_of(Code::UnknownDialect, message, &found, text),
        None => Diagnostics::new(),
    }
}

/// The dialect that recognises `document`, or the reason why several do; the document itself if none does.
fn recognised(document: Document) -> Result<Result<ChosenDialect, Diagnostics>, Box<Document>> {
    let candidates = candidates(&document);
    match candidates.as_slice() {
        [] => Err(Box::new(document)),
        [only] => Ok(Ok(ChosenDialect {
            dialect: *only,
            document,
            notes: Diagnostics::new(),
        })),
        several => Ok(among(several, document)),
    }
}

fn native(document: Document) -> ChosenDialect {
    ChosenDialect {
        dialect: NATIVE,
        document,
        notes: Diagnostics::new(),
    }
}

/// The dialect for a `document` that `several` dialects recognise: the native one, or else the only one that can read it.
fn among(
    several: &[&'static dyn Dialect],
    document: Document,
) -> Result<ChosenDialect, Diagnostics> {
    let is_native = |dialect: &&&dyn Dialect| dialect.name() == NATIVE.name();
    let ambiguous = || {
        let diagnostic = detect(&document).err().map(|diagnostic| *diagnostic);
        diagnostic.into_iter().collect::<Diagnostics>()
    };
    if several.iter().any(|dialect| is_native(&dialect)) {
        let others = several.iter().filter(|dialect| !is_native(dialect));
        let others: Vec<String> = others.map(|dialect| quote(dialect.name())).collect();
        let message = format!(
            "the text is read as `native`, although it has the form of {} as well",
            others.join(", ")
        );
        let note = Diagnostic::note(Code::ReadAs, message)
            .at_span("", start_of(&document))
            .help("steps run in parallel unless one refers to the other: `--dialect` chooses another dialect");
        return Ok(ChosenDialect {
            notes: [note].into_iter().collect(),
            ..native(document)
        });
    }
    if document.syntax == Syntax::Lines || !is_native_like(&document.root) {
        return Err(ambiguous());
    }
    let reads = |dialect: &&&'static dyn Dialect| {
        let (_, diagnostics) = parse_with(**dialect, document.clone());
        !diagnostics.has_errors()
    };
    let mut readers = several.iter().filter(reads);
    match (readers.next(), readers.next()) {
        (Some(_), Some(_)) => Err(ambiguous()),
        (Some(only), None) => Ok(ChosenDialect {
            dialect: *only,
            document,
            notes: Diagnostics::new(),
        }),
        (None, _) => Ok(native(document)),
    }
}

/// Returns true if each step of `root` has an id and a call, and no reference has the form of another system.
fn is_native_like(root: &Item) -> bool {
    has_named_steps(root) && !has_foreign_reference(root)
}

fn has_foreign_reference(item: &Item) -> bool {
    match &item.kind {
        ItemKind::Text(text) => {
            let marks = ["$ref:", "${step[", "\u{2020}"];
            marks.iter().any(|mark| text.contains(mark))
        }
        ItemKind::List(items) => items.iter().any(has_foreign_reference),
        ItemKind::Object(entries) => entries.iter().any(|entry| {
            &*entry.key == "output_by_reference" || has_foreign_reference(&entry.item)
        }),
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => false,
    }
}

/// Reads `document` in `dialect`, and searches it for references of other systems.
pub(crate) fn parse_with(dialect: &dyn Dialect, document: Document) -> (Option<Plan>, Diagnostics) {
    let (plan, mut diagnostics) = dialect.parse(document);
    if let (Some(plan), Some(form)) = (&plan, dialect.reference_form()) {
        diagnostics.extend(check_plan(plan, form));
    }
    (plan, diagnostics)
}

/// Reads a plan in the chosen dialect. If the plan has errors and may be one of another dialect, the first diagnostic names the
/// dialect and the reason for the choice.
///
/// A plan of another dialect with errors is read as native if its steps have ids and the native dialect reports fewer errors:
/// then the fields of the other dialect were guesses.
pub(crate) fn parse_choice(choice: ChosenDialect) -> (&'static str, (Option<Plan>, Diagnostics)) {
    let ChosenDialect {
        mut dialect,
        document,
        mut notes,
    } = choice;
    let is_native = dialect.name() == NATIVE.name();
    let fields = fields_of(&document.root);
    let as_native =
        (!is_native && document.syntax == Syntax::Json && is_native_like(&document.root))
            .then(|| document.clone());
    // References of the native dialect are only text in a dialect with others.
    let is_own = |form: ReferenceForm| (form.is_own)("${a.b}");
    let is_foreign = dialect.reference_form().is_some_and(|form| !is_own(form))
        && document.source.text().contains("${");
    let (mut plan, mut diagnostics) = parse_with(dialect, document);
    if diagnostics.has_errors()
        && let Some(document) = as_native
    {
        let (native, of_native) = parse_with(NATIVE, document);
        let leads = unled(&of_native) == 0 && unled(&diagnostics) > 0;
        if is_foreign || leads || errors(&of_native) < errors(&diagnostics) {
            (dialect, plan, diagnostics) = (NATIVE, native, of_native);
        }
    }
    // A plan that only the native dialect has the form of was not chosen.
    let is_chosen = !is_native || dialect.name() != NATIVE.name();
    if diagnostics.has_errors() && notes.is_empty() && is_chosen {
        let (name, reason) = (dialect.name(), evidence(dialect, &fields));
        let message = format!("the text is read as `{name}`: {reason}");
        let note = Diagnostic::note(Code::ReadAs, message);
        notes.push(note.help("`--dialect` chooses another dialect"));
    }
    notes.extend(diagnostics);
    (dialect.name(), (plan, notes))
}

/// The maximum number of fields in the reason for a dialect.
const MAX_EVIDENCE: usize = 4;

/// The names of the fields of `root`, and of the items of its lists.
fn fields_of(root: &Item) -> Vec<Arc<str>> {
    let items = root.as_list().into_iter().flatten();
    let own = root.as_object().into_iter().flatten();
    let inner = own.clone().filter_map(|entry| entry.item.as_list());
    let inner = inner.flatten().chain(items).take(MAX_EVIDENCE);
    let inner = inner.filter_map(Item::as_object).flatten();
    let mut fields: Vec<Arc<str>> = Vec::new();
    for entry in own.chain(inner) {
        if !fields.contains(&entry.key) {
            fields.push(Arc::clone(&entry.key));
        }
    }
    fields
}

/// The reason why a text with `fields` is read in `dialect`.
fn evidence(dialect: &dyn Dialect, fields: &[Arc<str>]) -> String {
    if dialect.syntax() == Syntax::Lines {
        return "its lines have the form of that dialect".to_owned();
    }
    let shape = dialect.shape();
    let found = fields
        .iter()
        .filter(|field| shape.contains(&format!("\"{field}\"")));
    let found: Vec<String> = found.take(MAX_EVIDENCE).map(|field| quote(field)).collect();
    if found.is_empty() {
        return "no other dialect is nearer".to_owned();
    }
    format!("it has {}", found.join(", "))
}

fn errors(diagnostics: &Diagnostics) -> usize {
    diagnostics.iter().filter(|found| found.is_error()).count()
}

/// The number of unknown fields in `diagnostics` that are not words for another field.
fn unled(diagnostics: &Diagnostics) -> usize {
    let is_unled = |found: &&Diagnostic| {
        let help = found.help.as_deref().unwrap_or_default();
        found.code == Code::UnknownField && help.starts_with("it may have")
    };
    diagnostics.iter().filter(is_unled).count()
}

/// The place of a note about the whole text.
fn start_of(document: &Document) -> Span {
    let span = document.source.span(document.root.place);
    let start = span.unwrap_or_default().start;
    Span { start, end: start }
}

/// The names of the tools that take a plan.
const PLAN_TOOLS: [&str; 4] = ["execute_plan", "run_plan", "plan", "create_plan"];

/// Fields whose only content is a plan.
const WRAPPERS: [&str; 11] = [
    "definition",
    "plan",
    "workflow",
    "execution_plan",
    "executionPlan",
    "tool_plan",
    "arguments",
    "args",
    "input",
    "parameters",
    "params",
];

/// The maximum number of values around a plan.
const MAX_WRAPPERS: usize = 3;

/// The plan inside `root`, and the note about the values around it; `None` if there is none.
fn unwrapped(root: &Item) -> Option<(Item, String)> {
    if resembles_steps(root) {
        let note = "the list is read as the `steps` of a plan";
        return Some((plan_of(root), note.to_owned()));
    }
    if let Some(calls) = calls_of_parts(root) {
        let note = "the calls of the response are read, `call_1` and so on";
        return Some((plan_of(&calls), note.to_owned()));
    }
    if is_call(root) {
        let note = "the call is read as a plan of one step";
        let list = Item {
            kind: ItemKind::List(vec![root.clone()]),
            place: root.place,
        };
        // A list of calls with names has its own dialect.
        let plan = if root.has("tool") {
            plan_of(&list)
        } else {
            list
        };
        return Some((plan, note.to_owned()));
    }
    let mut inner = root;
    let mut fields = Vec::new();
    for _ in 0..MAX_WRAPPERS {
        let Some(entry) = wrapper(inner) else {
            break;
        };
        fields.push(format!("`{}`", entry.key));
        inner = &entry.item;
        let note = || {
            format!(
                "the plan is read from the field {} around it",
                fields.join(", ")
            )
        };
        if resembles_steps(inner) {
            return Some((plan_of(inner), note()));
        }
        if resembles_plan(inner) {
            return Some((inner.clone(), note()));
        }
    }
    None
}

/// The steps of the calls in a response of Gemini, `{"candidates": [{"content": {"parts": [{"functionCall": …}]}}]}`, or in one of its
/// parts; otherwise `None`. Parts of text are left out.
fn calls_of_parts(root: &Item) -> Option<Item> {
    let candidate = match root.get("candidates").and_then(Item::as_list) {
        Some([only]) => only,
        Some(_) => return None,
        None => root,
    };
    let content = candidate.get("content").unwrap_or(candidate);
    let parts = content.get("parts").unwrap_or(content);
    let calls = parts.as_list()?.iter().filter_map(|part| {
        part.get("functionCall")
            .or_else(|| part.get("function_call"))
    });
    let steps = calls.enumerate().map(|(index, call)| {
        let name = call.get("name").filter(|name| name.as_text().is_some())?;
        let entry = |key: &str, item: Item| ItemEntry {
            key: key.into(),
            key_span: Span::default(),
            item,
        };
        let id = ItemKind::Text(format!("call_{}", index + 1).into());
        let id = Item {
            kind: id,
            place: call.place,
        };
        let mut fields = vec![entry("id", id), entry("tool", name.clone())];
        fields.extend(call.get("args").map(|args| entry("args", args.clone())));
        Some(Item {
            kind: ItemKind::Object(fields),
            place: call.place,
        })
    });
    let steps: Vec<Item> = steps.collect::<Option<_>>()?;
    (!steps.is_empty()).then_some(Item {
        kind: ItemKind::List(steps),
        place: parts.place,
    })
}

/// The edits that reduce the text of `document` to the plan `inner` inside it; empty if more than the fields around the plan
/// would be lost.
fn unwrapping_edits(document: &Document, inner: &Item) -> Vec<TextEdit> {
    let span = |item: &Item| document.source.span(item.place);
    let (Some(outer), Some(whole)) = (span(&document.root), span(inner)) else {
        return Vec::new();
    };
    let text = document.source.text();
    let surroundings = [
        text.get(outer.start..whole.start).unwrap_or_default(),
        text.get(whole.end..outer.end).unwrap_or_default(),
    ];
    let mut around = &document.root;
    while around.place != inner.place {
        let Some([only]) = around.as_object() else {
            return Vec::new();
        };
        around = &only.item;
    }
    if surroundings.iter().any(|text| text.contains(['/', '#'])) {
        return Vec::new();
    }
    // A list of steps, or a single one, has a plan around it that the text does not have.
    let (open, close) = match (around.as_list().is_some(), inner.as_object().is_some()) {
        (true, true) => (r#"{"steps": "#, "}"),
        (false, true) if !resembles_plan(around) => (r#"{"steps": ["#, "]}"),
        (_, true) => ("", ""),
        (_, false) => return Vec::new(),
    };
    vec![
        TextEdit::new(outer.start..whole.start, open),
        TextEdit::new(whole.end..outer.end, close),
    ]
}

/// Returns true if `root` is a single call.
fn is_call(root: &Item) -> bool {
    let is_tool = |name: &Item| {
        name.as_text()
            .is_some_and(|name| !PLAN_TOOLS.contains(&&**name))
    };
    let tool = root.get("tool").or_else(|| root.get("name"));
    // A plan whose steps are malformed has a `name` as well.
    let steps = root.get("steps").and_then(Item::as_list);
    let has_steps = steps.is_some_and(|steps| steps.iter().all(|step| step.as_object().is_some()));
    tool.is_some_and(is_tool) && resembles_step(root) && !resembles_plan(root) && !has_steps
}

/// The field of `item` that holds the plan, if all others say nothing about a run.
fn wrapper(item: &Item) -> Option<&ItemEntry> {
    let entries = item.as_object()?;
    let is_wrapper = |entry: &&ItemEntry| {
        let is_structure = matches!(entry.item.kind, ItemKind::Object(_) | ItemKind::List(_));
        WRAPPERS.contains(&&*entry.key) && is_structure
    };
    let mut wrappers = entries.iter().filter(is_wrapper);
    let (found, None) = (wrappers.next()?, wrappers.next()) else {
        return None;
    };
    let is_harmless = |entry: &ItemEntry| {
        let names_tool = matches!(&*entry.key, "name" | "tool" | "function")
            && entry
                .item
                .as_text()
                .is_some_and(|name| PLAN_TOOLS.contains(&&**name));
        names_tool
            || std::ptr::eq(entry, found)
            || matches!(&*entry.key, "id" | "title")
            || is_for_people(&entry.key, &entry.item)
    };
    entries.iter().all(is_harmless).then_some(found)
}

/// A plan whose steps are the items of `list`.
fn plan_of(list: &Item) -> Item {
    let place: Place = list.place;
    let steps = ItemEntry {
        key: "steps".into(),
        key_span: Span::default(),
        item: list.clone(),
    };
    Item {
        kind: ItemKind::Object(vec![steps]),
        place,
    }
}
