//! What an `mcp.json` is read as.

use std::time::Duration;

use insta::assert_snapshot;

use super::ServersConfig;

/// Reads `text` and writes down everything that came of it.
fn check(text: &str) -> String {
    let lookup = |name: &str| match name {
        "HOME" => Some("/opt/ada".to_owned()),
        "API_TOKEN" => Some("tok-123456".to_owned()),
        "EMPTY" => Some(String::new()),
        "NESTED" => Some("${HOME}".to_owned()),
        _ => None,
    };
    let (config, warnings) = match ServersConfig::parse(text, "mcp.json", &lookup) {
        Ok(parsed) => parsed,
        Err(error) => return format!("error {error}\n  help: {}", error.help),
    };
    let mut lines = Vec::new();
    for server in &config.servers {
        lines.push(format!(
            "{}: {:?} {:?}",
            server.name, server.command, server.args
        ));
        for (name, value) in &server.env {
            lines.push(format!("  env {name} = {value:?}"));
        }
        if let Some(cwd) = &server.cwd {
            lines.push(format!("  cwd {}", cwd.display()));
        }
        if server.trusted {
            lines.push("  trusted".to_owned());
        }
        for (name, duration) in [("timeout", server.timeout), ("start", server.start_timeout)] {
            if let Some(duration) = duration {
                lines.push(format!("  {name} {duration:?}"));
            }
        }
        if !server.secrets.is_empty() {
            lines.push(format!("  secrets {:?}", server.secrets));
        }
    }
    for name in &config.disabled {
        lines.push(format!("disabled {name}"));
    }
    for problem in &config.unusable {
        lines.push(format!(
            "unusable {} {}\n  help: {}",
            problem.pointer, problem.message, problem.help
        ));
    }
    for warning in &warnings {
        lines.push(format!("warning {} {}", warning.pointer, warning.message));
    }
    lines.join("\n")
}

