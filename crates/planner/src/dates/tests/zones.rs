//! Phrases without a range of days, with their errors and advice, and days in other time zones.

use super::super::{Now, TimeError, Zone, resolve};
use super::{check, display, noon};

#[test]
fn errors_name_the_phrase() {
    check(
        "2025-10-12",
        &[
            ("", "! `` is not a known date phrase"),
            ("soon", "! `soon` is not a known date phrase"),
            ("last", "! `last` is not a known date phrase"),
            ("last 0 days", "! `last 0 days` is not a known date phrase"),
            (
                "last week and a bit",
                "! `last week and a bit` is not a known date phrase",
            ),
            (
                "early October",
                "! `early October` is not a known date phrase",
            ),
            ("last few days", "! `last few days` does not say how many"),
            (
                "10/12/2025",
                "! `10/12/2025` is 2025-12-10 if the day comes first, and 2025-10-12 if the month does",
            ),
            ("February 30", "! there is no day `February 30`"),
            ("2025-02-29", "! there is no day `2025-02-29`"),
            ("2021-W53", "! there is no day `2021-W53`"),
            ("week 54", "! `week 54` is not a known date phrase"),
            ("W40", "! `W40` is not a known date phrase"),
            ("H3 2025", "! `H3 2025` is not a known date phrase"),
            ("second half", "! `second half` is not a known date phrase"),
            ("13/13/2025", "! there is no day `13/13/2025`"),
            ("until Friday", "! `until Friday` has no start"),
            ("before October", "! `before October` has no start"),
            ("by tomorrow", "! `by tomorrow` has no start"),
            (
                "since tomorrow",
                "! `since tomorrow` starts on 2025-10-13, which is in the future",
            ),
            (
                "after today",
                "! `after today` starts on 2025-10-13, which is in the future",
            ),
            (
                "2025-10-10 to 2025-10-01",
                "! `2025-10-10 to 2025-10-01` ends on 2025-10-01, before it starts on 2025-10-10",
            ),
            (
                "tomorrow to yesterday",
                "! `tomorrow to yesterday` ends on 2025-10-11, before it starts on 2025-10-13",
            ),
            (
                "Tuesday, October 6th 2025",
                "! `Tuesday, October 6th 2025` is a Monday",
            ),
            (
                "last 9999 years",
                "! `last 9999 years` is outside of the years 1 to 9999",
            ),
            (
                "in 999999999 days",
                "! `in 999999999 days` is outside of the years 1 to 9999",
            ),
            (
                "last 99999999999 days",
                "! `last 99999999999 days` is not a known date phrase",
            ),
        ],
    );
}

#[test]
fn help_suggests_a_phrase() {
    let now = noon("2025-10-12");
    let help = |phrase| resolve(phrase, &now).unwrap_err().help();
    assert_eq!(
        help("lst weak"),
        "similar phrases: `last week`, `last year`"
    );
    assert_eq!(
        help("Septmber 2025"),
        "similar phrases: `September 2025`, `October 2025`"
    );
    assert_eq!(help("Wendesday"), "similar phrases: `Wednesday`");
    assert_eq!(help("early last month"), "similar phrases: `last month`");
    assert_eq!(
        help("last few days"),
        "give a number, such as `last 3 days`"
    );
    assert_eq!(help("10/12/2025"), "write `2025-12-10` or `2025-10-12`");
    assert_eq!(
        help("until Friday"),
        "give both ends: `2025-01-01 to 2025-10-10`"
    );
    assert_eq!(
        help("before October"),
        "give both ends: `2025-01-01 to 2025-09-30`"
    );
    assert_eq!(
        help("2025-10-10 to 2025-10-01"),
        "reversed, it is `2025-10-01 to 2025-10-10`"
    );
    assert!(help("whenever").starts_with("use a phrase such as `yesterday`"));
}

fn check_in_zone(now: &str, zone: &str, cases: &[(&str, &str)]) {
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
    check_in_zone(
        moment,
        "UTC",
        &[
            ("today", "2025-09-30"),
            ("last month", "2025-08-01 to 2025-08-31"),
        ],
    );
    check_in_zone(
        moment,
        "Europe/Berlin",
        &[
            ("today", "2025-10-01"),
            ("this month", "2025-10-01"),
            ("last month", "2025-09-01 to 2025-09-30"),
        ],
    );
    check_in_zone(moment, "America/New_York", &[("today", "2025-09-30")]);
    check_in_zone(moment, "+01:30", &[("today", "2025-10-01")]);
    check_in_zone(
        "2025-10-12T09:00:00Z",
        "Europe/Berlin",
        &[("this month", "2025-10-01 to 2025-10-12")],
    );
    let new_year = "2025-01-01T03:00:00+00:00";
    check_in_zone(
        new_year,
        "America/Los_Angeles",
        &[("this year", "2024-01-01 to 2024-12-31")],
    );
    check_in_zone(new_year, "Pacific/Kiritimati", &[("today", "2025-01-01")]);
    check_in_zone(
        "2025-01-01T10:30:00Z",
        "Pacific/Kiritimati",
        &[("today", "2025-01-02")],
    );
    check_in_zone(
        "2025-01-01T10:30:00Z",
        "Pacific/Pago_Pago",
        &[("today", "2024-12-31")],
    );
    check_in_zone(
        "2025-01-01T18:29:59Z",
        "Asia/Kolkata",
        &[("today", "2025-01-01")],
    );
    check_in_zone(
        "2025-01-01T18:30:00Z",
        "Asia/Kolkata",
        &[("today", "2025-01-02")],
    );
}

#[test]
fn days_of_23_and_25_hours() {
    // The clocks go back at 01:00 UTC; the evening before, in winter, would still be the day before.
    check_in_zone(
        "2025-10-25T22:30:00Z",
        "Europe/Berlin",
        &[("today", "2025-10-26")],
    );
    check_in_zone(
        "2025-10-26T22:30:00Z",
        "Europe/Berlin",
        &[
            ("today", "2025-10-26"),
            ("last 24 hours", "2025-10-26"),
            ("yesterday", "2025-10-25"),
        ],
    );
    check_in_zone(
        "2025-03-30T22:30:00Z",
        "Europe/Berlin",
        &[
            ("today", "2025-03-31"),
            ("last 24 hours", "2025-03-29 to 2025-03-31"),
            ("yesterday", "2025-03-30"),
        ],
    );
    // Midnight itself does not exist here on this day.
    check_in_zone(
        "2025-09-07T04:00:00Z",
        "America/Santiago",
        &[("today", "2025-09-07"), ("yesterday", "2025-09-06")],
    );
    // Here the hour before midnight comes twice.
    check_in_zone(
        "2025-10-30T21:30:00Z",
        "Africa/Cairo",
        &[("today", "2025-10-30"), ("last 1 hour", "2025-10-30")],
    );
    // And here the day before never was; the calendar has it all the same.
    check_in_zone(
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
