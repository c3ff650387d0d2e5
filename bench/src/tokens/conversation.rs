//! The cost of a conversation.

use serde_json::Value;

/// Returns the number of tokens of `text` in the encoding `o200k_base`.
pub fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(text)
        .len()
}

/// The tokens of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// The number of requests to the model.
    pub turns: usize,
    /// The tokens that the model wrote: calls with their arguments.
    pub written: usize,
    /// The tokens of the context at the end.
    pub context: usize,
    /// The tokens that the model read in all requests together: each request contains the whole context.
    pub read: usize,
}

/// A conversation in progress.
#[derive(Clone, Debug)]
pub struct Conversation {
    counts: TokenCounts,
}

impl Conversation {
    /// Starts a conversation with the tools and the task.
    pub fn new(tools: &[Value], task: &str) -> Self {
        let tools: usize = tools.iter().map(|tool| tokens(&tool.to_string())).sum();
        Self {
            counts: TokenCounts {
                context: tools + tokens(task),
                ..TokenCounts::default()
            },
        }
    }

    /// Adds a turn: the model calls some tools together, and receives their results.
    pub fn turn(&mut self, calls: &[(String, String)]) {
        self.counts.turns += 1;
        self.counts.read += self.counts.context;
        for (call, answer) in calls {
            let written = tokens(call);
            self.counts.written += written;
            self.counts.context += written + tokens(answer);
        }
    }

    /// Ends the conversation: the model reads the last results and reports success.
    pub fn end(mut self) -> TokenCounts {
        self.counts.turns += 1;
        self.counts.read += self.counts.context;
        self.counts
    }
}