#[test]
fn reads_what_clients_write() {
    assert_snapshot!(check(r#"{"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "server-filesystem", "/tmp"], "env": {"LOG": "1", "OLD": null, "PORT": 8080}},
        "off": {"command": "x", "disabled": true, "args": 5},
        "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "cwd": "/repo", "trusted": true, "timeout": "90s", "startTimeout": 1500}
    }}"#), @r#"
    files: "npx" ["-y", "server-filesystem", "/tmp"]
      env LOG = Some("1")
      env OLD = None
      env PORT = Some("8080")
    git: "uvx" ["mcp-server-git"]
      cwd /repo
      trusted
      timeout 90s
      start 1.5s
    disabled off
    "#);
    assert_snapshot!(check(r#"{"servers": {"a": {"command": "a"}}}"#), @r#"a: "a" []"#);
}

#[test]
fn puts_variables_in() {
    assert_snapshot!(check(r#"{"mcpServers": {"a": {
        "command": "${HOME}/bin/a", "args": ["--token=${env:API_TOKEN}", "${NONE:-none}", "${NONE:-}", "$HOME", "${NESTED}", "${EMPTY:-x}"],
        "env": {"MY_SECRET": "swordfish", "SHORT_KEY": "abc"}, "cwd": "${HOME}"
    }}}"#), @r#"
    a: "/opt/ada/bin/a" ["--token=tok-123456", "none", "", "$HOME", "${HOME}", ""]
      env MY_SECRET = Some("swordfish")
      env SHORT_KEY = Some("abc")
      cwd /opt/ada
      secrets ["tok-123456", "swordfish"]
    "#);
}

#[test]
fn one_bad_server_leaves_the_others() {
    assert_snapshot!(check(r#"{"mcpServers": {
        "unset": {"command": "a", "args": ["${NONE}", "${input:key}", "${open"]},
        "remote": {"url": "https://example.com/mcp"},
        "sse": {"type": "sse", "url": "https://example.com/sse"},
        "odd": {"type": "carrier-pigeon", "command": "a"},
        "list": [],
        "empty": {},
        "shapes": {"command": ["a"], "args": "b", "env": [], "trusted": "yes", "timeout": "soon"},
        "a/b": {"command": " "},
        "good": {"command": "good"}
    }}"#), @r#"
    good: "good" []
    unusable /mcpServers/unset/args/0 the server `unset` cannot be started: the environment variable `NONE` is not set
      help: set `NONE`, or give a default: `${NONE:-…}`
    unusable /mcpServers/unset/args/1 the server `unset` cannot be started: `${input:key}` asks for a `input` variable, which is not known
      help: put the value into an environment variable and write `${env:NAME}`
    unusable /mcpServers/unset/args/2 the server `unset` cannot be started: `${open` opens a variable that is never closed
      help: write it as `${NAME}`
    unusable /mcpServers/remote/url the server `remote` cannot be started: it is reached over HTTP, which is not supported yet
      help: put a bridge in between: `"command": "npx", "args": ["mcp-remote", "https://example.com/mcp"]`
    unusable /mcpServers/sse/url the server `sse` cannot be started: it is reached over HTTP, which is not supported yet
      help: put a bridge in between: `"command": "npx", "args": ["mcp-remote", "https://example.com/sse"]`
    unusable /mcpServers/odd/type the server `odd` cannot be started: `carrier-pigeon` is no way to reach a server that is known
      help: write `stdio`
    unusable /mcpServers/list the server `list` cannot be started: it must be an object
      help: write `{"command": "…"}`
    unusable /mcpServers/empty the server `empty` cannot be started: it has no `command`
      help: name the program that the server is
    unusable /mcpServers/shapes/command the server `shapes` cannot be started: `command` must be a text
      help: put it in quotes
    unusable /mcpServers/shapes/args the server `shapes` cannot be started: `args` must be a list of texts
      help: write `["…", "…"]`
    unusable /mcpServers/shapes/env the server `shapes` cannot be started: `env` must be an object of texts
      help: write `{"NAME": "value"}`
    unusable /mcpServers/shapes/trusted the server `shapes` cannot be started: `trusted` must be true or false
      help: write `true`, or leave it out
    unusable /mcpServers/shapes/timeout the server `shapes` cannot be started: `timeout` must be a length of time
      help: write `"30s"`, or a number of milliseconds
    unusable /mcpServers/a~1b/command the server `a/b` cannot be started: `command` is empty
      help: name the program that the server is
    "#);
}

#[test]
fn warns_of_what_it_ignores() {
    assert_snapshot!(check(r#"{"$schema": "x", "inputs": [], "mcpServers": {
        "a": {"command": "first"}, "a": {"command": "second", "autoApprove": []}
    }}"#), @r#"
    a: "second" []
    warning /inputs the field `inputs` is not known, and was ignored
    warning /mcpServers/a the server `a` stands twice: the later one counts
    warning /mcpServers/a/autoApprove the field `autoApprove` of the server `a` is not known, and was ignored
    "#);
}

#[test]
fn says_where_a_file_is_broken() {
    let texts = [
        "",
        "[]",
        "{\"mcpServers\":\n  {\"a\": nonsense}}",
        "{\"mcpServers\": []}",
        "{\"other\": {}}",
        "{\"mcpServers\": {} /* open",
    ];
    assert_snapshot!(texts.map(check).join("\n"), @r#"
    error mcp.json:1:0: this is not JSON: EOF while parsing a value
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json:1:0: this must be an object
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json:2:10: this is not JSON: expected ident
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json:1:15: this must be an object
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json: there is no `mcpServers` in it
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json:1:19: this is not JSON: expected `,` or `}`
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    "#);
}

#[test]
fn takes_comments_and_trailing_commas() {
    assert_snapshot!(check("\u{feff}{ // servers, \"in\" short
        \"servers\": { /* one */ \"ä\": {\"command\": \"x//y /* z */\", \"args\": [\"a,]\", \"\\\",}\", ], }, }, // the end
    }"), @r#"ä: "x//y /* z */" ["a,]", "\",}"]"#);
}

#[test]
fn reads_lengths_of_time() {
    let cases = [
        (r#""250ms""#, Some(Duration::from_millis(250))),
        (r#""1.5s""#, Some(Duration::from_millis(1500))),
        (r#""2 m""#, Some(Duration::from_mins(2))),
        (r#""1h""#, Some(Duration::from_hours(1))),
        ("1500", Some(Duration::from_millis(1500))),
        ("0", None),
        ("-1", None),
        (r#""30""#, None),
        (r#""-3s""#, None),
        (r#""1e999s""#, None),
        ("null", None),
    ];
    for (text, expected) in cases {
        let value = serde_json::from_str(text).unwrap();
        assert_eq!(super::duration::read(&value), expected, "{text}");
    }
}
