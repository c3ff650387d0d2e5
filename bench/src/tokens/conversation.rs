//! What a conversation costs.

use serde_json::Value;

/// How many tokens `text` is, by the encoding `o200k_base`.
pub fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(text)
        .len()
}

/// What was read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// How often the model was asked to go on.
    pub turns: usize,
    /// What it wrote: calls with their arguments.
    pub written: usize,
    /// What it had before it in the end.
    pub context: usize,
    /// What it read in all turns together: with each, all that came before is read again.
    pub read: usize,
}

/// A conversation that goes on.
#[derive(Clone, Debug)]
pub struct Conversation {
    bill: Bill,
}

impl Conversation {
    /// It begins with the tools and what is to be done.
    pub fn new(tools: &[Value], task: &str) -> Self {
        let tools: usize = tools.iter().map(|tool| tokens(&tool.to_string())).sum();
        Self {
            bill: Bill {
                context: tools + tokens(task),
                ..Bill::default()
            },
        }
    }

    /// The model calls some tools together, and gets what they answer.
    pub fn turn(&mut self, calls: &[(String, String)]) {
        self.bill.turns += 1;
        self.bill.read += self.bill.context;
        for (call, answer) in calls {
            let written = tokens(call);
            self.bill.written += written;
            self.bill.context += written + tokens(answer);
        }
    }

    /// The model reads the last answers, and says that it is done.
    pub fn end(mut self) -> Bill {
        self.bill.turns += 1;
        self.bill.read += self.bill.context;
        self.bill
    }
}
