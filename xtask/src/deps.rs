//! The allowed dependencies between crates, including development dependencies.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::project::{Project, read_metadata};

/// The allowed dependencies of a workspace crate.
struct Layer {
    name: &'static str,
    /// The workspace crates that it may depend on.
    may_use: &'static [&'static str],
    /// Further ones for tests and examples.
    tests_may_use: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer {
        name: "planwright-core",
        may_use: &[],
        tests_may_use: &[],
    },
    Layer {
        name: "planwright-dialects",
        may_use: &["planwright-core"],
        tests_may_use: &["planwright-testkit"],
    },
    Layer {
        name: "planwright-engine",
        may_use: &["planwright-core"],
        tests_may_use: &[],
    },
    Layer {
        name: "planwright-openapi",
        may_use: &[],
        tests_may_use: &[],
    },
    Layer {
        name: "planwright-mcp",
        may_use: &["planwright-core", "planwright-engine", "planwright-openapi"],
        tests_may_use: &["planwright-testkit"],
    },
    Layer {
        name: "planwright-format",
        may_use: &["planwright-core", "planwright-engine"],
        tests_may_use: &["planwright-testkit"],
    },
    Layer {
        name: "planwright-store",
        may_use: &["planwright-core", "planwright-engine", "planwright-format"],
        tests_may_use: &[],
    },
    Layer {
        name: "planwright-postgres",
        may_use: &["planwright-engine", "planwright-store"],
        tests_may_use: &["planwright-core", "planwright-testkit"],
    },
    Layer {
        name: "planwright-planner",
        may_use: &[
            "planwright-core",
            "planwright-dialects",
            "planwright-engine",
            "planwright-format",
        ],
        tests_may_use: &["planwright-testkit"],
    },
    Layer {
        name: "planwright",
        may_use: &[
            "planwright-core",
            "planwright-dialects",
            "planwright-engine",
            "planwright-format",
            "planwright-mcp",
            "planwright-planner",
            "planwright-store",
        ],
        tests_may_use: &["planwright-testkit"],
    },
    Layer {
        name: "planwright-serve",
        may_use: &[
            "planwright",
            "planwright-core",
            "planwright-dialects",
            "planwright-engine",
            "planwright-format",
            "planwright-mcp",
            "planwright-planner",
            "planwright-store",
        ],
        tests_may_use: &["planwright-testkit"],
    },
    Layer {
        name: "planwright-restate",
        may_use: &[
            "planwright",
            "planwright-core",
            "planwright-engine",
            "planwright-format",
            "planwright-store",
        ],
        tests_may_use: &["planwright-postgres", "planwright-testkit"],
    },
    Layer {
        name: "planwright-learn",
        may_use: &["planwright-core", "planwright-engine"],
        tests_may_use: &["planwright-dialects"],
    },
    Layer {
        name: "planwright-lsp",
        may_use: &["planwright"],
        tests_may_use: &["planwright-testkit"],
    },
    Layer {
        name: "planwright-web",
        may_use: &["planwright"],
        tests_may_use: &["planwright-testkit"],
    },
    Layer {
        name: "planwright-cli",
        may_use: &[
            "planwright",
            "planwright-core",
            "planwright-learn",
            "planwright-lsp",
            "planwright-mcp",
            "planwright-postgres",
            "planwright-restate",
            "planwright-serve",
            "planwright-store",
            "planwright-web",
        ],
        tests_may_use: &["planwright-dialects", "planwright-testkit"],
    },
    Layer {
        name: "planwright-python",
        may_use: &["planwright"],
        tests_may_use: &[],
    },
    Layer {
        name: "planwright-testkit",
        may_use: &["planwright-core", "planwright-engine"],
        tests_may_use: &[],
    },
    Layer {
        name: "planwright-bench",
        may_use: &[
            "planwright",
            "planwright-core",
            "planwright-dialects",
            "planwright-engine",
            "planwright-mcp",
            "planwright-planner",
            "planwright-store",
            "planwright-testkit",
        ],
        tests_may_use: &[],
    },
    Layer {
        name: "planwright-fuzz",
        may_use: &[
            "planwright-core",
            "planwright-dialects",
            "planwright-engine",
            "planwright-mcp",
            "planwright-planner",
        ],
        tests_may_use: &[],
    },
    Layer {
        name: "xtask",
        may_use: &[],
        tests_may_use: &[],
    },
];

