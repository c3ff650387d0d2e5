//! Stored conversations: a file for each, in the folder of data.

use std::io::ErrorKind;
use std::path::PathBuf;

use indexmap::IndexMap;
use planwright::core::Value;
use planwright::engine::id::random_id;
use planwright::format::timestamp;
use planwright::planner::model::{Message, ModelCall, Usage};
use planwright::terminal_text;
use serde::{Deserialize, Serialize};

use super::chat_plans::{ChatPlan, ChatPlans};
use crate::args::{Protocol, RunFormat};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::system::{environment, text_file};
use crate::view::output;
use crate::view::printer::Printer;

/// The version of the file format.
const VERSION: &str = "planwright.chat/1";

/// The result of a call that was in flight when the conversation was interrupted.
const LOST: &str =
    "error: the conversation was interrupted; it is not known whether this call was made";

/// A conversation.
#[derive(Clone, Debug)]
pub(super) struct Chat {
    pub(super) id: String,
    pub(super) began: String,
    pub(super) model: String,
    /// The first words of the conversation.
    pub(super) title: String,
    pub(super) usage: Usage,
    /// The number of calls of tools.
    pub(super) calls: u64,
    pub(super) conversation: Conversation,
}

/// The messages of the conversation.
#[derive(Clone, Debug)]
pub(super) enum Conversation {
    Tools {
        messages: Vec<Message>,
        plans: ChatPlans,
    },
    /// The stored state of the loop; `None` before its first round.
    Acts(Option<String>),
}

impl Chat {
    pub(super) fn new(model: &str, protocol: Protocol) -> Self {
        Self {
            id: random_id().to_string(),
            began: timestamp(store::now()),
            model: model.to_owned(),
            title: String::new(),
            usage: Usage::default(),
            calls: 0,
            conversation: match protocol {
                Protocol::Tools => Conversation::Tools {
                    messages: Vec::new(),
                    plans: ChatPlans::default(),
                },
                Protocol::Acts => Conversation::Acts(None),
            },
        }
    }

    pub(super) fn protocol(&self) -> Protocol {
        match self.conversation {
            Conversation::Tools { .. } => Protocol::Tools,
            Conversation::Acts(_) => Protocol::Acts,
        }
    }

    pub(super) fn short(&self) -> &str {
        store::short_id(&self.id)
    }

    /// Returns true if the conversation has messages.
    pub(super) fn is_begun(&self) -> bool {
        !self.title.is_empty()
    }

    /// Sets the title of the conversation, unless it has one.
    pub(super) fn set_title(&mut self, words: &str) {
        if self.title.is_empty() {
            words.trim().clone_into(&mut self.title);
        }
    }

    /// Writes the conversation to its file.
    pub(super) fn save(&self) -> Result<(), CommandError> {
        let folder = folder()?;
        text_file::create_folder(&folder)?;
        let text = serde_json::to_string(&ChatV1::of(self)).map_err(|error| {
            CommandError::new(format!("the conversation cannot be stored: {error}"))
        })?;
        text_file::write(&text, &folder.join(format!("{}.json", self.id)), true)
    }
}

/// Finds the only conversation whose id begins with `id`.
pub(super) fn find(id: &str) -> Result<Chat, CommandError> {
    let mut found = files()?;
    found.retain(|(name, _)| name.starts_with(id));
    match found.as_slice() {
        [(_, path)] => read(path),
        [] => Err(
            CommandError::new(format!("there is no conversation `{id}`"))
                .hint("`planwright chat --list` lists them"),
        ),
        _ => Err(
            CommandError::new(format!("several conversations begin with `{id}`"))
                .hint("write more characters of the id"),
        ),
    }
}

/// Lists all conversations, the newest first.
pub(super) fn list(format: RunFormat, printer: Printer) -> Result<Exit, CommandError> {
    let mut chats = Vec::new();
    for (_, path) in files()? {
        match read(&path) {
            Ok(chat) => chats.push(chat),
            Err(error) => printer.quote(&format!("warning: {error}")),
        }
    }
    chats.sort_by(|one, other| other.began.cmp(&one.began));
    if chats.is_empty() && format == RunFormat::Text {
        printer.status("no conversation is stored");
    }
    for chat in &chats {
        match format {
            RunFormat::Text => printer.data_line(&terminal_text::lines(&format!(
                "{}  {}  {}  {}",
                chat.short(),
                chat.began
                    .get(..16)
                    .unwrap_or(&chat.began)
                    .replace('T', " "),
                terminal_text::one_line(&chat.model),
                terminal_text::shortened(&terminal_text::one_line(&chat.title), 60, "…")
            ))),
            RunFormat::Json | RunFormat::Events => {
                let line = Value::object([
                    ("id", Value::from(chat.id.as_str())),
                    ("began", Value::from(chat.began.as_str())),
                    ("model", Value::from(chat.model.as_str())),
                    ("title", Value::from(chat.title.as_str())),
                ]);
                output::json(&line, RunFormat::Events, printer)?;
            }
        }
    }
    Ok(Exit::Success)
}

fn folder() -> Result<PathBuf, CommandError> {
    let folder = environment::data_folder().ok_or_else(|| {
        CommandError::new(
            "there is no folder for conversations: neither `XDG_DATA_HOME` nor `HOME` is set",
        )
        .hint("store nothing with `--no-store`")
    })?;
    Ok(folder.join("chats"))
}

/// The files of conversations, by id.
fn files() -> Result<Vec<(String, PathBuf)>, CommandError> {
    let folder = folder()?;
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(CommandError::unreadable(&folder, &error)),
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths
        .filter_map(|path| {
            let name = path
                .file_name()?
                .to_str()?
                .strip_suffix(".json")?
                .to_owned();
            Some((name, path))
        })
        .collect())
}

