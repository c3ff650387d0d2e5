//! Python environments with the other systems, in the versions that the drivers were written against.

use std::fs;
use std::path::Path;

use crate::command;

/// What to install.
#[derive(Clone, Copy, Debug)]
pub(super) struct Environment {
    folder: &'static str,
    pub(super) packages: &'static [&'static str],
}

pub(super) const MCP_CLI: Environment = Environment {
    folder: "mcp-cli",
    packages: &[
        "mcp-cli==0.20.1",
        "chuk-ai-planner==0.5.1",
        "chuk-tool-processor==0.26.1",
    ],
};

pub(super) const CONCIERGE: Environment = Environment {
    folder: "concierge",
    // It does not work with the second major version of the protocol's package, and does not say so.
    packages: &["concierge-sdk==0.8.0", "mcp==1.30.0"],
};

impl Environment {
    /// Installs it below `parent`, unless it is there, and gives its interpreter.
    ///
    /// # Errors
    ///
    /// Why it could not be installed.
    pub(super) fn install(self, parent: &Path) -> Result<String, String> {
        let folder = parent.join(self.folder);
        let python = folder.join("bin/python").to_string_lossy().into_owned();
        let stamp = folder.join("versions.txt");
        // An environment works only where it was made, so the folder counts as much as the versions.
        let wanted = format!("{}\n{}\n", folder.display(), self.packages.join("\n"));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(python);
        }
        println!("installing {}", self.packages.join(", "));
        let mut create = command::command(parent, &["python3", "-m", "venv", "--clear"]);
        create.arg(&folder);
        command::run(create)?;
        let mut install = command::command(parent, &[&python, "-m", "pip", "install"]);
        install
            .args(["--quiet", "--disable-pip-version-check"])
            .args(self.packages);
        command::run(install)?;
        fs::write(&stamp, wanted)
            .map_err(|error| format!("cannot write `{}`: {error}", stamp.display()))?;
        Ok(python)
    }
}
