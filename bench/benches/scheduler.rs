//! Benchmarks of the scheduler alone, from a thousand to a million steps.

use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use planwright_bench::scheduler::schedule;
use planwright_bench::shape::Shape;

fn scheduler(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scheduler");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for shape in Shape::ALL {
        for steps in [1_000, 100_000, 1_000_000] {
            let waits = shape.waits(steps);
            group.throughput(Throughput::Elements(u64::from(steps)));
            let id = BenchmarkId::new(shape.name(), steps);
            group.bench_with_input(id, &waits, |bencher, waits| {
                bencher.iter(|| schedule(waits));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, scheduler);
criterion_main!(benches);
