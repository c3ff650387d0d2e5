//! Python environments with the other systems, in the versions that the drivers were written against.

use crate::environment::{Environment, Registry};

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
    // It does not work with the second major version of the protocol's package, and does not say so.
    packages: &["concierge-sdk==0.8.0", "mcp==1.30.0"],
    programs: &[INTERPRETER],
};

/// Where an environment has its interpreter.
pub(super) const INTERPRETER: &str = "bin/python";
