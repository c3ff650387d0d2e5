//! A bare workflow of the shape of a plan, which `bench/restate.sh` compares runs with: a chain of actions, or calls of a service, a
//! few of them in flight at a time.

use restate_sdk::context::{DurableFuture, RequestTarget};
use restate_sdk::endpoint::Endpoint;
use restate_sdk::http_server::HttpServer;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// The number of calls of a plan that are in flight, by default.
const IN_FLIGHT: u64 = 16;

/// A reply as large as that of a run.
#[derive(Deserialize, Serialize)]
struct Reply {
    at_ns: u64,
    body: String,
}

impl Reply {
    fn new(step: u64) -> Json<Self> {
        let body = format!("{{\"output\":{{\"n\":{step}}},\"{}\":0}}", "x".repeat(120));
        Json(Self { at_ns: step, body })
    }
}

struct BareRun;

#[restate_sdk::workflow(name = "BareRun")]
impl BareRun {
    /// A chain of actions.
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, steps: u64) -> HandlerResult<u64> {
        let mut last = 0;
        for step in 0..steps {
            let action = move || async move { Ok(Reply::new(step)) };
            let Json(reply) = ctx.run(action).name("simulated.look").await?;
            last = reply.at_ns;
        }
        Ok(last)
    }
}

struct BareSpread;

#[restate_sdk::workflow(name = "BareSpread")]
impl BareSpread {
    /// Calls that do not depend on each other.
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, steps: u64) -> HandlerResult<u64> {
        let mut pending = DurableFuturesUnordered::new();
        let mut ended = 0;
        for step in 0..steps {
            let target = RequestTarget::service("BareTools", "call");
            let call = ctx.request::<_, Json<Reply>>(target, step).call();
            pending.push(call.map(|reply| reply.map(|Json(reply)| reply.at_ns)));
            if step + 1 < IN_FLIGHT {
                continue;
            }
            if let Some((_, reply)) = pending.next().await? {
                ended += u64::from(reply? < steps);
            }
        }
        while let Some((_, reply)) = pending.next().await? {
            ended += u64::from(reply? < steps);
        }
        Ok(ended)
    }
}

struct BareTools;

#[restate_sdk::service(name = "BareTools")]
impl BareTools {
    /// Makes a call.
    #[handler]
    async fn call(&self, ctx: Context<'_>, step: u64) -> HandlerResult<Json<Reply>> {
        let action = move || async move { Ok(Reply::new(step)) };
        Ok(ctx.run(action).name("reply").await?)
    }
}

#[tokio::main]
#[expect(clippy::expect_used, reason = "a program for measurements")]
async fn main() {
    let address = std::env::args().nth(1).expect("an address and a port");
    let listener = TcpListener::bind(address)
        .await
        .expect("the address is free");
    let endpoint = Endpoint::builder()
        .bind(BareRun)
        .bind(BareSpread)
        .bind(BareTools)
        .build();
    HttpServer::new(endpoint).serve(listener).await;
}
