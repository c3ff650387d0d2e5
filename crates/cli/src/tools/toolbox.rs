//! The tools of a command: simulated ones, servers, the built-in workspace.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::config::Config;
use planwright::core::check::Policy;
use planwright::core::{Catalog, Code, Diagnostics, EXTRACTION, ServerName, ServerNames, Tool};
use planwright::engine::backend::Simulated;
use planwright::engine::{Backends, Durations};
use planwright::mcp::ServersConfig;
use planwright::pins::{NoticeKind, PinPolicy, Pinning, Verdicts};
use planwright::planner::extraction::Extraction;
use planwright::planner::model::{Model, Usage};
use planwright::service::{Tools, with_seen_answers};
use planwright::telemetry::Telemetry;
use planwright::workspace::Workspace;
use planwright::{Planwright, names};
use planwright_store::Store;

use super::open_servers::{OpenServers, ServerUse};
use super::trust;
use crate::args::{ModelArguments, ToolArguments};
use crate::error::{CommandError, reason};
use crate::planning::model;
use crate::runs::store;
use crate::setup::settings;
use crate::system::{environment, text_file};
use crate::view::printer::Printer;

/// The tools of one command.
#[derive(Debug)]
pub(crate) struct Toolbox {
    pub(crate) catalog: Catalog,
    pub(crate) backends: Backends,
    /// The durations of simulated tools.
    pub(crate) durations: Durations,
    pub(crate) servers: OpenServers,
    has_source: bool,
    secrets: Vec<Arc<str>>,
    file: FileOrigin,
    /// The `mcp.json` of the servers, and its text.
    source: Option<(PathBuf, String)>,
    /// True if the plan has steps that extract data.
    extracts: bool,
    extraction: Option<Extraction>,
    /// The reason why no model extracts data.
    extraction_problem: Option<CommandError>,
}

/// The owner of the `mcp.json` of the servers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileOrigin {
    /// True if the file is in the user's folder of settings.
    pub(crate) is_own: bool,
    /// True if the user trusts the file, which means that they have seen the commands and addresses of its servers.
    pub(crate) is_trusted: bool,
}

/// An `mcp.json`.
pub(crate) struct ServersFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) origin: FileOrigin,
}

impl Toolbox {
    /// Opens the tools that `needed` names, or all tools if it is `None`. Starts only the servers that have needed tools and whose stored
    /// lists do not suffice for `server_use`.
    pub(crate) async fn open(
        arguments: &ToolArguments,
        needed: Option<&BTreeSet<String>>,
        server_use: ServerUse,
        printer: Printer,
    ) -> Result<Self, CommandError> {
        // A plan without tools runs beside a file that is not trusted.
        let needs_tools = needed.is_none_or(|names| names.iter().any(|name| name != EXTRACTION));
        let (mut toolbox, servers) = Self::without_servers(arguments, needs_tools, printer)?;
        toolbox.extracts = needed.is_some_and(|names| names.contains(EXTRACTION));
        if let Some(config) = servers.map(Arc::new) {
            let tools = (&mut toolbox.catalog, &mut toolbox.backends);
            let servers = OpenServers::open(&config, tools, needed, server_use, printer);
            toolbox.servers = servers.await;
        }
        Ok(toolbox)
    }

    /// Opens the tools that need no server. Returns the configured servers, too: those of a file that is not trusted are left out if the
    /// command needs none, and an error otherwise.
    pub(crate) fn without_servers(
        arguments: &ToolArguments,
        needs_servers: bool,
        printer: Printer,
    ) -> Result<(Self, Option<ServersConfig>), CommandError> {
        let mut toolbox = Self::empty();
        toolbox.has_source = arguments.workspace.is_some();
        if let Some(root) = &arguments.workspace {
            toolbox.add_workspace(root)?;
        }
        if let Some(path) = &arguments.simulate {
            toolbox.has_source = true;
            toolbox.add_simulated(path)?;
            return Ok((toolbox, None));
        }
        let Some(found) = servers_file(arguments, needs_servers, printer)? else {
            return Ok((toolbox, None));
        };
        toolbox.has_source = true;
        toolbox.file = found.origin;
        let local = toolbox.local_servers();
        let config = read_servers(&found.path, &found.text, &local, printer)?;
        toolbox.source = Some((found.path, found.text));
        toolbox.secrets = config
            .servers
            .iter()
            .flat_map(|server| server.secrets.iter().cloned())
            .collect();
        Ok((toolbox, Some(config)))
    }

    /// Adds the model that reads the texts of steps with `extract`, unless a simulated tool replaces it.
    pub(crate) fn add_extraction(&mut self, model: Arc<dyn Model>) {
        if self.catalog.extraction().is_some() {
            return;
        }
        let extraction = Extraction::new(model);
        self.catalog.add_extraction();
        self.backends.set_extraction(Arc::new(extraction.clone()));
        self.extraction = Some(extraction);
    }

