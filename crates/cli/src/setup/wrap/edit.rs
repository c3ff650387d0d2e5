//! Moves servers from a client's file into one of ours, and back. Pure functions from texts to texts.

use planwright::core::Value;
use serde::{Deserialize, Serialize};

use super::client::ListSyntax;
use super::form::{Converted, EntryForm};
pub(crate) use super::lists::json_list::ObjectText;
use super::lists::json_list::{Member, format_entry};
use super::lists::server_list::{self, ServerList};

/// The path to the servers in one of our files.
pub(crate) const GATEWAY_SERVERS: &[&str] = &["mcpServers"];

/// Our file without servers.
pub(crate) const EMPTY: &str = "{\n  \"mcpServers\": {\n  }\n}\n";

/// The place of the servers in a client's file, and their replacement.
#[derive(Clone, Debug)]
pub(crate) struct Section<'a> {
    /// The syntax of the file.
    pub(crate) syntax: ListSyntax,
    /// The form of the client's entries.
    pub(crate) form: &'a EntryForm,
    /// The path to the object that contains them.
    pub(crate) path: &'a [&'a str],
    /// The name of our entry.
    pub(crate) name: &'a str,
    /// Our entry, as the client writes it.
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

/// A server whose entry was converted when it moved, so that it returns as it was.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct ConvertedServer {
    /// The name.
    pub(crate) name: String,
    /// The entry in our file.
    pub(crate) entry: Value,
    /// The entry of the client.
    pub(crate) original: Value,
    /// The text of the client's entry.
    pub(crate) text: String,
}

/// A client's file with the gateway in front of its servers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wrapped {
    /// The text of the client's file.
    pub(crate) client: String,
    /// The text of our file.
    pub(crate) gateway_text: String,
    /// The servers that were moved by this edit.
    pub(crate) moved: Vec<String>,
    /// The servers that stay, each with the reason.
    pub(crate) stay: Vec<(String, String)>,
    /// The moved servers whose entries were converted.
    pub(crate) converted: Vec<ConvertedServer>,
    /// The names of moved servers, each with a field that has no equivalent.
    pub(crate) dropped: Vec<(String, String)>,
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

impl EditError {
    /// The error of a text with a wrong syntax.
    pub(crate) fn malformed(syntax: &str, error: &str) -> Self {
        Self {
            message: format!("it is not {syntax}: {error}"),
            help: "fix it, then try again: nothing was changed".to_owned(),
        }
    }
}

/// Moves the servers of `text` into the gateway's file, which has the text `gateway_text` if it exists. `stays` returns the reason why the server
/// of an entry in the form of our files cannot move.
pub(crate) fn wrap(
    text: &str,
    gateway_text: Option<&str>,
    section: &Section<'_>,
    stays: &dyn Fn(&str, &Value) -> Option<String>,
) -> Result<Wrapped, EditError> {
    let mut client = section
        .open(text)?
        .ok_or_else(|| no_servers(section.path))?;
    let mut target = our_servers(gateway_text.unwrap_or(EMPTY))?;
    let servers = client.servers();
    let entry_at = section.entry_at(&servers)?;
    let mut wrapped = Wrapped {
        client: String::new(),
        gateway_text: String::new(),
        moved: Vec::new(),
        stay: Vec::new(),
        converted: Vec::new(),
        dropped: Vec::new(),
    };
    let mut variables = Vec::new();
    let mut place = None;
    let mut at = 0;
    for (index, (name, value)) in servers.into_iter().enumerate() {
        if entry_at == Some(index) {
            at += 1;
            continue;
        }
        let converted = section.form.convert(&value);
        let reason = match &converted {
            Ok(converted) => stays(&name, &converted.entry),
            Err(reason) => Some(reason.clone()),
        };
        let known = target.get(&name).is_some();
        let reason = reason.or_else(|| {
            known.then(|| "a server of that name is behind the gateway already".to_owned())
        });
        let converted = match (converted, reason) {
            (Ok(converted), None) => converted,
            (_, reason) => {
                wrapped.stay.push((name, reason.unwrap_or_default()));
                at += 1;
                continue;
            }
        };
        let fragment = client.remove(at);
        place.get_or_insert_with(|| (at, fragment.clone()));
        let Converted {
            entry,
            dropped,
            variables: passed,
        } = converted;
        variables.extend(passed);
        let fields = dropped.into_iter().map(|field| (name.clone(), field));
        wrapped.dropped.extend(fields);
        if section.syntax == ListSyntax::Json && entry == value {
            target.members.push(Member::of_fragment(&fragment)?);
        } else {
            let written = target.format(&name, &entry, None);
            target.members.push(Member::of_fragment(&written)?);
            wrapped.converted.push(ConvertedServer {
                name: name.clone(),
                entry,
                original: value,
                text: fragment,
            });
        }
        wrapped.moved.push(name);
    }
    let servers = client.servers();
    match section.entry_at(&servers)? {
        None => {
            if let Some((at, like)) = place {
                let entry = section.with_variables(&section.entry, variables);
                let entry = client.format(section.name, &entry, Some(&like));
                client.insert(at, &entry)?;
            }
        }
        Some(at) => {
            let present = &servers[at].1;
            let entry = section.with_variables(present, variables);
            if entry != *present {
                let like = client.remove(at);
                let entry = client.format(section.name, &entry, Some(&like));
                client.insert(at, &entry)?;
            }
        }
    }
    wrapped.client = client.text();
    wrapped.gateway_text = target.text();
    Ok(wrapped)
}

