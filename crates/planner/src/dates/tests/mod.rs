//! Phrases and what they mean.

mod faults;
mod found;
mod phrases;
mod properties;
mod together;
mod zones;

use super::{DateError, DateRange, Now, Zone, resolve};

/// Noon of a day in UTC.
fn noon(day: &str) -> Now {
    Now::parse(&format!("{day}T12:00:00Z"), &Zone::utc()).unwrap()
}

fn told(found: Result<DateRange, DateError>) -> String {
    match found {
        Ok(range) => range.to_string(),
        Err(error) => format!("! {error}"),
    }
}

/// Checks what phrases mean on a day.
fn check(today: &str, cases: &[(&str, &str)]) {
    let now = noon(today);
    for (phrase, expected) in cases {
        assert_eq!(
            told(resolve(phrase, &now)),
            *expected,
            "`{phrase}` on {today}"
        );
    }
}
