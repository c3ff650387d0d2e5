//! Second step of resolution: parses tokens to phrases.
//!
//! Each parser reads a prefix of the tokens, and returns the result and the number of tokens used. The longest result wins.

mod calendar;
mod fiscal;
mod parser;
mod phrase;
mod relative;

pub(super) use phrase::{is_lead_word, parse_phrase, parse_whole};
