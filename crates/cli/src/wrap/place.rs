//! The files in which clients have their servers.

use std::path::{Path, PathBuf};

use super::super::environment;
use super::super::error::{CommandError, reason};
use super::rules::{RuleFile, RuleForm};
use crate::args::Scope;

/// The clients that are known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    VsCode,
}

/// A list of servers: a file, and the way to them in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The file.
    pub(super) file: PathBuf,
    /// The way to the object that holds the servers.
    pub(super) path: Vec<String>,
    /// The client, where it was said which.
    pub(super) client: Option<Client>,
    /// The owner of the servers; `None` if no client was named.
    pub(super) scope: Option<Scope>,
    /// The name of our entry. A client takes one of two entries with the same name only, so each scope has its own.
    pub(super) entry: &'static str,
    /// The common part of the names of our files for it.
    pub(super) name: String,
    /// True if entries say `"type": "stdio"`.
    pub(super) is_typed: bool,
}

/// The environment that decides about paths.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    /// The working folder.
    pub(super) here: PathBuf,
    pub(super) home: Option<PathBuf>,
    /// The folder in which programs of this system keep their settings.
    pub(super) settings: Option<PathBuf>,
    /// The folder of Claude Code, where it is not the usual one.
    pub(super) claude: Option<PathBuf>,
}

impl Client {
    /// The client of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "claude-code" => Some(Self::ClaudeCode),
            "claude-desktop" => Some(Self::ClaudeDesktop),
            "cursor" => Some(Self::Cursor),
            "vscode" => Some(Self::VsCode),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    /// All places where it may keep servers, the project's first.
    pub(super) fn places(self, around: &Surroundings) -> Vec<Place> {
        let home = around.home.as_deref();
        let settings = around.settings.as_deref();
        let servers = |file: PathBuf, scope| self.place(file, &["mcpServers"], scope);
        let mut places = Vec::new();
        match self {
            Self::ClaudeCode => {
                places.push(servers(PathBuf::from(".mcp.json"), Scope::Project));
                let folder = around.claude.as_deref().or(home);
                if let Some(file) = folder.map(|folder| folder.join(".claude.json")) {
                    let project = around.here.display().to_string();
                    let path = ["projects", &project, "mcpServers"];
                    places.push(self.place(file.clone(), &path, Scope::Local));
                    places.push(servers(file, Scope::User));
                }
            }
            Self::ClaudeDesktop => {
                let file = settings.map(|folder| folder.join("Claude/claude_desktop_config.json"));
                places.extend(file.map(|file| servers(file, Scope::User)));
            }
            Self::Cursor => {
                places.push(servers(PathBuf::from(".cursor/mcp.json"), Scope::Project));
                places.extend(home.map(|home| servers(home.join(".cursor/mcp.json"), Scope::User)));
            }
            Self::VsCode => {
                let file = PathBuf::from(".vscode/mcp.json");
                places.push(self.place(file, &["servers"], Scope::Project));
                let file = settings.map(|folder| folder.join("Code/User/mcp.json"));
                places.extend(file.map(|file| self.place(file, &["servers"], Scope::User)));
            }
        }
        places
    }

    fn place(self, file: PathBuf, path: &[&str], scope: Scope) -> Place {
        Place {
            file,
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            client: Some(self),
            scope: Some(scope),
            entry: match scope {
                Scope::User => "planwright",
                Scope::Project => "planwright-project",
                Scope::Local => "planwright-local",
            },
            name: format!("{}-{}", self.name(), scope.word()),
            is_typed: self == Self::VsCode,
        }
    }
}

impl Place {
    /// A file that was named. Its servers stand in `mcpServers`, or, as VS Code has it, in `servers`.
    pub(super) fn named(file: PathBuf, is_vs_code: bool) -> Self {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let is_plain =
            |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let name: String = stem.chars().filter(is_plain).take(40).collect();
        Self {
            path: vec![if is_vs_code { "servers" } else { "mcpServers" }.to_owned()],
            client: None,
            scope: None,
            entry: "planwright",
            name: if name.is_empty() {
                "file".to_owned()
            } else {
                name
            },
            is_typed: is_vs_code,
            file,
        }
    }
}

impl Place {
    /// Returns whether its file is the user's own. One that belongs to a project may have been written by others.
    pub(super) fn is_own(&self, around: &Surroundings) -> bool {
        match self.scope {
            Some(scope) => scope != Scope::Project,
            None => is_own_file(&self.file, around),
        }
    }

    /// The files in which its client keeps rules about tools.
    pub(super) fn rule_files(&self, around: &Surroundings) -> Result<Vec<RuleFile>, CommandError> {
        let home = around.home.as_deref();
        let mut files: Vec<(PathBuf, RuleForm, bool)> = Vec::new();
        match self.client {
            Some(Client::ClaudeCode) => {
                let usual = home.map(|home| home.join(".claude"));
                let folder = around.claude.clone().or(usual);
                let own = folder.map(|folder| folder.join("settings.json"));
                files.extend(own.map(|file| (file, RuleForm::Claude, true)));
                for (name, is_own) in [("settings.local.json", true), ("settings.json", false)] {
                    let file = Path::new(".claude").join(name);
                    files.push((file, RuleForm::Claude, is_own));
                }
            }
            Some(Client::Cursor) => {
                let own = home.map(|home| home.join(".cursor/permissions.json"));
                files.extend(own.map(|file| (file, RuleForm::Cursor, true)));
                let file = PathBuf::from(".cursor/permissions.json");
                files.push((file, RuleForm::Cursor, false));
            }
            Some(Client::ClaudeDesktop | Client::VsCode) | None => {}
        }
        let mut read: Vec<PathBuf> = Vec::new();
        let mut found = Vec::new();
        for (file, form, is_own) in files {
            // In the home folder, a project's file is the user's.
            let identity = super::files::real(&file);
            if read.contains(&identity) {
                continue;
            }
            read.push(identity);
            if let Some(text) = super::files::read(&file)? {
                found.push(RuleFile {
                    name: file.display().to_string(),
                    text,
                    form,
                    is_own,
                });
            }
        }
        Ok(found)
    }
}

/// Returns whether a file that was named is the user's own: it lies neither in the working folder, unless that is the home folder, nor in a
/// repository.
fn is_own_file(file: &Path, around: &Surroundings) -> bool {
    let file = super::files::real(file);
    let home = around.home.as_deref().map(super::files::real);
    let here = super::files::real(&around.here);
    let is_home = |folder: &Path| home.as_deref() == Some(folder);
    let mut folders = file
        .ancestors()
        .skip(1)
        .take_while(|folder| !is_home(folder));
    !folders.any(|folder| folder == here || folder.join(".git").exists())
}

impl Surroundings {
    /// The environment of this process.
    pub(super) fn of_process() -> Result<Self, CommandError> {
        let here = std::path::absolute(Path::new(".")).map_err(|error| {
            CommandError::new(format!(
                "cannot tell the working folder: {}",
                reason(&error)
            ))
        })?;
        let variable = |name: &str| {
            let value = environment::variable(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let home = variable("HOME").or_else(|| variable("USERPROFILE"));
        let settings = if cfg!(windows) {
            variable("APPDATA")
        } else if cfg!(target_os = "macos") {
            home.as_ref()
                .map(|home| home.join("Library/Application Support"))
        } else {
            let usual = || home.as_ref().map(|home| home.join(".config"));
            variable("XDG_CONFIG_HOME").or_else(usual)
        };
        Ok(Self {
            here,
            home,
            settings,
            claude: variable("CLAUDE_CONFIG_DIR"),
        })
    }
}
