//! Scans a text for date phrases, and for lists of phrases that share their year or week: `Q1 and Q2 of 2024`, `Monday
//! and Tuesday last week`.

use std::ops::Range;

use super::context::PhraseContext;
use crate::dates::phrase::{DatePhrase, FiscalPart, Occurrence, Period, TimeUnit, YearReference};
use crate::dates::resolve::evaluate_phrase;
use crate::dates::token::{DateToken, DateTokenKind, tokens};
use crate::dates::{DateError, DateRange, Now, grammar};

/// Words and signs that join phrases.
const CONJUNCTIONS: &[&str] = &[
    "and", "or", "versus", "vs", "with", "to", "than", "against", "plus", "compare", "compared",
    "compares",
];

const LIST_SIGNS: &[char] = &[',', '&', '/', '+'];

/// Words that may follow a conjunction.
const FILLERS: &[&str] = &["as", "for", "from", "in", "of", "on", "the", "well"];

/// Maximum number of tokens between joined phrases.
const MAX_CONJUNCTION_TOKENS: usize = 4;

/// Applies years and weeks across joined phrases, and removes phrases that stay uncertain.
fn resolve_lists(candidates: &mut Vec<PhraseCandidate>, tokens: &[DateToken]) {
    let conjunctions: Vec<Option<Conjunction>> = candidates
        .windows(2)
        .map(|pair| conjunction(tokens.get(pair[0].tokens.end..pair[1].tokens.start)?))
        .collect();
    let mut is_removed = vec![false; candidates.len()];
    confirm_listed(candidates, &conjunctions);
    apply_possessive_years(candidates, tokens);
    // A year after a list applies to the items before it, so that it spreads backwards first.
    for at in (1..candidates.len())
        .rev()
        .filter(|at| conjunctions[at - 1].is_some())
    {
        let (before, after) = candidates.split_at_mut(at);
        is_removed[at - 1] |= !share_year(
            &mut before[at - 1].phrase,
            &after[0].phrase,
            has_trailing_year(&after[0], tokens),
            false,
        );
    }
    for at in (1..candidates.len()).filter(|at| conjunctions[at - 1].is_some()) {
        let (before, after) = candidates.split_at_mut(at);
        is_removed[at] |= !share_year(&mut after[0].phrase, &before[at - 1].phrase, false, true);
    }
    for at in 0..candidates.len() {
        is_removed[at] |= !candidates[at].is_certain
            || has_conflicting_year(candidates, &conjunctions, tokens, at);
    }
    let mut removed = is_removed.into_iter();
    candidates.retain(|_| !removed.next().unwrap_or_default());
    align_weeks(candidates, tokens);
}

/// The conjunction between two phrases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conjunction {
    List,
    Versus,
}

fn conjunction(between: &[DateToken]) -> Option<Conjunction> {
    if MAX_CONJUNCTION_TOKENS < between.len() {
        return None;
    }
    let mut conjunction = None;
    for token in between {
        match &token.kind {
            DateTokenKind::Word(word) if word == "vs" || word == "versus" => {
                conjunction = Some(Conjunction::Versus);
            }
            DateTokenKind::Word(word) if CONJUNCTIONS.contains(&word.as_str()) => {
                conjunction = conjunction.or(Some(Conjunction::List));
            }
            DateTokenKind::Sign(sign) if LIST_SIGNS.contains(sign) => {
                conjunction = conjunction.or(Some(Conjunction::List));
            }
            // `vs.` is an abbreviation.
            DateTokenKind::Sign('.') if conjunction == Some(Conjunction::Versus) => {}
            DateTokenKind::Word(word)
                if conjunction.is_some() && FILLERS.contains(&word.as_str()) => {}
            _ => return None,
        }
    }
    conjunction
}

fn single_period(phrase: &DatePhrase) -> Option<&Period> {
    match phrase {
        DatePhrase::Single(period) => Some(period),
        _ => None,
    }
}

