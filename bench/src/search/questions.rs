//! Questions and functions of BFCL, from the sample in this repository or from a folder with the full data set.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Schema, Tool, Value};
use serde_json::{Value as Json, json};

/// Questions about one catalog.
#[derive(Clone, Debug, Default)]
pub struct QuestionSet {
    /// All tools.
    pub tools: Vec<Arc<Tool>>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A question with the tools that it needs.
#[derive(Clone, Debug)]
pub struct Question {
    /// The words of the question.
    pub text: String,
    /// The names of the tools.
    pub tools: Vec<String>,
}

/// The error for a file of BFCL that is missing or malformed.
#[derive(Debug, thiserror::Error)]
#[error("`{}` has no questions of BFCL", path.display())]
pub struct ReadError {
    path: PathBuf,
}

/// Returns the sample of this repository.
///
/// # Panics
///
/// If the sample is malformed.
pub fn sample() -> QuestionSet {
    let text = include_str!("../../data/bfcl-sample.json");
    let sample: Json = serde_json::from_str(text).expect("the sample is JSON");
    let list = |name: &str| sample[name].as_array().cloned().unwrap_or_default();
    let questions = list("questions").into_iter().map(|question| Question {
        text: string(&question["question"]),
        tools: question["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .map(string)
            .collect(),
    });
    QuestionSet {
        tools: list("tools")
            .iter()
            .map(|function| tool(function, &object_schema(&function["parameters"])))
            .collect(),
        questions: questions.collect(),
    }
}

/// Reads the questions of the category `asked`, such as `multiple`, from `folder`, the folder `data` of the package `bfcl-eval`. The tools
/// are the functions of all `categories`. Of several functions with the same name, the first one counts.
///
/// # Errors
///
/// An error if a file is missing or malformed.
pub fn whole_set(
    folder: &Path,
    asked: &str,
    categories: &[&str],
) -> Result<QuestionSet, ReadError> {
    let mut functions: IndexMap<String, Arc<Tool>> = IndexMap::new();
    let mut questions = Vec::new();
    for category in categories {
        let name = format!("BFCL_v4_{category}.json");
        let answers = lines(&folder.join("possible_answer").join(&name))?;
        let answers: IndexMap<String, Json> = answers
            .into_iter()
            .map(|answer| (string(&answer["id"]), answer["ground_truth"].clone()))
            .collect();
        for entry in lines(&folder.join(&name))? {
            for function in entry["function"].as_array().into_iter().flatten() {
                let schema = &function["parameters"];
                functions
                    .entry(string(&function["name"]))
                    .or_insert_with(|| tool(function, schema));
            }
            let answer = answers.get(&string(&entry["id"]));
            if let Some(answer) = answer.filter(|_| *category == asked) {
                questions.push(question(&entry, answer));
            }
        }
    }
    Ok(QuestionSet {
        tools: functions.into_values().collect(),
        questions,
    })
}

fn lines(path: &Path) -> Result<Vec<Json>, ReadError> {
    let failure = || ReadError {
        path: path.to_owned(),
    };
    let text = std::fs::read_to_string(path).map_err(|_| failure())?;
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|_| failure()))
        .collect()
}

fn question(entry: &Json, answer: &Json) -> Question {
    let turn = entry["question"][0].as_array().into_iter().flatten();
    let words = turn.filter(|message| message["role"] == "user");
    let words: Vec<String> = words.map(|message| string(&message["content"])).collect();
    let mut tools: Vec<String> = Vec::new();
    for call in answer.as_array().into_iter().flatten() {
        let names = call.as_object().into_iter().flat_map(|call| call.keys());
        tools.extend(names.take(1).cloned());
    }
    tools.sort();
    tools.dedup();
    Question {
        text: words.join(" "),
        tools,
    }
}

fn string(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn tool(function: &Json, input: &Json) -> Arc<Tool> {
    Arc::new(Tool {
        description: function["description"].as_str().map(Into::into),
        input: Schema::from_value(Value::from(input.clone())),
        ..Tool::new("bfcl", string(&function["name"]))
    })
}

/// The JSON Schema of an object with these parameters.
fn object_schema(parameters: &Json) -> Json {
    json!({"type": "object", "properties": parameters})
}
