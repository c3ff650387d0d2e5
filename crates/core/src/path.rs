//! Evaluation of a path on a value.

use std::fmt;
use std::sync::Arc;

use crate::Value;
use crate::plan::{Missing, Segment};

/// Maximum number of keys that an error names.
const MAX_KNOWN_KEYS: usize = 20;

/// A path that leads nowhere in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    /// The index of the failing segment.
    pub at: usize,
    /// The fact: one lower-case clause.
    pub message: String,
    /// The keys that exist where the path fails, sorted, at most twenty.
    pub known: Vec<Arc<str>>,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PathError {}

/// Returns the part of `value` at `path`.
///
/// On a list, an integer key selects an item; an index selects items of lists only; `missing` determines the effect of
/// a missing part. [`Segment::Each`] produces a list; further ones flatten it.
///
/// # Errors
///
/// Names the first segment that leads nowhere, and the keys that exist there.
pub fn read_path(value: &Value, path: &[Segment], missing: Missing) -> Result<Value, PathError> {
    follow_path(value, path, missing, &mut |_| Ok(()))
}

/// Evaluates a path like [`read_path`], and announces to `visit` how many items it is about to visit.
pub(crate) fn follow_path<E: From<PathError>>(
    value: &Value,
    path: &[Segment],
    missing: Missing,
    visit: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<Value, E> {
    let reader = PathReader {
        path,
        missing,
        in_items: false,
    };
    reader.follow(value, 0, visit)
}

#[derive(Clone, Copy)]
struct PathReader<'a> {
    path: &'a [Segment],
    missing: Missing,
    in_items: bool,
}

impl PathReader<'_> {
    /// Evaluates the segments from `start` on. It recurses only at `Each`, which descends one level in the value, so
    /// the recursion is never deeper than the value.
    fn follow<E: From<PathError>>(
        self,
        value: &Value,
        start: usize,
        visit: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Value, E> {
        let mut current = value;
        for (at, segment) in self.path.iter().enumerate().skip(start) {
            let found = match segment {
                Segment::Key(key) => key_of(current, key, segment, at),
                Segment::Index(index) => item_of(current, *index, at, segment),
                Segment::Each => match current {
                    Value::List(items) => return self.each(current, items, at, visit),
                    other => Err(path_error(
                        at,
                        format!("`[*]` needs a list, found {}", with_article(other)),
                        other,
                    )),
                },
            };
            current = match found {
                Ok(part) => part,
                // The rest of the path has nothing to apply to, so the result is `null` at once.
                Err(_) if self.forgives(segment) => return Ok(Value::Null),
                Err(error) => return Err(error.into()),
            };
        }
        Ok(current.clone())
    }

    fn each<E: From<PathError>>(
        self,
        list: &Value,
        items: &[Value],
        at: usize,
        visit: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Value, E> {
        let rest = at + 1;
        let Some(path) = self.path.get(rest..).filter(|path| !path.is_empty()) else {
            // As the last segment, `[*]` is the list itself: cloning shares it.
            return Ok(list.clone());
        };
        // The cost is announced before the work, so that a budget can stop it.
        visit(items.len())?;
        // A later `[*]` makes a list of each item; these lists become one.
        let flatten = path.contains(&Segment::Each);
        let inside = Self {
            in_items: true,
            ..self
        };
        let mut found = Vec::with_capacity(items.len());
        for item in items {
            match inside.follow(item, rest, visit)? {
                Value::List(parts) if flatten => {
                    visit(parts.len())?;
                    found.extend(parts.iter().cloned());
                }
                part => found.push(part),
            }
        }
        Ok(found.into())
    }

    /// Returns true if a missing `segment` gives `null`.
    fn forgives(self, segment: &Segment) -> bool {
        match self.missing {
            Missing::Fail => false,
            Missing::Null => true,
            Missing::NullInItems => self.in_items && *segment != Segment::Each,
        }
    }
}

fn key_of<'v>(
    value: &'v Value,
    key: &str,
    written: &Segment,
    at: usize,
) -> Result<&'v Value, PathError> {
    match value {
        Value::Object(fields) => fields.get(key).ok_or_else(|| {
            let mut error = path_error(at, String::new(), value);
            error.message = if error.known.is_empty() {
                format!("there is no `{key}` in an empty object")
            } else {
                format!("there is no `{key}`; known are {}", quoted(&error.known))
            };
            error
        }),
        // Many languages write the first item of a list as `rows.0`.
        Value::List(_) => match whole_number(key) {
            Some(index) => item_of(value, index, at, written),
            None => Err(path_error(
                at,
                format!("there is no `{key}` in a list"),
                value,
            )),
        },
        other => Err(path_error(
            at,
            format!("there is no `{key}` in {}", with_article(other)),
            other,
        )),
    }
}

/// Parses a key that counts items: decimal digits, with a minus sign to count from the end.
pub(crate) fn whole_number(key: &str) -> Option<i64> {
    let digits = key.strip_prefix('-').unwrap_or(key);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| key.parse().ok()).flatten()
}

fn item_of<'v>(
    value: &'v Value,
    index: i64,
    at: usize,
    written: &Segment,
) -> Result<&'v Value, PathError> {
    let Value::List(items) = value else {
        return Err(path_error(
            at,
            format!("`{written}` needs a list, found {}", with_article(value)),
            value,
        ));
    };
    let position = if index < 0 {
        usize::try_from(index.unsigned_abs())
            .ok()
            .and_then(|back| items.len().checked_sub(back))
    } else {
        usize::try_from(index).ok()
    };
    position
        .and_then(|position| items.get(position))
        .ok_or_else(|| {
            let count = items.len();
            path_error(
                at,
                format!("there is no item `{written}` in a list of {count}"),
                value,
            )
        })
}

