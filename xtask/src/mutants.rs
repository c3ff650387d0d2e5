//! Mutation testing with `cargo-mutants`.

use crate::command::{self, command};
use crate::install::install_tool;
use crate::project::Project;

const TOOL: &str = "cargo-mutants";
const VERSION: &str = "27.1.0";

/// The crates with files in `.cargo/mutants.toml`.
const CRATES: [&str; 2] = ["core", "engine"];

/// Mutates the code of the crates `names`, or of all, and runs the tests of the crate for each mutation.
///
/// # Errors
///
/// Mutations that no test detects, or a failure to run them.
pub(crate) fn run(project: &Project, names: &[&str]) -> Result<(), String> {
    let mut mutants = Vec::new();
    for name in chosen(names)? {
        mutants.push(format!("--package=planwright-{name}"));
    }
    let tool = install_tool(project, TOOL, VERSION)?;
    let mut run = command(&project.root, &[&tool.to_string_lossy(), "mutants"]);
    run.args(mutants).arg("--output").arg(project.target());
    command::run(run)
}

/// Returns the crates with these names, or all.
fn chosen<'a>(names: &[&'a str]) -> Result<Vec<&'a str>, String> {
    if let Some(unknown) = names.iter().find(|name| !CRATES.contains(name)) {
        return Err(format!(
            "`{unknown}` has no mutants; there are those of {}",
            CRATES.join(", ")
        ));
    }
    let all = names.is_empty().then_some(CRATES.to_vec());
    Ok(all.unwrap_or_else(|| names.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_chosen_by_name() {
        assert_eq!(chosen(&[]), Ok(vec!["core", "engine"]));
        assert_eq!(chosen(&["engine"]), Ok(vec!["engine"]));
        assert_eq!(
            chosen(&["engine", "mcp"]),
            Err("`mcp` has no mutants; there are those of core, engine".to_owned())
        );
    }
}
