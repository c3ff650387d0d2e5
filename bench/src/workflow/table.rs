//! The results of `workflow`, as a table.

use std::fmt::Write as _;

use planwright::terminal_text;

use super::{BenchOrderV1, BenchV1};

/// The table, with a heading that names the measured workflow.
pub fn text(bench: &BenchV1) -> String {
    let mut text = format!(
        "{}: {} tasks, {} edges; {} of work, longest path {}\n",
        terminal_text::one_line(&bench.workflow),
        bench.tasks,
        bench.edges,
        time(bench.work_s),
        time(bench.path_s)
    );
    if bench.noise > 0.0 {
        let _ = writeln!(
            text,
            "ours goes by durations that are off by up to {:.0} % (seed {})",
            bench.noise * 100.0,
            bench.seed
        );
    }
    let _ = writeln!(
        text,
        "\n{:>5}  {:>10}  {:>10}  {:>18}  {:>18}  {:>18}  order",
        "width", "bound", "provable", "barrier", "first-come", "ours"
    );
    for at in &bench.widths {
        let _ = writeln!(
            text,
            "{:>5}  {:>10}  {:>10}  {:>18}  {:>18}  {:>18}  {}",
            at.width,
            time(at.bound_s),
            time(at.provable_s),
            order(at.barrier),
            order(at.first_come),
            order(at.ours),
            at.found.replace('_', " ")
        );
    }
    text.push_str(
        "\nbound: the longest path, or the work spread over the width. provable: no order is quicker than this.\n\
         Beside each time stands how many times the bound it is.\n",
    );
    text
}

fn order(order: BenchOrderV1) -> String {
    format!("{} {:>7.4}", time(order.makespan_s), order.ratio)
}

fn time(seconds: f64) -> String {
    format!("{seconds:.2} s")
}
