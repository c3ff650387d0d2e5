//! `planwright ask QUESTION`: a model writes a plan, the plan runs, what can be computed is computed, a model says what it comes to.

use std::path::Path;

use planwright::config::Config;
use planwright::dialects::{ReadOptions, parse};
use planwright::engine::options::RunOptions;
use planwright::engine::{RunStatus, RunSummary, StepStatus};
use planwright::legible;
use planwright::planner::analysis::{Analysis, StepFailure, StepResult, analyze};
use planwright::planner::answering::{Answer, AnswerSettings, Evidence, summarise};
use planwright::planner::create::CreatedPlan;
use planwright::planner::model::{Model, ModelError};
use planwright::reading::Reading;
use planwright::wire::{AnswerV1, CreatedV1, ModelErrorV1, ReportV1, Trim, UsageV1};

use super::adapting::Adapting;
use super::app::run_id;
use super::args::{AdaptArguments, AskArguments, RunFormat};
use super::course::{Beginning, Course, Ended, approved};
use super::create::{Known, Wanted, told};
use super::error::CommandError;
use super::exit::Exit;
use super::printer::Printer;
use super::settings::{self, Settings};
use super::signals::Signals;
use super::toolbox::Toolbox;
use super::{create, guards, keeping, model, output, outside, store, telemetry};

/// How many tokens are spent on what was computed.
const ANALYSIS_TOKENS: usize = 1500;

/// `planwright ask QUESTION`
pub(crate) async fn command(
    arguments: &AskArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let known = Known::read(&arguments.planning)?;
    let model = model::open(&arguments.model, &config)?;
    let mut signals = Signals::new()?;
    let mut toolbox = tokio::select! {
        toolbox = Toolbox::open(&arguments.tools, None, printer) => toolbox?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    toolbox.govern(&config);
    for note in toolbox.notes() {
        printer.talk(&note);
    }
    let durations = create::durations(&arguments.store, arguments.no_store, &toolbox)?;
    known.mention_unclear_times(&arguments.question, printer);
    let wanted = Wanted::new(&arguments.question, &toolbox, &known, durations, &config);
    let created = tokio::select! {
        created = wanted.ask(model.as_ref(), &arguments.planning) => created,
        () = signals.next() => {
            toolbox.close().await;
            return Ok(Exit::Interrupted);
        }
    };
    told::tell(&created, printer);
    let exit = create::exit(&created);
    let answer = AnswerV1::new(&arguments.question, CreatedV1::new(&created, model.name()));
    let Some(plan) = created.plan else {
        toolbox.close().await;
        print_document(arguments, &answer, printer)?;
        return Ok(exit);
    };
    let asking = Asking {
        arguments,
        config: &config,
        toolbox: &toolbox,
        model: model.as_ref(),
        printer,
    };
    let adapting = AdaptArguments {
        replan: arguments.replan,
        repair: arguments.repair,
        model: arguments.model.clone(),
    };
    let adapting = adapting.with(&model, &config);
    let ran = asking.run(&plan, adapting, &mut signals).await;
    toolbox.close().await;
    match ran? {
        Ran::Ended(ended, reading) => asking.answer(answer, &ended, &reading, signals).await,
        Ran::Refused => Ok(Exit::Rejected),
        Ran::Left => Ok(Exit::Interrupted),
    }
}

/// A question whose plan is there.
struct Asking<'a> {
    arguments: &'a AskArguments,
    config: &'a Config,
    toolbox: &'a Toolbox,
    model: &'a dyn Model,
    printer: Printer,
}

/// What became of the plan.
enum Ran {
    Ended(Box<Ended>, Box<Reading>),
    /// A person did not approve it.
    Refused,
    /// Somebody left in the middle.
    Left,
}

impl Asking<'_> {
    /// Runs the plan.
    async fn run(
        &self,
        created: &CreatedPlan,
        mut adapting: Option<Adapting<'_>>,
        signals: &mut Signals,
    ) -> Result<Ran, CommandError> {
        let arguments = self.arguments;
        let mut reading = reading(created);
        reading.govern(self.config);
        // It was sound against the same tools a moment ago.
        let Some(plan) = reading.check(&self.toolbox.catalog) else {
            output::findings(&reading, RunFormat::Text, self.printer);
            return Ok(Ran::Refused);
        };
        let Some(approved) = approved(&arguments.consent, &plan, self.printer)? else {
            return Ok(Ran::Refused);
        };
        let store = if arguments.no_store {
            None
        } else {
            Some(store::open(&arguments.store)?)
        };
        let mut options = RunOptions {
            guards: guards::begin(&arguments.guards, self.config),
            secrets: self.toolbox.secrets(),
            confidential: outside::get(&plan, self.config)?,
            ..RunOptions::default()
        };
        if let Some(store) = &store {
            options.durations = store.durations().map_err(store::explain)?;
        }
        let id = run_id();
        let beginning = Beginning {
            id: &id,
            plan: &plan,
            reading: &reading,
            tools: &arguments.tools,
            store: store.as_ref(),
            options: &options,
            approved: approved.clone(),
        };
        let start = beginning.start(&mut adapting)?;
        let course = Course {
            id: &id,
            plan: &plan,
            reading: &reading,
            toolbox: self.toolbox,
            store: store.as_ref(),
            durations: None,
            consent: &arguments.consent,
            is_approved: approved.is_some(),
            format: arguments.format,
            max_output: guards::max_output(&arguments.guards, self.config),
            printer: self.printer,
            telemetry: telemetry::open(self.config)?,
            adapting,
            revisions: Vec::new(),
        };
        let ended = course.go(start, options, signals).await?;
        Ok(match ended {
            Some(ended) => Ran::Ended(Box::new(ended), Box::new(reading)),
            None => Ran::Left,
        })
    }

    /// Computes what can be computed, and asks what it comes to.
    async fn answer(
        &self,
        answer: AnswerV1,
        ended: &Ended,
        reading: &Reading,
        mut signals: Signals,
    ) -> Result<Exit, CommandError> {
        let summary = &ended.summary;
        ended.live.finish();
        let analysis = analysed(summary);
        let computed = analysis.to_text(ANALYSIS_TOKENS);
        let evidence = Evidence::of(&self.arguments.question, summary, computed);
        let reading = ended.revised.as_ref().unwrap_or(reading);
        let mut report = ReportV1::of_run(summary, reading.dialect, []).revised(&ended.revisions);
        if let Some(bytes) = guards::max_output(&self.arguments.guards, self.config) {
            report = Trim::to(bytes).report(report);
        }
        let mut answer = answer.with_run(report, &evidence, analysis);
        if summary.status == RunStatus::Waiting {
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
        let said = summarise(self.model, evidence, &AnswerSettings::default(), |words| {
            if let Some(waiting) = waiting.take() {
                waiting.end();
            }
            if is_text {
                has_words = true;
                printer.data(&legible::lines(words));
            }
        })
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
        print_document(self.arguments, answer, self.printer)
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

fn print_document(
    arguments: &AskArguments,
    answer: &AnswerV1,
    printer: Printer,
) -> Result<(), CommandError> {
    match arguments.format {
        RunFormat::Text => Ok(()),
        format => output::json(answer, format, printer),
    }
}

/// A created plan as it is read and kept.
fn reading(created: &CreatedPlan) -> Reading {
    let options = ReadOptions::new("answer").in_dialect("native");
    Reading::new("answer", parse(created.text.as_bytes(), &options))
}
