//! The dialect: reads the lines as the tree that the JSON reader would make, and passes it to the native reader.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::{
    Code, Diagnostic, Diagnostics, EXTRACTION, Place, Plan, PointerSegment, Span, TextEdit, Value,
};

use super::line::{self, FORM, LineStart, StepBody, StepHead, assigned_name, name_at};
use super::print;
use super::statement::{LineStatement, LineToken, StatementKind, all, confidence};
use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{
    DiagnosticSink, Document, Item, ItemEntry, ItemKind, LineValueReader, REDUCE_SIZE, ReadLimits,
    Syntax, quote, read_lines,
};
use crate::lowering::guards;
use crate::lowering::lines::{LineContext, unchecked_fields};
use crate::native::guesses::UsedIds;
use crate::native::parse::parse as parse_tree;

/// Planwright's own dialect in lines.
#[derive(Clone, Copy, Debug)]
pub struct Lines;

impl Dialect for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn shape(&self) -> &'static str {
        "lines `id = tool(name=value)` with `${id.field}`, then `return value`"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Lines
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let text = document.root.as_text();
        text.map_or(MatchConfidence::No, |text| confidence(text))
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let (document, mut diagnostics) = read_tree(document);
    let Some(document) = document else {
        return (None, diagnostics);
    };
    let (plan, sink) = parse_tree(document);
    diagnostics.extend(sink);
    diagnostics.sort();
    (plan, diagnostics)
}

/// The native JSON of a plan in lines; `None` if part of it cannot be read.
///
/// ```
/// use planwright_dialects::native::lines::to_json;
///
/// let plan = to_json("a = f(x=${b.c})").unwrap();
/// assert_eq!(plan.to_json(), r#"{"steps":[{"id":"a","tool":"f","args":{"x":"${b.c}"}}]}"#);
/// ```
pub fn to_json(text: &str) -> Option<Value> {
    let (document, _) = read_lines(text, "plan", 0, &ReadLimits::default());
    let (document, sink) = read_tree(document?);
    let document = document.filter(|_| !sink.has_errors())?;
    Some(document.root.to_value())
}

/// The document whose root is the tree of the lines in `document`; `None` if it has no plan.
fn read_tree(document: Document) -> (Option<Document>, Diagnostics) {
    let mut sink = DiagnosticSink::new();
    let mut source = document.source;
    let text = Arc::clone(source.text());
    let mut reader = StatementReader {
        context: LineContext::new(&mut source, &mut sink, document.root.place),
        values: LineValueReader::new(document.limits),
        text: &text,
        root: document.root.place,
        fields: None,
        steps: Vec::new(),
        output: None,
        indentation: None,
        is_in_block: false,
        foreign: Vec::new(),
        ids: None,
        last_value: None,
    };
    reader.read(document.limits.diagnostics);
    let root = reader.finish();
    let diagnostics = sink.finish(&source);
    let document = root.map(|root| Document {
        root,
        source,
        ..document
    });
    (document, diagnostics)
}

/// The state of reading a plan in lines.
struct StatementReader<'a> {
    context: LineContext<'a>,
    values: LineValueReader,
    text: &'a str,
    root: Place,
    /// The fields of the plan, if a line has them.
    fields: Option<Vec<ItemEntry>>,
    steps: Vec<Item>,
    output: Option<ItemEntry>,
    /// The indentation of the first statement.
    indentation: Option<&'a str>,
    /// True after a line that was reported, for the lines of its block.
    is_in_block: bool,
    /// The steps in the syntax of other languages, each with the correct line.
    foreign: Vec<(Range<usize>, String)>,
    /// The ids of all steps, once a call without an id needs another one.
    ids: Option<UsedIds>,
    /// The last step, if it only computes a value: its id, and whether the value stands alone behind it.
    last_value: Option<(Range<usize>, bool)>,
}

/// The names by which programs call what they return.
const RESULT_NAMES: [&str; 8] = [
    "output",
    "outputs",
    "result",
    "results",
    "answer",
    "final",
    "final_answer",
    "final_output",
];

