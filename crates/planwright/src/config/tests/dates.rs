//! `[dates]`.

use super::{effective_settings, issues, read};
use crate::config::{Config, FiscalYearNumber, Origin};

#[test]
fn a_calendar_is_set() {
    let mine = "[dates]\nfirst_weekday = \"sunday\"\nfiscal_year = \"April\"\n";
    let project = "[dates]\nfirst_weekday = \"saturday\"\nfiscal_year_number = \"start\"\n";
    assert_eq!(
        effective_settings(mine, project),
        [
            "dates.fiscal_year = \"april\" (mine.toml:3)",
            "dates.first_weekday = \"saturday\" (planwright.toml:2)",
            "dates.fiscal_year_number = \"start\" (planwright.toml:3)",
        ]
    );
    let sources = [(Origin::User, mine), (Origin::Project, project)];
    let sources = sources.map(|(origin, text)| read(origin, text).unwrap());
    let config = Config::of(&sources);
    let dates = config.dates();
    assert_eq!(
        (dates.first_weekday, dates.fiscal_month),
        (Some(6), Some(4))
    );
    assert_eq!(dates.fiscal_year_number, FiscalYearNumber::Start);
}

#[test]
fn an_unknown_word_is_a_issue() {
    let mine = "[dates]\nfirst_weekday = \"someday\"\nfiscal_year = \"4\"\nfiscal_year_number = \"middle\"\n";
    issues(
        Origin::User,
        mine,
        &[
            "mine.toml:2: `someday` is not a day of the week (write `monday` to `sunday`)",
            "mine.toml:3: `4` is not a month (write `january` to `december`)",
            "mine.toml:4: no fiscal year has the number of its `middle` (write `start` or `end`)",
        ],
    );
}
