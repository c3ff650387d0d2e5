//! The forms of the clients' entries, see the table of [`clients`](super::client::CLIENTS) for their documentation.

use super::form::{Constant, EntryForm, FieldUse};

pub(super) const VS_CODE: EntryForm = EntryForm {
    program: &[("type", Constant::Text("stdio"))],
    ..EntryForm::OURS
};

pub(super) const CODEX: EntryForm = EntryForm {
    fields: &[
        ("enabled", FieldUse::Enabled),
        ("http_headers", FieldUse::Renamed("headers")),
        ("bearer_token_env_var", FieldUse::BearerVariable),
        ("env_http_headers", FieldUse::HeaderVariables),
        ("env_vars", FieldUse::Variables),
        ("startup_timeout_sec", FieldUse::Seconds("startTimeout")),
        ("startup_timeout_ms", FieldUse::Milliseconds("startTimeout")),
        ("tool_timeout_sec", FieldUse::Seconds("timeout")),
        ("disabled_tools", FieldUse::Rules),
        ("tools", FieldUse::Rules),
        ("default_tools_approval_mode", FieldUse::Rules),
        ("required", FieldUse::Dropped),
        ("supports_parallel_tool_calls", FieldUse::Dropped),
    ],
    is_literal: true,
    gateway_timeout: Some("10m"),
    ..EntryForm::OURS
};

pub(super) const GEMINI: EntryForm = EntryForm {
    fields: &[("httpUrl", FieldUse::Renamed("httpUrl"))],
    url: "httpUrl",
    sse_url: Some("url"),
    has_dollar_variables: true,
    ..EntryForm::OURS
};

pub(super) const GOOSE: EntryForm = EntryForm {
    fields: &[
        ("enabled", FieldUse::Enabled),
        ("name", FieldUse::Restated),
        ("cmd", FieldUse::Renamed("command")),
        ("uri", FieldUse::Renamed("url")),
        ("envs", FieldUse::Renamed("env")),
        ("env_keys", FieldUse::Variables),
        ("timeout", FieldUse::Seconds("timeout")),
        ("available_tools", FieldUse::AllowedTools),
        ("description", FieldUse::Restated),
        ("display_name", FieldUse::Restated),
        ("bundled", FieldUse::Restated),
    ],
    program: &[
        ("enabled", Constant::True),
        ("type", Constant::Text("stdio")),
        ("name", Constant::Name),
        ("description", Constant::Text("")),
    ],
    remote: &[
        ("enabled", Constant::True),
        ("type", Constant::Text("streamable_http")),
        ("name", Constant::Name),
        ("description", Constant::Text("")),
    ],
    inner_types: &["builtin", "platform", "frontend", "inline_python"],
    is_literal: true,
    gateway_timeout: Some("10m"),
    ..EntryForm::OURS
};

pub(super) const ZED: EntryForm = EntryForm {
    fields: &[
        ("enabled", FieldUse::Enabled),
        ("source", FieldUse::Source),
        ("timeout", FieldUse::Seconds("timeout")),
    ],
    is_literal: true,
    gateway_timeout: Some("10m"),
    ..EntryForm::OURS
};

pub(super) const WINDSURF: EntryForm = EntryForm {
    fields: &[("serverUrl", FieldUse::Renamed("serverUrl"))],
    url: "serverUrl",
    ..EntryForm::OURS
};

pub(super) const CLINE: EntryForm = EntryForm {
    fields: &[("timeout", FieldUse::Seconds("timeout"))],
    remote: &[("type", Constant::Text("streamableHttp"))],
    sse_url: Some("url"),
    gateway_timeout: Some("10m"),
    ..EntryForm::OURS
};

pub(super) const CONTINUE: EntryForm = EntryForm {
    fields: &[
        ("name", FieldUse::Restated),
        ("requestOptions", FieldUse::Inner),
        ("connectionTimeout", FieldUse::Milliseconds("startTimeout")),
        ("faviconUrl", FieldUse::Dropped),
        ("serverName", FieldUse::Dropped),
    ],
    remote: &[("type", Constant::Text("streamable-http"))],
    ..EntryForm::OURS
};
