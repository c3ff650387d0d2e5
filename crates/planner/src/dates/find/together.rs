//! Phrases that explain each other: `Q1 and Q2 of 2024`, `Monday and Tuesday last week`.

use super::super::phrase::{Period, Phrase, Unit, Which, YearOf};
use super::super::token::{Kind, Token};
use super::Candidate;

/// Words and signs that join phrases.
const JOINTS: &[&str] = &[
    "and", "or", "versus", "vs", "with", "to", "than", "against", "plus", "compare", "compared",
    "compares",
];
const SIGNS: &[char] = &[',', '&', '/', '+'];

/// Words that may stand behind a joint.
const FILLERS: &[&str] = &["as", "for", "from", "in", "of", "on", "the", "well"];

/// The most tokens between phrases that are joined.
const MAX_JOINT: usize = 4;

/// Gives phrases what those beside them say about them, and removes those that are still uncertain.
pub(super) fn resolve(candidates: &mut Vec<Candidate>, tokens: &[Token]) {
    let joints: Vec<Option<Joint>> = candidates
        .windows(2)
        .map(|pair| joint(tokens.get(pair[0].tokens.end..pair[1].tokens.start)?))
        .collect();
    let mut is_removed = vec![false; candidates.len()];
    make_certain(candidates, &joints);
    take_years_of(candidates, tokens);
    for at in (1..candidates.len())
        .rev()
        .filter(|at| joints[at - 1].is_some())
    {
        let (before, behind) = candidates.split_at_mut(at);
        is_removed[at - 1] |= !share(
            &mut before[at - 1].phrase,
            &behind[0].phrase,
            said_of(&behind[0], tokens),
            false,
        );
    }
    for at in (1..candidates.len()).filter(|at| joints[at - 1].is_some()) {
        let (before, behind) = candidates.split_at_mut(at);
        is_removed[at] |= !share(&mut behind[0].phrase, &before[at - 1].phrase, false, true);
    }
    for at in 0..candidates.len() {
        is_removed[at] |=
            !candidates[at].is_certain || is_in_unclear_year(candidates, &joints, tokens, at);
    }
    let mut removed = is_removed.into_iter();
    candidates.retain(|_| !removed.next().unwrap_or_default());
    align_weeks(candidates, tokens);
}

/// How two phrases are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    List,
    Versus,
}

fn joint(between: &[Token]) -> Option<Joint> {
    if MAX_JOINT < between.len() {
        return None;
    }
    let mut joint = None;
    for token in between {
        match &token.kind {
            Kind::Word(word) if word == "vs" || word == "versus" => joint = Some(Joint::Versus),
            Kind::Word(word) if JOINTS.contains(&word.as_str()) => {
                joint = joint.or(Some(Joint::List));
            }
            Kind::Sign(sign) if SIGNS.contains(sign) => joint = joint.or(Some(Joint::List)),
            Kind::Sign('.') if joint == Some(Joint::Versus) => {}
            Kind::Word(word) if joint.is_some() && FILLERS.contains(&word.as_str()) => {}
            _ => return None,
        }
    }
    joint
}

fn only(phrase: &Phrase) -> Option<&Period> {
    match phrase {
        Phrase::Only(period) => Some(period),
        _ => None,
    }
}

/// Whether two phrases are of one kind, so that one can stand in a list with the other.
fn are_alike(one: &Phrase, other: &Phrase) -> bool {
    let kind = |phrase: &Phrase| match only(phrase)? {
        Period::Year(_) => Some(4),
        Period::Weekday(..) | Period::WeekdayIn(..) => Some(5),
        period => period.place_in_year().map(|(kind, ..)| kind),
    };
    kind(one).is_some() && kind(one) == kind(other)
}

/// A phrase that may mean something else is a time beside another one, and of two numbers with `vs` between them both are years.
fn make_certain(candidates: &mut [Candidate], joints: &[Option<Joint>]) {
    let pairs: Vec<usize> = (1..candidates.len()).collect();
    for at in pairs.iter().copied().chain(pairs.iter().rev().copied()) {
        let (one, other) = (&candidates[at - 1], &candidates[at]);
        let are_years = matches!(
            (only(&one.phrase), only(&other.phrase)),
            (Some(Period::Year(_)), Some(Period::Year(_)))
        );
        let is_certain = one.is_certain
            || other.is_certain
            || are_years && joints[at - 1] == Some(Joint::Versus);
        if joints[at - 1].is_some()
            && is_certain
            && are_alike(&one.phrase, &other.phrase)
            && !(are_years && other.is_counting)
        {
            candidates[at - 1].is_certain = true;
            candidates[at].is_certain = true;
        }
    }
}

