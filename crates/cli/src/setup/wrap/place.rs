//! The configuration files of a client, and access to them.

use planwright::core::text::hex;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::client::{Client, ListSyntax};
use super::edit;
use super::form::EntryForm;
use super::rules::{RuleFile, RuleForm};
use crate::args::WrapScope;
use crate::error::{CommandError, reason};
use crate::system::environment;

/// A list of servers: a file, and the path to the servers in it.
#[derive(Clone, Debug)]
pub(crate) struct ServerListPlace {
    /// The file.
    pub(crate) file: PathBuf,
    /// The path to the object that contains the servers.
    pub(crate) path: Vec<String>,
    /// The syntax of the file.
    pub(crate) syntax: ListSyntax,
    /// The form of the entries.
    pub(crate) form: &'static EntryForm,
    /// The client, if it was named.
    pub(crate) client: Option<&'static Client>,
    /// The owner of the servers; `None` if no client was named.
    pub(crate) scope: Option<WrapScope>,
    /// The name of our entry. It differs by scope, because a client ignores one of two entries with the same name.
    pub(crate) entry: String,
    /// The common part of the names of our files for this list.
    pub(crate) name: String,
}

/// The part of the environment that determines paths.
#[derive(Clone, Debug)]
pub(crate) struct PathEnvironment {
    /// The working folder.
    pub(crate) here: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// The folder in which programs of this system keep their settings.
    pub(crate) settings: Option<PathBuf>,
    /// `~/.config`, or the folder that replaces it; not on Windows.
    pub(crate) unix_config: Option<PathBuf>,
    /// `%APPDATA%`, on Windows only.
    pub(crate) app_data: Option<PathBuf>,
    /// The folder of Claude Code, if it is not the default.
    pub(crate) claude: Option<PathBuf>,
    /// The folder of Codex, if it is not the default.
    pub(crate) codex: Option<PathBuf>,
}

impl ServerListPlace {
    /// A named file with the content `text`. Its name or its content shows which client's form it has.
    pub(crate) fn named(file: PathBuf, text: &str) -> Self {
        let form = form_of(&file, text);
        Self::of_file(file, form)
    }

    /// The places that a named file may have had before it was deleted.
    pub(crate) fn deleted(file: &Path) -> Vec<Self> {
        let keys: &[&str] = match syntax_of(file) {
            ListSyntax::Toml => &["mcp_servers"],
            ListSyntax::Yaml => &["extensions", "mcpServers"],
            ListSyntax::Json => &["mcpServers", "servers", "context_servers"],
        };
        let form = |key: &&'static str| (syntax_of(file), *key, &EntryForm::OURS);
        let forms = keys.iter().map(form);
        forms
            .map(|form| Self::of_file(file.to_owned(), form))
            .collect()
    }

    fn of_file(
        file: PathBuf,
        (syntax, key, form): (ListSyntax, &'static str, &'static EntryForm),
    ) -> Self {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let is_plain =
            |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let name: String = stem.chars().filter(is_plain).take(40).collect();
        Self {
            path: vec![key.to_owned()],
            client: None,
            scope: None,
            entry: "planwright".to_owned(),
            name: if name.is_empty() {
                "file".to_owned()
            } else {
                name
            },
            syntax,
            form,
            file,
        }
    }
}

fn syntax_of(file: &Path) -> ListSyntax {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => ListSyntax::Toml,
        Some("yaml" | "yml") => ListSyntax::Yaml,
        _ => ListSyntax::Json,
    }
}

