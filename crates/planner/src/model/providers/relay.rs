//! A relay within the process that bounds the size of a response while it arrives.
//!
//! `genai` reads whole bodies and whole events into memory, and `reqwest` has no hook for the bodies that `genai` reads. So
//! `genai` sends its request to a port of this machine that exists for one connection, and the relay passes it on.

use std::io;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{Either, select};
use genai::ServiceTarget;
use genai::resolver::Endpoint;
use planwright_engine::id::random_id;
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use reqwest::{Client, Response, Url};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::attempt_error::{AttemptError, ErrorContext, from_transport_error};

/// Factor by which a response may exceed the reply in it: JSON escapes some characters, and some protocols repeat the text.
const MAX_OVERHEAD: usize = 4;

/// Bytes that a response may have in any case: for its envelope, and for what is in transit to `genai`.
const MAX_ENVELOPE: usize = 1024 * 1024;

/// The maximum length of the first line of a request.
const MAX_LINE: u64 = 8 * 1024;

/// A relay for one request.
#[derive(Debug)]
pub(super) struct Relay<'a> {
    listener: TcpListener,
    /// Client for the connection to the provider.
    http: &'a Client,
    /// The provider's address, whose path is replaced by that of the request.
    url: Url,
    context: ErrorContext<'a>,
    /// Maximum size of a reply in bytes.
    max_bytes: usize,
    unparsed: Arc<UnparsedBytes>,
    /// The first segment of the path of the request: other programs of the machine can connect, but do not know it.
    secret: String,
}

/// The number of bytes that `genai` has received since the last event that it parsed.
#[derive(Debug, Default)]
pub(super) struct UnparsedBytes(AtomicUsize);

/// The reason why a relay ended early.
#[derive(Debug)]
enum RelayError {
    /// The connection to `genai`, which reports the error itself.
    Local,
    Provider(reqwest::Error),
    TooLong,
}

impl UnparsedBytes {
    fn add(&self, bytes: usize) -> usize {
        self.0.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl From<io::Error> for RelayError {
    fn from(_: io::Error) -> Self {
        Self::Local
    }
}

impl<'a> Relay<'a> {
    /// Opens a relay to `target`, and makes it the target.
    pub(super) async fn open(
        http: &'a Client,
        target: &mut ServiceTarget,
        context: ErrorContext<'a>,
        max_bytes: usize,
    ) -> Result<Self, AttemptError> {
        let failed =
            |error: &dyn std::fmt::Display| AttemptError::unreachable(context, &error.to_string());
        let url = Url::parse(target.endpoint.base_url()).map_err(|error| failed(&error))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(|error| failed(&error))?;
        let port = listener
            .local_addr()
            .map_err(|error| failed(&error))?
            .port();
        let mut local = url.clone();
        let secret = format!("/{}{}", random_id(), random_id());
        local.set_path(&format!("{secret}{}", url.path()));
        // A base URL is of HTTP and has a host, so neither of these fails.
        local
            .set_scheme("http")
            .and_then(|()| local.set_ip_host(Ipv4Addr::LOCALHOST.into()))
            .and_then(|()| local.set_port(Some(port)))
            .map_err(|()| failed(&"the base URL has no host"))?;
        target.endpoint = Endpoint::from_owned(local.as_str());
        Ok(Self {
            listener,
            http,
            url,
            context,
            max_bytes,
            unparsed: Arc::default(),
            secret,
        })
    }

    pub(super) fn unparsed(&self) -> Arc<UnparsedBytes> {
        Arc::clone(&self.unparsed)
    }

    /// Passes on the request that `receive` sends, and the response to it.
    pub(super) async fn drive<T>(
        self,
        receive: impl Future<Output = Result<T, AttemptError>>,
    ) -> Result<T, AttemptError> {
        let (context, max_bytes) = (self.context, self.max_bytes);
        match select(pin!(receive), pin!(self.pass())).await {
            Either::Left((received, _)) => received,
            // The data that was passed on before an error is received first.
            Either::Right((passed, receive)) => match (receive.await, passed) {
                (Err(error), Err(RelayError::TooLong)) => {
                    Err(AttemptError::too_long(context, max_bytes, &error.reply))
                }
                (Err(_), Err(RelayError::Provider(error))) => {
                    Err(from_transport_error(&error, context))
                }
                (received, _) => received,
            },
        }
    }

    /// Waits for the connection of `genai`, and returns the path of its request. The port stays open until the request is answered: if another
    /// program could bind it, it would get the key.
    async fn accept(&self) -> io::Result<(String, BufReader<TcpStream>)> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let mut stream = BufReader::new(stream);
            let mut first = String::new();
            let is_read = (&mut stream).take(MAX_LINE).read_line(&mut first).await;
            let path = first
                .split(' ')
                .nth(1)
                .and_then(|path| path.strip_prefix(&self.secret));
            if let (Ok(_), Some(path)) = (is_read, path) {
                return Ok((path.to_owned(), stream));
            }
        }
    }

