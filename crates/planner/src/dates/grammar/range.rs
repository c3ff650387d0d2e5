//! Whole phrases: a period, two of them, or what is before and behind one.

use super::calendar::same_month;
use super::period;
use super::reading::{Read, any, day_number, sign, words, year_number};
use crate::dates::phrase::{Period, Phrase};
use crate::dates::token::Token;

/// Words that stand between the beginning of a range and its end.
const CONNECTORS: &[&[&str]] = &[
    &["to"],
    &["until"],
    &["till"],
    &["through"],
    &["thru"],
    &["up", "to"],
];

/// Words before the end of something whose beginning nobody says, and whether that end belongs to it.
const UNTIL: &[(&[&str], bool)] = &[
    (&["until"], true),
    (&["till"], true),
    (&["through"], true),
    (&["thru"], true),
    (&["up", "to"], true),
    (&["by"], true),
    (&["before"], false),
    (&["prior", "to"], false),
];

/// The longest phrase that the list begins with.
pub(in crate::dates) fn phrase(tokens: &[Token]) -> Read<Phrase> {
    let readings = [between(tokens), since(tokens), until(tokens), bare(tokens)];
    let mut best: Read<Phrase> = None;
    for reading in readings.into_iter().flatten() {
        if best
            .as_ref()
            .is_none_or(|(_, longest)| *longest < reading.1)
        {
            best = Some(reading);
        }
    }
    best
}

/// How many tokens stand for `to`.
pub(super) fn connector(tokens: &[Token]) -> Option<usize> {
    let dash = || sign(tokens, '-').or_else(|| sign(tokens, '…'));
    let dots = || {
        let dots = tokens.iter().take_while(|token| token.is_sign('.')).count();
        (2 <= dots).then_some(dots)
    };
    CONNECTORS
        .iter()
        .find_map(|said| words(tokens, said))
        .or_else(dash)
        .or_else(dots)
}

/// `last week`, `October 1st to October 10th`
fn bare(tokens: &[Token]) -> Read<Phrase> {
    let (first, used) = period(tokens)?;
    let rest = tokens.get(used..)?;
    let interval = || {
        let slash = sign(rest, '/').filter(|_| is_iso(tokens))?;
        let last = rest.get(slash..).filter(|last| is_iso(last))?;
        let (last, more) = period(last)?;
        Some((last, slash + more))
    };
    let Some((last, more)) = end(rest, connector).or_else(interval) else {
        return Some((Phrase::Only(first), used));
    };
    Some((Phrase::Between(first, last), used + more))
}

/// Whether a list of tokens begins with a year, a hyphen and a month, as an interval of ISO 8601 does.
fn is_iso(tokens: &[Token]) -> bool {
    year_number(tokens).is_some() && tokens.get(1).is_some_and(|token| token.is_sign('-'))
}

/// `from X to Y`, `between X and Y`
fn between(tokens: &[Token]) -> Read<Phrase> {
    if let Some(found) = days_between(tokens) {
        return Some(found);
    }
    let is_from = any(tokens, &["from", "since"]).is_some();
    let lead = any(tokens, &["between", "from", "since"])?;
    let (first, used) = period(tokens.get(lead..)?)?;
    let used = used + lead;
    let joins = if is_from { connector } else { and };
    let rest = tokens.get(used..)?;
    if let Some((last, more)) = end(rest, joins) {
        return Some((Phrase::Between(first, last), used + more));
    }
    let joined = joins(rest)?;
    let (last, more) = same_month(&first, rest.get(joined..)?)?;
    Some((Phrase::Between(first, last), used + joined + more))
}

/// `between 5 and 10 October`
fn days_between(tokens: &[Token]) -> Read<Phrase> {
    let mut used = any(tokens, &["between"])?;
    used += any(tokens.get(used..)?, &["the"]).unwrap_or(0);
    let (first, more) = day_number(tokens.get(used..)?)?;
    used += more + and(tokens.get(used + more..)?)?;
    let (mut last, more) = period(tokens.get(used..)?)?;
    let Period::Dates { first: from, .. } = &mut last else {
        return None;
    };
    *from = first;
    Some((Phrase::Only(last), used + more))
}

fn and(tokens: &[Token]) -> Option<usize> {
    any(tokens, &["and"]).or_else(|| sign(tokens, '-'))
}

fn end(tokens: &[Token], joins: fn(&[Token]) -> Option<usize>) -> Read<Period> {
    let used = joins(tokens)?;
    let (last, more) = period(tokens.get(used..)?)?;
    Some((last, used + more))
}

/// `since X`, `after X`, `from X on`
fn since(tokens: &[Token]) -> Read<Phrase> {
    let lead = any(tokens, &["since", "from", "starting", "after"])?;
    let word = tokens.first()?.word()?;
    let with = if word == "starting" {
        any(tokens.get(1..)?, &["from", "on", "with"]).unwrap_or(0)
    } else {
        0
    };
    let lead = lead + with;
    let (first, used) = period(tokens.get(lead..)?)?;
    let used = used + lead;
    if word == "from" {
        let more = any(tokens.get(used..)?, &["on", "onward", "onwards"])?;
        return Some((Phrase::Since(first), used + more));
    }
    let phrase = if word == "after" {
        Phrase::After(first)
    } else {
        Phrase::Since(first)
    };
    Some((phrase, used))
}

/// `until X`, `before X`
fn until(tokens: &[Token]) -> Read<Phrase> {
    let (lead, is_with) = UNTIL
        .iter()
        .find_map(|(said, is_with)| Some((words(tokens, said)?, *is_with)))?;
    let (last, used) = period(tokens.get(lead..)?)?;
    let phrase = if is_with {
        Phrase::Until(last)
    } else {
        Phrase::Before(last)
    };
    Some((phrase, lead + used))
}
