//! A mapping or list of servers in a YAML file, edited by whole lines: all other lines stay as they are, comments included.

use planwright::core::Value;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::server_list::ServerList;
use crate::setup::wrap::edit::EditError;

/// The servers at a key of the outermost mapping.
#[derive(Clone, Debug)]
pub(crate) struct YamlList {
    /// The lines before the first server.
    head: String,
    servers: Vec<YamlServer>,
    /// The lines after the last server.
    foot: String,
    form: ListForm,
    /// The number of spaces before each server.
    indent: usize,
    /// True if all lines end with CRLF.
    has_crlf: bool,
}

#[derive(Clone, Debug)]
struct YamlServer {
    name: String,
    entry: Value,
    lines: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListForm {
    /// A mapping: the names are keys.
    Named,
    /// A list: the names are fields `name`.
    Listed,
}

/// The field with the name of a listed server.
const NAME: &str = "name";

impl YamlList {
    /// Finds the servers at `path`, a single key, in `text`.
    pub(crate) fn find(text: &str, path: &[&str]) -> Result<Option<Self>, EditError> {
        let document = Node::read(text)?;
        let key = path.first().copied().unwrap_or_default();
        let Some(list) = document.as_ref().and_then(|document| document.field(key)) else {
            return Ok(None);
        };
        let (form, children) = match &list.content {
            Content::Mapping(fields) => {
                let children = fields.iter();
                let children = children.map(|(name, line, node)| (name.clone(), *line, node));
                (ListForm::Named, children.collect::<Vec<_>>())
            }
            Content::List(items) => {
                let children = items.iter().map(|node| {
                    let name = node.field(NAME).map(Node::value);
                    let name = name.as_ref().and_then(Value::as_text).unwrap_or_default();
                    (name.to_owned(), node.line, node)
                });
                (ListForm::Listed, children.collect::<Vec<_>>())
            }
            Content::Other(_) => return Ok(None),
        };
        if list.has_shared() {
            return Err(EditError {
                message: format!("its `{key}` has an anchor or an alias"),
                help: "write the values in full, then try again: nothing was changed".to_owned(),
            });
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        // The parser reports a list of lines at its first item, so its dash has to be found.
        let dash = match form {
            ListForm::Named => None,
            ListForm::Listed => dash_of(&lines, list.line, list.column),
        };
        let opens = lines
            .get(list.line)
            .and_then(|line| line.chars().nth(list.column));
        if dash.is_none() && matches!(opens, Some('{' | '[')) {
            if children.is_empty() {
                return Ok(None);
            }
            return Err(EditError {
                message: format!("its `{key}` is written in brackets"),
                help: "write each server on lines of its own, then try again: nothing was changed"
                    .to_owned(),
            });
        }
        let indent = dash.map_or(list.column, |line| indent_of(lines[line]));
        Ok(Some(Self::new(&lines, form, indent, children)))
    }

    fn new(
        lines: &[&str],
        form: ListForm,
        indent: usize,
        children: Vec<(String, usize, &Node)>,
    ) -> Self {
        let starts: Vec<usize> = children
            .iter()
            .map(|(_, line, _)| match form {
                ListForm::Named => *line,
                // The dash may be on a line before the value.
                ListForm::Listed => (0..=*line)
                    .rev()
                    .find(|line| indent_of(lines[*line]) == indent && is_dash(lines[*line]))
                    .unwrap_or(*line),
            })
            .collect();
        let end = end_of_last(lines, starts.last().copied().unwrap_or_default(), indent);
        // The comments directly above a server belong to it.
        let first_line = |start: usize| {
            // A line that is indented further is a part of the server above: a comment of it, or a line of a text in it.
            let is_comment = |line: &usize| {
                indent_of(lines[*line]) <= indent && lines[*line].trim_start().starts_with('#')
            };
            let above = (0..start).rev().take_while(is_comment);
            above.last().unwrap_or(start)
        };
        let mut firsts: Vec<usize> = starts.iter().map(|start| first_line(*start)).collect();
        let head = lines[..firsts.first().copied().unwrap_or(end)].concat();
        firsts.push(end);
        let mut ended = lines.iter().filter(|line| line.ends_with('\n'));
        let has_crlf = lines.len() > 1 && ended.all(|line| line.ends_with("\r\n"));
        let servers = children.into_iter().zip(firsts.windows(2));
        let servers = servers.map(|((name, _, node), bounds)| YamlServer {
            name,
            entry: node.value(),
            lines: with_line_end(lines[bounds[0]..bounds[1]].concat()),
        });
        Self {
            servers: servers.collect(),
            head: with_line_end(head),
            foot: lines[end..].concat(),
            form,
            indent,
            has_crlf,
        }
    }

    fn field(&self) -> &'static str {
        match self.form {
            ListForm::Named => "servers",
            ListForm::Listed => NAME,
        }
    }
}

impl ServerList for YamlList {
    fn servers(&self) -> Vec<(String, Value)> {
        let servers = self.servers.iter();
        servers
            .map(|server| (server.name.clone(), server.entry.clone()))
            .collect()
    }

