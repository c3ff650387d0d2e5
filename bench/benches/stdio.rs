//! Benchmarks of calls over stdio: those of a plan, and the same ones made with a bare `rmcp` client.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use planwright_bench::stdio::{PlanClient, RmcpClient, TestServer};
use tokio::runtime::Runtime;

const CALLS: usize = 1_000;

fn stdio(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    for (name, server) in [
        ("quick server", TestServer::quick()),
        ("real server", TestServer::real()),
    ] {
        let mut group = criterion.benchmark_group(format!("stdio, {name}"));
        group
            .throughput(Throughput::Elements(CALLS as u64))
            .sample_size(20);
        let client = runtime.block_on(PlanClient::connect(&server));
        let plan = client.plan(CALLS);
        group.bench_function("a plan", |bencher| {
            bencher.to_async(&runtime).iter_batched(
                || plan.clone(),
                |plan| client.run(plan),
                BatchSize::LargeInput,
            );
        });
        runtime.block_on(client.close());
        let bare = runtime.block_on(RmcpClient::connect(&server));
        group.bench_function("bare rmcp", |bencher| {
            bencher.to_async(&runtime).iter(|| bare.call(CALLS));
        });
        runtime.block_on(bare.close());
        group.finish();
    }
}

criterion_group!(benches, stdio);
criterion_main!(benches);
