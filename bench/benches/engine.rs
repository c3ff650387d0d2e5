//! Benchmarks of the whole engine, with tools that do nothing.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use planwright_bench::shape::Shape;
use planwright_bench::{engine, plans};
use tokio::runtime::Runtime;

fn shapes(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let engine = engine::engine();
    let catalog = engine::catalog();
    let mut group = criterion.benchmark_group("engine");
    for shape in Shape::ALL {
        for steps in [1_000, 10_000] {
            let plan = plans::shaped(shape, steps, &catalog);
            group
                .throughput(Throughput::Elements(u64::from(steps)))
                .sample_size(20);
            let id = BenchmarkId::new(shape.name(), steps);
            group.bench_with_input(id, &plan, |bencher, plan| {
                bencher.to_async(&runtime).iter_batched(
                    || plan.clone(),
                    |plan| engine::run(&engine, plan),
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

fn one_to_many(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let engine = engine::engine();
    let mut group = criterion.benchmark_group("one value, a thousand readers");
    for (source, size) in [("small", "3 bytes"), ("big", "10 megabytes")] {
        let plan = engine::one_to_many(source, 1_000);
        group.bench_with_input(BenchmarkId::from_parameter(size), &plan, |bencher, plan| {
            bencher.to_async(&runtime).iter_batched(
                || plan.clone(),
                |plan| engine::run(&engine, plan),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, shapes, one_to_many);
criterion_main!(benches);
