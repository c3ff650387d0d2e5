//! Phrases without a range of days, with their errors and advice.

use super::super::resolve;
use super::{check, noon};

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
