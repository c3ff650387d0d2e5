//! Conversion of a client's rules about the tools of its servers into our rules. Pure: from texts to rules.

use planwright::core::{ToolPattern, Value};

use super::edit::ObjectText;

/// The lists of `[tools]` that rules go into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleList {
    NoAsk,
    Ask,
    Deny,
}

/// A rule of a client about tools of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientRule {
    pub(crate) list: RuleList,
    /// The tools, as our files name them: `server.tool`.
    pub(crate) pattern: String,
    /// The rule as written in the client's file.
    pub(crate) written: String,
    /// The file.
    pub(crate) file: String,
    /// True if the file is the user's own. Rules of other files can only be stricter.
    pub(crate) is_own: bool,
}

/// A file with a client's rules, separate from its servers.
#[derive(Clone, Debug)]
pub(crate) struct RuleFile {
    /// The display name of the client.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) form: RuleForm,
    pub(crate) is_own: bool,
}

/// The form of a file of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleForm {
    /// Settings of Claude Code: `permissions` with `allow`, `ask` and `deny`, rules such as `mcp__server__tool`.
    Claude,
    /// `permissions.json` of Cursor: `mcpAllowlist`, rules such as `server:tool`.
    Cursor,
}

/// Fields of a server's entry that name tools, with their meanings: Cline, Roo Code, Kiro, Gemini CLI, Codex.
const FIELDS: &[(&str, RuleList)] = &[
    ("alwaysAllow", RuleList::NoAsk),
    ("autoApprove", RuleList::NoAsk),
    ("disabledTools", RuleList::Deny),
    ("excludeTools", RuleList::Deny),
    ("disabled_tools", RuleList::Deny),
];

/// The words of Codex for the approval of calls. The others leave it to the annotations of the tools, as Planwright does.
const APPROVALS: &[(&str, RuleList)] = &[("approve", RuleList::NoAsk), ("prompt", RuleList::Ask)];

impl RuleList {
    /// The key below `[tools]`.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::NoAsk => "no_ask",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl ClientRule {
    /// Returns true if the rule relaxes a restriction, which only a file of the user may do.
    pub(crate) fn is_refused(&self) -> bool {
        self.list == RuleList::NoAsk && !self.is_own
    }
}

/// Reads the rules in `file` about the servers `moved`; `servers` are all servers of the client.
///
/// # Errors
///
/// The error of a text that is not JSON.
pub(crate) fn of_file(
    file: &RuleFile,
    moved: &[String],
    servers: &[String],
) -> Result<Vec<ClientRule>, String> {
    let sections: &[(&[&str], &str, RuleList)] = match file.form {
        RuleForm::Claude => &[
            (&["permissions"], "allow", RuleList::NoAsk),
            (&["permissions"], "ask", RuleList::Ask),
            (&["permissions"], "deny", RuleList::Deny),
        ],
        RuleForm::Cursor => &[(&[], "mcpAllowlist", RuleList::NoAsk)],
    };
    let mut rules = Vec::new();
    for (path, name, list) in sections {
        let object = ObjectText::find(&file.text, path)?;
        let section = object.as_ref().and_then(|object| object.get(name));
        let written = section.and_then(|section| section.value.as_list());
        for written in texts(written.unwrap_or_default()) {
            for server in moved {
                let patterns = match file.form {
                    RuleForm::Claude => of_claude(written, *list, server, servers),
                    RuleForm::Cursor => of_cursor(written, server),
                };
                rules.extend(patterns.into_iter().map(|pattern| ClientRule {
                    list: *list,
                    pattern,
                    written: written.to_owned(),
                    file: file.name.clone(),
                    is_own: file.is_own,
                }));
            }
        }
    }
    Ok(rules)
}

/// The rules in the entry of a server.
pub(crate) fn of_entry(server: &str, entry: &Value, file: &str, is_own: bool) -> Vec<ClientRule> {
    let rule = |list, tool: &str, written: String| ClientRule {
        list,
        pattern: format!("{server}.{tool}"),
        written,
        file: file.to_owned(),
        is_own,
    };
    let mut rules = Vec::new();
    for (field, list) in FIELDS {
        let tools = entry.get(field).and_then(Value::as_list);
        for tool in texts(tools.unwrap_or_default()) {
            rules.push(rule(*list, tool, format!("{field}: {tool}")));
        }
    }
    if entry.get("trust").and_then(Value::as_bool) == Some(true) {
        rules.push(rule(RuleList::NoAsk, "*", "trust: true".to_owned()));
    }
    let approval = |field: &str, value: Option<&Value>, tool: &str| {
        let word = value.and_then(Value::as_text)?;
        let (_, list) = APPROVALS.iter().find(|(known, _)| *known == word)?;
        Some(rule(*list, tool, format!("{field}: {word}")))
    };
    let field = "default_tools_approval_mode";
    rules.extend(approval(field, entry.get(field), "*"));
    let tools = entry.get("tools").and_then(Value::as_object);
    // If tools need no approval by default, a tool with another mode needs one.
    let default = entry.get("default_tools_approval_mode");
    let approves = default.and_then(Value::as_text) == Some("approve");
    for (tool, settings) in tools.into_iter().flatten() {
        let field = "approval_mode";
        let written = format!("tools.{tool}.{field}");
        let mode = settings.get(field);
        let of_tool = approval(&written, mode, tool);
        let is_stricter = approves && of_tool.is_none();
        rules.extend(of_tool);
        if let Some(word) = mode.and_then(Value::as_text).filter(|_| is_stricter) {
            rules.push(rule(RuleList::Ask, tool, format!("{written}: {word}")));
        }
    }
    rules
}

