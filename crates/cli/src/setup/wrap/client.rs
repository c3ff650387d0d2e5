//! The known clients: the files in which each lists its servers, and the form of its entries. One table, with the documentation
//! that each row follows.

use std::fs;
use std::path::{Path, PathBuf};

use super::client_forms::{CLINE, CODEX, CONTINUE, GEMINI, GOOSE, VS_CODE, WINDSURF, ZED};
use super::form::EntryForm;
use super::place::{PathEnvironment, ServerListPlace};
use crate::args::WrapScope;

/// A client that is known by name.
#[derive(Debug)]
pub(crate) struct Client {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The places of its servers, the project's first.
    lists: &'static [ClientList],
    /// The form of its entries.
    pub(crate) form: &'static EntryForm,
}

/// A file in which a client may list servers.
#[derive(Debug)]
struct ClientList {
    base: Base,
    /// The path from the base. A `*` stands for the name of any file of the folder.
    file: &'static str,
    scope: WrapScope,
    syntax: ListSyntax,
    /// The path to the servers in the file; [`HERE`] stands for the path of the working folder.
    path: &'static [&'static str],
}

/// The folder that a path begins at.
#[derive(Clone, Copy, Debug)]
enum Base {
    Here,
    Home,
    /// The folder in which programs of this system keep their settings.
    Settings,
    /// The same, but `~/.config` on macOS as well; not on Windows.
    UnixConfig,
    /// `%APPDATA%`, on Windows only.
    AppData,
    /// The folder of Claude Code.
    Claude,
    /// The folder of Codex.
    Codex,
}

/// The syntax of a client's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListSyntax {
    /// JSON with comments: an object of servers by name.
    Json,
    /// TOML: a table of servers by name.
    Toml,
    /// YAML: a mapping of servers by name, or a list of servers with a field `name`.
    Yaml,
}

/// The part of a path that stands for the working folder.
const HERE: &str = ".";

const fn list(
    base: Base,
    file: &'static str,
    scope: WrapScope,
    syntax: ListSyntax,
    path: &'static [&'static str],
) -> ClientList {
    ClientList {
        base,
        file,
        scope,
        syntax,
        path,
    }
}

const fn json(base: Base, file: &'static str, scope: WrapScope) -> ClientList {
    list(base, file, scope, ListSyntax::Json, &["mcpServers"])
}

