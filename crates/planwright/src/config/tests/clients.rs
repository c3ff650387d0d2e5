//! Access tokens, and the rules for clients.

use std::sync::Arc;

use planwright_core::Tool;
use planwright_engine::Guards;

use super::*;
use crate::config::{AuthenticatedClient, ClientName, ClientPolicy};

const OAUTH: &str = r#"
[serve.oauth]
issuer = "https://id.example.com/realms/work"
resource = "https://plans.example.com/mcp"
"#;

#[test]
fn an_issuer_with_defaults_and_without() {
    assert_eq!(
        effective_settings(OAUTH, "")[2..],
        [
            r#"serve.oauth.audiences = "https://plans.example.com/mcp" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "RS256" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "RS384" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "RS512" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "PS256" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "PS384" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "PS512" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "ES256" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "ES384" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "EdDSA" (mine.toml:2)"#,
            r#"serve.oauth.subject_claim = "sub" (mine.toml:2)"#,
            r#"serve.oauth.groups_claim = "groups" (mine.toml:2)"#,
            r#"serve.oauth.keys_for = "1h" (mine.toml:2)"#,
        ]
    );
    let own = "audiences = ['plans']\nscopes = ['plans:run']\nalgorithms = ['ES256']\ngroups_claim = 'realm_access.roles'\nkeys_for = '10m'\n";
    assert_eq!(
        effective_settings(&format!("{OAUTH}{own}"), ""),
        [
            r#"serve.oauth.issuer = "https://id.example.com/realms/work" (mine.toml:2)"#,
            r#"serve.oauth.resource = "https://plans.example.com/mcp" (mine.toml:2)"#,
            r#"serve.oauth.audiences = "plans" (mine.toml:2)"#,
            r#"serve.oauth.scopes = "plans:run" (mine.toml:2)"#,
            r#"serve.oauth.algorithms = "ES256" (mine.toml:2)"#,
            r#"serve.oauth.subject_claim = "sub" (mine.toml:2)"#,
            r#"serve.oauth.groups_claim = "realm_access.roles" (mine.toml:2)"#,
            r#"serve.oauth.keys_for = "10m" (mine.toml:2)"#,
        ]
    );
}

#[test]
fn an_issuer_that_cannot_be_used() {
    let with = |lines: &str| format!("[serve.oauth]\n{lines}\n");
    issues(
        Origin::Project,
        OAUTH,
        &[
            "planwright.toml:2: a project cannot configure access to the server (the user decides this: put it into your own planwright.toml)",
        ],
    );
    issues(
        Origin::User,
        &with(""),
        &[
            "mine.toml:1: `[serve.oauth]` has no `issuer` (write the address that its discovery document has as `issuer`)",
            "mine.toml:1: `[serve.oauth]` has no `resource` (write the address that clients connect to, such as `https://plans.example.com/mcp`)",
        ],
    );
    let resource = "resource = 'https://plans.example.com/mcp'\n";
    issues(
        Origin::User,
        &with(&format!(
            "issuer = 'http://localhost.example.com'\n{resource}"
        )),
        &[
            "mine.toml:2: the issuer `http://localhost.example.com` is not reached by TLS (write `https://`; `http://` is for an issuer on this machine)",
        ],
    );
    for local in [
        "http://localhost:8080/a",
        "http://127.0.0.1",
        "http://[::1]:8080",
    ] {
        issues(
            Origin::User,
            &with(&format!("issuer = '{local}'\n{resource}")),
            &[],
        );
    }
    for name in ["none", "HS256", "rs256"] {
        issues(
            Origin::User,
            &format!("{OAUTH}algorithms = ['{name}']\n"),
            &[&format!(
                "mine.toml:5: `{name}` is no accepted algorithm (write some of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `EdDSA`)"
            )],
        );
    }
    issues(
        Origin::User,
        &format!("{OAUTH}algorithms = []\nscopes = ['a b']\n"),
        &[
            "mine.toml:5: `algorithms` names none, so that no token would be accepted (name some, or leave it out for all)",
            "mine.toml:6: `a b` cannot be a scope or an audience (write it without spaces, quotes and backslashes)",
        ],
    );
}