fn texts(items: &[Value]) -> impl Iterator<Item = &str> {
    let texts = items.iter().filter_map(Value::as_text);
    texts.filter(|text| !text.is_empty())
}

/// Returns the patterns of a rule of Claude Code for the tools of `server`; none if it is about other servers. A rule that allows must
/// name the server in full, and applies only to the server with the longest matching name. A rule that forbids may have a `*`
/// anywhere.
fn of_claude(rule: &str, list: RuleList, server: &str, servers: &[String]) -> Vec<String> {
    let rule = match rule.split_once('(') {
        None => rule,
        // A rule about certain arguments cannot be carried over exactly: permissions are dropped, restrictions apply to all arguments.
        Some(_) if list == RuleList::NoAsk => return Vec::new(),
        Some((name, _)) => name,
    };
    let name = in_claude(server);
    let strict = list != RuleList::NoAsk;
    if strict && rule == "*" {
        return vec![format!("{server}.*")];
    }
    let Some(rest) = rule.strip_prefix("mcp__") else {
        return Vec::new();
    };
    let names_it = |part: &str| {
        if strict {
            ToolPattern::new(part).covers_name("", &name)
        } else {
            part == name
        }
    };
    let names_longer = |other: &String| {
        let other = in_claude(other);
        let tools = format!("{other}__");
        name.len() < other.len() && (rest == other || rest.starts_with(&tools))
    };
    if !strict && servers.iter().any(names_longer) {
        return Vec::new();
    }
    if names_it(rest) {
        return vec![format!("{server}.*")];
    }
    let splits = rest.char_indices().map(|(at, _)| rest.split_at(at));
    splits
        .filter_map(|(part, tool)| Some((part, tool.strip_prefix("__")?)))
        .filter(|(part, tool)| !tool.is_empty() && names_it(part))
        .map(|(_, tool)| format!("{server}.{tool}"))
        .collect()
}

/// Returns the name of a server as Claude Code writes it in the names of its tools.
fn in_claude(server: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    server
        .chars()
        .map(|letter| if plain(letter) { letter } else { '_' })
        .collect()
}

/// Returns the patterns of a rule of Cursor for the tools of `server`; none if it is about other servers.
fn of_cursor(rule: &str, server: &str) -> Vec<String> {
    let Some((part, tool)) = rule.split_once(':') else {
        return Vec::new();
    };
    let names_it = part == server || part == "*";
    let is_one = names_it && !tool.is_empty();
    is_one
        .then(|| format!("{server}.{tool}"))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, list: RuleList, server: &str, expected: &[&str]) {
        let servers = ["git", "a", "a__b", "my server"].map(str::to_owned);
        assert_eq!(of_claude(rule, list, server, &servers), expected, "{rule}");
    }

    #[test]
    fn rules_of_claude_code() {
        let allow = RuleList::NoAsk;
        check("mcp__git", allow, "git", &["git.*"]);
        check("mcp__git__*", allow, "git", &["git.*"]);
        check("mcp__git__get_*", allow, "git", &["git.get_*"]);
        check("mcp__git__status", allow, "git", &["git.status"]);
        check("mcp__my_server__x", allow, "my server", &["my server.x"]);
        // These have no effect in the client, either.
        for rule in [
            "mcp__*",
            "mcp__g*",
            "*",
            "mcp__git__x(y)",
            "Bash(git:*)",
            "mcp__gi",
            "mcp__git__",
        ] {
            check(rule, allow, "git", &[]);
        }
        check("mcp__a__b__x", allow, "a", &[]);
        check("mcp__a__b__x", allow, "a__b", &["a__b.x"]);
        for list in [RuleList::Ask, RuleList::Deny] {
            check("mcp__*", list, "git", &["git.*"]);
            check("*", list, "git", &["git.*"]);
            check("mcp__*__delete_*", list, "git", &["git.delete_*"]);
            check("mcp__git__pay(*)", list, "git", &["git.pay"]);
            check("mcp__a__b__x", list, "a", &["a.b__x"]);
            check("mcp__a__b__x", list, "a__b", &["a__b.x"]);
        }
    }

    #[test]
    fn rules_of_others() {
        assert_eq!(of_cursor("git:*", "git"), ["git.*"]);
        assert_eq!(of_cursor("*:status", "git"), ["git.status"]);
        assert_eq!(of_cursor("hub:status", "git"), [""; 0]);
        let entry = r#"{"alwaysAllow": ["a"], "autoApprove": ["b"], "disabledTools": ["c"], "excludeTools": ["d"], "trust": true}"#;
        let rules = of_entry("git", &Value::from_json(entry).unwrap(), "f", true);
        let texts: Vec<String> = rules
            .iter()
            .map(|rule| format!("{} {}", rule.list.key(), rule.pattern))
            .collect();
        assert_eq!(
            texts,
            [
                "no_ask git.a",
                "no_ask git.b",
                "deny git.c",
                "deny git.d",
                "no_ask git.*"
            ]
        );
    }
}
