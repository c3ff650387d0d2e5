//! Development tasks of the project, run as `cargo xtask CHORE`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore prints to the terminal"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a chore measures time and reads its environment"
)]

mod book;
mod command;
mod deps;
mod fuzz;
mod generate;
mod install;
mod mutants;
mod null_device;
mod package;
mod peers;
mod project;
mod semver;
mod test;
mod tidy;

use std::process::ExitCode;

use install::{judges, servers};
use project::Project;

/// The default time for each fuzz target.
const DEFAULT_FUZZ_SECONDS: u32 = 60;

const USAGE: &str = "\
usage: cargo xtask CHORE

  test      [STAGE ...] run all checks that must pass before a change is merged, or some of them
  tidy      check the style rules: captions, sizes, codes, boundaries, links, language
  deps      check the dependencies between the crates
  package   check and build the packages to publish
  dist      pack what a release ships, install it into empty folders, and use it
  semver    compare the crates with their last release
  servers   install the real MCP servers that the tests talk to
  judges    install the conformance suite and the clients that test the gateway
  generate  regenerate the generated files
  book      build the book from docs and check its links
  peers     [--json FILE] run the same plans on other systems and on ours, and print the times
  fuzz      [SECONDS [TARGET ...]] search for inputs that violate an invariant (needs a nightly compiler)
  mutants   [CRATE ...] change the code and check that a test fails";

fn main() -> ExitCode {
    let chores: Vec<String> = std::env::args().skip(1).collect();
    let project = Project::here();
    let done = match chores.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test", ref names @ ..] => return test::run(&project, names),
        ["tidy"] => tidy::run(&project),
        ["deps"] => deps::run(&project),
        ["dist"] => return test::run(&project, &["dist"]),
        ["package"] => package::run(&project),
        ["semver"] => semver::run(&project),
        ["servers"] => servers::run(&project),
        ["judges"] => judges::run(&project),
        ["book"] => book::run(&project),
        ["generate"] => generate::run(&project),
        ["peers"] => peers::run(&project, None),
        ["peers", "--json", file] => peers::run(&project, Some(file)),
        ["fuzz"] => fuzz::run(&project, &[], DEFAULT_FUZZ_SECONDS),
        ["fuzz", seconds, ref names @ ..] => match seconds.parse() {
            Ok(seconds) => fuzz::run(&project, names, seconds),
            Err(_) => Err(format!("`{seconds}` is not a number of seconds")),
        },
        ["mutants", ref names @ ..] => mutants::run(&project, names),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