    async fn pass(self) -> Result<(), RelayError> {
        let (path, mut stream) = self.accept().await?;
        let (headers, body) = read_request(&mut stream).await?;
        let url = self.url.join(&path).map_err(io::Error::other)?;
        let request = self.http.post(url).headers(headers).body(body).send();
        let mut response = request.await.map_err(RelayError::Provider)?;
        let mut stream = stream.into_inner();
        stream.write_all(&head(&response)).await?;
        let max_unparsed = MAX_ENVELOPE + self.max_bytes.saturating_mul(MAX_OVERHEAD);
        while let Some(bytes) = response.chunk().await.map_err(RelayError::Provider)? {
            if self.unparsed.add(bytes.len()) > max_unparsed {
                return Err(RelayError::TooLong);
            }
            let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
            chunk.extend_from_slice(&bytes);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk).await?;
        }
        // Without the last chunk, `genai` takes the response for incomplete.
        stream.write_all(b"0\r\n\r\n").await?;
        Ok(())
    }
}

/// Reads the rest of a request: its header fields and body.
async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<(HeaderMap, Vec<u8>)> {
    let mut headers = HeaderMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let name: HeaderName = name.parse().map_err(io::Error::other)?;
        let mut value: HeaderValue = value.trim().parse().map_err(io::Error::other)?;
        // Any of them may be the key.
        value.set_sensitive(true);
        headers.append(name, value);
    }
    let length = headers.remove(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    headers.remove(HOST);
    headers.remove(CONNECTION);
    Ok((headers, body))
}

/// Formats the head of a response, whose body follows in chunks.
fn head(response: &Response) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {}\r\n", response.status()).into_bytes();
    for (name, value) in response.headers() {
        if ![CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) {
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
    }
    head.extend_from_slice(b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    head
}

#[cfg(test)]
mod tests {
    use genai::ModelIden;
    use genai::adapter::AdapterKind;
    use genai::resolver::AuthData;
    use tokio::net::TcpStream;

    use super::super::provider::install_crypto_provider;
    use super::super::settings::ModelName;
    use super::*;

    #[tokio::test]
    async fn a_connection_without_the_secret_is_not_answered() {
        let name = ModelName::read("openai:m").unwrap();
        let context = ErrorContext {
            name: &name,
            key: None,
            now: None,
        };
        let mut target = ServiceTarget {
            endpoint: Endpoint::from_static("https://provider.example/v1/"),
            auth: AuthData::None,
            model: ModelIden::new(AdapterKind::OpenAI, "m"),
        };
        install_crypto_provider();
        let http = Client::new();
        let relay = Relay::open(&http, &mut target, context, 10).await.unwrap();
        let local = Url::parse(target.endpoint.base_url()).unwrap();
        let connect = async |path: &str| {
            let address = relay.listener.local_addr().unwrap();
            let mut stream = TcpStream::connect(address).await.unwrap();
            let line = format!("POST {path} HTTP/1.1\r\n");
            stream.write_all(line.as_bytes()).await.unwrap();
            stream
        };
        let mut stranger = connect("/v1/chat").await;
        let _own = connect(local.join("chat").unwrap().path()).await;
        let (path, _) = relay.accept().await.unwrap();
        assert_eq!(path, "/v1/chat");
        let mut rest = Vec::new();
        assert_eq!(stranger.read_to_end(&mut rest).await.unwrap_or(0), 0);
    }
}
