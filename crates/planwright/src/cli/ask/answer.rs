//! From what a run came to, to an answer: what can be computed is computed, and a model says what it comes to.

use planwright::engine::{RunStatus, RunSummary, StepStatus};
use planwright::legible;
use planwright::planner::analysis::{Analysis, StepFailure, StepResult, analyze};
use planwright::planner::answering::{Answer, AnswerSettings, Evidence, summarise};
use planwright::planner::model::ModelError;
use planwright::wire::{AnswerV1, ModelErrorV1, ReportV1, Trim, UsageV1};

use super::{Asking, Ran};
use crate::cli::args::RunFormat;
use crate::cli::create::told;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::keeping;
use crate::cli::signals::Signals;

/// How many tokens are spent on what was computed.
const ANALYSIS_TOKENS: usize = 1500;

impl Asking<'_> {
    /// Computes what can be computed, and asks what it comes to.
    pub(super) async fn answer(
        &self,
        ran: Ran,
        mut signals: Signals,
    ) -> Result<Exit, CommandError> {
        let Ran {
            answer,
            ended,
            reading,
        } = ran;
        let summary = &ended.summary;
        ended.live.finish();
        let analysis = analysed(summary);
        let computed = analysis.to_text(ANALYSIS_TOKENS);
        let evidence = Evidence::of(&self.arguments.question, summary, computed);
        let reading = ended.revised.as_ref().unwrap_or(&reading);
        let mut report = ReportV1::of_run(summary, reading.dialect, []).revised(&ended.revisions);
        if let Some(bytes) = self.max_output() {
            report = Trim::to(bytes).report(report);
        }
        let mut answer = answer.with_run(report, &evidence, analysis);
        // Where somebody has to decide first, or wanted it to end, there is no last word.
        if matches!(summary.status, RunStatus::Waiting | RunStatus::Cancelled) {
            self.print(&answer, None)?;
            return Ok(keeping::end(
                summary,
                !self.arguments.no_store,
                RunFormat::Text,
                self.printer,
            ));
        }
        let summarised = tokio::select! {
            summarised = self.summarise(&evidence) => summarised,
            () = signals.next() => {
                keeping::left(&summary.run, false, self.printer);
                return Ok(Exit::Interrupted);
            }
        };
        signals.leave_on_next();
        match summarised {
            Ok(said) => {
                answer.usage = answer.usage.and(UsageV1::from(said.usage));
                answer.by = Some(self.model.name().to_owned());
                answer.rests_on.clone_from(&said.rests_on);
                answer.answer = Some(said.text);
                self.print(&answer, Some(&evidence))?;
            }
            Err(error) => {
                self.say(&error);
                answer.usage = answer.usage.and(UsageV1::from(error.usage));
                answer.error = Some(ModelErrorV1::from(&error));
                answer.by = Some("analysis".to_owned());
                answer.answer = Some(without_model(&evidence));
                answer.rests_on = evidence
                    .given
                    .iter()
                    .map(|given| given.step.to_string())
                    .collect();
                if self.arguments.format == RunFormat::Text {
                    let text = answer.answer.as_deref().unwrap_or_default();
                    self.printer.data_line(&legible::lines(text.trim_end()));
                }
                self.print(&answer, Some(&evidence))?;
            }
        }
        Ok(keeping::end(
            summary,
            !self.arguments.no_store,
            RunFormat::Json,
            self.printer,
        ))
    }

    /// The answer in words, shown as they come.
    async fn summarise(&self, evidence: &Evidence) -> Result<Answer, ModelError> {
        let is_text = self.arguments.format == RunFormat::Text;
        let waiting = told::Waiting::new(&format!("{} reads the results", self.model.name()));
        let mut waiting = Some(waiting);
        let printer = self.printer;
        let mut has_words = false;
        let said = summarise(
            self.model.as_ref(),
            evidence,
            &AnswerSettings::default(),
            |words| {
                if let Some(waiting) = waiting.take() {
                    waiting.end();
                }
                if is_text {
                    has_words = true;
                    printer.data(&legible::lines(words));
                }
            },
        )
        .await;
        if let Some(waiting) = waiting.take() {
            waiting.end();
        }
        if has_words {
            printer.data("\n");
        }
        if let (Ok(said), true, false) = (&said, is_text, has_words) {
            printer.data(&legible::lines(&said.text));
            printer.data("\n");
        }
        said
    }

    fn say(&self, error: &ModelError) {
        self.printer
            .quote(&format!("the results were not summed up: {error}"));
        if let Some(help) = &error.help {
            self.printer.quote(&format!("  hint: {help}"));
        }
    }

    /// Prints the document, or what the answer rests on and what is missing.
    fn print(&self, answer: &AnswerV1, evidence: Option<&Evidence>) -> Result<(), CommandError> {
        if self.arguments.format == RunFormat::Text {
            for line in evidence.into_iter().flat_map(|_| footing(answer)) {
                self.printer.quote(&line);
            }
            return Ok(());
        }
        self.print_document(answer)
    }
}

/// What can be computed of the results.
fn analysed(summary: &RunSummary) -> Analysis {
    let mut results = Vec::new();
    let mut failures = Vec::new();
    for step in &summary.steps {
        let (id, tool) = (
            step.at.step.as_str(),
            step.tool.as_deref().unwrap_or("value"),
        );
        match (&step.output, &step.error) {
            (Some(output), _) if step.status == StepStatus::Succeeded => {
                results.push(StepResult {
                    step: id,
                    tool,
                    output,
                });
            }
            (_, Some(error)) => failures.push(StepFailure {
                step: id,
                tool,
                message: &error.message,
            }),
            _ => {}
        }
    }
    analyze(&results, &failures)
}

/// On what an answer rests, and what is missing, in lines.
fn footing(answer: &AnswerV1) -> Vec<String> {
    let mut lines = Vec::new();
    if !answer.rests_on.is_empty() {
        lines.push(format!("rests on: {}", answer.rests_on.join(", ")));
    }
    for (what, missing) in [("failed", &answer.failed), ("left out", &answer.left_out)] {
        for missing in missing {
            lines.push(format!("{what}: {} ({})", missing.step, missing.because));
        }
    }
    lines
}

/// What there is to say where no model says it.
fn without_model(evidence: &Evidence) -> String {
    if evidence.computed.is_empty() {
        evidence.text(ANALYSIS_TOKENS)
    } else {
        evidence.computed.clone()
    }
}
