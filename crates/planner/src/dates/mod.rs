//! Resolves date phrases such as "last week" to the first and the last day of a range.
//!
//! Resolution is pure and deterministic: callers pass the current time and the time zone. A model therefore never counts days.
//!
//! Design: [Dates and times](https://github.com/planwright/planwright/blob/main/docs/design/time.md).

mod day;
mod evaluate;
mod find;
mod fiscal;
mod grammar;
mod phrase;
mod resolve;
mod token;

#[cfg(test)]
mod tests;

#[cfg(feature = "providers")]
pub(crate) use day::http_date;
pub use day::{DateRange, Day, Now, TimeError, Zone};
pub use find::{DateMention, find};
pub use fiscal::{Calendar, FiscalCalendar};
pub(crate) use resolve::fixed_days;
pub use resolve::{DateError, resolve};
