//! Phrases without a range of days, with their errors and advice.

use super::super::resolve;
use super::{check, noon};

#[test]
fn errors_name_the_phrase() {
    check(
        "2025-10-12",
        &[
            ("", "! `` is no phrase of time that is known"),
            ("soon", "! `soon` is no phrase of time that is known"),
            ("last", "! `last` is no phrase of time that is known"),
            (
                "last 0 days",
                "! `last 0 days` is no phrase of time that is known",
            ),
            (
                "last week and a bit",
                "! `last week and a bit` is no phrase of time that is known",
            ),
            (
                "early October",
                "! `early October` is no phrase of time that is known",
            ),
            ("last few days", "! `last few days` does not say how many"),
            (
                "10/12/2025",
                "! `10/12/2025` is 2025-12-10 where the day is written first, and 2025-10-12 where the month is",
            ),
            ("February 30", "! there is no day `February 30`"),
            ("2025-02-29", "! there is no day `2025-02-29`"),
            ("2021-W53", "! there is no day `2021-W53`"),
            ("week 54", "! `week 54` is no phrase of time that is known"),
            ("W40", "! `W40` is no phrase of time that is known"),
            ("H3 2025", "! `H3 2025` is no phrase of time that is known"),
            (
                "second half",
                "! `second half` is no phrase of time that is known",
            ),
            ("13/13/2025", "! there is no day `13/13/2025`"),
            ("until Friday", "! `until Friday` does not say from when"),
            (
                "before October",
                "! `before October` does not say from when",
            ),
            ("by tomorrow", "! `by tomorrow` does not say from when"),
            (
                "since tomorrow",
                "! `since tomorrow` begins with 2025-10-13, which is still to come",
            ),
            (
                "after today",
                "! `after today` begins with 2025-10-13, which is still to come",
            ),
            (
                "2025-10-10 to 2025-10-01",
                "! `2025-10-10 to 2025-10-01` ends on 2025-10-01, before it begins on 2025-10-10",
            ),
            (
                "tomorrow to yesterday",
                "! `tomorrow to yesterday` ends on 2025-10-11, before it begins on 2025-10-13",
            ),
            (
                "Tuesday, October 6th 2025",
                "! `Tuesday, October 6th 2025` is a Monday",
            ),
            (
                "last 9999 years",
                "! `last 9999 years` leads out of the calendar",
            ),
            (
                "in 999999999 days",
                "! `in 999999999 days` leads out of the calendar",
            ),
            (
                "last 99999999999 days",
                "! `last 99999999999 days` is no phrase of time that is known",
            ),
        ],
    );
}

#[test]
fn help_suggests_a_phrase() {
    let now = noon("2025-10-12");
    let help = |phrase| resolve(phrase, &now).unwrap_err().help();
    assert_eq!(help("lst weak"), "near to it: `last week`, `last year`");
    assert_eq!(
        help("Septmber 2025"),
        "near to it: `September 2025`, `October 2025`"
    );
    assert_eq!(help("Wendesday"), "near to it: `Wednesday`");
    assert_eq!(help("early last month"), "near to it: `last month`");
    assert_eq!(help("last few days"), "say a number, such as `last 3 days`");
    assert_eq!(help("10/12/2025"), "write `2025-12-10` or `2025-10-12`");
    assert_eq!(help("until Friday"), "say both: `2025-01-01 to 2025-10-10`");
    assert_eq!(
        help("before October"),
        "say both: `2025-01-01 to 2025-09-30`"
    );
    assert_eq!(
        help("2025-10-10 to 2025-10-01"),
        "the other way round it is `2025-10-01 to 2025-10-10`"
    );
    assert!(help("whenever").starts_with("say it like `yesterday`"));
}
