//! The transport to a server within this process, which answers with the tools of an API and calls them over HTTP.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use futures::stream::{FuturesUnordered, StreamExt};
use planwright_openapi::{Api, Operation};
use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};

use super::api_client::ApiClient;
use super::document::{base_url, read_api};
use crate::config::OpenApiConfig;
use crate::session::error::{ServerStartError, UpstreamError};
use crate::session::router::ResponseRouter;
use crate::transport::connection::unsent_or_lost;
use crate::transport::http::HttpFailure;
use crate::upstream::ConnectOptions;

/// The maximum number of operations without a tool that a note names.
const MAX_NAMED: usize = 5;

/// The code of an unknown method.
const UNKNOWN_METHOD: i64 = -32601;

/// A call in progress, which ends with its id and the JSON text of its result.
type PendingCall = BoxFuture<'static, (RequestId, Result<Result<String, HttpFailure>, Aborted>)>;

pub(crate) struct OpenApiTransport {
    api: Arc<Api>,
    /// The index of the operation of each tool.
    tools: HashMap<String, usize>,
    client: ApiClient,
    router: Arc<ResponseRouter>,
    ready: VecDeque<RxJsonRpcMessage<RoleClient>>,
    /// The calls in progress, which [`receive`](Transport::receive) drives.
    calls: FuturesUnordered<PendingCall>,
    aborts: HashMap<RequestId, AbortHandle>,
}

impl OpenApiTransport {
    /// Reads the document of the API. Returns a note about the operations without a tool, if there are any.
    pub(crate) async fn open(
        config: &OpenApiConfig,
        router: Arc<ResponseRouter>,
        options: &ConnectOptions,
    ) -> Result<(Self, Option<String>), ServerStartError> {
        let api = read_api(config, options.message_limit).await?;
        let base = base_url(config, &api)?;
        let client = ApiClient::new(config, base, options)?;
        let operations = api.operations.iter().enumerate();
        let tools = operations.map(|(index, operation)| (operation.name().to_owned(), index));
        let note = note(&api);
        let transport = Self {
            tools: tools.collect(),
            api: Arc::new(api),
            client,
            router,
            ready: VecDeque::new(),
            calls: FuturesUnordered::new(),
            aborts: HashMap::new(),
        };
        Ok((transport, note))
    }

    fn handle_request(&mut self, id: RequestId, method: &str, params: &Value) {
        let result = match method {
            "initialize" => Ok(self.server_info()),
            "ping" => Ok(json!({})),
            "tools/list" => {
                let tools: Vec<Value> = self.api.operations.iter().map(Operation::tool).collect();
                Ok(json!({ "tools": tools }))
            }
            "tools/call" => match self.start_call(&id, params) {
                Ok(()) => return,
                Err(message) => Err((UpstreamError::INVALID, message)),
            },
            _ => Err((UNKNOWN_METHOD, format!("there is no method `{method}`"))),
        };
        let answer = match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        };
        self.deliver(&answer.to_string());
    }

    fn server_info(&self) -> Value {
        let mut info = json!({
            "protocolVersion": ProtocolVersion::LATEST_WITH_INITIALIZE,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": self.api.title, "version": self.api.version },
        });
        if let Some(description) = &self.api.description {
            info["instructions"] = json!(description);
        }
        info
    }

    /// Starts a call. Returns the reason, as one clause, why it cannot be made.
    fn start_call(&mut self, id: &RequestId, params: &Value) -> Result<(), String> {
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let index = self.tools.get(name).copied();
        let index = index.ok_or_else(|| format!("there is no tool `{name}`"))?;
        let arguments = params.get("arguments").and_then(Value::as_object);
        let arguments = arguments.cloned().unwrap_or_default();
        let request = self.api.operations[index].request(&arguments);
        let request = request.map_err(|error| error.to_string())?;
        let (client, api) = (self.client.clone(), Arc::clone(&self.api));
        let call = async move { client.call(&api.operations[index], request).await };
        let (abort, registration) = AbortHandle::new_pair();
        self.aborts.insert(id.clone(), abort);
        let id = id.clone();
        let call = Abortable::new(call, registration);
        self.calls.push(async move { (id, call.await) }.boxed());
        Ok(())
    }

    /// Routes the JSON text of a message.
    fn deliver(&mut self, message: &str) {
        self.ready
            .extend(self.router.decode(message.as_bytes(), None));
    }
}

impl Transport<RoleClient> for OpenApiTransport {
    type Error = HttpFailure;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpFailure>> + Send + 'static {
        self.router.record_outgoing(&message);
        let id = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let sent = match serde_json::to_value(&message) {
            Ok(written) => {
                let method = written
                    .get("method")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let params = written.get("params").unwrap_or(&Value::Null);
                match id {
                    Some(id) => self.handle_request(id, method, params),
                    None if method == "notifications/cancelled" => {
                        let cancelled = params.get("requestId").cloned().unwrap_or_default();
                        let cancelled = serde_json::from_value::<RequestId>(cancelled);
                        if let Some(call) = cancelled.ok().and_then(|id| self.aborts.remove(&id)) {
                            call.abort();
                        }
                    }
                    // The other notifications concern servers that ask or report something.
                    None => {}
                }
                Ok(())
            }
            Err(error) => Err(HttpFailure::unsent(
                error.to_string(),
                "check the arguments",
            )),
        };
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let Some((id, outcome)) = self.calls.next().await else {
                // The next message to send ends the wait.
                return std::future::pending().await;
            };
            self.aborts.remove(&id);
            match outcome {
                Ok(Ok(result)) => {
                    let id = json!(id);
                    self.deliver(&format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
                    ));
                }
                Ok(Err(failure)) => self.router.fail(&id, unsent_or_lost(&failure)),
                // The caller of a cancelled call does not wait any more.
                Err(Aborted) => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), HttpFailure> {
        self.calls.clear();
        Ok(())
    }
}

/// Returns a note that names the operations without a tool.
fn note(api: &Api) -> Option<String> {
    let named = api.left_out.iter().take(MAX_NAMED);
    let mut named: Vec<String> = named
        .map(|left| format!("`{}` ({})", left.operation, left.reason))
        .collect();
    let more = api.left_out.len() - named.len();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    (!named.is_empty()).then(|| named.join(", "))
}

impl fmt::Debug for OpenApiTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApiTransport")
            .field("api", &self.api.title)
            .field("calls", &self.calls.len())
            .finish_non_exhaustive()
    }
}