/// The workspace crates that may depend on an external crate of this list.
const FOREIGN: &[(&str, &[&str])] = &[
    ("anstream", &["planwright-cli", "planwright"]),
    (
        "axum",
        &["planwright-serve", "planwright-testkit", "planwright-web"],
    ),
    ("cap-std", &["planwright"]),
    ("clap", &["planwright-cli", "planwright-bench"]),
    ("clap_complete", &["planwright-cli"]),
    ("genai", &["planwright-planner"]),
    ("governor", &["planwright-serve"]),
    ("hyper-util", &["planwright-serve"]),
    ("indicatif", &["planwright-cli"]),
    (
        "jiff",
        &["planwright-core", "planwright-planner", "planwright-cli"],
    ),
    ("jsonc-parser", &["planwright-mcp", "planwright-cli"]),
    ("jsonschema", &["planwright-core"]),
    ("jsonwebtoken", &["planwright-serve"]),
    ("miette", &["planwright-cli"]),
    ("mimalloc", &["planwright-cli", "planwright-bench"]),
    ("opentelemetry", &["planwright", "planwright-serve"]),
    ("opentelemetry-otlp", &["planwright"]),
    ("opentelemetry_sdk", &["planwright"]),
    ("opentelemetry-prometheus", &["planwright"]),
    ("prometheus", &["planwright"]),
    // The server for the conformance suite is written with it, so that a failure that occurs only through the gateway is the gateway's
    // error; the benchmarks compare with it.
    (
        "rmcp",
        &["planwright-mcp", "planwright-bench", "planwright-testkit"],
    ),
    (
        "reqwest",
        &[
            "planwright-mcp",
            "planwright-planner",
            "planwright-restate",
            "planwright-serve",
        ],
    ),
    ("ring", &["planwright-serve"]),
    ("restate-sdk", &["planwright-restate"]),
    (
        "rustls",
        &[
            "planwright-mcp",
            "planwright-planner",
            "planwright-postgres",
            "planwright-restate",
            "planwright-serve",
            "planwright",
        ],
    ),
    ("pyo3", &["planwright-python"]),
    ("rusqlite", &["planwright-store", "planwright-bench"]),
    ("rust-stemmers", &["planwright-planner"]),
    (
        "schemars",
        &[
            "planwright-dialects",
            "planwright-engine",
            "planwright-format",
            "planwright",
            "planwright-cli",
        ],
    ),
    ("similar", &["planwright-cli"]),
    ("subtle", &["planwright-serve", "planwright-web"]),
    ("tiktoken-rs", &["planwright-bench"]),
    ("unicode-security", &["planwright"]),
    ("tokio-postgres", &["planwright-postgres"]),
    ("toml", &["planwright"]),
    ("toml_edit", &["planwright-cli"]),
    ("tracing-subscriber", &["planwright-cli"]),
    (
        "tokio",
        &[
            "planwright-engine",
            "planwright-learn",
            "planwright-mcp",
            "planwright-planner",
            "planwright-postgres",
            "planwright-restate",
            "planwright-store",
            "planwright-testkit",
            "planwright-bench",
            "planwright",
            "planwright-serve",
            "planwright-web",
            "planwright-cli",
            "planwright-python",
        ],
    ),
];

/// The workspace crates whose tests may depend on an external crate of this list.
const FOREIGN_FOR_TESTS: &[(&str, &[&str])] = &[
    ("cel", &["planwright-core"]),
    ("criterion", &["planwright-bench"]),
];

/// A dependency in a crate's manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    for_tests: bool,
}

/// Checks the manifests of all our crates.
///
/// # Errors
///
/// All dependencies that are not allowed, and all cycles.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    let (crates, edges) = read(&read_metadata(project)?);
    let violations = check(&crates, &edges);
    if violations.is_empty() {
        println!("{} crates keep to their layers", crates.len());
        return Ok(());
    }
    Err(format!(
        "{} dependencies are not allowed\n  {}",
        violations.len(),
        violations.join("\n  ")
    ))
}

/// Returns our crates and all of their dependencies.
fn read(metadata: &Value) -> (BTreeSet<String>, BTreeSet<Edge>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let mut crates = BTreeSet::new();
    let mut edges = BTreeSet::new();
    for package in list(&metadata["packages"]) {
        for dependency in list(&package["dependencies"]) {
            edges.insert(Edge {
                from: name(&package),
                to: name(&dependency),
                for_tests: dependency["kind"] == "dev",
            });
        }
        crates.insert(name(&package));
    }
    (crates, edges)
}

