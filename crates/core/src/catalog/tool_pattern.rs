//! Patterns over tool names, which select the tools that a rule applies to.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/tools.md#a-pattern-with-a-dot-never-covers-a-bare-name).

use std::fmt;
use std::sync::Arc;

use crate::Tool;

/// A pattern over tool names: `server.tool`, or `tool` of any server, with `*` for any text.
///
/// A pattern with a dot never matches the bare name of a tool: a rule for `files.*` does not apply
/// to a tool that another server calls `files.read`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolPattern(Arc<str>);

impl ToolPattern {
    /// Creates a pattern from its text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the pattern matches `tool`.
    pub fn covers(&self, tool: &Tool) -> bool {
        self.covers_name(&tool.server, &tool.name)
    }

    /// Returns true if the pattern matches the tool `tool` of the server `server`.
    pub fn covers_name(&self, server: &str, tool: &str) -> bool {
        // Names are short, so a plain loop over the bytes is faster than a search.
        if !self.0.bytes().any(|byte| byte == b'.') {
            return matches_name(&self.0, tool);
        }
        // Server and tool names may contain dots, so any dot may be the separator.
        let bytes = self.0.bytes().enumerate();
        let mut dots = bytes.filter(|(_, byte)| *byte == b'.');
        dots.any(|(at, _)| {
            let (of_server, of_tool) = (self.0.get(..at), self.0.get(at + 1..));
            of_server.is_some_and(|pattern| matches_name(pattern, server))
                && of_tool.is_some_and(|pattern| matches_name(pattern, tool))
        })
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ToolPattern {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for ToolPattern {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Returns true if `text` matches `pattern`, with `*` for any text. Each part between stars is matched as early as
/// possible, from left to right, so the time is bounded by the product of both lengths.
pub(crate) fn matches_name(pattern: &str, text: &str) -> bool {
    // Names are short, so a plain loop over the bytes is faster than a search.
    let star = pattern.bytes().position(|byte| byte == b'*');
    let Some((first, rest)) = star.and_then(|at| pattern.split_at_checked(at)) else {
        return pattern == text;
    };
    let rest = rest.get(1..).unwrap_or_default();
    let Some(mut left) = text.strip_prefix(first) else {
        return false;
    };
    if rest.is_empty() {
        return true;
    }
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in between.split('*') {
        let Some(at) = left.find(part) else {
            return false;
        };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    // The last part must match the end, not its first occurrence.
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::ToolPattern;

    fn check(pattern: &str, covered: &[(&str, &str)], others: &[(&str, &str)]) {
        let pattern = ToolPattern::new(pattern);
        for (server, tool) in covered {
            assert!(
                pattern.covers_name(server, tool),
                "{pattern} {server} {tool}"
            );
        }
        for (server, tool) in others {
            assert!(
                !pattern.covers_name(server, tool),
                "{pattern} {server} {tool}"
            );
        }
    }

    #[test]
    fn names_of_any_server() {
        check(
            "pay",
            &[("shop", "pay"), ("bank", "pay")],
            &[("shop", "pays"), ("pay", "x")],
        );
        check("", &[], &[("", "x"), ("x", "y")]);
        check("*", &[("a", "b"), ("", "")], &[]);
        check(
            "delete_*",
            &[("a", "delete_"), ("a", "delete_all")],
            &[("a", "undelete_x")],
        );
        check(
            "*_file",
            &[("a", "_file"), ("a", "read_file")],
            &[("a", "read_files")],
        );
        check(
            "a*a",
            &[("s", "aa"), ("s", "aba")],
            &[("s", "a"), ("s", "ab")],
        );
        check(
            "a*b*c",
            &[("s", "abc"), ("s", "axbxbxc")],
            &[("s", "acb"), ("s", "ab"), ("s", "bc")],
        );
        check("*é*", &[("s", "é"), ("s", "café!")], &[("s", "e")]);
    }

    #[test]
    fn names_with_their_server() {
        check(
            "shop.pay",
            &[("shop", "pay")],
            &[("bank", "pay"), ("bank", "shop.pay")],
        );
        check(
            "shop.*",
            &[("shop", "pay"), ("shop", "a.b")],
            &[("shops", "pay"), ("evil", "shop.pay")],
        );
        check(
            "*.pay",
            &[("shop", "pay"), ("", "pay")],
            &[("shop", "payout")],
        );
        check("a.b.c", &[("a", "b.c"), ("a.b", "c")], &[("x", "a.b.c")]);
    }
}
