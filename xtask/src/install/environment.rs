//! Installation of packages from npm and PyPI, in folders below cargo's target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::command;

/// A set of packages that is installed into one folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment {
    pub(crate) folder: &'static str,
    pub(crate) registry: Registry,
    /// The packages, in pinned versions.
    pub(crate) packages: &'static [&'static str],
    /// The paths below the folder that must exist after the installation.
    pub(crate) programs: &'static [&'static str],
}

/// A package registry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Registry {
    Npm,
    PyPi,
}

/// Installs all missing environments below `parent`, in parallel.
///
/// # Errors
///
/// All installations that failed.
pub(crate) fn install_all(parent: &Path, environments: &[Environment]) -> Result<(), String> {
    let results: Vec<_> = thread::scope(|scope| {
        let installations: Vec<_> = environments
            .iter()
            .map(|environment| scope.spawn(|| environment.install(parent)))
            .collect();
        installations
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect()
    });
    let failures: Vec<String> = results
        .into_iter()
        .filter_map(|result| match result {
            Ok(done) => done.err(),
            Err(_) => Some("an installation broke off".to_owned()),
        })
        .collect();
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}

impl Environment {
    /// Installs the environment below `parent` if it is missing, and returns its folder.
    ///
    /// # Errors
    ///
    /// The installation fails.
    pub(crate) fn install(&self, parent: &Path) -> Result<PathBuf, String> {
        let folder = parent.join(self.folder);
        let stamp = folder.join("versions.txt");
        // A Python environment contains absolute paths, so it is installed again if its folder was moved, as well as if versions
        // differ.
        let wanted = format!("{}\n{}\n", folder.display(), self.packages.join("\n"));
        let is_current = fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted);
        if is_current && self.missing(&folder).is_none() {
            return Ok(folder);
        }
        println!("installing {}", self.packages.join(", "));
        let explain = |error| format!("cannot prepare `{}`: {error}", folder.display());
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(explain)?;
        }
        fs::create_dir_all(&folder).map_err(explain)?;
        match self.registry {
            Registry::Npm => self.install_from_npm(&folder)?,
            Registry::PyPi => self.install_from_pypi(&folder)?,
        }
        if let Some(program) = self.missing(&folder) {
            return Err(format!(
                "the installation of `{}` left no `{program}`",
                self.folder
            ));
        }
        fs::write(&stamp, wanted).map_err(explain)?;
        Ok(folder)
    }

    fn install_from_npm(&self, folder: &Path) -> Result<(), String> {
        let line = [
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--save-exact",
            "--loglevel=error",
        ];
        let mut install = command::command(folder, &line);
        install.arg("--prefix").arg(folder).args(self.packages);
        command::run(install)
    }

    fn install_from_pypi(&self, folder: &Path) -> Result<(), String> {
        let mut create = command::command(folder, &["python3", "-m", "venv"]);
        create.arg(folder);
        command::run(create)?;
        let python = folder.join("bin/python");
        let line = [&python.to_string_lossy(), "-m", "pip", "install", "--quiet"];
        let mut install = command::command(folder, &line);
        install
            .arg("--disable-pip-version-check")
            .args(self.packages);
        command::run(install)
    }

    fn missing(&self, folder: &Path) -> Option<&'static str> {
        self.programs
            .iter()
            .copied()
            .find(|program| !folder.join(program).exists())
    }
}
