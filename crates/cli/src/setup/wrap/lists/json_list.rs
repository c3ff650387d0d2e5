//! An object of JSON with comments as a list of its members, with their places in the text.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use planwright::core::Value;
use planwright::mcp::jsonc;

use super::server_list::ServerList;
use crate::setup::wrap::edit::EditError;

/// The byte order mark, with which some editors begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// An object within a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectText {
    /// The text before it in the file, its opening bracket included.
    pub(crate) head: String,
    pub(crate) members: Vec<Member>,
    /// The text after its last member: comments, and the space before the closing bracket.
    pub(crate) foot: String,
    /// The closing bracket, and all text after it.
    pub(crate) rest: String,
    /// True if a comma follows the last member.
    trailing_comma: bool,
}

impl ServerList for ObjectText {
    fn servers(&self) -> Vec<(String, Value)> {
        let members = self.members.iter();
        members
            .map(|member| (member.name.clone(), member.value.clone()))
            .collect()
    }

    fn remove(&mut self, at: usize) -> String {
        self.members.remove(at).fragment()
    }

    fn insert(&mut self, at: usize, fragment: &str) -> Result<(), EditError> {
        self.members.insert(at, Member::of_fragment(fragment)?);
        Ok(())
    }

    fn format(&self, name: &str, entry: &Value, like: Option<&str>) -> String {
        let like = like.and_then(|fragment| Member::of_fragment(fragment).ok());
        let blanks = like.as_ref().or(self.members.last()).map(Member::blanks);
        let blanks = blanks.unwrap_or("\n    ");
        let written = format_entry(entry, blanks, &self.foot);
        Member::new(blanks, name, entry.clone(), &written).fragment()
    }

    fn renamed(&self, fragment: &str, name: &str, _: &Value) -> String {
        match Member::of_fragment(fragment) {
            Ok(member) => member.renamed(name).fragment(),
            Err(_) => fragment.to_owned(),
        }
    }

    fn finish(&mut self) {
        // An empty object has no blanks before its end.
        let first = self.members.first();
        if let Some(blanks) = first.map(Member::blanks).filter(|_| self.foot.is_empty())
            && blanks.contains('\n')
        {
            self.foot = blanks.strip_suffix("  ").unwrap_or(blanks).to_owned();
        }
    }

    fn text(&self) -> String {
        // The method of the type itself.
        Self::text(self)
    }
}

/// A member, with its blanks and comments. The text is the concatenation of all members and their surroundings.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// The text before the name.
    lead: String,
    /// The name as written.
    pub(crate) written: String,
    /// From the colon to the end of the value, and on to the comma.
    body: String,
    /// The text after the comma on the same line.
    tail: String,
}

impl ObjectText {
    /// Finds the object at `path` in `text`.
    ///
    /// # Errors
    ///
    /// Fails if `text` is not JSON with comments.
    pub(crate) fn find(text: &str, path: &[&str]) -> Result<Option<Self>, String> {
        let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let mark = &text[..text.len() - body.len()];
        let parsed = jsonc::parse(body).map_err(|error| {
            let mut message = error.to_string();
            message[..1].make_ascii_lowercase();
            message
        })?;
        let tokens = parsed.tokens.unwrap_or_default();
        let mut value = parsed.value.ok_or("it is empty")?;
        for name in path {
            let ast::Value::Object(object) = value else {
                return Ok(None);
            };
            // The last of several members with one name counts.
            let mut members = object.properties.into_iter();
            let Some(member) = members.rfind(|member| member.name.as_str() == *name) else {
                return Ok(None);
            };
            value = member.value;
        }
        Ok(match value {
            ast::Value::Object(object) => Some(Self::new(mark, body, &tokens, object)),
            _ => None,
        })
    }