    fn remove(&mut self, at: usize) -> String {
        self.servers.remove(at).lines
    }

    fn insert(&mut self, at: usize, fragment: &str) -> Result<(), EditError> {
        let lines = indented(fragment, self.indent);
        let under = format!("{}:\n{lines}", self.field());
        let list = Self::find(&under, &[self.field()])?;
        let server = list.and_then(|mut list| list.servers.pop());
        let server = server.ok_or_else(|| EditError::malformed("YAML", "a server has no text"))?;
        self.servers.insert(at, YamlServer { lines, ..server });
        Ok(())
    }

    fn format(&self, name: &str, entry: &Value, _: Option<&str>) -> String {
        let blanks = " ".repeat(self.indent);
        let inner = format!("{blanks}  ");
        let mut lines = match self.form {
            ListForm::Named => format!("{blanks}{}:\n", scalar(name)),
            ListForm::Listed => format!("{blanks}- {NAME}: {}\n", scalar(name)),
        };
        for (field, value) in entry.as_object().into_iter().flatten() {
            if self.form == ListForm::Named || &**field != NAME {
                lines += &format_field(&inner, field, value);
            }
        }
        lines
    }

    fn text(&self) -> String {
        let servers: String = self.servers.iter().map(|server| &*server.lines).collect();
        let empty = match (self.servers.is_empty(), self.form) {
            (false, _) => String::new(),
            (true, ListForm::Named) => format!("{}{{}}\n", " ".repeat(self.indent.max(2))),
            (true, ListForm::Listed) => format!("{}[]\n", " ".repeat(self.indent.max(2))),
        };
        let text = format!("{}{servers}{empty}{}", self.head, self.foot);
        if self.has_crlf {
            text.replace("\r\n", "\n").replace('\n', "\r\n")
        } else {
            text
        }
    }
}

/// The index after the last line of the server that begins at `start`: its lines are indented by more than `indent` spaces.
fn end_of_last(lines: &[&str], start: usize, indent: usize) -> usize {
    let mut end = start + 1;
    for (at, line) in lines.iter().enumerate().skip(start + 1) {
        if line.trim().is_empty() {
            continue;
        }
        if indent_of(line) <= indent {
            break;
        }
        end = at + 1;
    }
    end.min(lines.len())
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The last line up to `line` that begins with the dash of an item at `column`.
fn dash_of(lines: &[&str], line: usize, column: usize) -> Option<usize> {
    let above = (0..=line).rev().take_while(|at| {
        let text = lines.get(*at).map_or("", |line| line.trim());
        *at == line || text.is_empty() || text.starts_with(['#', '-'])
    });
    let mut dashes = above.filter(|at| lines.get(*at).is_some_and(|line| is_dash(line)));
    dashes.find(|at| indent_of(lines[*at]) <= column)
}

fn is_dash(line: &str) -> bool {
    let rest = line.trim_start_matches(' ').strip_prefix('-');
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\r']))
}

fn with_line_end(mut lines: String) -> String {
    if !lines.is_empty() && !lines.ends_with('\n') {
        lines.push('\n');
    }
    lines
}

/// Returns lines with `indent` spaces before the first one that is no comment, and the same change in all others.
fn indented(lines: &str, indent: usize) -> String {
    let has_content = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    };
    let present = lines.lines().find(has_content).map_or(indent, indent_of);
    if present == indent {
        return lines.to_owned();
    }
    let moved = lines.split_inclusive('\n').map(|line| {
        if line.trim().is_empty() {
            return line.to_owned();
        }
        let blanks = (indent_of(line) + indent).saturating_sub(present);
        format!("{}{}", " ".repeat(blanks), line.trim_start_matches(' '))
    });
    moved.collect()
}

fn format_field(blanks: &str, name: &str, value: &Value) -> String {
    let name = scalar(name);
    match value {
        Value::List(items) if !items.is_empty() => {
            let items = items
                .iter()
                .map(|item| format!("{blanks}  - {}\n", item.to_json()));
            format!("{blanks}{name}:\n{}", items.collect::<String>())
        }
        Value::Object(fields) if !fields.is_empty() => {
            let inner = format!("{blanks}  ");
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| format_field(&inner, name, value));
            format!("{blanks}{name}:\n{}", fields.collect::<String>())
        }
        // JSON is YAML.
        value => format!("{blanks}{name}: {}\n", value.to_json()),
    }
}

