//! A marker of another system in a text, and the text to write in its place.

use std::ops::Range;

/// A reference of another system in a text.
pub(in crate::foreign_references) struct Marker {
    pub(in crate::foreign_references) range: Range<usize>,
    /// The path in the native dialect.
    pub(in crate::foreign_references) meaning: String,
    /// True if it is almost certainly a reference. Otherwise it only gets a warning.
    pub(in crate::foreign_references) is_certain: bool,
    /// True if the marker is more than its `meaning`, which has no counterpart for the rest.
    pub(in crate::foreign_references) is_partial: bool,
    /// True if the marker names the output of a call that does not exist.
    pub(in crate::foreign_references) is_unresolved: bool,
    /// The length of the text after the `=` at the start of the range, which stays before the reference.
    pub(in crate::foreign_references) lead: Option<usize>,
}

impl Marker {
    pub(super) fn new(range: Range<usize>, meaning: String, is_certain: bool) -> Self {
        Self {
            range,
            meaning,
            is_certain,
            is_partial: false,
            is_unresolved: false,
            lead: None,
        }
    }

    /// Reduces the marker to its braces if a text stays before them.
    pub(in crate::foreign_references) const fn leave_lead(&mut self) {
        if let Some(lead @ 1..) = self.lead {
            self.range.start += 1 + lead;
            self.lead = None;
        }
    }

    /// The text in place of this marker in `text`.
    pub(in crate::foreign_references) fn replacement(&self, text: &str) -> String {
        format!("{}${{{}}}", self.kept_text(text), self.meaning)
    }

    /// The part of this marker in `text` that stays text.
    pub(in crate::foreign_references) fn kept_text<'a>(&self, text: &'a str) -> &'a str {
        let start = self.range.start + 1;
        let kept = self.lead.and_then(|lead| text.get(start..start + lead));
        kept.unwrap_or_default()
    }
}
