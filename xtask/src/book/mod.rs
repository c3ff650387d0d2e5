//! The book: `docs/` as HTML, with checked links.

mod html;
mod links;

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;
use crate::project::Project;
use html::{Page, is_html};

/// The pinned version of mdBook.
const VERSION: &str = "0.5.4";
/// The output of `mdbook --version` for that version.
const GREETING: &str = "mdbook v0.5.4";

/// Builds the book into `book` in cargo's target folder, and checks its links.
///
/// # Errors
///
/// The build fails, or a link is broken.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    let program = install(project)?;
    let book = project.target().join("book");
    let explain = |error| format!("cannot empty `{}`: {error}", book.display());
    if book.exists() {
        fs::remove_dir_all(&book).map_err(explain)?;
    }
    let mut build = command::command(&project.root, &[&program.to_string_lossy(), "build"]);
    build.arg("docs").arg("--dest-dir").arg(&book);
    command::run(build)?;
    let mut pages = Vec::new();
    collect(&book, &book, &mut pages)?;
    let findings = links::check(&pages);
    if !findings.is_empty() {
        return Err(format!(
            "{} links of the book are broken\n  {}",
            findings.len(),
            findings.join("\n  ")
        ));
    }
    let count = pages.iter().filter(|page| page.is_html()).count();
    println!("{count} pages in {}", book.display());
    Ok(())
}

/// Returns the path of mdBook, and installs it below cargo's target folder if it is missing.
fn install(project: &Project) -> Result<PathBuf, String> {
    let folder = project.target().join("tools");
    let program = folder.join("bin").join("mdbook");
    let ask = || {
        let line = [&*program.to_string_lossy(), "--version"];
        command::output(command::command(&project.root, &line))
    };
    if program.exists() && ask()?.trim() == GREETING {
        return Ok(program);
    }
    let mut install = command::command(&project.root, &["cargo", "install", "mdbook"]);
    install
        // Without optimization, the installation takes half the time, and building the book a second.
        .args(["--version", VERSION, "--locked", "--debug", "--force"])
        .args(["--no-default-features", "--features", "search"])
        .arg("--root")
        .arg(&folder)
        .arg("--target-dir")
        .arg(folder.join("build"));
    command::run(install)?;
    let found = ask()?;
    if found.trim() == GREETING {
        return Ok(program);
    }
    Err(format!("`{}` is not {GREETING}", found.trim()))
}

/// Collects all files of the built book, with the content of the pages.
fn collect(book: &Path, folder: &Path, pages: &mut Vec<Page>) -> Result<(), String> {
    let explain = |error| format!("cannot read `{}`: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(explain)? {
        let path = entry.map_err(explain)?.path();
        if path.is_dir() {
            collect(book, &path, pages)?;
            continue;
        }
        let name: Vec<_> = path
            .strip_prefix(book)
            .unwrap_or(&path)
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        let name = name.join("/");
        let text = if is_html(&path) {
            fs::read_to_string(&path).map_err(explain)?
        } else {
            String::new()
        };
        pages.push(Page { name, text });
    }
    Ok(())
}
