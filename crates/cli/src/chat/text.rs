//! The words of the model, printed as they arrive if a person reads them.

use futures::StreamExt;
use planwright::planner::model::{Delivery, ModelError, ModelRequest, Reply, ReplyChunk};
use planwright::terminal_text;

use super::context::ChatContext;
use crate::args::RunFormat;
use crate::create::progress::Waiting;
use crate::printer::Printer;

/// The words of the model, and whether they are on the screen already.
pub(super) struct ModelAnswer {
    pub(super) reply: Result<Reply, ModelError>,
    pub(super) is_shown: bool,
}

/// Asks the model. On a terminal its words are shown as they come.
pub(super) async fn ask(context: &ChatContext<'_>, mut request: ModelRequest) -> ModelAnswer {
    let name = context.model.name();
    let mut words = WordPrinter {
        waiting: Some(Waiting::new(&format!("{name} thinks"))),
        printer: context.printer,
        last: None,
    };
    let is_live = context.arguments.format == RunFormat::Text && Printer::shows_data();
    if is_live {
        request.delivery = Delivery::Live;
    }
    let mut pieces = context.model.ask(request);
    let reply = loop {
        match pieces.next().await {
            Some(Ok(ReplyChunk::Text(text))) if is_live => words.show(&text),
            Some(Ok(ReplyChunk::Text(_))) => {}
            Some(Ok(ReplyChunk::Done(reply))) => break Ok(reply),
            Some(Err(error)) => break Err(error),
            None => break Err(ModelError::interrupted(name)),
        }
    };
    ModelAnswer {
        reply,
        is_shown: words.last.is_some(),
    }
}

/// WordPrinter on the screen. However it ends, the line does.
struct WordPrinter {
    /// Until the first of them.
    waiting: Option<Waiting>,
    printer: Printer,
    /// The letter that was shown last.
    last: Option<char>,
}

impl WordPrinter {
    fn show(&mut self, text: &str) {
        // Blank lines before the first word are no answer yet.
        let text = match self.last {
            Some(_) => text,
            None => text.trim_start(),
        };
        let Some(last) = text.chars().last() else {
            return;
        };
        if let Some(waiting) = self.waiting.take() {
            waiting.end();
        }
        self.last = Some(last);
        self.printer.data(&terminal_text::lines(text));
    }
}

impl Drop for WordPrinter {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.end();
        }
        if self.last.is_some_and(|last| last != '\n') {
            self.printer.data("\n");
        }
    }
}
