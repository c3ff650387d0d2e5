//! The tool `read_file`.

use std::io::{self, BufRead, BufReader, Read};

use planwright_core::Value;
use planwright_engine::{ErrorKind, ToolError};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::confine::{Folder, InnerPath, failure, from_system, not_text, stopped};
use super::tool::{ToolEffect, WorkspaceTool, arguments};

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "read_file",
    title: "Read a file",
    description: "Reads a UTF-8 text file, or a range of its lines. At most 4 MiB are read; of a larger file, ask for \
        a range of lines.",
    effect: ToolEffect::Reads,
    input,
    output,
    run,
};

/// The maximum number of bytes that are read.
const LARGEST: u64 = 4 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(default = "one")]
    first_line: u64,
    last_line: Option<u64>,
}

fn one() -> u64 {
    1
}

fn input() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the workspace."},
            "first_line": {
                "type": "integer", "minimum": 1, "default": 1,
                "description": "The first line to read, from 1.",
            },
            "last_line": {
                "type": "integer", "minimum": 1,
                "description": "The last line to read; default: the last line of the file.",
            },
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
            "text": {"type": "string", "description": "The lines, verbatim."},
            "first_line": {"type": "integer", "minimum": 1},
            "last_line": {
                "type": "integer", "minimum": 0,
                "description": "The last line that was read; less than `first_line` where there was none.",
            },
            "more": {"type": "boolean", "description": "Whether the file has more lines."},
        },
        "required": ["path", "text", "first_line", "last_line", "more"],
        "additionalProperties": false,
    })
}

fn run(folder: &Folder, args: &Value, stop: &CancellationToken) -> Result<Value, ToolError> {
    let arguments: Arguments = arguments(args)?;
    let (first, last) = (arguments.first_line, arguments.last_line);
    if first < 1 || last.is_some_and(|last| last < first) {
        let message = "`first_line` must be at least 1 and at most `last_line`";
        return Err(ToolError::new(ErrorKind::Arguments, message));
    }
    let path = folder.locate(&arguments.path)?;
    let file = folder.open_file(&path)?;
    let mut lines = Lines {
        reader: BufReader::new(file),
        next: 1,
        path: &path,
        stop,
    };
    lines.skip_to(first)?;
    let text = lines.read_to(last.unwrap_or(u64::MAX))?;
    let more = lines.is_more()?;
    Ok(Value::object([
        ("path", Value::from(path.to_string())),
        ("text", Value::from(text)),
        ("first_line", Value::from(first)),
        ("last_line", Value::from(lines.next - 1)),
        ("more", Value::from(more)),
    ]))
}

/// Reads a file line by line, with at most the requested part in memory.
struct Lines<'a, R> {
    reader: R,
    /// The number of the line that comes next.
    next: u64,
    path: &'a InnerPath,
    stop: &'a CancellationToken,
}

impl<R: BufRead> Lines<'_, R> {
    /// Leaves out all lines before `line`.
    fn skip_to(&mut self, line: u64) -> Result<(), ToolError> {
        while self.next < line {
            self.check_cancelled()?;
            let skipped = self.reader.skip_until(b'\n');
            if skipped.map_err(|error| self.explain(&error))? == 0 {
                let message = format!(
                    "`{}` has no line {line}: it ends after line {}",
                    self.path,
                    self.next - 1
                );
                return Err(failure("no_such_line", message));
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Reads all lines up to `line`, that one included.
    fn read_to(&mut self, line: u64) -> Result<String, ToolError> {
        let mut bytes = Vec::new();
        while self.next <= line {
            self.check_cancelled()?;
            // Reading one byte more than the limit detects a file that is too large.
            let room = LARGEST + 1 - bytes.len() as u64;
            let read = (&mut self.reader)
                .take(room)
                .read_until(b'\n', &mut bytes)
                .map_err(|error| self.explain(&error))?;
            if bytes.len() as u64 > LARGEST {
                return Err(self.too_large());
            }
            if read == 0 {
                break;
            }
            self.next += 1;
        }
        String::from_utf8(bytes).map_err(|_| not_text(self.path))
    }

    fn is_more(&mut self) -> Result<bool, ToolError> {
        let rest = self.reader.fill_buf().map(|bytes| !bytes.is_empty());
        rest.map_err(|error| self.explain(&error))
    }

    fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.stop.is_cancelled() {
            return Err(stopped());
        }
        Ok(())
    }

    fn explain(&self, error: &io::Error) -> ToolError {
        from_system(self.path, error)
    }

    fn too_large(&self) -> ToolError {
        let message = format!(
            "`{}` is too large to be read at once: ask for fewer lines, of at most {LARGEST} bytes",
            self.path
        );
        failure("too_large", message)
    }
}
