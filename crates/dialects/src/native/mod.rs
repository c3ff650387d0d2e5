//! The native dialect, which can express every plan.
//!
//! ```json
//! {"name": "compare-weather",
//!  "inputs": {"cities": {"type": "array", "default": ["Tokyo", "London"]}},
//!  "steps": [
//!   {"id": "weather", "for_each": "${inputs.cities}", "tool": "get_weather", "args": {"city": "${item}"}},
//!   {"id": "warmest", "tool": "compare_data", "args": {"temps": "${weather[*].temp}"}},
//!   {"id": "warn", "when": "${warmest.temp > 35}", "tool": "notify", "args": {"text": "Heat in ${warmest.city}"}}
//!  ],
//!  "output": ["warmest"]}
//! ```
//!
//! - The fields are those of [`schema`](crate::native::schema()); [the
//!   reference](https://github.com/planwright/planwright/blob/main/docs/reference/plan.md) explains each. A step has
//!   an `id`, and exactly one of `tool` (with `args`), `plan` (a stored or an inner one, with `args` as its inputs)
//!   and `value` (made of references, without a call).
//! - Control flow: `after` other steps, `when` a condition holds, `for_each` item of a list (`max_parallel`, `as`,
//!   `with_item`), in rounds (`repeat`: `until`, `max`), for one `instance`, `alone`. `writes` stores the output in a slot.
//! - Failures: `retry` (`attempts`, `delay`), `timeout`, `on_error`: `"continue"`, or `{"output": …}` in its place;
//!   the plan's `on_failure` decides if independent steps `keep_going`, or if the run is undone (`revert`). `undo` is the call
//!   that undoes a step: `{"tool", "arguments"}`, in which `${output…}` and `${arguments…}` read the call to undo. `approval` asks a person first; `idempotent`
//!   declares that a second call does no harm.
//! - `${…}` is a path, alternatives (`a.x ?? b.y ?? "none"`), `all(a, b)` (waits for all, gives the last), or a CEL
//!   expression; see [`planwright_core::expression::parse_form`]. A `?` after a path gives `null` for missing values,
//!   `[*?]` in place of `[*]` for missing fields of single items. A text that is exactly one `${…}` preserves the type
//!   of the value. Keys are never references.
//! - `$${` is a literal `${`, a literal `$` right before a marker is `$$`.
//! - `inputs` holds a JSON Schema for each input; one without `default` is required. `x-variable` makes an input a
//!   variable as well; `vars` declares variables with their values.
//! - `slots` holds the initial values of slots, `{"state": {…}, "data": {…}}`, or a list of such objects, each with an
//!   `instance` if it belongs to one. `slot_schemas` holds the schemas of slots.
//! - `output` is a list of step ids, or any other value with references; `{"value": …}` wraps a value that looks like
//!   one of the two.
//! - `args` names the arguments; `positional` lists those without names, which the checks name by the tool's schema.
//! - Durations are `"250ms"`, `"30s"`, `"2m"`, `"1h"`, or a number of milliseconds.

mod bare_names;
/// Words of other systems in place of the fields of this dialect.
/// Expressions of other languages in the form of this dialect.
mod foreign_expression;
mod guesses;
mod keywords;
/// The dialect in lines instead of JSON.
pub mod lines;
mod parse;
mod parse_step;
mod plan_dialect;
mod print;
mod reference;
mod schema;

pub(crate) use foreign_expression::form_in;
pub(crate) use guesses::{
    Language, UsedIds, expression_in, has_named_steps, is_for_people, is_word_of_others, path_of,
    quoted_length, resembles_plan, resembles_step, resembles_steps, without_markers,
    without_output_fields,
};
pub use parse::Native;
pub use plan_dialect::PlanDialect;
pub use schema::schema;

#[cfg(test)]
mod tests;