/// Puts phrases behind a year into it: `last year's Q4`.
fn take_years_of(candidates: &mut [Candidate], tokens: &[Token]) {
    for at in 1..candidates.len() {
        let (before, behind) = candidates.split_at_mut(at);
        let (of, candidate) = (&before[at - 1], &mut behind[0]);
        let is_possessive = of.tokens.end == candidate.tokens.start
            && tokens[of.tokens.end - 1].at.end < tokens[candidate.tokens.start].at.start;
        let year = match only(&of.phrase) {
            Some(Period::Year(year)) => YearOf::Given(*year),
            Some(Period::Whole(first, last, Unit::Year)) if first == last => {
                match i16::try_from(*first) {
                    Ok(offset) => YearOf::Relative(offset),
                    Err(_) => continue,
                }
            }
            Some(Period::Current(Unit::Year)) => YearOf::Relative(0),
            _ => continue,
        };
        if let Phrase::Only(period) = &mut candidate.phrase
            && is_possessive
            && is_open(period)
        {
            period.set_year(year);
        }
    }
}

/// Whether the year of a phrase stands behind `of` and so belongs to all that are listed before it.
fn said_of(candidate: &Candidate, tokens: &[Token]) -> bool {
    let said = tokens.get(candidate.tokens.clone()).unwrap_or_default();
    said.iter()
        .filter_map(Token::word)
        .any(|word| word == "of" || word == "in")
}

fn is_open(period: &Period) -> bool {
    period.year() == Some(YearOf::Open(Which::Latest))
}

/// Gives `phrase` the year or the week of `other`, which is listed with it. Returns whether it is known which one is meant: a year
/// goes on from phrase to phrase only if they are in order, or stands behind `of`.
fn share(phrase: &mut Phrase, other: &Phrase, is_of: bool, is_behind: bool) -> bool {
    if !are_alike(phrase, other) {
        return true;
    }
    let (Phrase::Only(period), Some(other)) = (phrase, only(other)) else {
        return true;
    };
    match (&*period, other) {
        (Period::Weekday(weekday, Which::Latest), Period::WeekdayIn(_, week)) => {
            *period = Period::WeekdayIn(*weekday, *week);
            return true;
        }
        (Period::Weekday(weekday, Which::Latest), Period::Weekday(_, Which::This)) => {
            *period = Period::Weekday(*weekday, Which::This);
            return true;
        }
        (Period::Weekday(_, Which::Latest), Period::Weekday(_, which)) => {
            return *which == Which::Latest;
        }
        _ => {}
    }
    let (Some(year), true) = (other.year(), is_open(period)) else {
        return true;
    };
    let is_in_order = if is_behind {
        other.place_in_year() < period.place_in_year()
    } else {
        period.place_in_year() < other.place_in_year()
    };
    let is_shared = match year {
        YearOf::Open(Which::Latest) => return true,
        YearOf::Open(which) => which == Which::This,
        YearOf::Given(_) | YearOf::Relative(_) => is_in_order || is_of,
    };
    if is_shared {
        period.set_year(year);
    }
    is_shared
}

/// Whether a phrase without a year stands in one sentence with a year that may be its own: `In 2024, how did Q1 go?`
fn is_in_unclear_year(
    candidates: &[Candidate],
    joints: &[Option<Joint>],
    tokens: &[Token],
    at: usize,
) -> bool {
    if !only(&candidates[at].phrase).is_some_and(is_open) {
        return false;
    }
    let has_year = |candidate: &Candidate| {
        candidate.is_certain
            && only(&candidate.phrase).is_some_and(|period| match period {
                Period::Year(_) | Period::Whole(_, _, Unit::Year) => true,
                Period::Slashed { .. } => false,
                period => matches!(period.year(), Some(YearOf::Given(_) | YearOf::Relative(_))),
            })
    };
    let is_end = |token: &Token| {
        matches!(token.kind, Kind::Sign('?' | '!' | ';')) || token.is_sign('.') && !token.touches
    };
    let is_same_sentence = |other: usize| {
        let (first, last) = (at.min(other), at.max(other));
        let between = tokens.get(candidates[first].tokens.end..candidates[last].tokens.start);
        !between.unwrap_or_default().iter().any(is_end)
    };
    let is_listed = |other: usize| at.abs_diff(other) == 1 && joints[at.min(other)].is_some();
    (0..candidates.len()).any(|other| {
        other != at && has_year(&candidates[other]) && is_same_sentence(other) && !is_listed(other)
    })
}

/// Makes `last week` the one before this one if it is named beside other weeks of the calendar, so that none overlap.
fn align_weeks(candidates: &mut [Candidate], tokens: &[Token]) {
    let is_calendar = |candidate: &Candidate| {
        matches!(
            only(&candidate.phrase),
            Some(
                Period::Whole(_, _, Unit::Week)
                    | Period::Current(Unit::Week)
                    | Period::Week { .. }
                    | Period::WeekdayIn(..)
            )
        )
    };
    if !candidates.iter().any(is_calendar) {
        return;
    }
    for candidate in candidates {
        let first = tokens.get(candidate.tokens.start).and_then(Token::word);
        if candidate.phrase == Phrase::Only(Period::Rolling(-1, Unit::Week))
            && first == Some("last")
            && candidate.tokens.len() == 2
        {
            candidate.phrase = Phrase::Only(Period::Whole(-1, -1, Unit::Week));
        }
    }
}
