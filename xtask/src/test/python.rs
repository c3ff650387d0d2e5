//! The tests of the Python module, with the library that cargo has built, in an environment of their own.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::Path;

use super::tally::Tally;
use crate::command::{command, run as run_command};
use crate::install::{Environment, Registry};
use crate::project::Project;

/// The packages that the tests need.
const ENVIRONMENT: Environment = Environment {
    folder: "environment",
    registry: Registry::PyPi,
    packages: &["mypy==2.4.1", "pydantic==2.14.4", "pytest==9.2.0"],
    programs: &["bin/python"],
};

/// The folder of the crate, below the project's root.
const CRATE: &str = "crates/python";

/// Checks the types of the package and of its tests, compares the stub of the native part with that part, and runs the tests.
///
/// # Errors
///
/// The library cannot be built, the package is not typed, or the tests left no report.
pub(super) fn run(project: &Project) -> Result<Tally, String> {
    // The features are those of the stage of tests, so that nothing is compiled twice.
    let line = [
        "cargo",
        "build",
        "--quiet",
        "--workspace",
        "--lib",
        "--bins",
    ];
    run_command(command(&project.root, &line))?;
    let folder = project.target().join("python");
    let environment = ENVIRONMENT.install(&folder)?;
    let package = folder.join("package");
    assemble(project, &package)?;
    let python = |arguments: &[&str]| {
        let program = environment.join("bin/python");
        let mut python = command(&project.root.join(CRATE), &[&program.to_string_lossy()]);
        python
            .args(arguments)
            .env("MYPYPATH", &package)
            .env("PYTHONPATH", &package)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        python
    };
    let cache = folder.join("mypy").display().to_string();
    let check = [
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        &cache,
    ];
    for checked in [
        &["-p", "planwright_mcp"][..],
        &["tests", "benches", "../../examples/python"],
    ] {
        run_command(python(&[&check, checked].concat()))?;
    }
    run_command(python(&["-m", "mypy.stubtest", "planwright_mcp._native"]))?;
    let report = folder.join("junit.xml");
    // Otherwise the report of an earlier run would count if this run fails before it writes one.
    let _ = fs::remove_file(&report);
    let junit = format!("--junitxml={}", report.display());
    let result = run_command(python(&[
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        &junit,
    ]));
    match (fs::read_to_string(&report), result) {
        (Ok(report), _) => Ok(Tally::of_junit(&report, "testsuite")),
        (Err(_), Err(message)) => Err(message),
        (Err(error), Ok(())) => Err(format!("the tests left no report: {error}")),
    }
}

/// Copies the package and its native part into `folder`, as an installation does.
fn assemble(project: &Project, folder: &Path) -> Result<(), String> {
    let explain = |error| format!("cannot prepare `{}`: {error}", folder.display());
    let package = folder.join("planwright_mcp");
    if package.exists() {
        fs::remove_dir_all(&package).map_err(explain)?;
    }
    fs::create_dir_all(&package).map_err(explain)?;
    let sources = project.root.join(CRATE).join("python/planwright_mcp");
    for entry in fs::read_dir(sources).map_err(explain)? {
        let entry = entry.map_err(explain)?;
        if entry.path().is_file() {
            fs::copy(entry.path(), package.join(entry.file_name())).map_err(explain)?;
        }
    }
    let library = format!("debug/{DLL_PREFIX}planwright_native{DLL_SUFFIX}");
    let library = project.target().join(library);
    fs::copy(library, package.join("_native.abi3.so")).map_err(explain)?;
    Ok(())
}
