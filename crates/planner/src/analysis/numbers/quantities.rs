//! The numbers of a field with their units.

use indexmap::IndexMap;
use planwright_core::Value;

use super::amount::Amount;
use super::amount::Decimal;
use super::number_text::{ParsedDigits, ParsedNumber, SeparatorConvention, parse_number};
use super::unit::is_intensive;
use crate::analysis::clipped;
use crate::analysis::fields::field_name::{is_entity, is_label, is_share, is_year};
use crate::analysis::report::UnparsedValues;
use crate::analysis::tables::{Column, Table};

/// The length from which digit texts of equal length are identifiers.
const MIN_IDENTIFIER_LENGTH: usize = 9;

/// Maximum number of distinct currencies or units of a field; a field with more of them counts as a field without.
const MAX_UNITS: usize = 20;

/// Maximum length of a unit, in characters.
pub(crate) const MAX_UNIT_LENGTH: usize = 12;

/// The numbers of a field.
#[derive(Debug, Default)]
pub(crate) struct Quantities {
    /// The numbers, in row order.
    pub(crate) entries: Vec<Quantity>,
    /// The distinct currencies and units.
    units: Vec<String>,
    /// The number of numbers that were parsed from texts.
    pub(crate) texts: usize,
    /// An example of a text whose separator was resolved by other texts or by a default rule.
    pub(crate) example: Option<(String, Decimal)>,
    /// Texts that can be parsed as two different numbers.
    pub(crate) unclear: UnparsedValues,
    /// Values that are not numbers.
    pub(crate) unread: UnparsedValues,
    is_share: bool,
}

/// A number of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    pub(crate) row: usize,
    pub(crate) amount: Amount,
    unit: Option<usize>,
}

/// The numbers with the same unit, or without one.
#[derive(Debug)]
pub(crate) struct UnitGroup<'q> {
    pub(crate) unit: Option<&'q str>,
    /// The numbers with their rows.
    pub(crate) amounts: Vec<(usize, Amount)>,
}

impl Quantities {
    /// Reads the numbers of a column; `None` if it has none, or if they are identifiers or ranks.
    pub(crate) fn of(column: &Column<'_>) -> Option<Self> {
        // Sums and means of ids or postcodes mean nothing.
        if is_label(column.role()) {
            return None;
        }
        let column_numbers = ColumnNumbers::of(column);
        if is_entity(column.role()) && column_numbers.numbers.iter().all(is_whole)
            || are_years(column, &column_numbers)
        {
            return None;
        }
        let mut quantities = Self {
            is_share: is_share(column.role()),
            ..Self::default()
        };
        // All texts are parsed first, because one unambiguous text resolves the others.
        let convention =
            SeparatorConvention::of(column_numbers.texts.iter().map(|(_, parsed)| parsed));
        let mut numbers = column_numbers.numbers.iter().peekable();
        let mut texts = column_numbers.texts.iter().peekable();
        for (row, value) in &column.entries {
            // All lists are in row order, so that one pass assigns each value.
            if let Some((_, amount)) = numbers.next_if(|(number, _)| number == row) {
                quantities.entries.push(Quantity {
                    row: *row,
                    amount: *amount,
                    unit: None,
                });
            } else if let Some((_, parsed)) = texts.next_if(|(text, _)| text == row) {
                quantities.add_text(*row, value, parsed, convention);
            } else {
                quantities.unread.add(value);
            }
        }
        let is_any = !quantities.entries.is_empty() || 0 < quantities.unclear.count;
        is_any.then_some(quantities)
    }

    fn add_text(
        &mut self,
        row: usize,
        value: &Value,
        parsed: &ParsedNumber,
        convention: SeparatorConvention,
    ) {
        let Some(number) = convention.resolve(parsed) else {
            self.unclear.add(value);
            return;
        };
        if let (ParsedDigits::Ambiguous { .. }, Some(text), None) =
            (parsed.digits, value.as_text(), &self.example)
        {
            self.example = Some((text.to_owned(), number));
        }
        let unit = parsed.unit.map(|unit| self.unit(unit));
        self.texts += 1;
        self.entries.push(Quantity {
            row,
            amount: Amount::Exact(number),
            unit,
        });
    }

    /// Returns the index of a unit; the last one stands for all units above the limit.
    fn unit(&mut self, unit: &str) -> usize {
        // A field has few units, so that a scan suffices.
        let found = self.units.iter().position(|known| known == unit);
        found.unwrap_or_else(|| {
            // One more than the limit, which shows that there are too many.
            if self.units.len() <= MAX_UNITS {
                self.units.push(unit.to_owned());
            }
            self.units.len() - 1
        })
    }

    /// Assigns the units in another field of the same records, unless the numbers have their own units.
    pub(crate) fn assign_units(&mut self, beside: &Column<'_>) {
        if !self.units.is_empty() {
            return;
        }
        // Both columns are in row order, so that one pass finds the unit of each row.
        let mut units = beside.entries.iter().peekable();
        for at in 0..self.entries.len() {
            let row = self.entries[at].row;
            while units.next_if(|(other, _)| *other < row).is_some() {}
            let unit = units.next_if(|(other, _)| *other == row);
            let text = unit.and_then(|(_, value)| value.as_text()).map(str::trim);
            let text = text.filter(|text| !text.is_empty());
            self.entries[at].unit = text.map(|text| {
                // The text comes from a server and is printed with each figure.
                let short = clipped(text, MAX_UNIT_LENGTH);
                self.unit(&short)
            });
        }
    }

