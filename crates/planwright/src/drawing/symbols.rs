//! The marks of steps, and the characters that a graph of text is made of.

use planwright_engine::StepStatus;

/// The status of a step in a picture. It joins the phases that look alike, and those of the items, rounds and inner steps that one box stands for, so it has
/// fewer names than a [`StepStatus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Not started, or waiting for a person.
    Waiting,
    /// In progress.
    Running,
    /// Succeeded.
    Succeeded,
    /// Failed.
    Failed,
    /// Not run, or not to its end.
    Skipped,
    /// A call of it was not answered, and may or may not have happened.
    Unknown,
}

impl Mark {
    /// The mark's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }
}

impl From<StepStatus> for Mark {
    fn from(status: StepStatus) -> Self {
        match status {
            StepStatus::Succeeded => Self::Succeeded,
            StepStatus::Failed => Self::Failed,
            StepStatus::Waiting => Self::Waiting,
            StepStatus::Unknown => Self::Unknown,
            StepStatus::Skipped | StepStatus::NotRun | StepStatus::Cancelled => Self::Skipped,
        }
    }
}

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
pub(crate) struct LineEnds {
    pub(super) up: bool,
    pub(super) down: bool,
    pub(super) left: bool,
    pub(super) right: bool,
    /// True if marked values flow up or down.
    pub(super) marked: bool,
}

impl Symbols {
    /// Lines that meet in a cell.
    pub(super) fn joint(self, ends: LineEnds) -> &'static str {
        if ends.marked {
            return self.marked_joint(ends);
        }
        let (unicode, ascii) = match (ends.up, ends.down, ends.left, ends.right) {
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

    /// Like [`joint`](Self::joint), with marked values in the lines above and below.
    fn marked_joint(self, ends: LineEnds) -> &'static str {
        let (unicode, ascii) = match (ends.up, ends.down, ends.left, ends.right) {
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

    /// Returns the character of a lane that continues. `solid` is true if data flows in it, `marked` if marked values do.
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

    pub(super) fn parallel(self) -> &'static str {
        self.pick("∥", "||")
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
