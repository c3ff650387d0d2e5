//! Detects lists that are one page of a longer list, by the fields beside them.

use planwright_core::{Object, Value};

use super::table::join_pointer;
use crate::analysis::fields::field_name::words;
use crate::analysis::report::PageInfo;

/// Names of the number of items on all pages.
const TOTAL_COUNTS: &[&str] = &[
    "total",
    "total count",
    "total items",
    "total results",
    "total records",
    "total rows",
    "total hits",
    "total elements",
    "total matches",
    "total size",
    "count",
    "count total",
    "result count",
    "results count",
    "record count",
    "item count",
    "row count",
    "num results",
    "num found",
    "number of results",
    "nb hits",
    "hits",
    "matches",
    "available",
    "estimated total hits",
    "found",
    "size all",
    "odata count",
    "total available",
    "total value",
    "result size estimate",
    "x total count",
    "of",
];

/// The names in [`TOTAL_COUNTS`] that some servers use for the number of items on this page.
const PAGE_COUNTS: &[&str] = &[
    "count",
    "result count",
    "results count",
    "record count",
    "item count",
    "row count",
    "num results",
    "number of results",
    "hits",
    "matches",
    "found",
];

/// The longest text that is searched for a range of items, in bytes.
const MAX_RANGE_TEXT: usize = 200;

/// Names of values that lead to the next page.
const NEXT_PAGE: &[&str] = &[
    "next",
    "next page",
    "next page token",
    "next cursor",
    "next token",
    "next link",
    "next url",
    "next offset",
    "next href",
    "has more",
    "has next",
    "has next page",
    "more",
    "more results",
    "more available",
    "is truncated",
    "truncated",
    "incomplete results",
    "continuation token",
    "continuation",
    "last evaluated key",
    "next marker",
    "next page url",
    "next key",
    "next start",
    "odata next link",
];

/// Names of the number of this page.
const PAGE_NUMBERS: &[&str] = &["page", "page number", "current page", "page index"];

/// Names of the number of the last page.
const LAST_PAGES: &[&str] = &[
    "pages",
    "total pages",
    "page count",
    "last page",
    "num pages",
    "page total",
];

/// Names of the number of items before this page.
const OFFSETS: &[&str] = &["from", "offset", "skip", "start", "start index"];

/// Names of the page size.
const LIMITS: &[&str] = &["limit", "max results", "page size", "per page", "size"];

/// Names of fields beside a list of line items, which is not a page.
const BILL_FIELDS: &[&str] = &[
    "amount", "currency", "discount", "invoice", "price", "shipping", "subtotal", "tax", "vat",
];

/// Names of objects that contain pagination fields.
const METADATA_OBJECTS: &[&str] = &[
    "meta",
    "metadata",
    "pagination",
    "paging",
    "page",
    "page info",
    "paginator",
    "links",
    "hits",
    "result",
    "results",
    "summary",
    "cursor",
    "cursors",
    "response metadata",
    "info",
    "total",
];

/// A statement about the items of a page: `1-20 of 137`, `20 of 137`.
#[derive(Clone, Debug)]
struct ShownRange {
    at: String,
    shown: u64,
    total: u64,
}

/// The pagination fields in the objects around a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct PaginationHints {
    counts: Vec<(String, u64)>,
    /// The pointers to the counts that may be those of the page alone.
    page_counts: Vec<String>,
    /// Texts such as `1-20 of 137`.
    ranges: Vec<ShownRange>,
    /// The pointer to a value that leads to the next page.
    next: Option<String>,
    /// True if there is any pagination field other than a count, whatever its value.
    is_paged: bool,
    /// True if the list has fields of a bill beside it.
    is_bill: bool,
}

impl PaginationHints {
    /// Returns the hints in `fields`, the object at `at`, added to those in the objects around it.
    pub(crate) fn of(fields: &Object, at: &str, outer: &Self) -> Self {
        let mut hints = outer.clone();
        hints.collect(fields, at, true);
        hints
    }

