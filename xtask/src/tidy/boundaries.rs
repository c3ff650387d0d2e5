//! Boundaries of modules: each foreign crate is used in one place, and pure modules use neither IO nor clocks.

use super::Violation;
use super::rust_text::RustText;
use crate::project::ProjectFile;

/// Crates and paths with the only folders that may use them.
const ONLY_IN: &[(&str, &[&str])] = &[
    (
        "anstream",
        &["crates/cli/", "crates/planwright/src/drawing/tests/"],
    ),
    (
        "axum",
        &[
            "crates/serve/src/http/",
            "crates/testkit/src/conformance_server/",
            "crates/web/",
        ],
    ),
    ("cap_std", &["crates/planwright/src/workspace/"]),
    ("clap", &["crates/cli/", "bench/src/bin/workflow.rs"]),
    ("clap_complete", &["crates/cli/"]),
    ("clap_mangen", &["crates/cli/"]),
    ("genai", PROVIDERS),
    ("governor", HTTP_SERVER),
    ("hyper", HTTP_SERVER),
    ("hyper_util", HTTP_SERVER),
    ("indicatif", &["crates/cli/"]),
    (
        "jiff",
        &[
            "crates/core/src/expression/function/time.rs",
            "crates/planner/src/dates/",
            "crates/cli/src/system/environment.rs",
        ],
    ),
    ("jsonschema", &["crates/core/src/schema/"]),
    ("jsonwebtoken", &["crates/serve/src/access/"]),
    (
        "jsonc_parser",
        &["crates/mcp/src/config/", "crates/cli/src/setup/wrap/"],
    ),
    ("miette", &["crates/cli/"]),
    ("mimalloc", &["crates/cli/src/main.rs", "bench/src/bin/"]),
    (
        "opentelemetry",
        &[
            "crates/planwright/src/telemetry/",
            "crates/serve/src/http/metrics.rs",
        ],
    ),
    ("opentelemetry_otlp", &["crates/planwright/src/telemetry/"]),
    ("opentelemetry_sdk", &["crates/planwright/src/telemetry/"]),
    (
        "opentelemetry_prometheus",
        &["crates/planwright/src/telemetry/"],
    ),
    ("prometheus", &["crates/planwright/src/telemetry/"]),
    (
        "reqwest",
        &[
            "crates/mcp/",
            "crates/planner/src/model/providers/",
            "crates/restate/src/client.rs",
            "crates/serve/src/access/issuer.rs",
        ],
    ),
    ("ring", &["crates/serve/src/access/"]),
    (
        "rmcp",
        &[
            "crates/mcp/",
            "bench/src/stdio.rs",
            "crates/testkit/src/conformance_server/",
        ],
    ),
    ("rusqlite", &["crates/store/", "bench/src/durable.rs"]),
    (
        "rustls",
        &[
            "crates/mcp/src/transport/http/",
            "crates/planner/src/model/providers/",
            "crates/planwright/src/telemetry/",
            "crates/postgres/src/tls.rs",
            "crates/restate/src/client.rs",
            "crates/serve/src/access/issuer.rs",
        ],
    ),
    (
        "rust_stemmers",
        &["crates/planner/src/tools/search/words.rs"],
    ),
    ("schemars", SCHEMAS),
    ("similar", &["crates/cli/src/inspect/check/"]),
    (
        "subtle",
        &[
            "crates/serve/src/tokens.rs",
            "crates/serve/src/view/tokens.rs",
            "crates/web/src/session.rs",
        ],
    ),
    ("tracing_subscriber", &["crates/cli/src/main.rs"]),
    ("toml", &["crates/planwright/src/config/"]),
    ("toml_edit", &["crates/cli/src/setup/wrap/"]),
    ("tokio_postgres", &["crates/postgres/"]),
    ("tokio::runtime::Builder", RUNTIMES),
    ("tokio::runtime::Runtime", RUNTIMES),
];

/// The HTTP server of the gateway.
const HTTP_SERVER: &[&str] = &["crates/serve/src/http/"];

/// The clients of model providers.
const PROVIDERS: &[&str] = &["crates/planner/src/model/providers/"];

/// The folders that may start a runtime. The library runs in the runtime of its embedder.
const RUNTIMES: &[&str] = &[
    "bench/",
    "crates/engine/tests/",
    "crates/learn/tests/",
    "crates/mcp/tests/",
    "crates/postgres/",
    "crates/restate/tests/",
    "crates/cli/",
    "crates/planwright/tests/",
    "crates/python/src/service.rs",
    "crates/serve/src/http/tests/",
    "crates/testkit/src/conformance_server/",
    "crates/web/tests/",
];

/// The folders that derive JSON Schema from Rust types.
const SCHEMAS: &[&str] = &[
    "crates/dialects/src/native/schema.rs",
    "crates/engine/src/backend/functions.rs",
    "crates/engine/src/backend/functions/",
    "crates/cli/",
    "crates/format/src/",
    "crates/planwright/",
];

