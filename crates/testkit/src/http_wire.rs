//! HTTP on the wire, without a library: one connection per request, responses read as they arrive.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// The time after which a test fails if an expected event does not occur.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A request that is not sent yet.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    address: String,
    path: String,
    method: &'static str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl HttpRequest {
    /// A message of MCP to the server at `url`, with the headers that MCP requires.
    pub fn post(url: &str, message: &Value) -> Self {
        Self::new("POST", url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(message.to_string())
    }

    /// A request for the server's own messages.
    pub fn get(url: &str) -> Self {
        Self::new("GET", url).header("accept", "text/event-stream")
    }

    /// A request that ends a session.
    pub fn delete(url: &str) -> Self {
        Self::new("DELETE", url)
    }

    fn new(method: &'static str, url: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        Self {
            address: address.to_owned(),
            path: format!("/{path}"),
            method,
            headers: vec![("host".to_owned(), address.to_owned())],
            body: Vec::new(),
        }
    }

    /// Sets a header, replacing one of the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the request, and waits for the head of the response.
    ///
    /// # Panics
    ///
    /// If no valid response arrives.
    pub fn send(self) -> HttpResponse {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        let timeout = Some(TIMEOUT);
        stream.set_read_timeout(timeout).expect("it is some time");
        let Self {
            path, method, body, ..
        } = &self;
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| format!("{name}: {value}\r\n"));
        let headers: String = headers.collect();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
        );
        let mut writer = &stream;
        // A server may answer before it has read everything.
        let _ = writer.write_all(&[head.as_bytes(), body].concat());
        HttpResponse::read(stream)
    }
}

/// A response whose body is read as it arrives.
#[derive(Debug)]
pub struct HttpResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: BufReader<Body>,
    last_event: Option<String>,
}

impl HttpResponse {
    fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let first = line(&mut reader);
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut headers = Vec::new();
        while let Some((name, value)) = line(&mut reader).split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let is_chunked = headers
            .iter()
            .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let remaining = if is_chunked {
            Remaining::Chunks(0)
        } else {
            Remaining::All
        };
        Self {
            status: status.unwrap_or_else(|| panic!("invalid HTTP response: `{first}`")),
            headers,
            body: BufReader::new(Body { reader, remaining }),
            last_event: None,
        }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The id of the last event that [`HttpResponse::message`] has read, from which the stream can be resumed.
    pub fn last_event(&self) -> Option<&str> {
        self.last_event.as_deref()
    }

    /// The next message in the body: that of the next event of a stream, else the whole body. `None` at the end.
    pub fn message(&mut self) -> Option<Value> {
        let is_stream = self
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        if !is_stream {
            let mut text = String::new();
            self.body.read_to_string(&mut text).ok()?;
            return serde_json::from_str(&text).ok();
        }
        let mut message = None;
        loop {
            let mut line = String::new();
            // A stream that breaks off ends here.
            if self.body.read_line(&mut line).unwrap_or_default() == 0 {
                return message;
            }
            if let Some(id) = line.strip_prefix("id:") {
                self.last_event = Some(id.trim().to_owned());
            }
            let data = line.strip_prefix("data:").map(str::trim);
            if let Some(data) = data.and_then(|data| serde_json::from_str(data).ok()) {
                message = Some(data);
            }
            // An event, whose id may follow its data, ends with an empty line.
            if line.trim_end().is_empty() && message.is_some() {
                return message;
            }
        }
    }

    /// The message that answers a request, after any others.
    ///
    /// # Panics
    ///
    /// If the body ends without one.
    pub fn answer(&mut self) -> Value {
        loop {
            let message = self.message();
            let message =
                message.unwrap_or_else(|| panic!("no answer with status {}", self.status));
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The whole body as text.
    pub fn text(mut self) -> String {
        let mut bytes = Vec::new();
        // Errors end the body, as in `message`.
        let _ = self.body.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn line(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    // A connection that is reset gives no line, and so no response.
    let _ = reader.read_line(&mut line);
    line.trim_end().to_owned()
}

/// The body of a response.
#[derive(Debug)]
struct Body {
    reader: BufReader<TcpStream>,
    remaining: Remaining,
}

/// The rest of a body.
#[derive(Debug)]
enum Remaining {
    /// All bytes until the connection ends.
    All,
    /// The rest of a chunk, in bytes; other chunks follow.
    Chunks(usize),
    /// No further bytes.
    Nothing,
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        // Chunks are decoded here rather than by a library, so that a body that breaks off is still delivered.
        if let Remaining::Chunks(0) = self.remaining {
            let mut size = line(&mut self.reader);
            if size.is_empty() {
                // This was the end of the previous chunk.
                size = line(&mut self.reader);
            }
            self.remaining = match usize::from_str_radix(&size, 16) {
                Ok(0) | Err(_) => Remaining::Nothing,
                Ok(size) => Remaining::Chunks(size),
            };
        }
        match &mut self.remaining {
            Remaining::All => self.reader.read(buffer),
            Remaining::Nothing => Ok(0),
            Remaining::Chunks(size) => {
                let length = buffer.len().min(*size);
                let read = self.reader.read(&mut buffer[..length])?;
                *size -= read;
                Ok(read)
            }
        }
    }
}
