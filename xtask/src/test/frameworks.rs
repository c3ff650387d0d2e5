//! The examples with agents of other frameworks, each with the framework in a pinned version and a scripted model.

use super::node::NodeTests;
use super::tally::Tally;
use crate::install::{Environment, Registry, install_all};
use crate::project::Project;

/// The frameworks. Those of Python need two environments: some require the first major version of the SDK of MCP, some the second.
const FRAMEWORKS: &[Environment] = &[
    Environment {
        folder: "frameworks",
        registry: Registry::PyPi,
        packages: &[
            "claude-agent-sdk==0.2.189",
            "fastmcp[tasks]==4.1.4",
            "pydantic-ai-slim[mcp]==2.68.0",
        ],
        programs: &["bin/python"],
    },
    Environment {
        folder: "frameworks-mcp-1",
        registry: Registry::PyPi,
        packages: &[
            "langchain==1.5.2",
            "langchain-mcp-adapters==0.3.2",
            "openai-agents==0.24.0",
        ],
        programs: &["bin/python"],
    },
    Environment {
        folder: "frameworks-node",
        registry: Registry::Npm,
        packages: &["@ai-sdk/mcp@2.0.99", "ai@7.0.173"],
        programs: &["node_modules/ai/package.json"],
    },
];

/// Runs the agents over a real server, with the programs that the stages before have built and installed.
///
/// # Errors
///
/// A framework cannot be installed.
pub(super) fn run(project: &Project) -> Result<Tally, String> {
    let target = project.target();
    let judges = target.join("judges");
    install_all(&judges, FRAMEWORKS)?;
    NodeTests {
        folder: "examples/frameworks/tests",
        concurrency: 1,
        variables: &[
            ("PLANWRIGHT", target.join("debug/planwright")),
            ("PLANWRIGHT_JUDGES", judges),
            (
                "PLANWRIGHT_SERVERS",
                target.join("servers/npm/node_modules/.bin"),
            ),
        ],
    }
    .run(project)
}
