//! `planwright ui`: the page of runs, on this machine, with the tools of the command line.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright::Planwright;
use planwright::config::Config;
use planwright::core::check::Policy;
use planwright::core::{Catalog, Tool, Value};
use planwright::engine::{Backends, RunId, RunOptions};
use planwright::planner::dates::Now;
use planwright::service::{Revert, RevertRequest, RunOverrides, Tools};
use planwright::stored::StoredRun;
use planwright::telemetry::Telemetry;
use planwright_store::Store;
use planwright_web::{
    OpenRevert, OpenTools, PageServer, PageSettings, PageTools, ToolsError, ToolsGuard,
};
use tempfile::{NamedTempFile, TempDir};

use crate::args::{ToolArguments, UiArguments};
use crate::error::{CommandError, Exit, reason};
use crate::inspect::{explain, flow};
use crate::planning::dates;
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::tools::trust;
use crate::view::printer::Printer;

/// The time limit of calls in flight at shutdown.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// `planwright ui`
pub(crate) async fn ui(arguments: &UiArguments, printer: Printer) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let telemetry = telemetry::open(&config)?;
    let mut signals = Signals::new()?;
    let (server, settings) = page(
        arguments.port,
        &arguments.tools,
        &store,
        &config,
        &telemetry,
        printer,
    )
    .await?;
    let url = server.url();
    printer.data_line(&url);
    let opened = if arguments.no_open {
        None
    } else {
        open_browser(&url)
            .map_err(|error| {
                // The system's error for a missing program does not name the program.
                let cause = match error.kind() {
                    io::ErrorKind::NotFound => {
                        "no program that opens a browser is installed".to_owned()
                    }
                    _ => format!("no browser could be opened: {}", reason(&error)),
                };
                printer.status(&cause);
                printer.status("hint: open the address yourself");
            })
            .ok()
    };
    let end = async move {
        signals.next().await;
        signals.leave_on_next();
    };
    let served = server.serve(settings, GRACE, end).await;
    drop(opened);
    telemetry::close(telemetry).await;
    served.map_err(|error| {
        CommandError::new(format!("the page cannot be served: {}", reason(&error))).internal(error)
    })?;
    Ok(Exit::Success)
}

/// Binds the page to `port` of the loopback address; any free port if it is 0. It has the tools of `arguments`.
pub(crate) async fn page(
    port: u16,
    arguments: &ToolArguments,
    store: &Store,
    config: &Config,
    telemetry: &Telemetry,
    printer: Printer,
) -> Result<(PageServer, PageSettings), CommandError> {
    let server = PageServer::bind(port).await.map_err(|error| {
        let reason = reason(&error);
        CommandError::new(format!("cannot listen on port {port}: {reason}"))
            .hint("choose another port, or leave `--port` out")
    })?;
    let tools = tools(arguments, store, telemetry, printer);
    let settings = page_settings(store, config, tools)?;
    Ok((server, settings))
}

/// The tools of the command line, for a page.
pub(crate) fn tools(
    arguments: &ToolArguments,
    store: &Store,
    telemetry: &Telemetry,
    printer: Printer,
) -> Arc<dyn PageTools> {
    Arc::new(CommandTools {
        arguments: arguments.clone(),
        store: store.clone(),
        telemetry: telemetry.clone(),
        printer,
        scripts: Mutex::default(),
    })
}

/// Opens the browser. All users can read the arguments of programs, and the address contains the token, so the browser reads the address
/// from a file that only this user can read. The file exists until the result is dropped.
fn open_browser(url: &str) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix("planwright-")
        .suffix(".html")
        .tempfile()?;
    write!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><title>Planwright</title><meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">Open the page</a>"
    )?;
    file.flush()?;
    open::that_detached(file.path())?;
    Ok(file)
}

/// The settings of a page over `store`.
pub(crate) fn page_settings(
    store: &Store,
    config: &Config,
    tools: Arc<dyn PageTools>,
) -> Result<PageSettings, CommandError> {
    let service = Planwright::over(Tools {
        catalog: Arc::new(Catalog::new()),
        backend: Arc::new(Backends::new()),
        policy: config.restrict(Policy::new()),
    })
    .with_store(store);
    let requires_passphrase = config.requires_passphrase();
    let zone = environment::zone()?;
    let calendar = dates::calendar(config);
    let config = config.clone();
    Ok(PageSettings {
        service: if requires_passphrase {
            service.with_required_passphrase()
        } else {
            service
        },
        store: store.clone(),
        requires_passphrase,
        tools,
        person: environment::variable("USER"),
        now: store::now,
        code_page: explain::page,
        mark_flow: Arc::new(move |drawing, plan, labels| {
            flow::mark(drawing, plan, labels, &config);
        }),
        today: Arc::new(move || {
            let now = Now::at(store::since_1970(), &zone)?;
            Ok(now.with_calendar(calendar))
        }),
    })
}

