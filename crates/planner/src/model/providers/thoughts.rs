//! What a model thought before it wanted tools to be called. Some providers take the results of calls only with the thoughts
//! that led to them, unchanged; no message of ours has room for those, so they are kept here.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use genai::chat::ChatMessage;

use super::super::ModelCall;
use super::question::sent_arguments;

/// How many messages are kept, the latest.
const KEPT: usize = 128;

/// Messages of the model that asked for calls, as they came.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    kept: Mutex<VecDeque<ChatMessage>>,
}

impl Thoughts {
    /// Keeps a message.
    pub(super) fn keep(&self, message: ChatMessage) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(message);
    }

    /// The message that said exactly this.
    pub(super) fn message(&self, text: &str, calls: &[ModelCall]) -> Option<ChatMessage> {
        if calls.is_empty() {
            return None;
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut latest = kept.iter().rev();
        latest.find(|message| says(message, text, calls)).cloned()
    }
}

fn says(message: &ChatMessage, text: &str, calls: &[ModelCall]) -> bool {
    let said = message.content.tool_calls();
    let is_same = |(said, call): (&&genai::chat::ToolCall, &ModelCall)| {
        said.call_id == call.id
            && said.fn_name == call.name
            && said.fn_arguments == sent_arguments(call)
    };
    said.len() == calls.len()
        && said.iter().zip(calls).all(is_same)
        && message.content.texts().concat() == text
}
