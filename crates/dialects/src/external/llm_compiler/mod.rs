//! The dialect of LLMCompiler: numbered lines of calls.
//!
//! ```text
//! 1. search("height of Mount Everest")
//! 2. search("height of Kilimanjaro")
//! Thought: Now both are known.
//! 3. math("$1 / $2", digits=2)
//! 4. join()<END_OF_PLAN>
//! ```
//!
//! - A line is a number, the step's id, and a call with arguments in Python syntax: texts in either quotes, numbers,
//!   `True`, `None`, lists, tuples, dictionaries, and references. Arguments without names stand for the parameters of
//!   the tool in their order; the checks name them. Other arguments that begin with neither a quote nor a bracket are
//!   one text: `search(Mount Everest)`.
//! - A reference is `$1` or `${1}`: alone, quoted or not, it preserves the type of the value; inside of a text it is
//!   inserted. `$10` does not contain `$1`. References may lead forward.
//! - `$1` followed by more of a word, a number or a path, the number of no step, and `${…}` with any other content are
//!   errors.
//! - Literal: `$$1` is `$1`, `$${` is `${`, and so on: dollars before either come in pairs. Any other `$` is a dollar.
//! - `Thought:` becomes the note of the next step. `join()` ends the plan and calls nothing; its result is the plan's
//!   output. `#` after a call begins a comment. Other lines are ignored if they are words; a line of code is an error.

mod parse;
mod reference;

pub use parse::LlmCompiler;
