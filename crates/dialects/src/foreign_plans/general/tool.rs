//! The names of tools in the forms that other systems have.

/// The name of the tool in `written` as `server.tool`; `None` if it is not one word.
pub(super) fn tool_name(written: &str) -> Option<String> {
    let word = written.trim();
    let word = word.split_once('@').map_or(word, |(name, _)| name);
    let word = word.strip_prefix("mcp:").unwrap_or(word);
    let word = match word.strip_prefix("mcp__") {
        Some(rest) => rest.replacen("__", ".", 1),
        None => word.replace("::", ".").replace(['/', ':'], "."),
    };
    let is_of_name = |sign: char| sign.is_alphanumeric() || "_.-".contains(sign);
    let is_name = word.starts_with(char::is_alphabetic)
        && word.ends_with(char::is_alphanumeric)
        && word.chars().all(is_of_name)
        && !word.contains("..");
    is_name.then_some(word)
}

/// The name of the tool in `written`, if that has a sign which only such names have: `server.tool`.
pub(super) fn qualified_name(written: &str) -> Option<String> {
    let name = tool_name(written)?;
    let (server, tool) = name.split_once('.')?;
    let is_word = |part: &str| part.starts_with(char::is_alphabetic) && part.len() > 1;
    // A file or an address is not a tool, and neither is a number of a version.
    let is_file = [
        "json", "md", "txt", "csv", "html", "py", "js", "com", "org", "example", "yaml", "xml",
        "log",
    ]
    .contains(&tool);
    (is_word(server) && is_word(tool) && !is_file).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools() {
        let check = |written: &str, plain: Option<&str>, qualified: Option<&str>| {
            assert_eq!(tool_name(written).as_deref(), plain, "{written}");
            assert_eq!(qualified_name(written).as_deref(), qualified, "{written}");
        };
        check(
            "fs/read_file@v1",
            Some("fs.read_file"),
            Some("fs.read_file"),
        );
        check(
            "mcp__db__run_query",
            Some("db.run_query"),
            Some("db.run_query"),
        );
        check("mcp:db.query", Some("db.query"), Some("db.query"));
        check("query", Some("query"), None);
        check("report.md", Some("report.md"), None);
        check("two words", None, None);
        check("1.0", None, None);
        check("", None, None);
    }
}
