//! Expansion of a word of a query to words of a catalog: the word itself, else words that begin with it, synonyms, or words that it
//! misspells.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::LazyLock;

use indexmap::IndexMap;
use strsim::osa_distance;

use super::words::tokenize;

/// The shortest word that is expanded as a prefix.
const MIN_PREFIX_LENGTH: usize = 3;

/// Maximum number of words that a prefix expands to.
const MAX_PREFIX_MATCHES: usize = 8;

/// The weight of a word that begins with a word of the query. Most longer words have another meaning.
const PREFIX_WEIGHT: f32 = 0.5;

/// The weight of a synonym.
const SYNONYM_WEIGHT: f32 = 0.6;

/// The weight of a word that a word of the query misspells.
const MISSPELLING_WEIGHT: f32 = 0.6;

/// The shortest word that may be misspelt.
const MIN_MISSPELT_LENGTH: usize = 4;

/// The shortest word that may have two errors.
const MIN_TWO_ERRORS_LENGTH: usize = 8;

/// The longest word that is compared, in bytes.
const MAX_MISSPELT_LENGTH: usize = 32;

/// Maximum number of words of a query that are compared with the vocabulary.
const MAX_MISSPELT: usize = 32;

/// Maximum number of words that a misspelt word expands to.
const MAX_CORRECTIONS: usize = 4;

/// Groups of synonyms, for words that no tool has.
const SYNONYMS: &[&[&str]] = &[
    &["find", "search", "lookup", "locate", "discover", "query"],
    &["get", "fetch", "retrieve", "obtain", "load", "read"],
    &["create", "add", "new", "make", "insert", "generate"],
    &["delete", "remove", "erase", "drop", "clear"],
    &["update", "edit", "modify", "change", "set", "alter"],
    &["send", "email", "mail", "message", "post"],
    &["buy", "purchase", "order"],
    &["book", "reserve", "booking", "reservation"],
    &["event", "meeting", "appointment"],
    &["schedule", "calendar"],
    &["film", "movie", "cinema"],
    &["song", "music", "track", "audio"],
    &["picture", "image", "photo"],
    &["car", "vehicle", "automobile"],
    &["doctor", "physician"],
    &["house", "home", "property", "apartment"],
    &["currency", "money", "exchange"],
    &["convert", "conversion", "transform"],
    &["price", "cost", "fare"],
    &["weather", "forecast", "temperature"],
    &["stock", "share", "equity"],
    &["calculate", "compute", "determine"],
    &["town", "city"],
    &["trip", "travel", "journey", "itinerary"],
    &["hotel", "accommodation", "lodging"],
    &["restaurant", "dining"],
    &["employee", "staff", "worker"],
    &["customer", "client", "user"],
    &["start", "begin", "launch", "run"],
    &["stop", "end", "cancel", "terminate"],
    &["volume", "loud", "quiet", "sound"],
    &["near", "nearby", "close", "closest", "nearest"],
    &["list", "show", "display", "enumerate"],
];

/// The synonyms of each stem, as stems.
static STEMMED_SYNONYMS: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut stemmed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for group in SYNONYMS {
        let stems = tokenize(&group.join(" "));
        for stem in &stems {
            let others = stems.iter().filter(|other| *other != stem);
            stemmed
                .entry(stem.clone())
                .or_default()
                .extend(others.cloned());
        }
    }
    stemmed
});

/// Expands the words of a query to words of the `vocabulary`, with their weights.
pub(super) fn expand<'v, T>(
    words: &[String],
    vocabulary: &'v BTreeMap<String, T>,
) -> IndexMap<&'v str, f32> {
    let mut expanded: IndexMap<&str, f32> = IndexMap::new();
    let mut compared = 0;
    for word in words {
        let mut found = known_words(word, vocabulary);
        if found.is_empty() && compared < MAX_MISSPELT {
            compared += 1;
            // Only for words without any other expansion: a correct word may resemble others by chance.
            found = corrections(word, vocabulary);
        }
        for (known, weight) in found {
            let best = expanded.entry(known).or_default();
            // Two spellings of one question word must not count twice.
            *best = best.max(weight);
        }
    }
    expanded
}