impl StatementReader<'_> {
    fn read(&mut self, max_diagnostics: usize) {
        for found in all(self.text) {
            match found {
                LineToken::Statement(statement) => self.statement(&statement),
                LineToken::OtherLine(range) => {
                    let line = &self.text[range.clone()];
                    if let Some((message, help)) = line::error(line) {
                        let diagnostic = Diagnostic::error(Code::MalformedLine, message).help(help);
                        let diagnostic = self.with_id(diagnostic, range.clone());
                        self.context.report(range, diagnostic);
                        self.is_in_block = true;
                    } else if !line.trim().is_empty() {
                        self.is_in_block = false;
                    }
                }
                LineToken::Fence(_) => {}
            }
            // Further diagnostics would not be shown.
            if self.context.sink.count() > max_diagnostics || self.values.is_exhausted() {
                break;
            }
        }
    }

    /// `diagnostic` about the line at `range`, with an id for the call if it has none.
    fn with_id(&mut self, diagnostic: Diagnostic, range: Range<usize>) -> Diagnostic {
        let line = &self.text[range.clone()];
        let Some(tool) = line::bare_call(line) else {
            return diagnostic;
        };
        let text = self.text;
        let ids = self.ids.get_or_insert_with(|| {
            let heads = all(text).filter_map(|found| match found {
                LineToken::Statement(statement) => {
                    let line = &text[statement.range.clone()];
                    let head = line::step_head(line)?;
                    Some(name_at(line, head.id).into_owned())
                }
                LineToken::OtherLine(_) | LineToken::Fence(_) => None,
            });
            heads.collect()
        });
        let id = ids.add_for(tool);
        let call = line.trim();
        let start = range.start + line.len() - line.trim_start().len();
        let edit = TextEdit::new(start..start, format!("{id} = "));
        diagnostic
            .help(format!("write {}", whole(&format!("{id} = {call}"))))
            .fixes([edit])
    }

    /// Returns the tree that the same plan in JSON would have; `None` if no line has a meaning.
    fn finish(mut self) -> Option<Item> {
        self.report_foreign();
        self.warn_of_last_value();
        if let Some((note, at)) = self.values.note() {
            let end = self.text.ceil_char_boundary(at + 1);
            self.context.report(at..end, note);
        }
        if self.steps.is_empty() && self.fields.is_none() && self.output.is_none() {
            if !self.context.sink.has_errors() {
                let message = "no line of the text is a step";
                let diagnostic = Diagnostic::error(Code::MalformedLine, message).help(FORM);
                self.context.sink.push(self.root, diagnostic);
            }
            return None;
        }
        let steps = ItemKind::List(self.steps);
        let mut entries = vec![entry("steps", steps, self.context.all_steps())];
        // The fields of `plan` come last, so that `steps` or `output` among them are reported as duplicates.
        entries.extend(self.output);
        let fields = self.fields.unwrap_or_default();
        join(&mut entries, fields, "the plan", self.context.sink);
        Some(Item {
            kind: ItemKind::Object(entries),
            place: self.root,
        })
    }

    /// Warns of a last value with the name of a result that nothing reads: the plan would return the outputs of all steps, and it as one of them.
    fn warn_of_last_value(&mut self) {
        let Some((id, is_bare)) = self.last_value.take() else {
            return;
        };
        let name = &self.text[id.clone()];
        if self.output.is_some() || !RESULT_NAMES.contains(&name) {
            return;
        }
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let bytes = self.text.as_bytes();
        let words = self.text.match_indices(name).filter(|(at, _)| {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            let after = bytes.get(at + name.len());
            !before.is_some_and(is_name) && !after.is_some_and(is_name)
        });
        if words.count() > 1 {
            return;
        }
        let message = format!(
            "{} is a step, and the plan returns the outputs of all steps",
            quote(name)
        );
        let diagnostic = Diagnostic::warning(Code::MalformedReference, message);
        // No fix: the plan would return something else.
        let help = if is_bare {
            "write `return` and the value, to return it alone"
        } else {
            "write `return` and the `value`, to return it alone"
        };
        let diagnostic = diagnostic.help(help);
        self.context.report(id, diagnostic);
    }

    /// Reports all steps in the syntax of other languages, in one diagnostic.
    fn report_foreign(&mut self) {
        let mut foreign = std::mem::take(&mut self.foreign).into_iter();
        let Some((range, first)) = foreign.next() else {
            return;
        };
        let others: Vec<String> = foreign.map(|(_, line)| line).collect();
        let written = self.text[range.clone()].lines().next().unwrap_or_default();
        let message = match others.len() {
            0 => format!("{} is not how a step is written", quote(written.trim())),
            more => format!(
                "{} and {more} more are not how a step is written",
                quote(written.trim())
            ),
        };
        let shown = others.iter().take(MAX_SHOWN_LINES);
        let lines = std::iter::once(&first).chain(shown).map(|line| whole(line));
        let mut help = format!("write {}", lines.collect::<Vec<_>>().join(", then "));
        let proposed = std::iter::once(&first).chain(&others);
        help.push_str(&unchecked_fields(proposed, self.text));
        self.context.report_malformed(range, message, &help);
    }

    fn statement(&mut self, statement: &LineStatement) {
        let start = statement.range.start;
        let indentation = line::indentation(&self.text[statement.range.clone()]);
        let is_aligned = *self.indentation.get_or_insert(indentation) == indentation;
        self.is_in_block &= !is_aligned;
        // The line that opens the block was reported already.
        if !is_aligned && !self.is_in_block {
            let message = "the line is indented as if it belonged to another one".to_owned();
            let help = "a plan has no blocks: begin all steps in the same column, and give each its own `{\"when\": ${…}}` or `{\"for_each\": ${…}}`";
            self.context
                .report_malformed(statement.range.clone(), message, help);
        }
        match line::line_start(&self.text[statement.range.clone()]) {
            Some(LineStart::Step(head)) => self.step(&head, statement),
            Some(LineStart::Plan(brace)) => self.plan(start + brace, statement),
            Some(LineStart::Return(end)) => self.output(start + end, statement),
            None => {}
        }
    }

    fn plan(&mut self, brace: usize, statement: &LineStatement) {
        // The fields are read before the check for duplicates, so that their problems are reported as well.
        let fields = self.object(brace, statement, self.root, 0);
        if self.fields.is_some() {
            let message = "the fields of the plan are on two lines".to_owned();
            let range = statement.range.clone();
            self.context
                .report_malformed(range, message, "write one line with `plan`");
            return;
        }
        self.fields = Some(fields);
    }

    fn output(&mut self, at: usize, statement: &LineStatement) {
        let at = self.blank_end(at, statement.range.end);
        let range = statement.range.clone();
        if at == range.end {
            let help = "write `return` and a value, such as `return [\"id\"]`";
            let message = "`return` gives nothing back".to_owned();
            self.context.report_malformed(range, message, help);
            return;
        }
        let spot = (self.root, PointerSegment::Key("output".into()));
        let Some((item, end)) = self.value(at, statement, spot, 1) else {
            return;
        };
        self.expect_end(end, statement);
        if self.output.is_some() {
            let message = "the plan has two `return` lines".to_owned();
            self.context
                .report_malformed(range, message, "write one line with `return`");
            return;
        }
        self.output = Some(entry_of("output", item));
    }

    fn step(&mut self, head: &StepHead, statement: &LineStatement) {
        let base = statement.range.start;
        if self.output.is_some() {
            // In a program, the step would be unreachable.
            let message = "the step follows `return`".to_owned();
            let range = statement.range.clone();
            self.context
                .report_malformed(range, message, "move `return` to the last line");
        }
        let place = self.context.step(self.steps.len(), statement.range.clone());
        if head.is_foreign {
            let written = &self.text[statement.range.clone()];
            let body = match &head.body {
                StepBody::CallFields(tool, _) => tool.start,
                StepBody::Object(at) | StepBody::Reference(at) => *at,
            };
            let end = written.trim_end().trim_end_matches(';');
            let meant = format!("{} = {}", &written[head.id.clone()], &end[body..]);
            self.foreign.push((statement.range.clone(), meant));
        }
        let id = base + head.id.start..base + head.id.end;
        // Together with the values in its body, the step has at most as many values as in JSON.
        let values = match &head.body {
            StepBody::Object(_) | StepBody::Reference(_) => 1,
            StepBody::CallFields(..) => 2,
        };
        if !self.values.count(values) {
            let message = "the text has too many values";
            let diagnostic = Diagnostic::error(Code::TooLarge, message).help(REDUCE_SIZE);
            self.context.report(id, diagnostic);
            return;
        }
        let text: Arc<str> = name_at(self.text, id.clone()).into();
        self.last_value = match &head.body {
            StepBody::Reference(_) if !head.is_foreign => Some((id.clone(), true)),
            StepBody::Object(_) if !head.is_foreign => Some((id.clone(), false)),
            StepBody::Object(_) | StepBody::Reference(_) | StepBody::CallFields(..) => None,
        };
        let id = self.context.part(place, "id", id);
        let mut entries = vec![entry("id", ItemKind::Text(text), id)];
        let options = match &head.body {
            StepBody::Object(at) => self.object(base + at, statement, place, 2),
            StepBody::Reference(at) => {
                let spot = (place, PointerSegment::Key("value".into()));
                let value = self.value(base + at, statement, spot, 3);
                let end = value.as_ref().map(|(_, end)| *end);
                // Without a value, a second diagnostic would report that the step does nothing, which is only a consequence.
                let nothing = || entry("value", ItemKind::Null, place);
                let value = value.map(|(item, _)| entry_of("value", item));
                entries.push(value.unwrap_or_else(nothing));
                self.options(end, place, statement)
            }
            StepBody::CallFields(tool, at) => {
                let tool = base + tool.start..base + tool.end;
                let call = self.call_fields(place, tool, base + at, statement);
                entries.extend(call.entries);
                self.options(call.end, place, statement)
            }
        };
        join(&mut entries, options, "the step", self.context.sink);
        let has_value = entries.iter().any(|entry| &*entry.key == "value");
        self.last_value = self.last_value.take().filter(|_| has_value);
        self.steps.push(Item {
            kind: ItemKind::Object(entries),
            place,
        });
    }

    /// Reads the other fields of a step after byte `at`, the end of its action.
    fn options(
        &mut self,
        at: Option<usize>,
        step: Place,
        statement: &LineStatement,
    ) -> Vec<ItemEntry> {
        let Some(at) = at else {
            return Vec::new();
        };
        let at = self.blank_end(at, statement.range.end);
        if self.text[at..statement.range.end].starts_with('{') {
            return self.object(at, statement, step, 2);
        }
        self.expect_end(at, statement);
        Vec::new()
    }

    /// Reads the object that begins at byte `at` and ends the statement, as fields of the value at `place`.
    fn object(
        &mut self,
        at: usize,
        statement: &LineStatement,
        place: Place,
        outer_depth: usize,
    ) -> Vec<ItemEntry> {
        match self.value(at, statement, (place, PointerSegment::Root), outer_depth) {
            Some((item, end)) => {
                self.expect_end(end, statement);
                match item.kind {
                    ItemKind::Object(entries) => entries,
                    _ => Vec::new(),
                }
            }
            None => Vec::new(),
        }
    }

    /// Reads the value that begins at byte `at` within `statement`; returns its end as well.
    fn value(
        &mut self,
        at: usize,
        statement: &LineStatement,
        spot: (Place, PointerSegment),
        outer_depth: usize,
    ) -> Option<(Item, usize)> {
        let text = &self.text[..statement.range.end];
        let to = (&mut *self.context.source, &mut *self.context.sink);
        self.values.read((text, at), spot, outer_depth, to)
    }

    fn expect_end(&mut self, at: usize, statement: &LineStatement) {
        let end = statement.range.end;
        let at = self.blank_end(at, end);
        if self.text[at..end].trim_end() == ";" {
            self.values.take_semicolon(at);
        } else if at < end {
            let line = self.text[at..end]
                .lines()
                .next()
                .unwrap_or_default()
                .trim_end();
            let range = at..at + line.len();
            let message = match statement.kind {
                StatementKind::Step => "more follows the step",
                StatementKind::Plan => "more follows the plan's fields",
                StatementKind::Return => "unexpected text after the returned value",
            };
            let message = format!("{message}: {}", quote(line));
            let guard = guards::advice(line).filter(|_| statement.kind == StatementKind::Step);
            let help = guard.as_deref();
            let help = help.unwrap_or("put it on its own line, or after `#`");
            self.context.report_malformed(range, message, help);
        } else if statement.kind == StatementKind::Step {
            self.expect_no_guard_in_comment(statement);
        }
    }

    /// Warns about a condition in a comment after a step, which would run without the condition.
    fn expect_no_guard_in_comment(&mut self, statement: &LineStatement) {
        let written = &self.text[statement.range.clone()];
        let last = written.trim_end().lines().next_back().unwrap_or_default();
        let Some((at, comment)) = last
            .rsplit_once('#')
            .map(|(before, comment)| (before.len(), comment))
        else {
            return;
        };
        // A `#` within a text is no comment.
        let ends_step = last[..at].trim_end().ends_with([')', '}', ';']);
        if !ends_step || !guards::begins_guard(comment) {
            return;
        }
        let start = statement.range.start + written.trim_end().len() - last.len() + at;
        let message = format!(
            "the comment {} is no condition: the step runs in any case",
            quote(last[at..].trim())
        );
        let comment = comment.trim_start();
        let help = guards::advice(comment.strip_prefix("only ").unwrap_or(comment));
        let diagnostic = Diagnostic::warning(Code::MalformedLine, message);
        let diagnostic = diagnostic.help(help.unwrap_or_else(|| FORM.to_owned()));
        self.context
            .report(start..start + last.len() - at, diagnostic);
    }

    /// The end of the blanks and comments that begin at byte `at`, at most `end`.
    fn blank_end(&self, at: usize, end: usize) -> usize {
        let mut rest = self.text[at..end].trim_start();
        while rest.starts_with('#') {
            rest = rest
                .find('\n')
                .map_or("", |line| &rest[line..])
                .trim_start();
        }
        end - rest.len()
    }
}

