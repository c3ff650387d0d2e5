//! What is remembered of earlier questions: what they were about, what was asked, what was named.
//!
//! The fields are those that clear-ai's planner takes: `semantic` (texts, maybe with a score), `episodic` (earlier questions) and
//! `entities` (`kind:name`). Other fields are told as they are.

use std::fmt::Write as _;

use planwright_core::{Object, Value};

use crate::tools::signatures::estimated_tokens;

/// What is remembered of earlier questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    fields: Object,
}

/// Why something is no memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MemoryError {
    message: String,
}

/// The fields with a form of their own.
const LISTS: [&str; 3] = ["semantic", "episodic", "entities"];

impl Memory {
    /// Reads what is remembered.
    ///
    /// # Errors
    ///
    /// Where it is no object, or one of the known fields is no list.
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

    /// It in words, the best first, in at most `budget` tokens.
    pub fn text(&self, budget: usize) -> String {
        let mut text = String::new();
        for line in self.lines() {
            if estimated_tokens(&text) + estimated_tokens(&line) > budget {
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
        let entities: Vec<String> = list("entities").iter().map(shown).collect();
        let named = (!entities.is_empty()).then(|| format!("named: {}", entities.join(", ")));
        let mut known: Vec<&Value> = list("semantic").iter().collect();
        // Stable: what is equally near stays in its order.
        known.sort_by(|one, other| score(other).total_cmp(&score(one)));
        let known = known
            .into_iter()
            .map(|item| format!("known: {}", worded(item, "text")));
        // The latest stands last in the list and is told first.
        let asked = list("episodic").iter().rev();
        let asked = asked.map(|item| format!("asked: {}", worded(item, "query")));
        let others = self
            .fields
            .iter()
            .filter(|(name, _)| !LISTS.contains(&&***name))
            .map(|(name, value)| format!("{name}: {}", shown(value)));
        let known: Vec<String> = known.collect();
        let asked: Vec<String> = asked.collect();
        let others: Vec<String> = others.collect();
        named.into_iter().chain(known).chain(asked).chain(others)
    }
}

fn score(item: &Value) -> f64 {
    item.get("score").and_then(Value::as_f64).unwrap_or(0.0)
}

/// An item by its main words, where it has them.
fn worded(item: &Value, field: &str) -> String {
    let words = item.get(field).and_then(Value::as_text);
    words.map_or_else(|| shown(item), one_line)
}

fn shown(value: &Value) -> String {
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
    fn the_best_is_told_first() {
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
    fn what_there_is_no_room_for_is_left_out() {
        check(
            r#"{"entities": ["location:Berlin"], "semantic": ["something long enough to be left out"]}"#,
            10,
            "- named: location:Berlin\n",
        );
    }

    #[test]
    fn what_is_no_memory_is_refused() {
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