    /// Adds the configured model, as [`add_extraction`](Self::add_extraction) does, if the plan has such steps.
    pub(crate) fn open_extraction(&mut self, arguments: &ModelArguments, config: &Config) {
        if !self.extracts || self.catalog.extraction().is_some() {
            return;
        }
        // A file can record only one conversation.
        let arguments = ModelArguments {
            record: None,
            ..arguments.clone()
        };
        match model::open(&arguments, config) {
            Ok(model) => self.add_extraction(model),
            Err(error) => self.extraction_problem = Some(error),
        }
    }

    /// Returns the tokens and cost of extractions since the last time.
    pub(crate) fn take_extraction_usage(&self) -> Usage {
        let extraction = self.extraction.as_ref();
        extraction.map(Extraction::take_usage).unwrap_or_default()
    }

    /// Applies the configuration to the tools. Those of servers are compared with their pins in `store`; without one,
    /// nothing is pinned.
    pub(crate) fn apply_config(
        &mut self,
        config: &Config,
        store: Option<&Store>,
        printer: Printer,
    ) -> Result<(), CommandError> {
        self.apply_config_asking(config, store, |_| false, printer)
    }

    /// Like [`apply_config`](Self::apply_config), but tools selected by `asks` need approval if they do not declare whether they are destructive
    /// and no file has a rule for such tools.
    pub(crate) fn apply_config_asking(
        &mut self,
        config: &Config,
        store: Option<&Store>,
        asks: impl Fn(&Tool) -> bool,
        printer: Printer,
    ) -> Result<(), CommandError> {
        self.open_extraction(&ModelArguments::default(), config);
        self.recall_answers(config, store)?;
        let verdicts = match store {
            None => Verdicts::default(),
            Some(store) => self.pin(config, store)?,
        };
        report_changed_tools(&verdicts, printer);
        self.mention_names(printer);
        self.catalog = verdicts.catalog(&self.catalog, |catalog| {
            config.catalog_asking(catalog, asks)
        });
        Ok(())
    }

    /// Returns the service that executes runs with these tools under the configuration.
    pub(crate) fn service(&self, config: &Config, telemetry: &Telemetry) -> Planwright {
        let service = Planwright::over(Tools {
            catalog: Arc::new(self.catalog.clone()),
            backend: Arc::new(self.backends.clone()),
            policy: config.restrict(Policy::new()),
        });
        if telemetry.is_on() {
            service.observed_by(Arc::new(telemetry.clone()))
        } else {
            service
        }
    }

    /// Reports notices about the names of tools.
    pub(crate) fn mention_names(&self, printer: Printer) {
        let warnings = [names::collisions, names::lookalikes];
        for warning in warnings.iter().flat_map(|warnings| warnings(&self.catalog)) {
            printer.quote(&format!("warning: {warning}"));
        }
    }

    /// Compares the tools of servers, as their servers list them, with their pins.
    pub(crate) fn pin(&self, config: &Config, store: &Store) -> Result<Verdicts, CommandError> {
        let pinning = Pinning {
            store,
            policy: config.pin(self.file.is_own),
            accepts_servers: self.file.is_trusted,
            now: store::now(),
        };
        let tools = self.catalog.tools().map(AsRef::as_ref);
        pinning.compare(tools).map_err(store::explain)
    }

    /// Adds the stored answers of tools without an output schema.
    pub(crate) fn recall_answers(
        &mut self,
        config: &Config,
        store: Option<&Store>,
    ) -> Result<(), CommandError> {
        if let Some(store) = store.filter(|_| config.learns_outputs()) {
            let catalog = with_seen_answers(&self.catalog, store);
            self.catalog = catalog.map_err(store::explain)?;
        }
        Ok(())
    }

    /// Returns true if tools are to be pinned, or answers of tools are to be recorded.
    pub(crate) fn needs_store(&self, config: &Config) -> bool {
        let mut tools = self.catalog.tools();
        (config.pin(self.file.is_own) != PinPolicy::Off || config.learns_outputs())
            && tools.any(|tool| !tool.origin.is_empty())
    }

    /// The names of the servers whose tools are built in.
    pub(crate) fn local_servers(&self) -> BTreeSet<ServerName> {
        let tools = self.catalog.tools();
        tools.map(|tool| tool.server.clone()).collect()
    }

    /// The `mcp.json` of the servers, and its text when it was read.
    pub(crate) fn source(&self) -> Option<&(PathBuf, String)> {
        self.source.as_ref()
    }

    /// The owner of the `mcp.json` of the servers.
    pub(crate) fn file(&self) -> FileOrigin {
        self.file
    }