    fn new(mark: &str, text: &str, tokens: &[TokenAndRange<'_>], object: ast::Object<'_>) -> Self {
        let behind = |at: usize| &tokens[tokens.partition_point(|token| token.range.start < at)..];
        let open = object.range.start + 1;
        let close = object.range.end - 1;
        let mut start = open;
        let mut members = Vec::new();
        let mut trailing_comma = false;
        for ast::ObjectProp { range, name, value } in object.properties {
            let comma = behind(range.end)
                .iter()
                .find(|token| {
                    !matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
                })
                .filter(|token| token.token == Token::Comma);
            trailing_comma = comma.is_some();
            let end = comma.map_or(range.end, |comma| comma.range.start);
            let after = comma.map_or(range.end, |comma| comma.range.end);
            let tail = line_end(text, behind(after), after);
            let name_range = name.range();
            members.push(Member {
                name: name.into_string(),
                value: serde_json::from_value(value.into()).unwrap_or_default(),
                lead: text[start..name_range.start].to_owned(),
                written: text[name_range.start..name_range.end].to_owned(),
                body: text[name_range.end..end].to_owned(),
                tail: text[after..tail].to_owned(),
            });
            start = tail;
        }
        Self {
            head: format!("{mark}{}", &text[..open]),
            members,
            foot: text[start..close].to_owned(),
            rest: text[close..].to_owned(),
            trailing_comma,
        }
    }

    /// The text that contains the member.
    pub(crate) fn text(&self) -> String {
        let mut text = self.head.clone();
        for (index, member) in self.members.iter().enumerate() {
            let next = self.members.get(index + 1).map(|next| next.lead.as_str());
            text += &member.lead;
            text += &member.written;
            text += &member.body;
            if next.is_some() || self.trailing_comma {
                text.push(',');
            }
            text += &member.tail;
            // A line comment must not swallow the text that now follows it.
            let behind = next.unwrap_or(&self.foot);
            if member.tail.contains("//") && !behind.starts_with(['\n', '\r']) {
                text.push('\n');
            }
        }
        text + &self.foot + &self.rest
    }

    /// Makes the comments after the last member a part of it.
    pub(crate) fn move_foot(&mut self) {
        if let Some(last) = self.members.last_mut() {
            last.tail += self.foot.trim_end();
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl Member {
    /// Creates a member with a formatted value. The blanks `lead` precede it.
    pub(crate) fn new(lead: &str, name: &str, value: Value, written: &str) -> Self {
        Self {
            name: name.to_owned(),
            value,
            lead: lead.to_owned(),
            written: Value::text(name).to_json(),
            body: format!(": {written}"),
            tail: String::new(),
        }
    }

    /// Returns the member as a text that [`of_fragment`](Self::of_fragment) reads.
    pub(crate) fn fragment(&self) -> String {
        let Self {
            lead,
            written,
            body,
            tail,
            ..
        } = self;
        format!("{lead}{written}{body},{tail}")
    }

    /// Reads a member from its text.
    pub(crate) fn of_fragment(fragment: &str) -> Result<Self, EditError> {
        let object = ObjectText::find(&format!("{{{fragment}\n}}"), &[]);
        let mut object = object
            .map_err(|error| EditError::malformed("JSON", &error))?
            .unwrap_or_default();
        let mut member = object
            .members
            .pop()
            .ok_or_else(|| EditError::malformed("JSON", "a server has no text"))?;
        member.tail += object.foot.strip_suffix('\n').unwrap_or(&object.foot);
        Ok(member)
    }

    /// Returns the member under another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            written: Value::text(name).to_json(),
            ..self.clone()
        }
    }

    /// The blanks before the member: a line break and its indentation, if it begins a line.
    pub(crate) fn blanks(&self) -> &str {
        let at = self.lead.rfind('\n').unwrap_or(0);
        let at = if self.lead[..at].ends_with('\r') {
            at - 1
        } else {
            at
        };
        let blanks = &self.lead[at..];
        if blanks.trim().is_empty() {
            blanks
        } else {
            " "
        }
    }
}

/// The end of the comments on the rest of the line from `from` on; `from` if `tokens` continue on that line.
fn line_end(text: &str, tokens: &[TokenAndRange<'_>], from: usize) -> usize {
    let has_break = |text: &str| text.contains(['\n', '\r']);
    let mut end = from;
    for TokenAndRange { range, token } in tokens {
        if has_break(&text[end..range.start]) {
            return end;
        }
        let is_comment = matches!(token, Token::CommentLine(_) | Token::CommentBlock(_));
        if !is_comment || has_break(&text[range.start..range.end]) {
            // The comment belongs to the text that follows it on the line.
            return from;
        }
        end = range.end;
    }
    end
}

/// Formats an entry: in several lines if the other members have separate lines.
pub(crate) fn format_entry(entry: &Value, blanks: &str, foot: &str) -> String {
    let Some((_, indentation)) = blanks.rsplit_once('\n').filter(|_| blanks.contains('\n')) else {
        let fields = entry.as_object().into_iter().flatten();
        let fields: Vec<String> = fields.map(|(name, value)| field(name, value)).collect();
        return format!("{{{}}}", fields.join(", "));
    };
    let outer = foot.rsplit_once('\n').map(|(_, outer)| outer);
    let unit = outer.and_then(|outer| indentation.strip_prefix(outer));
    let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ");
    let fields = entry.as_object().into_iter().flatten();
    let fields: Vec<String> = fields
        .map(|(name, value)| format!("{blanks}{unit}{}", field(name, value)))
        .collect();
    format!("{{{}{blanks}}}", fields.join(","))
}

fn field(name: &str, value: &Value) -> String {
    let value = match value {
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(Value::to_json).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_json(),
    };
    format!("{}: {value}", Value::text(name).to_json())
}
