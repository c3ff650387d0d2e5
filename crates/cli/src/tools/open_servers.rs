//! The servers of a command. Servers that its plan names are started, unless their stored lists of tools suffice. If a model has yet to
//! write the plan, a server starts at its first call.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use planwright::core::{Catalog, EXTRACTION, Lookup, ServerName, Tool};
use planwright::engine::{Backends, ToolBackend};
use planwright::mcp::{
    ConnectOptions, Connections, ServerFailure, ServersConfig, StoredTools, Supervisor, ToolLists,
    UnansweredQuestion, UnansweredQuestions,
};
use planwright::stored::RecordProcesses;
use planwright::terminal_text;
use tokio::time::Instant;

use super::on_demand::OnDemandServer;
use crate::planning::progress::Waiting;
use crate::runs::store;
use crate::system::environment;
use crate::view::printer::{Printer, time};

/// The purpose of a command that opens servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerUse {
    /// Lists of tools, which may be stored ones.
    Lists,
    /// Lists of tools that the servers send now.
    FreshLists,
    /// Lists of tools for a command that repeats itself: a list that was sent after this instant is current.
    RepeatedLists(Instant),
    /// Calls. The plan is checked against the lists that the running servers send.
    Calls,
    /// Lists of tools for a model that has yet to write a plan. They may be stored ones; a server with a stored list starts at its first
    /// call.
    OnDemand,
}

/// The precision of the ages of stored lists.
const LIST_AGE_PRECISION: Duration = Duration::from_secs(1);

/// The servers of a command.
#[derive(Debug, Default)]
pub(crate) struct OpenServers {
    started: Vec<Connections>,
    /// The servers that their first call starts.
    on_demand: Vec<Arc<OnDemandServer>>,
    /// The servers that failed to start in an earlier process, and are not tried again yet.
    failed_before: Vec<ServerName>,
    /// The servers whose stored lists are used, with the ages of the lists.
    listed: Vec<(ServerName, Duration)>,
    /// True if servers were left out because the plan does not need them.
    has_idle: bool,
    /// The questions of the servers that could not be answered.
    unanswered: UnansweredQuestions,
}

/// Returns the options for starting servers: they are supervised and recorded, so that no server outlives this process unnoticed.
pub(crate) fn connect_options() -> ConnectOptions {
    let search_path = environment::variable("PATH").map(OsString::from);
    ConnectOptions {
        tokens: environment::user_tokens(),
        supervisor: Supervisor::this_program()
            .map(|program| program.search_path(search_path.clone())),
        processes: Some(Arc::new(RecordProcesses)),
        tool_lists: environment::data_folder()
            .map(|folder| ToolLists::in_folder(folder.join("tool-lists"), store::now, search_path)),
        ..ConnectOptions::default()
    }
}

impl OpenServers {
    /// Adds the tools that `names` names, or all without names, to `catalog`, starts the servers that this needs, and adds their backends.
    pub(super) async fn open(
        config: &Arc<ServersConfig>,
        (catalog, backends): (&mut Catalog, &mut Backends),
        names: Option<&BTreeSet<String>>,
        server_use: ServerUse,
        printer: Printer,
    ) -> Self {
        for server in config.names() {
            catalog.reserve(server);
        }
        let options = connect_options();
        let lists = options
            .tool_lists
            .as_ref()
            .filter(|_| server_use != ServerUse::FreshLists);
        let stored = config.servers.iter().filter_map(|server| {
            let tools = lists?.tools(server)?;
            Some((server.name.clone(), tools))
        });
        let choice = ServerChoice {
            config,
            own: catalog,
            names,
            server_use,
            lists: stored.collect(),
        };
        let mut open = Self {
            unanswered: options.unanswered.clone(),
            ..Self::default()
        };
        let mut wanted = choice.wanted();
        let mut started = BTreeSet::new();
        // The servers whose lists are only compared with names that no server has.
        let mut consulted = BTreeSet::new();
        loop {
            let known = choice.catalog(&wanted, &started, &open.started);
            let candidates = choice.candidates(&known).into_iter();
            // A misspelt name is the usual reason, and is no reason to start servers whose tools are known.
            let (listed, unlisted): (BTreeSet<_>, BTreeSet<_>) =
                candidates.partition(|server| choice.lists.contains_key(server));
            consulted.extend(listed);
            wanted.extend(unlisted);
            let next = choice.to_start(&wanted, &started);
            if next.is_empty() {
                break;
            }
            started.extend(next.iter().cloned());
            open.started.push(start(config, next, &options).await);
        }
        wanted.extend(consulted);
        for connections in &open.started {
            for warning in connections.warnings() {
                printer.message(&format!("warning: {warning}"));
            }
            for failure in connections.failures() {
                if choice.is_needed(&failure.server) {
                    print_failure(failure, printer);
                } else {
                    print_failure_briefly(failure, printer);
                }
            }
        }
        for server in &config.servers {
            if !started.contains(&server.name)
                && wanted.contains(&server.name)
                && let Some(list) = choice.lists.get(&server.name)
            {
                for warning in &list.warnings {
                    printer.message(&format!("warning: {warning}"));
                }
                open.add_listed(&server.name, list, &choice, &options, printer);
            }
        }
        let mut servers = config.servers.iter();
        open.has_idle = servers.any(|server| !wanted.contains(&server.name));
        let complete = choice.catalog(&wanted, &started, &open.started);
        *catalog = complete;
        open.join(backends);
        open
    }

