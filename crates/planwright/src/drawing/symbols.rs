//! The characters that a graph of text is made of.

use super::Mark;

/// The characters that a graph of text is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symbols {
    /// Box-drawing characters.
    #[default]
    Unicode,
    /// ASCII alone.
    Ascii,
}

/// The directions in which lines leave a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ways {
    pub(super) up: bool,
    pub(super) down: bool,
    pub(super) left: bool,
    pub(super) right: bool,
    /// True if marked values flow up or down.
    pub(super) marked: bool,
}

impl Symbols {
    /// Lines that meet in a cell.
    pub(super) fn joint(self, ways: Ways) -> &'static str {
        if ways.marked {
            return self.marked_joint(ways);
        }
        let (unicode, ascii) = match (ways.up, ways.down, ways.left, ways.right) {
            (true, true, true, true) => ("┼", "+"),
            (true, true, false, true) => ("├", "|"),
            (true, true, true, false) => ("┤", "|"),
            (true, true, false, false) => ("│", "|"),
            (true, false, true, true) => ("┴", "'"),
            (true, false, false, true) => ("╰", "'"),
            (true, false, true, false) => ("╯", "'"),
            (true, false, false, false) => ("╵", "'"),
            (false, true, true, true) => ("┬", "."),
            (false, true, false, true) => ("╭", "."),
            (false, true, true, false) => ("╮", "."),
            (false, true, false, false) => ("╷", "."),
            (false, false, true, _) | (false, false, _, true) => ("─", "-"),
            (false, false, false, false) => (" ", " "),
        };
        self.pick(unicode, ascii)
    }

    /// As [`joint`](Self::joint), with marked values in the lines up and down.
    fn marked_joint(self, ways: Ways) -> &'static str {
        let (unicode, ascii) = match (ways.up, ways.down, ways.left, ways.right) {
            (true, true, true, true) => ("╂", "+"),
            (true, true, false, true) => ("┠", "!"),
            (true, true, true, false) => ("┨", "!"),
            (true, true, false, false) => ("┃", "!"),
            (true, false, true, true) => ("┸", "'"),
            (true, false, false, true) => ("┖", "'"),
            (true, false, true, false) => ("┚", "'"),
            (true, false, false, false) => ("╹", "'"),
            (false, true, true, true) => ("┰", "."),
            (false, true, false, true) => ("┎", "."),
            (false, true, true, false) => ("┒", "."),
            (false, true, false, false) => ("╻", "."),
            (false, false, true, _) | (false, false, _, true) => ("─", "-"),
            (false, false, false, false) => (" ", " "),
        };
        self.pick(unicode, ascii)
    }

    /// A lane that goes on: with data in it, or for the sake of order alone; with marked values in it or not.
    pub(super) fn lane(self, solid: bool, marked: bool) -> &'static str {
        match (solid, marked) {
            (true, false) => self.pick("│", "|"),
            (false, false) => self.pick("┊", ":"),
            (true, true) => self.pick("┃", "!"),
            (false, true) => self.pick("┋", "!"),
        }
    }

    /// A step.
    pub(super) fn step(self, mark: Option<Mark>) -> &'static str {
        let (unicode, ascii) = match mark {
            None => ("●", "*"),
            Some(Mark::Waiting) => ("○", "o"),
            Some(Mark::Running) => ("◉", "@"),
            Some(Mark::Succeeded) => ("✓", "+"),
            Some(Mark::Failed) => ("✗", "x"),
            Some(Mark::Skipped) => ("–", "-"),
            Some(Mark::Unknown) => ("?", "?"),
        };
        self.pick(unicode, ascii)
    }

    pub(super) fn horizontal(self) -> &'static str {
        self.pick("─", "-")
    }

    pub(super) fn ellipsis(self) -> &'static str {
        self.pick("…", "...")
    }

    pub(super) fn gives(self) -> &'static str {
        self.pick("→", "->")
    }

    pub(super) fn takes(self) -> &'static str {
        self.pick("←", "<-")
    }

    pub(super) fn between(self) -> &'static str {
        self.pick(" · ", "; ")
    }

    fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }
}