/// Paths with the folders that must not use them.
const NEVER_IN: &[(&str, &[&str])] = &[
    ("std::env", PURE),
    ("std::fs", PURE),
    ("std::net", PURE),
    ("std::process", PURE),
    ("std::thread", PURE),
    ("std::time::Instant", PURE),
    ("std::time::SystemTime", PURE),
    ("futures", PURE),
    ("tokio", PURE),
];

/// Keywords with the folders that must not use them.
const NO_WORD_IN: &[(&str, &[&str])] = &[("async", PURE), ("await", PURE)];

/// Pure modules: no IO, no clock, no environment, no concurrency.
const PURE: &[&str] = &[
    "crates/core/src/",
    "crates/dialects/src/",
    "crates/openapi/src/",
    "crates/planner/src/analysis/",
    "crates/planner/src/dates/",
    "crates/planwright/src/config/",
    "crates/planner/src/tools/search/",
    "crates/planner/src/tools/signatures/",
    "crates/serve/src/stages.rs",
    "crates/engine/src/durations.rs",
    "crates/engine/src/forecast/",
    "crates/engine/src/guard/",
    "crates/engine/src/run/",
    "crates/engine/src/schedule/",
];

/// Checks the paths and keywords that one file uses.
pub(super) fn check(file: &ProjectFile) -> Vec<Violation> {
    if !file.is_rust() {
        return Vec::new();
    }
    let code = RustText::new(&file.text).code;
    let is_below = |folders: &[&str]| folders.iter().any(|folder| file.path.starts_with(folder));
    let is_restricted = |folders: &[&str]| is_below(folders) && !is_test(&file.path);
    let mut violations = Vec::new();
    let mut say = |at: usize, what: String| {
        let line = code[..at].matches('\n').count() + 1;
        violations.push(format!("{}:{line}: {what}", file.path));
    };
    for (path, folders) in ONLY_IN {
        if let Some(at) = find_path(&code, path).filter(|_| !is_below(folders)) {
            say(at, format!("`{path}` belongs in {}", folders.join(", ")));
        }
    }
    for (path, folders) in NEVER_IN {
        if let Some(at) = find_path(&code, path).filter(|_| is_restricted(folders)) {
            say(at, format!("`{path}` does not belong here"));
        }
    }
    for (word, folders) in NO_WORD_IN {
        if let Some(at) = find_word(&code, word).filter(|_| is_restricted(folders)) {
            say(at, format!("`{word}` does not belong here"));
        }
    }
    violations
}

/// Returns true for the unit tests of a crate, which may measure time and start threads.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Finds the first use of the absolute `path`: in a `use`, or with a further segment.
fn find_path(code: &str, path: &str) -> Option<usize> {
    words(code, path).find(|at| {
        let before = code[..*at].trim_end();
        let after = code[at + path.len()..].trim_start();
        let is_whole = path.contains("::") || after.starts_with("::");
        let is_imported = before.ends_with("use") || before.ends_with("extern crate");
        let is_inner = before
            .strip_suffix("::")
            .is_some_and(|outer| outer.ends_with(|letter: char| is_word(letter) || letter == '>'));
        (is_whole || is_imported) && !is_inner
    })
}

fn find_word(code: &str, word: &str) -> Option<usize> {
    words(code, word).next()
}

/// Finds all occurrences of `word` as a whole word.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            !code[..*at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word)
        })
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_code(path: &str, text: &str, expected: &[&str]) {
        let file = ProjectFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(check(&file), expected, "violations of {text}");
    }

    #[test]
    fn boundaries_are_checked() {
        let core = "crates/core/src/a.rs";
        check_code("crates/mcp/src/a.rs", "use rmcp::model;", &[]);
        check_code(
            core,
            "//! A.\nuse rmcp::model;",
            &[
                "crates/core/src/a.rs:2: `rmcp` belongs in crates/mcp/, bench/src/stdio.rs, \
                 crates/testkit/src/conformance_server/",
            ],
        );
        check_code(
            core,
            "fn a() { tokio::spawn(b()); }",
            &["crates/core/src/a.rs:1: `tokio` does not belong here"],
        );
        check_code(
            core,
            "use std::time::Instant;",
            &["crates/core/src/a.rs:1: `std::time::Instant` does not belong here"],
        );
        check_code(
            "crates/engine/src/schedule/run.rs",
            "async fn a() { b().await }",
            &[
                "crates/engine/src/schedule/run.rs:1: `async` does not belong here",
                "crates/engine/src/schedule/run.rs:1: `await` does not belong here",
            ],
        );
        check_code("crates/engine/src/drive.rs", "use tokio::sync;", &[]);
        check_code("crates/core/src/a/tests.rs", "use std::thread;", &[]);
        check_code(core, "// use rmcp::model;\nlet a = \"tokio::b\";", &[]);
        check_code(core, "use crate::rmcp::Model; let rmcp = 1;", &[]);
        check_code(core, "use std::time::Duration; async_like();", &[]);
        check_code(
            "crates/core/src/schema/a.rs",
            "use jsonschema::Validator;",
            &[],
        );
    }
}