fn read(path: &std::path::Path) -> Result<Chat, CommandError> {
    let text = text_file::read(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let wrong = |why: String| {
        CommandError::new(format!("`{}` is not a conversation: {why}", path.display()))
    };
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match value.get("version").and_then(serde_json::Value::as_str) {
        Some(VERSION) => {}
        other => {
            let other = other.unwrap_or_default();
            return Err(wrong(format!("the version `{other}` is not known")));
        }
    }
    let twin: ChatV1 = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    Ok(twin.chat())
}

/// `planwright.chat/1`
#[derive(Debug, Serialize, Deserialize)]
struct ChatV1 {
    version: String,
    id: String,
    began: String,
    model: String,
    title: String,
    calls: u64,
    requests: u32,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    cost: Option<f64>,
    protocol: ProtocolV1,
    #[serde(default)]
    messages: Vec<MessageV1>,
    #[serde(default)]
    plans: IndexMap<String, ChatPlan>,
    /// The number of the plan that was written last.
    #[serde(default)]
    last_plan: u64,
    #[serde(default)]
    agent: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProtocolV1 {
    Tools,
    Acts,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum MessageV1 {
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default)]
        calls: Vec<CallV1>,
    },
    Tool {
        call: String,
        text: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct CallV1 {
    id: String,
    name: String,
    arguments: Value,
}

impl ChatV1 {
    fn of(chat: &Chat) -> Self {
        let (protocol, messages, plans, agent) = match &chat.conversation {
            Conversation::Tools { messages, plans } => {
                let messages = messages.iter().map(MessageV1::of).collect();
                (ProtocolV1::Tools, messages, plans.clone(), None)
            }
            Conversation::Acts(agent) => (
                ProtocolV1::Acts,
                Vec::new(),
                ChatPlans::default(),
                agent.clone(),
            ),
        };
        Self {
            version: VERSION.to_owned(),
            id: chat.id.clone(),
            began: chat.began.clone(),
            model: chat.model.clone(),
            title: chat.title.clone(),
            calls: chat.calls,
            requests: chat.usage.requests,
            input_tokens: chat.usage.input_tokens,
            cached_tokens: chat.usage.cached_tokens,
            output_tokens: chat.usage.output_tokens,
            cost: chat.usage.cost,
            protocol,
            messages,
            plans: plans.by_id,
            last_plan: plans.last_number,
            agent,
        }
    }

    fn chat(self) -> Chat {
        let mut usage = Usage::default();
        usage.requests = self.requests;
        usage.input_tokens = self.input_tokens;
        usage.cached_tokens = self.cached_tokens;
        usage.output_tokens = self.output_tokens;
        usage.cost = self.cost;
        Chat {
            id: self.id,
            began: self.began,
            model: self.model,
            title: self.title,
            usage,
            calls: self.calls,
            conversation: match self.protocol {
                ProtocolV1::Tools => Conversation::Tools {
                    messages: close_open_calls(
                        self.messages.into_iter().map(MessageV1::message).collect(),
                    ),
                    plans: ChatPlans::stored(self.plans, self.last_plan),
                },
                ProtocolV1::Acts => Conversation::Acts(self.agent),
            },
        }
    }
}

impl MessageV1 {
    fn of(message: &Message) -> Self {
        match message {
            Message::User(text) => Self::User { text: text.clone() },
            Message::Assistant { text, calls } => Self::Assistant {
                text: text.clone(),
                calls: calls
                    .iter()
                    .map(|call| CallV1 {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        arguments: call.arguments.clone(),
                    })
                    .collect(),
            },
            Message::ToolResult { call, text } => Self::Tool {
                call: call.clone(),
                text: text.clone(),
            },
        }
    }

    fn message(self) -> Message {
        match self {
            Self::User { text } => Message::User(text),
            Self::Assistant { text, calls } => Message::Assistant {
                text,
                calls: calls
                    .into_iter()
                    .map(|call| ModelCall {
                        id: call.id,
                        name: call.name,
                        arguments: call.arguments,
                    })
                    .collect(),
            },
            Self::Tool { call, text } => Message::ToolResult { call, text },
        }
    }
}

/// Adds a result to each call without one, because providers reject a conversation with such calls.
fn close_open_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match &message {
            Message::ToolResult { call, .. } => open.retain(|id| id != call),
            Message::Assistant { calls, .. } => {
                close(&mut all, &mut open);
                open = calls.iter().map(|call| call.id.clone()).collect();
            }
            Message::User(_) => close(&mut all, &mut open),
        }
        all.push(message);
    }
    close(&mut all, &mut open);
    all
}

fn close(messages: &mut Vec<Message>, open: &mut Vec<String>) {
    messages.extend(open.drain(..).map(|call| Message::ToolResult {
        call,
        text: LOST.to_owned(),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_plan_gets_the_id_of_another() {
        let plan = || ChatPlan {
            goal: String::new(),
            text: String::new(),
        };
        let mut plans = ChatPlans::default();
        plans.by_id.insert("plan-2".to_owned(), plan());
        assert_eq!(plans.add(plan()), "plan-1");
        assert_eq!(plans.add(plan()), "plan-3");
        plans.by_id.shift_remove("plan-1");
        plans.by_id.shift_remove("plan-3");
        let chat = Chat {
            conversation: Conversation::Tools {
                messages: Vec::new(),
                plans,
            },
            ..Chat::new("model", Protocol::Tools)
        };
        let text = serde_json::to_string(&ChatV1::of(&chat)).unwrap();
        let read: ChatV1 = serde_json::from_str(&text).unwrap();
        let Conversation::Tools { mut plans, .. } = read.chat().conversation else {
            panic!("{text}");
        };
        assert_eq!(plans.add(plan()), "plan-4");
    }
}
