//! Planwright's own dialect in lines: everything that its JSON expresses, in fewer words.
//!
//! ```text
//! plan {"title": "Heights", "inputs": {"unit": {"default": "m"}}}
//! everest = search(query="height of Mount Everest", unit=${inputs.unit})
//! kilimanjaro = search(query="height of Kilimanjaro", unit=${inputs.unit})
//! ratio = math(expression="${everest.height} / ${kilimanjaro.height}") {"retry": 2}
//! both = ${[everest.height, kilimanjaro.height]}
//! report = {"plan": "send-report", "args": {"ratio": ${ratio}}}
//! return {"ratio": ${ratio}, "heights": ${both}}
//! ```
//!
//! - A step is `id = tool(name=value, …)`, with its other fields after the bracket, as one JSON object. A value without a name
//!   goes to `positional`. A step that calls no tool is `id = {…}`, entirely in JSON, or `id = ${…}`, which is its `value`.
//! - `plan {…}` holds the fields of the plan, and `return …` its `output`. Both are optional.
//! - Values are JSON, in which a reference needs no quotes: `${a.b}` is `"${a.b}"`. The content of the braces is
//!   written unchanged, so quotes in it need no escape. A text may span several lines.
//! - An id is quoted unless it consists of letters, digits, `_` and `-`; so is the name of an argument, which may also
//!   hold `.`, and that of a tool, which may also hold `/` and `:`.
//! - A statement continues on the next line as long as a bracket, a text or a reference is open, unless that line
//!   begins a step.
//! - `#` outside of texts begins a comment, which has no meaning; text that should be preserved is a `note`. Other
//!   lines are prose for people and are ignored; a line that does not look like prose is an error.

mod line;
mod parse;
mod print;
mod statement;
mod stream;

pub(crate) use line::is_prose;
pub use parse::{Lines, to_json};
pub use print::from_json;
pub use stream::{StreamingLineReader, plan_in};
