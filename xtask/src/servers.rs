//! The real MCP servers that the tests talk to, in the versions that they were written against.

use std::fs;
use std::path::Path;

use crate::command;
use crate::project::Project;

/// Servers written for Node.js.
const FROM_NPM: &[&str] = &[
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
];
/// Servers written in Python.
const FROM_PYPI: &[&str] = &["mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"];

/// The programs that an installation gives, below its folder.
const PROGRAMS: &[&str] = &[
    "npm/node_modules/.bin/mcp-server-everything",
    "npm/node_modules/.bin/mcp-server-filesystem",
    "python/bin/mcp-server-git",
    "python/bin/mcp-server-time",
];

/// Installs the servers into `servers` in cargo's target folder, unless they are there.
///
/// # Errors
///
/// Why one of them could not be installed.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    let folder = project.target().join("servers");
    let stamp = folder.join("versions.txt");
    // A Python environment works only where it was made, so the folder counts as much as the versions.
    let place = folder.display().to_string();
    let wanted = [FROM_NPM, FROM_PYPI, &[&place]].concat().join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted)
        && missing(&folder).is_none()
    {
        println!("{} servers are there", PROGRAMS.len());
        return Ok(());
    }
    let explain = |error| format!("cannot prepare `{}`: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(explain)?;
    }
    fs::create_dir_all(folder.join("npm")).map_err(explain)?;
    install_from_npm(&folder)?;
    install_from_pypi(&folder)?;
    if let Some(program) = missing(&folder) {
        return Err(format!("the installation left no `{program}`"));
    }
    fs::write(&stamp, wanted).map_err(explain)
}

fn install_from_npm(folder: &Path) -> Result<(), String> {
    let prefix = folder.join("npm");
    let mut command = command::command(
        folder,
        &["npm", "install", "--no-audit", "--no-fund", "--save-exact"],
    );
    command.arg("--prefix").arg(prefix).args(FROM_NPM);
    command::run(command)
}

fn install_from_pypi(folder: &Path) -> Result<(), String> {
    let environment = folder.join("python");
    let mut create = command::command(folder, &["python3", "-m", "venv"]);
    create.arg(&environment);
    command::run(create)?;
    let pip = environment.join("bin/pip");
    let mut install = command::command(folder, &[&pip.to_string_lossy()]);
    install
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(FROM_PYPI);
    command::run(install)
}

fn missing(folder: &Path) -> Option<&'static str> {
    PROGRAMS
        .iter()
        .copied()
        .find(|program| !folder.join(program).exists())
}
