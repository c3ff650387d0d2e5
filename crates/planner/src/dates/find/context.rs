//! The context of a phrase: the words around it decide whether it is a date, and a complete one.

use crate::dates::phrase::{DatePhrase, Occurrence, Period, TimeUnit, YearReference};
use crate::dates::token::contains_word;
use crate::dates::token::{DateToken, DateTokenKind};
use crate::dates::{grammar, token};

/// Words before a four-digit number that make it a year.
const YEAR_LEADS: &str = "compare during for in of throughout year";

/// Words before a month that make it one even if it may be a name.
const MONTH_LEADS: &str = "across during for in of over throughout within";

/// Words after a number that are counted by it, in addition to plurals.
const COUNTED_NOUNS: &str = "\
c children eur f gb gbp kb kg km kw kwh m mb men more ms of other people percent points px rpm times usd women";

/// Words with a plural ending that are not plurals.
const NON_PLURALS: &str = "\
across always as does has is its less minus per plus this thus us versus vs was";

/// Words before a phrase that select a part of it, or make it recurring.
const PART_WORDS: &str = "\
academic each early ending every financial fiscal late mid period school season tax time";

/// Words before `of` and a phrase that select a part of it.
const PARTS_OF: &str = "\
autumn beginning christmas easter end evening fall half middle morning most part remainder rest season spring start \
summer winter";

/// Words before `than` and a phrase that is only a bound: `no later than Friday`.
const COMPARISONS: &str = "earlier later longer newer older sooner younger";

/// Words before a weekday that make it a holiday.
const NAMED_WEEKDAYS: &str = "ash black cyber easter fat good maundy palm shrove super";

/// Words between `week` and its first day.
const WEEK_STARTS: &str = "beginning commencing from of starting";

/// Words that select one of several units: `the first week of October`.
const ORDINALS: &str = "closing final first fourth last opening other second third";

/// Words that ask for a number, so that `in two weeks` is a duration.
const QUANTITY_WORDS: &str = "average fast long many much number often per quickly";

/// Words before `in a week` that make it a day in the future.
const FUTURE_WORDS: &str = "\
again arrive arrives arriving available back begin begins call close closes delivered due end ends expire expires \
expiring happen happens leave leaves me meet open opens planned scheduled ship ships start starts starting";

/// Words between a duration and the period from which it is counted.
const ANCHOR_WORDS: &str = "after before from";

/// A phrase with the tokens around it.
#[derive(Clone, Copy)]
pub(super) struct PhraseContext<'t> {
    pub(super) text: &'t str,
    pub(super) before: &'t [DateToken],
    pub(super) matched: &'t [DateToken],
    pub(super) after: &'t [DateToken],
}

