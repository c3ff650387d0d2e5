//! An MCP server over stdio that follows a script.
//!
//! It writes plain lines of JSON without a library, so that it can do what no library would: hang, crash, send
//! garbage, refuse, send too much. A script is a JSON object, or `@PATH` for one in a file; every field is optional:
//!
//! | field | meaning |
//! | --- | --- |
//! | `revisions` | the supported revisions of MCP, the newest first; `2026-07-28`, `2025-11-25`, `2025-06-18` |
//! | `record` | the address of a `Recorder`, which receives a copy of every message |
//! | `stderr`, `stdout` | text that it writes at its start |
//! | `exit` | it exits at once with this status |
//! | `hang` | it never answers anything |
//! | `start_delay_ms` | it answers nothing for this time |
//! | `start_waits_for_release` | it answers nothing until the recorder releases it |
//! | `silent_on_unknown` | it sends no error for an unknown request |
//! | `stays` | it does not end when its input is closed |
//! | `capabilities` | its capabilities; `tools` if absent |
//! | `instructions` | its instructions for models |
//! | `page_size` | the number of entries per page of a list |
//! | `tools` | its tools as listed, each with a field `does` |
//! | `prompts`, `resources`, `resourceTemplates` | its other lists |
//! | `answers` | results of other requests, by method |
//!
//! The behavior `does` of a tool, in this order:
//!
//! | field | meaning |
//! | --- | --- |
//! | `delay_ms` | waits |
//! | `appends` | appends the call to this file as a line of JSON, and synchronizes it |
//! | `then_delay_ms` | waits again |
//! | `wait_for_release` | waits until the recorder releases it |
//! | `sets` | fields of its lists that replace those of the script from now on |
//! | `first` | lines that it writes before the answer: texts unchanged, other values as JSON; `"$TOKEN"` is the progress token of the call, `"$SUBSCRIPTION"` the newest subscription |
//! | `progress` | `{"every_ms", "times"}`: reports progress after each interval |
//! | `ends_subscription` | answers the newest subscription |
//! | `ask` | a request to the client; the response becomes the structured content |
//! | `exit` | exits with this status |
//! | `never` | does not answer |
//! | `raw` | a line in place of an answer; `$ID` is the request's id |
//! | `error` | a JSON-RPC error |
//! | `input_required` | input requests of a first round; the responses become the structured content |
//! | `result` | the result as it is |
//! | `text_bytes` | a text of this many bytes |
//! | `text` | a text |
//! | `structured` | structured content |
//!
//! Without any of these fields, a tool returns its arguments.

mod listing;
mod recorder;
mod server;

pub use crate::programs::fake_server as program;
pub use recorder::Recorder;
pub use server::run;
