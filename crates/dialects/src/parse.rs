//! The entry point: reads a text, recognises its dialect, lowers it to a plan.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Diagnostics, Plan, Span, TextEdit, Value};

use crate::choice::{choose, other_reading, parse_choice, parse_with};
use crate::dialect::Dialect;
use crate::document::{
    Document, EnclosedPart, Enclosure, ItemKind, ReadLimits, Syntax, enclosed_parts, quote, read,
    read_lines, read_part, read_yaml_without_holders, yaml_part,
};
use crate::foreign_text;
use crate::foreign_text::advice::{Extent, advice};
use crate::registry::{by_name, mention_lines, syntax_of};

/// The options of reading a text.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// The name of the text in messages: a file name, `stdin`, the name of a stored plan.
    pub name: &'a str,
    /// The dialect; recognised by the form of the text if absent.
    pub dialect: Option<&'a str>,
    /// The limits of reading.
    pub limits: ReadLimits,
    /// The number of the first place, for texts that extend an existing plan.
    pub base: u32,
}

impl<'a> ReadOptions<'a> {
    /// Options for a text called `name` in any dialect, with default limits.
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            dialect: None,
            limits: ReadLimits::default(),
            base: 0,
        }
    }

    /// The same options for the dialect `dialect`.
    pub fn in_dialect(self, dialect: &'a str) -> Self {
        Self {
            dialect: Some(dialect),
            ..self
        }
    }
}

/// The result of reading a text.
#[derive(Clone, Debug)]
#[must_use = "the diagnostics should be shown"]
pub struct ParseResult {
    /// The plan, as far as it could be read. If the diagnostics hold errors, it is for further checks only.
    pub plan: Option<Plan>,
    /// The dialect, if it is known.
    pub dialect: Option<&'static str>,
    /// The diagnostics.
    pub diagnostics: Diagnostics,
    /// The text, for snippets; empty if it exceeded the size limit.
    pub source: Arc<str>,
}

impl From<Plan> for ParseResult {
    /// The result for a plan without a text, or without diagnostics of its own.
    fn from(plan: Plan) -> Self {
        let source = plan.sources.iter().next();
        Self {
            source: source
                .map(|source| Arc::clone(source.text()))
                .unwrap_or_default(),
            plan: Some(plan),
            dialect: None,
            diagnostics: Diagnostics::new(),
        }
    }
}

/// Reads a plan in the chosen or the recognised dialect.
pub fn parse(text: &[u8], options: &ReadOptions<'_>) -> ParseResult {
    let chosen = options.dialect.map(by_name).transpose();
    read_plan(text, options, chosen, true)
}

/// Reads a plan as [`parse`] does, without advice about plans of other systems: that reads plans itself.
pub(crate) fn parse_unadvised(text: &[u8], options: &ReadOptions<'_>) -> ParseResult {
    read_plan(text, options, Ok(None), false)
}

/// Reads a plan in `dialect`, which need not be one of [`dialects`](crate::dialects()).
pub fn parse_as(dialect: &dyn Dialect, text: &[u8], options: &ReadOptions<'_>) -> ParseResult {
    read_plan(text, options, Ok(Some(dialect)), true)
}

