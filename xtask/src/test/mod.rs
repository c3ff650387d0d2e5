//! All checks that must pass before a change is merged, with their durations.

pub(crate) mod dist;
mod frameworks;
mod node;
mod python;
mod stage;
mod tally;

use std::process::ExitCode;
use std::time::Instant;

use crate::command::{command, output, run as run_command};
use crate::install::{chromium, judges, postgres, servers};
use crate::project::Project;
use crate::{book, deps, null_device, package, semver, tidy};
use node::NodeTests;
use stage::{Outcome, Summary};
use tally::Tally;

/// A check, which returns its counts.
type Check = fn(&Project) -> Result<Tally, String>;

/// The stages, the quick ones first. Each runs even if earlier ones failed, so that one run reports all failures.
const STAGES: &[(&str, Check)] = &[
    ("format", format),
    ("tidy", |project| tidy::run(project).map(|()| Tally::NONE)),
    ("deps", |project| deps::run(project).map(|()| Tally::NONE)),
    ("clippy", clippy),
    ("yardstick", yardstick),
    ("library", library),
    ("servers", |project| {
        servers::run(project).map(|()| Tally::NONE)
    }),
    ("judges", |project| {
        judges::run(project).map(|()| Tally::NONE)
    }),
    ("docs", docs),
    ("book", |project| book::run(project).map(|()| Tally::NONE)),
    ("semver", |project| {
        semver::run(project).map(|()| Tally::NONE)
    }),
    ("doctests", doctests),
    ("tests", tests),
    ("browser", browser),
    ("dist", dist::run),
    ("python", python::run),
    ("frameworks", frameworks::run),
    ("package", |project| {
        package::run(project).map(|()| Tally::NONE)
    }),
];

/// Runs the stages of these names, or all if there are none, and ends with the line `N passed, N failed`, which counts a failed stage other
/// than the tests as one.
pub(crate) fn run(project: &Project, names: &[&str]) -> ExitCode {
    let is_stage = |name: &&str| STAGES.iter().any(|(stage, _)| stage == name);
    if let Some(unknown) = names.iter().find(|name| !is_stage(name)) {
        let stages: Vec<&str> = STAGES.iter().map(|(stage, _)| *stage).collect();
        eprintln!(
            "error: there is no stage `{unknown}`\n  hint: the stages are {}",
            stages.join(", ")
        );
        return ExitCode::from(2);
    }
    let mut summary = Summary::default();
    let wanted = STAGES
        .iter()
        .filter(|(name, _)| names.is_empty() || names.contains(name));
    for (name, check) in wanted {
        println!("\n── {name}");
        let start = Instant::now();
        let result = null_device::restore(project).and_then(|()| check(project));
        if let Err(message) = &result {
            println!("{message}");
        }
        summary.add(Outcome {
            name,
            time: start.elapsed(),
            result,
        });
    }
    println!("\n{summary}");
    if summary.is_success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn format(project: &Project) -> Result<Tally, String> {
    let line = ["cargo", "fmt", "--all", "--check"];
    run_command(command(&project.root, &line)).map(|()| Tally::NONE)
}

fn clippy(project: &Project) -> Result<Tally, String> {
    let line = [
        "cargo",
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ];
    run_command(command(&project.root, &line)).map(|()| Tally::NONE)
}

/// Compares the page about other ways with the figures of the benchmark, and tests its own tools.
fn yardstick(project: &Project) -> Result<Tally, String> {
    let folder = project.root.join("bench/yardstick");
    let line = ["python3", "-m", "unittest", "discover", "--quiet"];
    run_command(command(&folder, &line)).map(|()| Tally::NONE)
}

/// The features of the library that embedders build without the others.
const LIBRARY_FEATURES: [&str; 5] = ["", "mcp", "mcp-http", "planner", "store"];

/// The crates that only `mcp-http` may bring in, as `cargo tree` begins their lines.
const HTTP_CRATES: [&str; 3] = ["hyper v", "reqwest v", "rustls v"];

/// Checks the library without the features of the program, as embedders build it.
fn library(project: &Project) -> Result<Tally, String> {
    for features in LIBRARY_FEATURES {
        let selection = ["--no-default-features", "--features", features];
        let clippy = ["cargo", "clippy", "--package", "planwright", "--lib"];
        let line = [&clippy[..], &selection, &["--", "--deny", "warnings"]].concat();
        run_command(command(&project.root, &line))?;
        let tree = [
            "cargo",
            "tree",
            "--package",
            "planwright",
            "--edges",
            "normal",
        ];
        let line = [&tree[..], &["--prefix", "none"], &selection].concat();
        let tree = output(command(&project.root, &line))?;
        let has_http = |line: &str| HTTP_CRATES.iter().any(|name| line.starts_with(name));
        if features != "mcp-http"
            && let Some(line) = tree.lines().find(|line| has_http(line))
        {
            return Err(format!(
                "with the features `{features}` the library has `{line}`"
            ));
        }
    }
    Ok(Tally::NONE)
}

fn docs(project: &Project) -> Result<Tally, String> {
    let line = ["cargo", "doc", "--workspace", "--no-deps"];
    let mut command = command(&project.root, &line);
    command.env("RUSTDOCFLAGS", "--deny warnings");
    run_command(command).map(|()| Tally::NONE)
}

fn doctests(project: &Project) -> Result<Tally, String> {
    let line = ["cargo", "test", "--workspace", "--doc", "--no-fail-fast"];
    output(command(&project.root, &line)).map(|text| Tally::of_doctests(&text))
}

/// Tests the page of runs in a real browser, with the programs that the stage before has built.
fn browser(project: &Project) -> Result<Tally, String> {
    let chromium = chromium(project)?;
    let target = project.target();
    NodeTests {
        folder: "crates/web/tests/browser",
        concurrency: 1,
        variables: &[
            ("CHROMIUM", chromium),
            ("PLANWRIGHT", target.join("debug/planwright")),
            ("PLANWRIGHT_BROWSER_PACKAGES", target.join("judges/browser")),
            ("PLANWRIGHT_SCREENSHOTS", target.join("screenshots")),
        ],
    }
    .run(project)
}

fn tests(project: &Project) -> Result<Tally, String> {
    let nextest = ["cargo", "nextest", "--version"];
    if output(command(&project.root, &nextest)).is_err() {
        let install = ["cargo", "install", "--locked", "cargo-nextest"];
        run_command(command(&project.root, &install))?;
    }
    // Nextest writes its reports below the project's root, wherever cargo builds.
    let report = project.root.join("target/nextest/default/junit.xml");
    // Otherwise the report of an earlier run would count if this run fails before it writes one.
    let _ = std::fs::remove_file(&report);
    // Tests start programs of other packages, which nextest does not build. Built within a test, they would make it seem slow.
    let build = ["cargo", "build", "--quiet", "--workspace", "--bins"];
    run_command(command(&project.root, &build))?;
    let server = postgres(project)?;
    let line = ["cargo", "nextest", "run", "--workspace", "--no-fail-fast"];
    let mut tests = command(&project.root, &line);
    tests.env("PLANWRIGHT_POSTGRES", &server.url);
    let result = run_command(tests);
    drop(server);
    match (std::fs::read_to_string(&report), result) {
        (Ok(report), _) => Ok(Tally::of_junit(&report, "testsuites")),
        (Err(_), Err(message)) => Err(message),
        (Err(error), Ok(())) => Err(format!("the tests left no report: {error}")),
    }
}
