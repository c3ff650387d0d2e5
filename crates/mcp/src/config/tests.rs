//! Tests of parsing an `mcp.json`.

use std::time::Duration;

use insta::assert_snapshot;

use super::{ServerTransport, ServersConfig};

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
        match &server.reach {
            ServerTransport::Program(program) => {
                lines.push(format!(
                    "{}: {:?} {:?}",
                    server.name, program.command, program.args
                ));
                for (name, value) in &program.env {
                    lines.push(format!("  env {name} = {value:?}"));
                }
                if let Some(cwd) = &program.cwd {
                    lines.push(format!("  cwd {}", cwd.display()));
                }
            }
            ServerTransport::Http(http) => {
                lines.push(format!("{}: {}", server.name, http.url));
                for (name, value) in &http.headers {
                    lines.push(format!("  header {name}: {value}"));
                }
                lines.push(format!("  {:?}", http.oauth));
            }
            ServerTransport::OpenApi(api) => {
                let base = api.base_url.as_deref().unwrap_or("the address in it");
                lines.push(format!("{}: {} at {base}", server.name, api.document));
                for (name, value) in &api.headers {
                    lines.push(format!("  header {name}: {value}"));
                }
            }
        }
        if server.trusted {
            lines.push("  trusted".to_owned());
        }
        for (name, duration) in [("timeout", server.timeout), ("start", server.start_timeout)] {
            if let Some(duration) = duration {
                lines.push(format!("  {name} {duration:?}"));
            }
        }
        if let Some(revision) = &server.protocol {
            lines.push(format!("  speaks {revision}"));
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
fn expands_variables() {
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
    unusable /mcpServers/unset/args/1 the server `unset` cannot be started: `${input:key}` uses the unknown variable kind `input`
      help: put the value into an environment variable and write `${env:NAME}`
    unusable /mcpServers/unset/args/2 the server `unset` cannot be started: `${open` opens a variable that is never closed
      help: write it as `${NAME}`
    unusable /mcpServers/sse/type the server `sse` cannot be started: its transport is `sse`, which MCP has deprecated
      help: write the address of its Streamable HTTP endpoint with `"type": "http"`; if it has none, put a bridge in between: `"command": "npx", "args": ["mcp-remote", "URL"]`
    unusable /mcpServers/odd/type the server `odd` cannot be started: unknown transport `carrier-pigeon`
      help: write one of `stdio`, `http`, `openapi`
    unusable /mcpServers/list the server `list` cannot be started: it must be an object
      help: write `{"command": "…"}`
    unusable /mcpServers/empty the server `empty` cannot be started: it has no `command`
      help: add a `command` that starts the server, or its `url`
    unusable /mcpServers/shapes/trusted the server `shapes` cannot be started: `trusted` must be true or false
      help: write `true`, or leave it out
    unusable /mcpServers/shapes/timeout the server `shapes` cannot be started: `timeout` must be a duration
      help: write `"30s"`, or a number of milliseconds
    unusable /mcpServers/shapes/command the server `shapes` cannot be started: `command` must be a string
      help: put it in quotes
    unusable /mcpServers/shapes/args the server `shapes` cannot be started: `args` must be a list of strings
      help: write `["…", "…"]`
    unusable /mcpServers/shapes/env the server `shapes` cannot be started: `env` must be an object of strings
      help: write `{"NAME": "value"}`
    unusable /mcpServers/a~1b/command the server `a/b` cannot be started: `command` is empty
      help: name the program that starts the server
    "#);
}

#[test]
fn reads_remote_servers() {
    assert_snapshot!(check(r#"{"mcpServers": {
        "plain": {"url": "https://example.com/mcp"},
        "full": {"type": "streamable-http", "url": "http://${env:HOST_NAME:-localhost}:8080/mcp?k=1", "timeout": "1m",
                 "headers": {"Authorization": "Bearer ${API_TOKEN}", "X-Tenant": "ada", "Cookie": "session=1"},
                 "oauth": {"clientId": "me", "clientSecret": "hunter2", "scopes": "a b", "grant": "client_credentials"}},
        "port": {"transport": "http", "serverUrl": "https://example.com", "trusted": true,
                 "oauth": {"callbackPort": 8400, "scopes": ["a"], "clientMetadataUrl": "https://me.example/me.json"}}
    }}"#), @r#"
    plain: https://example.com/mcp
      OauthConfig { grant: AuthorizationCode, client_id: None, has_client_secret: false, client_metadata_url: None, scopes: [], callback_port: None }
    full: http://localhost:8080/mcp?k=1
      header Authorization: Bearer tok-123456
      header X-Tenant: ada
      header Cookie: session=1
      OauthConfig { grant: ClientCredentials, client_id: Some("me"), has_client_secret: true, client_metadata_url: None, scopes: ["a", "b"], callback_port: None }
      timeout 60s
      secrets ["tok-123456", "Bearer tok-123456", "session=1", "hunter2"]
    port: https://example.com
      OauthConfig { grant: AuthorizationCode, client_id: None, has_client_secret: false, client_metadata_url: Some("https://me.example/me.json"), scopes: ["a"], callback_port: Some(8400) }
      trusted
    "#);
    assert_snapshot!(check(r#"{"mcpServers": {
        "none": {"type": "http"},
        "ftp": {"url": "ftp://example.com"},
        "odd": {"url": "example.com/mcp"},
        "inside": {"url": "https://ada:secret@example.com/mcp"},
        "unset": {"url": "${NONE}"},
        "shapes": {"url": 7, "headers": ["a"], "oauth": true},
        "headers": {"url": "https://example.com", "headers": {"MCP-Session-Id": "x", "a b": "c", "X-Line": "a\nb"}},
        "oauth": {"url": "https://example.com", "oauth": {"clientSecret": "secret", "callbackPort": 99999, "grant": "password", "issuer": "x"}},
        "bare": {"url": "https://example.com", "oauth": {"grant": "client_credentials"}}
    }}"#), @r#"
    unusable /mcpServers/none the server `none` cannot be started: it has no `url`
      help: write the address of the server
    unusable /mcpServers/ftp/url the server `ftp` cannot be started: `url` must begin with `https://` or `http://`
      help: write it as `https://HOST/PATH`, and put keys into `headers`
    unusable /mcpServers/odd/url the server `odd` cannot be started: `url` is not an address
      help: write it as `https://HOST/PATH`, and put keys into `headers`
    unusable /mcpServers/inside/url the server `inside` cannot be started: `url` must not contain a password
      help: write it as `https://HOST/PATH`, and put keys into `headers`
    unusable /mcpServers/unset/url the server `unset` cannot be started: the environment variable `NONE` is not set
      help: set `NONE`, or give a default: `${NONE:-…}`
    unusable /mcpServers/shapes/url the server `shapes` cannot be started: `url` is not an address
      help: write it as `https://HOST/PATH`, and put keys into `headers`
    unusable /mcpServers/shapes/headers the server `shapes` cannot be started: `headers` must be an object of strings
      help: write `{"NAME": "value"}`
    unusable /mcpServers/shapes/oauth the server `shapes` cannot be started: `oauth` must be an object
      help: write `{"clientId": "…"}`
    unusable /mcpServers/headers/headers/MCP-Session-Id the server `headers` cannot be started: the header `MCP-Session-Id` belongs to the protocol
      help: leave it out
    unusable /mcpServers/headers/headers/a b the server `headers` cannot be started: `a b` is not the name of a header
      help: use letters, digits and `-`
    unusable /mcpServers/headers/headers/X-Line the server `headers` cannot be started: the value of the header `X-Line` has invalid characters
      help: leave out line breaks and control characters
    unusable /mcpServers/oauth/oauth/callbackPort the server `oauth` cannot be started: `callbackPort` must be a port
      help: write a number, or leave it out
    unusable /mcpServers/oauth/oauth/grant the server `oauth` cannot be started: unknown grant `password`
      help: write `authorization_code` or `client_credentials`
    unusable /mcpServers/oauth/oauth the server `oauth` cannot be started: `clientSecret` belongs to a `clientId`, which is missing
      help: write both
    unusable /mcpServers/bare/oauth the server `bare` cannot be started: the grant `client_credentials` needs credentials
      help: write `clientId` and `clientSecret`
    warning /mcpServers/oauth/oauth.issuer the field `oauth.issuer` of the server `oauth` is unknown and was ignored
    "#);
}

#[test]
fn warns_about_ignored_fields() {
    assert_snapshot!(check(r#"{"$schema": "x", "inputs": [], "mcpServers": {
        "a": {"command": "first"}, "a": {"command": "second", "autoApprove": []}
    }}"#), @r#"
    a: "second" []
    warning /inputs the field `inputs` is unknown and was ignored
    warning /mcpServers/a the server `a` is defined twice: the second definition is used
    warning /mcpServers/a/autoApprove the field `autoApprove` of the server `a` is unknown and was ignored
    "#);
}

#[test]
fn checks_the_names_of_servers() {
    let seen = check(
        "{\"mcpServers\": {
            \"a\": {\"command\": \"x\"}, \"a.b\": {\"command\": \"x\"}, \"a__b\": {\"command\": \"x\"},
            \"a_b\": {\"command\": \"x\"}, \"fi\u{200b}les\": {\"command\": \"x\"}
        }}",
    );
    assert_snapshot!(seen.replace('\u{200b}', "?"), @r#"
    a: "x" []
    a.b: "x" []
    a__b: "x" []
    a_b: "x" []
    unusable /mcpServers/fi?les the server `fi\u{200b}les` cannot be started: its name has invisible characters
      help: type its name again by hand
    warning  the names of tools of the servers `a` and `a.b` may be the same
    warning  the names of tools of the servers `a` and `a__b` may be the same
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
    error mcp.json: the file is empty
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json:1:1: this must be an object
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json:2:9: this is not JSON: unexpected token
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json:1:16: this must be an object
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json: the file has no `mcpServers`
      help: write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`
    error mcp.json:1:19: this is not JSON: unterminated comment block
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
fn parses_durations() {
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
        assert_eq!(
            super::server_reader::parse_duration(&value),
            expected,
            "{text}"
        );
    }
}

#[test]
fn the_revision_must_be_supported() {
    assert_snapshot!(check(
        r#"{"mcpServers": {
            "old": {"command": "a", "protocol": "2025-11-25"},
            "odd": {"command": "a", "protocol": "2023-01-01"},
            "number": {"command": "a", "protocol": 2025}
        }}"#
    ), @r#"
    old: "a" []
      speaks 2025-11-25
    unusable /mcpServers/odd/protocol the server `odd` cannot be started: `protocol` is "2023-01-01", which is not a supported revision of MCP
      help: write one of `2024-11-05`, `2025-03-26`, `2025-06-18`, `2025-11-25`, `2026-07-28`, or leave it out
    unusable /mcpServers/number/protocol the server `number` cannot be started: `protocol` is 2025, which is not a supported revision of MCP
      help: write one of `2024-11-05`, `2025-03-26`, `2025-06-18`, `2025-11-25`, `2026-07-28`, or leave it out
    "#);
}

#[test]
fn reads_apis() {
    assert_snapshot!(check(r#"{"mcpServers": {
        "file": {"openapi": "./shop.yaml"},
        "remote": {"type": "openapi", "openapi": "https://shop.example/openapi.json", "baseUrl": "https://${NONE:-eu}.shop.example/v1",
                   "headers": {"X-Api-Key": "${API_TOKEN}"}, "trusted": true, "timeout": "5s"},
        "odd": {"openapi": "api.json", "cwd": "/tmp", "protocol": "2025-11-25"},
        "nothing": {"type": "openapi"},
        "bad": {"openapi": "ftp://shop.example/x", "baseUrl": "https://ada:secret@shop.example", "headers": {"Host": "x"}}
    }}"#), @r#"
    file: ./shop.yaml at the address in it
    remote: https://shop.example/openapi.json at https://eu.shop.example/v1
      header X-Api-Key: tok-123456
      trusted
      timeout 5s
      secrets ["tok-123456"]
    odd: api.json at the address in it
    unusable /mcpServers/nothing the server `nothing` cannot be started: it has no `openapi`
      help: write the path or the address of the OpenAPI document
    unusable /mcpServers/bad/openapi the server `bad` cannot be started: `openapi` must begin with `https://` or `http://`
      help: write it as `https://HOST/PATH`, and put keys into `headers`
    unusable /mcpServers/bad/baseUrl the server `bad` cannot be started: `baseUrl` must not contain a password
      help: write it as `https://HOST/PATH`, and put keys into `headers`
    unusable /mcpServers/bad/headers/Host the server `bad` cannot be started: the header `Host` belongs to the protocol
      help: leave it out
    warning /mcpServers/odd/cwd the field `cwd` of the server `odd` is unknown and was ignored
    warning /mcpServers/odd/protocol the field `protocol` of the server `odd` is unknown and was ignored
    "#);
    let config = |file: &str| {
        let text = r#"{"mcpServers": {"a": {"openapi": "./a.yaml"}, "b": {"openapi": "/b.yaml"}}}"#;
        let (config, _) = ServersConfig::parse(text, file, &|_| None).unwrap();
        format!("{:?}", config.servers)
    };
    assert_snapshot!(config("/srv/shop/mcp.json"), @r#"[ServerConfig { name: ServerName("a"), reach: OpenApi(OpenApiConfig { document: "/srv/shop/a.yaml", base_url: None, headers: [] }), trusted: false, .. }, ServerConfig { name: ServerName("b"), reach: OpenApi(OpenApiConfig { document: "/b.yaml", base_url: None, headers: [] }), trusted: false, .. }]"#);
}
