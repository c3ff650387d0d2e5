//! `planwright serve`: the gateway, and the deletion of old runs.

use std::convert::Infallible;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use planwright::config::{Config, Retention, Serve};
use planwright::mcp::gateway::{Gateway, HttpService, serve_stdio};
use planwright::mcp::{ServersConfig, Upstreams};
use planwright::service::{EventObserver, ObservedRun, RunObserver};
use planwright_serve::{
    GatewaySettings, HttpServer, HttpSettings, Metrics, PlanHost, PlanWriter, mcp_service,
};
use planwright_store::{Prune, PruneReport, Store, StoreError};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::args::ServeArguments;
use crate::error::{CommandError, Exit};
use crate::planning::{dates, model};
use crate::runs::store;
use crate::serve::page::ServedPage;
use crate::serve::reload::ServerReload;
use crate::serve::ui::GRACE;
use crate::serve::{explain, token, ui, view};
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::open_servers::connect_options;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::Printer;
use crate::view::printer::counted;

/// The model that is the client itself.
const CLIENT: &str = "client";

/// `planwright serve`
pub(crate) async fn serve(
    arguments: &ServeArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    arguments.check()?;
    let Settings { config, .. } = settings::load(Path::new("."))?;
    if let Some(client) = &arguments.explain {
        return explain::explain(client, arguments, config, printer).await;
    }
    let telemetry = telemetry::open(&config)?;
    let signals = Signals::new()?;
    let (toolbox, servers) = Toolbox::without_servers(&arguments.tools, true, printer)?;
    for note in toolbox.notes() {
        printer.status(&note);
    }
    let servers = servers.unwrap_or_else(ServersConfig::default);
    let upstreams = Upstreams::new(servers, connect_options());
    let is_named = arguments.tools.servers.is_some();
    let reload = ServerReload::new(&toolbox, is_named, upstreams.clone(), printer);
    let mut settings = gateway_settings(arguments, &config, toolbox, printer)?;
    if telemetry.is_on() {
        settings.observers.push(Arc::new(telemetry.clone()));
    }
    let retention_task = settings
        .store
        .clone()
        .and_then(|store| RetentionTask::new(store, &config, settings.recall_for, printer));
    let retention = retention_task.map(|task| tokio::spawn(task.run()));
    let store = settings.store.clone().filter(|_| arguments.ui);
    match arguments.listen {
        None => {
            let stop_page = CancellationToken::new();
            let page = match &store {
                Some(store) => {
                    let (server, page_settings) =
                        ui::page(0, &arguments.tools, store, &config, &telemetry, printer).await?;
                    printer.status(&format!("the page of runs: {}", server.url()));
                    settings.page_address = Some(server.origin());
                    let end = stop_page.clone().cancelled_owned();
                    Some(tokio::spawn(server.serve(page_settings, GRACE, end)))
                }
                None => None,
            };
            if std::io::stdin().is_terminal() {
                printer.status(
                    "speaking MCP on standard input and output, and waiting for a client; `planwright wrap` adds it to one, Ctrl-C ends it",
                );
            }
            let reload = reload.map(|reload| tokio::spawn(reload.run()));
            let served = over_stdio(settings, &upstreams, signals).await;
            if let Some(reload) = reload {
                reload.abort();
            }
            stop_page.cancel();
            if let Some(page) = page {
                report_page_end(page.await);
            }
            served?;
        }
        Some(listen) => {
            let server = HttpServer::bind(HttpSettings {
                listen,
                tokens: token::user_file()?,
                serve: config.serve().clone(),
                telemetry: telemetry.clone(),
                shared_store: settings.store.clone().filter(Store::is_shared),
            })
            .await?;
            let page = match &store {
                Some(store) => {
                    let tools = ui::tools(&arguments.tools, store, &telemetry, printer);
                    Some(ServedPage::new(&server, store, &config, tools, printer)?)
                }
                None => None,
            };
            let note = server.health_note();
            let reload = reload.map(|reload| tokio::spawn(reload.noting(note).run()));
            over_http(settings, &upstreams, (server, page), signals, printer).await?;
            if let Some(reload) = reload {
                reload.abort();
            }
        }
    }
    if let Some(retention) = retention {
        retention.abort();
    }
    upstreams.shutdown().await;
    telemetry::close(telemetry).await;
    Ok(Exit::Success)
}

