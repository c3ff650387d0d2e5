//! An MCP server over stdio that follows a script.
//!
//! It is written by hand on plain lines of JSON, so that it can do what no library would: hang, crash, babble,
//! refuse, send too much. A script is a JSON object, or `@PATH` for one in a file; each field may be left out:
//!
//! | field | meaning |
//! | --- | --- |
//! | `revisions` | the revisions of MCP that it speaks, the newest first; `2026-07-28`, `2025-11-25`, `2025-06-18` |
//! | `record` | the address of a `Recorder`, which is told of every message received |
//! | `stderr`, `stdout` | text that it writes as it starts |
//! | `exit` | it ends at once with this status |
//! | `hang` | it never answers anything |
//! | `start_delay_ms` | it answers nothing for this long |
//! | `silent_on_unknown` | it leaves out the error for a request that it does not know |
//! | `stays` | it does not end when its input is closed |
//! | `capabilities` | what it says that it can do; that it has tools where nothing is said |
//! | `instructions` | what it says to models |
//! | `page_size` | how many entries a page of its lists has |
//! | `tools` | its tools: as they are listed, each with a field `does` |
//! | `prompts`, `resources`, `resourceTemplates` | its other lists |
//! | `answers` | results of other requests, by method |
//!
//! What a tool `does`, in this order:
//!
//! | field | meaning |
//! | --- | --- |
//! | `delay_ms` | waits |
//! | `appends` | appends the call to this file, as a line of JSON, and sees to it that it stays there |
//! | `then_delay_ms` | waits again |
//! | `wait_for_release` | waits until the recorder lets it go on |
//! | `sets` | fields that its lists get from now on in place of those of the script |
//! | `first` | lines that it writes before the answer: texts as they are, all else as JSON; the progress token of the call for `"$TOKEN"`, the newest subscription for `"$SUBSCRIPTION"` |
//! | `progress` | `{"every_ms", "times"}`: waits and reports progress, so many times |
//! | `ends_subscription` | answers the newest subscription |
//! | `ask` | a request to the client; the answer to it becomes the structured content |
//! | `exit` | ends the server with this status |
//! | `never` | does not answer |
//! | `raw` | a line in place of an answer, with the request's id for `$ID` |
//! | `error` | a JSON-RPC error |
//! | `input_required` | the questions of a first round; the answers to them become the structured content |
//! | `result` | the result as it is |
//! | `text_bytes` | a text of so many bytes |
//! | `text` | a text |
//! | `structured` | structured content |
//!
//! Where nothing is said, a tool gives its arguments back.

mod answer;
mod listing;
mod program;
mod recorder;
mod server;

pub use program::program;
pub use recorder::Recorder;
pub use server::run;
