//! An OpenTelemetry collector that records its requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// The recorded requests.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) spans: Vec<Span>,
    /// The names of the metrics.
    pub(crate) metrics: Vec<String>,
    pub(crate) service: Option<String>,
    /// The header `x-api-key` of each request.
    pub(crate) keys: Vec<String>,
    /// All bodies, as far as they are text.
    pub(crate) text: String,
}

/// A collector of OTLP requests that listens until the test is over.
pub(crate) struct Collector {
    address: String,
    heard: Arc<Mutex<Heard>>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let hearing = Arc::downgrade(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The collector ends when its handle is dropped.
                let Some(heard) = hearing.upgrade() else {
                    return;
                };
                thread::spawn(move || while take(&stream, &heard).is_some() {});
            }
        });
        Self { address, heard }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far. A program exports everything before it ends.
    pub(crate) fn heard(&self) -> Heard {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

/// Reads a request of a connection; `None` once it is closed.
fn take(stream: &TcpStream, heard: &Mutex<Heard>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut path = String::new();
    reader
        .read_line(&mut path)
        .ok()
        .filter(|length| *length > 0)?;
    let (mut length, mut key) = (0, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "x-api-key" => key = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut heard = heard.lock().unwrap();
    heard.keys.extend(key);
    heard.text += &String::from_utf8_lossy(&body);
    if path.contains("/v1/traces") {
        take_spans(&body, &mut heard);
    } else {
        take_metrics(&body, &mut heard);
    }
    drop(heard);
    let mut stream = stream;
    stream
        .write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n",
        )
        .ok()
}

fn take_spans(body: &[u8], heard: &mut Heard) {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    for resource in request.resource_spans {
        let attributes = resource
            .resource
            .map(|resource| resource.attributes)
            .unwrap_or_default();
        heard.service = super::attribute(&attributes, "service.name").map(str::to_owned);
        let spans = resource
            .scope_spans
            .into_iter()
            .flat_map(|scope| scope.spans);
        heard.spans.extend(spans);
    }
}

fn take_metrics(body: &[u8], heard: &mut Heard) {
    let request = ExportMetricsServiceRequest::decode(body).unwrap();
    let scopes = request
        .resource_metrics
        .into_iter()
        .flat_map(|resource| resource.scope_metrics);
    let metrics = scopes.flat_map(|scope| scope.metrics);
    heard.metrics.extend(metrics.map(|metric| metric.name));
}
