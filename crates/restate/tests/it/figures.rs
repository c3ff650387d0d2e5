//! The figures of the design: steps a second beside a bare workflow of the same shape, and the time of a replay. Run with `--run-ignored all`.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use planwright::engine::{Guards, RunId};
use planwright_restate::RestateClient;
use restate_sdk::prelude::*;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::scene::{Scene, tools};

/// A workflow with as many actions, one after the other, as a plan that is a chain.
struct Bare;

#[restate_sdk::workflow(name = "Bare")]
impl Bare {
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, steps: u64) -> HandlerResult<String> {
        for step in 0..steps {
            let result = std::future::ready(Ok(format!("{{\"n\": {step}}}")));
            ctx.run(move || result).name("step").await?;
        }
        Ok("done".to_owned())
    }
}

/// Serves the bare workflow, and registers it.
async fn serve_bare(scene: &Scene) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(any).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let endpoint = Endpoint::builder().bind(Bare).build();
    tokio::spawn(HttpServer::new(endpoint).serve(listener));
    let admin = RestateClient::new(&scene.restate.admin()).unwrap();
    admin.register(&url).await.unwrap();
}

async fn bare(scene: &Scene, steps: u64) -> Duration {
    let begun = Instant::now();
    let url = format!("{}/Bare/{}/run", scene.restate.ingress(), RunId::random());
    let client = reqwest::Client::new();
    let request = client.post(url).header("content-type", "application/json");
    let response = request.body(steps.to_string()).send().await.unwrap();
    assert!(response.status().is_success(), "{}", response.status());
    begun.elapsed()
}

fn chain(steps: u64, last: Option<&str>) -> Value {
    let mut list: Vec<Value> = (0..steps)
        .map(|step| match step {
            0 => json!({"id": "s0", "tool": "read", "args": {"n": 0}}),
            _ => json!({"id": format!("s{step}"), "tool": "read", "args": {"n": step, "of": format!("${{s{}.n}}", step - 1)}}),
        })
        .collect();
    if let Some(last) = last {
        list.push(
            json!({"id": "last", "tool": last, "args": {"of": format!("${{s{}.n}}", steps - 1)}}),
        );
    }
    json!({"steps": list})
}

async fn planned(scene: &Scene, plan: &Value) -> Duration {
    let begun = Instant::now();
    let id = scene.submit(plan).await;
    assert_eq!(scene.ended(&id).await.unwrap().status, "succeeded");
    begun.elapsed()
}

/// Returns the time from the start of a new worker to the call after `steps` completed steps.
async fn replay(scene: &mut Scene, steps: u64) -> Duration {
    let id = scene.submit(&chain(steps, Some("slower"))).await;
    scene.sent(usize::try_from(steps).unwrap() + 1).await;
    scene.stop_worker();
    let begun = Instant::now();
    scene.start_worker().await;
    scene.sent(1).await;
    let replayed = begun.elapsed();
    assert_eq!(scene.ended(&id).await.unwrap().status, "succeeded");
    replayed
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it measures, and takes minutes"]
#[expect(clippy::print_stdout, reason = "the figures are its result")]
async fn figures() {
    let mut scene = Scene::new(tools()).await;
    scene.options.guards = Guards::new().calls(100_000).same_call(100_000);
    serve_bare(&scene).await;
    for round in 0..3 {
        let (bare, planned) = (
            bare(&scene, 300).await,
            planned(&scene, &chain(300, None)).await,
        );
        let ratio = bare.as_secs_f64() / planned.as_secs_f64();
        println!("round {round}: 300 steps, bare {bare:?}, plan {planned:?}, ratio {ratio:.2}");
    }
    for steps in [250, 500, 1000, 2000] {
        println!(
            "replay of {steps} steps: {:?}",
            replay(&mut scene, steps).await
        );
    }
    println!(
        "10000 steps: {:?}",
        planned(&scene, &chain(10_000, None)).await
    );
}