    /// Adds a server whose stored list is used.
    fn add_listed(
        &mut self,
        name: &ServerName,
        list: &StoredTools,
        choice: &ServerChoice<'_>,
        options: &ConnectOptions,
        printer: Printer,
    ) {
        if list.is_failed {
            self.failed_before.push(name.clone());
            if choice.server_use == ServerUse::OnDemand {
                printer.message(&format!(
                    "warning: the server `{name}` did not start {} ago, and is not tried again yet ({})",
                    time(list.age),
                    start_failure_hint(name)
                ));
            }
            return;
        }
        self.listed.push((name.clone(), list.age));
        if choice.server_use == ServerUse::OnDemand {
            let config = Arc::clone(choice.config);
            let server = OnDemandServer::new(name.clone(), config, options, &list.tools);
            self.on_demand.push(Arc::new(server));
        }
    }

    /// Adds the backends of the servers.
    fn join(&self, backends: &mut Backends) {
        for connections in &self.started {
            backends.join(connections.backends());
        }
        for server in &self.on_demand {
            backends.add(
                server.name().clone(),
                Arc::clone(server) as Arc<dyn ToolBackend>,
            );
        }
    }

    /// Returns the names of servers that did not start.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &ServerName> {
        let failures = self.started.iter().flat_map(Connections::failures);
        failures
            .map(|failure| &failure.server)
            .chain(&self.failed_before)
    }

    /// Returns true if no server is left out or missing.
    pub(super) fn are_complete(&self) -> bool {
        !self.has_idle && self.missing().next().is_none()
    }

    /// Returns a text that names the servers with stored lists, and the age of the lists; `None` if there are none.
    pub(super) fn listed_before(&self) -> Option<String> {
        let oldest = self.listed.iter().map(|(_, age)| *age).max()?;
        let names: Vec<String> = self
            .listed
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        Some(format!(
            "the tools of {} were listed up to {} ago",
            names.join(", "),
            time(oldest)
        ))
    }

    /// Reports the questions of servers that could not be answered.
    pub(crate) fn report_unanswered(&self, printer: Printer) {
        for UnansweredQuestion { server, message } in self.unanswered.take() {
            let message = terminal_text::one_line(&message);
            let message = terminal_text::shortened(&message, MAX_QUESTION, "…");
            printer.message(&format!(
                "warning: the server `{server}` asked `{message}`; the question was cancelled, because this command cannot ask you"
            ));
        }
    }

    /// Stops the servers.
    pub(crate) async fn close(&self) {
        for connections in &self.started {
            connections.shutdown().await;
        }
        for server in &self.on_demand {
            server.close().await;
        }
    }
}

/// The choice of the servers that a command starts.
struct ServerChoice<'a> {
    config: &'a Arc<ServersConfig>,
    /// The tools that need no server, with the names of all servers.
    own: &'a Catalog,
    /// The names of the needed tools; `None` for all tools.
    names: Option<&'a BTreeSet<String>>,
    server_use: ServerUse,
    /// The stored lists that are valid.
    lists: HashMap<ServerName, StoredTools>,
}

