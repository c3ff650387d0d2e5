//! The tool `count_lines`.

use std::io::Read;

use planwright_core::Value;
use planwright_engine::ToolError;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::confine::{Folder, from_system, stopped};
use super::tool::{ToolEffect, WorkspaceTool, arguments};

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "count_lines",
    title: "Count lines",
    description: "Counts the lines, words and bytes of a file of any size. A last line counts with or without an end; \
        words are what stands between spaces.",
    effect: ToolEffect::Reads,
    input,
    output,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
}

fn input() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the workspace."},
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

fn output() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "lines": {"type": "integer", "minimum": 0},
            "words": {"type": "integer", "minimum": 0},
            "bytes": {"type": "integer", "minimum": 0},
        },
        "required": ["path", "lines", "words", "bytes"],
        "additionalProperties": false,
    })
}

fn run(folder: &Folder, args: &Value, stop: &CancellationToken) -> Result<Value, ToolError> {
    let arguments: Arguments = arguments(args)?;
    let path = folder.locate(&arguments.path)?;
    let mut file = folder.open_file(&path)?;
    let mut buffer = vec![0; 1 << 16];
    let mut counts = Counts::default();
    loop {
        if stop.is_cancelled() {
            return Err(stopped());
        }
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => counts.add(&buffer[..read]),
            Err(error) => return Err(from_system(&path, &error)),
        }
    }
    Ok(Value::object([
        ("path", Value::from(path.to_string())),
        ("lines", Value::from(counts.lines())),
        ("words", Value::from(counts.words)),
        ("bytes", Value::from(counts.bytes)),
    ]))
}

#[derive(Default)]
struct Counts {
    line_ends: u64,
    words: u64,
    bytes: u64,
    in_word: bool,
    /// True if text follows the last line end.
    in_line: bool,
}

impl Counts {
    fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        for byte in piece {
            let is_space = byte.is_ascii_whitespace();
            self.words += u64::from(!is_space && !self.in_word);
            self.line_ends += u64::from(*byte == b'\n');
            self.in_word = !is_space;
            self.in_line = *byte != b'\n';
        }
    }

    fn lines(&self) -> u64 {
        self.line_ends + u64::from(self.in_line)
    }
}
