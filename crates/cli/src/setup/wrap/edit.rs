//! Moves servers from a client's file into one of ours, and back. Pure functions from texts to texts. A JSON object with comments is read
//! as a list of its members with their places in the text.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use planwright::core::Value;
use planwright::mcp::jsonc;

/// The path to the servers in one of our files.
pub(crate) const GATEWAY_SERVERS: &[&str] = &["mcpServers"];

/// Our file without servers.
pub(crate) const EMPTY: &str = "{\n  \"mcpServers\": {\n  }\n}\n";

/// The place of the servers in a client's file, and their replacement.
#[derive(Clone, Debug)]
pub(crate) struct Section<'a> {
    /// The path to the object that contains them.
    pub(crate) path: &'a [&'a str],
    /// The name of our entry.
    pub(crate) name: &'a str,
    /// Our entry.
    pub(crate) entry: Value,
    /// The argument that identifies our entry among entries of the same name: the path of our file.
    pub(crate) file: &'a str,
}

/// The reason why an edit is impossible, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EditError {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// A client's file with the gateway in front of its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrapped {
    /// The text of the client's file.
    pub(crate) client: String,
    /// The text of our file.
    pub(crate) gateway_text: String,
    /// The servers that were moved by this edit.
    pub(crate) moved: Vec<String>,
    /// The servers that stay, each with the reason.
    pub(crate) stay: Vec<(String, String)>,
}

/// A client's file with its servers restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unwrapped {
    /// The text of the client's file.
    pub(crate) client: String,
    /// The servers that were moved back.
    pub(crate) returned: Vec<String>,
    /// The old and the new name of each server that was renamed, because the client has another server of its name.
    pub(crate) renamed: Vec<(String, String)>,
    /// The servers that no client can use, and the text of our file with them; `None` if there are none.
    pub(crate) left: Option<(Vec<String>, String)>,
}

/// Moves the servers of `text` into the gateway's file, which has the text `gateway_text` if it exists. `stays` returns the reason why one cannot move.
pub(crate) fn wrap(
    text: &str,
    gateway_text: Option<&str>,
    section: &Section<'_>,
    stays: &dyn Fn(&str, &Value) -> Option<String>,
) -> Result<Wrapped, EditError> {
    let mut client = object(text, section.path)?.ok_or_else(|| no_servers(section.path))?;
    let mut target = our_servers(gateway_text.unwrap_or(EMPTY))?;
    let has_entry = has_entry(&client, section)?;
    let mut members = Vec::new();
    let mut moved = Vec::new();
    let mut stay = Vec::new();
    let mut place = None;
    for member in std::mem::take(&mut client.members) {
        if has_entry && member.name == section.name {
            members.push(member);
            continue;
        }
        let known = target.get(&member.name).is_some();
        let reason = stays(&member.name, &member.value).or_else(|| {
            known.then(|| "a server of that name is behind the gateway already".to_owned())
        });
        if let Some(reason) = reason {
            stay.push((member.name.clone(), reason));
            members.push(member);
        } else {
            place.get_or_insert((members.len(), member.blanks().to_owned()));
            moved.push(member.name.clone());
            target.members.push(member);
        }
    }
    if let Some((at, blanks)) = place.filter(|_| !has_entry) {
        let written = format_entry(&section.entry, &blanks, &client.foot);
        members.insert(
            at,
            Member::new(&blanks, section.name, section.entry.clone(), &written),
        );
    }
    client.members = members;
    Ok(Wrapped {
        client: client.text(),
        gateway_text: target.text(),
        moved,
        stay,
    })
}

