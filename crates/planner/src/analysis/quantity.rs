//! The numbers of a field, with what they are numbers of.

use indexmap::IndexMap;
use planwright_core::Value;

use super::amount::Amount;
use super::clipped;
use super::column::Column;
use super::decimal::Decimal;
use super::field_name::{is_label, is_share, is_thing, is_year};
use super::report::Unread;
use super::table::Table;
use super::unit::is_intensive;
use super::written::{self, Convention, Reading, Written};

/// The length from which texts of equally many digits are identifiers.
const IDENTIFIER: usize = 9;

/// The most currencies or units of a field.
const MAX_UNITS: usize = 20;

/// The longest unit, in characters.
pub(super) const MAX_UNIT: usize = 12;

/// The numbers of a field.
#[derive(Debug, Default)]
pub(super) struct Quantities {
    /// The numbers, in the order of their rows.
    pub(super) entries: Vec<Quantity>,
    /// The currencies and units that they are in.
    units: Vec<String>,
    /// How many are written as texts.
    pub(super) texts: usize,
    /// A text with a separator that other texts or a rule explain, and the number that it was read as.
    pub(super) example: Option<(String, Decimal)>,
    /// Texts that may be either of two numbers.
    pub(super) unclear: Unread,
    /// Values that are no numbers.
    pub(super) unread: Unread,
    is_share: bool,
}

/// A number of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity {
    pub(super) row: usize,
    pub(super) amount: Amount,
    unit: Option<usize>,
}

/// Numbers in one unit, or in none.
#[derive(Debug)]
pub(super) struct InUnit<'q> {
    pub(super) unit: Option<&'q str>,
    /// The numbers, with their rows.
    pub(super) amounts: Vec<(usize, Amount)>,
}

impl Quantities {
    /// The numbers of a field; `None` if there are none, or if they identify or order something.
    pub(super) fn of(column: &Column<'_>) -> Option<Self> {
        if is_label(column.role()) {
            return None;
        }
        let readings = Readings::of(column);
        if is_thing(column.role()) && readings.numbers.iter().all(is_whole)
            || are_years(column, &readings)
        {
            return None;
        }
        let mut quantities = Self {
            is_share: is_share(column.role()),
            ..Self::default()
        };
        let convention = Convention::of(readings.texts.iter().map(|(_, written)| written));
        let mut numbers = readings.numbers.iter().peekable();
        let mut texts = readings.texts.iter().peekable();
        for (row, value) in &column.entries {
            if let Some((_, amount)) = numbers.next_if(|(number, _)| number == row) {
                quantities.entries.push(Quantity {
                    row: *row,
                    amount: *amount,
                    unit: None,
                });
            } else if let Some((_, written)) = texts.next_if(|(text, _)| text == row) {
                quantities.add_text(*row, value, written, convention);
            } else {
                quantities.unread.add(value);
            }
        }
        let is_any = !quantities.entries.is_empty() || 0 < quantities.unclear.count;
        is_any.then_some(quantities)
    }

    fn add_text(&mut self, row: usize, value: &Value, written: &Written, convention: Convention) {
        let Some(number) = convention.resolve(written) else {
            self.unclear.add(value);
            return;
        };
        if let (Reading::Unclear { .. }, Some(text), None) =
            (written.reading, value.as_text(), &self.example)
        {
            self.example = Some((text.to_owned(), number));
        }
        let unit = written.unit.map(|unit| self.unit(unit));
        self.texts += 1;
        self.entries.push(Quantity {
            row,
            amount: Amount::Exact(number),
            unit,
        });
    }

    /// The number of a unit; that of the last one of all if there are too many.
    fn unit(&mut self, unit: &str) -> usize {
        let found = self.units.iter().position(|known| known == unit);
        found.unwrap_or_else(|| {
            if self.units.len() <= MAX_UNITS {
                self.units.push(unit.to_owned());
            }
            self.units.len() - 1
        })
    }

    /// Takes the units from another field of the same records, unless the numbers have some of their own.
    pub(super) fn take_units(&mut self, beside: &Column<'_>) {
        if !self.units.is_empty() {
            return;
        }
        let mut units = beside.entries.iter().peekable();
        for at in 0..self.entries.len() {
            let row = self.entries[at].row;
            while units.next_if(|(other, _)| *other < row).is_some() {}
            let unit = units.next_if(|(other, _)| *other == row);
            let text = unit.and_then(|(_, value)| value.as_text()).map(str::trim);
            let text = text.filter(|text| !text.is_empty());
            self.entries[at].unit = text.map(|text| {
                let short = clipped(text, MAX_UNIT);
                self.unit(&short)
            });
        }
    }