/// Adds `more` to `entries`; reports fields that exist already.
fn join(
    entries: &mut Vec<ItemEntry>,
    more: Vec<ItemEntry>,
    owner: &str,
    sink: &mut DiagnosticSink,
) {
    let present: Vec<Arc<str>> = entries.iter().map(|entry| Arc::clone(&entry.key)).collect();
    for entry in more {
        if present.contains(&entry.key) {
            let message = format!("{owner} has {} twice", quote(&entry.key));
            let diagnostic = Diagnostic::error(Code::DuplicateKey, message);
            sink.push_at_key(&entry, diagnostic.help("leave it out here"));
        } else {
            entries.push(entry);
        }
    }
}

/// A field `key` whose value stands at `place`.
fn entry(key: &str, kind: ItemKind, place: Place) -> ItemEntry {
    entry_of(key, Item { kind, place })
}

/// A field `key` without a key in the text.
fn entry_of(key: &str, item: Item) -> ItemEntry {
    ItemEntry {
        key: key.into(),
        key_span: Span::default(),
        item,
    }
}

/// The maximum number of further lines in the advice about steps in the syntax of other languages.
const MAX_SHOWN_LINES: usize = 2;

/// The maximum length of such a line in bytes.
const MAX_LINE_BYTES: usize = 160;

