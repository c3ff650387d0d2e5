//! Output of a conversation.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use planwright::core::Value;
use planwright::engine::StampedEvent;
use planwright::format::{EventV1, UsageV1};
use planwright::planner::model::Usage;
use planwright::terminal_text;

use crate::args::RunFormat;
use crate::error::CommandError;
use crate::planning::progress;
use crate::view::output;
use crate::view::printer::Printer;

/// Prints a conversation.
pub(super) struct ChatOutput {
    format: RunFormat,
    printer: Printer,
    /// The calls of this turn, for the object at its end.
    calls: Mutex<Vec<Value>>,
}

/// The end of a turn.
pub(super) struct TurnEnd<'a> {
    pub(super) chat: &'a str,
    /// In one word.
    pub(super) end: &'a str,
    /// The model's words or its output.
    pub(super) answer: Option<Value>,
    /// True if its words are on the screen already.
    pub(super) is_shown: bool,
    /// The reason why there is no answer.
    pub(super) message: Option<String>,
    /// The words of a model that gave no answer.
    pub(super) said: String,
    /// The tokens and the cost so far.
    pub(super) usage: Usage,
}

impl<'a> TurnEnd<'a> {
    /// Creates the end of a turn without further details.
    pub(super) fn of(chat: &'a str, usage: Usage) -> Self {
        Self {
            chat,
            end: "answer",
            answer: None,
            is_shown: false,
            message: None,
            said: String::new(),
            usage,
        }
    }
}

impl ChatOutput {
    pub(super) fn new(format: RunFormat, printer: Printer) -> Self {
        Self {
            format,
            printer,
            calls: Mutex::default(),
        }
    }

    /// Prints an event as JSON if the format is that of events.
    pub(super) fn event(
        &self,
        name: &str,
        fields: impl IntoIterator<Item = (&'static str, Value)>,
    ) {
        if self.format == RunFormat::Events {
            let name = ("event", Value::from(name));
            let line = Value::object(std::iter::once(name).chain(fields));
            self.printer.document(&line.to_json());
        }
    }

    /// Prints an event of a run.
    pub(super) fn run(&self, run: &str, event: &StampedEvent) {
        if self.format == RunFormat::Events {
            let event = serde_json::to_value(EventV1::from(event)).unwrap_or_default();
            self.event(
                "run",
                [("run", Value::from(run)), ("of", Value::from(event))],
            );
        }
    }

    /// Prints an intermediate message of the model.
    pub(super) fn aside(&self, words: &str) {
        self.event("said", [("text", Value::from(words))]);
        self.printer.quote(words.trim_end());
    }

    /// A call of the model was answered.
    pub(super) fn called(&self, name: &str, arguments: &Value, is_good: bool, took: Duration) {
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let fields = [
            ("tool", Value::from(name)),
            ("arguments", arguments.clone()),
            ("ok", Value::from(is_good)),
            ("milliseconds", Value::from(milliseconds)),
        ];
        self.event("called", fields.clone());
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Value::object(fields));
    }

    /// Prints a line for the person.
    pub(super) fn line(&self, text: &str) {
        self.printer.quote(text);
    }

    /// The turn is over.
    pub(super) fn ended(&self, ended: TurnEnd<'_>) -> Result<(), CommandError> {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        let is_declined = matches!(ended.end, "ask" | "cannot");
        if let Some(message) = &ended.message {
            let kind = if is_declined { "" } else { "error: " };
            self.printer.quote(&format!("{kind}{message}"));
        }
        if !ended.said.is_empty() && !ended.is_shown {
            self.printer.quote(&format!("  it said: {}", ended.said));
        }
        if self.format == RunFormat::Text {
            if let Some(answer) = ended.answer.as_ref().filter(|_| !ended.is_shown) {
                let text = answer.to_inserted_text();
                let text = text.trim_end();
                if Printer::shows_data() {
                    self.printer.data_line(&terminal_text::lines(text));
                } else {
                    self.printer.data_line(text);
                }
            }
            progress::usage(ended.usage, self.printer);
            return Ok(());
        }
        let usage = serde_json::to_value(UsageV1::from(ended.usage)).unwrap_or_default();
        let said = Some(ended.said).filter(|said| !said.is_empty());
        let fields = vec![
            ("schema", Value::from("planwright.answer/1")),
            ("chat", Value::from(ended.chat)),
            ("end", Value::from(ended.end)),
            ("answer", ended.answer.unwrap_or_default()),
            ("message", ended.message.map_or(Value::Null, Value::from)),
            ("said", said.map_or(Value::Null, Value::from)),
            ("calls", Value::from(calls)),
            ("usage", Value::from(usage)),
        ];
        if self.format == RunFormat::Events {
            self.event("answer", fields);
            return Ok(());
        }
        output::json(&Value::object(fields), self.format, self.printer)
    }
}
