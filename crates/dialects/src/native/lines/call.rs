//! A call: its tool and its arguments.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place, PointerSegment};

use super::line::{assigned_name, name_at};
use super::parse::{StatementReader, entry};
use super::statement::Statement;
use crate::document::{Item, ItemEntry, ItemKind, quote};

/// The number of lists and objects around an argument in native JSON.
const ARGUMENT_DEPTH: usize = 4;

/// The fields of a step that a call stands for.
pub(super) struct CallFields {
    pub(super) entries: Vec<ItemEntry>,
    /// The byte after its `)`; `None` if it could not be read to its end.
    pub(super) end: Option<usize>,
}

impl StatementReader<'_> {
    /// Reads the call of the tool at `tool`, with arguments from byte `at` on.
    pub(super) fn call_fields(
        &mut self,
        step: Place,
        tool: Range<usize>,
        at: usize,
        statement: &Statement,
    ) -> CallFields {
        let name: Arc<str> = name_at(self.text, tool.clone()).into();
        let place = self.context.part(step, "tool", tool.clone());
        let mut entries = vec![entry("tool", ItemKind::Text(name), place)];
        let arguments = ArgumentReader {
            tool,
            named: Vec::new(),
            names: HashSet::new(),
            args: self.context.part(step, "args", at..at),
            unnamed: Vec::new(),
            positional: self.context.part(step, "positional", at..at),
        };
        let (arguments, end) = arguments.read(self, at, statement);
        let inside = at..end.map_or(statement.range.end, |end| end - 1);
        // The places precede those of the arguments, as in JSON; their spans are known only now.
        for place in [arguments.args, arguments.positional] {
            self.context.source.set_span(place, inside.clone().into());
        }
        if !arguments.named.is_empty() {
            let named = ItemKind::Object(arguments.named);
            entries.push(entry("args", named, arguments.args));
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
        statement: &Statement,
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
        statement: &Statement,
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
            let help = "write one behind the `=`, or leave the argument out";
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
