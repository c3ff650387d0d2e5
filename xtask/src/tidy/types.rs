//! Names of types: each is unique in the workspace, so that one name means one thing.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::sources::SourceFile;

/// Names that several modules may use, since callers write them with the name of the module.
const MODULE_NAMES: &[&str] = &["Error", "Builder", "Options"];

/// Further names that may be used more than once, each with the reason.
const ALLOWED: &[(&str, &str)] = &[
    (
        "Expression",
        "the usual name in syntax trees: of CEL, and of foreign programs",
    ),
    (
        "Form",
        "the parts of a reference, and a translated expression; both are used in many private functions",
    ),
];

/// The crates whose type names are unique. A name that occurs only in other crates is not checked.
const CHECKED: &[&str] = &[
    "crates/cli/",
    "crates/core/",
    "crates/dialects/",
    "crates/engine/",
    "crates/format/",
    "crates/learn/",
    "crates/lsp/",
    "crates/mcp/",
    "crates/openapi/",
    "crates/planner/",
    "crates/planwright/",
    "crates/postgres/",
    "crates/serve/",
    "crates/store/",
    "crates/web/",
];

/// Crates that no library or program depends on, so that their names never meet others.
const EXEMPT: &[&str] = &["bench/", "crates/testkit/", "fuzz/", "xtask/"];

/// The keywords that define a type.
const KEYWORDS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// Checks that no visible type of a checked crate has the name of another type in `sources`. Equal names within one file are alternatives for
/// different targets.
pub(super) fn check(sources: &[SourceFile<'_>]) -> Vec<Violation> {
    let mut definitions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        if EXEMPT.iter().any(|folder| source.path.starts_with(folder)) {
            continue;
        }
        let mut names = BTreeSet::new();
        for (index, line) in source.text.code.lines().enumerate() {
            if let Some(name) = visible_type(line).filter(|name| names.insert(*name)) {
                let place = format!("{}:{}", source.path, index + 1);
                definitions.entry(name).or_default().insert(place);
            }
        }
    }
    let is_allowed = |name: &str| {
        MODULE_NAMES.contains(&name) || ALLOWED.iter().any(|(allowed, _)| *allowed == name)
    };
    let is_checked = |place: &String| CHECKED.iter().any(|prefix| place.starts_with(prefix));
    let ambiguous = definitions.iter().filter(|(name, places)| {
        places.len() > 1 && !is_allowed(name) && places.iter().any(is_checked)
    });
    ambiguous
        .map(|(name, places)| {
            let places: Vec<&str> = places.iter().map(String::as_str).collect();
            format!(
                "{}: the type `{name}` is defined {} times",
                places.join(", "),
                places.len()
            )
        })
        .collect()
}

/// Returns the name of the type that a line defines, if it is visible outside of its module.
fn visible_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let mut words = rest.strip_prefix(' ')?.split_whitespace();
    let mut keyword = words.next()?;
    if keyword == "unsafe" {
        keyword = words.next()?;
    }
    let name = words.next().filter(|_| KEYWORDS.contains(&keyword))?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    name.get(..end.unwrap_or(name.len()))
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::rust_text::RustText;
    use super::*;

    fn check_sources(sources: &[(&'static str, &str)], expected: &[&str]) {
        let sources: Vec<SourceFile<'_>> = sources
            .iter()
            .map(|(path, text)| SourceFile {
                path,
                text: RustText::new(text),
            })
            .collect();
        assert_eq!(check(&sources), expected);
    }

    #[test]
    fn names_of_types_are_found() {
        for (line, expected) in [
            ("pub struct A;", Some("A")),
            ("    pub(crate) enum B<'a> {", Some("B")),
            ("pub(in crate::run) trait C: D {", Some("C")),
            ("pub(super) type E<T> = F<T>;", Some("E")),
            ("pub unsafe trait G {}", Some("G")),
            ("pub struct H(u8);", Some("H")),
            ("struct I;", None),
            ("type J = K;", None),
            ("pub fn l(struct_m: N) {", None),
            ("public struct O;", None),
            ("pub use p::Q;", None),
        ] {
            assert_eq!(visible_type(line), expected, "{line}");
        }
    }

    #[test]
    fn a_name_is_defined_once() {
        let one = ("crates/cli/src/lib.rs", "\npub struct Plan;");
        check_sources(&[one, ("crates/cli/src/b.rs", "struct Plan;")], &[]);
        check_sources(&[one, ("bench/src/b.rs", "pub struct Plan;")], &[]);
        check_sources(&[one, ("crates/cli/src/b.rs", "// pub struct Plan;")], &[]);
        check_sources(
            &[
                ("crates/a/src/lib.rs", "pub struct Plan;"),
                ("crates/b/src/lib.rs", "pub struct Plan;"),
            ],
            &[],
        );
        check_sources(
            &[one, ("crates/b/src/lib.rs", "pub(super) enum Plan {}")],
            &["crates/b/src/lib.rs:1, crates/cli/src/lib.rs:2: the type `Plan` is defined 2 times"],
        );
        check_sources(
            &[
                ("crates/cli/src/b.rs", "pub enum Error {}"),
                ("crates/cli/src/c.rs", "pub struct Error;"),
            ],
            &[],
        );
        let both = "#[cfg(unix)]\npub struct Lock;\n#[cfg(not(unix))]\npub struct Lock;";
        check_sources(&[("crates/cli/src/lock.rs", both)], &[]);
    }
}
