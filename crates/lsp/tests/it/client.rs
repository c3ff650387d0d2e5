//! A client of the language server.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, unbounded};
use lsp_server::{Connection, Message, Notification, Request};
use lsp_types::request::{Completion, HoverRequest};
use lsp_types::{Diagnostic, Position, PublishDiagnosticsParams, Range, TextEdit, WorkspaceEdit};
use planwright::Catalog;
use planwright::core::{Schema, Tool, Value};
use planwright_lsp::{LspError, PlanTools, serve};
use serde_json::json;

const URI: &str = "file:///plan.json";

/// A client with one open text.
pub(crate) struct Client {
    connection: Connection,
    tools: Sender<Arc<PlanTools>>,
    server: JoinHandle<Result<(), LspError>>,
    text: String,
    version: i32,
    requests: i32,
}

/// The tools `weather` and `echo`.
fn tools() -> Arc<PlanTools> {
    let schema = |schema: serde_json::Value| Schema::from_value(Value::from(schema));
    let weather = Tool {
        description: Some("Tells how warm it is.".into()),
        input: schema(json!({
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Tokyo", "London"], "description": "A city."}},
            "required": ["city"], "additionalProperties": false
        })),
        output: schema(json!({
            "type": "object",
            "properties": {"temp": {"type": "number"}, "wind": {"type": "number"}},
            "required": ["temp"], "additionalProperties": false
        })),
        ..Tool::new("sky", "weather")
    };
    let echo = Tool {
        input: schema(json!({
            "type": "object",
            "properties": {"message": {"type": "string"}, "loud": {"type": "boolean", "description": "In capitals."}},
            "required": ["message"], "additionalProperties": false
        })),
        ..Tool::new("everything", "echo")
    };
    let mut catalog = Catalog::new();
    catalog.add(weather);
    catalog.add(echo);
    Arc::new(PlanTools {
        catalog,
        ..PlanTools::default()
    })
}

impl Client {
    pub(crate) fn start() -> Self {
        let client = Self::start_without_tools();
        client.send_tools();
        client
    }

    pub(crate) fn start_without_tools() -> Self {
        let (connection, of_server) = Connection::memory();
        let (sender, receiver) = unbounded();
        let server = std::thread::spawn(move || serve(&of_server, &receiver));
        let mut client = Self {
            connection,
            tools: sender,
            server,
            text: String::new(),
            version: 0,
            requests: 0,
        };
        let result = client
            .try_ask_raw("initialize", json!({"capabilities": {}}))
            .unwrap();
        assert_eq!(result["serverInfo"]["name"], "planwright");
        assert_eq!(result["capabilities"]["positionEncoding"], "utf-16");
        client.notify("initialized", json!({}));
        client
    }

    pub(crate) fn send_tools(&self) {
        self.tools.send(tools()).unwrap();
    }