impl PhraseContext<'_> {
    /// Returns true if the phrase is only a part of a larger expression with another meaning.
    pub(super) fn is_part_of_larger(&self, phrase: &DatePhrase) -> bool {
        self.is_anchor(phrase)
            || self.is_partial()
            || self.is_other_day_or_week(phrase)
            || self.is_modified_after(phrase)
            || self.is_duration(phrase)
    }

    /// Returns true if the phrase is a date without evidence from other phrases.
    pub(super) fn is_certain(&self, phrase: &DatePhrase) -> bool {
        let ends_with_number = matches!(
            self.matched.last(),
            Some(DateToken {
                kind: DateTokenKind::Number(..),
                ..
            })
        );
        match phrase {
            // `march 5 miles`
            _ if ends_with_number
                && self.counts_items()
                && (!is_day(phrase) || self.begins_with_ambiguous_word()) =>
            {
                false
            }
            DatePhrase::Single(Period::Year(_)) | DatePhrase::Between(Period::Year(_), _)
                if self.begins_with_number() =>
            {
                self.lead()
                    .is_some_and(|lead| contains_word(YEAR_LEADS, lead))
            }
            DatePhrase::Single(Period::Half {
                year: YearReference::Unstated(_),
                ..
            }) => self.is_led(MONTH_LEADS) || self.lead() == Some("compare"),
            DatePhrase::Single(Period::Week {
                year: YearReference::Unstated(_),
                ..
            }) => {
                !matches!(
                    self.before.last(),
                    Some(DateToken {
                        kind: DateTokenKind::Number(..),
                        ..
                    })
                ) && !self.is_led("a per")
            }
            DatePhrase::Single(period) | DatePhrase::Until(period)
                if self.is_ambiguous_name(period) =>
            {
                self.is_led_name(period)
            }
            _ => true,
        }
    }

    fn lead(&self) -> Option<&str> {
        self.before.last().and_then(DateToken::word)
    }

    fn is_led(&self, leads: &str) -> bool {
        self.lead().is_some_and(|lead| contains_word(leads, lead))
    }

    fn begins_with_number(&self) -> bool {
        matches!(
            self.matched.first(),
            Some(DateToken {
                kind: DateTokenKind::Number(..),
                ..
            })
        )
    }

    fn begins_with_ambiguous_word(&self) -> bool {
        self.matched
            .first()
            .and_then(DateToken::word)
            .is_some_and(token::is_ambiguous)
    }

    /// Returns true if the next word is counted by the number before it: `2024 items`.
    pub(super) fn counts_items(&self) -> bool {
        match self.after.first().map(|token| &token.kind) {
            Some(DateTokenKind::Word(word)) => {
                // A cheap test for English plurals; [`NON_PLURALS`] has the exceptions.
                let is_plural =
                    word.ends_with('s') && 3 < word.len() && !contains_word(NON_PLURALS, word);
                is_plural || contains_word(COUNTED_NOUNS, word)
            }
            Some(DateTokenKind::Sign(sign)) => "%€$£°".contains(*sign),
            _ => false,
        }
    }

    /// Returns true if the phrase ends with a bare word that has another meaning.
    fn is_ambiguous_name(&self, period: &Period) -> bool {
        let is_bare = matches!(
            period,
            Period::Month {
                year: YearReference::Unstated(Occurrence::Latest),
                ..
            } | Period::Weekday(_, Occurrence::Latest)
        );
        is_bare
            && self
                .matched
                .last()
                .and_then(DateToken::word)
                .is_some_and(token::is_ambiguous)
    }

    /// Returns true if the words before a name make it a month or a weekday, and the name does not continue after it.
    fn is_led_name(&self, period: &Period) -> bool {
        if 1 < self.matched.len() {
            // `by May` may name a person.
            return self.matched.first().and_then(DateToken::word) != Some("by");
        }
        let is_led = match period {
            Period::Month { .. } => self.is_led(MONTH_LEADS),
            _ => self.lead().is_some_and(grammar::is_lead_word),
        };
        let is_capital =
            |token: &DateToken| self.text[token.at.clone()].starts_with(char::is_uppercase);
        // `June Carter` is a person.
        let name_continues = self
            .after
            .first()
            .is_some_and(|next| next.word().is_some() && is_capital(next));
        is_led && !(name_continues && self.matched.first().is_some_and(is_capital))
    }

    /// Returns true if another date is counted from the phrase: `3 days after October 1`, `a week from Monday`.
    fn is_anchor(&self, phrase: &DatePhrase) -> bool {
        // A range has no single day to count from.
        if matches!(phrase, DatePhrase::Between(..)) {
            return false;
        }
        let is_from = |token: Option<&DateToken>| {
            token
                .and_then(DateToken::word)
                .is_some_and(|word| contains_word(ANCHOR_WORDS, word))
        };
        let before = if is_from(self.matched.first()) {
            self.before
        } else if is_from(self.before.last()) {
            &self.before[..self.before.len() - 1]
        } else {
            return false;
        };
        let [.., count, unit] = before else {
            return false;
        };
        let counts = ["a", "an", "the", "few", "several", "couple", "of"];
        let is_count = match &count.kind {
            DateTokenKind::Number(..) => true,
            DateTokenKind::Word(word) => {
                counts.contains(&word.as_str()) || token::number(word).is_some()
            }
            _ => false,
        };
        is_count && unit.word().and_then(token::unit).is_some()
    }

    /// Returns true if the words before the phrase select a part of it: `early October`, `end of last month`, `first week of
    /// May`.
    fn is_partial(&self) -> bool {
        let word = |back: usize| {
            self.before
                .len()
                .checked_sub(back)
                .and_then(|at| self.before[at].word())
        };
        // `the same quarter last year` is only a part of last year.
        let is_same = word(2) == Some("same") && word(1).and_then(token::unit).is_some();
        let is_part = |word: &str| contains_word(PART_WORDS, word) || is_fiscal(word);
        let is_comparison =
            word(1) == Some("than") && word(2).is_some_and(|word| contains_word(COMPARISONS, word));
        if is_same || is_comparison || word(1).is_some_and(is_part) {
            return true;
        }
        let of = if word(1) == Some("the") { 2 } else { 1 };
        if !matches!(word(of), Some("of" | "in")) {
            return false;
        }
        let is_ordinal = |back: usize| {
            let at = self.before.len().checked_sub(back);
            at.is_some_and(|at| match &self.before[at].kind {
                DateTokenKind::Word(word) => {
                    contains_word(ORDINALS, word) || token::number(word).is_some()
                }
                DateTokenKind::Number(..) | DateTokenKind::Ordinal(_) => true,
                DateTokenKind::Sign(_) => false,
            })
        };
        let token = |back: usize| {
            let at = self.before.len().checked_sub(back)?;
            Some(&self.before[at].kind)
        };
        // `the 5th of last month`, `week 2 of May`
        let is_numbered = matches!(token(of + 1), Some(DateTokenKind::Ordinal(_)))
            || matches!(token(of + 1), Some(DateTokenKind::Number(..)))
                && word(of + 2).and_then(token::unit).is_some();
        if is_numbered {
            return true;
        }
        word(of + 1).is_some_and(|part| {
            let is_unit = token::unit(part).is_some() && (is_ordinal(of + 2) || is_ordinal(of + 3));
            let is_weekday = token::weekday(part).is_some() && is_ordinal(of + 2);
            let is_part = contains_word(PARTS_OF, part) || contains_word(ORDINALS, part);
            is_part && word(of) == Some("of") || is_unit || is_weekday
        })
    }

    /// Returns true if the words around a day make it another one, or a week: `Black Friday`, `Monday week`, `week of May 5`.
    fn is_other_day_or_week(&self, phrase: &DatePhrase) -> bool {
        let is_weekday = matches!(phrase, DatePhrase::Single(Period::Weekday(..)));
        let is_named = is_weekday && self.is_led(NAMED_WEEKDAYS);
        let is_week_later =
            is_weekday && self.after.first().and_then(DateToken::word) == Some("week");
        let starts_week = match self.before {
            [.., unit, lead] => {
                unit.word() == Some("week")
                    && lead
                        .word()
                        .is_some_and(|lead| contains_word(WEEK_STARTS, lead))
            }
            _ => false,
        };
        let is_start = self.matched.first().and_then(DateToken::word) == Some("starting")
            && self.is_led("week");
        is_named || is_week_later || is_start || starts_week && (is_weekday || is_day(phrase))
    }

    /// Returns true if the words after the phrase change it: `last week of May`, `Friday the 13th`, `Q1 of fiscal 2024`.
    fn is_modified_after(&self, phrase: &DatePhrase) -> bool {
        let word = |at: usize| self.after.get(at).and_then(DateToken::word);
        let is_weekday = matches!(
            phrase,
            DatePhrase::Single(Period::Weekday(..) | Period::Weekend(_))
        );
        let is_counted = matches!(
            phrase,
            DatePhrase::Single(Period::Rolling(..) | Period::CalendarUnits(..) | Period::ToDate(_))
        );
        let fiscal = if word(0) == Some("of") {
            word(1)
        } else {
            word(0)
        };
        // The first day of a fiscal year differs between companies, and no text states it.
        let is_fiscal = fiscal.is_some_and(is_fiscal);
        let is_relative = matches!(
            (word(0), word(1)),
            (Some("before"), Some("last")) | (Some("after"), Some("next"))
        );
        let is_number = |at: usize| {
            matches!(
                self.after.get(at),
                Some(DateToken {
                    kind: DateTokenKind::Ordinal(_) | DateTokenKind::Number(_, 1..=2),
                    ..
                })
            )
        };
        let is_numbered = is_number(0) || word(0) == Some("the") && is_number(1);
        let is_of = word(0) == Some("of");
        let is_ordinal = self
            .lead()
            .is_some_and(|lead| contains_word(ORDINALS, lead))
            || matches!(
                self.before.last(),
                Some(DateToken {
                    kind: DateTokenKind::Ordinal(_),
                    ..
                })
            );
        let is_other_weekday =
            is_ordinal || is_of || is_numbered || matches!(word(0), Some("before" | "after"));
        is_fiscal || is_relative || is_counted && is_of || is_weekday && is_other_weekday
    }

    /// Returns true if the phrase is a duration rather than a day: `5 to 10 days ago`, `how many seconds are in a day`.
    fn is_duration(&self, phrase: &DatePhrase) -> bool {
        let DatePhrase::Single(Period::Offset(count, unit)) = phrase else {
            return false;
        };
        let first = self.matched.first().and_then(DateToken::word);
        if let [.., number, conjunction] = self.before {
            let is_number = matches!(number.kind, DateTokenKind::Number(..))
                || number.word().and_then(token::number).is_some();
            let is_conjunction = conjunction.is_sign('-')
                || conjunction
                    .word()
                    .is_some_and(|word| ["and", "or", "to"].contains(&word));
            if is_number && is_conjunction {
                return true;
            }
        }
        // `ago`, `from now`, and `time` make an offset unambiguous.
        if first != Some("in") || self.matched.last().and_then(DateToken::word) == Some("time") {
            return false;
        }
        let is_future = self.is_led(FUTURE_WORDS);
        let is_short = matches!(unit, TimeUnit::Minute | TimeUnit::Hour);
        let is_asked = self
            .before
            .iter()
            .filter_map(DateToken::word)
            .any(|word| contains_word(QUANTITY_WORDS, word));
        let is_one = *count == 1
            && self
                .matched
                .get(1)
                .and_then(DateToken::word)
                .is_some_and(|word| matches!(word, "a" | "an" | "one"));
        !is_future && (is_one || is_asked || is_short)
    }
}

/// Returns true for `fiscal`, `FY` and `FY24`.
fn is_fiscal(word: &str) -> bool {
    let year = word.strip_prefix("fy");
    matches!(word, "fiscal" | "financial")
        || year.is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if a number at the end of the phrase is the number of a day.
fn is_day(phrase: &DatePhrase) -> bool {
    let is_dates = |period: &Period| {
        matches!(
            period,
            Period::MonthDays { .. } | Period::NumericDate { .. }
        )
    };
    match phrase {
        DatePhrase::Single(period)
        | DatePhrase::Since(period)
        | DatePhrase::After(period)
        | DatePhrase::Until(period)
        | DatePhrase::Before(period)
        | DatePhrase::Between(_, period) => is_dates(period),
    }
}
