//! External judges: the official conformance suite, clients of others, and the systems that plans are converted for.

use super::environment::{Environment, Registry, install_all};
use crate::peers;
use crate::project::Project;

const JUDGES: &[Environment] = &[
    // The executors of these systems run converted plans.
    peers::MCP_CLI,
    peers::CONCIERGE,
    // The suite requires a newer Node.js than many machines have.
    Environment {
        folder: "node",
        registry: Registry::Npm,
        packages: &["node@24.21.0"],
        programs: &["node_modules/.bin/node"],
    },
    // For the protocol versions 2025-06-18 and 2025-11-25.
    Environment {
        folder: "suite",
        registry: Registry::Npm,
        packages: &["@modelcontextprotocol/conformance@0.1.16"],
        programs: &["node_modules/.bin/conformance"],
    },
    // For all protocol versions up to 2026-07-28.
    Environment {
        folder: "suite-next",
        registry: Registry::Npm,
        packages: &["@modelcontextprotocol/conformance@0.2.0-alpha.12"],
        programs: &["node_modules/.bin/conformance"],
    },
    Environment {
        folder: "typescript",
        registry: Registry::Npm,
        packages: &[
            "@modelcontextprotocol/sdk@1.32.2",
            "@modelcontextprotocol/client@2.4.0",
        ],
        programs: &["node_modules/@modelcontextprotocol/sdk/package.json"],
    },
    // The library that servers are written with.
    Environment {
        folder: "typescript-server",
        registry: Registry::Npm,
        packages: &[
            "@modelcontextprotocol/sdk@1.32.2",
            "@modelcontextprotocol/server@2.4.0",
            "@modelcontextprotocol/node@2.1.2",
            "zod@4.3.6",
        ],
        programs: &["node_modules/@modelcontextprotocol/server/package.json"],
    },
    // The driver of the browser in which the page of runs is tested, the checks of its accessibility, and the reference host of views in
    // clients.
    Environment {
        folder: "browser",
        registry: Registry::Npm,
        packages: &[
            "playwright-core@1.65.1",
            "axe-core@4.14.1",
            "@modelcontextprotocol/ext-apps@2.0.4",
            "@modelcontextprotocol/client@2.4.0",
        ],
        programs: &[
            "node_modules/playwright-core/package.json",
            "node_modules/@modelcontextprotocol/ext-apps/package.json",
        ],
    },
    Environment {
        folder: "python",
        registry: Registry::PyPi,
        packages: &["mcp==2.3.0"],
        programs: &["bin/python"],
    },
    // Most Python servers and clients use the first major version.
    Environment {
        folder: "python-1",
        registry: Registry::PyPi,
        packages: &["mcp==1.30.0"],
        programs: &["bin/python"],
    },
    Environment {
        folder: "fastmcp",
        registry: Registry::PyPi,
        packages: &["fastmcp==4.1.0"],
        programs: &["bin/python"],
    },
];

/// Installs the missing judges into `judges` in cargo's target folder.
///
/// # Errors
///
/// An installation fails.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    install_all(&project.target().join("judges"), JUDGES)?;
    println!("the judges are there");
    Ok(())
}