/// Logs an error with which the page ended. The gateway itself is not affected.
fn report_page_end(page: Result<std::io::Result<()>, JoinError>) {
    let error = match page {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(%error, "the page of runs ended early");
}

fn gateway_settings(
    arguments: &ServeArguments,
    config: &Config,
    toolbox: Toolbox,
    printer: Printer,
) -> Result<GatewaySettings, CommandError> {
    let mut settings = GatewaySettings::new(config.clone(), store::this_process(), store::now);
    settings.mode = arguments.mode();
    settings.compat = arguments.face;
    settings.options.secrets = toolbox.secrets();
    if let Some(timeout) = arguments.timeout {
        settings.options.attempt_timeout = Some(timeout);
    }
    settings.pin = config.pin(toolbox.file().is_own);
    settings.accepts_servers = toolbox.file().is_trusted;
    settings.sources = store::sources(&arguments.tools)?;
    if !arguments.no_store {
        let store = store::open(&arguments.store, printer)?;
        // Read now, because requests must not wait for the key, which never changes.
        store.seal_key().map_err(store::explain)?;
        settings.has_replicas = arguments.listen.is_some() && store.is_shared();
        if settings.has_replicas && !config.stages().is_empty() {
            return Err(CommandError::new(
                "a gateway over a shared store has no stages: its replicas do not know the stage of a client",
            )
            .hint("remove `[stages]` from planwright.toml, or serve from a store of this machine"));
        }
        if settings.compat.is_none() && settings.mode.takes_plans() {
            settings.page = Some(view::page(&store, config)?);
        }
        settings.store = Some(store);
    }
    let config_of_values = config.clone();
    settings.external_values = Arc::new(move |plan| {
        environment::get(plan, &config_of_values).map_err(|error| {
            let hints = error.hints().join("; ");
            format!("{error}: {hints}")
        })
    });
    settings.zone = environment::zone()?;
    settings.calendar = dates::calendar(&settings.config);
    settings.writer = match model::name(&arguments.model, config).as_deref() {
        Some(CLIENT) => Some(PlanWriter::Client),
        Some(_) => match model::open(&arguments.model, config) {
            Ok(model) => Some(PlanWriter::Model(model)),
            Err(error) if arguments.model.model.is_some() => return Err(error),
            // A model that only the settings name must not prevent the rest of the gateway.
            Err(error) => {
                printer.quote(&format!("plan creation is disabled: {error}"));
                for hint in error.hints() {
                    printer.hint(hint);
                }
                None
            }
        },
        None => None,
    };
    settings.own = (toolbox.catalog, toolbox.backends);
    Ok(settings)
}

/// Serves the client that has started this process.
async fn over_stdio(
    settings: GatewaySettings,
    upstreams: &Upstreams,
    mut signals: Signals,
) -> Result<(), CommandError> {
    let host = PlanHost::new(settings, upstreams.clone());
    let gateway = Gateway::new(Arc::clone(&host) as _, upstreams.clone());
    let stop = CancellationToken::new();
    let mut serving = serve_stdio(&gateway, stop.clone());
    let served = tokio::select! {
        served = &mut serving => served,
        _ = signals.next() => {
            signals.leave_on_next();
            stop.cancel();
            serving.await
        }
    };
    host.suspend(GRACE).await;
    // Invalid messages concern only their client; the next client starts its own process.
    served.map_err(|error| {
        CommandError::new(error.to_string())
            .hint("expected an MCP message on standard input; use `--listen` for HTTP")
    })
}

/// Serves authorised clients over HTTP.
async fn over_http(
    mut settings: GatewaySettings,
    upstreams: &Upstreams,
    (mut server, page): (HttpServer, Option<ServedPage>),
    mut signals: Signals,
    printer: Printer,
) -> Result<(), CommandError> {
    let limit = settings.config.serve().max_body.as_ref();
    let limit = limit.map_or(Serve::MAX_BODY, |bound| bound.limit);
    settings
        .observers
        .push(Arc::new(MetricsObserver(server.metrics())));
    let address = server.address()?;
    settings.page_address = page
        .as_ref()
        .filter(|_| address.ip().is_loopback())
        .map(|page| page.origin.clone());
    let host = PlanHost::new(settings, upstreams.clone());
    let gateway = Gateway::for_many(Arc::clone(&host) as _, upstreams.clone());
    let stop = CancellationToken::new();
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let service = HttpService::new(&gateway, limit, stop.clone());
    printer.status(&format!("listening on http://{address}/mcp"));
    let end = async move {
        signals.next().await;
        signals.leave_on_next();
    };
    let ending = Arc::clone(&host);
    let shutdown = async {
        let page = async {
            if let Some(page) = &page {
                page.page.close();
                page.page.drain(GRACE).await;
            }
        };
        tokio::join!(ending.suspend(GRACE), page);
        stop.cancel();
    };
    let served = service.clone();
    let revocations = server.revocations(move |client| {
        let served = served.clone();
        async move { served.end_client(&client).await }
    });
    let (host, clients) = (Arc::clone(&host), server.clients());
    // In a separate task, so that the checks of its plans do not delay connections. Without tokens there is one client, the local
    // user, who resumes runs by hand, so that nothing is taken over.
    let taking_over = clients.map(|clients| {
        let task = host.take_over(move |client| clients.groups(client));
        tokio::spawn(task)
    });
    let watching = async {
        match &page {
            Some(page) => page.page.watch().await,
            None => std::future::pending().await,
        }
    };
    if let Some(page) = &page {
        server = server.with_page(page.routes());
    }
    tokio::select! {
        () = server.serve(mcp_service(service), Box::pin(end), Box::pin(shutdown)) => {}
        never = revocations => match never {},
        never = watching => match never {},
    }
    if let Some(taking_over) = taking_over {
        taking_over.abort();
    }
    Ok(())
}

/// An observer that counts the events of runs.
struct MetricsObserver(Metrics);

impl RunObserver for MetricsObserver {
    fn begin(&self, _: &ObservedRun) -> EventObserver {
        let mut count = self.0.run();
        Box::new(move |event| count.event(event))
    }
}

/// The interval at which the store is checked.
const PERIOD: Duration = Duration::from_mins(1);

/// The retention of runs in a store.
#[derive(Clone, Debug)]
pub(crate) struct RetentionTask {
    store: Store,
    max_age: Option<Duration>,
    limit: Option<u64>,
    /// The age below which a run is never deleted for the size of the store, because later plans may refer to its results.
    min_age: Duration,
    printer: Printer,
}

impl RetentionTask {
    /// Returns the task, or `None` if `config` sets no limit: runs are deleted only if a person has configured it. `min_age` is the time
    /// for which later plans may refer to results.
    pub(crate) fn new(
        store: Store,
        config: &Config,
        min_age: Duration,
        printer: Printer,
    ) -> Option<Self> {
        let Retention { keep, max_bytes } = config.retention();
        if keep.is_none() && max_bytes.is_none() {
            return None;
        }
        Some(Self {
            store,
            max_age: keep.as_ref().map(|bound| bound.limit),
            limit: max_bytes.as_ref().map(|bound| bound.limit),
            min_age,
            printer,
        })
    }

    /// Prunes the store now and then once a minute, until it is dropped.
    pub(crate) async fn run(self) -> Infallible {
        let mut period = tokio::time::interval(PERIOD);
        loop {
            period.tick().await;
            let task = self.clone();
            let pruning = tokio::task::spawn_blocking(move || task.prune());
            match pruning.await {
                Ok(Ok(pruned)) if !pruned.runs.is_empty() || pruned.calls > 0 => {
                    let runs = counted(pruned.runs.len(), "stored run");
                    let calls = match pruned.calls {
                        0 => String::new(),
                        calls => format!(" and {} without a plan", counted(calls, "call")),
                    };
                    self.printer.status(&format!(
                        "{runs}{calls} deleted, as `[store]` in planwright.toml limits their age and the size of the store"
                    ));
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "old runs cannot be deleted"),
                Err(error) => tracing::warn!(%error, "old runs were not deleted"),
            }
        }
    }

    fn prune(&self) -> Result<PruneReport, StoreError> {
        let now = store::now();
        let before = |age| Prune {
            before: now.checked_sub(age).unwrap_or(UNIX_EPOCH),
            newest: 0,
            unfinished: false,
            dry_run: false,
        };
        let holder = store::this_process();
        let mut pruned = match self.max_age {
            Some(age) => self.store.prune(&before(age), &holder)?,
            None => PruneReport::default(),
        };
        if let Some(limit) = self.limit {
            let large = self.store.prune_to(limit, &before(self.min_age), &holder)?;
            pruned.runs.extend(large.runs);
            pruned.calls += large.calls;
        }
        Ok(pruned)
    }
}
