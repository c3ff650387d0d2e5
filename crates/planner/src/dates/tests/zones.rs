//! Phrases resolve by the calendar day of the zone.

use super::super::{Now, TimeError, Zone, resolve};
use super::display;

fn check(now: &str, zone: &str, cases: &[(&str, &str)]) {
    let now_there = Now::parse(now, &Zone::named(zone).unwrap()).unwrap();
    for (phrase, expected) in cases {
        assert_eq!(
            display(resolve(phrase, &now_there)),
            *expected,
            "`{phrase}` at {now} in {zone}"
        );
    }
}

#[test]
fn east_and_west_of_greenwich() {
    let moment = "2025-09-30T22:30:00Z";
    check(
        moment,
        "UTC",
        &[
            ("today", "2025-09-30"),
            ("last month", "2025-08-01 to 2025-08-31"),
        ],
    );
    check(
        moment,
        "Europe/Berlin",
        &[
            ("today", "2025-10-01"),
            ("this month", "2025-10-01"),
            ("last month", "2025-09-01 to 2025-09-30"),
        ],
    );
    check(moment, "America/New_York", &[("today", "2025-09-30")]);
    check(moment, "+01:30", &[("today", "2025-10-01")]);
    check(
        "2025-10-12T09:00:00Z",
        "Europe/Berlin",
        &[("this month", "2025-10-01 to 2025-10-12")],
    );
    let new_year = "2025-01-01T03:00:00+00:00";
    check(
        new_year,
        "America/Los_Angeles",
        &[("this year", "2024-01-01 to 2024-12-31")],
    );
    check(new_year, "Pacific/Kiritimati", &[("today", "2025-01-01")]);
    check(
        "2025-01-01T10:30:00Z",
        "Pacific/Kiritimati",
        &[("today", "2025-01-02")],
    );
    check(
        "2025-01-01T10:30:00Z",
        "Pacific/Pago_Pago",
        &[("today", "2024-12-31")],
    );
    check(
        "2025-01-01T18:29:59Z",
        "Asia/Kolkata",
        &[("today", "2025-01-01")],
    );
    check(
        "2025-01-01T18:30:00Z",
        "Asia/Kolkata",
        &[("today", "2025-01-02")],
    );
}

#[test]
fn days_of_23_and_25_hours() {
    // The clocks go back at 01:00 UTC; the evening before, in winter, would still be the day before.
    check(
        "2025-10-25T22:30:00Z",
        "Europe/Berlin",
        &[("today", "2025-10-26")],
    );
    check(
        "2025-10-26T22:30:00Z",
        "Europe/Berlin",
        &[
            ("today", "2025-10-26"),
            ("last 24 hours", "2025-10-26"),
            ("yesterday", "2025-10-25"),
        ],
    );
    check(
        "2025-03-30T22:30:00Z",
        "Europe/Berlin",
        &[
            ("today", "2025-03-31"),
            ("last 24 hours", "2025-03-29 to 2025-03-31"),
            ("yesterday", "2025-03-30"),
        ],
    );
    // Midnight itself does not exist here on this day.
    check(
        "2025-09-07T04:00:00Z",
        "America/Santiago",
        &[("today", "2025-09-07"), ("yesterday", "2025-09-06")],
    );
    // Here the hour before midnight comes twice.
    check(
        "2025-10-30T21:30:00Z",
        "Africa/Cairo",
        &[("today", "2025-10-30"), ("last 1 hour", "2025-10-30")],
    );
    // And here the day before never was; the calendar has it all the same.
    check(
        "2011-12-30T10:30:00Z",
        "Pacific/Apia",
        &[("today", "2011-12-31"), ("yesterday", "2011-12-30")],
    );
}

#[test]
fn moments_as_people_write_them() {
    let berlin = Zone::named("europe/berlin").unwrap();
    let today = |text| Now::parse(text, &berlin).map(|now| now.today().to_string());
    assert_eq!(today("2025-10-12T23:30:00").as_deref(), Ok("2025-10-12"));
    assert_eq!(today("2025-10-12T23:30:00Z").as_deref(), Ok("2025-10-13"));
    assert_eq!(
        today("2025-10-12T23:30:00-05:00").as_deref(),
        Ok("2025-10-13")
    );
    assert_eq!(today("2025-10-12").as_deref(), Ok("2025-10-12"));
    assert_eq!(today("noon"), Err(TimeError::Malformed("noon".to_owned())));
    let display = |text| Now::parse(text, &berlin).unwrap().to_string();
    assert_eq!(display("2025-10-12"), "2025-10-12 (Sunday), Europe/Berlin");
    let nowhere = Zone::named("Mars/Olympus").unwrap_err();
    assert_eq!(nowhere, TimeError::UnknownZone("Mars/Olympus".to_owned()));
}