/// A line of advice in backticks, whole if it is not long.
fn whole(line: &str) -> String {
    if line.len() > MAX_LINE_BYTES || line.contains(['\n', '`']) {
        return quote(line);
    }
    format!("`{line}`")
}

/// The number of lists and objects around an argument in native JSON.
const ARGUMENT_DEPTH: usize = 4;

/// The fields of a step that a call stands for.
pub(super) struct CallFields {
    entries: Vec<ItemEntry>,
    /// The byte after its `)`; `None` if it could not be read to its end.
    pub(super) end: Option<usize>,
}

impl StatementReader<'_> {
    /// Reads the call of the tool at `tool`, with arguments from byte `at` on.
    fn call_fields(
        &mut self,
        step: Place,
        tool: Range<usize>,
        at: usize,
        statement: &LineStatement,
    ) -> CallFields {
        let name: Arc<str> = name_at(self.text, tool.clone()).into();
        let place = self.context.part(step, "tool", tool.clone());
        let field = if &*name == EXTRACTION {
            "extract"
        } else {
            "args"
        };
        let mut entries = vec![entry("tool", ItemKind::Text(name), place)];
        let arguments = ArgumentReader {
            tool,
            named: Vec::new(),
            names: HashSet::new(),
            args: self.context.part(step, field, at..at),
            unnamed: Vec::new(),
            positional: self.context.part(step, "positional", at..at),
        };
        let (arguments, end) = arguments.read(self, at, statement);
        let mut arguments = arguments;
        let is_foreign = line::is_foreign_step(&self.text[statement.range.clone()]);
        // `await tool({name: value})`
        if is_foreign
            && arguments.named.is_empty()
            && let [
                Item {
                    kind: ItemKind::Object(fields),
                    ..
                },
            ] = arguments.unnamed.as_mut_slice()
        {
            arguments.named = std::mem::take(fields);
            arguments.unnamed.clear();
            let shown = arguments
                .named
                .iter()
                .map(|field| format!("{}={}", field.key, field.item.to_value().to_json()));
            let shown = shown.collect::<Vec<_>>().join(", ");
            if let Some((_, meant)) = self.foreign.last_mut() {
                let head = meant.split('(').next().unwrap_or_default();
                *meant = format!("{head}({shown})");
            }
        }
        let inside = at..end.map_or(statement.range.end, |end| end - 1);
        // The places precede those of the arguments, as in JSON; their spans are only known here.
        for place in [arguments.args, arguments.positional] {
            self.context.source.set_span(place, inside.clone().into());
        }
        // Arguments without names have no place in `extract`; the check gives them their names.
        let extracts = field == "extract" && arguments.unnamed.is_empty();
        if extracts {
            entries.clear();
        }
        if extracts || !arguments.named.is_empty() {
            let named = ItemKind::Object(arguments.named);
            let field = if extracts { "extract" } else { "args" };
            entries.push(entry(field, named, arguments.args));
        }
        if !arguments.unnamed.is_empty() {
            let unnamed = ItemKind::List(arguments.unnamed);
            entries.push(entry("positional", unnamed, arguments.positional));
        }
        CallFields { entries, end }
    }
}