    /// Returns the hints in `row` about its list at `pointer`. The pointers in the hints are relative to the row.
    pub(crate) fn of_row(row: &Object, pointer: &str) -> Self {
        let mut names = pointer.split('/').skip(1).peekable();
        let mut hints = Self::of(row, "", &Self::default());
        let mut fields = row;
        let mut at = String::new();
        while let Some(name) = names.next() {
            let name = name.replace("~1", "/").replace("~0", "~");
            at = join_pointer(&at, &name);
            let Some(inner) = fields.get(&*name).and_then(Value::as_object) else {
                break;
            };
            if names.peek().is_some() {
                hints = Self::of(inner, &at, &hints);
                fields = inner;
            }
        }
        hints
    }

    /// Adds the hints in `fields`, an object around the list if `is_outer`, else a metadata object in one.
    fn collect(&mut self, fields: &Object, at: &str, is_outer: bool) {
        let mut page = None;
        let mut last_page = None;
        let mut skipped = None;
        let mut has_limit = false;
        for (name, value) in fields {
            let pointer = join_pointer(at, name);
            let words = words(name);
            let name = words.join(" ");
            let is = |names: &[&str]| names.contains(&name.as_str());
            self.is_bill |= is_outer
                && words
                    .iter()
                    .any(|word| BILL_FIELDS.contains(&word.as_str()));
            if let Some(count) = count_of(value) {
                if is(TOTAL_COUNTS) || !is_outer && is(&["value"]) && at.ends_with("/total") {
                    self.counts.push((pointer.clone(), count));
                    if is(PAGE_COUNTS) {
                        self.page_counts.push(pointer.clone());
                    }
                }
                if is(OFFSETS) && 0 < count {
                    skipped = Some(pointer.clone());
                }
                if is(PAGE_NUMBERS) {
                    page = Some((pointer.clone(), count));
                }
                if is(LAST_PAGES) {
                    last_page = Some(count);
                }
            }
            match value {
                Value::Object(inner) if is(METADATA_OBJECTS) => {
                    self.collect(inner, &pointer, false);
                }
                Value::Number(_) if is(&["next offset", "next page", "next start", "next"]) => {
                    self.next.get_or_insert(pointer);
                }
                Value::Bool(true) if is(NEXT_PAGE) => {
                    self.next.get_or_insert(pointer);
                }
                Value::Text(text) if is(NEXT_PAGE) && !text.is_empty() => {
                    self.next.get_or_insert(pointer);
                }
                Value::Object(inner) if is(NEXT_PAGE) && !inner.is_empty() => {
                    self.next.get_or_insert(pointer);
                }
                Value::Text(text) => match ShownRange::parse(text, &pointer) {
                    // `page: 1 of 14`
                    Some(range) if is(PAGE_NUMBERS) => {
                        last_page = Some(range.total);
                        page = Some((pointer, range.shown));
                    }
                    range => self.ranges.extend(range),
                },
                _ => {}
            }
            has_limit |= is(LIMITS);
            self.is_paged |= has_limit || is(&["cursor", "offset", "skip"]);
            self.is_paged |= is(NEXT_PAGE) || is(PAGE_NUMBERS) || is(LAST_PAGES);
        }
        // A page after the first one is a part of the list even if it is the last one.
        let is_part = |page: u64| last_page.is_some_and(|last| page < last) || 1 < page;
        if let Some((pointer, _)) = page.filter(|(_, page)| is_part(*page)) {
            self.next.get_or_insert(pointer);
        }
        if let Some(pointer) = skipped.filter(|_| has_limit) {
            self.next.get_or_insert(pointer);
        }
    }

