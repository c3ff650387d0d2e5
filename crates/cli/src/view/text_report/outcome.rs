//! The output of a plan, and for a dry run its calls, for people: aligned fields, tables of flat objects, lists; JSON if nothing else is
//! more readable.

use std::fmt::Write as _;
use std::io::{self, Write};

use planwright::core::{Object, Value};
use planwright::engine::RunSummary;
use planwright::engine::run::StepPreview;
use planwright::media::Media;
use planwright::terminal_text;

use crate::view::printer::Printer;

/// The largest number of lines of one value on a terminal. Output to a file or another program is whole.
pub(super) const MAX_LINES: usize = 100;

/// The default limit for the bytes of one value. Neither a person nor a model reads more.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// Returns the output of the plan as lines; empty if it has none.
pub(crate) fn text(summary: &RunSummary, max_bytes: Option<u64>) -> String {
    let room = Room {
        bytes: max_bytes.map_or(MAX_BYTES, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        }),
        width: Printer::data_width(),
        lines: if Printer::shows_data() {
            MAX_LINES
        } else {
            usize::MAX
        },
    };
    output(&summary.output, room) + &media_lines(summary)
}

/// Returns a line for each medium, such as an image, that steps in the output returned.
pub(super) fn media_lines(summary: &RunSummary) -> String {
    let mut text = String::new();
    for step in &summary.steps {
        let shown = summary.output.get(step.at.step.as_str());
        if shown.is_none() || shown == Some(&Value::from(step.content.clone())) {
            continue;
        }
        for media in step.content.iter().filter_map(Media::of) {
            let (at, label) = (step.at.to_string(), media.label());
            let (at, label) = (
                terminal_text::one_line(&at),
                terminal_text::one_line(&label),
            );
            let _ = writeln!(text, "{at}: [{label}] (`--format json` has it)");
        }
    }
    if !text.is_empty() {
        text.insert(0, '\n');
    }
    text
}

pub(super) fn output(value: &Value, room: Room) -> String {
    let is_empty = match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    if is_empty {
        return String::new();
    }
    lay_out(value, room)
}

/// Returns a paragraph for each step that a run would perform.
pub(crate) fn dry_run(steps: &[StepPreview]) -> String {
    let mut text = "\nCalls that the run would make, as far as known:\n\n".to_owned();
    previews(steps, 0, &mut text);
    text
}

fn previews(steps: &[StepPreview], depth: usize, text: &mut String) {
    let margin = "  ".repeat(depth);
    for step in steps {
        let mut line = format!("{margin}{}", terminal_text::one_line(step.step.as_str()));
        if let Some(instance) = &step.instance {
            let _ = write!(line, " of {}", terminal_text::one_line(instance));
        }
        if let Some(tool) = &step.tool {
            let _ = write!(line, ": {}", terminal_text::one_line(tool));
        }
        let mut notes = Vec::new();
        if step.approval {
            notes.push("asks first".to_owned());
        }
        if !step.after.is_empty() {
            let after: Vec<_> = step
                .after
                .iter()
                .map(|id| terminal_text::one_line(id.as_str()))
                .collect();
            notes.push(format!("after {}", after.join(", ")));
        }
        if !notes.is_empty() {
            let _ = write!(line, " ({})", notes.join("; "));
        }
        text.push_str(&line);
        text.push('\n');
        if let Some(args) = step.args.as_object() {
            for (name, value) in args {
                let value = value.to_json();
                let (name, value) = (
                    terminal_text::one_line(name),
                    terminal_text::one_line(&value),
                );
                let _ = writeln!(text, "{margin}    {name} = {value}");
            }
        }
        previews(&step.parts, depth + 1, text);
    }
}

/// Maximum depth to which values are laid out. Deeper values are printed as JSON.
const MAX_DEPTH: usize = 5;

/// The maximum number of columns of a table.
const MAX_COLUMNS: usize = 8;

/// The maximum width of an entry of a table, in columns.
const MAX_ENTRY_WIDTH: usize = 60;

/// The space for the lines of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The preferred number of columns of a line.
    pub(super) width: usize,
    /// The largest number of lines of a value; the rest is cut with a note.
    pub(super) lines: usize,
    /// The largest number of bytes of a value; the rest is cut with a note.
    pub(super) bytes: usize,
}

impl Room {
    fn indented(self) -> Self {
        Self {
            width: self.width.saturating_sub(2),
            ..self
        }
    }

    /// Returns true if more lines than these are only counted as too many.
    fn is_exceeded_by(self, lines: &[String]) -> bool {
        lines.len() > self.lines
    }
}

