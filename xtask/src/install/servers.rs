//! The real MCP servers that tests talk to, in pinned versions.

use super::environment::{Environment, Registry, install_all};
use crate::project::Project;

const SERVERS: &[Environment] = &[
    Environment {
        folder: "npm",
        registry: Registry::Npm,
        packages: &[
            "@modelcontextprotocol/server-everything@2026.8.31",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
        ],
        programs: &[
            "node_modules/.bin/mcp-server-everything",
            "node_modules/.bin/mcp-server-filesystem",
        ],
    },
    // The server is not bundled with Planwright: its licence (BSL) allows its use, not every redistribution.
    Environment {
        folder: "restate",
        registry: Registry::Npm,
        packages: &["@restatedev/restate-server@1.7.12"],
        programs: &["node_modules/@restatedev/restate-server/package.json"],
    },
    Environment {
        folder: "python",
        registry: Registry::PyPi,
        packages: &["mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"],
        programs: &["bin/mcp-server-git", "bin/mcp-server-time"],
    },
];

/// Installs the missing servers into `servers` in cargo's target folder.
///
/// # Errors
///
/// An installation fails.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    install_all(&project.target().join("servers"), SERVERS)?;
    println!("the servers are there");
    Ok(())
}
