//! Phrases of time in questions.

use planwright_planner::dates::{Now, Zone, find, resolve};

use crate::halves;

/// Finds phrases of time in the text after the NUL byte of `input`, relative to the time before it, or to a fixed time.
///
/// # Panics
///
/// If a phrase ends before it begins, lies outside of the text, or has another meaning when it stands alone.
pub fn find_all(input: &[u8]) {
    let (moment, text) = halves(input);
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let moment = std::str::from_utf8(moment).unwrap_or_default();
    let Ok(now) = Now::parse(moment, &Zone::utc())
        .or_else(|_| Now::parse("2024-02-29T12:00:00Z", &Zone::utc()))
    else {
        return;
    };
    if let Ok(range) = resolve(text, &now) {
        assert!(range.from <= range.to, "{range:?}");
    }
    let mut behind = 0;
    for mention in find(text, &now) {
        assert!(behind <= mention.at.start, "{mention:?}");
        assert_eq!(text.get(mention.at.clone()), Some(mention.phrase.as_str()));
        behind = mention.at.end;
        // A phrase that is too long for `resolve` is not compared.
        if mention.phrase.len() <= 200 {
            assert_eq!(resolve(&mention.phrase, &now), mention.meaning);
        }
    }
}