impl ServerChoice<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.names.into_iter().flatten().map(String::as_str);
        names.filter(|name| *name != EXTRACTION)
    }

    fn all(&self) -> impl Iterator<Item = ServerName> {
        self.config.names().cloned()
    }

    /// Returns true if the name of a needed tool begins with `server`, or if the command needs all tools.
    fn is_needed(&self, server: &ServerName) -> bool {
        if self.names.is_none() {
            return match self.server_use {
                ServerUse::Lists | ServerUse::FreshLists | ServerUse::RepeatedLists(_) => true,
                ServerUse::Calls | ServerUse::OnDemand => false,
            };
        }
        let mut names = self.names();
        names.any(|name| self.own.servers().claimants(name).any(|it| it == server))
    }

    /// Returns the servers that may have the needed tools. A qualified name says its server. For other names, these are the servers that
    /// list a tool of the name, and the servers without a stored list.
    fn wanted(&self) -> BTreeSet<ServerName> {
        if self.names.is_none() {
            return self.all().collect();
        }
        let mut wanted = BTreeSet::new();
        for name in self.names() {
            let mut claimants = self.own.servers().claimants(name).peekable();
            if claimants.peek().is_some() {
                wanted.extend(claimants.cloned());
                continue;
            }
            let may_have = |server: &ServerName| {
                let list = self.lists.get(server);
                list.is_none_or(|list| list.tools.iter().any(|tool| &*tool.name == name))
            };
            let servers = self.config.servers.iter().map(|server| &server.name);
            wanted.extend(servers.filter(|server| may_have(server)).cloned());
        }
        wanted
    }

    /// Returns the needed names that `catalog` does not know.
    fn unresolved(&self, catalog: &Catalog) -> Vec<&str> {
        let is_unknown = |name: &&str| matches!(catalog.find(name), Lookup::Unknown);
        self.names().filter(is_unknown).collect()
    }

    /// Returns the servers that may have the tools that `catalog` does not know.
    fn candidates(&self, catalog: &Catalog) -> BTreeSet<ServerName> {
        let mut candidates = BTreeSet::new();
        for name in self.unresolved(catalog) {
            let mut claimants = self.own.servers().claimants(name).peekable();
            if claimants.peek().is_some() {
                candidates.extend(claimants.cloned());
            } else {
                candidates.extend(self.all());
            }
        }
        candidates
    }

    /// Returns true if the stored list of `server` is current.
    fn is_current(&self, server: &ServerName) -> bool {
        match (self.server_use, self.lists.get(server)) {
            (ServerUse::RepeatedLists(since), Some(list)) => {
                list.age <= since.elapsed() + LIST_AGE_PRECISION
            }
            (
                ServerUse::RepeatedLists(_)
                | ServerUse::Lists
                | ServerUse::FreshLists
                | ServerUse::Calls
                | ServerUse::OnDemand,
                _,
            ) => false,
        }
    }

    /// Returns the servers to start next.
    fn to_start(
        &self,
        wanted: &BTreeSet<ServerName>,
        started: &BTreeSet<ServerName>,
    ) -> BTreeSet<ServerName> {
        let suffices = |server: &ServerName| {
            let is_failed = self.lists.get(server).map(|list| list.is_failed);
            match self.server_use {
                ServerUse::Lists => is_failed == Some(false),
                ServerUse::RepeatedLists(_) => is_failed == Some(false) || self.is_current(server),
                ServerUse::OnDemand => is_failed.is_some(),
                ServerUse::FreshLists | ServerUse::Calls => false,
            }
        };
        let waiting = wanted.difference(started);
        waiting
            .filter(|server| !suffices(server))
            .cloned()
            .collect()
    }

    /// Returns the tools of the wanted servers: the current list of a server that is started, else its stored list.
    fn catalog(
        &self,
        wanted: &BTreeSet<ServerName>,
        started: &BTreeSet<ServerName>,
        connections: &[Connections],
    ) -> Catalog {
        let mut catalog = self.own.clone();
        for server in &self.config.servers {
            let name = &server.name;
            if started.contains(name) {
                let tools = connections.iter().flat_map(Connections::tools);
                for tool in tools.filter(|tool| tool.server == *name) {
                    catalog.add(tool.clone());
                }
            } else if wanted.contains(name) {
                let list = self.lists.get(name).into_iter();
                for tool in list.flat_map(|list| &list.tools) {
                    catalog.add(Tool::clone(tool));
                }
            }
        }
        catalog
    }
}

/// Starts the servers `names`, with a progress line.
async fn start(
    config: &ServersConfig,
    names: BTreeSet<ServerName>,
    options: &ConnectOptions,
) -> Connections {
    let startable = config.servers.iter().map(|server| &server.name);
    let shown: Vec<String> = startable
        .filter(|name| names.contains(*name))
        .map(|name| format!("`{name}`"))
        .collect();
    let starting = (!shown.is_empty()).then(|| {
        let text = format!("starting {}…", shown.join(", "));
        // A line that wraps cannot be removed as one.
        let room = Printer::status_width().saturating_sub(WAITING_MARGIN);
        Waiting::new(&terminal_text::shortened(&text, room, "…"))
    });
    let options = ConnectOptions {
        only: Some(names),
        ..options.clone()
    };
    let connections = Connections::connect(config, options).await;
    if let Some(starting) = starting {
        starting.end();
    }
    connections
}

/// The columns beside the text of a progress line.
const WAITING_MARGIN: usize = 12;

/// The maximum width of a server's question, in columns.
const MAX_QUESTION: usize = 200;

/// The maximum number of lines of a server's standard error that are shown.
const MAX_STDERR_LINES: usize = 10;

/// Reports why a server did not start, with the last lines that it wrote.
pub(crate) fn print_failure(failure: &ServerFailure, printer: Printer) {
    printer.message(&format!("warning: {failure}"));
    printer.hint(&failure.help);
    let lines: Vec<&str> = failure.stderr.lines().collect();
    for line in &lines[lines.len().saturating_sub(MAX_STDERR_LINES)..] {
        printer.quote(&format!("  | {line}"));
    }
}

/// Reports in one line that a server did not start, if no plan needs its tools.
fn print_failure_briefly(failure: &ServerFailure, printer: Printer) {
    printer.quote(&format!(
        "warning: {failure} ({})",
        start_failure_hint(&failure.server)
    ));
}

/// A hint with the command that shows why `server` does not start.
fn start_failure_hint(server: &ServerName) -> String {
    let name = store::shell_word(server);
    format!("`planwright servers test {name}` shows why")
}
