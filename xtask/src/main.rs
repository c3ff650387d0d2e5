//! The project's own chores, run as `cargo xtask CHORE`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person at the terminal"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a chore measures its own time and looks at its surroundings"
)]

mod book;
mod command;
mod deps;
mod environment;
mod fuzz;
mod generate;
mod judges;
mod metadata;
mod mutants;
mod null_device;
mod package;
mod path;
mod peers;
mod project;
mod semver;
mod servers;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

use project::Project;

/// How long each target is fuzzed where nobody says.
const FUZZING_SECONDS: u32 = 60;

const USAGE: &str = "\
usage: cargo xtask CHORE

  test      everything that must hold before a change is merged
  tidy      house rules: captions, sizes, codes, rooms, words, links
  deps      allowed edges between the crates
  package   whether what would be published is whole and builds
  semver    whether the library keeps what its last release promised
  servers   installs the real MCP servers that the tests talk to
  judges    installs the conformance suite and the clients that judge the gateway
  generate  writes the generated files anew
  book      builds the book of docs and follows its links
  peers     [--json FILE] runs the same plans on other systems and on ours, and prints who took how long
  fuzz      [SECONDS [TARGET ...]] looks for input that breaks what must always hold (needs a nightly compiler)
  mutants   [CRATE ...] changes the code and looks whether a test notices";

fn main() -> ExitCode {
    let chores: Vec<String> = std::env::args().skip(1).collect();
    let project = Project::here();
    let done = match chores.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => return test::run(&project),
        ["tidy"] => tidy::run(&project),
        ["deps"] => deps::run(&project),
        ["package"] => package::run(&project),
        ["semver"] => semver::run(&project),
        ["servers"] => servers::run(&project),
        ["judges"] => judges::run(&project),
        ["book"] => book::run(&project),
        ["generate"] => generate::run(&project),
        ["peers"] => peers::run(&project, None),
        ["peers", "--json", file] => peers::run(&project, Some(file)),
        ["fuzz"] => fuzz::run(&project, &[], FUZZING_SECONDS),
        ["fuzz", seconds, ref names @ ..] => match seconds.parse() {
            Ok(seconds) => fuzz::run(&project, names, seconds),
            Err(_) => Err(format!("`{seconds}` is no number of seconds")),
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
