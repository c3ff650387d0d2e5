//! In what a model writes its plans, and what it is told of that.

use planwright_core::Catalog;

use super::form::plan_form;
use super::{lines, native};
use crate::model::AnswerSchema;

/// In what a model writes its plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notation {
    /// JSON, whose form providers can enforce.
    #[default]
    Json,
    /// Lines, which say the same in about two thirds of the tokens.
    Lines,
}

impl Notation {
    /// The notation that is called `word`.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "json" => Some(Self::Json),
            "lines" => Some(Self::Lines),
            _ => None,
        }
    }

    /// What it is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Lines => "lines",
        }
    }

    /// Who the model is to be, and how a plan is written.
    pub fn writing(self) -> &'static str {
        match self {
            Self::Json => native::WRITING,
            Self::Lines => lines::WRITING,
        }
    }

    /// The form of a plan with the tools of `catalog`, if it is one that providers know.
    pub fn plan_form(self, catalog: &Catalog) -> Option<AnswerSchema> {
        (self == Self::Json).then(|| plan_form(catalog))
    }

    /// What an answer is to be that holds no plan.
    pub(crate) fn form(self) -> &'static str {
        match self {
            Self::Json => "answer with one JSON object, {\"steps\": [...], \"output\": [...]}",
            Self::Lines => {
                "answer with lines `id = tool(name=value)`, and `return [\"id\"]` as the last"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;
    use planwright_dialects::native::lines::{from_json, plan_in, to_json};

    use super::*;
    use crate::create::extract;

    #[test]
    fn both_examples_are_the_same_plan() {
        let json = extract(Notation::Json.writing()).unwrap();
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let mut fields = json.as_object().unwrap().clone();
        fields.remove("name");
        let json = Value::from(serde_json::Value::Object(fields));
        let teaching = Notation::Lines.writing();
        let example = from_json(&json);
        assert!(teaching.contains(&example), "{teaching} lacks {example}");
        assert_eq!(to_json(&example), Some(json));
        assert_eq!(plan_in(&example), Some(example.trim()));
    }

    #[test]
    fn notations_have_names() {
        for notation in [Notation::Json, Notation::Lines] {
            assert_eq!(Notation::named(notation.as_str()), Some(notation));
        }
        assert_eq!(Notation::named("yaml"), None);
    }
}
