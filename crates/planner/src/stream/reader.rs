//! Finds the steps of a plan in a text of which only a part is there yet.

/// How deeply values may be nested; more than any dialect takes.
const DEEPEST: usize = 200;

/// Reads a model's answer piece by piece, and knows the plan in it as far as it is there: the first object with a list `steps`, or
/// with a `plan` that has one. It says nothing about what the plan means, and takes time in proportion to the answer's length.
///
/// ```
/// use planwright_planner::stream::PlanReader;
///
/// let mut reader = PlanReader::new(1000);
/// assert_eq!(reader.feed(r#"Sure: {"name": "n", "steps": [{"id": "a"}, {"id"#), 1);
/// assert_eq!(reader.beginning().unwrap(), r#"{"name": "n", "steps": [{"id": "a"}]}"#);
/// ```
#[derive(Clone, Debug)]
pub struct PlanReader {
    text: String,
    most: usize,
    /// Up to where it was looked at.
    at: usize,
    /// What is open, from the outermost: for each whether it is a list.
    open: Vec<bool>,
    expected: Expected,
    /// Where the latest key begins.
    key: usize,
    /// Where the objects begin that may be the plan: the outermost, and the one that is its `plan`.
    starts: [usize; 2],
    /// Whether the value that comes is that of this key.
    named: Named,
    /// Where the plan begins, and how deep its steps are, once they have begun.
    plan: Option<(usize, usize)>,
    /// Where each step ends.
    ends: Vec<usize>,
    is_over: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Anything: no object has begun.
    Words,
    Value,
    /// A value, or the end of a list that has just begun.
    ValueOrEnd,
    /// A key, or the end of an object that has just begun.
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    /// More of a text, which is a key or not.
    Text {
        is_key: bool,
        is_escaped: bool,
    },
    /// More of a number or a word.
    Scalar,
}

/// The keys that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Steps,
    Plan,
    Other,
}

/// What does not go on.
struct Broken;

impl PlanReader {
    /// Reads answers of at most `most` bytes; what comes behind them is not looked at.
    pub fn new(most: usize) -> Self {
        Self {
            text: String::new(),
            most,
            at: 0,
            open: Vec::new(),
            expected: Expected::Words,
            key: 0,
            starts: [0; 2],
            named: Named::Other,
            plan: None,
            ends: Vec::new(),
            is_over: false,
        }
    }

