//! The dialect of the Acts of Emergence: calls that are connected through state.
//!
//! ```json
//! {"context": [{"type": "input", "user": "Alice"}],
//!  "calls": [
//!   {"_tool": "fetchProfile", "user": "†input.user", "_outputPath": "†state.profile || †state.error"},
//!   {"_tool": "summarize", "profile": "†state.profile", "_outputPath": "†state.summary"}],
//!  "output": "†state.summary"}
//! ```
//!
//! - A plan is such an object, a list of calls, a single call, a list of messages with a `plan` message among them, or
//!   that message alone. If there are `calls`, plan messages are earlier plans: they are preserved, not run.
//! - The order of calls has no meaning. A step's id is the call's `_tool`; repeated names become `name#2`, `name#3`.
//!   `_activity` names the tool if it differs.
//! - A reference is a whole text: `†`, one of the kinds `input`, `state`, `data`, and a path with dots; whole numbers
//!   count the items of lists, and `["odd key"]` is a key with other characters, which the original system cannot
//!   name. `a || b` is the first that exists, `a && b` waits for all and gives the last. Both together are an error,
//!   since the original system does not define them. Surrounding blanks do not count.
//! - `_outputPath` takes the same form: `a || b` for one of several outcomes, `a && b` for all. Inputs are never
//!   written. `_outputMethod` is `set`, `merge`, `assign`, `push` or `concat`.
//! - A call with `_output` calls nothing: its output is that value. `_delegate` runs a plan of the library, which
//!   reads the parameters as input and the kinds in `_scopes`; `anonymous` is the tool alone.
//! - Messages of the types `input`, `state` and `data` hold their fields beside `type`, or all of them in an object
//!   with the name of the type; `schema` declares their form. A reference in a message is data.
//! - Literal: the original system cannot pass `†` on. Here `††` stands for one, anywhere in a text, and `__name` for a
//!   parameter called `_name`.

mod context;
mod expression;
mod parse;
mod print;
mod reference;

pub use parse::Acts;

#[cfg(test)]
mod tests;
