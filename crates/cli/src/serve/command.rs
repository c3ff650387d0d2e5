//! `planwright serve`: the gateway, over stdio or HTTP.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planwright::config::{Config, Serve};
use planwright::mcp::gateway::{Gateway, HttpService, serve_stdio};
use planwright::mcp::{ServersConfig, Upstreams};
use planwright::service::{EventObserver, ObservedRun, RunObserver};
use planwright::telemetry::Telemetry;
use planwright_serve::{GatewaySettings, HttpServer, HttpSettings, Metrics, PlanHost, PlanWriter};
use tokio_util::sync::CancellationToken;

use crate::args::ServeArguments;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::run::external_values;
use crate::serve::retention::Keeper;
use crate::serve::token;
use crate::settings::{self, Settings};
use crate::signals::Signals;
use crate::toolbox::{self, Toolbox};
use crate::{environment, model, run_storage, store, telemetry};

/// The time limit of plans in progress at shutdown.
const GRACE: Duration = Duration::from_secs(5);

/// The model that is the client itself.
const CLIENT: &str = "client";

/// `planwright serve`
pub(crate) async fn serve(
    arguments: &ServeArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    arguments.check()?;
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let telemetry = telemetry::open(&config)?;
    let signals = Signals::new()?;
    let (toolbox, servers) = Toolbox::without_servers(&arguments.tools, printer)?;
    for note in toolbox.notes() {
        printer.talk(&note);
    }
    let servers = servers.unwrap_or_else(ServersConfig::default);
    let upstreams = Upstreams::new(servers, toolbox::connect_options());
    let mut settings = gateway_settings(arguments, &config, toolbox, printer)?;
    if telemetry.is_on() {
        settings.observers.push(Arc::new(telemetry.clone()));
    }
    let keeper = settings
        .store
        .clone()
        .and_then(|store| Keeper::new(store, &config, settings.recall_for, printer));
    let retention = keeper.map(|keeper| tokio::spawn(keeper.run()));
    match arguments.listen {
        None => {
            if std::io::stdin().is_terminal() {
                printer.talk(
                    "speaking MCP on standard input and output, and waiting for a client; `planwright wrap` adds it to one, Ctrl-C ends it",
                );
            }
            over_stdio(settings, &upstreams, signals).await?;
        }
        Some(listen) => {
            let telemetry = telemetry.clone();
            over_http(
                settings, &upstreams, &config, telemetry, listen, signals, printer,
            )
            .await?;
        }
    }
    if let Some(retention) = retention {
        retention.abort();
    }
    upstreams.shutdown().await;
    telemetry::close(telemetry).await;
    Ok(Exit::Success)
}

fn gateway_settings(
    arguments: &ServeArguments,
    config: &Config,
    toolbox: Toolbox,
    printer: Printer,
) -> Result<GatewaySettings, CommandError> {
    let mut settings =
        GatewaySettings::new(config.clone(), store::this_process(), run_storage::now);
    settings.mode = arguments.mode();
    settings.face = arguments.face();
    settings.options.secrets = toolbox.secrets();
    if let Some(timeout) = arguments.timeout {
        settings.options.attempt_timeout = Some(timeout);
    }
    settings.pin = config.pin(toolbox.file().is_own);
    settings.accepts_servers = toolbox.file().is_trusted;
    settings.sources = run_storage::sources(&arguments.tools)?;
    if !arguments.no_store {
        settings.store = Some(store::open(&arguments.store, printer)?);
    }
    let governed = config.clone();
    settings.outside = Arc::new(move |plan| {
        external_values::get(plan, &governed).map_err(|error| {
            let hints = error.hints().join("; ");
            format!("{error}: {hints}")
        })
    });
    settings.zone = environment::zone()?;
    settings.writer = match model::name(&arguments.model, config).as_deref() {
        Some(CLIENT) => Some(PlanWriter::Client),
        Some(_) => match model::open(&arguments.model, config) {
            Ok(model) => Some(PlanWriter::Model(model)),
            Err(error) if arguments.model.model.is_some() => return Err(error),
            // A model that only the settings name must not prevent the rest of the gateway.
            Err(error) => {
                printer.quote(&format!("no plans are written here: {error}"));
                for hint in error.hints() {
                    printer.quote(&format!("  hint: {hint}"));
                }
                None
            }
        },
        None => None,
    };
    settings.own = (toolbox.catalog, toolbox.backends);
    Ok(settings)
}

/// Serves the one client that has started this process.
async fn over_stdio(
    settings: GatewaySettings,
    upstreams: &Upstreams,
    mut signals: Signals,
) -> Result<(), CommandError> {
    let host = PlanHost::new(settings, upstreams.clone());
    let gateway = Gateway::new(Arc::clone(&host) as _, upstreams.clone());
    let stop = CancellationToken::new();
    let serving = serve_stdio(&gateway, stop.clone());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = signals.next() => {
            stop.cancel();
            serving.await
        }
    };
    host.suspend(GRACE).await;
    // What a client sends that does not speak the protocol is its own affair; the next one starts a process of its own.
    served.map_err(|error| {
        CommandError::new(error.to_string())
            .hint("over standard input and output it must be MCP; `--listen` serves HTTP")
    })
}

/// Serves authorised clients over HTTP.
async fn over_http(
    mut settings: GatewaySettings,
    upstreams: &Upstreams,
    config: &Config,
    telemetry: Telemetry,
    listen: SocketAddr,
    mut signals: Signals,
    printer: Printer,
) -> Result<(), CommandError> {
    let serve = config.serve().clone();
    let most = serve
        .max_body
        .as_ref()
        .map_or(Serve::MAX_BODY, |bound| bound.most);
    let server = HttpServer::bind(HttpSettings {
        listen,
        tokens: token::user_file()?,
        serve,
        telemetry,
    })
    .await?;
    settings.observers.push(Arc::new(Counted(server.metrics())));
    let address = server.address()?;
    let host = PlanHost::new(settings, upstreams.clone());
    let gateway = Gateway::for_many(Arc::clone(&host) as _, upstreams.clone());
    let stop = CancellationToken::new();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let service = HttpService::new(&gateway, most, stop.clone());
    printer.talk(&format!("listening on http://{address}/mcp"));
    let end = async move { signals.next().await };
    let put_away = async {
        host.suspend(GRACE).await;
        stop.cancel();
    };
    let served = service.clone();
    let revocations = server.revocations(move |client| {
        let served = served.clone();
        async move { served.end_client(&client).await }
    });
    tokio::select! {
        () = server.serve(service, end, put_away) => {}
        never = revocations => match never {},
    }
    Ok(())
}

/// Counts what happens in runs.
struct Counted(Metrics);

impl RunObserver for Counted {
    fn begin(&self, _: &ObservedRun) -> EventObserver {
        let mut count = self.0.run();
        Box::new(move |event| count.event(event))
    }
}