/// The tools of the command line, opened when they are needed.
struct CommandTools {
    arguments: ToolArguments,
    store: Store,
    telemetry: Telemetry,
    printer: Printer,
    /// The folder of the scripts of simulated runs. It exists as long as this process, which alone can resume these runs.
    scripts: Mutex<Option<TempDir>>,
}

impl CommandTools {
    async fn open_for(
        &self,
        needed: Option<BTreeSet<String>>,
        server_use: ServerUse,
    ) -> Result<OpenTools, CommandError> {
        let Settings { config, .. } = settings::load(Path::new("."))?;
        let needed = needed.map(|names| config.with_undo_tools(names));
        let needed = needed.as_ref();
        let mut toolbox = Toolbox::open(&self.arguments, needed, server_use, self.printer).await?;
        toolbox.apply_config(&config, Some(&self.store), self.printer)?;
        self.opened(toolbox, config, &self.arguments)
    }

    /// Opens simulated tools. Their script is a file of this process, so that no later process resumes the run with other tools.
    async fn simulated(&self, script: &Value) -> Result<OpenTools, CommandError> {
        let path = self.write_script(&script.to_json()).map_err(|error| {
            CommandError::new(format!(
                "the simulated tools cannot be written: {}",
                reason(&error)
            ))
            .internal(error)
        })?;
        let arguments = ToolArguments {
            simulate: Some(path),
            ..ToolArguments::default()
        };
        let Settings { config, .. } = settings::load(Path::new("."))?;
        let mut toolbox = Toolbox::open(&arguments, None, ServerUse::Calls, self.printer).await?;
        toolbox.apply_config(&config, None, self.printer)?;
        self.opened(toolbox, config, &arguments)
    }

    /// Writes a script into the folder of this process. Equal scripts are one file.
    fn write_script(&self, script: &str) -> io::Result<PathBuf> {
        let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match scripts.take() {
            Some(folder) => folder,
            None => TempDir::with_prefix("planwright-")?,
        };
        let path = folder
            .path()
            .join(format!("{}.json", trust::digest(script)));
        *scripts = Some(folder);
        let mut file = NamedTempFile::new_in(path.parent().unwrap_or(&path))?;
        file.write_all(script.as_bytes())?;
        file.persist(&path)?;
        Ok(path)
    }

    /// Returns the tool sources for the continuation of a stored run: those that it began with. An imported run has paths of
    /// another machine, so it gets the tools of this program.
    fn sources_of(&self, stored: &StoredRun) -> Result<(ToolArguments, PathBuf), CommandError> {
        let tools = &stored.run.tools;
        if stored.imported.is_some() {
            if !self.arguments.are_named() {
                return Err(CommandError::new(
                    "the run was imported, so its recorded tool sources are not used",
                )
                .hint("start `planwright ui` with its tools: `--servers FILE`, `--simulate FILE` or `--workspace DIR`"));
            }
            if tools.simulate.is_some() && self.arguments.simulate.is_none() {
                return Err(CommandError::new(
                    "the run began with simulated tools, and this page has real ones",
                )
                .hint("start `planwright ui` with its tools: `--simulate FILE`"));
            }
            return Ok((self.arguments.clone(), PathBuf::from(".")));
        }
        if let Some(script) = &tools.simulate
            && !Path::new(script).exists()
        {
            return Err(CommandError::new(format!(
                "the simulated tools of the run are gone: `{script}`"
            ))
            .hint("run its plan again"));
        }
        Ok((store::tool_arguments(tools), PathBuf::from(&tools.folder)))
    }

    async fn next_process(&self, stored: &StoredRun) -> Result<OpenTools, CommandError> {
        let (arguments, folder) = self.sources_of(stored)?;
        let Settings { config, .. } = settings::load(&folder)?;
        let config = stored.with_flow(config);
        let needed = stored.loaded(stored.vars.clone())?.tool_names();
        let needed = config.with_undo_tools(needed);
        let mut toolbox =
            Toolbox::open(&arguments, Some(&needed), ServerUse::Calls, self.printer).await?;
        // Calls that need approval in the gateway need approval here as well.
        toolbox.apply_config_asking(
            &config,
            Some(&self.store),
            |tool| stored.asks(tool),
            self.printer,
        )?;
        self.opened(toolbox, config, &arguments)
    }