/// Moves the servers of the gateway's file `gateway_text` back to the place of the gateway's entry in `text`.
pub(crate) fn unwrap(
    text: &str,
    gateway_text: &str,
    section: &Section<'_>,
) -> Result<Unwrapped, EditError> {
    let mut client = object(text, section.path)?.ok_or_else(|| no_servers(section.path))?;
    let mut wrapped = our_servers(gateway_text)?;
    // A comment after the last server moves with it.
    if let Some(last) = wrapped.members.last_mut() {
        last.tail += wrapped.foot.trim_end();
    }
    let (ours, members) = std::mem::take(&mut wrapped.members)
        .into_iter()
        .partition(|member| is_for_us(&member.value));
    wrapped.members = ours;
    let names = wrapped.members.iter().map(|member| member.name.clone());
    let names: Vec<String> = names.collect();
    let left = (!names.is_empty()).then(|| (names, wrapped.text()));
    let has_entry = has_entry(&client, section)?;
    let mut at = client.members.len();
    if has_entry {
        let entry = client
            .members
            .iter()
            .position(|member| member.name == section.name);
        at = entry.unwrap_or(at);
        client.members.retain(|member| member.name != section.name);
    }
    let mut returned = Vec::new();
    let mut renamed = Vec::new();
    let members: Vec<Member> = members;
    for member in members {
        let mut member = member;
        if let Some(there) = client.get(&member.name) {
            if there.value == member.value {
                continue;
            }
            let mut numbers = 2_usize..;
            let free = numbers.find_map(|number| {
                let name = format!("{}-{number}", member.name);
                client.get(&name).is_none().then_some(name)
            });
            let name = free.unwrap_or_default();
            renamed.push((member.name.clone(), name.clone()));
            member = member.renamed(&name);
        }
        returned.push(member.name.clone());
        client.members.insert(at, member);
        at += 1;
    }
    // An empty object has no blanks before its end.
    let first = client.members.first();
    if let Some(blanks) = first.map(Member::blanks).filter(|_| client.foot.is_empty())
        && blanks.contains('\n')
    {
        client.foot = blanks.strip_suffix("  ").unwrap_or(blanks).to_owned();
    }
    Ok(Unwrapped {
        client: client.text(),
        returned,
        renamed,
        left,
    })
}

/// Returns true for a server that clients do not know: an API with an OpenAPI document.
fn is_for_us(server: &Value) -> bool {
    server.get("openapi").is_some()
}

/// Adds a server to a text that lists servers in the form of our files.
pub(crate) fn with_server(text: &str, name: &str, entry: Value) -> Result<String, EditError> {
    let mut servers = our_servers(text)?;
    if servers.get(name).is_some() {
        return Err(EditError {
            message: format!("it already has a server `{name}`"),
            help: "give the new one another name, or edit the file".to_owned(),
        });
    }
    let blanks = servers.members.last().map(Member::blanks);
    let blanks = blanks.unwrap_or("\n    ").to_owned();
    let written = format_entry(&entry, &blanks, &servers.foot);
    let member = Member::new(&blanks, name, entry, &written);
    servers.members.push(member);
    Ok(servers.text())
}

/// Returns true if a text has servers that a gateway could be put in front of.
pub(crate) fn has_servers(text: &str, path: &[&str]) -> Result<bool, EditError> {
    let object = object(text, path)?;
    Ok(object.is_some_and(|object| !object.members.is_empty()))
}

fn object(text: &str, path: &[&str]) -> Result<Option<ObjectText>, EditError> {
    ObjectText::find(text, path).map_err(|error| EditError {
        message: format!("it is not JSON: {error}"),
        help: "fix it, then try again: nothing was changed".to_owned(),
    })
}

fn our_servers(text: &str) -> Result<ObjectText, EditError> {
    object(text, GATEWAY_SERVERS)?.ok_or_else(|| no_servers(GATEWAY_SERVERS))
}

fn no_servers(path: &[&str]) -> EditError {
    EditError {
        message: format!("there is no `{}` in it", path.join(".")),
        help: "name a file that lists MCP servers, as Claude Code, Claude Desktop, Cursor and VS Code write it".to_owned(),
    }
}

/// Returns true if our entry exists.
fn has_entry(client: &ObjectText, section: &Section<'_>) -> Result<bool, EditError> {
    let Some(member) = client.get(section.name) else {
        return Ok(false);
    };
    let args = member
        .value
        .get("args")
        .and_then(Value::as_list)
        .unwrap_or_default();
    if args
        .iter()
        .any(|argument| argument.as_text() == Some(section.file))
    {
        return Ok(true);
    }
    Err(EditError {
        message: format!("it has another server named `{}`", section.name),
        help: "give that one another name".to_owned(),
    })
}

/// Formats an entry: in several lines if the other members have separate lines.
fn format_entry(entry: &Value, blanks: &str, foot: &str) -> String {
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

/// The byte order mark, with which some editors begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// An object within a text.
#[derive(Clone, Debug)]
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
