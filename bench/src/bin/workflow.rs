//! Replays a recorded workflow in virtual time and compares orders of its tasks.
//!
//! ```console
//! $ cargo run --release -p planwright-bench --bin workflow docs/workflows/montage.json --width 8
//! ```
#![expect(clippy::print_stdout, reason = "this program prints figures")]
#![expect(clippy::print_stderr, reason = "errors do not belong to the figures")]

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use planwright_bench::workflow::{Settings, Workflow, measure, text};
use planwright_core::Value;

/// The maximum number of printed problems of a file.
const MAX_PROBLEMS: usize = 20;

/// Replay a recorded workflow in virtual time, and compare orders of its tasks.
///
/// The file is a workflow in WfCommons' WfFormat, 1.4 to 1.6, with the time that each task took. No tools are called. Prints the
/// makespan of three orders: level by level (barrier), first come first served, and the order of a run. The bound beside them is the
/// longest path, or the work divided by the width, whichever is greater.
#[derive(Debug, Parser)]
struct Arguments {
    /// The workflow.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The number of tasks that may run at the same time; several are measured one after the other.
    #[arg(long, value_name = "N,…", default_value = "8", value_delimiter = ',', value_parser = positive, allow_negative_numbers = true)]
    width: Vec<NonZeroUsize>,
    /// The maximum error of the durations that determine the order of a run, such as `20%`.
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share, allow_negative_numbers = true)]
    noise: f64,
    /// The seed of the error; the same seed gives the same error.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A table.
    Text,
    /// A JSON object, `planwright.bench/1`.
    Json,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(output) => {
            print!("{output}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, String> {
    let workflow = read(arguments)?;
    let settings = Settings {
        widths: arguments.width.clone(),
        noise: arguments.noise,
        seed: arguments.seed,
    };
    let measured = measure(&workflow, &settings);
    match arguments.format {
        Format::Text => Ok(text(&measured)),
        Format::Json => serde_json::to_string_pretty(&measured)
            .map(|json| json + "\n")
            .map_err(|error| error.to_string()),
    }
}

fn read(arguments: &Arguments) -> Result<Workflow, String> {
    let file = arguments.file.display();
    let text = std::fs::read_to_string(&arguments.file)
        .map_err(|error| format!("cannot read `{file}`: {error}"))?;
    let value =
        Value::from_json(&text).map_err(|error| format!("`{file}` is not JSON: {error}"))?;
    Workflow::from_value(&value).map_err(|problems| {
        let mut message = format!("`{file}` cannot be replayed");
        for problem in problems.iter().take(MAX_PROBLEMS) {
            let _ = write!(message, "\n  hint: {problem}");
        }
        if problems.len() > MAX_PROBLEMS {
            let _ = write!(
                message,
                "\n  hint: and {} more",
                problems.len() - MAX_PROBLEMS
            );
        }
        message
    })
}

fn positive(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "it must be a whole number from 1 on".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim();
    match percent.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("it must be a share from `0%` to `100%`".to_owned()),
    }
}
