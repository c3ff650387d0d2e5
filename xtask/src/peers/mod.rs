//! Comparison with other systems that run plans: each runs the same shapes in turn.

mod contestant;
mod environment;
mod table;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command;
use crate::install::Environment;
use crate::project::Project;
use contestant::Contestant;
use environment::INTERPRETER;
pub(crate) use environment::{CONCIERGE, MCP_CLI};
use table::{Shape, Table};

/// The number of turns that each system has with a shape.
const ROUNDS: usize = 7;

/// Installs the missing systems, measures all of them, and prints a table. Writes all figures to `json` if given.
///
/// # Errors
///
/// An installation, a build or a run fails, or a result is wrong.
pub(crate) fn run(project: &Project, json: Option<&str>) -> Result<(), String> {
    let folder = project.target().join("peers");
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make `{}`: {error}", folder.display()))?;
    let install = |what: Environment| {
        let environment = what.install(&folder)?;
        Ok::<_, String>(environment.join(INTERPRETER).to_string_lossy().into_owned())
    };
    let (mcp_cli, concierge) = (install(MCP_CLI)?, install(CONCIERGE)?);
    let ours = build(project)?;

    let described = command::output(command::command(&folder, &[&ours, "describe"]))?;
    let shapes_file = folder.join("shapes.json");
    fs::write(&shapes_file, &described)
        .map_err(|error| format!("cannot write `{}`: {error}", shapes_file.display()))?;
    let shapes = Shape::all(&described)?;

    let drivers = project.root.join("bench/peers");
    let driver = |python: &str, name: &str, options: &[&str]| {
        let script = drivers.join(name);
        let mut line = command::command(&folder, &[python, &script.to_string_lossy()]);
        // So that nothing in a person's home folder is read or changed, and no bytecode is written beside the drivers.
        line.arg(&shapes_file)
            .args(options)
            .env("HOME", folder.join("home"))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        line
    };
    for file in ["kept.db", "kept.db-wal", "kept.db-shm"] {
        // The store of an earlier comparison has runs with the ids of this one.
        let _ = fs::remove_file(folder.join(file));
    }
    let mut contestants = [
        Contestant::start("planwright", command::command(&folder, &[&ours, "serve"]))?,
        Contestant::start(
            "planwright, kept",
            command::command(&folder, &[&ours, "serve", "kept.db"]),
        )?,
        Contestant::start(
            "mcp-cli",
            driver(&mcp_cli, "drive_mcp_cli.py", &["checkpoints"]),
        )?,
        Contestant::start(
            "mcp-cli, checkpoints",
            driver(&mcp_cli, "drive_mcp_cli.py", &["checkpoints", "write"]),
        )?,
        Contestant::start("Concierge", driver(&concierge, "drive_concierge.py", &[]))?,
    ];

    let names = contestants.each_ref().map(|contestant| contestant.name);
    let mut table = Table::new(shapes, &names);
    for shape in 0..table.shapes() {
        // The first round warms up.
        for round in 0..=ROUNDS {
            for (number, contestant) in contestants.iter_mut().enumerate() {
                let seconds = contestant.turn(shape)?;
                if round > 0 {
                    table.add(shape, number, seconds);
                }
            }
        }
    }
    println!("{table}");
    match json {
        Some(path) => write_json(Path::new(path), &table.to_json(versions())),
        None => Ok(()),
    }
}

/// Builds our side, and returns the path of its program.
fn build(project: &Project) -> Result<String, String> {
    let line = [
        "cargo",
        "build",
        "--release",
        "--package",
        "planwright-bench",
        "--bin",
        "peer",
    ];
    command::run(command::command(&project.root, &line))?;
    let program = project.target().join("release/peer");
    Ok(program.to_string_lossy().into_owned())
}

/// Returns the versions of the other systems.
fn versions() -> Value {
    let packages = |environment: Environment| Value::from(environment.packages);
    serde_json::json!({"mcp-cli": packages(MCP_CLI), "Concierge": packages(CONCIERGE)})
}

fn write_json(path: &Path, figures: &Value) -> Result<(), String> {
    let text = format!("{figures:#}\n");
    fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}
