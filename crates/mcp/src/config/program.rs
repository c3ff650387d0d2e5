//! Parses the fields of a child process.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::expand::names_a_secret;
use super::one_server::{ServerReader, escape};
use super::{ProgramConfig, Reach};

impl ServerReader<'_> {
    /// Parses the fields of a child process.
    pub(super) fn program(&mut self, fields: Map<String, Value>) {
        let mut program = ProgramConfig::default();
        let mut has_command = false;
        for (field, value) in fields {
            match field.as_str() {
                "command" => {
                    has_command = true;
                    program.command = self.text("/command", &value);
                }
                "args" => program.args = self.args(&value),
                "env" => program.env = self.env(&value),
                "cwd" => program.cwd = Some(PathBuf::from(self.text("/cwd", &value))),
                _ => self.unknown.push(field),
            }
        }
        if !has_command {
            self.problem(
                "",
                "it has no `command`",
                "name the program that the server is, or its `url`",
            );
        } else if self.problems.is_empty() && program.command.trim().is_empty() {
            self.problem(
                "/command",
                "`command` is empty",
                "name the program that the server is",
            );
        }
        self.config.reach = Reach::Program(program);
    }

    fn args(&mut self, value: &Value) -> Vec<String> {
        let Value::Array(items) = value else {
            self.problem(
                "/args",
                "`args` must be a list of texts",
                r#"write `["…", "…"]`"#,
            );
            return Vec::new();
        };
        let items = items.iter().enumerate();
        items
            .map(|(index, item)| self.text(&format!("/args/{index}"), item))
            .collect()
    }

    fn env(&mut self, value: &Value) -> Vec<(String, Option<String>)> {
        let Value::Object(variables) = value else {
            self.problem(
                "/env",
                "`env` must be an object of texts",
                r#"write `{"NAME": "value"}`"#,
            );
            return Vec::new();
        };
        let mut env = Vec::with_capacity(variables.len());
        for (name, value) in variables {
            let value = match value {
                Value::Null => None,
                value => Some(self.text(&format!("/env/{}", escape(name)), value)),
            };
            if names_a_secret(name) {
                self.hide(value.as_deref().unwrap_or_default());
            }
            env.push((name.clone(), value));
        }
        env
    }
}