fn check(crates: &BTreeSet<String>, edges: &BTreeSet<Edge>) -> Vec<String> {
    let mut violations: Vec<String> = crates
        .iter()
        .filter(|name| !LAYERS.iter().any(|layer| layer.name == **name))
        .map(|name| format!("`{name}` has no layer"))
        .collect();
    for edge in edges {
        if !is_allowed(edge, crates) {
            let kind = if edge.for_tests { " for its tests" } else { "" };
            violations.push(format!("`{}` depends on `{}`{kind}", edge.from, edge.to));
        }
    }
    violations.extend(cycles(crates, edges));
    violations
}

fn is_allowed(edge: &Edge, crates: &BTreeSet<String>) -> bool {
    if let Some((_, users)) = FOREIGN.iter().find(|(name, _)| *name == edge.to) {
        return users.contains(&edge.from.as_str());
    }
    if let Some((_, users)) = FOREIGN_FOR_TESTS.iter().find(|(name, _)| *name == edge.to) {
        return edge.for_tests && users.contains(&edge.from.as_str());
    }
    if !crates.contains(&edge.to) {
        return true;
    }
    LAYERS
        .iter()
        .filter(|layer| layer.name == edge.from)
        .any(|layer| {
            layer.may_use.contains(&edge.to.as_str())
                || edge.for_tests && layer.tests_may_use.contains(&edge.to.as_str())
        })
}

/// Returns a violation for each crate that depends on itself.
fn cycles(crates: &BTreeSet<String>, edges: &BTreeSet<Edge>) -> Vec<String> {
    let mut uses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in edges {
        uses.entry(&edge.from).or_default().push(&edge.to);
    }
    let is_in_cycle = |start: &str| {
        let mut seen = BTreeSet::new();
        let mut next = uses.get(start).cloned().unwrap_or_default();
        while let Some(name) = next.pop() {
            if name == start {
                return true;
            }
            if seen.insert(name) {
                next.extend(uses.get(name).into_iter().flatten());
            }
        }
        false
    };
    crates
        .iter()
        .filter(|name| is_in_cycle(name))
        .map(|name| format!("`{name}` depends on itself in a cycle"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_edges(edges: &[(&str, &str, bool)], expected: &[&str]) {
        let packages: Vec<Value> = LAYERS
            .iter()
            .map(|layer| {
                let dependencies: Vec<Value> = edges
                    .iter()
                    .filter(|(from, ..)| *from == layer.name)
                    .map(|(_, to, for_tests)| {
                        json!({"name": to, "kind": if *for_tests { "dev".into() } else { Value::Null }})
                    })
                    .collect();
                json!({"name": layer.name, "dependencies": dependencies})
            })
            .collect();
        let (crates, edges) = read(&json!({ "packages": packages }));
        assert_eq!(check(&crates, &edges), expected, "{edges:?}");
    }

    #[test]
    fn layers_hold() {
        check_edges(&[], &[]);
        check_edges(
            &[
                ("planwright-engine", "planwright-core", false),
                ("planwright-mcp", "rmcp", false),
                ("planwright-mcp", "planwright-testkit", true),
                ("planwright-core", "serde", false),
                ("planwright-core", "cel", true),
            ],
            &[],
        );
        check_edges(
            &[("planwright-mcp", "planwright-testkit", false)],
            &["`planwright-mcp` depends on `planwright-testkit`"],
        );
        check_edges(
            &[("planwright-core", "planwright-testkit", true)],
            &["`planwright-core` depends on `planwright-testkit` for its tests"],
        );
        check_edges(
            &[("planwright-core", "tokio", true)],
            &["`planwright-core` depends on `tokio` for its tests"],
        );
        check_edges(
            &[
                ("planwright-core", "cel", false),
                ("planwright-engine", "cel", true),
            ],
            &[
                "`planwright-core` depends on `cel`",
                "`planwright-engine` depends on `cel` for its tests",
            ],
        );
        check_edges(
            &[
                ("planwright-testkit", "planwright-engine", false),
                ("planwright-engine", "planwright-testkit", true),
            ],
            &[
                "`planwright-engine` depends on `planwright-testkit` for its tests",
                "`planwright-engine` depends on itself in a cycle",
                "`planwright-testkit` depends on itself in a cycle",
            ],
        );
    }

    #[test]
    fn new_crates_need_a_layer() {
        let crates = BTreeSet::from(["planwright-new".to_owned()]);
        let violations = check(&crates, &BTreeSet::new());
        assert_eq!(violations, ["`planwright-new` has no layer"]);
    }
}
