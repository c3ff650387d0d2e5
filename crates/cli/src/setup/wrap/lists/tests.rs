//! Lists of all syntaxes: one server leaves, another takes its place, and it returns.

use planwright::core::Value;

use super::server_list::{self, ServerList};
use crate::setup::wrap::client::ListSyntax;

fn open(syntax: ListSyntax, key: &str, text: &str) -> Box<dyn ServerList> {
    server_list::open(syntax, text, &[key]).unwrap().unwrap()
}

fn names(list: &dyn ServerList) -> Vec<String> {
    let servers = list.servers().into_iter();
    servers.map(|(name, _)| name).collect()
}

/// Replaces the first server by the gateway, and puts it back.
#[track_caller]
fn check(syntax: ListSyntax, key: &str, text: &str, replaced: &str) {
    let mut list = open(syntax, key, text);
    assert_eq!(list.text(), text);
    let before = list.servers();
    let entry = Value::object([
        ("command", Value::from("planwright")),
        ("args", Value::list([Value::from("serve")])),
    ]);
    let fragment = list.remove(0);
    let gateway = list.format("gateway", &entry, Some(&fragment));
    list.insert(0, &gateway).unwrap();
    assert_eq!(list.text(), replaced);

    let mut list = open(syntax, key, replaced);
    let servers = list.servers();
    let at = servers.iter().position(|(name, _)| name == "gateway");
    let at = at.unwrap();
    let command = servers[at].1.get("command").and_then(Value::as_text);
    assert_eq!(command, Some("planwright"));
    list.remove(at);
    list.insert(at, &fragment).unwrap();
    let returned = open(syntax, key, &list.text());
    let mut after = returned.servers();
    after.sort_by_key(|(name, _)| before.iter().position(|(known, _)| known == name));
    assert_eq!(after, before, "{}", list.text());

    // Under another name beside itself.
    let mut list = returned;
    let (_, entry) = &before[0];
    let other = list.renamed(&fragment, "other-2", entry);
    list.insert(0, &other).unwrap();
    let all = names(&*open(syntax, key, &list.text()));
    assert_eq!(all.len(), before.len() + 1, "{}", list.text());
    assert!(all.contains(&"other-2".to_owned()), "{}", list.text());
}

#[test]
fn toml() {
    check(
        ListSyntax::Toml,
        "mcp_servers",
        "# Mine.\na = 1\n\n# Git.\n[mcp_servers.git] # here\ncommand = 'g'\n\n[mcp_servers.git.env]\nA = \"1\"\n\n[mcp_servers.time]\ncommand = \"t\"\n\n[z]\n",
        "# Mine.\na = 1\n\n[mcp_servers.gateway]\ncommand = \"planwright\"\nargs = [\"serve\"]\n\n[mcp_servers.time]\ncommand = \"t\"\n\n[z]\n",
    );
    check(
        ListSyntax::Toml,
        "mcp_servers",
        "mcp_servers = { git = { command = \"g\" } }\n",
        "mcp_servers = { gateway = { command = \"planwright\", args = [\"serve\"] } }\n",
    );
}

#[test]
fn comments_above_a_server_stay_if_nothing_takes_its_place() {
    let text = "[mcp_servers.planwright]\ncommand = \"p\"\n\n# Mine.\n\n[mcp_servers.git]\ncommand = \"g\"\n";
    for (rest, expected) in [
        (
            "",
            "[mcp_servers.planwright]\ncommand = \"p\"\n\n# Mine.\n\n",
        ),
        (
            "\n[z]\n",
            "[mcp_servers.planwright]\ncommand = \"p\"\n\n# Mine.\n\n[z]\n",
        ),
    ] {
        let mut list = open(ListSyntax::Toml, "mcp_servers", &format!("{text}{rest}"));
        list.remove(1);
        assert_eq!(list.text(), expected);
    }
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    for (syntax, text) in [
        (
            ListSyntax::Toml,
            "\u{feff}# Mine.\r\na = 1\r\n\r\n[e.git]\r\ncommand = \"g\"\r\n",
        ),
        (
            ListSyntax::Yaml,
            "a: 1\r\ne:\r\n  git:\r\n    command: g\r\n",
        ),
    ] {
        let mut list = open(syntax, "e", text);
        assert_eq!(list.text(), text);
        let fragment = list.remove(0);
        let entry = Value::object([("command", Value::from("planwright"))]);
        let gateway = list.format("gateway", &entry, Some(&fragment));
        list.insert(0, &gateway).unwrap();
        let changed = list.text();
        assert_eq!(
            changed.matches('\n').count(),
            changed.matches("\r\n").count(),
            "{changed:?}"
        );
    }
}

#[test]
fn yaml() {
    check(
        ListSyntax::Yaml,
        "extensions",
        "a: 1\nextensions:\n    # Git.\n    git:\n        command: g # here\n        args:\n        - |\n          # text\n\n    time: {command: t}\n# The end.\nb: 2",
        "a: 1\nextensions:\n    gateway:\n      command: \"planwright\"\n      args:\n        - \"serve\"\n    time: {command: t}\n# The end.\nb: 2",
    );
    check(
        ListSyntax::Yaml,
        "mcpServers",
        "mcpServers:\n- name: git\n  command: g\n- # second\n  name: time\n  command: t\n",
        "mcpServers:\n- name: gateway\n  command: \"planwright\"\n  args:\n    - \"serve\"\n- # second\n  name: time\n  command: t\n",
    );
}

#[test]
fn a_line_of_a_text_is_no_comment_of_the_next_server() {
    let text = "e:\n  inner:\n    code: |\n      run()\n      # The end.\n  # Git.\n  git:\n    command: g\n";
    let mut list = open(ListSyntax::Yaml, "e", text);
    assert_eq!(list.remove(1), "  # Git.\n  git:\n    command: g\n");
    assert_eq!(
        list.text(),
        "e:\n  inner:\n    code: |\n      run()\n      # The end.\n"
    );
}

#[test]
fn a_fragment_takes_the_indentation_of_its_list() {
    let mut list = open(ListSyntax::Yaml, "e", "e:\n    git:\n        command: g\n");
    let fragment = list.remove(0);
    let mut list = open(ListSyntax::Yaml, "e", "e:\n  time:\n    command: t\n");
    list.insert(1, &fragment).unwrap();
    assert_eq!(
        list.text(),
        "e:\n  time:\n    command: t\n  git:\n      command: g\n"
    );
}

#[test]
fn what_cannot_be_edited_is_refused() {
    let check = |text: &str, expected: &str| {
        let error = server_list::open(ListSyntax::Yaml, text, &["e"])
            .err()
            .unwrap();
        assert!(error.message.contains(expected), "{error:?}");
    };
    check("e: {git: {command: g}}\n", "its `e` is written in brackets");
    check(
        "e:\n  git: &x\n    command: g\n  time: *x\n",
        "its `e` has an anchor or an alias",
    );
    check("e: [\n", "it is not YAML");
    let none = |text: &str| {
        server_list::open(ListSyntax::Yaml, text, &["e"])
            .unwrap()
            .is_none()
    };
    assert!(none("e: {}\n") && none("e:\n") && none("") && none("f: 1\n"));
    let error = server_list::open(ListSyntax::Toml, "e = [", &["e"])
        .err()
        .unwrap();
    assert!(error.message.contains("it is not TOML"), "{error:?}");
}