/// Returns the word itself, or else its synonyms, or else the words that it begins.
fn known_words<'v, T>(word: &str, vocabulary: &'v BTreeMap<String, T>) -> Vec<(&'v str, f32)> {
    if let Some((known, _)) = vocabulary.get_key_value(word) {
        return vec![(known, 1.0)];
    }
    let synonyms = STEMMED_SYNONYMS.get(word).into_iter().flatten();
    let synonyms: Vec<_> = synonyms
        .filter_map(|synonym| vocabulary.get_key_value(synonym))
        .map(|(known, _)| (known.as_str(), SYNONYM_WEIGHT))
        .collect();
    if !synonyms.is_empty() || word.len() < MIN_PREFIX_LENGTH {
        return synonyms;
    }
    beginning_with(word, vocabulary)
        .take(MAX_PREFIX_MATCHES)
        .map(|known| (known, PREFIX_WEIGHT))
        .collect()
}

/// Returns the words that `word` misspells by the fewest errors. The first letter is taken for right, as it mostly is.
fn corrections<'v, T>(word: &str, vocabulary: &'v BTreeMap<String, T>) -> Vec<(&'v str, f32)> {
    let length = word.chars().count();
    let is_word = word.chars().all(char::is_alphabetic);
    if length < MIN_MISSPELT_LENGTH || word.len() > MAX_MISSPELT_LENGTH || !is_word {
        return Vec::new();
    }
    let max_errors = if length < MIN_TWO_ERRORS_LENGTH { 1 } else { 2 };
    // The first letter is seldom wrong, and the vocabulary is sorted by it: few words need to be compared.
    let first: String = word.chars().take(1).collect();
    let similar = beginning_with(&first, vocabulary)
        .filter(|known| {
            let known = known.chars().count();
            known >= MIN_MISSPELT_LENGTH && known.abs_diff(length) <= max_errors
        })
        .map(|known| (osa_distance(word, known), known))
        .filter(|(errors, _)| *errors <= max_errors);
    let similar: Vec<(usize, &str)> = similar.collect();
    // A word one letter away makes those two letters away unlikely.
    let fewest = similar.iter().map(|(errors, _)| *errors).min();
    similar
        .into_iter()
        .filter(|(errors, _)| Some(*errors) == fewest)
        .take(MAX_CORRECTIONS)
        .map(|(_, known)| (known, MISSPELLING_WEIGHT))
        .collect()
}

fn beginning_with<'v, T>(
    prefix: &str,
    vocabulary: &'v BTreeMap<String, T>,
) -> impl Iterator<Item = &'v str> {
    vocabulary
        .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
        .map(|(known, _)| known.as_str())
        .take_while(move |known| known.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: &[&str]) {
        let words = [
            "calendar",
            "cancel",
            "citi",
            "find",
            "kind",
            "messag",
            "repositori",
            "report",
            "volum",
        ];
        let vocabulary = words.map(|word| (word.to_owned(), ())).into();
        let expanded = expand(&[word.to_owned()], &vocabulary);
        let found: Vec<&str> = expanded.keys().copied().collect();
        assert_eq!(found, expected, "{word}");
    }

    #[test]
    fn words_stand_for_known_words() {
        check("find", &["find"]);
        check("repo", &["report", "repositori"]);
        check("re", &[]);
    }

    #[test]
    fn unknown_words_have_synonyms() {
        check("loud", &["volum"]);
        check("town", &["citi"]);
        check("schedul", &["calendar"]);
        check("email", &["messag"]);
    }

    #[test]
    fn misspelt_words_are_corrected() {
        check("calender", &["calendar"]);
        check("cacnel", &["cancel"]);
        check("repsitori", &["repositori"]);
        // The first letter is right, short words are not guessed, and numbers are exact.
        check("gind", &[]);
        check("fnd", &[]);
        check("finf2", &[]);
        check("calxxdar", &["calendar"]);
        check("calxxxar", &[]);
    }
}
