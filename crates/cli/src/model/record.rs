//! The file that a conversation with a model is written to.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use planwright::planner::model::ScriptSink;

use crate::error::{CommandError, reason};

/// A script in a file, which only its owner can read. Each new one takes the place of the one before in one go.
#[derive(Debug)]
pub(super) struct ScriptFile {
    path: PathBuf,
}

impl ScriptFile {
    /// Creates a file, so that a file that cannot be written is known before a model is asked.
    pub(super) fn begin(path: &Path) -> Result<Self, CommandError> {
        let shown = path.display();
        if path.symlink_metadata().is_ok() {
            return Err(CommandError::new(format!("`{shown}` is there already"))
                .hint("record into another file, or delete it"));
        }
        let file = Self {
            path: path.to_owned(),
        };
        file.keep("[]\n").map_err(|error| {
            CommandError::new(format!("cannot write `{shown}`: {}", reason(&error)))
        })?;
        Ok(file)
    }
}

impl ScriptSink for ScriptFile {
    fn keep(&self, script: &str) -> io::Result<()> {
        let folder = self.path.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(script.as_bytes())?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}
