//! The real MCP servers that the tests talk to, in the versions that they were written against.

use crate::environment::{self, Environment, Registry};
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
    Environment {
        folder: "python",
        registry: Registry::PyPi,
        packages: &["mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"],
        programs: &["bin/mcp-server-git", "bin/mcp-server-time"],
    },
];

/// Installs the servers into `servers` in cargo's target folder, unless they are there.
///
/// # Errors
///
/// Why one of them could not be installed.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    environment::install_all(&project.target().join("servers"), SERVERS)?;
    println!("the servers are there");
    Ok(())
}
