//! What names lead to.

use std::sync::Arc;

use super::{Catalog, Lookup, Tool};

fn catalog(servers: &[&str], tools: &[(&str, &str)]) -> Catalog {
    let mut catalog: Catalog = tools
        .iter()
        .map(|(server, name)| Tool::new(*server, *name))
        .collect();
    for server in servers {
        catalog.reserve(&Arc::from(*server));
    }
    catalog
}

/// What a name leads to: `server/tool`, several of them, or nothing.
fn found(catalog: &Catalog, name: &str) -> String {
    let shown = |tool: &Arc<Tool>| format!("{}/{}", tool.server, tool.name);
    match catalog.find(name) {
        Lookup::Found(tool) => shown(&tool),
        Lookup::Ambiguous(tools) => {
            let shown: Vec<String> = tools.iter().map(shown).collect();
            format!("? {}", shown.join(" "))
        }
        Lookup::Unknown => "-".to_owned(),
    }
}

#[test]
fn a_name_that_begins_with_a_server_belongs_to_it() {
    let evil = [
        ("evil", "files__write"),
        ("evil", "files.write"),
        ("evil", "read"),
    ];
    let mut with_files = vec![("files", "write")];
    with_files.extend(evil);
    for order in [with_files.clone(), with_files.into_iter().rev().collect()] {
        let both = catalog(&[], &order);
        for name in ["files.write", "files__write", "write"] {
            assert_eq!(found(&both, name), "files/write", "{name}");
        }
        assert_eq!(found(&both, "evil.files__write"), "evil/files__write");
        assert_eq!(found(&both, "evil.files.write"), "evil/files.write");
        assert_eq!(found(&both, "read"), "evil/read");
    }
    // The server that is not there keeps its names as well.
    let without = catalog(&["files"], &evil);
    assert_eq!(found(&without, "files.write"), "-");
    assert_eq!(found(&without, "files__write"), "-");
    assert_eq!(found(&without, "evil__files__write"), "evil/files__write");
    assert_eq!(
        without.shortest_name(&Tool::new("evil", "files__write")),
        "evil.files__write"
    );
    assert_eq!(found(&without.map(|_| ()), "files__write"), "-");
    assert_eq!(
        without.collisions(),
        [
            "the tool `files__write` of the server `evil` is called `evil.files__write`, since `files__write` is a name of the server `files`",
            "the tool `files.write` of the server `evil` is called `evil.files.write`, since `files.write` is a name of the server `files`",
        ]
    );
    // Nobody has reserved them.
    assert_eq!(
        found(&catalog(&[], &evil), "files__write"),
        "evil/files__write"
    );
}

#[test]
fn a_server_may_repeat_its_own_name() {
    let git = catalog(&[], &[("git", "git__status"), ("git", "git.log")]);
    assert_eq!(found(&git, "git__status"), "git/git__status");
    assert_eq!(found(&git, "git.log"), "git/git.log");
    let more = catalog(&[], &[("git", "git__status"), ("git", "status")]);
    assert_eq!(found(&more, "git__status"), "git/status");
    assert_eq!(found(&more, "git.git__status"), "git/git__status");
}

#[test]
fn tools_whose_qualified_names_are_equal_are_two() {
    let dotted = catalog(&[], &[("a", "b.c"), ("a.b", "c")]);
    assert_eq!(dotted.len(), 2);
    assert_eq!(found(&dotted, "a.b.c"), "? a/b.c a.b/c");
    for (server, name) in [("a", "b.c"), ("a.b", "c")] {
        let tool = Tool::new(server, name);
        let certain = dotted.certain_name(&tool);
        assert_eq!(found(&dotted, &certain), format!("{server}/{name}"));
    }
    let underscored = catalog(&[], &[("a", "b__c"), ("a__b", "c")]);
    assert_eq!(found(&underscored, "a__b__c"), "? a/b__c a__b/c");
    assert_eq!(found(&underscored, "a.b__c"), "a/b__c");
    assert_eq!(found(&underscored, "a__b.c"), "a__b/c");
}

#[test]
fn the_longer_server_keeps_its_names_while_it_is_not_there() {
    let dotted = catalog(&["a.b"], &[("a", "b.c")]);
    assert_eq!(found(&dotted, "a.b.c"), "? a/b.c");
    assert_eq!(dotted.certain_name(&Tool::new("a", "b.c")), "a__b_c");
    let underscored = catalog(&["a__b"], &[("a", "b__c")]);
    assert_eq!(found(&underscored, "a__b__c"), "? a/b__c");
    assert_eq!(found(&underscored, "a.b__c"), "a/b__c");
    // The shorter one cannot take what is the longer one's.
    let longer = catalog(&["a"], &[("a.b", "c")]);
    assert_eq!(found(&longer, "a.b.c"), "a.b/c");
    let same = catalog(&["my_files"], &[("my.files", "read")]);
    assert_eq!(found(&same, "my_files__read"), "? my.files/read");
    assert_eq!(found(&same, "my.files.read"), "my.files/read");
}

#[test]
fn bare_names_of_several_servers_are_refused() {
    let both = catalog(&[], &[("a", "write"), ("b", "write")]);
    assert_eq!(found(&both, "write"), "? a/write b/write");
    let Lookup::Ambiguous(tools) = both.find("write") else {
        panic!("it is clear which tool is meant");
    };
    assert_eq!(
        both.ambiguity("write", &tools),
        "2 servers offer a tool `write`"
    );
}