/// The clients, as their documentation described them in November 2026.
pub(crate) const CLIENTS: &[Client] = &[
    // https://code.claude.com/docs/en/mcp
    Client {
        name: "claude-code",
        lists: &[
            json(Base::Here, ".mcp.json", WrapScope::Project),
            list(
                Base::Claude,
                ".claude.json",
                WrapScope::Local,
                ListSyntax::Json,
                &["projects", HERE, "mcpServers"],
            ),
            json(Base::Claude, ".claude.json", WrapScope::User),
        ],
        form: &EntryForm::OURS,
    },
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers
    Client {
        name: "claude-desktop",
        lists: &[json(
            Base::Settings,
            "Claude/claude_desktop_config.json",
            WrapScope::User,
        )],
        form: &EntryForm::OURS,
    },
    // https://cursor.com/docs/context/mcp
    Client {
        name: "cursor",
        lists: &[
            json(Base::Here, ".cursor/mcp.json", WrapScope::Project),
            json(Base::Home, ".cursor/mcp.json", WrapScope::User),
        ],
        form: &EntryForm::OURS,
    },
    // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
    Client {
        name: "vscode",
        lists: &[
            list(
                Base::Here,
                ".vscode/mcp.json",
                WrapScope::Project,
                ListSyntax::Json,
                &["servers"],
            ),
            list(
                Base::Settings,
                "Code/User/mcp.json",
                WrapScope::User,
                ListSyntax::Json,
                &["servers"],
            ),
        ],
        form: &VS_CODE,
    },
    // https://developers.openai.com/codex/mcp, and `RawMcpServerConfig` in codex-rs/config/src/mcp_types.rs
    Client {
        name: "codex",
        lists: &[
            list(
                Base::Here,
                ".codex/config.toml",
                WrapScope::Project,
                ListSyntax::Toml,
                &["mcp_servers"],
            ),
            list(
                Base::Codex,
                "config.toml",
                WrapScope::User,
                ListSyntax::Toml,
                &["mcp_servers"],
            ),
        ],
        form: &CODEX,
    },
    // https://geminicli.com/docs/tools/mcp-server
    Client {
        name: "gemini-cli",
        lists: &[
            json(Base::Here, ".gemini/settings.json", WrapScope::Project),
            json(Base::Home, ".gemini/settings.json", WrapScope::User),
        ],
        form: &GEMINI,
    },
    // https://block.github.io/goose/docs/guides/config-files, and `ExtensionConfig` in crates/goose/src/agents/extension.rs
    Client {
        name: "goose",
        lists: &[
            list(
                Base::UnixConfig,
                "goose/config.yaml",
                WrapScope::User,
                ListSyntax::Yaml,
                &["extensions"],
            ),
            list(
                Base::AppData,
                "Block/goose/config/config.yaml",
                WrapScope::User,
                ListSyntax::Yaml,
                &["extensions"],
            ),
        ],
        form: &GOOSE,
    },
    // https://zed.dev/docs/ai/mcp, and `ContextServerSettingsContent` in crates/settings_content/src/project.rs
    Client {
        name: "zed",
        lists: &[
            list(
                Base::Here,
                ".zed/settings.json",
                WrapScope::Project,
                ListSyntax::Json,
                &["context_servers"],
            ),
            list(
                Base::UnixConfig,
                "zed/settings.json",
                WrapScope::User,
                ListSyntax::Json,
                &["context_servers"],
            ),
            list(
                Base::AppData,
                "Zed/settings.json",
                WrapScope::User,
                ListSyntax::Json,
                &["context_servers"],
            ),
        ],
        form: &ZED,
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp
    Client {
        name: "windsurf",
        lists: &[json(
            Base::Home,
            ".codeium/windsurf/mcp_config.json",
            WrapScope::User,
        )],
        form: &WINDSURF,
    },
    // https://docs.cline.bot/mcp/mcp-overview, and src/services/mcp/schemas.ts: an address without a `type` is one of SSE
    Client {
        name: "cline",
        lists: &[
            json(
                Base::Settings,
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                WrapScope::User,
            ),
            json(
                Base::Home,
                ".cline/data/settings/cline_mcp_settings.json",
                WrapScope::User,
            ),
        ],
        form: &CLINE,
    },
    // https://docs.continue.dev/customize/deep-dives/mcp, and packages/config-yaml/src/schemas/mcp/index.ts
    Client {
        name: "continue",
        lists: &[
            list(
                Base::Here,
                ".continue/mcpServers/*.yaml",
                WrapScope::Project,
                ListSyntax::Yaml,
                &["mcpServers"],
            ),
            json(
                Base::Here,
                ".continue/mcpServers/*.json",
                WrapScope::Project,
            ),
            list(
                Base::Home,
                ".continue/config.yaml",
                WrapScope::User,
                ListSyntax::Yaml,
                &["mcpServers"],
            ),
        ],
        form: &CONTINUE,
    },
];

impl Client {
    /// The client of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// The names of all clients, as a sentence lists them.
    pub(crate) fn names() -> String {
        let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
        names.join(", ")
    }

    /// Returns all places where the client may keep servers, the project's first.
    pub(crate) fn places(&'static self, around: &PathEnvironment) -> Vec<ServerListPlace> {
        let mut places = Vec::new();
        for list in self.lists {
            for file in list.files(around) {
                places.push(self.place(list, file, around));
            }
        }
        places
    }

    fn place(
        &'static self,
        list: &ClientList,
        file: PathBuf,
        around: &PathEnvironment,
    ) -> ServerListPlace {
        let here = || around.here.display().to_string();
        let path = list.path.iter().map(|name| match *name {
            HERE => here(),
            name => name.to_owned(),
        });
        let mut entry = match list.scope {
            WrapScope::User => "planwright",
            WrapScope::Project => "planwright-project",
            WrapScope::Local => "planwright-local",
        }
        .to_owned();
        // Several files of one scope need entries of several names.
        if list.file.contains('*')
            && let Some(stem) = file.file_stem()
        {
            entry = format!("{entry}-{}", stem.to_string_lossy());
        }
        ServerListPlace {
            path: path.collect(),
            client: Some(self),
            scope: Some(list.scope),
            entry,
            name: format!("{}-{}", self.name, list.scope.word()),
            syntax: list.syntax,
            form: self.form,
            file,
        }
    }

    /// Returns the syntax and the form of a named file, if its name is that of a file of a client that has a form of its own.
    pub(crate) fn of_file(file: &Path) -> Option<(ListSyntax, &'static Self)> {
        let has_form = |client: &&Client| client.form.is_converted();
        CLIENTS.iter().filter(has_form).find_map(|client| {
            let mut lists = client.lists.iter();
            let list = lists.find(|list| list.has_name_of(file))?;
            Some((list.syntax, client))
        })
    }
}

impl ClientList {
    /// Returns the files, whether they exist or not; those of a pattern exist.
    fn files(&self, around: &PathEnvironment) -> Vec<PathBuf> {
        let Some(base) = self.base.folder(around) else {
            return Vec::new();
        };
        let Some((folder, name)) = self
            .file
            .rsplit_once('/')
            .filter(|(_, name)| name.starts_with('*'))
        else {
            return vec![base.join(self.file)];
        };
        let ending = name.trim_start_matches('*');
        let entries = fs::read_dir(base.join(folder))
            .into_iter()
            .flatten()
            .flatten();
        let paths = entries.map(|entry| base.join(folder).join(entry.file_name()));
        let mut files: Vec<PathBuf> = paths
            .filter(|path| {
                let name = path.to_string_lossy();
                name.ends_with(ending) || (ending == ".yaml" && name.ends_with(".yml"))
            })
            .collect();
        files.sort();
        files
    }

    /// Returns true if `file` has the last two names of this path, or the last one if no other program uses it.
    fn has_name_of(&self, file: &Path) -> bool {
        let mine = Path::new(self.file);
        let is_plain =
            |name: &str| !matches!(name, "settings.json" | "config.yaml" | "config.toml");
        let name = mine
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if name.starts_with('*') {
            return mine.parent().is_some_and(|folder| {
                file.parent().is_some_and(|parent| parent.ends_with(folder))
                    && file.extension() == mine.extension()
            });
        }
        if is_plain(name) {
            return file.file_name() == mine.file_name();
        }
        let folder = match self.base {
            Base::Codex => Some(Path::new(".codex").join(mine)),
            _ => None,
        };
        file.ends_with(folder.as_deref().unwrap_or(mine))
    }
}

impl Base {
    fn folder(self, around: &PathEnvironment) -> Option<PathBuf> {
        let home = || around.home.clone();
        let in_home = |name: &str| around.home.as_ref().map(|home| home.join(name));
        match self {
            Self::Here => Some(PathBuf::new()),
            Self::Home => home(),
            Self::Settings => around.settings.clone(),
            Self::UnixConfig => around.unix_config.clone(),
            Self::AppData => around.app_data.clone(),
            Self::Claude => around.claude.clone().or_else(home),
            Self::Codex => around.codex.clone().or_else(|| in_home(".codex")),
        }
    }
}
