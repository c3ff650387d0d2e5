//! Benchmarks of forecasts for plans from 20 to 10,000 steps.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use planwright_bench::forecast::{jobs, look_ahead};
use planwright_bench::shape::Shape;

fn forecast(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("forecast");
    group.sample_size(10);
    for shape in [Shape::Wide, Shape::Layered, Shape::Random] {
        for count in [20, 1_000, 10_000] {
            let jobs = jobs(shape, count);
            let id = BenchmarkId::new(shape.name(), count);
            group.bench_with_input(id, &jobs, |bencher, jobs| {
                bencher.iter(|| look_ahead(jobs));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, forecast);
criterion_main!(benches);