    pub(crate) fn end(mut self) {
        self.try_ask_raw("shutdown", serde_json::Value::Null)
            .unwrap();
        self.notify("exit", serde_json::Value::Null);
        self.server.join().unwrap().unwrap();
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn identifier() -> serde_json::Value {
        json!({"uri": URI})
    }

    fn notify(&self, method: &str, params: serde_json::Value) {
        let notification = Notification::new(method.to_owned(), params);
        self.connection.sender.send(notification.into()).unwrap();
    }

    pub(crate) fn send_open(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.version = 1;
        self.notify(
            "textDocument/didOpen",
            json!({"textDocument": {
                "uri": URI, "languageId": "json", "version": 1, "text": text
            }}),
        );
    }

    /// Opens a text, and returns its diagnostics.
    pub(crate) fn open(&mut self, text: &str) -> Vec<Diagnostic> {
        self.send_open(text);
        self.next_diagnostics()
    }

    /// Changes the text by one edit, and returns its diagnostics.
    pub(crate) fn change(&mut self, change: impl Fn(&str) -> String) -> Vec<Diagnostic> {
        let after = change(&self.text);
        assert_ne!(after, self.text);
        let start = after
            .char_indices()
            .zip(self.text.chars())
            .find(|((_, new), old)| new != old)
            .map_or(self.text.len().min(after.len()), |((start, _), _)| start);
        let range = Range::new(self.position(start), self.position(self.text.len()));
        self.version += 1;
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": URI, "version": self.version},
                "contentChanges": [{"range": range, "text": &after[start..]}]
            }),
        );
        self.text = after;
        self.next_diagnostics()
    }

    /// The diagnostics of the current version.
    pub(crate) fn next_diagnostics(&mut self) -> Vec<Diagnostic> {
        loop {
            let message = self.connection.receiver.recv().unwrap();
            let Message::Notification(notification) = message else {
                panic!("{message:?}");
            };
            assert_eq!(notification.method, "textDocument/publishDiagnostics");
            let found: PublishDiagnosticsParams =
                serde_json::from_value(notification.params).unwrap();
            if found.version == Some(self.version) {
                return found.diagnostics;
            }
        }
    }

    pub(crate) fn ask<R: lsp_types::request::Request>(
        &mut self,
        params: serde_json::Value,
    ) -> R::Result {
        self.try_ask::<R>(params).unwrap()
    }

    pub(crate) fn try_ask<R: lsp_types::request::Request>(
        &mut self,
        params: serde_json::Value,
    ) -> Result<R::Result, String> {
        let result = self.try_ask_raw(R::METHOD, params)?;
        Ok(serde_json::from_value(result).unwrap())
    }

    pub(crate) fn try_ask_raw(
        &mut self,
        method: &str,
        params: serde_json::Value,
    ) -> Result<serde_json::Value, String> {
        self.requests += 1;
        let request = Request::new(self.requests.into(), method.to_owned(), params);
        self.connection.sender.send(request.into()).unwrap();
        loop {
            match self.connection.receiver.recv().unwrap() {
                Message::Response(response) => {
                    assert_eq!(response.id, self.requests.into());
                    return match response.error {
                        Some(error) => Err(error.message),
                        None => Ok(response.result.unwrap_or_default()),
                    };
                }
                // Diagnostics of an earlier version.
                Message::Notification(_) => {}
                Message::Request(request) => panic!("{request:?}"),
            }
        }
    }

    /// The position of `|` in a part of the text.
    pub(crate) fn position_in(&self, part: &str) -> Position {
        let (before, after) = part.split_once('|').unwrap();
        let start = self.text.find(&format!("{before}{after}"));
        let start = start.unwrap_or_else(|| panic!("`{part}` is not in the text"));
        self.position(start + before.len())
    }

    pub(crate) fn position_behind(&self, part: &str) -> Position {
        self.position(self.text.find(part).unwrap() + part.len())
    }

    fn position(&self, offset: usize) -> Position {
        let before = &self.text[..offset];
        let line = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before[start..].encode_utf16().count();
        Position::new(u32::try_from(line).unwrap(), u32::try_from(column).unwrap())
    }

    /// The text of a range.
    pub(crate) fn shown(&self, range: Range) -> &str {
        &self.text[offset(&self.text, range.start)..offset(&self.text, range.end)]
    }

    /// The text of the hover at `|`.
    pub(crate) fn hover(&mut self, part: &str) -> Option<String> {
        let position = self.position_in(part);
        let params = json!({"textDocument": Self::identifier(), "position": position});
        let hover = self.ask::<HoverRequest>(params)?;
        match hover.contents {
            lsp_types::HoverContents::Markup(markup) => Some(markup.value),
            other => panic!("{other:?}"),
        }
    }

    /// The labels and details of the completion at `|`, after `from` was replaced by `to`. The text is as before afterwards.
    pub(crate) fn completion_after(&mut self, from: &str, to: &str) -> String {
        let (before, after) = to.split_once('|').unwrap();
        let unfinished = format!("{before}{after}");
        let at = self
            .text
            .find(from)
            .unwrap_or_else(|| panic!("`{from}` is not in the text"));
        let original = self.text.clone();
        let changed = original.replacen(from, &unfinished, 1);
        self.change(|_| changed.clone());
        let position = self.position(at + before.len());
        let found = self.ask::<Completion>(json!({
            "textDocument": Self::identifier(), "position": position
        }));
        self.change(|_| original.clone());
        let Some(lsp_types::CompletionResponse::Array(items)) = found else {
            return "nothing".to_owned();
        };
        let shown = items.iter().take(6).map(|item| {
            let detail = item.detail.as_deref().unwrap_or_default();
            format!("\n  {} ({detail})", item.label)
        });
        shown.collect()
    }
}

fn offset(text: &str, position: Position) -> usize {
    let mut lines = text.split_inclusive('\n');
    let line = usize::try_from(position.line).unwrap();
    let start: usize = lines.by_ref().take(line).map(str::len).sum();
    let mut units = 0;
    for (index, character) in text[start..].char_indices() {
        if units >= position.character {
            return start + index;
        }
        units += u32::try_from(character.len_utf16()).unwrap();
    }
    text.len()
}

/// The edits of the only text that is changed.
pub(crate) fn edits_of(edit: WorkspaceEdit) -> Vec<TextEdit> {
    edit.changes
        .into_iter()
        .flatten()
        .flat_map(|(_, edits)| edits)
        .collect()
}

/// The text with the edits of the editor.
pub(crate) fn applied(text: &str, edits: &[TextEdit]) -> String {
    let mut edits: Vec<&TextEdit> = edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start));
    let mut text = text.to_owned();
    for edit in edits {
        let span = offset(&text, edit.range.start)..offset(&text, edit.range.end);
        text.replace_range(span, &edit.new_text);
    }
    text
}
