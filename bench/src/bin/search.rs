//! Prints the recall of the tool search and of plain BM25.
//!
//! ```console
//! $ cargo run -p planwright-bench --bin search [FOLDER]
//! ```
//!
//! The questions are those of the sample in `bench/data`, or all of BFCL v4 in `FOLDER`: the folder `bfcl_eval/data` of the package
//! `bfcl-eval`.
#![expect(clippy::print_stdout, reason = "this program prints a table")]

use std::path::PathBuf;

use planwright_bench::search::{QuestionSet, ReadError, Recall, recall, sample, whole_set};

fn main() -> Result<(), ReadError> {
    println!(
        "{:<20} {:>6} {:>10} {:>8} {:>8}",
        "questions", "tools", "recall at", "ours", "plain"
    );
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        print("sample", &sample());
        return Ok(());
    };
    // Both categories share one set of tools; the questions of users have another one.
    let authored = ["multiple", "parallel_multiple"];
    for category in authored {
        print(category, &whole_set(&folder, category, &authored)?);
    }
    let from_users = "live_multiple";
    print(from_users, &whole_set(&folder, from_users, &[from_users])?);
    Ok(())
}

fn print(name: &str, set: &QuestionSet) {
    for limit in [1, 5, 10] {
        let Recall { ours, plain } = recall(set, limit);
        let tools = set.tools.len();
        println!("{name:<20} {tools:>6} {limit:>10} {ours:>8.3} {plain:>8.3}");
    }
}