    /// Assigns the currencies of the records around the rows, unless the numbers have their own units.
    pub(crate) fn assign_currencies(&mut self, table: &Table<'_>) {
        if !self.units.is_empty() {
            return;
        }
        for at in 0..self.entries.len() {
            let currency = table.currency(self.entries[at].row);
            self.entries[at].unit = currency.map(|currency| self.unit(currency));
        }
    }

    /// Returns true if the distinct units are too many to be units.
    pub(crate) fn has_too_many_units(&self) -> bool {
        MAX_UNITS < self.units.len()
    }

    /// Groups the numbers by unit, in order of first appearance.
    pub(crate) fn by_unit(&self) -> Vec<UnitGroup<'_>> {
        let mut parts: IndexMap<Option<usize>, Vec<(usize, Amount)>> = IndexMap::new();
        for entry in &self.entries {
            let part = parts.entry(entry.unit).or_default();
            part.push((entry.row, entry.amount));
        }
        let parts = parts.into_iter();
        parts
            .map(|(unit, amounts)| UnitGroup {
                unit: self.name_of(unit),
                amounts,
            })
            .collect()
    }

    fn name_of(&self, unit: Option<usize>) -> Option<&str> {
        self.units.get(unit?).map(String::as_str)
    }

    /// Returns true if all numbers have the same unit, or none.
    pub(crate) fn is_uniform(&self) -> bool {
        let first = self.entries.first().map(|entry| entry.unit);
        self.entries.iter().all(|entry| Some(entry.unit) == first)
    }

    /// Returns true if a sum of the numbers in `unit` has a meaning.
    pub(crate) fn is_summed(&self, unit: Option<&str>) -> bool {
        !self.is_share && !unit.is_some_and(is_intensive)
    }

    /// Returns the unit of a number.
    pub(crate) fn unit_of(&self, quantity: &Quantity) -> Option<&str> {
        self.name_of(quantity.unit)
    }
}

/// The values of a column that are or contain numbers.
#[derive(Default)]
struct ColumnNumbers {
    numbers: Vec<(usize, Amount)>,
    texts: Vec<(usize, ParsedNumber)>,
}

impl ColumnNumbers {
    /// Collects the numbers, and the numbers in texts if most texts are numbers and not codes.
    fn of(column: &Column<'_>) -> Self {
        let mut column_numbers = Self::default();
        let mut others = 0;
        let mut digits = Vec::new();
        for (row, value) in &column.entries {
            if let Some(amount) = Amount::from_value(value) {
                column_numbers.numbers.push((*row, amount));
                continue;
            }
            let text = value.as_text().unwrap_or_default();
            if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
                digits.push(text);
            }
            match parse_number(text) {
                Some(parsed) => column_numbers.texts.push((*row, parsed)),
                None => others += usize::from(!UnparsedValues::is_blank(value)),
            }
        }
        let read = column_numbers.texts.len() + column_numbers.numbers.len();
        // In a tie, the column is numeric only if it has real numbers.
        let are_names = read < others || read == others && column_numbers.numbers.is_empty();
        if are_names || are_codes(&digits, &column_numbers) {
            column_numbers.texts.clear();
        }
        column_numbers
    }
}

/// Returns true if digit texts are codes: one has a leading zero, or all have the same great length.
fn are_codes(digits: &[&str], column_numbers: &ColumnNumbers) -> bool {
    let length = digits.first().map_or(0, |first| first.len());
    let are_alike = digits.iter().all(|text| text.len() == length);
    let are_all = column_numbers.numbers.is_empty() && digits.len() == column_numbers.texts.len();
    digits
        .iter()
        .any(|text| 1 < text.len() && text.starts_with('0'))
        // Digits of one great length are codes such as EANs or phone numbers.
        || MIN_IDENTIFIER_LENGTH <= length && are_alike && are_all && 1 < digits.len()
}

/// Returns true if the field's name and all its numbers indicate years.
fn are_years(column: &Column<'_>, column_numbers: &ColumnNumbers) -> bool {
    // A field such as `founded` may also count: then some number is no year.
    let years = Decimal::new(1900, 0)..=Decimal::new(2100, 0);
    let texts = column_numbers
        .texts
        .iter()
        .map(|(_, parsed)| match parsed.digits {
            ParsedDigits::Unambiguous { number, .. } => Some(number),
            ParsedDigits::Ambiguous { .. } => None,
        });
    let mut numbers = column_numbers
        .numbers
        .iter()
        .map(|(_, amount)| amount.exact())
        .chain(texts);
    let is_one = |number: Option<Decimal>| {
        number.is_some_and(|number| number.scale() == 0 && years.contains(&number))
    };
    is_year(column.role()) && numbers.all(is_one)
}

fn is_whole((_, amount): &(usize, Amount)) -> bool {
    amount
        .exact()
        .is_some_and(|number| number.to_integer().is_some())
}
