//! The transports of the server.

use std::io::Write;
use std::process::ExitCode;

use rmcp::ServiceExt;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::net::TcpListener;

use super::handler::Handler;

/// Runs the server: over stdio until its input ends, or with `--listen ADDRESS` over HTTP; then it prints its address
/// to standard error.
pub fn run(arguments: &[String]) -> ExitCode {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.to_string()),
    };
    let served = match arguments[..] {
        [] => runtime.block_on(over_stdio()),
        ["--listen", address] => runtime.block_on(over_http(address)),
        _ => return fail("usage: conformance-server [--listen ADDRESS]"),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

async fn over_stdio() -> Result<(), Box<dyn std::error::Error>> {
    let running = Handler::new().serve(rmcp::transport::stdio()).await?;
    running.waiting().await?;
    Ok(())
}

async fn over_http(address: &str) -> Result<(), Box<dyn std::error::Error>> {
    let handler = Handler::new();
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind(address).await?;
    say(&format!(
        "listening on http://{}/mcp",
        listener.local_addr()?
    ));
    let router = axum::Router::new().nest_service("/mcp", service);
    axum::serve(listener, router).await?;
    Ok(())
}

fn fail(message: &str) -> ExitCode {
    say(message);
    ExitCode::from(2)
}

fn say(text: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "{text}");
}
