//! The guide and the README tell the truth: whatever they show is done here, and comes to what they show.
//!
//! Each page is one session in a folder of its own, which begins with the JSON files that lie beside the page. Its
//! fenced blocks are taken in their order:
//!
//! - `json NAME`, `text NAME` and `toml NAME` are files of that name.
//! - `json` alone is some JSON.
//! - `console` holds commands behind `$ `, each with what it prints, on standard output and standard error alike. A line `…`
//!   stands for any lines, `…` within a line for any text. Lengths of time count as equal.
//! - `sh` holds commands that need what a test does not have, such as a server: the program accepts their words. `toml` is what a
//!   manifest of another project says; it is not tried.
//! - `rust` is compiled with the documentation of the library, `js` with the types of the client by `cargo xtask dist`, and `python`
//!   is run with the tests of the Python module, not here. The page about frameworks shows parts of programs that `cargo xtask test
//!   frameworks` runs.

mod session;
mod transcript;

use std::fs;
use std::path::{Path, PathBuf};

use planwright::core::Value;
use planwright_testkit::generated::project_file;
use planwright_testkit::pages::{Block, blocks};

use session::Session;

/// The folders whose pages show what the program does.
const FOLDERS: &[&str] = &["docs/guide", "docs/dialects", "docs/formats"];

/// The page that people read first.
const README: &str = "README.md";

#[test]
fn pages_show_what_happens() {
    let mut pages: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| pages_in(folder)).collect();
    assert!(!pages.is_empty(), "there are no pages");
    pages.push(project_file(README));
    let problems: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = pages
            .iter()
            .map(|page| scope.spawn(|| problems_of(page)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a page can be read"))
            .collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

fn pages_in(folder: &str) -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = fs::read_dir(project_file(folder))
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages
}

/// Returns the problems of a page: parts that do not match the output of the program.
fn problems_of(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let name = page.file_name().unwrap().to_string_lossy();
    let mut session = Session::beside(page);
    let mut problems = Vec::new();
    for Block {
        words,
        content,
        line,
    } in blocks(&text)
    {
        let found = match words.as_slice() {
            ["json", file] => json(content).and_then(|()| session.write(file, content)),
            ["text" | "toml", file] => session.write(file, content),
            ["json"] => json(content),
            ["console"] => session.replay(content),
            ["sh"] => session.parse(content),
            ["toml" | "rust" | "rust,no_run" | "js" | "python"] => Ok(()),
            _ => Err(format!("no page has a block {words:?}")),
        };
        if let Err(problem) = found {
            problems.push(format!("{name}:{line}: {problem}"));
        }
    }
    problems
}

fn json(text: &str) -> Result<(), String> {
    Value::from_json(text)
        .map(|_| ())
        .map_err(|error| format!("{error} in\n{text}"))
}
