//! The program with scripted models: plans are created, and revised if they fail.

mod adapting;
mod ask;
mod create;
mod half;
#[cfg(unix)]
mod interrupted;
pub(crate) mod streamed;
mod usage;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{planwright, stderr, stdout};

/// A folder with simulated tools, and the scripted answers of a model.
pub(crate) struct ModelFixture(TempDir);

impl ModelFixture {
    pub(crate) fn new(tools: &Value) -> Self {
        let fixture = Self(tempfile::tempdir().unwrap());
        fixture.write("tools.json", &json!({ "tools": tools }));
        fixture
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, content: &Value) {
        fs::write(self.path().join(name), content.to_string()).unwrap();
    }

    /// Gives the model these answers: texts, or values whose JSON is the text.
    fn answers(&self, answers: &[Value]) {
        let text = |answer: &Value| match answer {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let answers: Vec<String> = answers.iter().map(text).collect();
        self.write("answers.json", &json!(answers));
    }

    /// The program with these arguments, the tools and the model.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = planwright(self.path());
        command.args(arguments);
        command.args(["--simulate", "tools.json", "--model", "replay:answers.json"]);
        command
    }

    /// Runs the program with these arguments, the tools and the model.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the program, which must exit with `exit`, and returns its output as JSON.
    pub(crate) fn json(&self, arguments: &[&str], exit: i32) -> Value {
        let output = self.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(exit), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    }
}
