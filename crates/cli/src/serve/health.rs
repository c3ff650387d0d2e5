//! `planwright health`: asks a gateway whether it answers, for images and services that have no other program to ask.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::args::HealthArguments;
use crate::error::{CommandError, Exit, reason};
use crate::view::printer::Printer;

/// The time that a gateway has for its answer.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// The largest answer that is read.
const MAX_BYTES: u64 = 4096;

/// `planwright health`
pub(crate) async fn health(
    arguments: &HealthArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let address = arguments.address;
    let answer = tokio::time::timeout(TIME_LIMIT, ask(address)).await;
    let problem = match answer {
        Ok(Ok(answer)) if answer.starts_with("HTTP/1.1 200 ") => {
            printer.data_line("ok");
            let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
            for note in body.into_iter().flat_map(str::lines).skip(1) {
                printer.quote(note);
            }
            return Ok(Exit::Success);
        }
        Ok(Ok(answer)) => match answer.lines().next() {
            Some(status) => format!("it answered `{status}`"),
            None => "it closed the connection".to_owned(),
        },
        Ok(Err(error)) => reason(&error),
        Err(_) => format!("it did not answer within {} s", TIME_LIMIT.as_secs()),
    };
    let problem = format!("the gateway at `{address}` is not healthy: {problem}");
    printer.error(
        &CommandError::new(problem).hint("start it with `planwright serve --listen ADDRESS`"),
    );
    Ok(Exit::Failed)
}

/// Requests the health of the gateway at `address`, and returns the head and the body of the answer.
async fn ask(address: std::net::SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
