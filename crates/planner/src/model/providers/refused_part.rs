//! Parts of a question that some models take and others refuse outright. Who refuses one is asked again without it, and is
//! not sent it any more.

use std::sync::atomic::{AtomicBool, Ordering};

/// What may be left out of a question without losing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Models that think before they answer choose their own.
    Temperature,
    /// What the prompt says as well.
    AnswerSchema,
}

/// What is left out.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    temperature: AtomicBool,
    answer_schema: AtomicBool,
}

/// How providers call the form of an answer, without anything but letters.
const SCHEMA_NAMES: &[&str] = &[
    "responseformat",
    "responsejsonschema",
    "responseschema",
    "responsemimetype",
    "jsonschema",
    "outputconfig",
    "outputformat",
    "structuredoutput",
    "textformat",
];

impl Part {
    /// The part that a provider's explanation names.
    pub(super) fn named_by(explanation: &str) -> Option<Self> {
        let letters: String = explanation
            .chars()
            .filter(char::is_ascii_alphabetic)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        if letters.contains("temperature") {
            return Some(Self::Temperature);
        }
        let is_schema = SCHEMA_NAMES.iter().any(|name| letters.contains(name));
        is_schema.then_some(Self::AnswerSchema)
    }
}

impl LeftOut {
    pub(super) fn has(&self, part: Part) -> bool {
        self.of(part).load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, part: Part) {
        self.of(part).store(true, Ordering::Relaxed);
    }

    fn of(&self, part: Part) -> &AtomicBool {
        match part {
            Part::Temperature => &self.temperature,
            Part::AnswerSchema => &self.answer_schema,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(explanation: &str, expected: Option<Part>) {
        assert_eq!(Part::named_by(explanation), expected, "{explanation}");
    }

    #[test]
    fn parts_are_named() {
        check(
            "Unsupported value: 'temperature' does not support 0.1 with this model.",
            Some(Part::Temperature),
        );
        check(
            "This response_format type is unavailable now",
            Some(Part::AnswerSchema),
        );
        check(
            "output_config: Extra inputs are not permitted",
            Some(Part::AnswerSchema),
        );
        check(
            "Unknown name \"responseJsonSchema\"",
            Some(Part::AnswerSchema),
        );
        check("Invalid schema for function 'x'", None);
        check("the prompt is too long", None);
    }
}
