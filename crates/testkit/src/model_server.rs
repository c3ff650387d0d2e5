//! A scripted server of a model provider that records its requests. It knows no protocol: a script determines the
//! bytes on the wire, including incomplete and missing responses.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

/// A server that runs until the process ends.
#[derive(Debug)]
pub struct ModelServer {
    url: String,
    asked: Arc<Mutex<Vec<RecordedRequest>>>,
}

/// A recorded request.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// Method and path.
    pub line: String,
    /// Header fields; names are in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body; null if it is not JSON.
    pub body: Value,
}

/// A scripted response.
#[derive(Clone, Debug)]
pub struct ScriptedResponse {
    /// The status.
    pub status: u16,
    /// Header fields.
    pub headers: Vec<(&'static str, String)>,
    /// The body, in the parts in which it is sent.
    pub parts: Vec<String>,
    /// The end of the response.
    pub ending: ResponseEnd,
}

/// The end of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEnd {
    /// A regular end.
    Whole,
    /// The connection is closed before the end.
    Closed,
    /// The last part is repeated until the client disconnects.
    Endless,
    /// The connection stays open without further data. If no part was sent, the status is not sent either.
    Silent,
}

impl ScriptedResponse {
    /// A JSON response.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", vec![body.to_string()])
    }

    /// A response of any content type.
    pub fn new(status: u16, kind: &str, parts: Vec<String>) -> Self {
        Self {
            status,
            headers: vec![("content-type", kind.to_owned())],
            parts,
            ending: ResponseEnd::Whole,
        }
    }

    /// No response at all.
    pub fn silence() -> Self {
        Self {
            ending: ResponseEnd::Silent,
            ..Self::new(200, "application/json", Vec::new())
        }
    }

    /// The same response with another header field.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The first `parts` of the same response, and then this end.
    #[must_use]
    pub fn ending(mut self, parts: usize, ending: ResponseEnd) -> Self {
        self.parts.truncate(parts);
        self.ending = ending;
        self
    }
}

impl ModelServer {
    /// Starts a server that sends these responses one after the other, and repeats the last one.
    ///
    /// # Panics
    ///
    /// If it cannot listen.
    pub fn start(script: Vec<ScriptedResponse>) -> Self {
        let script = Mutex::new(script.into_iter().peekable());
        Self::answering(move |_| {
            let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
            // The last response is repeated for all further requests.
            if script.len() > 1 {
                script.next()
            } else {
                script.peek().cloned()
            }
        })
    }

    /// Starts a server that answers each request with what `answer` returns, and closes the connection without it.
    ///
    /// # Panics
    ///
    /// If it cannot listen.
    pub fn answering(
        answer: impl Fn(&RecordedRequest) -> Option<ScriptedResponse> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let server = Self {
            url: format!("http://{address}"),
            asked: Arc::clone(&asked),
        };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, asked) = (Arc::clone(&answer), Arc::clone(&asked));
                thread::spawn(move || serve(stream, &*answer, &asked));
            }
        });
        server
    }

    /// The URL of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<RecordedRequest> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.clone()
    }
}

/// Serves one request on one connection. A client may disconnect early.
fn serve(
    stream: TcpStream,
    answer: &dyn Fn(&RecordedRequest) -> Option<ScriptedResponse>,
    asked: &Mutex<Vec<RecordedRequest>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let request = read(&mut reader)?;
    let mut requests = asked.lock().unwrap_or_else(PoisonError::into_inner);
    requests.push(request.clone());
    // Chosen while no other request is recorded, so that a script has the order of the requests.
    let answer = answer(&request);
    drop(requests);
    let Some(answer) = answer else {
        return Ok(());
    };
    let mut stream = reader.into_inner();
    if answer.ending != ResponseEnd::Silent || !answer.parts.is_empty() {
        write(&mut stream, &answer)?;
    }
    if answer.ending == ResponseEnd::Silent {
        // The client ends the connection.
        stream.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}

fn read(reader: &mut BufReader<TcpStream>) -> io::Result<RecordedRequest> {
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let line = first.trim().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut field = String::new();
        reader.read_line(&mut field)?;
        let Some((name, value)) = field.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length");
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(RecordedRequest {
        line,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

/// Writes a response with one chunk per part, so that the last chunk can be omitted.
fn write(stream: &mut TcpStream, answer: &ScriptedResponse) -> io::Result<()> {
    write!(stream, "HTTP/1.1 {} Status\r\n", answer.status)?;
    for (name, value) in &answer.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    stream.write_all(b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let repeated = answer.parts.last();
    let repeated = repeated.filter(|_| answer.ending == ResponseEnd::Endless);
    let parts = answer.parts.iter().chain(repeated.into_iter().cycle());
    for part in parts.filter(|part| !part.is_empty()) {
        write!(stream, "{:x}\r\n{part}\r\n", part.len())?;
        stream.flush()?;
    }
    if answer.ending == ResponseEnd::Whole {
        stream.write_all(b"0\r\n\r\n")?;
    }
    stream.flush()
}
