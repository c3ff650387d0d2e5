//! A folder in which the commands of one page are given.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::transcript::{commands, matches, run_ids};

/// A folder in which the commands of one page are given.
#[derive(Debug)]
pub(super) struct Session {
    folder: tempfile::TempDir,
    /// The exit status of the last command.
    status: i32,
    /// The ids of runs, by those that the page shows.
    ids: HashMap<String, String>,
}

impl Session {
    /// A folder with the JSON files that lie beside `page`.
    pub(super) fn beside(page: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(page.parent().unwrap()).unwrap() {
            let file = entry.unwrap().path();
            if file
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
            }
        }
        Self {
            folder,
            status: 0,
            ids: HashMap::new(),
        }
    }

    /// Puts a file there.
    pub(super) fn write(&self, name: &str, content: &str) -> Result<(), String> {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap())
            .and_then(|()| fs::write(path, content))
            .map_err(|error| format!("cannot write `{name}`: {error}"))
    }

    /// Gives the commands of a block, and compares what they print.
    pub(super) fn replay(&mut self, block: &str) -> Result<(), String> {
        for (command, expected) in commands(block)? {
            let printed = self.run(&self.with_ids(command));
            for (shown, printed) in run_ids(expected, &printed) {
                self.ids.insert(shown.to_owned(), printed.to_owned());
            }
            if !matches(expected, &printed) {
                return Err(format!(
                    "`{command}` prints\n{printed}\nand not\n{expected}"
                ));
            }
        }
        Ok(())
    }

    /// Checks that the program accepts the words of each of its commands in a block, without giving the command.
    pub(super) fn parse(&mut self, block: &str) -> Result<(), String> {
        let lines = block.lines();
        let lines = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line));
        for line in lines.filter(|line| line.starts_with("planwright ")) {
            // The file that takes the output is none of this folder.
            let command = line.split(" > ").next().unwrap_or(line);
            let printed = self.run(&format!(
                "planwright() {{ command planwright \"$@\" --help; }}\n{command}"
            ));
            if std::mem::take(&mut self.status) != 0 {
                return Err(format!("`{line}` is not a command: {printed}"));
            }
        }
        Ok(())
    }

    /// A command with the ids of this session's runs in place of those that the page shows.
    fn with_ids(&self, command: &str) -> String {
        let ids = self.ids.iter();
        ids.fold(command.to_owned(), |command, (shown, id)| {
            command.replace(shown, id)
        })
    }

    /// Runs a command. Returns its standard output and standard error, interleaved as printed.
    fn run(&mut self, line: &str) -> String {
        let path = self.folder.path().join(".printed");
        let printed = fs::File::create(&path).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_planwright"));
        let search = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
        let status = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("(exit {})\n{line}", self.status))
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", search)
            .env("HOME", self.folder.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(printed.try_clone().unwrap())
            .stderr(printed)
            .status()
            .unwrap();
        self.status = status.code().unwrap_or(-1);
        fs::read_to_string(&path).unwrap()
    }
}
