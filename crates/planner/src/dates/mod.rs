//! What phrases of time mean: from "last week" to two days of the calendar.
//!
//! Pure and without choice: what time it is, and where, is given. So the same phrase gives the same days again, and a
//! model never counts days.

mod calendar;
mod day;
mod error;
mod evaluate;
mod find;
mod grammar;
mod now;
mod phrase;
mod resolve;
mod token;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use day::{DateRange, Day};
pub use error::DateError;
pub use find::{Mention, find};
#[cfg(feature = "providers")]
pub(crate) use now::http_date;
pub use now::{Now, TimeError, Zone};
pub(crate) use resolve::fixed_days;
pub use resolve::resolve;
