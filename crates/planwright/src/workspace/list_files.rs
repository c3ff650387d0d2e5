//! The tool `list_files`.

use planwright_core::Value;
use planwright_engine::ToolError;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::confine::Folder;
use super::tool::{ToolEffect, WorkspaceTool, arguments};
use super::walk::Glob;
use super::walk::{Walk, WalkOptions};

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "list_files",
    title: "List files",
    description: "Lists the files below a folder, sorted by path. Links are not followed, and folders such as `.git`, \
        `target` and `node_modules` are left out.",
    effect: ToolEffect::Reads,
    input,
    output,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    path: String,
    pattern: Option<String>,
    #[serde(default = "yes")]
    recursive: bool,
    #[serde(default)]
    include_ignored: bool,
    #[serde(default = "default_results")]
    max_results: usize,
}

fn yes() -> bool {
    true
}

fn default_results() -> usize {
    1000
}

fn input() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "path": {
                "type": "string", "default": ".",
                "description": "The folder, relative to the workspace.",
            },
            "pattern": {
                "type": "string",
                "description": "Which files, such as `*.rs` (of that name, in any folder) or `src/**/*.{rs,toml}` \
                    (relative to the folder). All where it is left out.",
            },
            "recursive": {
                "type": "boolean", "default": true,
                "description": "Whether to look into further folders.",
            },
            "include_ignored": {
                "type": "boolean", "default": false,
                "description": "Whether to look into folders that are left out otherwise.",
            },
            "max_results": {
                "type": "integer", "minimum": 1, "maximum": 100_000, "default": default_results(),
                "description": "Maximum number of files to list.",
            },
        },
        "additionalProperties": false,
    })
}

fn output() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "files": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "description": "Relative to the workspace."},
                        "bytes": {"type": "integer", "minimum": 0},
                    },
                    "required": ["path", "bytes"],
                    "additionalProperties": false,
                },
            },
            "count": {
                "type": "integer", "minimum": 0,
                "description": "How many files are listed.",
            },
            "truncated": {
                "type": "boolean",
                "description": "Whether there are more files than `max_results`.",
            },
            "skipped": {
                "type": "integer", "minimum": 0,
                "description": "Number of files and folders that could not be read.",
            },
        },
        "required": ["files", "count", "truncated", "skipped"],
        "additionalProperties": false,
    })
}

fn run(folder: &Folder, args: &Value, stop: &CancellationToken) -> Result<Value, ToolError> {
    let arguments: Arguments = arguments(args)?;
    let pattern = arguments.pattern.as_deref().map(Glob::new).transpose()?;
    let options = WalkOptions {
        flat: !arguments.recursive,
        include_ignored: arguments.include_ignored,
    };
    let start = folder.locate(&arguments.path)?;
    let mut walk = Walk::new(folder, &start, options, stop)?;
    let mut files = Vec::new();
    let mut truncated = false;
    while let Some(file) = walk.next_file()? {
        if pattern
            .as_ref()
            .is_some_and(|pattern| !pattern.matches(file.inner_path()))
        {
            continue;
        }
        if files.len() == arguments.max_results {
            truncated = true;
            break;
        }
        match file.bytes() {
            Ok(bytes) => files.push(Value::object([
                ("path", Value::from(file.path)),
                ("bytes", Value::from(bytes)),
            ])),
            Err(_) => walk.skipped += 1,
        }
    }
    Ok(Value::object([
        ("count", Value::from(files.len() as u64)),
        ("truncated", Value::from(truncated)),
        ("skipped", Value::from(walk.skipped)),
        ("files", Value::from(files)),
    ]))
}
