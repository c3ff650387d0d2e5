//! The mcp-cli dialect: indexed steps, variables, `${var.path}`.
//!
//! ```json
//! {"id": "p-1", "title": "Weather", "variables": {"place": {"city": "Oslo"}},
//!  "steps": [
//!   {"index": "1", "title": "Ask", "tool": "get_weather", "args": {"city": "${place.city}"},
//!    "depends_on": [], "result_variable": "now"},
//!   {"index": "2", "title": "Tell", "tool": "notify", "args": {"text": "${now.temp:-?} degrees"},
//!    "depends_on": ["1"]}
//! ]}
//! ```
//!
//! - `index` is text or a whole number; if absent, it is the position from 1. `depends_on` lists indices.
//! - `tool` with `args`, or `tool_calls` with exactly one `{"name", "args"}`, never both: the original system runs the
//!   first of several calls and drops the rest.
//! - `${name.a.0}`, `[0]`, `["odd.key"]`; `${["odd.name"]}`; blanks inside of the braces do not count. `${a.b:-7}` has
//!   a default, JSON if it parses, else text, for whatever is missing on the path. Texts and keys in that JSON have
//!   escapes, but no markers.
//! - A name that steps write with `result_variable` refers to the latest of them before the reader, in the order of
//!   `depends_on` and of the list; else to the plan's variable; else to the first step that writes it later. That
//!   makes a dependency, whereas the original system reads the value of that moment.
//! - A marker that cannot be read is an error; the original system passes it on to the tool.
//! - Printing writes what the executor of the original system resolves: all dependencies in `depends_on`, fields of
//!   objects; the rest is refused.
//! - Literal: `$${` stands for `${`; the original system has no escape. A literal `$` right before a marker is `$$`:
//!   `$$${a}`.
//! - `tags` and `metadata` are preserved (metadata of a plan in another dialect is written to `metadata`, and read
//!   back as such), `_status` is ignored.

mod parse;
mod print;
mod reference;

pub use parse::McpCli;
