//! The tool `search_text`.

use std::io::Read;

use planwright_core::Value;
use planwright_engine::ToolError;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::confine::{Folder, failure, from_system, not_text};
use super::tool::{ToolEffect, WorkspaceTool, arguments};
use super::walk::Glob;
use super::walk::{FoundFile, Walk, WalkOptions};

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "search_text",
    title: "Search text",
    description: "Finds the lines of text files that contain a text or match a regular expression. Files that are not \
        UTF-8 text or larger than 16 MiB are counted as skipped; links are not followed, and folders such as `.git`, \
        `target` and `node_modules` are left out.",
    effect: ToolEffect::Reads,
    input,
    output,
    run,
};

/// The maximum size of a file, in bytes.
const LARGEST: u64 = 16 << 20;
/// The maximum number of characters of a line that are shown.
const MAX_LINE_LENGTH: usize = 400;
/// The maximum size of a compiled expression in memory, in bytes.
const EXPRESSION: usize = 4 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    path: String,
    pattern: Option<String>,
    #[serde(default)]
    include_ignored: bool,
    #[serde(default = "default_results")]
    max_results: usize,
}

fn default_results() -> usize {
    200
}

fn input() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to look for in each line."},
            "regex": {
                "type": "boolean", "default": false,
                "description": "Whether the query is a regular expression.",
            },
            "ignore_case": {"type": "boolean", "default": false},
            "path": {
                "type": "string", "default": ".",
                "description": "The folder or file, relative to the workspace.",
            },
            "pattern": {
                "type": "string",
                "description": "Which files, such as `*.rs` (of that name, in any folder) or `src/**/*.{rs,toml}` \
                    (relative to the folder). All where it is left out.",
            },
            "include_ignored": {
                "type": "boolean", "default": false,
                "description": "Whether to look into folders that are left out otherwise.",
            },
            "max_results": {
                "type": "integer", "minimum": 1, "maximum": 10_000, "default": default_results(),
                "description": "Maximum number of lines to return.",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

fn output() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "matches": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string", "description": "Relative to the workspace."},
                        "line": {"type": "integer", "minimum": 1},
                        "text": {
                            "type": "string",
                            "description": "The line, without its end; of a very long one its beginning.",
                        },
                    },
                    "required": ["file", "line", "text"],
                    "additionalProperties": false,
                },
            },
            "count": {
                "type": "integer", "minimum": 0,
                "description": "How many lines are given.",
            },
            "truncated": {
                "type": "boolean",
                "description": "Whether there are more lines than `max_results`.",
            },
            "searched": {
                "type": "integer", "minimum": 0,
                "description": "How many files were searched.",
            },
            "skipped": {
                "type": "integer", "minimum": 0,
                "description": "Number of files and folders that could not be read.",
            },
        },
        "required": ["matches", "count", "truncated", "searched", "skipped"],
        "additionalProperties": false,
    })
}

fn run(folder: &Folder, args: &Value, stop: &CancellationToken) -> Result<Value, ToolError> {
    let arguments: Arguments = arguments(args)?;
    let pattern = arguments.pattern.as_deref().map(Glob::new).transpose()?;
    let options = WalkOptions {
        include_ignored: arguments.include_ignored,
        ..WalkOptions::default()
    };
    let mut search = Search {
        query: query(&arguments)?,
        limit: arguments.max_results,
        matches: Vec::new(),
        truncated: false,
    };
    let start = folder.locate(&arguments.path)?;
    let mut walk = Walk::new(folder, &start, options, stop)?;
    let mut searched = 0_u64;
    while !search.truncated
        && let Some(file) = walk.next_file()?
    {
        let is_meant = |pattern: &Glob| pattern.matches(file.inner_path());
        if !pattern.as_ref().is_none_or(is_meant) {
            continue;
        }
        match read(&file) {
            Ok(text) => {
                searched += 1;
                search.search_file(&file.path, &text);
            }
            Err(_) => walk.skipped += 1,
        }
    }
    Ok(Value::object([
        ("count", Value::from(search.matches.len() as u64)),
        ("truncated", Value::from(search.truncated)),
        ("searched", Value::from(searched)),
        ("skipped", Value::from(walk.skipped)),
        ("matches", Value::from(search.matches)),
    ]))
}

fn query(arguments: &Arguments) -> Result<Regex, ToolError> {
    let expression = if arguments.regex {
        arguments.query.clone()
    } else {
        regex::escape(&arguments.query)
    };
    RegexBuilder::new(&expression)
        .case_insensitive(arguments.ignore_case)
        .size_limit(EXPRESSION)
        .build()
        .map_err(|error| {
            let message = format!("`{}` is not a regular expression: {error}", arguments.query);
            failure("invalid_expression", message)
        })
}

fn read(file: &FoundFile) -> Result<String, ToolError> {
    let explain = |error| from_system(&file.path, &error);
    let mut bytes = Vec::new();
    file.open()?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(explain)?;
    if bytes.len() as u64 > LARGEST {
        let message = format!("`{}` has more than {LARGEST} bytes", file.path);
        return Err(failure("too_large", message));
    }
    String::from_utf8(bytes).map_err(|_| not_text(&file.path))
}

/// The matches so far.
struct Search {
    query: Regex,
    limit: usize,
    matches: Vec<Value>,
    truncated: bool,
}

impl Search {
    fn search_file(&mut self, path: &str, text: &str) {
        for (index, line) in text.lines().enumerate() {
            if !self.query.is_match(line) {
                continue;
            }
            if self.matches.len() == self.limit {
                self.truncated = true;
                return;
            }
            let shown = match line.char_indices().nth(MAX_LINE_LENGTH) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line.to_owned(),
            };
            self.matches.push(Value::object([
                ("file", Value::from(path)),
                ("line", Value::from(index as u64 + 1)),
                ("text", Value::from(shown)),
            ]));
        }
    }
}
