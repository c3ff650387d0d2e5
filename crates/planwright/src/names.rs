//! Warnings about names of tools: names that look like others, and names that belong to another server.

use std::collections::HashMap;

use planwright_core::Catalog;
use unicode_security::confusable_detection::skeleton;
use unicode_security::{MixedScript, RestrictionLevel, RestrictionLevelDetection};

/// The maximum number of warnings of one kind. Further ones are only counted.
const MAX_WARNINGS: usize = 20;

/// Warnings about tools that cannot be called by the names from their server.
pub fn collisions(catalog: &Catalog) -> Vec<String> {
    bounded(catalog.collisions().into_iter())
}

/// Warnings about names of tools and servers that look like those of others, or mix scripts that no language mixes.
pub fn lookalikes(catalog: &Catalog) -> Vec<String> {
    let mut names: Vec<(&str, &str, String)> = Vec::new();
    for tool in catalog.tools() {
        if !names
            .iter()
            .any(|(what, name, _)| *what == "server" && *name == &*tool.server)
        {
            names.push(("server", &tool.server, tool.server.to_string()));
        }
    }
    let tools = catalog.tools();
    names.extend(tools.map(|tool| ("tool", &*tool.name, tool.qualified_name().to_string())));
    let mut first: HashMap<(&str, String), (&str, &str)> = HashMap::new();
    let mut warnings = Vec::new();
    for (what, name, whole) in &names {
        let written = if name.is_ascii() {
            String::new()
        } else {
            format!(", written `{}`", name.escape_default())
        };
        let key = (*what, skeleton(name).collect::<String>());
        let (same, other) = first.entry(key).or_insert((name, whole));
        if same != name {
            warnings.push(format!(
                "the {what} `{whole}` looks like `{other}`{written}"
            ));
        }
        if !name.is_ascii() && is_mixed(name) {
            warnings.push(format!(
                "the name of the {what} `{whole}` mixes scripts{written}"
            ));
        }
    }
    bounded(warnings.into_iter())
}

/// Returns true if a name mixes scripts that no language mixes. Characters that are common to all scripts are skipped.
fn is_mixed(name: &str) -> bool {
    let letters: String = name.chars().filter(|sign| sign.is_alphanumeric()).collect();
    !letters.as_str().is_single_script()
        && !letters.check_restriction_level(RestrictionLevel::HighlyRestrictive)
}

fn bounded(warnings: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = warnings.len().saturating_sub(MAX_WARNINGS);
    let mut shown: Vec<String> = warnings.take(MAX_WARNINGS).collect();
    if more > 0 {
        shown.push(format!("{more} more warnings about names"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use planwright_core::{Catalog, Tool};

    use super::lookalikes;

    fn check(tools: &[(&str, &str)], expected: &[&str]) {
        let tools = tools.iter().map(|(server, name)| Tool::new(*server, *name));
        let catalog: Catalog = tools.collect();
        assert_eq!(lookalikes(&catalog), expected);
    }

    #[test]
    fn names_that_look_alike_are_warned_about() {
        check(&[("a", "save"), ("b", "save"), ("b", "Save")], &[]);
        check(
            &[("a", "save"), ("b", "s\u{430}ve")],
            &[
                "the tool `b.s\u{430}ve` looks like `a.save`, written `s\\u{430}ve`",
                "the name of the tool `b.s\u{430}ve` mixes scripts, written `s\\u{430}ve`",
            ],
        );
        check(
            &[("a", "pay1"), ("a", "payl")],
            &["the tool `a.payl` looks like `a.pay1`"],
        );
        check(
            &[("github", "a"), ("g\u{456}thub", "b")],
            &[
                "the server `g\u{456}thub` looks like `github`, written `g\\u{456}thub`",
                "the name of the server `g\u{456}thub` mixes scripts, written `g\\u{456}thub`",
            ],
        );
        check(
            &[
                ("a", "東京_list"),
                ("a", "größe.lesen"),
                ("a", "сохранить-файл"),
                ("a", "ファイル_read東"),
            ],
            &[],
        );
    }

    #[test]
    fn so_many_warnings_are_shown() {
        let names: Vec<String> = (0..30).map(|index| format!("x{index}_s\u{430}")).collect();
        let tools = names.iter().map(|name| Tool::new("a", name.as_str()));
        let warnings = lookalikes(&tools.collect());
        assert_eq!(warnings.len(), 21);
        assert_eq!(warnings[20], "10 more warnings about names");
    }
}
