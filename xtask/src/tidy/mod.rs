//! Style rules that the compiler does not check.

mod boundaries;
mod captions;
mod codes;
mod folders;
mod forbidden;
mod language;
mod links;
mod rust_text;
mod sizes;
mod sources;
mod summary;
mod types;

use crate::project::Project;

/// A violated rule, as `path:line: message`.
type Violation = String;

/// Checks all files of the project.
///
/// # Errors
///
/// All violations.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    let files = project.files()?;
    let mut violations: Vec<Violation> = Vec::new();
    for file in &files {
        violations.extend(captions::check(file));
        violations.extend(boundaries::check(file));
        violations.extend(forbidden::check(file));
        violations.extend(language::check(file));
    }
    violations.extend(codes::check(&files));
    violations.extend(links::check(&files));
    violations.extend(summary::check(&files));

    let sizes = sizes::measure(&files);
    println!("{sizes}");
    violations.extend(sizes.violations());

    let folders = folders::measure(&files);
    println!("{folders}");
    violations.extend(folders.violations());

    let sources = sources::sources(&files);
    violations.extend(types::check(&sources));
    println!("{} docs of items and modules", language::docs(&files));

    if violations.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} violations of style rules\n  {}",
        violations.len(),
        violations.join("\n  ")
    ))
}
