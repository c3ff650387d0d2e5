//! Tests of translations, and of operators that have none.

use super::*;

#[track_caller]
fn check(language: Language, written: &str, expected: Option<&str>) {
    let found = translated(written, language);
    assert_eq!(found.as_deref(), expected, "{language:?}: {written}");
}

#[test]
fn words_are_operators_outside_of_texts_only() {
    for language in [Language::Own, Language::Condition] {
        check(
            language,
            "a.x == 'this and that or not' and  a.y",
            Some("a.x == 'this and that or not' &&  a.y"),
        );
        check(
            language,
            "a.x == \"it \\\" is\" or True",
            Some("a.x == \"it \\\" is\" || true"),
        );
        check(language, "a.x == \"not  yet\"", Some("a.x == \"not  yet\""));
        check(language, "a.and.or == b.not", Some("a.and.or == b.not"));
        check(language, "a.x == 'open", None);
        check(language, "a.x == 'a' 'b'", Some("a.x == 'a' 'b'"));
        check(language, "a.x == 'a''b'", None);
        check(language, "a.x == `b`", None);
    }
}

#[test]
fn negations_bind_less_than_comparisons() {
    for language in [Language::Own, Language::Condition] {
        check(language, "not a == b", Some("!(a == b)"));
        check(language, "not a == b and c", Some("!(a == b) && c"));
        check(language, "c or not a in b", Some("c || !(a in b)"));
        check(language, "not not a", Some("!(!(a))"));
        check(
            language,
            "not (a or b)",
            Some("!((a or b))".replace("or", "||").as_str()),
        );
        check(language, "(not a) == b", Some("(!(a)) == b"));
        check(language, "[not a, b]", Some("[!(a), b]"));
        check(language, "a is not None", Some("a != null"));
        check(language, "a is True", Some("a == true"));
        check(language, "a is b", None);
        check(language, "a not in b", None);
        check(language, "not a ? b : c", Some("!(a) ? b : c"));
    }
}

#[test]
fn operators_with_another_meaning_are_not_translated() {
    for language in [Language::Own, Language::Value, Language::Condition] {
        for text in [
            "a // 2",
            "a < b < c",
            "a == b == c",
            "a /* b */",
            "1 < a <= 3",
            "a === []",
        ] {
            check(language, text, None);
        }
        check(language, "a.x == '//'", Some("a.x == '//'"));
        check(
            language,
            "(a < b) == c && d < e",
            Some("(a < b) == c && d < e"),
        );
        check(language, "a === b", Some("a == b"));
    }
    for language in [Language::Value, Language::Condition] {
        for text in [
            "a / 2",
            "a % 2",
            "a ** 2",
            "a ?? 2",
            "all(a)",
            "bool(a)",
            "a.sort()",
            "--a",
            "a.replace('b', 'c')",
            "a in 'b'",
        ] {
            check(language, text, None);
        }
        check(language, "a-b -1", Some("a - b - 1"));
        check(language, "a[-1] - -1", Some("a[-1] - -1"));
        check(language, "$a.b['c'][\"d e\"][0]", Some("a.b.c[\"d e\"][0]"));
        check(language, "a == \"US$\"", Some("a == \"US$\""));
        check(language, "a == 'b[\"c\"]'", Some("a == 'b[\"c\"]'"));
    }
    check(Language::Own, "a-b / 2", Some("a-b / 2"));
    check(Language::Own, "a.b? == 1", Some("a.b? == 1"));
}

#[test]
fn operands_are_no_values() {
    for (text, is_truth) in [
        ("a or b", false),
        ("a.x == 1 or b", false),
        ("a.x == 1 or not b", true),
        ("(a or b) == 1", false),
        ("[a or b]", false),
        ("max(a, b) > 1 and (c < 2 or True)", true),
        ("a and b ? c : d", false),
    ] {
        let is_known = translated(text, Language::Value).is_some();
        assert_eq!(is_known, is_truth, "{text}");
    }
    check(
        Language::Condition,
        "(a or b) and not (c and d)",
        Some("(a || b) && !((c && d))"),
    );
    check(Language::Condition, "(a or b) == 1", None);
    check(Language::Own, "a or b", Some("a || b"));
}