    /// The tools that `names` names, [assumed](assumed_tools) to exist.
    pub(crate) fn assumed(names: &BTreeSet<String>) -> Self {
        let tools = names.iter().filter(|name| *name != EXTRACTION).cloned();
        let tools: BTreeSet<String> = tools.collect();
        let mut catalog = assumed_tools(&tools, |_| "unknown".into());
        catalog.add_extraction();
        Self {
            catalog,
            has_source: true,
            ..Self::empty()
        }
    }

    /// No tools.
    pub(crate) fn empty() -> Self {
        Self {
            catalog: Catalog::new(),
            backends: Backends::new(),
            durations: Durations::new(),
            servers: OpenServers::default(),
            has_source: false,
            secrets: Vec::new(),
            file: FileOrigin::default(),
            source: None,
            extracts: false,
            extraction: None,
            extraction_problem: None,
        }
    }

    /// Returns notes for a person about diagnostics of missing tools.
    pub(crate) fn notes_on(&self, diagnostics: &Diagnostics) -> Vec<String> {
        let mut notes: Vec<String> = self
            .listed_before()
            .filter(|_| diagnostics.has_errors())
            .map(|listed| format!("note: {listed}; `planwright tools --refresh` lists them again"))
            .into_iter()
            .collect();
        if !diagnostics.iter().any(|one| one.code == Code::UnknownTool) {
            return notes;
        }
        if let Some(error) = &self.extraction_problem {
            notes.push(format!("note: data extraction is disabled: {error}"));
            notes.extend(error.hints().iter().map(|hint| format!("  hint: {hint}")));
        }
        notes.extend(self.notes());
        notes
    }

    /// Returns notes for a person whose plan names missing tools.
    pub(crate) fn notes(&self) -> Vec<String> {
        if let Some(note) = self.note_without_source() {
            return vec![note.to_owned()];
        }
        self.servers
            .missing()
            .map(|server| {
                format!("note: the tools of `{server}` are missing, since it did not start")
            })
            .collect()
    }

    /// Returns a note for a person who has named no source of tools.
    pub(crate) fn note_without_source(&self) -> Option<&'static str> {
        (!self.has_source).then_some(
            "note: there are no tools: name servers with `--servers FILE`, script them with `--simulate FILE`, or use the \
             built-in ones with `--workspace DIR`",
        )
    }

    /// Returns true if the catalog has the tools of every server that is configured.
    pub(crate) fn is_complete(&self) -> bool {
        self.servers.are_complete()
    }

    /// Returns a text that names the servers with stored lists, and the age of the lists; `None` if there are none.
    pub(crate) fn listed_before(&self) -> Option<String> {
        self.servers.listed_before()
    }

    /// Returns the texts of the configuration that must not be shown, such as keys and tokens.
    pub(crate) fn secrets(&self) -> Vec<Arc<str>> {
        self.secrets.clone()
    }

    pub(crate) fn add_workspace(&mut self, root: &Path) -> Result<(), CommandError> {
        let workspace = Workspace::open(root).map_err(|error| {
            CommandError::new(format!(
                "cannot use the folder `{}`: {}",
                root.display(),
                reason(&error)
            ))
        })?;
        for tool in workspace.tools() {
            self.catalog.add(tool);
        }
        self.backends.add(Workspace::NAME, Arc::new(workspace));
        Ok(())
    }

    fn add_simulated(&mut self, path: &Path) -> Result<(), CommandError> {
        const FORM: &str = "write it as {\"tools\": {NAME: {\"returns\": VALUE}}}";
        let script = text_file::json(path, FORM)?;
        let file = path.display();
        let simulated = Simulated::from_script(&script).map_err(|problems| {
            let mut error = CommandError::new(format!("`{file}` is not a file of simulated tools"));
            for problem in problems {
                error = error.hint(problem.to_string());
            }
            error.hint(FORM)
        })?;
        for tool in simulated.tools() {
            self.catalog.add(tool.clone());
        }
        self.durations = simulated.durations();
        let servers = simulated.servers();
        let simulated = Arc::new(simulated);
        for server in servers {
            self.backends.add(server, Arc::clone(&simulated) as _);
        }
        Ok(())
    }
}

/// Returns the tools that a plan names, as far as it says: each exists, takes and returns anything. `server_of` returns the server of a tool that
/// is named without one.
pub(crate) fn assumed_tools(
    names: &BTreeSet<String>,
    server_of: impl Fn(&str) -> ServerName,
) -> Catalog {
    let mut servers = ServerNames::default();
    for (server, _) in names.iter().filter_map(|name| name.split_once('.')) {
        servers.add(&server.into());
    }
    let qualified = |name: &str| {
        let (server, tool) = name.split_once('.').or_else(|| {
            let server = servers.owner(name)?;
            Some((&**server, name.get(server.len() + 2..)?))
        })?;
        Some(Tool::new(server, tool))
    };
    let tools = names
        .iter()
        .map(|name| qualified(name).unwrap_or_else(|| Tool::new(server_of(name), name.as_str())));
    tools.collect()
}