/// Returns the syntax of a named file, the key of its servers, and their form.
fn form_of(file: &Path, text: &str) -> (ListSyntax, &'static str, &'static EntryForm) {
    let has = |syntax: ListSyntax, key: &str| {
        edit::servers(syntax, text, &[key]).is_ok_and(|found| found.is_some())
    };
    let of = |name: &str| Client::named(name).map_or(&EntryForm::OURS, |client| client.form);
    let syntax = syntax_of(file);
    match syntax {
        ListSyntax::Toml => return (syntax, "mcp_servers", of("codex")),
        ListSyntax::Yaml if has(syntax, "extensions") => {
            return (syntax, "extensions", of("goose"));
        }
        ListSyntax::Yaml => return (syntax, "mcpServers", of("continue")),
        ListSyntax::Json => {}
    }
    if has(syntax, "mcpServers") {
        let client = Client::of_file(file).filter(|(found, _)| *found == syntax);
        let form = client.map_or(&EntryForm::OURS, |(_, client)| client.form);
        return (syntax, "mcpServers", form);
    }
    if has(syntax, "context_servers") {
        return (syntax, "context_servers", of("zed"));
    }
    if has(syntax, "servers") {
        return (syntax, "servers", of("vscode"));
    }
    (syntax, "mcpServers", &EntryForm::OURS)
}

impl ServerListPlace {
    /// Returns true if the file is the user's own. A project's file may have been written by others.
    pub(crate) fn is_own(&self, around: &PathEnvironment) -> bool {
        match self.scope {
            Some(scope) => scope != WrapScope::Project,
            None => is_own_file(&self.file, around),
        }
    }