    /// Takes in the next piece, and says how many steps have come to their end in it.
    pub fn feed(&mut self, piece: &str) -> usize {
        let before = self.ends.len();
        if self.text.len() + piece.len() > self.most {
            self.is_over = true;
        }
        if self.is_over {
            return 0;
        }
        self.text.push_str(piece);
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            if self.take(byte).is_err() {
                self.give_up();
            }
            if self.is_over {
                break;
            }
            self.at += 1;
        }
        self.ends.len() - before
    }

    /// How many steps are there in full.
    pub fn steps(&self) -> usize {
        self.ends.len()
    }

    /// The plan as far as it is there: what stands before its steps, and those that are there in full.
    pub fn beginning(&self) -> Option<String> {
        let (start, _) = self.plan?;
        let end = *self.ends.last()?;
        let text = self.text.get(start..end)?;
        Some(format!("{text}]}}"))
    }

    /// What began as an object was none: words may have braces as well. Where it had steps, it was a plan with a fault, which is not
    /// for this reader to mend.
    fn give_up(&mut self) {
        self.is_over = self.plan.is_some();
        self.open.clear();
        self.expected = Expected::Words;
        if self.text.as_bytes().get(self.at) == Some(&b'{') {
            self.begin();
        }
    }

    fn begin(&mut self) {
        self.starts = [self.at; 2];
        self.named = Named::Other;
        self.open.push(false);
        self.expected = Expected::KeyOrEnd;
    }

    fn take(&mut self, byte: u8) -> Result<(), Broken> {
        match self.expected {
            Expected::Words if byte == b'{' => self.begin(),
            Expected::Text {
                is_key,
                is_escaped: false,
            } if byte == b'"' => self.end_text(is_key),
            Expected::Text { is_key, is_escaped } => {
                self.expected = Expected::Text {
                    is_key,
                    is_escaped: !is_escaped && byte == b'\\',
                };
            }
            Expected::Scalar if is_of_scalar(byte) => {}
            Expected::Words => {}
            _ if byte.is_ascii_whitespace() => {
                if self.expected == Expected::Scalar {
                    self.expected = Expected::CommaOrEnd;
                }
            }
            Expected::ValueOrEnd if byte == b']' => self.close(true)?,
            Expected::Value | Expected::ValueOrEnd => self.value(byte)?,
            Expected::KeyOrEnd if byte == b'}' => self.close(false)?,
            Expected::KeyOrEnd | Expected::Key if byte == b'"' => {
                self.key = self.at + 1;
                self.expected = text(true);
            }
            Expected::Colon if byte == b':' => self.expected = Expected::Value,
            Expected::CommaOrEnd | Expected::Scalar => match byte {
                b',' => self.next()?,
                b']' => self.close(true)?,
                b'}' => self.close(false)?,
                _ => return Err(Broken),
            },
            Expected::KeyOrEnd | Expected::Key | Expected::Colon => return Err(Broken),
        }
        Ok(())
    }

    fn value(&mut self, byte: u8) -> Result<(), Broken> {
        match byte {
            b'{' | b'[' => self.open_value(byte == b'[')?,
            b'"' => self.expected = text(false),
            _ if is_of_scalar(byte) => self.expected = Expected::Scalar,
            _ => return Err(Broken),
        }
        Ok(())
    }

    fn open_value(&mut self, is_list: bool) -> Result<(), Broken> {
        let depth = self.open.len();
        if depth >= DEEPEST {
            return Err(Broken);
        }
        let in_plan = depth == 1 || depth == 2 && self.starts[1] != self.starts[0];
        if in_plan && self.plan.is_none() {
            if is_list && self.named == Named::Steps {
                self.plan = Some((self.starts[depth - 1], depth + 1));
            } else if !is_list && self.named == Named::Plan && depth == 1 {
                self.starts[1] = self.at;
            }
        }
        self.open.push(is_list);
        self.expected = if is_list {
            Expected::ValueOrEnd
        } else {
            Expected::KeyOrEnd
        };
        Ok(())
    }

    fn end_text(&mut self, is_key: bool) {
        if !is_key {
            self.expected = Expected::CommaOrEnd;
            return;
        }
        self.expected = Expected::Colon;
        self.named = match self.text.as_bytes().get(self.key..self.at) {
            Some(b"steps") => Named::Steps,
            Some(b"plan") => Named::Plan,
            _ => Named::Other,
        };
    }

    fn next(&mut self) -> Result<(), Broken> {
        self.expected = match self.open.last() {
            Some(true) => Expected::Value,
            Some(false) => Expected::Key,
            None => return Err(Broken),
        };
        Ok(())
    }

    fn close(&mut self, is_list: bool) -> Result<(), Broken> {
        if self.open.pop() != Some(is_list) {
            return Err(Broken);
        }
        let depth = self.open.len();
        self.expected = Expected::CommaOrEnd;
        if depth == 1 {
            // A `plan` without steps is none.
            self.starts[1] = self.starts[0];
        }
        match self.plan {
            Some((_, steps)) if depth == steps => self.ends.push(self.at + 1),
            Some((_, steps)) if depth < steps => self.is_over = true,
            None if depth == 0 => self.expected = Expected::Words,
            _ => {}
        }
        Ok(())
    }
}

fn text(is_key: bool) -> Expected {
    Expected::Text {
        is_key,
        is_escaped: false,
    }
}

fn is_of_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
mod tests;
