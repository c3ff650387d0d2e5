//! The forms of the native dialect in which models write plans.

use std::str::FromStr;

use serde::Deserialize;

/// A form of the native dialect in which a model writes plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum PlanDialect {
    /// JSON, whose schema providers can enforce.
    #[default]
    Json,
    /// Lines, which need about two thirds of the tokens.
    Lines,
}

impl PlanDialect {
    /// Both dialects.
    pub const ALL: [Self; 2] = [Self::Json, Self::Lines];

    /// Returns the name of the dialect.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Lines => "lines",
        }
    }
}

impl FromStr for PlanDialect {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|known| known.as_str() == word);
        found.ok_or_else(|| format!("unknown dialect `{word}` (write `json` or `lines`)"))
    }
}

impl TryFrom<String> for PlanDialect {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        word.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_have_names() {
        for dialect in PlanDialect::ALL {
            assert_eq!(dialect.as_str().parse::<PlanDialect>(), Ok(dialect));
        }
        let error = "unknown dialect `yaml` (write `json` or `lines`)".to_owned();
        assert_eq!("yaml".parse::<PlanDialect>(), Err(error));
    }
}
