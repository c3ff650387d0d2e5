//! Whether a test notices when the code says something else, with `cargo-mutants`.

use crate::command::{self, command};
use crate::project::Project;
use crate::tools;

const TOOL: &str = "cargo-mutants";
const VERSION: &str = "27.1.0";

/// The crates of which `.cargo/mutants.toml` names files.
const CRATES: [&str; 2] = ["core", "engine"];

/// Changes the code of one crate, or of each, in one place after the other, and runs the crate's own tests each time.
///
/// # Errors
///
/// What no test noticed, or why that cannot be found out.
pub(crate) fn run(project: &Project, names: &[&str]) -> Result<(), String> {
    let mut mutants = Vec::new();
    for name in chosen(names)? {
        mutants.push(format!("--package=planwright-{name}"));
    }
    let tool = tools::install(project, TOOL, VERSION)?;
    let mut run = command(&project.root, &[&tool.to_string_lossy(), "mutants"]);
    run.args(mutants).arg("--output").arg(project.target());
    command::run(run)
}

/// The crates by these names, or all.
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
