//! Textbook BM25 over lower-case words, as the baseline of our search.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::{Tool, Value};

use super::as_float;

const K1: f64 = 1.5;
const B: f64 = 0.75;

/// Tools indexed by plain BM25: no stems, no stop words, no weights of fields.
#[derive(Debug)]
pub struct PlainBm25 {
    counts: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
    average: f64,
    rarity: HashMap<String, f64>,
}

impl PlainBm25 {
    /// Indexes `tools`.
    pub fn new(tools: &[Arc<Tool>]) -> Self {
        let mut counts = Vec::new();
        let mut lengths = Vec::new();
        let mut having: HashMap<String, f64> = HashMap::new();
        for tool in tools {
            let mut count: HashMap<String, f64> = HashMap::new();
            let words = words(&text(tool));
            lengths.push(as_float(words.len()));
            for word in words {
                *count.entry(word).or_default() += 1.0;
            }
            for word in count.keys() {
                *having.entry(word.clone()).or_default() += 1.0;
            }
            counts.push(count);
        }
        let all = as_float(tools.len());
        let rarity = having.into_iter().map(|(word, having)| {
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            (word, rarity)
        });
        Self {
            average: lengths.iter().sum::<f64>() / all,
            rarity: rarity.collect(),
            counts,
            lengths,
        }
    }

    /// Returns the positions of the best `limit` tools.
    pub fn search(&self, query: &str, limit: usize) -> Vec<usize> {
        let words = words(query);
        let scores = self
            .counts
            .iter()
            .zip(&self.lengths)
            .map(|(counts, length)| {
                let damping = K1 * (1.0 - B + B * length / self.average);
                let scores = words.iter().filter_map(|word| {
                    let count = counts.get(word)?;
                    Some(self.rarity.get(word)? * count * (K1 + 1.0) / (count + damping))
                });
                scores.sum::<f64>()
            });
        let mut ranked: Vec<(usize, f64)> = scores
            .enumerate()
            .filter(|(_, score)| *score > 0.0)
            .collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        ranked.into_iter().take(limit).map(|(at, _)| at).collect()
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn text(tool: &Tool) -> String {
    let mut text = format!(
        "{} {}",
        tool.name,
        tool.description.as_deref().unwrap_or_default()
    );
    add_parameters(tool.input.as_value(), &mut text);
    text
}

fn add_parameters(schema: &Value, text: &mut String) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let description = property.get("description").and_then(Value::as_text);
        for part in [name, description.unwrap_or_default()] {
            text.push(' ');
            text.push_str(part);
        }
        add_parameters(property, text);
    }
}