/// `value` in lines, each ended.
fn lay_out(value: &Value, room: Room) -> String {
    let lines = match value {
        // Each field is a separate value, such as the output of a step.
        Value::Object(fields) => object(fields, room, 0),
        other => cut(block(other, room, 0), room),
    };
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn cut(mut lines: Vec<String>, room: Room) -> Vec<String> {
    let mut note = None;
    if room.is_exceeded_by(&lines) {
        lines.truncate(room.lines);
        note = Some("… trimmed: `--format json` prints all of it".to_owned());
    }
    let mut left = room.bytes;
    for at in 0..lines.len() {
        if lines[at].len() > left {
            let end = lines[at].floor_char_boundary(left);
            lines[at].truncate(end);
            lines.truncate(at + 1);
            let bytes = room.bytes;
            note = Some(format!(
                "… trimmed at {bytes} bytes: `--max-output` shows more"
            ));
            break;
        }
        left -= lines[at].len();
    }
    lines.extend(note);
    lines
}

/// Formats the lines of `value`, at most one more than fits.
fn block(value: &Value, room: Room, depth: usize) -> Vec<String> {
    if let Some(line) = short(value) {
        return vec![line];
    }
    match value {
        Value::Text(text) => some_lines(text, room),
        Value::Object(_) | Value::List(_) if depth >= MAX_DEPTH => json(value, room),
        Value::Object(fields) => object(fields, room, depth),
        Value::List(items) => list(items, room, depth),
        other => vec![other.to_json()],
    }
}

fn some_lines(text: &str, room: Room) -> Vec<String> {
    let lines = text.lines().take(room.lines.saturating_add(1));
    lines
        .map(|line| terminal_text::lines(line).into_owned())
        .collect()
}

/// Formats `value` if it fits in a part of a line: a scalar, or an empty value.
fn short(value: &Value) -> Option<String> {
    if let Some(media) = Media::binary(value) {
        return Some(format!("[{}]", terminal_text::one_line(&media.label())));
    }
    match value {
        Value::Text(text) if text.trim_end_matches('\n').contains('\n') => None,
        Value::Text(text) if resembles_another_type(text) => Some(quoted(value)),
        Value::Text(text) => Some(terminal_text::one_line(text).into_owned()),
        Value::List(items) if items.is_empty() => Some("[]".to_owned()),
        Value::Object(fields) if fields.is_empty() => Some("{}".to_owned()),
        Value::List(_) | Value::Object(_) => None,
        scalar => Some(scalar.to_json()),
    }
}

/// Returns true if `text` without quotes would read as a number, a keyword of JSON, a list, an object, a quoted text or an empty
/// value.
fn resembles_another_type(text: &str) -> bool {
    let is_scalar = || serde_json::from_str::<serde_json::Value>(text).is_ok();
    text.trim() != text.trim_end_matches('\n')
        || text.trim().is_empty()
        || text.starts_with(['"', '[', '{'])
        || is_scalar()
}

/// `value` as JSON, without characters that a terminal interprets.
fn quoted(value: &Value) -> String {
    terminal_text::one_line(&value.to_json()).into_owned()
}

/// Fields, those with short values aligned, the others with their values below.
fn object(fields: &Object, room: Room, depth: usize) -> Vec<String> {
    let entries: Vec<(String, Option<String>, &Value)> = fields
        .iter()
        .map(|(key, value)| (label(key), inline(value, room.width), value))
        .collect();
    let mut lines: Vec<String> = Vec::new();
    for group in entries.chunk_by(|one, next| one.1.is_some() && next.1.is_some()) {
        if depth > 0 && room.is_exceeded_by(&lines) {
            break;
        }
        // A separate paragraph, as a part of the whole output.
        if depth == 0 && !lines.is_empty() {
            lines.push(String::new());
        }
        let labels = group
            .iter()
            .map(|(label, ..)| terminal_text::width(label))
            .max()
            .unwrap_or(0)
            .min(MAX_ENTRY_WIDTH / 2);
        for (label, line, value) in group {
            if let Some(line) = line.as_ref().filter(|line| line.len() <= room.bytes) {
                lines.push(format!("{} {line}", terminal_text::padded(label, labels)));
            } else {
                lines.push(label.clone());
                let mut below = block(value, room.indented(), depth + 1);
                if depth == 0 {
                    below = cut(below, room);
                }
                lines.extend(indented(below));
            }
        }
    }
    lines
}

fn label(key: &str) -> String {
    if key.is_empty() {
        return "\"\":".to_owned();
    }
    format!("{}:", terminal_text::one_line(key))
}

/// `value` after its label, on the same line: a scalar, or a short list of scalars.
fn inline(value: &Value, width: usize) -> Option<String> {
    if let Some(line) = short(value) {
        return Some(line);
    }
    let line = scalars(value.as_list()?)?;
    (terminal_text::width(&line) <= width / 2).then_some(line)
}

/// A list of scalars in one line, as JSON with spaces, if none of them is long.
fn scalars(items: &[Value]) -> Option<String> {
    let items: Option<Vec<String>> = items
        .iter()
        .map(|item| {
            let line = match item {
                Value::List(_) | Value::Object(_) => {
                    short(item).filter(|_| Media::binary(item).is_some())?
                }
                scalar => quoted(scalar),
            };
            (terminal_text::width(&line) <= MAX_ENTRY_WIDTH / 2).then_some(line)
        })
        .collect();
    items.map(|items| format!("[{}]", items.join(", ")))
}

fn list(items: &[Value], room: Room, depth: usize) -> Vec<String> {
    if let Some(line) = scalars(items).filter(|line| terminal_text::width(line) <= room.width) {
        return vec![line];
    }
    let items = items.get(..room.lines.saturating_add(1)).unwrap_or(items);
    if let Some(lines) = table(items, room.width) {
        return lines;
    }
    let mut lines = Vec::new();
    for item in items {
        let block = block(item, room.indented(), depth + 1);
        lines.extend(block.into_iter().enumerate().map(|(position, line)| {
            let bullet = if position == 0 { "- " } else { "  " };
            format!("{bullet}{line}")
        }));
        if room.is_exceeded_by(&lines) {
            break;
        }
    }
    lines
}

/// Formats flat objects as a table, if they have fields in common and the table is not wider than `width`.
fn table(items: &[Value], width: usize) -> Option<Vec<String>> {
    let rows: Vec<&Object> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let mut keys: Vec<&str> = Vec::new();
    for row in &rows {
        for key in row.keys() {
            if !keys.contains(&&**key) {
                keys.push(key);
                if keys.len() > MAX_COLUMNS {
                    return None;
                }
            }
        }
    }
    let filled: usize = rows.iter().map(|row| row.len()).sum();
    // A mostly empty table is less readable than its rows one by one.
    if items.len() < 2 || filled * 2 < rows.len() * keys.len() {
        return None;
    }
    let mut columns = Vec::new();
    let mut total = 0;
    for key in keys {
        let column = Column::of(key, &rows)?;
        total += column.width + 2;
        columns.push(column);
    }
    if total > width + 2 {
        return None;
    }
    let line = |entry: &dyn Fn(&Column) -> String| {
        let entries: Vec<String> = columns.iter().map(entry).collect();
        entries.join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&|column| column.aligned(&column.title))];
    lines.push(line(&|column| "─".repeat(column.width)));
    for row in 0..rows.len() {
        lines.push(line(&|column| {
            column.aligned(column.entries.get(row).map_or("", String::as_str))
        }));
    }
    Some(lines)
}

