//! Patterns for paths, such as `src/**/*.{rs,toml}`.

use planwright_engine::ToolError;
use regex::Regex;

use super::confine::failure;

/// A pattern for paths with `/` between the names.
///
/// `*` and `?` stand for letters of one name, `**` for any number of folders, `[a-z]` and `[!a-z]` for one letter, `{a,b}`
/// for alternatives, and `\` takes the meaning from the letter behind it. A pattern without `/` looks at the last name only.
#[derive(Debug)]
pub(super) struct Glob {
    regex: Regex,
    whole_path: bool,
}

impl Glob {
    /// Reads `pattern`.
    ///
    /// # Errors
    ///
    /// That it is malformed.
    pub(super) fn new(pattern: &str) -> Result<Self, ToolError> {
        let malformed = || {
            let message = format!("`{pattern}` is not a pattern for paths");
            failure("invalid_pattern", message)
        };
        let regex = translate(pattern).ok_or_else(malformed)?;
        Ok(Self {
            regex: Regex::new(&regex).map_err(|_| malformed())?,
            whole_path: pattern.contains('/'),
        })
    }

    /// Returns whether the pattern stands for `path`.
    pub(super) fn matches(&self, path: &str) -> bool {
        let text = if self.whole_path {
            path
        } else {
            path.rsplit('/').next().unwrap_or(path)
        };
        self.regex.is_match(text)
    }
}

/// Returns the equivalent regular expression; `None` if a bracket is not closed.
fn translate(pattern: &str) -> Option<String> {
    let mut regex = String::from("(?s)^");
    let mut rest = pattern.strip_prefix('/').unwrap_or(pattern);
    let mut open_groups = 0_u32;
    let mut at_name = true;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let was_at_name = at_name;
        at_name = letter == '/';
        match letter {
            '*' if rest.starts_with('*') => {
                rest = rest.trim_start_matches('*');
                match rest.strip_prefix('/') {
                    Some(behind) if was_at_name => {
                        regex.push_str("(?:[^/]+/)*");
                        rest = behind;
                        at_name = true;
                    }
                    _ => regex.push_str(".*"),
                }
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '[' => {
                // A bracket that comes first is a letter of the class.
                let first = rest.trim_start_matches(['!', '^']);
                let end = rest.len() - first.len() + 1 + first.get(1..)?.find(']')?;
                regex.push_str(&class(&rest[..end]));
                rest = &rest[end + 1..];
            }
            '{' => {
                open_groups += 1;
                regex.push_str("(?:");
            }
            '}' if open_groups > 0 => {
                open_groups -= 1;
                regex.push(')');
            }
            ',' if open_groups > 0 => regex.push('|'),
            '\\' => {
                let escaped = rest.chars().next()?;
                rest = &rest[escaped.len_utf8()..];
                regex.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
            }
            _ => regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    regex.push('$');
    (open_groups == 0).then_some(regex)
}

/// A class of letters, which never includes the `/` between names.
fn class(inner: &str) -> String {
    let (sign, letters) = match inner.strip_prefix(['!', '^']) {
        Some(letters) => ("^", letters),
        None => ("", inner),
    };
    let letters = letters.replace('\\', r"\\").replace('[', r"\[");
    let letters = letters.replace("&&", r"&\&").replace("~~", r"~\~");
    let letters = match letters.strip_prefix(']') {
        Some(behind) => format!(r"\]{behind}"),
        None => letters,
    };
    format!("[[{sign}{letters}]&&[^/]]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let glob = Glob::new(pattern).unwrap();
        for path in matching {
            assert!(glob.matches(path), "`{pattern}` should match `{path}`");
        }
        for path in others {
            assert!(!glob.matches(path), "`{pattern}` should not match `{path}`");
        }
    }

    #[test]
    fn patterns_match_what_they_say() {
        check(
            "*.rs",
            &["a.rs", "b/c.rs", ".rs"],
            &["a.rst", "rs", "a.rs/b"],
        );
        check(
            "src/*.rs",
            &["src/a.rs"],
            &["a.rs", "src/b/a.rs", "x/src/a.rs"],
        );
        check("src/**/*.rs", &["src/a.rs", "src/b/c/a.rs"], &["a.rs"]);
        check("**/mod.rs", &["mod.rs", "a/b/mod.rs"], &["a/xmod.rs"]);
        check("src/**", &["src/a", "src/b/c"], &["a"]);
        check("*.{rs,toml}", &["a.rs", "Cargo.toml"], &["a.md"]);
        check("{a,b{1,2}}.x", &["a.x", "b1.x", "b2.x"], &["b.x"]);
        check("?.md", &["ä.md"], &["ab.md", ".md"]);
        check("[a-c]1", &["b1"], &["d1", "/1"]);
        check("[!a-c]1", &["d1"], &["b1", "1"]);
        check("[]x]", &["]", "x"], &["y"]);
        check("[[&&]", &["[", "&"], &["x"]);
        check(r"\*.rs", &["*.rs"], &["a.rs"]);
        check("a+b.(c)", &["a+b.(c)"], &["aab.c"]);
        check("/a", &["a"], &["b/a"]);
        check("a,b}", &["a,b}"], &[]);
    }

    #[test]
    fn open_brackets_are_found() {
        for pattern in ["[a", "{a,b", "a\\", "[", "[z-a]", "[]"] {
            let error = Glob::new(pattern).unwrap_err();
            assert_eq!(
                error.message,
                format!("`{pattern}` is not a pattern for paths")
            );
        }
    }
}