const RULES: &str = r#"
[clients.analysts]
who = ["group:analysts"]
allow = ["db.*"]
deny = ["db.drop_*"]
ask = ["db.write"]
max_plans = 3
[clients.analysts.budgets]
calls = 20

[clients.ops]
who = ["token:ops", "subject:root"]
runs_of = ["*"]

[clients.rest]
who = ["others"]
allow = []
"#;

fn policy(user: &str, project: &str, name: ClientName, groups: &[&str]) -> (Config, ClientPolicy) {
    let user = read(Origin::User, user).unwrap();
    let project = read(Origin::Project, project).unwrap();
    let config = Config::of([&user, &project]);
    let policy = config.client_policy(&AuthenticatedClient {
        name,
        groups: groups.iter().map(|group| Arc::from(*group)).collect(),
    });
    (config, policy)
}

fn subject(name: &str) -> ClientName {
    ClientName::Subject(name.into())
}

/// Returns the names of the tables that apply.
fn tables(policy: &ClientPolicy) -> Vec<&str> {
    policy.tables().map(|table| &*table.name).collect()
}

#[test]
fn rules_apply_by_name_and_group() {
    let of = |name, groups: &[&str]| {
        let (_, policy) = policy(RULES, "", name, groups);
        tables(&policy).join(" ")
    };
    assert_eq!(of(subject("ada"), &["analysts", "staff"]), "analysts");
    assert_eq!(of(subject("root"), &["analysts"]), "analysts ops");
    assert_eq!(of(ClientName::Token("ops".into()), &[]), "ops");
    // The names of tokens, subjects and groups are not mixed up.
    assert_eq!(of(subject("ops"), &[]), "rest");
    assert_eq!(of(ClientName::Token("root".into()), &["ops"]), "rest");
    assert_eq!(of(subject("analysts"), &[]), "rest");
}

#[test]
fn all_rules_that_apply_narrow() {
    let project = "[clients.all]\nwho = ['*']\ndeny = ['db.read']\nask = ['db.*']\n[clients.all.budgets]\ncalls = 50\nwall_time = '1m'\n";
    let (config, policy) = policy(RULES, project, subject("ada"), &["analysts"]);
    // A table of a project does not switch off `others` of the user, nor the other way round.
    assert_eq!(tables(&policy), ["analysts", "all"]);
    let tool = |name: &str| Tool::new("db", name);
    let hidden = |tool: &Tool| policy.hiding_rule(tool);
    assert_eq!(hidden(&tool("query")), None);
    assert_eq!(
        hidden(&tool("drop_all")).unwrap(),
        "`deny` of `clients.analysts` in mine.toml:5"
    );
    assert_eq!(
        hidden(&tool("read")).unwrap(),
        "`deny` of `clients.all` in planwright.toml:3"
    );
    assert_eq!(
        hidden(&Tool::new("mail", "send")).unwrap(),
        "`allow` of `clients.analysts` in mine.toml:4"
    );
    let restricted = policy.restrict(config.restrict(planwright_core::check::Policy::new()));
    for name in ["query", "drop_all", "read"] {
        let is_hidden = hidden(&tool(name)).is_some();
        assert_eq!(
            restricted.objection(&tool(name)).is_some(),
            is_hidden,
            "{name}"
        );
    }
    assert_eq!(
        policy.approval_reason(&tool("write")).as_deref(),
        Some("`ask` of `clients.analysts` in mine.toml:6 names it")
    );
    assert_eq!(
        policy.approval_reason(&tool("query")).as_deref(),
        Some("`ask` of `clients.all` in planwright.toml:4 names it")
    );
    let bounds: Vec<String> = config
        .client_bounds(&policy)
        .iter()
        .map(|bound| format!("{} = {} ({})", bound.key, bound.value, bound.set_in))
        .collect();
    assert_eq!(
        bounds,
        [
            "budgets.calls = 20 (mine.toml:9)",
            r#"budgets.wall_time = "1m" (planwright.toml:7)"#
        ]
    );
    assert_eq!(policy.max_plans(256), 3);
    assert_eq!(policy.max_plans(2), 2);
}

