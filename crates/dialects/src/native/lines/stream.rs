//! Finds the plan in the output of a model, partial or surrounded by prose.

use super::line;
use super::statement::{LineStatement, LineToken, StatementKind, StatementSplitter, all};
use crate::lowering::lines::line_at;

/// A reader of a text in lines that arrives in pieces. It provides the plan as far as it is complete: the first block
/// of code with steps, or the statements between prose. It does not interpret the plan, and takes time proportional to
/// the length of the text.
///
/// ```
/// use planwright_dialects::native::lines::StreamingLineReader;
///
/// let mut reader = StreamingLineReader::new(1000);
/// assert_eq!(reader.feed("Sure:\na = f(x=1)\nb = g(y=${a"), 1);
/// assert_eq!(reader.beginning().unwrap(), "a = f(x=1)\n");
/// ```
#[derive(Clone, Debug)]
pub struct StreamingLineReader {
    text: String,
    max_bytes: usize,
    /// The start of the first incomplete line.
    at: usize,
    splitter: StatementSplitter,
    /// The complete statements, without prose.
    plan: String,
    /// The end of the last step in `plan`.
    end: usize,
    steps: usize,
    /// The indentation of the first statement.
    indentation: Option<usize>,
    is_over: bool,
}

impl StreamingLineReader {
    /// A reader of at most `max_bytes` bytes; text after them is ignored.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            at: 0,
            splitter: StatementSplitter::default(),
            plan: String::new(),
            end: 0,
            steps: 0,
            indentation: None,
            is_over: false,
        }
    }

    /// Takes the next piece, and returns the number of steps that it completes.
    pub fn feed(&mut self, piece: &str) -> usize {
        let before = self.steps;
        if self.text.len() + piece.len() > self.max_bytes {
            self.is_over = true;
        }
        if self.is_over {
            return 0;
        }
        let first = self.text.len();
        self.text.push_str(piece);
        // Only complete lines are split; a piece may end inside of one.
        let ends = piece.match_indices('\n').map(|(end, _)| first + end);
        for end in ends {
            let range = line_at(&self.text, self.at);
            self.at = end + 1;
            for found in self.splitter.line(&self.text, range) {
                self.take(found);
            }
        }
        self.steps - before
    }

    /// The number of complete steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The plan up to the last complete step.
    pub fn beginning(&self) -> Option<String> {
        (self.steps > 0).then(|| self.plan[..self.end].to_owned())
    }

    fn take(&mut self, found: LineToken) {
        if self.is_over {
            return;
        }
        match found {
            LineToken::Statement(LineStatement {
                kind,
                range,
                is_closed,
            }) => {
                // This reader does not repair errors, so the plan ends here.
                if line::is_foreign_step(&self.text[range.clone()]) {
                    self.is_over = true;
                    return;
                }
                let indentation = line::indentation(&self.text[range.clone()]).len();
                let is_aligned = *self.indentation.get_or_insert(indentation) == indentation;
                if !is_aligned {
                    self.is_over = true;
                    return;
                }
                self.is_over = !is_closed;
                self.plan.push_str(&self.text[range]);
                self.plan.push('\n');
                if kind == StatementKind::Step && is_closed {
                    self.steps += 1;
                    self.end = self.plan.len();
                }
            }
            // Another block is another plan.
            LineToken::Fence(_) => self.is_over = self.steps > 0,
            // After a line of a program, the meaning of other lines is unknown.
            LineToken::OtherLine(range) => self.is_over = line::error(&self.text[range]).is_some(),
        }
    }
}

/// The part of `text` that is the plan in lines: the last block of code with steps, or the whole text if no block has any. `None`
/// if no line is a step.
pub fn plan_in(text: &str) -> Option<&str> {
    let mut blocks = Vec::new();
    let mut block = TextBlock::default();
    let mut has_step = false;
    for found in all(text) {
        match found {
            LineToken::Statement(statement) => {
                block.has_step |= statement.kind == StatementKind::Step;
                has_step |= block.has_step;
                block.end = statement.range.end;
            }
            LineToken::OtherLine(range) => block.end = range.end,
            LineToken::Fence(range) => {
                let next = TextBlock {
                    start: range.end,
                    end: range.end,
                    is_code: !block.is_code,
                    has_step: false,
                };
                blocks.push(std::mem::replace(&mut block, next));
            }
        }
    }
    blocks.push(block);
    let mut code = blocks.iter().rev();
    // The last block counts: a model may correct an earlier one.
    let block = code.find(|block| block.is_code && block.has_step);
    match block {
        Some(block) => Some(text[block.start..block.end].trim()),
        None => has_step.then(|| text.trim()),
    }
}

/// The text between two fences.
#[derive(Debug, Default)]
struct TextBlock {
    start: usize,
    end: usize,
    is_code: bool,
    has_step: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state of a reader after each of the pieces of `text` of `size` letters that completes steps.
    fn read_in_pieces(text: &str, size: usize) -> Vec<(usize, Option<String>)> {
        let letters: Vec<char> = text.chars().collect();
        let mut reader = StreamingLineReader::new(1000);
        let mut known = Vec::new();
        for piece in letters.chunks(size) {
            let piece: String = piece.iter().collect();
            if reader.feed(&piece) > 0 {
                known.push((reader.steps(), reader.beginning()));
            }
        }
        known
    }

    #[test]
    fn steps_are_known_once_they_are_written() {
        let text = "Here:\n```text\nplan {\"name\": \"n\"}\na = f(x=\"é\n)\")\n\n# then\nb = g()\n```\nc = h()\n";
        let one = "plan {\"name\": \"n\"}\na = f(x=\"é\n)\")\n".to_owned();
        let two = format!("{one}b = g()\n");
        for size in 1..6 {
            let wanted = vec![(1, Some(one.clone())), (2, Some(two.clone()))];
            assert_eq!(read_in_pieces(text, size), wanted, "{size}");
        }
        assert_eq!(read_in_pieces(text, 1000), [(2, Some(two))]);
    }

    #[test]
    fn what_is_not_a_whole_step_is_none() {
        for text in [
            "a = f(x=1)",
            "a = f(x=\n",
            "words\n",
            "return 1\n",
            "a = f(\nb = g()\n",
        ] {
            assert_eq!(read_in_pieces(text, 1), [], "{text}");
        }
        let mut reader = StreamingLineReader::new(10);
        assert_eq!(reader.feed("a = f()\n"), 1);
        assert_eq!(reader.feed("b = f()\n"), 0);
        assert_eq!(reader.beginning().as_deref(), Some("a = f()\n"));
    }

    #[test]
    fn a_plan_is_found_among_words() {
        let check = |text: &str, wanted: Option<&str>| assert_eq!(plan_in(text), wanted, "{text}");
        check("a = f()", Some("a = f()"));
        check("Sure:\n```\na = f()\n```\nDone.", Some("a = f()"));
        check(
            "```\na = f()\n```\nBetter:\n```lines\nb = g()\nreturn 1\n```",
            Some("b = g()\nreturn 1"),
        );
        check("```\nwords\n```\na = f()", Some("```\nwords\n```\na = f()"));
        check("```\na = f(", Some("a = f("));
        check("no plan", None);
        check("", None);
    }
}
