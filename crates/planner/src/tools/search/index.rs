//! Tools, ready to be searched.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, TokenEmbedder, TokenEmbedding};
use planwright_core::Tool;

use super::document;
use super::words::{Words, words};

/// The most words of a query that count.
const MOST_WORDS: usize = 32;

/// The shortest word that may stand for the longer ones which begin with it.
const SHORTEST_BEGINNING: usize = 3;

/// How many words a beginning stands for.
const MOST_ENDINGS: usize = 8;

/// Tools, ready to be searched.
///
/// Whatever is found comes in the same order each time: the best first, and of tools that are as good the one that comes first in the
/// catalog.
pub struct SearchIndex {
    entries: Vec<Entry>,
    scorer: Scorer<usize, u64>,
    vocabulary: BTreeSet<String>,
}

/// A tool, and the words of its names.
struct Entry {
    tool: Arc<Tool>,
    names: [Vec<String>; 2],
}

/// A tool that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The tool.
    pub tool: Arc<Tool>,
    /// How well it fits, by BM25: to be compared with others of the same search only.
    pub score: f32,
    /// Whether what was looked for is its very name.
    pub is_named: bool,
}

/// How a name fits a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Naming {
    /// It is another name.
    Other,
    /// It has the same words.
    SameWords,
    /// It is the name.
    Same,
}

impl SearchIndex {
    /// Reads `tools`.
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a Arc<Tool>>) -> Self {
        let tools: Vec<&Arc<Tool>> = tools.into_iter().collect();
        let texts: Vec<String> = tools.iter().map(|tool| document::text(tool)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let embedder: Embedder<u64, Words> =
            EmbedderBuilder::with_tokenizer_and_fit_to_corpus(Words, &texts).build();
        let mut scorer = Scorer::new();
        let mut vocabulary = BTreeSet::new();
        for (index, text) in texts.iter().enumerate() {
            scorer.upsert(&index, embed(&embedder, text));
            vocabulary.extend(words(text));
        }
        let entry = |tool: &&Arc<Tool>| Entry {
            names: [words(&tool.name), words(&tool.qualified_name())],
            tool: Arc::clone(tool),
        };
        Self {
            entries: tools.iter().map(entry).collect(),
            scorer,
            vocabulary,
        }
    }

    /// The tools that `query` is about, at most `limit`. A tool of that name comes first; for a query without words it is all
    /// tools, in the order of the catalog.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.search_of(None, query, limit)
    }

    /// As [`search`](Self::search), among the tools of one server where `server` names it.
    pub fn search_of(&self, server: Option<&str>, query: &str, limit: usize) -> Vec<Hit> {
        let query = query.trim();
        let asked = words(query);
        let mut scores: Vec<Option<f32>> = vec![None; self.entries.len()];
        for found in self.scorer.matches(&self.embed_query(&asked)) {
            if let Some(score) = scores.get_mut(found.id) {
                *score = Some(found.score);
            }
        }
        let mut found: Vec<(Naming, f32, &Entry)> = self
            .entries
            .iter()
            .zip(scores)
            .filter(|(entry, _)| server.is_none_or(|server| *entry.tool.server == *server))
            .filter_map(|(entry, score)| {
                let naming = entry.naming(query, &asked);
                let fits = score.is_some() || naming > Naming::Other || query.is_empty();
                fits.then_some((naming, score.unwrap_or(0.0), entry))
            })
            .collect();
        // Stable: what is equal stays in the order of the catalog.
        found.sort_by(|(naming, score, _), (other_naming, other_score, _)| {
            let by_score = other_score.partial_cmp(score).unwrap_or(Ordering::Equal);
            other_naming.cmp(naming).then(by_score)
        });
        let hits = found.into_iter().take(limit);
        hits.map(|(naming, score, entry)| Hit {
            tool: Arc::clone(&entry.tool),
            score,
            is_named: naming == Naming::Same,
        })
        .collect()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Each word once; one that no tool has stands for those that begin with it, such as `repo` for `repository`.
    fn embed_query(&self, asked: &[String]) -> Embedding<u64> {
        let mut known: Vec<&str> = Vec::new();
        for word in asked.iter().take(MOST_WORDS) {
            if self.vocabulary.contains(word) {
                known.push(word);
            } else if word.len() >= SHORTEST_BEGINNING {
                let from = self.vocabulary.range(word.clone()..);
                let begin = from.take_while(|longer| longer.starts_with(word.as_str()));
                known.extend(begin.take(MOST_ENDINGS).map(String::as_str));
            }
        }
        let mut seen = BTreeSet::new();
        known.retain(|word| seen.insert(*word));
        let token = |word: &str| TokenEmbedding {
            index: u64::embed(word),
            value: 1.0,
        };
        Embedding(known.into_iter().map(token).collect())
    }
}

impl Entry {
    fn naming(&self, query: &str, asked: &[String]) -> Naming {
        let tool = &self.tool;
        if *query == *tool.name || query == tool.qualified_name() || query == tool.model_name() {
            Naming::Same
        } else if !asked.is_empty() && self.names.iter().any(|name| name == asked) {
            Naming::SameWords
        } else {
            Naming::Other
        }
    }
}

impl fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchIndex")
            .field("tools", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// The words of `text` with their weights, each once: the scorer looks at the first of each alone.
fn embed(embedder: &Embedder<u64, Words>, text: &str) -> Embedding<u64> {
    let mut embedding = embedder.embed(text);
    embedding.0.sort_by_key(|token| token.index);
    embedding.0.dedup_by_key(|token| token.index);
    embedding
}