fn path_error(at: usize, message: String, value: &Value) -> PathError {
    let mut known: Vec<Arc<str>> = value
        .as_object()
        .map(|fields| fields.keys().cloned().collect())
        .unwrap_or_default();
    known.sort();
    known.truncate(MAX_KNOWN_KEYS);
    PathError { at, message, known }
}

fn quoted(keys: &[Arc<str>]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    quoted.join(", ")
}

/// Returns the kind of `value` with its article, for messages.
pub(crate) fn with_article(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::Text(_) => "text",
        Value::List(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::read_path;
    use crate::Value;
    use crate::plan::{Alternative, Form, Missing, Read};

    /// Compares the part of a value at `path`, which is written as after a step's id: `.a[0]`.
    fn check(value: &str, path: &str, expected: Result<&str, &str>) {
        let Ok(Form::First(alternatives)) = crate::expression::parse_form(&format!("value{path}"))
        else {
            panic!("`{path}` is not a path");
        };
        let [Alternative::Read(Read { path, missing, .. })] = alternatives.as_slice() else {
            panic!("`{path}` is not a plain path");
        };
        let found = read_path(&Value::from_json(value).unwrap(), path, *missing);
        let found = found
            .map(|value| value.to_json())
            .map_err(|error| error.message);
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{path:?} of {value}");
    }

    #[test]
    fn keys_and_positions() {
        check(r#"{"a":{"b":7}}"#, "", Ok(r#"{"a":{"b":7}}"#));
        check(r#"{"a":{"b":7}}"#, ".a.b", Ok("7"));
        check(r#"{"a":null}"#, ".a", Ok("null"));
        check(r#"{"first-name":1}"#, ".first-name", Ok("1"));
        check(r#"{"a b":1}"#, "[\"a b\"]", Ok("1"));
        check(r#"{"0":"zero"}"#, ".0", Ok(r#""zero""#));
        check("[1,2,3]", ".0", Ok("1"));
        check("[1,2,3]", "[2]", Ok("3"));
        check("[1,2,3]", "[-1]", Ok("3"));
        check("[1,2,3]", "[\"-3\"]", Ok("1"));
    }

    #[test]
    fn missing_fields_are_named() {
        check(
            r#"{"b":1,"a":2}"#,
            ".c",
            Err("there is no `c`; known are `a`, `b`"),
        );
        check("{}", ".c", Err("there is no `c` in an empty object"));
        check("[1]", ".c", Err("there is no `c` in a list"));
        check("7", ".c", Err("there is no `c` in a number"));
        check("null", ".c", Err("there is no `c` in null"));
        check("[1,2]", "[2]", Err("there is no item `[2]` in a list of 2"));
        check(
            "[1,2]",
            "[\"-3\"]",
            Err("there is no item `-3` in a list of 2"),
        );
        check(
            "[1,2]",
            "[-9223372036854775808]",
            Err("there is no item `[-9223372036854775808]` in a list of 2"),
        );
        check(
            r#"{"0":1}"#,
            "[0]",
            Err("`[0]` needs a list, found an object"),
        );
        check(
            r#"{"a":1}"#,
            "[*]",
            Err("`[*]` needs a list, found an object"),
        );
        check(
            r#"{"a":1}"#,
            ".a[*].b",
            Err("`[*]` needs a list, found a number"),
        );
        check(
            r#"[{"a":1},{"b":1}]"#,
            "[*].a",
            Err("there is no `a`; known are `b`"),
        );
    }

    #[test]
    fn every_item() {
        check("[1,2]", "[*]", Ok("[1,2]"));
        check("[]", "[*].a", Ok("[]"));
        check(r#"[{"a":1},{"a":[2]}]"#, "[*].a", Ok("[1,[2]]"));
        check(
            r#"[{"a":[1,2]},{"a":[]},{"a":[3]}]"#,
            "[*].a[*]",
            Ok("[1,2,3]"),
        );
        check(
            r#"[{"a":[{"b":1},{"b":[2,3]}]},{"a":[{"b":4}]}]"#,
            "[*].a[*].b",
            Ok("[1,[2,3],4]"),
        );
        check("[[1,2],[3]]", "[*][*]", Ok("[1,2,3]"));
        check("[[1,2],[3]]", "[*][0]", Ok("[1,3]"));
        check("[[[1],[2]],[[3]]]", "[*][*][*]", Ok("[1,2,3]"));
    }

    #[test]
    fn missing_parts_may_be_null() {
        check(r#"{"a":1}"#, ".b?", Ok("null"));
        check("[1]", "[5].x?", Ok("null"));
        check("7", ".a[*].b?", Ok("null"));
        check(r#"[{"a":1},{}]"#, "[*].a?", Ok("[1,null]"));
        check(r#"[{"a":1},{},7,null]"#, "[*?].a", Ok("[1,null,null,null]"));
        check(
            r#"{"a":1}"#,
            ".b[*?].c",
            Err("there is no `b`; known are `a`"),
        );
        check(r#"[{"a":[1]},{}]"#, "[*?].a[*]", Ok("[1,null]"));
        check(
            r#"[{"a":{}}]"#,
            "[*?].a[*]",
            Err("`[*]` needs a list, found an object"),
        );
    }

    #[test]
    fn an_error_names_at_most_twenty_keys() {
        let many = Value::object((0..30).map(|key| (format!("k{key:02}"), Value::Null)));
        let error = read_path(&many, &[crate::plan::Segment::key("x")], Missing::Fail).unwrap_err();
        assert_eq!(error.at, 0);
        assert_eq!(error.known.len(), 20);
        assert_eq!(error.known[0].as_ref(), "k00");
    }
}