struct ArgumentReader {
    tool: Range<usize>,
    named: Vec<ItemEntry>,
    names: HashSet<Arc<str>>,
    args: Place,
    unnamed: Vec<Item>,
    positional: Place,
}

impl ArgumentReader {
    /// Reads the arguments from byte `at` on; returns the byte after their closing bracket.
    fn read(
        mut self,
        reader: &mut StatementReader<'_>,
        mut at: usize,
        statement: &LineStatement,
    ) -> (Self, Option<usize>) {
        let end = statement.range.end;
        loop {
            at = reader.blank_end(at, end);
            if at == end {
                let message = format!("the call of {} is never closed", self.tool_name(reader));
                reader
                    .context
                    .report_malformed(self.tool.clone(), message, "add `)`");
                return (self, None);
            }
            if reader.text[at..].starts_with(')') {
                return (self, Some(at + 1));
            }
            let Some(behind) = self.argument(reader, at, statement) else {
                return (self, None);
            };
            at = reader.blank_end(behind, end);
            let rest = &reader.text[at..end];
            if rest.starts_with(',') {
                at += 1;
            } else if !rest.is_empty() && !rest.starts_with(')') {
                let line = rest.lines().next().unwrap_or_default();
                let message = format!("expected `,` or `)`, found {}", quote(line));
                let help = "put a comma between arguments, and texts in quotes";
                reader
                    .context
                    .report_malformed(at..at + line.len(), message, help);
                return (self, None);
            }
        }
    }