/// Reads the servers of an `mcp.json`, except those with the names of `local` servers, whose tools they would replace.
pub(crate) fn read_servers(
    path: &Path,
    text: &str,
    local: &BTreeSet<ServerName>,
    printer: Printer,
) -> Result<ServersConfig, CommandError> {
    let file = path.display().to_string();
    let (mut config, warnings) = ServersConfig::parse(text, &file, &environment::variable)
        .map_err(|error| {
            let help = error.help.clone();
            CommandError::new(error.to_string()).hint(help)
        })?;
    for warning in warnings {
        printer.quote(&format!("warning: {warning}"));
    }
    config.servers.retain(|server| {
        let is_local = local.contains(&server.name);
        if is_local {
            printer.quote(&format!(
                "warning: {file}: the server `{}` is not started, since the built-in tools have its name; give it another one",
                server.name
            ));
        }
        !is_local
    });
    Ok(config)
}

/// Reports notices about changed tools.
fn report_changed_tools(verdicts: &Verdicts, printer: Printer) {
    for notice in verdicts.notices() {
        match notice.kind {
            NoticeKind::New if notice.is_first => printer.quote(&format!("note: {notice}")),
            NoticeKind::New => {}
            NoticeKind::Changed | NoticeKind::Server => printer.quote(&format!(
                "warning: {notice} (`planwright tools --changed` shows the difference)"
            )),
            NoticeKind::TooMany => printer.quote(&format!("warning: {notice}")),
        }
    }
}

/// Returns the `mcp.json` to use: the named one, else one that is found and trusted. One that is not trusted is an error only if
/// `is_needed`.
pub(crate) fn servers_file(
    arguments: &ToolArguments,
    is_needed: bool,
    printer: Printer,
) -> Result<Option<ServersFile>, CommandError> {
    let Some((path, text)) = find_servers_file(arguments)? else {
        return Ok(None);
    };
    let is_own = is_own(&path);
    if arguments.servers.is_some() {
        let is_trusted = trust::is_trusted(&path, &text);
        let origin = FileOrigin { is_own, is_trusted };
        return Ok(Some(ServersFile { path, text, origin }));
    }
    // A command with the built-in tools only asks no question about servers.
    let optional = arguments.workspace.is_some() || !is_needed;
    let is_trusted = trust::allows(&path, &text, optional, printer)?;
    let origin = FileOrigin { is_own, is_trusted };
    Ok(is_trusted.then_some(ServersFile { path, text, origin }))
}

/// Returns the `mcp.json` and its text: the named one, else the nearest one from the folder of the command upwards, else that in the user's
/// settings. Its servers may be started only if it was named or is trusted.
pub(crate) fn find_servers_file(
    arguments: &ToolArguments,
) -> Result<Option<(PathBuf, String)>, CommandError> {
    for path in servers_file_candidates(arguments)? {
        let is_named = arguments.servers.is_some();
        // A link that leads nowhere is reported instead of another file being used in its place.
        if !is_named && path.symlink_metadata().is_err() {
            continue;
        }
        // A person may name a pipe; one that lies in a folder would block the command forever.
        let text = if is_named {
            text_file::read(&path)
        } else {
            text_file::read_found(&path)
        };
        let text = text.map_err(|error| CommandError::unreadable(&path, &error))?;
        return Ok(Some((path, text)));
    }
    Ok(None)
}

/// Returns the named file, or all paths that are searched, the nearest first.
pub(crate) fn servers_file_candidates(
    arguments: &ToolArguments,
) -> Result<Vec<PathBuf>, CommandError> {
    if let Some(path) = &arguments.servers {
        return Ok(vec![path.clone()]);
    }
    let here = arguments.folder.clone().unwrap_or_default();
    let mut folders = settings::project_folders(&here)?;
    folders.extend(environment::settings_folder());
    let in_folder = |folder: PathBuf| settings::SERVER_FILES.map(|name| folder.join(name));
    Ok(folders.into_iter().flat_map(in_folder).collect())
}

/// Returns true if a file is in the user's folder of settings, where no project can put one.
fn is_own(path: &Path) -> bool {
    let settings = environment::settings_folder().and_then(|folder| folder.canonicalize().ok());
    match (settings, path.canonicalize()) {
        (Some(settings), Ok(path)) => path.starts_with(settings),
        _ => false,
    }
}