/// Returns true if two phrases are of one kind, and can therefore be items of one list.
fn are_alike(one: &DatePhrase, other: &DatePhrase) -> bool {
    let kind = |phrase: &DatePhrase| match single_period(phrase)? {
        Period::Year(_) => Some(4),
        Period::Weekday(..) | Period::WeekdayOfWeek(..) => Some(5),
        period => period.order_in_year().map(|(kind, ..)| kind),
    };
    kind(one).is_some() && kind(one) == kind(other)
}

/// Marks phrases as certain that are joined with a certain one. Two numbers joined with `vs` are both years.
fn confirm_listed(candidates: &mut [PhraseCandidate], conjunctions: &[Option<Conjunction>]) {
    // Certainty spreads in both directions along a list.
    let pairs: Vec<usize> = (1..candidates.len()).collect();
    for at in pairs.iter().copied().chain(pairs.iter().rev().copied()) {
        let (one, other) = (&candidates[at - 1], &candidates[at]);
        let are_years = matches!(
            (single_period(&one.phrase), single_period(&other.phrase)),
            (Some(Period::Year(_)), Some(Period::Year(_)))
        );
        let is_certain = one.is_certain
            || other.is_certain
            || are_years && conjunctions[at - 1] == Some(Conjunction::Versus);
        if conjunctions[at - 1].is_some()
            && is_certain
            && are_alike(&one.phrase, &other.phrase)
            && !(are_years && other.counts_items)
        {
            candidates[at - 1].is_certain = true;
            candidates[at].is_certain = true;
        }
    }
}

/// Applies a possessive year to the phrase after it: `last year's Q4`.
fn apply_possessive_years(candidates: &mut [PhraseCandidate], tokens: &[DateToken]) {
    for at in 1..candidates.len() {
        let (before, after) = candidates.split_at_mut(at);
        let (of, candidate) = (&before[at - 1], &mut after[0]);
        let is_possessive = of.tokens.end == candidate.tokens.start
            && tokens[of.tokens.end - 1].at.end < tokens[candidate.tokens.start].at.start;
        let year = match single_period(&of.phrase) {
            Some(Period::Year(year)) => YearReference::Fixed(*year),
            Some(Period::CalendarUnits(first, last, TimeUnit::Year)) if first == last => {
                match i16::try_from(*first) {
                    Ok(offset) => YearReference::Relative(offset),
                    Err(_) => continue,
                }
            }
            Some(Period::ToDate(TimeUnit::Year)) => YearReference::Relative(0),
            _ => continue,
        };
        if let DatePhrase::Single(period) = &mut candidate.phrase
            && is_possessive
            && is_open(period)
        {
            period.set_year(year);
        }
    }
}

/// Returns true if the year of a phrase follows `of` or `in`, and therefore applies to all phrases listed before it.
fn has_trailing_year(candidate: &PhraseCandidate, tokens: &[DateToken]) -> bool {
    let matched = tokens.get(candidate.tokens.clone()).unwrap_or_default();
    matched
        .iter()
        .filter_map(DateToken::word)
        .any(|word| word == "of" || word == "in")
}

/// Returns the part of a fiscal year that an open period can be.
fn fiscal_part(period: &Period) -> Option<FiscalPart> {
    match *period {
        Period::Quarter { quarter, .. } if is_open(period) => Some(FiscalPart::Quarter(quarter)),
        Period::Half { half, .. } if is_open(period) => Some(FiscalPart::Half(half)),
        _ => None,
    }
}

fn is_open(period: &Period) -> bool {
    period.year() == Some(YearReference::Unstated(Occurrence::Latest))
}

