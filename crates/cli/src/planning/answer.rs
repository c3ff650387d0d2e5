//! The answer to a question from the results of a run: computed statistics, summarized by a model.

use planwright::engine::{RunStatus, RunSummary, StepStatus};
use planwright::format::{AnswerV1, ReportV1, Trim, UsageV1};
use planwright::planner::analysis::{Analysis, StepFailure, StepResult, analyze};
use planwright::planner::answering::{Answer, AnswerSettings, Evidence, summarise};
use planwright::planner::document;
use planwright::planner::model::{ModelError, ModelErrorKind};
use planwright::terminal_text;

use super::ask::{AskSession, CompletedRun};
use super::progress;
use crate::args::RunFormat;
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::system::signals::Signals;

/// The number of tokens for computed figures.
const ANALYSIS_TOKENS: usize = 1500;

impl AskSession<'_> {
    /// Computes the statistics and asks the model for a summary.
    pub(crate) async fn answer(
        &self,
        ran: CompletedRun,
        mut signals: Signals,
    ) -> Result<Exit, CommandError> {
        let CompletedRun {
            answer,
            ended,
            loaded,
            mut usage,
        } = ran;
        usage += ended.usage;
        let summary = &ended.summary;
        ended.live.finish();
        let analysis = analyse(summary);
        let computed = analysis.to_text(ANALYSIS_TOKENS);
        let evidence = Evidence::of(&self.arguments.question, summary, computed);
        let loaded = ended.revised.as_ref().unwrap_or(&loaded);
        let mut report = ReportV1::of_run(summary, loaded.dialect, [])
            .revised(&ended.revisions, ended.usage.into());
        if let Some(bytes) = self.max_output() {
            report = Trim::to(bytes).report(report);
        }
        let mut answer = document::with_run(answer, report, &evidence, &analysis);
        // A run that waits for a decision, or was cancelled, has no final answer; a person who has interrupted it wants none.
        let is_interrupted = signals.has_received();
        if is_interrupted || matches!(summary.status, RunStatus::Waiting | RunStatus::Cancelled) {
            answer.usage = UsageV1::from(usage);
            store::print_waiting(summary, ended.is_stored, self.printer);
            progress::print_usage(usage, self.printer);
            self.print(&answer, None)?;
            let exit = store::report_end(
                summary,
                !self.arguments.no_store,
                RunFormat::Text,
                self.printer,
            );
            return Ok(if is_interrupted {
                Exit::Interrupted
            } else {
                exit
            });
        }
        let summarised = tokio::select! {
            summarised = self.summarise(&evidence) => summarised,
            _ = signals.next() => {
                store::print_resume_hint(&summary.run, false, self.printer);
                return Ok(Exit::Interrupted);
            }
        };
        signals.leave_on_next();
        let mut is_half = false;
        match summarised {
            Ok(summary) => {
                usage += summary.usage;
                answer.by = Some(self.model.name().to_owned());
                answer.rests_on.clone_from(&summary.rests_on);
                answer.answer = Some(summary.text);
            }
            Err(FailedAnswer { error, has_words }) => {
                usage += error.usage;
                is_half = is_half_an_answer(error.kind);
                progress::report_model_error(
                    "the results were not summarized",
                    &error,
                    !has_words,
                    self.printer,
                );
                answer.error = Some(document::model_error(&error));
                if !is_half {
                    self.answer_without_model(&mut answer, &evidence);
                }
            }
        }
        answer.usage = UsageV1::from(usage);
        self.print(&answer, Some(&evidence))?;
        progress::print_usage(usage, self.printer);
        let exit = store::report_end(
            summary,
            !self.arguments.no_store,
            RunFormat::Json,
            self.printer,
        );
        let is_incomplete = is_half && exit == Exit::Success;
        Ok(if is_incomplete { Exit::Failed } else { exit })
    }

    /// Answers with the computed statistics, without a model.
    fn answer_without_model(&self, answer: &mut AnswerV1, evidence: &Evidence) {
        let text = without_model(evidence);
        let steps = evidence.results.iter();
        if self.arguments.format == RunFormat::Text {
            self.printer
                .data_line(&terminal_text::lines(text.trim_end()));
        }
        answer.by = Some("analysis".to_owned());
        answer.rests_on = steps.map(|source| source.step.to_string()).collect();
        answer.answer = Some(text);
    }

    /// Asks the model for the answer, and shows its words as they arrive.
    async fn summarise(&self, evidence: &Evidence) -> Result<Answer, FailedAnswer> {
        let is_text = self.arguments.format == RunFormat::Text;
        let waiting = progress::Waiting::new(&format!("{} reads the results", self.model.name()));
        let mut waiting = Some(waiting);
        let printer = self.printer;
        let mut has_words = false;
        let summary = summarise(
            self.model.as_ref(),
            evidence,
            self.day.moment(),
            &AnswerSettings::default(),
            |words| {
                if let Some(waiting) = waiting.take() {
                    waiting.end();
                }
                if is_text {
                    has_words = true;
                    printer.data(&terminal_text::lines(words));
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
        if let (Ok(summary), true, false) = (&summary, is_text, has_words) {
            printer.data(&terminal_text::lines(&summary.text));
            printer.data("\n");
        }
        summary.map_err(|error| FailedAnswer { error, has_words })
    }

    /// Prints the document, or the supporting steps of the answer and its gaps.
    fn print(&self, answer: &AnswerV1, evidence: Option<&Evidence>) -> Result<(), CommandError> {
        if self.arguments.format == RunFormat::Text {
            for line in evidence.into_iter().flat_map(|_| source_lines(answer)) {
                self.printer.quote(&line);
            }
            return Ok(());
        }
        self.print_document(answer)
    }
}

/// A failed summary of the results.
struct FailedAnswer {
    error: ModelError,
    /// True if words of the model are on the screen.
    has_words: bool,
}

/// Returns true if a model was asked and gave no complete answer. The computed statistics do not replace it, because they were its input.
fn is_half_an_answer(kind: ModelErrorKind) -> bool {
    matches!(
        kind,
        ModelErrorKind::CutOff
            | ModelErrorKind::Declined
            | ModelErrorKind::Empty
            | ModelErrorKind::Interrupted
    )
}

/// Returns the figures of the results.
fn analyse(summary: &RunSummary) -> Analysis {
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

/// Formats the supporting steps of an answer and its gaps as lines.
fn source_lines(answer: &AnswerV1) -> Vec<String> {
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

/// Returns the answer without a model.
fn without_model(evidence: &Evidence) -> String {
    if evidence.computed.is_empty() {
        evidence.text(ANALYSIS_TOKENS)
    } else {
        evidence.computed.clone()
    }
}
