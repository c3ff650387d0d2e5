//! `planwright demo`: a plan over the current folder, without any servers.

use std::sync::Arc;

use planwright::config::Config;
use planwright::core::check::{CheckedPlan, Policy};
use planwright::dialects::{ReadOptions, parse};
use planwright::drawing;
use planwright::engine::RunSummary;
use planwright::engine::run::StepSummary;
use planwright::loaded_plan::LoadedPlan;
use planwright::service::RunSpec;
use planwright::telemetry::Telemetry;

use super::session::{FinishedRun, RunOutputs, follow, report};
use crate::args::{DemoArguments, DrainArguments, Progress, RunFormat};
use crate::error::{CommandError, Exit};
use crate::system::signals::Signals;
use crate::tools::toolbox::Toolbox;
use crate::view::live::Live;
use crate::view::paragraph::filled;
use crate::view::printer::Printer;

const PLAN: &str = include_str!("demo.plan.json");

/// The approximate number of bytes of JSON in a token.
const BYTES_A_TOKEN: u64 = 4;

/// `planwright demo`
pub(crate) async fn demo(
    arguments: &DemoArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let mut toolbox = Toolbox::empty();
    toolbox.add_workspace(&arguments.folder)?;
    let (plan, loaded) = load(&toolbox)?;
    let watched = arguments.format == RunFormat::Text;
    if watched {
        printer.status(&format!(
            "A plan of {} steps over the files of `{}`, checked before anything happens:\n",
            plan.steps().len(),
            arguments.folder.display()
        ));
        printer.status(&drawing::text(&plan, &printer.status_style()));
    }
    let live = Live::new(&plan, arguments.format, Progress::Auto, printer);
    let service = toolbox.service(&Config::default(), &Telemetry::off());
    let run = service.launch(RunSpec::new(plan))?;
    let outputs = RunOutputs {
        live: Arc::clone(&live),
        format: arguments.format,
        max_output: None,
        printer,
        drain: DrainArguments::default().limit,
    };
    let mut signals = Signals::new()?;
    let Some(summary) = follow(run, &mut signals, outputs).await else {
        return Ok(Exit::Interrupted);
    };
    signals.leave_on_next();
    let ended = FinishedRun::of(summary, live);
    report(&ended, &loaded, arguments.format, None, printer)?;
    let summary = ended.summary;
    if watched {
        let savings = Savings::of(&summary);
        let next = "Next: `planwright tools --workspace .` lists these tools, `planwright run --help` says the rest.";
        let columns = if Printer::is_watched() {
            Printer::status_width()
        } else {
            usize::MAX
        };
        for line in savings.to_string().lines().chain(["", next]) {
            printer.status(&filled(line, columns, 0));
        }
    }
    Ok(Exit::of_run(summary.status))
}

/// Reads and checks the plan, which is sound with these tools.
fn load(toolbox: &Toolbox) -> Result<(CheckedPlan, LoadedPlan), CommandError> {
    let options = ReadOptions::new("demo").in_dialect("native");
    let loaded = LoadedPlan::new("demo", parse(PLAN.as_bytes(), &options));
    let (plan, loaded) = loaded.check(&toolbox.catalog, &Policy::new());
    match plan {
        Some(plan) => Ok((plan, loaded)),
        None => {
            let error = CommandError::new("the demo's own plan is not sound");
            Err(loaded.diagnostics.iter().fold(error, |error, diagnostic| {
                error.hint(diagnostic.to_string())
            }))
        }
    }
}

/// The cost of the same work one call at a time: each call is a round trip of the model, and each round trip sends the conversation again.
struct Savings {
    calls: u64,
    tokens_one_by_one: u64,
    tokens_as_plan: u64,
}

impl Savings {
    fn of(summary: &RunSummary) -> Self {
        let mut exchanges = Vec::new();
        for step in &summary.steps {
            collect(step, &mut exchanges);
        }
        let mut tokens = 0;
        let mut one_by_one = 0;
        for exchange in &exchanges {
            tokens += exchange;
            one_by_one += tokens;
        }
        let as_plan = 2 * PLAN.len() as u64 + summary.output.to_json().len() as u64;
        Self {
            calls: exchanges.len() as u64,
            tokens_one_by_one: one_by_one / BYTES_A_TOKEN,
            tokens_as_plan: as_plan / BYTES_A_TOKEN,
        }
    }
}

/// The bytes of each call: its arguments and its answer.
fn collect(step: &StepSummary, exchanges: &mut Vec<u64>) {
    if step.parts.is_empty() && step.attempts > 0 {
        let bytes = |value: &Option<planwright::core::Value>| {
            value
                .as_ref()
                .map_or(0, |value| value.to_json().len() as u64)
        };
        exchanges.push(bytes(&step.args) + bytes(&step.output));
    }
    for part in &step.parts {
        collect(part, exchanges);
    }
}

impl std::fmt::Display for Savings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "\n{} calls in one plan: 2 model round trips (write it, read the result), about {} tokens.\n\
             Tool by tool: {} round trips, about {} tokens, for each sends the conversation again.\n\
             Estimated at {BYTES_A_TOKEN} bytes a token; prompts and tool descriptions not counted.",
            self.calls,
            thousands(self.tokens_as_plan),
            self.calls + 1,
            thousands(self.tokens_one_by_one),
        )
    }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(thousands(number), text);
        }
    }
}