/// A text as a scalar: plain if that cannot be mistaken for anything else.
fn scalar(text: &str) -> String {
    const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        text.to_owned()
    } else {
        Value::text(text).to_json()
    }
}

/// A value of a document, with its place.
#[derive(Clone, Debug)]
struct Node {
    /// The line, counted from zero.
    line: usize,
    column: usize,
    /// True if it has an anchor, or is an alias of another value.
    is_shared: bool,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// The fields: name, line of the name, value.
    Mapping(Vec<(String, usize, Node)>),
    List(Vec<Node>),
    Other(Value),
}

/// The anchor id of values without an anchor, as the parser reports it.
const NO_ANCHOR: usize = 0;

/// The maximum depth, as in `serde_json`.
const MAX_DEPTH: usize = 128;

impl Node {
    /// Reads the first document of `text`.
    fn read(text: &str) -> Result<Option<Self>, EditError> {
        let mut reader = NodeReader {
            parser: Parser::new_from_str(text),
        };
        while let Some((event, span)) = reader.next()? {
            if !matches!(
                event,
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing
            ) {
                return match event {
                    Event::StreamEnd | Event::DocumentEnd => Ok(None),
                    event => reader.node(event, span, 0).map(Some),
                };
            }
        }
        Ok(None)
    }

    fn field(&self, name: &str) -> Option<&Self> {
        let Content::Mapping(fields) = &self.content else {
            return None;
        };
        // The last of several fields with one name counts.
        let mut fields = fields.iter().rev();
        let found = fields.find(|(field, ..)| field == name);
        found.map(|(_, _, node)| node)
    }

    /// Returns true if the value or one in it is shared with other places of the document.
    fn has_shared(&self) -> bool {
        self.is_shared
            || match &self.content {
                Content::Mapping(fields) => fields.iter().any(|(_, _, node)| node.has_shared()),
                Content::List(items) => items.iter().any(Self::has_shared),
                Content::Other(_) => false,
            }
    }

    fn value(&self) -> Value {
        match &self.content {
            Content::Mapping(fields) => {
                let fields = fields.iter();
                Value::object(fields.map(|(name, _, node)| (&**name, node.value())))
            }
            Content::List(items) => Value::list(items.iter().map(Self::value)),
            Content::Other(value) => value.clone(),
        }
    }
}

struct NodeReader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> NodeReader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, EditError> {
        let event = self.parser.next().transpose();
        event.map_err(|error| {
            let line = error.marker().line();
            EditError::malformed("YAML", &format!("{} on line {line}", error.info()))
        })
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, EditError> {
        if depth > MAX_DEPTH {
            return Err(EditError::malformed(
                "YAML",
                "the values are nested too deeply",
            ));
        }
        let (anchor, content) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let value = match style {
                    ScalarStyle::Plain => plain_value(&text),
                    _ => Value::text(&*text),
                };
                (anchor, Content::Other(value))
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                while let Some((event, span)) = self.next()? {
                    if event == Event::SequenceEnd {
                        break;
                    }
                    items.push(self.node(event, span, depth + 1)?);
                }
                (anchor, Content::List(items))
            }
            Event::MappingStart(anchor, _) => {
                let mut fields = Vec::new();
                while let Some((event, key_span)) = self.next()? {
                    if event == Event::MappingEnd {
                        break;
                    }
                    let line = key_span.start.line().saturating_sub(1);
                    let key = self.node(event, key_span, depth + 1)?.value();
                    let key = key.as_text().map_or_else(|| key.to_json(), str::to_owned);
                    let Some((event, span)) = self.next()? else {
                        break;
                    };
                    fields.push((key, line, self.node(event, span, depth + 1)?));
                }
                (anchor, Content::Mapping(fields))
            }
            Event::Alias(anchor) => (anchor, Content::Other(Value::Null)),
            _ => (NO_ANCHOR, Content::Other(Value::Null)),
        };
        Ok(Node {
            line: span.start.line().saturating_sub(1),
            column: span.start.col(),
            is_shared: anchor != NO_ANCHOR,
            content,
        })
    }
}

/// The value of a text without quotes.
fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::from(true),
        "false" | "False" | "FALSE" => Value::from(false),
        text => {
            let is_number =
                text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-');
            let number = is_number.then(|| Value::from_json(text).ok()).flatten();
            number.unwrap_or_else(|| Value::from(text))
        }
    }
}