/// Applies the year or week of a joined phrase. Returns false if it is unknown which one is meant: a year applies to other
/// phrases only if they are in order, or if it follows `of`.
fn share_year(phrase: &mut DatePhrase, other: &DatePhrase, is_of: bool, is_after: bool) -> bool {
    // `Q1 and Q2 of fiscal 2024`
    if let (DatePhrase::Single(period), Some(Period::Fiscal { year, .. })) =
        (&mut *phrase, single_period(other))
        && let Some(part) = fiscal_part(period)
    {
        *period = Period::Fiscal { part, year: *year };
        return true;
    }
    if !are_alike(phrase, other) {
        return true;
    }
    let (DatePhrase::Single(period), Some(other)) = (phrase, single_period(other)) else {
        return true;
    };
    match (&*period, other) {
        (Period::Weekday(weekday, Occurrence::Latest), Period::WeekdayOfWeek(_, week)) => {
            *period = Period::WeekdayOfWeek(*weekday, *week);
            return true;
        }
        (Period::Weekday(weekday, Occurrence::Latest), Period::Weekday(_, Occurrence::This)) => {
            *period = Period::Weekday(*weekday, Occurrence::This);
            return true;
        }
        // `next Monday and Tuesday`: the week of the second day is unclear.
        (Period::Weekday(_, Occurrence::Latest), Period::Weekday(_, which)) => {
            return *which == Occurrence::Latest;
        }
        _ => {}
    }
    let (Some(year), true) = (other.year(), is_open(period)) else {
        return true;
    };
    let is_in_order = if is_after {
        other.order_in_year() < period.order_in_year()
    } else {
        period.order_in_year() < other.order_in_year()
    };
    let is_shared = match year {
        YearReference::Unstated(Occurrence::Latest) => return true,
        YearReference::Unstated(which) => which == Occurrence::This,
        // `December and January 2025`: December may be of 2024.
        YearReference::Fixed(_) | YearReference::Relative(_) => is_in_order || is_of,
    };
    if is_shared {
        period.set_year(year);
    }
    is_shared
}

/// Returns true if a phrase without a year is in one sentence with a year that may be its own: `In 2024, how did Q1 go?`
fn has_conflicting_year(
    candidates: &[PhraseCandidate],
    conjunctions: &[Option<Conjunction>],
    tokens: &[DateToken],
    at: usize,
) -> bool {
    if !single_period(&candidates[at].phrase).is_some_and(is_open) {
        return false;
    }
    let has_year = |candidate: &PhraseCandidate| {
        candidate.is_certain
            && single_period(&candidate.phrase).is_some_and(|period| match period {
                Period::Year(_) | Period::CalendarUnits(_, _, TimeUnit::Year) => true,
                Period::NumericDate { .. } => false,
                period => matches!(
                    period.year(),
                    Some(YearReference::Fixed(_) | YearReference::Relative(_))
                ),
            })
    };
    // A dot directly after a word may end an abbreviation, so that it does not count as the end of a sentence.
    let is_end = |token: &DateToken| {
        matches!(token.kind, DateTokenKind::Sign('?' | '!' | ';'))
            || token.is_sign('.') && !token.is_adjacent
    };
    let is_same_sentence = |other: usize| {
        let (first, last) = (at.min(other), at.max(other));
        let between = tokens.get(candidates[first].tokens.end..candidates[last].tokens.start);
        !between.unwrap_or_default().iter().any(is_end)
    };
    let is_listed = |other: usize| at.abs_diff(other) == 1 && conjunctions[at.min(other)].is_some();
    (0..candidates.len()).any(|other| {
        other != at && has_year(&candidates[other]) && is_same_sentence(other) && !is_listed(other)
    })
}

/// Changes `last week` to a calendar week if it is joined with other calendar weeks, so that they do not overlap.
fn align_weeks(candidates: &mut [PhraseCandidate], tokens: &[DateToken]) {
    let is_calendar = |candidate: &PhraseCandidate| {
        matches!(
            single_period(&candidate.phrase),
            Some(
                Period::CalendarUnits(_, _, TimeUnit::Week)
                    | Period::ToDate(TimeUnit::Week)
                    | Period::Week { .. }
                    | Period::WeekdayOfWeek(..)
            )
        )
    };
    if !candidates.iter().any(is_calendar) {
        return;
    }
    for candidate in candidates {
        let first = tokens.get(candidate.tokens.start).and_then(DateToken::word);
        if candidate.phrase == DatePhrase::Single(Period::Rolling(-1, TimeUnit::Week))
            && first == Some("last")
            && candidate.tokens.len() == 2
        {
            candidate.phrase = DatePhrase::Single(Period::CalendarUnits(-1, -1, TimeUnit::Week));
        }
    }
}