fn read_plan(
    text: &[u8],
    options: &ReadOptions<'_>,
    chosen: Result<Option<&dyn Dialect>, Box<Diagnostic>>,
    is_advised: bool,
) -> ParseResult {
    let part = enclosed_part(text, options);
    if is_advised
        && matches!(chosen, Ok(None))
        && !matches!(part, EnclosedJson::All)
        && let Some(found) = tagged_calls(text)
    {
        return ParseResult {
            plan: None,
            dialect: None,
            diagnostics: bounded(found, options.limits.diagnostics),
            source: snippet_text(text, &options.limits),
        };
    }
    let syntax = match (&chosen, &part) {
        (Ok(Some(dialect)), _) => dialect.syntax(),
        (_, EnclosedJson::Only(part)) if part.enclosure == Enclosure::Assignment => Syntax::Json,
        // An unknown dialect needs a syntax as well, so that the problems of the text are reported.
        (Ok(None) | Err(_), _) => syntax_of(text),
    };
    let is_json = syntax == Syntax::Json;
    let yaml = if is_json && matches!(part, EnclosedJson::All) {
        yaml_plan(text, options, matches!(chosen, Ok(Some(_))))
    } else {
        None
    };
    let yaml_spans = yaml.as_ref().map(|(document, _)| spans(document));
    let (document, mut diagnostics) = match (yaml, syntax) {
        (Some((document, note)), _) => (Some(document), [note].into_iter().collect()),
        (None, Syntax::Json) => read_json(text, options, part),
        (None, Syntax::Lines) => read_lines(text, options.name, options.base, &options.limits),
    };
    let Some(document) = document else {
        // The syntax was only guessed: the text may be a malformed plan in lines.
        if let Ok(None) = chosen {
            explain_text(text, &mut diagnostics);
        }
        diagnostics.extend(
            chosen
                .err()
                .map(|diagnostic| *diagnostic)
                .into_iter()
                .collect(),
        );
        return ParseResult {
            plan: None,
            dialect: None,
            diagnostics,
            source: snippet_text(text, &options.limits),
        };
    };
    let source = Arc::clone(document.source.text());
    let is_recognised = matches!(chosen, Ok(None));
    let may_be_calls = matches!(chosen, Ok(None)) && syntax == Syntax::Lines;
    let may_be_other = is_advised && matches!(chosen, Ok(None)) && syntax == Syntax::Json;
    let choice = match chosen {
        Ok(Some(dialect)) => Ok(parse_with(dialect, document)).map(|read| (dialect.name(), read)),
        Ok(None) => choose(document, is_advised).map(parse_choice),
        Err(diagnostic) => Err([*diagnostic].into_iter().collect()),
    };
    let (dialect, plan) = match choice {
        Ok((dialect, (plan, of_plan))) => {
            diagnostics.extend(of_plan);
            (Some(dialect), plan)
        }
        Err(reasons) => {
            // A text with a malformed part is not known to be no plan.
            if syntax == Syntax::Json && diagnostics.has_errors() {
                if is_recognised {
                    explain_text(text, &mut diagnostics);
                }
            } else {
                diagnostics.extend(reasons);
            }
            (None, None)
        }
    };
    if may_be_other
        && dialect.is_some()
        && diagnostics.has_errors()
        && let Some(document) = yaml_plan(text, options, false)
            .map(|(document, _)| document)
            .or_else(|| read_json(text, options, enclosed_part(text, options)).0)
        && let Some(found) = other_reading(&document, &diagnostics)
    {
        return ParseResult {
            plan: None,
            dialect: None,
            diagnostics: bounded(found, options.limits.diagnostics),
            source,
        };
    }
    if may_be_calls
        && matches!(dialect, None | Some("lines"))
        && diagnostics.has_errors()
        && !diagnostics
            .iter()
            .any(|found| found.code == Code::AmbiguousDialect)
        && let Some(found) = foreign_text::calls::diagnostics(&source)
            .or_else(|| foreign_text::of_markup(&source))
            .or_else(|| foreign_text::of_program(&source))
    {
        return ParseResult {
            plan: None,
            dialect,
            diagnostics: bounded(found, options.limits.diagnostics),
            source,
        };
    }
    if let Some(spans) = yaml_spans {
        diagnostics = with_yaml_edits(diagnostics, &spans);
        let is_fixed = |text: String| {
            !parse_unadvised(text.as_bytes(), options)
                .diagnostics
                .has_errors()
        };
        if may_be_other
            && diagnostics.has_errors()
            && !diagnostics.apply_fixes(&source).is_some_and(is_fixed)
            && let Some(found) = foreign_text::of_whole_yaml(&source)
        {
            return ParseResult {
                plan: None,
                dialect: None,
                diagnostics: bounded(found, options.limits.diagnostics),
                source,
            };
        }
    }
    ParseResult {
        plan,
        dialect,
        diagnostics: bounded(diagnostics, options.limits.diagnostics),
        source,
    }
}

/// Reads the plan in a YAML `text`, with a note that it is YAML. Unless a dialect is chosen, the value must have the form of a
/// plan: prose and other files may be YAML as well.
fn yaml_plan(
    text: &[u8],
    options: &ReadOptions<'_>,
    is_dialect_chosen: bool,
) -> Option<(Document, Diagnostic)> {
    let text = std::str::from_utf8(text).ok()?;
    let part = yaml_part(text).filter(|_| text.len() <= options.limits.bytes)?;
    let start = part.start;
    let is_whole = part == (0..text.len());
    let spot = (options.name, options.base);
    let (document, holders) = read_yaml_without_holders(text, part, spot, &options.limits).ok()?;
    // A quoted text is YAML, too. Its value as JSON is that text again, which the search for a reading would read without end.
    let is_plan = matches!(document.root.kind, ItemKind::List(_) | ItemKind::Object(_))
        && (is_dialect_chosen || choose(document.clone(), true).is_ok());
    let mut message = if is_whole {
        "the text is YAML, and is read as the equivalent JSON".to_owned()
    } else {
        "only the block of YAML is read, as the equivalent JSON".to_owned()
    };
    if !holders.is_empty() {
        let keys: Vec<String> = holders.iter().map(|key| quote(key)).collect();
        let keys = keys.join(", ");
        message = format!("{message}, without {keys}: only its anchors count");
    }
    let note = Diagnostic::note(Code::ReadAs, message).at_span("", start..start);
    is_plan.then_some((document, note))
}