    async fn open_revert(
        &self,
        run: &RunId,
        stored: &StoredRun,
    ) -> Result<OpenRevert, CommandError> {
        let (arguments, folder) = self.sources_of(stored)?;
        let Settings { config, .. } = settings::load(&folder)?;
        let config = stored.with_flow(config);
        let policy = config.restrict(Policy::new());
        let mut revert = self.read_revert(run, &config, &policy).await?;
        if stored.imported.is_some() {
            revert.set_sources(store::sources(&arguments)?);
        }
        let needed = revert.tool_names();
        let mut toolbox =
            Toolbox::open(&arguments, Some(&needed), ServerUse::Calls, self.printer).await?;
        let asks = |tool: &Tool| stored.asks_in_revert(tool);
        toolbox.apply_config_asking(&config, Some(&self.store), asks, self.printer)?;
        match revert.check(&toolbox.catalog, &policy) {
            Ok(plan) => Ok(OpenRevert {
                revert,
                plan,
                tools: self.opened(toolbox, config, &arguments)?,
            }),
            Err(loaded) => {
                toolbox.servers.close().await;
                let mut errors = loaded.diagnostics.iter().filter(|found| found.is_error());
                let first = errors.next().map(|found| format!(": {}", found.message));
                Err(CommandError::new(format!(
                    "the plan of the undos is not sound{}",
                    first.unwrap_or_default()
                )))
            }
        }
    }

    /// Reads what a run did, and computes the undos, on a thread that may block.
    async fn read_revert(
        &self,
        run: &RunId,
        config: &Config,
        policy: &Policy,
    ) -> Result<Revert, CommandError> {
        let (store, run) = (self.store.clone(), run.clone());
        let (config, policy) = (config.clone(), policy.clone());
        let runtime = tokio::runtime::Handle::current();
        let read = tokio::task::spawn_blocking(move || {
            let request = RevertRequest {
                run: run.as_str(),
                from: None,
                configured: &|tool: Tool| config.configured(tool),
                policy: &policy,
                holder: &store::this_process(),
                is_leased: false,
            };
            runtime.block_on(Revert::prepare(&store, request))
        });
        let read = read
            .await
            .map_err(|error| CommandError::new("the run cannot be read").internal(error))?;
        Ok(read?)
    }

    fn opened(
        &self,
        toolbox: Toolbox,
        config: Config,
        arguments: &ToolArguments,
    ) -> Result<OpenTools, CommandError> {
        let service = toolbox.service(&config, &self.telemetry);
        let base = RunOptions {
            secrets: toolbox.secrets(),
            seal_key: store::seal_key(Some(&self.store))?,
            ..RunOptions::default()
        };
        let overrides = RunOverrides {
            base,
            ..RunOverrides::default()
        };
        Ok(OpenTools {
            service: service.with_store(&self.store),
            sources: store::sources(arguments)?,
            options: overrides.options(&config),
            external_values: Arc::new(move |plan| {
                environment::get(plan, &config).map_err(|error| refused(&error))
            }),
            guard: Arc::new(toolbox),
        })
    }
}

impl ToolsGuard for Toolbox {
    fn close(&self) -> BoxFuture<'_, ()> {
        self.servers.close().boxed()
    }
}

impl PageTools for CommandTools {
    fn list(&self, is_fresh: bool) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        let server_use = if is_fresh {
            ServerUse::FreshLists
        } else {
            ServerUse::Lists
        };
        async move {
            let opened = self.open_for(None, server_use).await;
            let opened = opened.map_err(|error| refused(&error))?;
            // These tools are not called: plans are only checked with them.
            opened.guard.close().await;
            Ok(opened)
        }
        .boxed()
    }

    fn open(&self, needed: BTreeSet<String>) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        async move {
            let opened = self.open_for(Some(needed), ServerUse::Calls).await;
            opened.map_err(|error| refused(&error))
        }
        .boxed()
    }

    fn simulate(&self, script: Value) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        async move {
            let opened = self.simulated(&script).await;
            opened.map_err(|error| refused(&error))
        }
        .boxed()
    }

    fn of_run<'a>(&'a self, stored: &'a StoredRun) -> BoxFuture<'a, Result<OpenTools, ToolsError>> {
        async move {
            let opened = self.next_process(stored).await;
            opened.map_err(|error| refused(&error))
        }
        .boxed()
    }

    fn revert<'a>(
        &'a self,
        run: &'a RunId,
        stored: &'a StoredRun,
    ) -> BoxFuture<'a, Result<OpenRevert, ToolsError>> {
        async move {
            let opened = self.open_revert(run, stored).await;
            opened.map_err(|error| refused(&error))
        }
        .boxed()
    }

    fn can_run(&self) -> bool {
        true
    }
}

fn refused(error: &CommandError) -> ToolsError {
    let help = error.hints().join("; ");
    ToolsError {
        message: error.to_string(),
        help: (!help.is_empty()).then_some(help),
    }
}
