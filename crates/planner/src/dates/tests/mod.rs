//! Tests of phrases, with shared helpers.

mod calendars;
mod phrases;
mod properties;
mod zones;

use super::{DateError, DateRange, Now, Zone, resolve};

/// Returns noon UTC of a day.
pub(super) fn noon(day: &str) -> Now {
    Now::parse(&format!("{day}T12:00:00Z"), &Zone::utc()).unwrap()
}

pub(super) fn display(found: Result<DateRange, DateError>) -> String {
    match found {
        Ok(range) => range.to_string(),
        Err(error) => format!("! {error}"),
    }
}

/// Checks the meaning of phrases on a day.
fn check(today: &str, cases: &[(&str, &str)]) {
    let now = noon(today);
    for (phrase, expected) in cases {
        assert_eq!(
            display(resolve(phrase, &now)),
            *expected,
            "`{phrase}` on {today}"
        );
    }
}
