//! Benchmarks of reading and checking plans, small and large.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use planwright_bench::plans;
use planwright_dialects::{ReadOptions, parse};

const TOOLS: usize = 500;

fn soundness(criterion: &mut Criterion) {
    let catalog = plans::catalog(TOOLS);
    for (part, with_check) in [("parse", false), ("parse and check", true)] {
        let mut group = criterion.benchmark_group(part);
        for steps in [20, 1_000] {
            let text = plans::text(steps, TOOLS, plans::Density::Typical);
            group.throughput(Throughput::Elements(steps as u64));
            group.bench_with_input(
                BenchmarkId::from_parameter(steps),
                &text,
                |bencher, text| {
                    bencher.iter(|| {
                        if with_check {
                            plans::checked(text, &catalog).plan().steps.len()
                        } else {
                            let result = parse(text.as_bytes(), &ReadOptions::new("measured"));
                            result.plan.map_or(0, |plan| plan.steps.len())
                        }
                    });
                },
            );
        }
        group.finish();
    }
}

criterion_group!(benches, soundness);
criterion_main!(benches);