/// A date phrase within a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateMention {
    /// The phrase as written.
    pub phrase: String,
    /// The byte range of the phrase.
    pub at: Range<usize>,
    /// The range of days of the phrase.
    pub meaning: Result<DateRange, DateError>,
}

/// A phrase among the tokens of a text.
pub(super) struct PhraseCandidate {
    pub(super) phrase: DatePhrase,
    /// The range of its tokens.
    pub(super) tokens: Range<usize>,
    /// True if the phrase is a date on its own, rather than only when joined with another date.
    pub(super) is_certain: bool,
    /// True if the next word is counted by a number at the end of the phrase.
    pub(super) counts_items: bool,
}

/// Returns all date phrases in a text, in order; at each position the longest. Phrases that may have another meaning, or that are
/// only a part of a larger expression, are left out unless their context is unambiguous. Phrases that are listed together share
/// their year: `Q1 and Q2 of 2024`.
pub fn find(text: &str, now: &Now) -> Vec<DateMention> {
    let tokens = tokens(text);
    let mut candidates = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((candidate, end)) = candidate_at(text, &tokens, at) else {
            at += 1;
            continue;
        };
        // A rejected phrase is skipped as a whole, so that no part of it is found instead.
        at = end;
        candidates.extend(candidate);
    }
    resolve_lists(&mut candidates, &tokens);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let matched = tokens.get(candidate.tokens)?;
            let place = matched.first()?.at.start..matched.last()?.at.end;
            let phrase = text.get(place.clone())?;
            Some(DateMention {
                phrase: phrase.to_owned(),
                at: place,
                meaning: evaluate_phrase(&candidate.phrase, phrase, now),
            })
        })
        .collect()
}

/// Parses the phrase at a token. Returns it unless its context excludes it, and the position after it.
fn candidate_at(
    text: &str,
    tokens: &[DateToken],
    at: usize,
) -> Option<(Option<PhraseCandidate>, usize)> {
    // An article is skipped, so that the mention starts with the phrase itself.
    if tokens[at].word() == Some("the") {
        return None;
    }
    let (phrase, used) = grammar::parse_phrase(&tokens[at..])?;
    let context = PhraseContext {
        text,
        before: &tokens[..at],
        matched: &tokens[at..at + used],
        after: tokens.get(at + used..).unwrap_or_default(),
    };
    if !stands_alone(&context) {
        return None;
    }
    let candidate = (!context.is_part_of_larger(&phrase)).then(|| PhraseCandidate {
        is_certain: context.is_certain(&phrase),
        counts_items: context.counts_items(),
        phrase,
        tokens: at..at + used,
    });
    Some((candidate, at + used))
}

/// Returns true if the phrase is not joined by punctuation to a larger token: a name, an address, a longer number.
fn stands_alone(context: &PhraseContext<'_>) -> bool {
    let PhraseContext {
        before,
        matched,
        after,
        ..
    } = *context;
    let is_glue = |token: &DateToken| matches!(token.kind, DateTokenKind::Sign(sign) if "-_/.@#:=&\\$%+*~^".contains(sign));
    let is_free = !matched.first().is_some_and(|first| first.is_adjacent)
        || before
            .last()
            .is_some_and(|last| !is_glue(last) && matches!(last.kind, DateTokenKind::Sign(_)));
    // `today-report` and `2025-10-05T09` are not phrases.
    let continues = match after {
        [sign, word, ..] => {
            sign.is_adjacent
                && is_glue(sign)
                && word.is_adjacent
                && !matches!(word.kind, DateTokenKind::Sign(_))
        }
        _ => false,
    };
    is_free && !continues
}
