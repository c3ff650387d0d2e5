//! Memory of earlier requests: topics, questions and named entities.
//!
//! The fields are those of clear-ai's planner: `semantic` (texts, optionally with a score), `episodic` (earlier questions) and
//! `entities` (`kind:name`). Other fields are passed on unchanged.

use std::fmt::Write as _;

use planwright_core::{Object, Value};

use crate::tools::signatures::estimate_tokens;

/// Memory of earlier requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    fields: Object,
}

/// The error of an invalid memory value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MemoryError {
    message: String,
}

/// Known fields, all of them lists.
const LISTS: [&str; 3] = ["semantic", "episodic", "entities"];

impl Memory {
    /// Parses a memory value.
    ///
    /// # Errors
    ///
    /// An error if the value is not an object, or a known field is not a list.
    pub fn read(value: &Value) -> Result<Self, MemoryError> {
        let Some(fields) = value.as_object() else {
            return Err(MemoryError {
                message: format!(
                    "what is remembered must be an object, found {}",
                    value.kind()
                ),
            });
        };
        for name in LISTS {
            if let Some(field) = fields.get(name)
                && field.as_list().is_none()
            {
                return Err(MemoryError {
                    message: format!("`{name}` must be a list, found {}", field.kind()),
                });
            }
        }
        Ok(Self {
            fields: fields.clone(),
        })
    }

    /// Formats the memory, most relevant entries first, within `budget` tokens.
    pub fn text(&self, budget: usize) -> String {
        let mut text = String::new();
        for line in self.lines() {
            // The lines are sorted by relevance, so the remaining ones matter less.
            if estimate_tokens(&text) + estimate_tokens(&line) > budget {
                break;
            }
            let _ = writeln!(text, "- {line}");
        }
        text
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        let list = |name| {
            let list = self.fields.get(name).and_then(Value::as_list);
            list.unwrap_or_default()
        };
        let entities: Vec<String> = list("entities").iter().map(format_value).collect();
        let named = (!entities.is_empty()).then(|| format!("named: {}", entities.join(", ")));
        let mut facts: Vec<&Value> = list("semantic").iter().collect();
        // The sort is stable, so entries with equal scores keep their order.
        facts.sort_by(|one, other| score(other).total_cmp(&score(one)));
        let facts = facts
            .into_iter()
            .map(|item| format!("known: {}", format_entry(item, "text")));
        // The list is in time order; the latest question is the most relevant.
        let questions = list("episodic").iter().rev();
        let questions = questions.map(|item| format!("asked: {}", format_entry(item, "query")));
        let others = self
            .fields
            .iter()
            .filter(|(name, _)| !LISTS.contains(&&***name))
            .map(|(name, value)| format!("{name}: {}", format_value(value)));
        let facts: Vec<String> = facts.collect();
        let questions: Vec<String> = questions.collect();
        let others: Vec<String> = others.collect();
        named
            .into_iter()
            .chain(facts)
            .chain(questions)
            .chain(others)
    }
}

fn score(item: &Value) -> f64 {
    item.get("score").and_then(Value::as_f64).unwrap_or(0.0)
}

/// Formats an entry by its main text field, or else as a whole.
fn format_entry(item: &Value, field: &str) -> String {
    let words = item.get(field).and_then(Value::as_text);
    words.map_or_else(|| format_value(item), one_line)
}

fn format_value(value: &Value) -> String {
    one_line(&value.to_inserted_text())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, budget: usize, expected: &str) {
        let memory = Memory::read(&Value::from_json(json).unwrap()).unwrap();
        assert_eq!(memory.text(budget), expected);
    }

    #[test]
    fn the_most_relevant_entry_comes_first() {
        check(
            r#"{"semantic": [{"text": "far", "score": 0.1}, {"text": "near", "score": 0.9}, "bare"],
                "episodic": [{"query": "first", "timestamp": "t"}, {"query": "second"}],
                "entities": ["location:Berlin", "facility:F1"], "user": {"name": "Ada"}}"#,
            1000,
            "- named: location:Berlin, facility:F1\n- known: near\n- known: far\n- known: bare\n\
             - asked: second\n- asked: first\n- user: {\"name\":\"Ada\"}\n",
        );
    }

    #[test]
    fn entries_beyond_the_budget_are_omitted() {
        check(
            r#"{"entities": ["location:Berlin"], "semantic": ["something long enough to be left out"]}"#,
            10,
            "- named: location:Berlin\n",
        );
    }

    #[test]
    fn invalid_memory_is_rejected() {
        for (json, message) in [
            ("[]", "what is remembered must be an object, found list"),
            (
                r#"{"semantic": "x"}"#,
                "`semantic` must be a list, found text",
            ),
        ] {
            let error = Memory::read(&Value::from_json(json).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