    /// Reads one argument; returns the byte after it.
    fn argument(
        &mut self,
        reader: &mut StatementReader<'_>,
        at: usize,
        statement: &LineStatement,
    ) -> Option<usize> {
        let Some((name, behind)) = assigned_name(&reader.text[at..statement.range.end]) else {
            let segment = PointerSegment::Index(self.unnamed.len());
            let spot = (self.positional, segment);
            let (item, end) = reader.value(at, statement, spot, ARGUMENT_DEPTH)?;
            self.unnamed.push(item);
            return Some(end);
        };
        let range = at + name.start..at + name.end;
        let value = at + behind;
        let name: Arc<str> = name_at(reader.text, range.clone()).into();
        if reader.text[value..].starts_with([',', ')']) {
            let message = format!("the argument {} has no value", quote(&name));
            let help = "write one after the `=`, or leave the argument out";
            reader.context.report_malformed(range, message, help);
            return Some(value);
        }
        let spot = (self.args, PointerSegment::Key(Arc::clone(&name)));
        let (item, end) = reader.value(value, statement, spot, ARGUMENT_DEPTH)?;
        let entry = ItemEntry {
            key: Arc::clone(&name),
            key_span: range.into(),
            item,
        };
        if self.names.insert(name) {
            self.named.push(entry);
        } else {
            let message = format!("the argument {} is given twice", quote(&entry.key));
            let diagnostic = Diagnostic::error(Code::DuplicateKey, message);
            let diagnostic = diagnostic.help("leave one of the two out");
            reader.context.sink.push_at_key(&entry, diagnostic);
        }
        Some(end)
    }

    fn tool_name(&self, reader: &StatementReader<'_>) -> String {
        quote(&name_at(reader.text, self.tool.clone()))
    }
}
