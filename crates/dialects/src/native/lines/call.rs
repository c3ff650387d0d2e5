//! A call: its tool, and what stands between the brackets.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place, PointerSegment};

use super::follow::Statement;
use super::line::{name_at, named};
use super::parse::{Reader, entry};
use crate::document::{Entry, Item, ItemKind, quote};

/// How many lists and objects are around an argument.
const AROUND: usize = 4;

/// A call, as fields of a step.
pub(super) struct Call {
    pub(super) entries: Vec<Entry>,
    /// The byte after its `)`; nothing where it could not be read to its end.
    pub(super) end: Option<usize>,
}

impl Call {
    /// Reads the call of the tool that is named in `tool`, with arguments that begin at byte `at`.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        step: Place,
        tool: Range<usize>,
        at: usize,
        statement: &Statement,
    ) -> Self {
        let name: Arc<str> = name_at(reader.text, tool.clone()).into();
        let place = reader.sheet.part(step, "tool", tool.clone());
        let mut entries = vec![entry("tool", ItemKind::Text(name), place)];
        let arguments = Arguments {
            tool,
            named: Vec::new(),
            names: HashSet::new(),
            args: reader.sheet.part(step, "args", at..at),
            unnamed: Vec::new(),
            positional: reader.sheet.part(step, "positional", at..at),
        };
        let (arguments, end) = arguments.read(reader, at, statement);
        let inside = at..end.map_or(statement.range.end, |end| end - 1);
        for place in [arguments.args, arguments.positional] {
            reader.sheet.source.set_span(place, inside.clone().into());
        }
        if !arguments.named.is_empty() {
            let named = ItemKind::Object(arguments.named);
            entries.push(entry("args", named, arguments.args));
        }
        if !arguments.unnamed.is_empty() {
            let unnamed = ItemKind::List(arguments.unnamed);
            entries.push(entry("positional", unnamed, arguments.positional));
        }
        Self { entries, end }
    }
}

struct Arguments {
    tool: Range<usize>,
    named: Vec<Entry>,
    names: HashSet<Arc<str>>,
    args: Place,
    unnamed: Vec<Item>,
    positional: Place,
}

impl Arguments {
    /// Reads the arguments from byte `at` on; the byte after the bracket that ends them.
    fn read(
        mut self,
        reader: &mut Reader<'_>,
        mut at: usize,
        statement: &Statement,
    ) -> (Self, Option<usize>) {
        let end = statement.range.end;
        loop {
            at = reader.blank_end(at, end);
            if at == end {
                let message = format!("the call of {} is never closed", self.tool_name(reader));
                reader.sheet.complain(self.tool.clone(), message, "add `)`");
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
                reader.sheet.complain(at..at + line.len(), message, help);
                return (self, None);
            }
        }
    }

    /// Reads one argument; the byte after it.
    fn argument(
        &mut self,
        reader: &mut Reader<'_>,
        at: usize,
        statement: &Statement,
    ) -> Option<usize> {
        let Some((name, behind)) = named(&reader.text[at..statement.range.end]) else {
            let segment = PointerSegment::Index(self.unnamed.len());
            let spot = (self.positional, segment);
            let (item, end) = reader.value(at, statement, spot, AROUND)?;
            self.unnamed.push(item);
            return Some(end);
        };
        let range = at + name.start..at + name.end;
        let value = at + behind;
        let name: Arc<str> = name_at(reader.text, range.clone()).into();
        if reader.text[value..].starts_with([',', ')']) {
            let message = format!("the argument {} has no value", quote(&name));
            let help = "write one behind the `=`, or leave the argument out";
            reader.sheet.complain(range, message, help);
            return Some(value);
        }
        let spot = (self.args, PointerSegment::Key(Arc::clone(&name)));
        let (item, end) = reader.value(value, statement, spot, AROUND)?;
        let entry = Entry {
            key: Arc::clone(&name),
            key_span: range.into(),
            item,
        };
        if self.names.insert(name) {
            self.named.push(entry);
        } else {
            let message = format!("the argument {} is given twice", quote(&entry.key));
            let finding = Diagnostic::error(Code::DuplicateKey, message);
            let finding = finding.help("leave one of the two out");
            reader.sheet.findings.push_key(&entry, finding);
        }
        Some(end)
    }

    fn tool_name(&self, reader: &Reader<'_>) -> String {
        quote(&name_at(reader.text, self.tool.clone()))
    }
}
