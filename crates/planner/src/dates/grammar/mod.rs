//! The parser: tokens to phrases.
//!
//! Each parser reads a prefix of a list of tokens, and returns what it found and the number of tokens used. The longest result wins.

mod calendar;
mod combinators;
mod part_of_year;
mod phrase;
mod relative;

pub(super) use phrase::{is_lead_word, parse_phrase, parse_whole};
