//! Recall of the tool search over questions of the Berkeley Function Calling Leaderboard (BFCL), compared with plain BM25.
//!
//! `bench/data/bfcl-sample.json` has 100 questions and 300 functions of BFCL v4 (Apache-2.0); the package `bfcl-eval` has all.

mod plain_bm25;
mod questions;

pub use plain_bm25::PlainBm25;
pub use questions::{QuestionSet, ReadError, sample, whole_set};

use planwright_planner::tools::search::SearchIndex;

/// The fraction of the wanted tools that are among the first results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recall {
    /// The recall of Planwright's search.
    pub ours: f64,
    /// The recall of plain BM25.
    pub plain: f64,
}

/// Measures the recall among the first `limit` results, averaged over the questions of `set`.
pub fn recall(set: &QuestionSet, limit: usize) -> Recall {
    let index = SearchIndex::new(&set.tools);
    let plain = PlainBm25::new(&set.tools);
    let mut sums = Recall {
        ours: 0.0,
        plain: 0.0,
    };
    for question in &set.questions {
        let hits = index.search(&question.text, limit);
        let found = hits.iter().map(|hit| &*hit.tool.name).collect();
        sums.ours += share(&question.tools, found);
        let found = plain.search(&question.text, limit);
        let found = found.into_iter().map(|at| &*set.tools[at].name).collect();
        sums.plain += share(&question.tools, found);
    }
    let count = as_float(set.questions.len());
    Recall {
        ours: sums.ours / count,
        plain: sums.plain / count,
    }
}

fn share(wanted: &[String], found: Vec<&str>) -> f64 {
    let hits = wanted.iter().filter(|name| found.contains(&name.as_str()));
    as_float(hits.count()) / as_float(wanted.len())
}

#[expect(clippy::cast_precision_loss, reason = "no set has that many questions")]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_more_than_plain_bm25() {
        let set = sample();
        assert_eq!((set.questions.len(), set.tools.len()), (100, 300));
        let Recall { ours, plain } = recall(&set, 10);
        assert!(ours > plain, "{ours}, plain BM25 {plain}");
        let Recall { ours, plain } = recall(&set, 5);
        assert!(ours >= plain + 0.02, "{ours}, plain BM25 {plain}");
    }

    #[test]
    fn long_questions_find_their_tools() {
        let mut set = sample();
        set.questions
            .retain(|question| question.text.split_whitespace().count() > 40);
        assert!(set.questions.len() > 20, "{}", set.questions.len());
        let Recall { ours, plain } = recall(&set, 10);
        assert!(ours >= plain + 0.03, "{ours}, plain BM25 {plain}");
    }

    #[test]
    fn misspelt_questions_find_their_tools() {
        let mut set = sample();
        for question in &mut set.questions {
            question.text = misspelt(&question.text);
        }
        let Recall { ours, plain } = recall(&set, 10);
        assert!(ours >= 0.97 && ours > plain, "{ours}, plain BM25 {plain}");
    }

    /// Exchanges the third and the fourth letter of each fourth long word.
    fn misspelt(text: &str) -> String {
        let mut count = 0;
        let words = text.split(' ').map(|word| {
            let is_long =
                word.len() >= 6 && word.bytes().all(|letter| letter.is_ascii_alphabetic());
            count += usize::from(is_long);
            if !is_long || count % 4 != 0 {
                return word.to_owned();
            }
            let (start, end) = (&word[..2], &word[4..]);
            format!("{start}{}{}{end}", &word[3..4], &word[2..3])
        });
        words.collect::<Vec<_>>().join(" ")
    }
}
