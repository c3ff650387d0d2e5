//! Properties of any text on any day.

use proptest::prelude::*;

use super::super::{Now, Zone, find, resolve};
use super::noon;

/// Phrases that depend on today.
const RELATIVE: &str = "\
today|yesterday|tomorrow|last week|this week|next week|previous week|last month|this month|next month|\
past month|last 4 months|in 2 months|a quarter ago|last quarter|this quarter|last year|past year|next year|\
last 30 days|previous 3 weeks|Monday|last Monday|this Friday|next Friday|weekend|last weekend|next weekend|\
October|last October|next October|Q2|February 29|October 31|since Monday|December 24 to January 2|last 36 hours|\
last fortnight|H1|week 10|Friday of last week";

const WORDS: &str = "\
last|next|this|past|previous|the|of|in|on|from|to|until|since|between|and|after|before|ago|now|a|two|30|0|2024|\
2025|10|1st|29|31st|days|week|months|quarter|year|hours|full|couple|to date|Monday|Sunday|weekend|October|Feb|\
may|Q3|H1|W40|KW|2025-W01|half|fortnight|vs|..|first|today|yesterday|-|–|,|.|/|'s|time|99999|-10-|9999|0001";

fn day() -> impl Strategy<Value = String> {
    (1i16..=9999, 1i8..=12, 1i8..=31)
        .prop_filter_map("a day of the calendar", |(year, month, day)| {
            jiff::civil::Date::new(year, month, day).ok()
        })
        .prop_map(|date| date.to_string())
}

/// Returns days on which no phrase leaves the calendar.
fn typical_day() -> impl Strategy<Value = String> {
    day().prop_filter("not at an end", |day| {
        ("0020"..="9980").contains(&&day[..4])
    })
}

fn anything() -> impl Strategy<Value = String> {
    let word = || prop::sample::select(WORDS.split('|').collect::<Vec<_>>());
    let words = prop::collection::vec(word(), 0..10);
    let glue = prop::sample::select(&["", " "][..]);
    prop_oneof![
        (words, glue).prop_map(|(words, glue)| words.join(glue)),
        prop::collection::vec(word(), 0..10).prop_map(|words| words.join(" ")),
        ".{0,40}",
    ]
}

proptest! {
    #[test]
    fn a_day_means_itself(today in day(), day in day()) {
        let range = resolve(&day, &noon(&today)).unwrap();
        prop_assert_eq!(range.to_string(), day);
        prop_assert_eq!(range.days(), 1);
    }

    #[test]
    fn a_range_means_itself(today in day(), one in day(), other in day()) {
        let (from, to) = if one <= other { (one, other) } else { (other, one) };
        let range = resolve(&format!("{from} to {to}"), &noon(&today)).unwrap();
        prop_assert_eq!((range.from.to_string(), range.to.to_string()), (from, to));
    }

    #[test]
    fn any_text_is_accepted(today in day(), text in anything()) {
        let now = noon(&today);
        if let Ok(range) = resolve(&text, &now) {
            prop_assert!(range.from <= range.to);
        }
        let mut behind = 0;
        for mention in find(&text, &now) {
            prop_assert!(behind <= mention.at.start && mention.at.start < mention.at.end);
            prop_assert_eq!(&text[mention.at.clone()], &mention.phrase);
            behind = mention.at.end;
            // Joined with others, a phrase may take their year; alone, it equals `resolve`.
            let alone = find(&mention.phrase, &now);
            if alone.iter().any(|other| other.phrase == mention.phrase) {
                prop_assert_eq!(resolve(&mention.phrase, &now), alone[0].meaning.clone());
            }
        }
    }

    #[test]
    fn later_days_never_mean_earlier_ones(one in typical_day(), other in typical_day()) {
        let (sooner, later) = if one <= other { (one, other) } else { (other, one) };
        for phrase in RELATIVE.split('|') {
            let [before, after] = [&sooner, &later].map(|day| resolve(phrase, &noon(day)).unwrap());
            prop_assert!(before.from <= after.from, "{phrase} on {sooner} and {later}");
            prop_assert!(before.to <= after.to, "{phrase} on {sooner} and {later}");
        }
    }

    #[test]
    fn days_are_those_of_the_zone(seconds in 0i64..4_000_000_000, offset in -12i64..=14) {
        let zone = Zone::named(&format!("{offset:+03}:00")).unwrap();
        let moment = jiff::Timestamp::from_second(seconds).unwrap();
        let now = Now::parse(&moment.to_string(), &zone).unwrap();
        let shifted = jiff::Timestamp::from_second(seconds + offset * 3600).unwrap();
        prop_assert_eq!(now.today().to_string(), &shifted.to_string()[..10]);
    }
}
