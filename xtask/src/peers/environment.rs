//! Python environments with the other systems, in pinned versions.

use crate::install::{Environment, Registry};

pub(crate) const MCP_CLI: Environment = Environment {
    folder: "mcp-cli",
    registry: Registry::PyPi,
    packages: &[
        "mcp-cli==0.20.1",
        "chuk-ai-planner==0.5.1",
        "chuk-tool-processor==0.26.1",
    ],
    programs: &[INTERPRETER],
};

pub(crate) const CONCIERGE: Environment = Environment {
    folder: "concierge",
    registry: Registry::PyPi,
    // It fails silently with the second major version of the MCP package.
    packages: &["concierge-sdk==0.8.0", "mcp==1.30.0"],
    programs: &[INTERPRETER],
};

/// The path of the interpreter in an environment.
pub(super) const INTERPRETER: &str = "bin/python";