struct Column {
    title: String,
    entries: Vec<String>,
    width: usize,
    is_numeric: bool,
}

impl Column {
    /// Returns the values at `key`, if all of them are short.
    fn of(key: &str, rows: &[&Object]) -> Option<Self> {
        let values = rows.iter().map(|row| row.get(key));
        let is_numeric = values
            .clone()
            .flatten()
            .all(|value| matches!(value, Value::Number(_) | Value::Null));
        let entries: Vec<String> = values
            .map(|value| {
                let entry =
                    value.map_or(Some(String::new()), |value| inline(value, MAX_ENTRY_WIDTH));
                entry.filter(|entry| terminal_text::width(entry) <= MAX_ENTRY_WIDTH)
            })
            .collect::<Option<_>>()?;
        let title = terminal_text::one_line(key).into_owned();
        let width = entries
            .iter()
            .map(|entry| terminal_text::width(entry))
            .chain([terminal_text::width(&title)])
            .max()
            .unwrap_or(0);
        Some(Self {
            title,
            entries,
            width,
            is_numeric,
        })
    }

    fn aligned(&self, entry: &str) -> String {
        if self.is_numeric {
            let gap = self.width.saturating_sub(terminal_text::width(entry));
            format!("{}{entry}", " ".repeat(gap))
        } else {
            terminal_text::padded(entry, self.width)
        }
    }
}

fn indented(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|line| format!("  {line}"))
}

fn json(value: &Value, room: Room) -> Vec<String> {
    let mut lines = Lines {
        text: Vec::new(),
        left: room.lines.saturating_add(1),
    };
    // Writing fails once the room is used up. The text so far suffices.
    let _ = serde_json::to_writer_pretty(&mut lines, value);
    some_lines(&String::from_utf8_lossy(&lines.text), room)
}

/// Takes text up to some line.
struct Lines {
    text: Vec<u8>,
    left: usize,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let ends = bytes.split(|byte| *byte == b'\n').count() - 1;
        self.left = self.left.saturating_sub(ends);
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
