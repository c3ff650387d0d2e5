//! House rules that no compiler knows.

mod captions;
mod codes;
mod links;
mod rooms;
mod rust_text;
mod sizes;
mod summary;
mod words;

use crate::project::Project;

/// A rule that is broken somewhere: `path:line: what is the matter`.
type Finding = String;

/// Looks at every file of the project.
///
/// # Errors
///
/// All findings.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    let files = project.files()?;
    let mut findings: Vec<Finding> = Vec::new();
    for file in &files {
        findings.extend(captions::check(file));
        findings.extend(rooms::check(file));
        findings.extend(words::check(file));
    }
    findings.extend(codes::check(&files));
    findings.extend(links::check(&files));
    findings.extend(summary::check(&files));

    let sizes = sizes::measure(&files);
    println!("{sizes}");
    findings.extend(sizes.findings());

    if findings.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} house rules are broken\n  {}",
        findings.len(),
        findings.join("\n  ")
    ))
}
