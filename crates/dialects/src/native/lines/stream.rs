//! Finds the plan in what a model writes: in half of it, and between words.

use super::line;
use super::statement::{LineToken, Statement, StatementKind, StatementSplitter, all};
use crate::lowering::lines::line_at;

/// Reads a text in lines piece by piece, and knows the plan in it as far as it is there: the first block of code with steps, or the
/// lines among the words. It says nothing about what the plan means, and takes time in proportion to the text's length.
///
/// ```
/// use planwright_dialects::native::lines::LineReader;
///
/// let mut reader = LineReader::new(1000);
/// assert_eq!(reader.feed("Sure:\na = f(x=1)\nb = g(y=${a"), 1);
/// assert_eq!(reader.beginning().unwrap(), "a = f(x=1)\n");
/// ```
#[derive(Clone, Debug)]
pub struct LineReader {
    text: String,
    max_bytes: usize,
    /// Where the line begins that is not there in full yet.
    at: usize,
    splitter: StatementSplitter,
    /// The lines that are there in full, without the words between them.
    plan: String,
    /// Where the last step ends in it.
    end: usize,
    steps: usize,
    /// The number of blanks before the first statement.
    indentation: Option<usize>,
    is_over: bool,
}

impl LineReader {
    /// Reads texts of at most `most` bytes; what comes behind them is not looked at.
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

    /// Takes in the next piece, and says how many steps have come to their end in it.
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

    /// How many steps are there in full.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The plan as far as it is there: the steps that are there in full, and what stands before them.
    pub fn beginning(&self) -> Option<String> {
        (self.steps > 0).then(|| self.plan[..self.end].to_owned())
    }

    fn take(&mut self, found: LineToken) {
        if self.is_over {
            return;
        }
        match found {
            LineToken::Statement(Statement {
                kind,
                range,
                is_closed,
            }) => {
                // What has a fault is not for this reader to mend.
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
            // A further block is another plan.
            LineToken::Fence(_) => self.is_over = self.steps > 0,
            // Nothing that follows a line of a program means what it says.
            LineToken::OtherLine(range) => self.is_over = line::fault(&self.text[range]).is_some(),
        }
    }
}

/// The part of `text` that is meant to be a plan in lines: the last block of code that has steps, or all of it where none has.
/// Nothing where no line is a step.
pub fn plan_in(text: &str) -> Option<&str> {
    let mut blocks = Vec::new();
    let mut block = Block::default();
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
                let next = Block {
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
    let block = code.find(|block| block.is_code && block.has_step);
    match block {
        Some(block) => Some(text[block.start..block.end].trim()),
        None => has_step.then(|| text.trim()),
    }
}

/// What stands between two fences.
#[derive(Debug, Default)]
struct Block {
    start: usize,
    end: usize,
    is_code: bool,
    has_step: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader knows that is given `text` in pieces of `size` letters, after each.
    fn fed(text: &str, size: usize) -> Vec<(usize, Option<String>)> {
        let letters: Vec<char> = text.chars().collect();
        let mut reader = LineReader::new(1000);
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
            assert_eq!(fed(text, size), wanted, "{size}");
        }
        assert_eq!(fed(text, 1000), [(2, Some(two))]);
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
            assert_eq!(fed(text, 1), [], "{text}");
        }
        let mut reader = LineReader::new(10);
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
