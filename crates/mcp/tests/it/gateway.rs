//! Tests of the gateway in front of a host with a changing tool list.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};
use planwright_mcp::gateway::{
    Gateway, GatewayClient, Host, HostCall, PassthroughMode, TaskRequest, serve_stream,
};
use planwright_mcp::{ConnectOptions, ServersConfig, UpstreamError, Upstreams};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, WriteHalf};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A host that reports a change of its tools on request, and whose tool `broken` panics.
struct Restless(watch::Sender<u64>);

impl Host for Restless {
    fn instructions(&self) -> Option<String> {
        None
    }

    fn passthrough_mode(&self) -> PassthroughMode {
        PassthroughMode::Nothing
    }

    fn tools(self: Arc<Self>, _: GatewayClient) -> BoxFuture<'static, Vec<Value>> {
        Box::pin(async { Vec::new() })
    }

    fn owns(&self, _: &GatewayClient, name: &str) -> bool {
        name == "broken"
    }

    fn allows(&self, _: &GatewayClient, _: &Tool) -> Result<(), UpstreamError> {
        Ok(())
    }

    fn call(self: Arc<Self>, _: HostCall) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Box::pin(async { panic!("the tool is broken") })
    }

    fn resources(self: Arc<Self>, _: GatewayClient) -> BoxFuture<'static, Vec<Value>> {
        Box::pin(async { Vec::new() })
    }

    fn read(
        self: Arc<Self>,
        _: GatewayClient,
        _: String,
    ) -> BoxFuture<'static, Option<Result<Value, UpstreamError>>> {
        Box::pin(async { None })
    }

    fn task(
        self: Arc<Self>,
        _: GatewayClient,
        _: TaskRequest,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        unreachable!("it keeps no tasks")
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

/// A stream on which the list changes at the moment when the acknowledgement of a subscription is written.
struct ChangingStream {
    to: WriteHalf<DuplexStream>,
    host: Arc<Restless>,
}

impl AsyncWrite for ChangingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        if String::from_utf8_lossy(bytes).contains("notifications/subscriptions/acknowledged") {
            self.host.0.send_modify(|changes| *changes += 1);
        }
        Pin::new(&mut self.to).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.to).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.to).poll_shutdown(context)
    }
}

/// The first `count` messages of a gateway in front of the host, after the request of `method`.
async fn messages(method: &str, params: serde_json::Value, count: usize) -> Vec<serde_json::Value> {
    let host = Arc::new(Restless(watch::Sender::new(0)));
    let upstreams = Upstreams::new(ServersConfig::default(), ConnectOptions::default());
    let gateway = Gateway::new(host.clone(), upstreams);
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let stop = CancellationToken::new();
    let served = tokio::spawn({
        let stop = stop.clone();
        let (from, to) = tokio::io::split(theirs);
        let stream = ChangingStream { to, host };
        async move { Box::pin(serve_stream(&gateway, (from, stream), stop)).await }
    });
    let (reader, mut writer) = tokio::io::split(ours);
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let line = format!("{request}\n");
    writer.write_all(line.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    let mut messages = Vec::new();
    while messages.len() < count {
        let line = tokio::time::timeout(Duration::from_secs(10), lines.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("nothing came after {messages:?}"));
        messages.push(serde_json::from_str(&line.unwrap().unwrap()).unwrap());
    }
    stop.cancel();
    served.await.unwrap().unwrap();
    messages
}

#[tokio::test]
async fn a_change_after_the_acknowledgement_is_notified() {
    let params = json!({"notifications": {"toolsListChanged": true}});
    let messages = messages("subscriptions/listen", params, 2).await;
    let methods = messages.iter().map(|message| message["method"].as_str());
    let expected = [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ];
    assert!(methods.eq(expected.map(Some)), "{messages:?}");
}

#[tokio::test]
async fn a_request_whose_handler_panics_has_an_answer() {
    let messages = messages("tools/call", json!({"name": "broken", "arguments": {}}), 1).await;
    assert_eq!(messages[0]["id"], 1, "{messages:?}");
    assert_eq!(messages[0]["error"]["code"], -32603, "{messages:?}");
}
