//! Commands with what they print, as pages show them.

use std::sync::LazyLock;

use regex::Regex;

/// A placeholder for any text.
const ANYTHING: &str = "…";

/// A length of time in a line that people read, or in JSON, and the blanks before it.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#" *<?\b\d+(\.\d+)?(ns|µs|us|ms|s)\b|_ms": ?\d+(\.\d+)?"#).unwrap()
});

/// The id of a run, or the beginning of it: where a command or a heading names it, where it begins a line, behind an arrow; and the digest of
/// a call.
static RUN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)(?<before>\brun |planwright (?:resume|show|logs|replay|approve|reject|export|diff) |digest: |^|→ )(?<id>[0-9a-f]{8,16})\b",
    )
    .unwrap()
});

/// Patterns of text that differs in every run of a page, with their replacements.
static OTHERS: LazyLock<[(Regex, &str); 3]> = LazyLock::new(|| {
    [
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "MOMENT"),
        (r"\bplanwright \d+\.\d+\.\d+, process \d+", "PROGRAM"),
        (r"\(× \d+\.\d+\)", "RATIO"),
    ]
    .map(|(pattern, place)| (Regex::new(pattern).unwrap(), place))
});

/// The commands of a block, each with what it prints.
pub(super) fn commands(block: &str) -> Result<Vec<(&str, &str)>, String> {
    let Some(rest) = block.strip_prefix("$ ") else {
        return Err(format!("it begins with no command: {block}"));
    };
    Ok(rest
        .split("\n$ ")
        .map(|part| part.split_once('\n').unwrap_or((part, "")))
        .collect())
}

/// Returns true if the printed text matches the page.
pub(super) fn matches(expected: &str, printed: &str) -> bool {
    let expected: Vec<String> = expected.trim_end().lines().map(even).collect();
    let printed: Vec<String> = printed.trim_end().lines().map(even).collect();
    lines_match(&expected, &printed)
}

/// The ids of runs that the page shows, each with the one that was printed in its place.
pub(super) fn run_ids<'a>(expected: &'a str, printed: &'a str) -> Vec<(&'a str, &'a str)> {
    let ids = |text: &'a str| RUN.captures_iter(text).filter_map(|found| found.name("id"));
    ids(expected)
        .map(|id| id.as_str())
        .zip(ids(printed).map(|id| id.as_str()))
        .collect()
}

/// A line with all that is another each time evened out.
fn even(line: &str) -> String {
    let line = TIME.replace_all(line.trim_end(), " TIME");
    let line = RUN.replace_all(&line, "${before}RUN").into_owned();
    OTHERS.iter().fold(line, |line, (pattern, place)| {
        pattern.replace_all(&line, *place).into_owned()
    })
}

fn lines_match(expected: &[String], printed: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return printed.is_empty();
    };
    if first.trim() == ANYTHING {
        return (0..=printed.len()).any(|skipped| lines_match(rest, &printed[skipped..]));
    }
    printed
        .split_first()
        .is_some_and(|(line, others)| line_matches(first, line) && lines_match(rest, others))
}

fn line_matches(expected: &str, printed: &str) -> bool {
    if expected == printed {
        return true;
    }
    let Some((head, last)) = expected.rsplit_once(ANYTHING) else {
        return false;
    };
    let mut parts = head.split(ANYTHING);
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn differences_are_found() {
    let check = |expected: &str, printed: &str, fits: bool| {
        assert_eq!(matches(expected, printed), fits, "{expected}\n{printed}");
    };
    check("", "", true);
    check("a\nb\n", "a\nb", true);
    check("a", "", false);
    check("", "a", false);
    check("a", "b", false);
    check("3 steps in 1ms", "3 steps in 21.5ms", true);
    check("3 steps in 1ms", "4 steps in 1ms", false);
    check("a   5ms", "a 120ms", true);
    check("\"at_ms\": 0.5", "\"at_ms\": 12", true);
    check("a\n…\nz", "a\nb\nc\nz", true);
    check("a\n…\nz", "a\nz", true);
    check("a\n…", "a\nb", true);
    check("a\n…\nz", "a\nb", false);
    check("run …, done", "run 4f, done", true);
    check("run …, done", "run 4f, not", false);
    check("a … b … c", "a 1 b 2 c", true);
    check("a … b … c", "a 1 c", false);
    check("run 0123abcd: done", "run 4567cdef: done", true);
    check("run 0123abcd: done", "ran 4567cdef: done", false);
    let listed = "0123abcd  2026-11-21 20:15:03  failed";
    check(listed, "4567cdef  2027-01-02 03:04:05  failed", true);
    check(listed, "4567cdef  2027-01-02 03:04:05  waiting", false);
    check("1ms → 2ms (× 2.00)", "3ms → 1s (× 333.33)", true);
    assert_eq!(
        run_ids("0123abcd → 4567cdef", "89ab0123 → cdef4567"),
        [("0123abcd", "89ab0123"), ("4567cdef", "cdef4567")]
    );
}

#[test]
fn commands_are_distinguished_from_their_output() {
    let block = "$ one\nout\n\nmore\n$ two\n";
    assert_eq!(
        commands(block).unwrap(),
        [("one", "out\n\nmore"), ("two", "")]
    );
    assert!(commands("out\n").is_err());
}
