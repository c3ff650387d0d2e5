//! Exact numbers, numbers parsed from text, and their units.

mod amount;
mod number_text;
mod quantities;
mod unit;

pub use amount::{Amount, Decimal};
pub(super) use number_text::is_number_text;
pub(super) use quantities::{MAX_UNIT_LENGTH, Quantities, Quantity, UnitGroup};
pub(super) use unit::is_currency_code;