#[test]
fn rules_never_widen() {
    let rules = "[budgets]\ncalls = 5\n[rates]\ndb = '1/s'\n[clients.all]\nwho = ['*']\n[clients.all.budgets]\ncalls = 100\nwritten_bytes = '1GiB'\n[clients.all.rates]\ndb = '100/s'\n";
    let (config, policy) = policy(rules, "", subject("ada"), &[]);
    let mut guards = config.guards().clone();
    policy.narrow(&mut guards);
    assert_eq!(guards, *config.guards());
    // The built-in bound is narrower, and a narrower one counts.
    let mut guards = Guards::default();
    policy.narrow(&mut guards);
    assert_eq!(guards.written_bytes, None);
    let others = "[clients.some]\nwho = ['*']\n";
    let (_, policy) = self::policy(RULES, others, subject("eve"), &[]);
    assert_eq!(tables(&policy), ["rest", "some"]);
    assert!(policy.hiding_rule(&Tool::new("db", "query")).is_some());
}

#[test]
fn runs_of_others_are_shown_by_the_user_alone() {
    let (_, ops) = policy(RULES, "", subject("root"), &[]);
    assert!(ops.sees_runs_of(&subject("ada")) && ops.sees_runs_of(&ClientName::Token("a".into())));
    let (_, ada) = policy(RULES, "", subject("ada"), &["analysts"]);
    assert!(!ada.sees_runs_of(&subject("root")));
    issues(
        Origin::Project,
        "[clients.eve]\nwho = ['subject:eve']\nruns_of = ['*']\n",
        &[
            "planwright.toml:3: a project cannot show the runs of a client to others (the user decides this: put `runs_of` into your own planwright.toml)",
        ],
    );
}

#[test]
fn tables_that_select_nothing() {
    issues(
        Origin::User,
        "[clients.b]\nwho = ['group: staff']\n",
        &[
            "mine.toml:1: `[clients.b]` selects no clients (write `who = [\"group:NAME\"]`, `token:NAME`, `subject:NAME`, `*` or `others`)",
            "mine.toml:2: `group: staff` selects no clients (write `token:NAME`, `subject:NAME`, `group:NAME`, `*` or `others`)",
        ],
    );
    issues(
        Origin::User,
        "[clients.b]\nwho = ['ada']\n",
        &[
            "mine.toml:1: `[clients.b]` selects no clients (write `who = [\"group:NAME\"]`, `token:NAME`, `subject:NAME`, `*` or `others`)",
            "mine.toml:2: `ada` selects no clients (write `token:NAME`, `subject:NAME`, `group:NAME`, `*` or `others`)",
        ],
    );
    issues(
        Origin::User,
        "[clients.a]\nallow = ['db.*']\n[clients.c]\nwho = ['*']\nruns_of = ['group:x']\n[clients.c.budgets.tools]\n'a b' = 1\n",
        &[
            "mine.toml:1: `[clients.a]` selects no clients (write `who = [\"group:NAME\"]`, `token:NAME`, `subject:NAME`, `*` or `others`)",
            "mine.toml:5: `group:x` names no owner of runs (a stored run has the name of its client, not its groups: write `token:NAME`, `subject:NAME` or `*`)",
            "mine.toml:7: `a b` cannot be a tool (write it as `server.tool`, `server.*`, `*.delete_*` or `tool`)",
        ],
    );
}
