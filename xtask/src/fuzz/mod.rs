//! Fuzzing with `cargo-fuzz`.

mod seeds;
mod turns;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::project::Project;

/// The pinned version of `cargo-fuzz`.
const CARGO_FUZZ: &str = "0.13.2";

/// The folder of the targets, relative to the project's root.
const TARGETS: &str = "fuzz/targets";

/// Fuzzes the targets `names`, or all if it is empty, for `seconds` each.
///
/// # Errors
///
/// The preparation fails, or an input was found for a target.
pub(crate) fn run(project: &Project, names: &[&str], seconds: u32) -> Result<(), String> {
    let all = targets(project)?;
    if let Some(unknown) = names
        .iter()
        .find(|name| !all.iter().any(|has| has == *name))
    {
        return Err(format!(
            "no target is called `{unknown}`; there are {}",
            all.join(", ")
        ));
    }
    let chosen: Vec<&String> = all
        .iter()
        .filter(|name| names.is_empty() || names.contains(&name.as_str()))
        .collect();
    for target in &chosen {
        seeds::write(project, target, &corpus(project, target))?;
    }
    install(project)?;
    command::run(cargo_fuzz(project, &["build"]))?;
    let found = turns::run(project, &chosen, seconds)?;
    if found.is_empty() {
        return Ok(());
    }
    Err(format!(
        "inputs were found for {}: they are in `{}`; put each into `fuzz/regressions/TARGET`",
        found.join(", "),
        artifacts(project).display()
    ))
}

/// Returns the names of all targets.
fn targets(project: &Project) -> Result<Vec<String>, String> {
    let run = [
        "cargo",
        "run",
        "--quiet",
        "--package",
        "planwright-fuzz",
        "--bin",
        "fuzz-targets",
    ];
    let names = command::output(command::command(&project.root, &run))?;
    Ok(names.lines().map(str::to_owned).collect())
}

fn install(project: &Project) -> Result<(), String> {
    let tools = project.target().join("tools");
    let root = tools.display().to_string();
    command::run(command::command(
        &project.root,
        &[
            "cargo",
            "install",
            "cargo-fuzz",
            "--version",
            CARGO_FUZZ,
            "--locked",
            "--quiet",
            "--root",
            &root,
        ],
    ))
}

/// Creates a command that runs `cargo-fuzz` with a nightly compiler. Our code has no unsafe block, so no sanitizer slows it down.
fn cargo_fuzz(project: &Project, arguments: &[&str]) -> Command {
    let program = project.target().join("tools/bin/cargo-fuzz");
    let mut command = command::command(&project.root, &[&program.to_string_lossy()]);
    command
        .args(arguments)
        .args(["--fuzz-dir", TARGETS, "--sanitizer", "none"])
        .env("RUSTUP_TOOLCHAIN", "nightly")
        .env("CARGO_TARGET_DIR", home(project).join("build"));
    command
}

/// Returns the path of the fuzz binary, which serves all targets.
fn binary(project: &Project) -> PathBuf {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    home(project)
        .join("build")
        .join(triple)
        .join("release/target")
}

fn corpus(project: &Project, target: &str) -> PathBuf {
    home(project).join("corpus").join(target)
}

fn artifacts(project: &Project) -> PathBuf {
    home(project).join("artifacts")
}

fn home(project: &Project) -> PathBuf {
    project.target().join("fuzz")
}

fn explain(path: &Path, error: &std::io::Error) -> String {
    format!("cannot use `{}`: {error}", path.display())
}