/// Moves the servers of the gateway's file `gateway_text` back to the place of the gateway's entry in `text`. Those of `converted` return as they
/// were, unless their entries have changed since then.
pub(crate) fn unwrap(
    text: &str,
    gateway_text: &str,
    converted: &[ConvertedServer],
    section: &Section<'_>,
) -> Result<Unwrapped, EditError> {
    let mut client = section
        .open(text)?
        .ok_or_else(|| no_servers(section.path))?;
    let mut wrapped = our_servers(gateway_text)?;
    // A comment after the last server moves with it.
    wrapped.move_foot();
    let (ours, members) = std::mem::take(&mut wrapped.members)
        .into_iter()
        .partition(|member| is_for_us(&member.value));
    wrapped.members = ours;
    let names = wrapped.members.iter().map(|member| member.name.clone());
    let names: Vec<String> = names.collect();
    let left = (!names.is_empty()).then(|| (names, wrapped.text()));
    let servers = client.servers();
    let mut at = servers.len();
    if let Some(entry_at) = section.entry_at(&servers)? {
        at = entry_at;
        client.remove(at);
    }
    let mut returned = Vec::new();
    let mut renamed = Vec::new();
    let members: Vec<Member> = members;
    for member in members {
        let (value, mut fragment) = section.returning(&*client, &member, converted);
        let servers = client.servers();
        let there = servers.iter().find(|(name, _)| *name == member.name);
        let mut name = member.name;
        if let Some((_, there)) = there {
            if *there == value {
                continue;
            }
            let mut numbers = 2_usize..;
            let is_free = |free: &String| servers.iter().all(|(name, _)| name != free);
            let free = numbers.find_map(|number| Some(format!("{name}-{number}")).filter(is_free));
            let free = free.unwrap_or_default();
            fragment = client.renamed(&fragment, &free, &value);
            renamed.push((name, free.clone()));
            name = free;
        }
        returned.push(name);
        client.insert(at, &fragment)?;
        at += 1;
    }
    client.finish();
    Ok(Unwrapped {
        client: client.text(),
        returned,
        renamed,
        left,
    })
}

impl Section<'_> {
    fn open(&self, text: &str) -> Result<Option<Box<dyn ServerList>>, EditError> {
        server_list::open(self.syntax, text, self.path)
    }

    /// The index of our entry.
    fn entry_at(&self, servers: &[(String, Value)]) -> Result<Option<usize>, EditError> {
        let Some(at) = servers.iter().position(|(name, _)| name == self.name) else {
            return Ok(None);
        };
        if names_file(&servers[at].1, self.file) {
            return Ok(Some(at));
        }
        Err(EditError {
            message: format!("it has another server named `{}`", self.name),
            help: "give that one another name".to_owned(),
        })
    }

    /// Returns our entry with more variables that the client passes to the gateway, and by it to the servers.
    fn with_variables(&self, entry: &Value, variables: Vec<String>) -> Value {
        let field = self
            .form
            .variables_field()
            .filter(|_| !variables.is_empty());
        let (Some(field), Some(fields)) = (field, entry.as_object()) else {
            return entry.clone();
        };
        let present = fields.get(field).and_then(Value::as_list);
        let mut names: Vec<Value> = present.unwrap_or_default().to_vec();
        for variable in variables {
            let variable = Value::text(variable);
            if !names.contains(&variable) {
                names.push(variable);
            }
        }
        let mut fields = fields.clone();
        fields.insert(field.into(), Value::list(names));
        fields.into()
    }

    /// Returns the entry and the fragment with which a server returns to the client.
    fn returning(
        &self,
        client: &dyn ServerList,
        member: &Member,
        converted: &[ConvertedServer],
    ) -> (Value, String) {
        let is_same =
            |known: &&ConvertedServer| known.name == member.name && known.entry == member.value;
        if let Some(known) = converted.iter().find(is_same) {
            return (known.original.clone(), known.text.clone());
        }
        let entry = self.form.restore(&member.name, &member.value);
        if self.syntax == ListSyntax::Json && (!self.form.is_converted() || entry == member.value) {
            return (member.value.clone(), member.fragment());
        }
        let fragment = client.format(&member.name, &entry, None);
        (entry, fragment)
    }
}

/// Returns true if an entry starts the gateway with the servers of `file`.
pub(crate) fn names_file(entry: &Value, file: &str) -> bool {
    let args = entry.get("args").and_then(Value::as_list);
    let mut args = args.unwrap_or_default().iter();
    args.any(|argument| argument.as_text() == Some(file))
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

/// Returns the servers of a text with their entries, in the form of the client; `None` if the text has no list.
pub(crate) fn servers(
    syntax: ListSyntax,
    text: &str,
    path: &[&str],
) -> Result<Option<Vec<(String, Value)>>, EditError> {
    let list = server_list::open(syntax, text, path)?;
    Ok(list.map(|list| list.servers()))
}

fn our_servers(text: &str) -> Result<ObjectText, EditError> {
    ObjectText::find(text, GATEWAY_SERVERS)
        .map_err(|error| EditError::malformed("JSON", &error))?
        .ok_or_else(|| no_servers(GATEWAY_SERVERS))
}

fn no_servers(path: &[&str]) -> EditError {
    EditError {
        message: format!("there is no `{}` in it", path.join(".")),
        help: "name a file that lists MCP servers, as a known client writes it".to_owned(),
    }
}