    /// The files in which its client keeps rules about tools.
    pub(crate) fn rule_files(
        &self,
        around: &PathEnvironment,
    ) -> Result<Vec<RuleFile>, CommandError> {
        let home = around.home.as_deref();
        let mut files: Vec<(PathBuf, RuleForm, bool)> = Vec::new();
        match self.client.map(|client| client.name) {
            Some("claude-code") => {
                let default = home.map(|home| home.join(".claude"));
                let folder = around.claude.clone().or(default);
                let claude_settings = folder.map(|folder| folder.join("settings.json"));
                files.extend(claude_settings.map(|file| (file, RuleForm::Claude, true)));
                for (name, is_own) in [("settings.local.json", true), ("settings.json", false)] {
                    let file = Path::new(".claude").join(name);
                    files.push((file, RuleForm::Claude, is_own));
                }
            }
            Some("cursor") => {
                let cursor_permissions = home.map(|home| home.join(".cursor/permissions.json"));
                files.extend(cursor_permissions.map(|file| (file, RuleForm::Cursor, true)));
                let file = PathBuf::from(".cursor/permissions.json");
                files.push((file, RuleForm::Cursor, false));
            }
            _ => {}
        }
        let mut seen: Vec<PathBuf> = Vec::new();
        let mut found = Vec::new();
        for (file, form, is_own) in files {
            // In the home folder, a project's file is the user's.
            let identity = real(&file);
            if seen.contains(&identity) {
                continue;
            }
            seen.push(identity);
            if let Some(text) = read(&file)? {
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

/// Returns true if a named file is the user's own: it is outside of every repository, and outside of the working folder unless that is the
/// home folder.
fn is_own_file(file: &Path, around: &PathEnvironment) -> bool {
    let file = real(file);
    let home = around.home.as_deref().map(real);
    let here = real(&around.here);
    let is_home = |folder: &Path| home.as_deref() == Some(folder);
    let mut folders = file
        .ancestors()
        .skip(1)
        .take_while(|folder| !is_home(folder));
    !folders.any(|folder| folder == here || folder.join(".git").exists())
}

impl PathEnvironment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Result<Self, CommandError> {
        let here = std::path::absolute(Path::new(".")).map_err(|error| {
            CommandError::new(format!(
                "cannot determine the working folder: {}",
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
            let default = || home.as_ref().map(|home| home.join(".config"));
            variable("XDG_CONFIG_HOME").or_else(default)
        };
        let config = || home.as_ref().map(|home| home.join(".config"));
        let unix_config = (!cfg!(windows))
            .then(|| variable("XDG_CONFIG_HOME").or_else(config))
            .flatten();
        Ok(Self {
            here,
            unix_config,
            app_data: variable("APPDATA").filter(|_| cfg!(windows)),
            home,
            settings,
            claude: variable("CLAUDE_CONFIG_DIR"),
            codex: variable("CODEX_HOME"),
        })
    }
}

/// The files of ours that belong to one list of servers.
#[derive(Clone, Debug)]
pub(crate) struct GatewayFiles {
    /// The servers behind the gateway.
    pub(crate) servers: PathBuf,
    /// The client's file as it was before anything was moved.
    pub(crate) backup: PathBuf,
    /// The servers whose entries were converted.
    pub(crate) entries: PathBuf,
    /// The rules that were added to the user's settings.
    pub(crate) rules: PathBuf,
    /// The user's own settings.
    pub(crate) settings: PathBuf,
}

impl GatewayFiles {
    /// Returns the files for `place`.
    pub(crate) fn of(place: &ServerListPlace) -> Result<Self, CommandError> {
        let folder = environment::settings_folder().ok_or_else(|| {
            CommandError::new("there is no folder for settings").hint("set HOME or XDG_CONFIG_HOME")
        })?;
        let file = real(&place.file);
        let identity = format!("{}\n{}", file.display(), place.path.join("\n"));
        let digest = Sha256::digest(identity.as_bytes());
        let digest = hex(&digest[..4]);
        let name = format!("{}-{digest}", place.name);
        let settings = absolute(&folder).join("planwright.toml");
        let folder = absolute(&folder).join("wrapped");
        Ok(Self {
            settings,
            rules: folder.join(format!("{name}.rules.json")),
            entries: folder.join(format!("{name}.entries.json")),
            servers: folder.join(format!("{name}.json")),
            backup: folder.join(format!("{name}.backup")),
        })
    }
}

/// Returns the text of a file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, CommandError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::unreadable(path, &error)),
    }
}

/// Writes a file that its owner alone may read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| unwritable(path, &error))?;
    replace(path, text, None)
}

/// Replaces the content of a client's file atomically by `text`. Fails if the content is no longer `before`. The permissions stay.
pub(crate) fn replace_client(path: &Path, before: &str, text: &str) -> Result<(), CommandError> {
    // If the file is a link, its target changes.
    let path = real(path);
    let permissions =
        fs::metadata(&path).map_err(|error| CommandError::unreadable(&path, &error))?;
    if read(&path)?.as_deref() != Some(before) {
        return Err(CommandError::new(format!(
            "`{}` has just been changed by another program",
            path.display()
        ))
        .hint("close the client and try again: nothing was changed"));
    }
    replace(&path, text, Some(permissions.permissions()))
}

/// Deletes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), CommandError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unwritable(path, &error)),
        _ => Ok(()),
    }
}

/// Returns a path of this program that stays valid when the program is replaced: its entry in the search path, if there is one.
pub(crate) fn this_program() -> Result<String, CommandError> {
    let program = std::env::current_exe().map_err(|error| {
        CommandError::new(format!(
            "cannot determine the path of this program: {}",
            reason(&error)
        ))
    })?;
    let path = environment::variable("PATH").unwrap_or_default();
    let name = format!("planwright{}", std::env::consts::EXE_SUFFIX);
    let found = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name))
        .find(|candidate| candidate.is_file());
    let found = found.filter(|found| real(found) == real(&program));
    Ok(found.unwrap_or(program).display().to_string())
}

fn replace(
    path: &Path,
    text: &str,
    permissions: Option<fs::Permissions>,
) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| unwritable(path, &error);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    // A temporary file is readable by its owner alone.
    let mut fresh =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    fresh.write_all(text.as_bytes()).map_err(failed)?;
    if let Some(permissions) = permissions {
        fresh
            .as_file()
            .set_permissions(permissions)
            .map_err(failed)?;
    }
    fresh.as_file().sync_all().map_err(failed)?;
    fresh.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::new(format!(
        "cannot write `{}`: {}",
        path.display(),
        reason(error)
    ))
}

/// Resolves the links in the existing part of a path.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| absolute(path))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
