//! Paths of the programs of this crate, and of those that `cargo xtask` installs for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The path of the fake MCP server's program, which is built on demand.
///
/// # Panics
///
/// If the program cannot be built.
pub fn fake_server() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("fake-mcp-server"))
}

/// The path of the conformance server's program, which is built on demand.
///
/// # Panics
///
/// If the program cannot be built.
pub fn conformance_server() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("conformance-server"))
}

/// The path of the program `name`. It is built first if it is missing or older than its source: cargo builds programs
/// of other packages only on request, and a test may run on its own.
///
/// # Panics
///
/// If the program cannot be built.
fn built(name: &str) -> PathBuf {
    let folder = profile_folder();
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !is_current(&program) {
        build(name, &folder);
    }
    program
}

/// The folder of the running test's profile, such as `target/debug`.
fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the test knows its own program");
    let mut folder = test.parent().expect("a program is in a folder");
    if folder.ends_with("deps") || folder.ends_with("examples") {
        folder = folder.parent().expect("`deps` is in a profile's folder");
    }
    folder.to_path_buf()
}

fn build(name: &str, folder: &Path) {
    let target = folder.parent().expect("a profile's folder is in `target`");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "planwright-testkit"])
        .args(["--bin", name, "--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo can be run");
    assert!(status.success(), "`{name}` cannot be built");
}

fn is_current(program: &Path) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A program that is older than its source would test old code.
    let Some(built) = changed(program) else {
        return false;
    };
    newest(&root.join("src"))
        .into_iter()
        .chain(changed(&root.join("Cargo.toml")))
        .all(|source| source < built)
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).expect("the source is there");
    entries
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            if path.is_dir() {
                newest(&path)
            } else {
                changed(&path)
            }
        })
        .max()
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// External programs: the official conformance suite, widely used clients, and the systems of other dialects.
pub mod judges {
    use std::path::PathBuf;

    use super::installed;

    /// The file at `path` below the folder of external programs, such as `suite/node_modules/.bin/conformance`, as `cargo
    /// xtask judges` installs it.
    ///
    /// # Panics
    ///
    /// If it is not installed: a test that needs it must not pass without it.
    pub fn program(path: &str) -> PathBuf {
        installed(&format!("judges/{path}"))
            .unwrap_or_else(|| panic!("`{path}` is not installed: run `cargo xtask judges` first"))
    }

    /// A Node.js version that suits all of them.
    ///
    /// # Panics
    ///
    /// If it is not installed, as for [`program`].
    pub fn node() -> PathBuf {
        program("node/node_modules/.bin/node")
    }
}

/// Real MCP servers.
pub mod real_servers {
    use std::path::PathBuf;

    use super::installed;

    /// The path of the server `name`, as `cargo xtask servers` installs it.
    ///
    /// # Panics
    ///
    /// If it is not installed: a test that needs it must not pass without it.
    pub fn program(name: &str) -> PathBuf {
        ["npm/node_modules/.bin", "python/bin"]
            .into_iter()
            .find_map(|folder| installed(&format!("servers/{folder}/{name}")))
            .unwrap_or_else(|| panic!("`{name}` is not installed: run `cargo xtask servers` first"))
    }
}

/// The file at `path` below cargo's target folder, which also contains the running test.
pub(crate) fn installed(path: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().expect("the test knows its own program");
    test.ancestors()
        .map(|folder| folder.join(path))
        .find(|file| file.exists())
}
