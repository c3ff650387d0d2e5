//! Searches for patterns in texts.

use std::sync::Arc;

use regex::Regex;

use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;
use crate::expression::pattern::{self, PatternBudget};

type Result = std::result::Result<Value, EvaluationError>;

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// `matches`: whether the pattern matches anywhere.
    Matches,
    /// `regex.extract`: the first match, or its group.
    Extract,
    /// `regex.extractAll`: all matches, or their groups.
    ExtractAll,
}

impl Search {
    /// Returns the search of the function `name`.
    pub(in crate::expression) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "matches" => Self::Matches,
            "regex.extract" => Self::Extract,
            "regex.extractAll" => Self::ExtractAll,
            _ => return None,
        })
    }

    /// Returns the name of the function.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Extract => "regex.extract",
            Self::ExtractAll => "regex.extractAll",
        }
    }

    /// Compiles `pattern`.
    ///
    /// # Errors
    ///
    /// Returns the reason if the pattern is malformed, too costly, or has several groups to choose from.
    pub(in crate::expression) fn compile(
        self,
        pattern: &str,
        budget: &mut PatternBudget,
    ) -> std::result::Result<Arc<Regex>, pattern::PatternError> {
        let regex = pattern::compile(pattern, budget)?;
        // The whole match is a group as well.
        if self != Self::Matches && regex.captures_len() > 2 {
            return Err(pattern::PatternError {
                message: format!("the pattern `{pattern}` has more than one group"),
                help: Some("write the groups that only bracket as `(?:…)`"),
            });
        }
        Ok(Arc::new(regex))
    }

    /// Searches in a text.
    pub(in crate::expression) fn run(
        self,
        value: &Value,
        regex: &Regex,
        budget: &mut EvaluationBudget,
    ) -> Result {
        let Value::Text(text) = value else {
            let value = std::slice::from_ref(value);
            return Err(EvaluationError::unsupported(self.name(), value));
        };
        // The slowest search is proportional to the product of both lengths.
        let cost_of_match = text.len().saturating_mul(1 + regex.as_str().len() / 8);
        budget.spend_text(cost_of_match)?;
        match self {
            Self::Matches => Ok(regex.is_match(text).into()),
            Self::Extract => regex
                .captures(text)
                .and_then(|found| part(&found))
                .ok_or_else(|| {
                    let pattern = regex.as_str();
                    EvaluationError::Missing(format!("the pattern `{pattern}` matches nothing"))
                }),
            Self::ExtractAll => {
                let mut all = Vec::new();
                for found in regex.captures_iter(text) {
                    // Each search continues after the last match, but may read the whole rest.
                    let rest = found.get(0).map_or(0, |all| text.len() - all.end());
                    budget.spend(1 + rest / 64)?;
                    all.extend(part(&found));
                }
                Ok(all.into())
            }
        }
    }
}

/// Returns the group of a match, or the match if the pattern has no group.
fn part(found: &regex::Captures<'_>) -> Option<Value> {
    let group = usize::from(found.len() > 1);
    found.get(group).map(|part| part.as_str().into())
}

/// Tests if a pattern computed during evaluation matches anywhere in the text.
pub(super) fn matches(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    computed(Search::Matches, values, budget)
}

/// Returns the first match of a pattern computed during evaluation.
pub(super) fn extract(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    computed(Search::Extract, values, budget)
}

/// Returns all matches of a pattern computed during evaluation.
pub(super) fn extract_all(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    computed(Search::ExtractAll, values, budget)
}

fn computed(search: Search, values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [text, Value::Text(pattern)] = values else {
        return Err(EvaluationError::unsupported(search.name(), values));
    };
    // The cost is spent before compiling, which is the costly part.
    budget.spend(pattern::compile_cost(pattern))?;
    let regex = search
        .compile(pattern, &mut PatternBudget::default())
        .map_err(|error| EvaluationError::failed(error.message))?;
    search.run(text, &regex, budget)
}