    /// Takes the currencies of the records that the lists of the rows are in, unless the numbers have units of their own.
    pub(super) fn take_currencies(&mut self, table: &Table<'_>) {
        if !self.units.is_empty() {
            return;
        }
        for at in 0..self.entries.len() {
            let currency = table.currency(self.entries[at].row);
            self.entries[at].unit = currency.map(|currency| self.unit(currency));
        }
    }

    /// Whether there are so many units that they are none.
    pub(super) fn has_too_many_units(&self) -> bool {
        MAX_UNITS < self.units.len()
    }

    /// The numbers by unit, in the order in which the units first appear.
    pub(super) fn by_unit(&self) -> Vec<InUnit<'_>> {
        let mut parts: IndexMap<Option<usize>, Vec<(usize, Amount)>> = IndexMap::new();
        for entry in &self.entries {
            let part = parts.entry(entry.unit).or_default();
            part.push((entry.row, entry.amount));
        }
        let parts = parts.into_iter();
        parts
            .map(|(unit, amounts)| InUnit {
                unit: self.name_of(unit),
                amounts,
            })
            .collect()
    }

    fn name_of(&self, unit: Option<usize>) -> Option<&str> {
        self.units.get(unit?).map(String::as_str)
    }

    /// Whether all numbers are in one unit, or in none.
    pub(super) fn is_uniform(&self) -> bool {
        let first = self.entries.first().map(|entry| entry.unit);
        self.entries.iter().all(|entry| Some(entry.unit) == first)
    }

    /// Whether a sum of the numbers says something, if all are in `unit`.
    pub(super) fn is_summed(&self, unit: Option<&str>) -> bool {
        !self.is_share && !unit.is_some_and(is_intensive)
    }

    /// The unit of a number.
    pub(super) fn unit_of(&self, quantity: &Quantity) -> Option<&str> {
        self.name_of(quantity.unit)
    }
}

/// What the values of a field can be read as.
#[derive(Default)]
struct Readings {
    numbers: Vec<(usize, Amount)>,
    texts: Vec<(usize, Written)>,
}

impl Readings {
    /// The numbers, and the numbers in texts if those are mostly numbers and not codes.
    fn of(column: &Column<'_>) -> Self {
        let mut readings = Self::default();
        let mut others = 0;
        let mut digits = Vec::new();
        for (row, value) in &column.entries {
            if let Some(amount) = Amount::of(value) {
                readings.numbers.push((*row, amount));
                continue;
            }
            let text = value.as_text().unwrap_or_default();
            if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
                digits.push(text);
            }
            match written::read(text) {
                Some(written) => readings.texts.push((*row, written)),
                None => others += usize::from(!Unread::is_blank(value)),
            }
        }
        let read = readings.texts.len() + readings.numbers.len();
        let are_names = read < others || read == others && readings.numbers.is_empty();
        if are_names || are_codes(&digits, &readings) {
            readings.texts.clear();
        }
        readings
    }
}

/// Whether texts of digits are codes: one begins with a zero, or all are of one great length.
fn are_codes(digits: &[&str], readings: &Readings) -> bool {
    let length = digits.first().map_or(0, |first| first.len());
    let are_alike = digits.iter().all(|text| text.len() == length);
    let are_all = readings.numbers.is_empty() && digits.len() == readings.texts.len();
    digits
        .iter()
        .any(|text| 1 < text.len() && text.starts_with('0'))
        || IDENTIFIER <= length && are_alike && are_all && 1 < digits.len()
}

/// Whether the numbers of a field are years, as its name and all of them tell.
fn are_years(column: &Column<'_>, readings: &Readings) -> bool {
    let years = Decimal::new(1900, 0)..=Decimal::new(2100, 0);
    let texts = readings
        .texts
        .iter()
        .map(|(_, written)| match written.reading {
            Reading::Clear { number, .. } => Some(number),
            Reading::Unclear { .. } => None,
        });
    let mut numbers = readings
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
        .is_some_and(|number| number.to_whole().is_some())
}
