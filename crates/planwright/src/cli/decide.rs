//! `planwright approve` and `planwright reject`: decisions about calls of a run that another process drives, or will.

use std::sync::Arc;

use planwright::core::place::push_pointer_segment;
use planwright::core::{Tool, Value};
use planwright::dialects::document::nearest;
use planwright::engine::Decision;
use planwright::engine::approval::CallSubject;
use planwright::engine::event::Address;
use planwright::engine::run::MASK;
use planwright::kept::KeptRun;
use planwright::legible;
use planwright_store::{NewDecision, Store, StoreError};

use super::args::{ApproveArguments, QuestionArguments, RejectArguments, StoreArguments};
use super::error::CommandError;
use super::exit::Exit;
use super::printer::Printer;
use super::{environment, keeping, store};

/// `planwright approve RUN STEP`
pub(crate) fn approve(
    arguments: &ApproveArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let args = match &arguments.args {
        None => None,
        Some(text) => Some(changed_args(text)?),
    };
    let question = Question::find(&arguments.question, &arguments.store)?;
    if let Some(args) = &args {
        question.check(args)?;
    }
    question.decide(Decision::Approve { args }, "approved", printer)
}

/// `planwright reject RUN STEP`
pub(crate) fn reject(arguments: &RejectArguments, printer: Printer) -> Result<Exit, CommandError> {
    let question = Question::find(&arguments.question, &arguments.store)?;
    let because = arguments.because.clone();
    question.decide(Decision::Reject { because }, "rejected", printer)
}

fn changed_args(text: &str) -> Result<Value, CommandError> {
    let form = "write them as {\"NAME\": VALUE, …}";
    let args = Value::from_json(text)
        .map_err(|error| CommandError::new(format!("`--args` is not JSON: {error}")).hint(form))?;
    if args.as_object().is_none() {
        let kind = args.kind();
        return Err(CommandError::new(format!("`--args` is a {kind}, not an object")).hint(form));
    }
    Ok(args)
}

/// A call that somebody was asked about and that nobody has decided about.
struct Question {
    store: Store,
    run: String,
    is_driven: bool,
    at: Arc<Address>,
    tool: Option<Tool>,
    subject: CallSubject,
}

impl Question {
    fn find(arguments: &QuestionArguments, stored: &StoreArguments) -> Result<Self, CommandError> {
        let store = store::open(stored)?;
        let info = store.run(&arguments.run).map_err(store::explain)?;
        let kept = KeptRun::read(&store, &info.id)?;
        let history = kept.history()?;
        let mut waiting: Vec<(&Arc<Address>, &CallSubject)> = history
            .steps()
            .filter_map(|(at, past)| Some((at, past.open_question()?)))
            .collect();
        waiting.sort_by_key(|(at, _)| at.to_string());
        let wanted = arguments.step.as_str();
        let found = waiting.iter().find(|(at, _)| at.to_string() == wanted);
        let Some((at, subject)) = found else {
            return Err(none_waits(&info.id, wanted, &waiting));
        };
        let tools = kept.process.iter().flat_map(|process| &process.tools);
        let mut tools =
            tools.filter(|known| *known.server == *subject.server && *known.name == *subject.tool);
        let tool = tools.next().map(Tool::from);
        Ok(Self {
            run: info.id,
            is_driven: info.holder.is_some(),
            at: Arc::clone(at),
            tool,
            subject: CallSubject::clone(subject),
            store,
        })
    }

    /// Whether the tool takes arguments that a person wrote.
    fn check(&self, args: &Value) -> Result<(), CommandError> {
        let faults = self
            .tool
            .as_ref()
            .map(|tool| tool.input.validate(args))
            .unwrap_or_default();
        if args.to_json().contains(MASK) && self.subject.args.to_json().contains(MASK) {
            return Err(CommandError::new(format!(
                "the arguments hold `{MASK}`, which stands for a secret that nobody is shown"
            ))
            .hint("write the secret itself, or approve the call as it is"));
        }
        if faults.is_empty() {
            return Ok(());
        }
        let error = CommandError::new("the tool does not take these arguments");
        Err(faults.iter().fold(error, |error, fault| {
            let mut pointer = String::new();
            for segment in &fault.path {
                push_pointer_segment(&mut pointer, segment);
            }
            error.hint(match &*pointer {
                "" => fault.message.clone(),
                at => format!("{} at `{at}`", fault.message),
            })
        }))
    }

    fn decide(
        self,
        decision: Decision,
        done: &str,
        printer: Printer,
    ) -> Result<Exit, CommandError> {
        let new = NewDecision {
            at: Arc::clone(&self.at),
            digest: self.subject.digest(&self.run, &self.at),
            decision,
            by: environment::variable("USER"),
            decided: keeping::now(),
        };
        self.store
            .decide(&self.run, &new)
            .map_err(|error| match error {
                StoreError::Decided { .. } => {
                    CommandError::new(error.to_string()).hint("a decision stands once it is made")
                }
                other => store::explain(other),
            })?;
        let tool = self.subject.qualified_name();
        let call = format!("{tool}({})", self.subject.args.to_json());
        printer.quote(&format!(
            "`{}` is {done}: {}",
            legible::one_line(&self.at.to_string()),
            legible::one_line(&call)
        ));
        if self.is_driven {
            printer.quote("the process that has the run goes on by itself if it waits for this");
        } else {
            keeping::left(&self.run, true, printer);
        }
        Ok(Exit::Success)
    }
}

fn none_waits(run: &str, wanted: &str, waiting: &[(&Arc<Address>, &CallSubject)]) -> CommandError {
    let names: Vec<String> = waiting.iter().map(|(at, _)| at.to_string()).collect();
    let error = CommandError::new(format!(
        "no call of `{wanted}` waits for a decision in the run `{}`",
        keeping::short(run)
    ));
    if names.is_empty() {
        return error.hint("none waits at all");
    }
    match nearest(wanted, names.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("there wait `{}`", names.join("`, `"))),
    }
}
