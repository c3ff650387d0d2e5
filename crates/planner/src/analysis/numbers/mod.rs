//! Exact numbers, numbers parsed from text, and their units.

mod amount;
mod decimal;
mod number_text;
mod quantities;
mod unit;

pub use amount::Amount;
pub use decimal::Decimal;
pub(super) use quantities::{MAX_UNIT_LENGTH, Quantities, Quantity, UnitGroup};