    /// Returns the evidence that a list of `count` items is one page. A total that equals one of `sums`, the sums of its fields, is not
    /// a count.
    pub(crate) fn page(&self, count: usize, sums: &[f64]) -> Option<PageInfo> {
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let is_sum = |total: u64| sums.iter().any(|sum| (sum - total as f64).abs() < 0.5);
        let is_more = |total: u64| usize::try_from(total).map_or(true, |total| count < total);
        // A total beside a bill counts money, unless the object is clearly a page.
        let mut longer = self.counts.iter().filter(|(_, total)| {
            is_more(*total) && !is_sum(*total) && (self.is_paged || !self.is_bill)
        });
        // The last count is from the object nearest to the list.
        let counted = longer.next_back().map(|(pointer, total)| PageInfo {
            of: Some(*total),
            stated_by: pointer.clone(),
        });
        // A total that equals the count proves that the list is complete.
        let is_whole = self.counts.iter().any(|(pointer, total)| {
            usize::try_from(*total) == Ok(count) && !self.page_counts.contains(pointer)
        });
        let next = self
            .next
            .as_ref()
            .filter(|_| !is_whole)
            .map(|pointer| PageInfo {
                of: None,
                stated_by: pointer.clone(),
            });
        let is_shown = |range: &&ShownRange| {
            usize::try_from(range.shown) == Ok(count) && range.shown < range.total
        };
        let range = || {
            let range = self.ranges.iter().rev().find(is_shown)?;
            Some(PageInfo {
                of: Some(range.total),
                stated_by: range.at.clone(),
            })
        };
        counted.or_else(range).or(next)
    }
}

impl ShownRange {
    /// Parses a text with `1-20 of 137`, `1 to 20 of 137` or `20 of 137`.
    fn parse(text: &str, at: &str) -> Option<Self> {
        // A long text is prose, which may contain ` of ` and numbers by chance.
        if MAX_RANGE_TEXT < text.len() {
            return None;
        }
        let (before, after) = text.split_once(" of ")?;
        // Commas may group the digits of a number.
        let is_outside = |letter: char| !letter.is_ascii_digit() && letter != ',';
        let integer = |digits: &str| digits.replace(',', "").parse::<u64>().ok();
        let last_integer = |text: &str| {
            let digits = text.rsplit(is_outside).next().unwrap_or_default();
            integer(digits).map(|number| (number, text.len() - digits.len()))
        };
        let total = integer(after.split(is_outside).next()?)?;
        let (last, start) = last_integer(before.trim_end())?;
        let between = before[..start].trim_end();
        let first = between
            .strip_suffix(['-', '–', '—'])
            .or_else(|| between.strip_suffix("to"))
            .and_then(|before| last_integer(before.trim_end()));
        let shown = match first {
            Some((first, _)) => last.checked_add(1)?.checked_sub(first)?,
            None => last,
        };
        Some(Self {
            at: at.to_owned(),
            shown,
            total,
        })
    }
}

/// Returns the count that a number, or a text of digits, states.
fn count_of(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Returns the evidence that joined lists are pages, from the hints of each row and the length of its list.
pub(crate) fn page_of_joined(rows: &[(PaginationHints, usize)], at: &str) -> Option<PageInfo> {
    let shown: usize = rows.iter().map(|(_, count)| count).sum();
    let pages: Vec<Option<PageInfo>> = rows
        .iter()
        .map(|(hints, count)| hints.page(*count, &[]))
        .collect();
    let stated_by = format!("{at}{}", pages.iter().flatten().next_back()?.stated_by);
    let totals: Vec<u64> = rows
        .iter()
        .filter_map(|(hints, _)| Some(hints.counts.last()?.1))
        .collect();
    // The same total in all rows may count each list or all of them: it proves that the lists are complete, but is not reported.
    let is_shared = 1 < rows.len()
        && totals.len() == rows.len()
        && totals.windows(2).all(|pair| pair[0] == pair[1]);
    if is_shared {
        let total = totals[0];
        return (usize::try_from(total) != Ok(shown)).then_some(PageInfo {
            of: None,
            stated_by,
        });
    }
    // Rows that are the pages of one list are complete if the last one has no next page.
    let has_last_page =
        totals.is_empty() && 1 < rows.len() && pages.last().is_some_and(Option::is_none);
    if has_last_page {
        return None;
    }
    let of = (totals.len() == rows.len()).then(|| totals.iter().sum());
    Some(PageInfo { of, stated_by })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_any_numbers_is_read_without_overflow() {
        let shown = |text: &str| ShownRange::parse(text, "").map(|range| range.shown);
        assert_eq!(shown("1-20 of 137"), Some(20));
        assert_eq!(shown("1-18446744073709551615 of 137"), None);
        assert_eq!(shown("20-1 of 137"), None);
    }
}