/// The places of all keys and values of `document` in the text.
fn spans(document: &Document) -> HashSet<Span> {
    let mut spans = HashSet::new();
    let mut open = vec![&document.root];
    while let Some(item) = open.pop() {
        spans.extend(document.source.span(item.place));
        match &item.kind {
            ItemKind::Object(entries) => {
                spans.extend(entries.iter().map(|entry| entry.key_span));
                open.extend(entries.iter().map(|entry| &entry.item));
            }
            ItemKind::List(items) => open.extend(items),
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => {}
        }
    }
    spans
}

/// The diagnostics about a text of YAML, with the edits that are valid there: those that replace a key or a value by one in JSON,
/// which is YAML as well. Insertions and removals are made for JSON with its commas, and so is one value in place of another that becomes
/// several.
fn with_yaml_edits(diagnostics: Diagnostics, spans: &HashSet<Span>) -> Diagnostics {
    let is_value = |edit: &TextEdit| {
        let is_part = spans.contains(&edit.span);
        is_part && serde_json::from_str::<serde::de::IgnoredAny>(&edit.replacement).is_ok()
    };
    let fitting = |diagnostic: Diagnostic| {
        let is_fitting = diagnostic.fixes.iter().all(is_value);
        if is_fitting {
            diagnostic
        } else {
            diagnostic.fixes([])
        }
    };
    diagnostics.into_iter().map(fitting).collect()
}

/// The JSON inside a longer text.
enum EnclosedJson {
    /// True if the text has no other part.
    All,
    /// The part alone is read.
    Only(EnclosedPart),
    /// Several parts may be the plan.
    Several(Vec<EnclosedPart>),
}

/// Finds the part of `text` that is JSON.
fn enclosed_part(text: &[u8], options: &ReadOptions<'_>) -> EnclosedJson {
    let text = match std::str::from_utf8(text) {
        Ok(text) if text.len() <= options.limits.bytes => text,
        // The reader reports the problem.
        _ => return EnclosedJson::All,
    };
    let mut parts = enclosed_parts(text);
    if parts.len() > 1 {
        // Of several blocks, those that are not plans are examples and outputs.
        let is_plan = |part: &EnclosedPart| {
            let range = Some(part.range.clone());
            let (document, _) = read_part(text, range, (options.name, 0), &options.limits);
            document.is_some_and(|document| choose(document, false).is_ok())
        };
        let plans: Vec<EnclosedPart> = parts.iter().filter(|part| is_plan(part)).cloned().collect();
        if !plans.is_empty() {
            parts = plans;
        }
    }
    match parts.len() {
        0 => EnclosedJson::All,
        1 => parts.pop().map_or(EnclosedJson::All, |part| {
            if part.enclosure == Enclosure::Assignment && !assigns_plan(text, &part, options) {
                EnclosedJson::All
            } else {
                EnclosedJson::Only(part)
            }
        }),
        _ => EnclosedJson::Several(parts),
    }
}

/// Returns true if the value of a variable is a plan: a step in lines may be an object as well, but has no `steps`.
fn assigns_plan(text: &str, part: &EnclosedPart, options: &ReadOptions<'_>) -> bool {
    let range = Some(part.range.clone());
    let (document, _) = read_part(text, range, (options.name, 0), &options.limits);
    document.is_some_and(|document| {
        document.root.has("steps")
            || document.root.has("calls")
            || document.root.as_list().is_some()
    })
}

fn read_json(
    text: &[u8],
    options: &ReadOptions<'_>,
    part: EnclosedJson,
) -> (Option<Document>, Diagnostics) {
    let part = match part {
        EnclosedJson::All => return read(text, options.name, options.base, &options.limits),
        EnclosedJson::Only(part) => part,
        EnclosedJson::Several(parts) => return (None, several_plans(text, &parts)),
    };
    let start = part.range.start;
    let edits = part.edits(text);
    let spot = (options.name, options.base);
    let (document, mut diagnostics) = read_part(text, Some(part.range), spot, &options.limits);
    let note = Diagnostic::note(Code::ReadAs, part.enclosure.describe()).fixes(edits);
    diagnostics.push(note.at_span("", start..start));
    diagnostics.sort();
    (document, diagnostics)
}

