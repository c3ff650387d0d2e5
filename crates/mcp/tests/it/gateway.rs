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

/// A host without tools that reports a change of its tools on request.
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

    fn owns(&self, _: &GatewayClient, _: &str) -> bool {
        false
    }

    fn allows(&self, _: &GatewayClient, _: &Tool) -> Result<(), UpstreamError> {
        Ok(())
    }

    fn call(self: Arc<Self>, _: HostCall) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        unreachable!("it owns no tools")
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
struct Way {
    to: WriteHalf<DuplexStream>,
    host: Arc<Restless>,
}

impl AsyncWrite for Way {
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

#[tokio::test]
async fn a_change_after_the_acknowledgement_is_notified() {
    let host = Arc::new(Restless(watch::Sender::new(0)));
    let upstreams = Upstreams::new(ServersConfig::default(), ConnectOptions::default());
    let gateway = Gateway::new(host.clone(), upstreams);
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let stop = CancellationToken::new();
    let served = tokio::spawn({
        let stop = stop.clone();
        let (from, to) = tokio::io::split(theirs);
        let way = Way { to, host };
        async move { Box::pin(serve_stream(&gateway, (from, way), stop)).await }
    });
    let (reader, mut writer) = tokio::io::split(ours);
    let listen = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}
            },
            "notifications": {"toolsListChanged": true}
        }
    });
    let line = format!("{listen}\n");
    writer.write_all(line.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    for expected in [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ] {
        let line = tokio::time::timeout(Duration::from_secs(10), lines.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("no {expected} came"));
        let message: serde_json::Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
        assert_eq!(message["method"], expected, "{message}");
    }
    stop.cancel();
    served.await.unwrap().unwrap();
}
