//! Intended differences between our language and CEL as the `cel` crate implements it.

use cel::ExecutionError;
use planwright_core::Value;

use super::outcome::ReferenceOutcome;

/// An intended difference.
pub(super) struct Deviation {
    /// The difference and its reason.
    pub(super) reason: &'static str,
    /// Expressions, with our result and that of the crate, in words.
    pub(super) cases: &'static [(&'static str, &'static str, &'static str)],
    /// Tests if this explains the difference of a random expression.
    pub(super) explains: fn(&str, &Result<Value, String>, &ReferenceOutcome) -> bool,
}

/// All intended differences.
pub(super) const DEVIATIONS: &[Deviation] = &[
    Deviation {
        reason: "JSON has one type of number, so whole numbers and fractions calculate with each other",
        cases: &[
            ("1 + 1.5", "2.5", "failed"),
            ("n * d", "4.5", "failed"),
            ("1u + 1", "2", "failed"),
            ("2 - 3u", "-1", "failed"),
            ("1u - 2u", "-1", "failed"),
            ("-(1u)", "-1", "failed"),
            ("7.5 % 2.0", "1.5", "failed"),
            ("[2, 1.5].sort()", "[1.5,2]", "failed"),
            ("math.ceil(1)", "1", "failed"),
            ("math.floor(1)", "1", "failed"),
            ("math.round(1)", "1", "failed"),
            ("math.trunc(1)", "1", "failed"),
        ],
        explains: |_, _, theirs| match theirs {
            ReferenceOutcome::Failed(ExecutionError::UnsupportedBinaryOperator(_, left, right)) => {
                is_number(left) && is_number(right)
            }
            ReferenceOutcome::Failed(ExecutionError::Overflow(_, cel::Value::UInt(_), _)) => true,
            ReferenceOutcome::Failed(ExecutionError::NoSuchOverload(error)) => {
                let is_rounding = ["ceil", "floor", "round", "trunc"]
                    .iter()
                    .any(|name| error.function() == format!("math.{name}"));
                is_rounding && error.argument_types() == ["int"]
                    || error.argument_types().iter().any(|kind| kind == "uint")
            }
            ReferenceOutcome::Failed(ExecutionError::FunctionError { function, message }) => {
                function == "sort" && message.contains("same type")
            }
            _ => false,
        },
    },
    Deviation {
        reason: "`//` behind a value is the division of Python more often than a comment",
        cases: &[
            ("'a' // comment", "malformed", "\"a\""),
            ("1 // a \n + 2", "malformed", "3"),
            ("7 // 2", "malformed", "7"),
        ],
        explains: |text, ours, _| text.contains("//") && ours.is_err(),
    },
    Deviation {
        reason: "whole numbers go up to the largest that 64 bits hold, as they may come from a tool",
        cases: &[
            ("9223372036854775807 + 1", "9223372036854775808", "failed"),
            ("9223372036854775807 - -1", "9223372036854775808", "failed"),
            ("9223372036854775807 * 2", "18446744073709551614", "failed"),
            ("-9223372036854775808 / -1", "9223372036854775808", "failed"),
            ("-9223372036854775808 % -1", "0", "failed"),
            ("-(-9223372036854775808)", "9223372036854775808", "failed"),
            ("9223372036854775808", "9223372036854775808", "malformed"),
            ("0xFFFFFFFFFFFFFFFF", "18446744073709551615", "malformed"),
            ("int(1e19)", "10000000000000000000", "failed"),
            (
                "int('9223372036854775808')",
                "9223372036854775808",
                "failed",
            ),
            ("int(big)", "18446744073709551615", "failed"),
            (
                "math.abs(-9223372036854775808)",
                "9223372036854775808",
                "failed",
            ),
        ],
        explains: |_, _, theirs| match theirs {
            ReferenceOutcome::Failed(ExecutionError::Overflow(..)) => true,
            ReferenceOutcome::Failed(ExecutionError::FunctionError { message, .. }) => {
                message.contains("overflow") || message.contains("too large to fit")
            }
            _ => false,
        },
    },
    Deviation {
        reason: "a whole number and a double compare by what they amount to, without rounding one to the other",
        cases: &[
            ("9007199254740993 == 9007199254740992.0", "false", "true"),
            ("9007199254740993 > 9007199254740992.0", "true", "false"),
            (
                "9223372036854775807 < 9223372036854775807.0",
                "true",
                "false",
            ),
            ("big == 18446744073709551615.0", "false", "true"),
        ],
        explains: |_, _, _| false,
    },
    Deviation {
        reason: "JSON has no infinity: a result that no number can hold is an error",
        cases: &[
            ("1.0 / 0.0", "failed", "foreign"),
            ("0.0 / 0.0", "failed", "foreign"),
            ("1e308 * 10.0", "failed", "foreign"),
            ("1.0 / 0.0 > 1.0", "failed", "true"),
            ("double('inf')", "failed", "foreign"),
            ("double('1e400')", "failed", "foreign"),
        ],
        explains: |_, ours, _| matches!(ours, Err(message) if message.contains("not a number that JSON can hold")),
    },
    Deviation {
        reason: "a value as text is its JSON, as where a reference stands inside of a text",
        cases: &[
            ("string(1.0)", "\"1.0\"", "\"1\""),
            ("string(1e21)", "\"1e+21\"", "\"1000000000000000000000\""),
            ("string(1e-7)", "\"1e-7\"", "\"0.0000001\""),
            ("string(null)", "\"null\"", "failed"),
            ("string([1, 'a'])", r#""[1,\"a\"]""#, "failed"),
            ("string({'a': 1})", r#""{\"a\":1}""#, "failed"),
        ],
        explains: |_, _, _| false,
    },
    Deviation {
        reason: "a list of keys sorts by the first one that differs",
        cases: &[("[1, 2].sortBy(x, [-x])", "[2,1]", "failed")],
        explains: |_, _, _| false,
    },
    Deviation {
        reason: "times are texts in RFC 3339 and durations are seconds, which the crate leaves out",
        cases: &[
            (
                "timestamp('2020-01-01T00:00:00Z')",
                "\"2020-01-01T00:00:00Z\"",
                "failed",
            ),
            ("duration('1h')", "3600", "failed"),
            ("'2020-01-01T00:00:00Z'.getFullYear()", "2020", "failed"),
        ],
        explains: |_, _, _| false,
    },
    Deviation {
        reason: "only what JSON has is a value: no bytes, types, times, optionals, or keys that are not text",
        cases: &[
            ("b'abc'", "malformed", "foreign"),
            ("bytes('a')", "malformed", "foreign"),
            ("type(1) == int", "malformed", "true"),
            ("{1: 2}", "malformed", "foreign"),
            ("{n: 2}", "failed", "foreign"),
            ("{true: 2}", "malformed", "foreign"),
            ("{1: 2}[1]", "malformed", "2"),
            ("optional.of(1)", "malformed", "foreign"),
            ("a.?n", "malformed", "foreign"),
            ("a[?'n']", "malformed", "foreign"),
        ],
        explains: |_, ours, _| matches!(ours, Err(message) if message == "a key must be text"),
    },
    Deviation {
        reason: "of the extensions only those functions are there that plans have a use for",
        cases: &[
            ("math.sign(-1)", "malformed", "-1"),
            ("math.sqrt(4)", "malformed", "2.0"),
            ("'%s'.format(['a'])", "failed", "\"a\""),
            ("strings.quote('a')", "malformed", r#""\"a\"""#),
        ],
        explains: |_, _, _| false,
    },
    Deviation {
        reason: "paths are those of references: from the end of a list, through all items, with any name",
        cases: &[
            ("l[-1]", "3", "failed"),
            ("l[0 - 1]", "3", "failed"),
            ("l['0']", "1", "failed"),
            ("l.0", "1", "malformed"),
            ("rows.0.id", "\"x\"", "malformed"),
            ("rows[*].id", r#"["x","y","z"]"#, "malformed"),
            ("a.first-name", "\"Ada\"", "failed"),
            ("a.in", "4", "malformed"),
            ("n-1", "failed", "2"),
        ],
        explains: |_, _, theirs| match theirs {
            ReferenceOutcome::Failed(ExecutionError::IndexOutOfBounds(cel::Value::Int(index))) => {
                *index < 0
            }
            ReferenceOutcome::Failed(ExecutionError::NoSuchOverload(error)) => {
                error.function() == "_[_]" && error.argument_types() == ["list", "string"]
            }
            _ => false,
        },
    },
    Deviation {
        reason: "a part that is missing has a fallback (`??`) or is `null` (`?` behind its path)",
        cases: &[
            ("a.nope ?? 1", "1", "malformed"),
            ("a.n?", "3", "malformed"),
            ("a.nope?", "null", "malformed"),
            ("(a.nope ?? 2) + 1", "3", "malformed"),
        ],
        explains: |_, _, _| false,
    },
    Deviation {
        reason: "`has` asks about a whole path, however much of it is missing, and takes brackets",
        cases: &[
            ("has(a.nope.x)", "false", "failed"),
            ("has(a.n.x)", "false", "failed"),
            ("has(s.x)", "false", "failed"),
            ("has(z.x)", "false", "failed"),
            ("has(rows[9].id)", "false", "failed"),
            ("has(a['n'])", "true", "malformed"),
            ("has(l[0])", "true", "malformed"),
        ],
        explains: |text, ours, theirs| {
            let found_nothing = match theirs {
                ReferenceOutcome::Failed(
                    ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_),
                ) => true,
                ReferenceOutcome::Failed(ExecutionError::NoSuchOverload(error)) => {
                    ["_._", "_[_]"].contains(&error.function())
                }
                _ => false,
            };
            text.contains("has(") && ours.is_ok() && found_nothing
        },
    },
    Deviation {
        reason: "what is sure to fail is refused ahead, as a checker of types does, even where `||` would not need it",
        cases: &[
            ("nope || true", "failed", "true"),
            ("true || nope", "failed", "true"),
            ("nope && false", "failed", "false"),
            ("true || nope(1)", "malformed", "true"),
            ("true || 1.k", "malformed", "true"),
            ("true || [1][null]", "malformed", "true"),
            ("true || l[1.5]", "malformed", "true"),
            ("true || size()", "malformed", "true"),
            ("true || s.matches('(')", "malformed", "true"),
            ("true || {'a': 1, 'a': 2} == m", "malformed", "true"),
        ],
        explains: |_, ours, _| {
            let ahead = [
                "has no parts",
                "brackets need",
                "counts no item",
                "is malformed",
                "appears twice",
                "a key must be text",
            ];
            matches!(ours, Err(message) if message.starts_with("malformed: ")
                && ahead.iter().any(|part| message.contains(part)))
        },
    },
    Deviation {
        reason: "the crate makes macros of some functions and refuses literals in them ahead; ours are functions",
        cases: &[
            ("true || math.greatest('a') == 1", "true", "malformed"),
            ("true || math.least(1, true) == 1", "true", "malformed"),
            ("true || math.least([1, 'a']) == 1", "true", "malformed"),
            ("true || 1.sortBy(x, x) == l", "true", "malformed"),
        ],
        explains: |_, _, theirs| {
            matches!(theirs, ReferenceOutcome::Malformed(message)
                if message.contains("literal arguments must be numeric")
                    || message.contains("invalid single argument value")
                    || message.contains("sortBy can only be applied"))
        },
    },
    Deviation {
        reason: "the crate lets pass what CEL has no overload for: a list and a map, signs that undo each other",
        cases: &[
            ("[1] + m", "failed", r#"[1,"k"]"#),
            ("!!n", "failed", "3"),
            ("--s", "failed", "\"text\""),
        ],
        explains: |text, ours, _| match ours {
            Err(message) if text.contains("!!") => message.starts_with("`!` needs"),
            Err(message) if text.contains("--") => message.starts_with("`-` cannot be applied to"),
            Err(message) => message == "`+` cannot combine a list and an object",
            Ok(_) => false,
        },
    },
    Deviation {
        reason: "a dot before a name, which some write for the whole, would name a step",
        cases: &[(".n", "malformed", "3"), (".a.n", "malformed", "3")],
        explains: |_, _, _| false,
    },
    Deviation {
        reason: "text may be written as JSON has it, with the line ends that a plan in JSON makes of `\\n`",
        cases: &[
            (r"'\/'", "\"/\"", "malformed"),
            (r"'\ud83d\ude00'", "\"😀\"", "malformed"),
            ("'a\nb'", r#""a\nb""#, "malformed"),
        ],
        explains: |_, _, _| false,
    },
    Deviation {
        reason: "a part of a text is looked for with `in`, as in other languages",
        cases: &[
            ("'b' in 'abc'", "true", "failed"),
            ("'d' in 'abc'", "false", "failed"),
        ],
        explains: |_, _, theirs| match theirs {
            ReferenceOutcome::Failed(ExecutionError::NoSuchOverload(error)) => {
                error.function() == "@in" && error.argument_types() == ["string", "string"]
            }
            _ => false,
        },
    },
    Deviation {
        reason: "what can only mean one thing is read: a choice inside of a choice, a comma behind the last argument",
        cases: &[
            ("true ? true ? 1 : 2 : 3", "1", "malformed"),
            ("n==3?n==4?1:2:3", "2", "malformed"),
            ("size('a',)", "1", "malformed"),
            ("l.map(x, x,)", "[1,2,3]", "malformed"),
        ],
        explains: |_, _, _| false,
    },
];

fn is_number(value: &cel::Value) -> bool {
    matches!(
        value,
        cel::Value::Int(_) | cel::Value::UInt(_) | cel::Value::Float(_)
    )
}