/// The error about a text that holds several plans.
fn several_plans(text: &[u8], parts: &[EnclosedPart]) -> Diagnostics {
    let line = |part: &EnclosedPart| {
        let before = text.get(..part.range.start).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        line.to_string()
    };
    let lines: Vec<String> = parts.iter().map(line).collect();
    let message = format!(
        "the text holds several plans, in the lines {}",
        lines.join(" and ")
    );
    let at = parts.first().map_or(0, |part| part.range.start);
    if let Ok(text) = std::str::from_utf8(text)
        && let Some(plan) = plan_of_steps(text, parts)
    {
        let message = format!(
            "each block of the text, in the lines {}, is a step",
            lines.join(" and ")
        );
        return advice(Code::NotJson, &message, &plan, Extent::Part, text);
    }
    let diagnostic = Diagnostic::error(Code::NotJson, message).at_span("", at..at);
    [diagnostic.help("give the one that is meant, or put the steps of all into one `steps`")]
        .into_iter()
        .collect()
}

/// The plan whose steps are the objects in `parts` of `text`; `None` if one of them is more than a call.
fn plan_of_steps(text: &str, parts: &[EnclosedPart]) -> Option<Value> {
    let steps = parts.iter().map(|part| {
        let value = Value::from_json(text.get(part.range.clone())?).ok()?;
        let is_call = ["tool", "tool_name", "name", "action"]
            .iter()
            .any(|word| value.get(word).is_some_and(|tool| tool.as_text().is_some()));
        (is_call && value.get("steps").is_none()).then_some(value)
    });
    let steps = Value::list(steps.collect::<Option<Vec<_>>>()?);
    // The words around the blocks name an order.
    Some(Value::object([
        ("ordering", Value::text("listed")),
        ("steps", steps),
    ]))
}

/// Describes a text that is neither JSON nor lines of calls in one diagnostic.
/// The diagnostics about JSON inside of elements of XML, `<tool_call>{…}</tool_call>`, which are calls of one plan.
fn tagged_calls(text: &[u8]) -> Option<Diagnostics> {
    let text = std::str::from_utf8(text).ok()?;
    let is_tagged = text.contains("</") && !text.trim_start().starts_with(['{', '[']);
    is_tagged.then(|| foreign_text::of_markup(text))?
}

fn explain_text(text: &[u8], diagnostics: &mut Diagnostics) {
    let markup = std::str::from_utf8(text)
        .ok()
        .and_then(foreign_text::of_markup);
    if let Some(found) = markup {
        *diagnostics = found;
        return;
    }
    let is_json = |text: &str| {
        text.trim_start().starts_with(['{', '[']) && !foreign_text::only_looks_like_json(text)
    };
    let written = std::str::from_utf8(text).ok();
    if let Some(found) = written.and_then(foreign_text::of_typographic_quotes) {
        *diagnostics = found;
        return;
    }
    let code = written.filter(|text| !is_json(text));
    let known = code.filter(|text| enclosed_parts(text).is_empty());
    if let Some(found) = known
        .and_then(foreign_text::calls::diagnostics)
        .or_else(|| code.and_then(foreign_text::of_program))
        .or_else(|| code.and_then(foreign_text::calls::diagnostics))
    {
        *diagnostics = found;
        return;
    }
    match known.and_then(foreign_text::diagnostics) {
        Some(found) if diagnostics.iter().all(|found| found.code == Code::NotJson) => {
            *diagnostics = found;
        }
        _ => mention_lines(diagnostics),
    }
}

fn snippet_text(text: &[u8], limits: &ReadLimits) -> Arc<str> {
    if text.len() > limits.bytes {
        return Arc::default();
    }
    String::from_utf8_lossy(text).into()
}

/// The first `max` diagnostics, notes and errors before warnings if there are too many; the last one states how many were left
/// out.
fn bounded(mut diagnostics: Diagnostics, max: usize) -> Diagnostics {
    diagnostics.sort();
    if diagnostics.len() <= max {
        return diagnostics;
    }
    // If diagnostics were left out before, only a lower bound of their number is known.
    let (total, is_all) = (diagnostics.len(), !diagnostics.mentions_omitted());
    let (errors, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
        diagnostics.into_iter().partition(Diagnostic::is_error);
    let (notes, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) =
        others.into_iter().partition(Diagnostic::is_note);
    let shown = notes.into_iter().chain(errors).chain(warnings);
    let mut shown: Diagnostics = shown.take(max).collect();
    let more = total - max;
    if is_all {
        shown.note_omitted(more);
    } else {
        shown.note_omitted(format_args!("more than {more}"));
    }
    shown
}
