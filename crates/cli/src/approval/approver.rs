//! Approvers of calls: a file, a flag, the person at the terminal, another process, and the consent to a whole plan.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright::core::check::CheckedPlan;
use planwright::core::expression::EvaluationLimits;
use planwright::core::{Catalog, PlanConsent, ServerNames, Tool, Value};
use planwright::dialects::document::nearest;
use planwright::engine::Decision;
use planwright::engine::RunId;
use planwright::engine::approval::{Always, ApprovalRequest, Approver};
use planwright::engine::run::preview;
use planwright::stored::{StoreApprover, tools_of};
use planwright::{drawing, terminal_text};
use planwright_store::Store;

use super::passphrase::PassphraseCheck;
use super::terminal::TerminalApprover;
use crate::args::{Approve, ConsentArguments};
use crate::error::CommandError;
use crate::runs::store;
use crate::system::terminal_input::{NoAnswer, ask_at_terminal};
use crate::system::text_file;
use crate::tools::toolbox::Toolbox;
use crate::view::live::Live;
use crate::view::printer::{Printer, terminal};
use crate::view::text_report;

/// A run that decisions are about.
pub(crate) struct ApprovalSubject<'a> {
    pub(crate) toolbox: &'a Toolbox,
    /// The store in which other processes leave decisions, and the run's id there.
    pub(crate) stored: Option<(Store, &'a RunId)>,
    /// True if a person has approved the plan as a whole.
    pub(crate) is_approved: bool,
    pub(crate) live: &'a Arc<Live>,
    /// The turns of questions at the terminal, which runs of one conversation share: a person reads one question at a time.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
}

/// Returns the approver of a run: predefined decisions first, then those of other processes, then the person at the terminal.
pub(crate) fn approver(
    arguments: &ConsentArguments,
    subject: ApprovalSubject<'_>,
    printer: Printer,
) -> Result<Arc<dyn Approver>, CommandError> {
    let waits = arguments.approve == Approve::Wait && !subject.is_approved;
    let is_asked = arguments.approve == Approve::Ask
        && !subject.is_approved
        && Printer::is_watched()
        && terminal().is_ok();
    let passphrase = PassphraseCheck::open(subject.stored.as_ref().map(|(store, _)| store))?;
    if arguments.approve == Approve::All {
        passphrase.confirm()?;
    }
    let person = is_asked.then(|| {
        Arc::new(TerminalApprover::new(
            printer,
            Arc::clone(subject.live),
            passphrase.clone(),
            subject.turn,
        ))
    });
    let mut otherwise: Arc<dyn Approver> = match arguments.approve {
        Approve::All => Arc::new(Always(Decision::Approve { args: None })),
        Approve::None => Arc::new(Always(Decision::Reject {
            because: Some("`--approve none` was given".to_owned()),
        })),
        Approve::Ask | Approve::Plan(_) | Approve::Wait => match &person {
            Some(person) => Arc::clone(person) as Arc<dyn Approver>,
            None => Arc::new(Always(Decision::Later)),
        },
    };
    if subject.is_approved {
        otherwise = Arc::new(WholePlan {
            run: subject.stored.as_ref().map(|(_, run)| (*run).clone()),
            otherwise,
        });
    }
    match subject.stored {
        Some((store, _)) => {
            if waits {
                otherwise = Arc::new(Announced {
                    live: Arc::clone(subject.live),
                    printer,
                });
            }
            let live = Arc::clone(subject.live);
            let stored = StoreApprover::new(store)
                .or(otherwise)
                .on_error(move |error| {
                    live.suspend(|| printer.quote(&format!("warning: {error}")));
                });
            otherwise = Arc::new(if waits {
                stored.waiting()
            } else if is_asked {
                // A decision elsewhere withdraws the question at the terminal.
                stored.watching()
            } else {
                stored
            });
        }
        None if waits => {
            return Err(CommandError::new(
                "`--approve wait` needs a store, since other processes decide",
            )
            .hint("omit `--no-store`"));
        }
        None => {}
    }
    if let Some(person) = person {
        otherwise = Arc::new(person.listing(otherwise));
    }
    match &arguments.approvals {
        Some(path) => {
            let decisions = read(path)?;
            check_tool_names(&decisions, path, subject.toolbox, printer)?;
            if decisions
                .values()
                .any(|decision| matches!(decision, Decision::Approve { .. }))
            {
                passphrase.confirm()?;
            }
            Ok(Arc::new(PredefinedDecisions {
                decisions,
                servers: subject.toolbox.catalog.servers().clone(),
                otherwise,
            }))
        }
        None => Ok(otherwise),
    }
}

/// Decisions from a file; another approver decides the rest.
struct PredefinedDecisions {
    decisions: HashMap<String, Decision>,
    /// The servers, whose names resolve the names of tools.
    servers: ServerNames,
    otherwise: Arc<dyn Approver>,
}

impl Approver for PredefinedDecisions {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let Tool { server, name, .. } = &*request.tool;
        let qualified = request.tool.qualified_name();
        let by_qualified = self.decisions.get(&*qualified);
        let by_name = self.decisions.get(&**name);
        let decision = by_qualified
            .filter(|_| self.servers.own(server, &qualified))
            .or(by_name.filter(|_| self.servers.allows_bare_name(name, server)));
        match decision {
            Some(decision) => {
                let decision = decision.clone();
                Box::pin(async move { decision })
            }
            None => self.otherwise.decide(request),
        }
    }
}

/// Reads `{TOOL: {"decision": "approve" or "reject", "args": {…}}}`.
fn read(path: &Path) -> Result<HashMap<String, Decision>, CommandError> {
    let file = path.display();
    let form = "write it as {TOOL: {\"decision\": \"approve\" or \"reject\", \"args\": {…}}}";
    let value = text_file::json(path, form)?;
    let Some(fields) = value.as_object() else {
        let kind = value.kind();
        return Err(
            CommandError::new(format!("`{file}` holds a {kind}, not an object")).hint(form),
        );
    };
    let mut decisions = HashMap::new();
    for (tool, entry) in fields {
        let wrong = |what: String| {
            CommandError::new(format!("the decision about `{tool}` in `{file}` {what}")).hint(form)
        };
        let Some(entry) = entry.as_object() else {
            return Err(wrong("is not an object".to_owned()));
        };
        let known = ["decision", "args", "because"];
        if let Some(unknown) = entry.keys().find(|key| !known.contains(&&***key)) {
            return Err(wrong(format!("has the unknown field `{unknown}`")));
        }
        let args = entry.get("args");
        if let Some(args) = args
            && args.as_object().is_none()
        {
            return Err(wrong(format!("has a {} as `args`", args.kind())));
        }
        let because = entry.get("because");
        if let Some(because) = because
            && because.as_text().is_none()
        {
            return Err(wrong(format!("has a {} as `because`", because.kind())));
        }
        let decision = match entry.get("decision").and_then(Value::as_text) {
            Some("approve") if because.is_some() => {
                return Err(wrong(
                    "approves, so that `because` has no effect".to_owned(),
                ));
            }
            Some("reject") if args.is_some() => {
                return Err(wrong("rejects, so that `args` has no effect".to_owned()));
            }
            Some("approve") => Decision::Approve {
                args: args.cloned(),
            },
            Some("reject") => Decision::Reject {
                because: because
                    .and_then(Value::as_text)
                    .filter(|because| !because.trim().is_empty())
                    .map(str::to_owned),
            },
            Some(other) => return Err(wrong(format!("is `{other}`"))),
            None => return Err(wrong("lacks the field `decision`".to_owned())),
        };
        decisions.insert(tool.to_string(), decision);
    }
    Ok(decisions)
}

/// Checks that every decision names one existing tool: one with a typing error would have no effect, and a name that several servers offer
/// would decide about tools that the person did not mean.
fn check_tool_names(
    decisions: &HashMap<String, Decision>,
    path: &Path,
    toolbox: &Toolbox,
    printer: Printer,
) -> Result<(), CommandError> {
    let mut sorted: Vec<&String> = decisions.keys().collect();
    sorted.sort();
    for name in sorted {
        let offered = bare_tools(&toolbox.catalog, name);
        if offered.len() > 1 {
            let qualified: Vec<String> = offered.iter().map(|name| format!("`{name}`")).collect();
            return Err(CommandError::new(format!(
                "`{}` has a decision about `{name}`, which several servers offer",
                path.display()
            ))
            .hint(format!("name one: {}", qualified.join(", "))));
        }
    }
    let names = names(&toolbox.catalog);
    let mut unknown: Vec<&String> = decisions
        .keys()
        .filter(|name| !names.contains(*name))
        .collect();
    unknown.sort();
    for name in unknown {
        let near = nearest(name, names.iter().map(String::as_str));
        // A tool of a server that was not started may exist.
        if near.is_none() && !toolbox.is_complete() {
            printer.quote(&format!(
                "warning: `{}` has a decision about `{name}`, but no server that was started has such a tool",
                path.display()
            ));
            continue;
        }
        let error = CommandError::new(format!(
            "`{}` has a decision about `{name}`, but there is no such tool",
            path.display()
        ));
        return Err(match near {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("`planwright tools` lists them"),
        });
    }
    Ok(())
}

/// The tools that a name without a server stands for, by their full names.
fn bare_tools(catalog: &Catalog, name: &str) -> BTreeSet<String> {
    let servers = catalog.servers();
    catalog
        .tools()
        .filter(|tool| *tool.name == *name && servers.allows_bare_name(name, &tool.server))
        .map(|tool| tool.qualified_name().to_string())
        .collect()
}

/// The names of all tools, with their servers and without.
fn names(catalog: &Catalog) -> BTreeSet<String> {
    catalog
        .tools()
        .flat_map(|tool| [tool.qualified_name().to_string(), tool.name.to_string()])
        .collect()
}

/// The answer of a person about a whole plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanAnswer {
    Run,
    Refuse,
    /// A signal has ended the question.
    Interrupted,
}

/// Asks whether a whole plan may run. `own` is its digest. If `digest` is set, nothing is asked: the plan is approved if it has this
/// digest.
pub(crate) fn to_plan(
    plan: &CheckedPlan,
    own: &PlanConsent,
    digest: Option<&str>,
    passphrase: &PassphraseCheck,
    printer: Printer,
) -> Result<PlanAnswer, CommandError> {
    if let Some(digest) = digest {
        return if own.starts_with(digest) {
            passphrase.confirm().map(|()| PlanAnswer::Run)
        } else {
            Err(CommandError::new(format!(
                "the plan is not the one that was approved: its digest is `{}`",
                store::short_digest(own)
            ))
            .hint("look at it again: `planwright run PLAN --dry-run`"))
        };
    }
    if terminal().is_err() {
        return Err(
            CommandError::new("there is no terminal to approve the plan on").hint(format!(
                "review it with `--dry-run`, then use `--approve plan:{}`",
                store::short_digest(own)
            )),
        );
    }
    show(plan, printer);
    let passphrase = passphrase.clone();
    let answer = ask_at_terminal(move |input| {
        loop {
            let question = "run this plan, with all its calls? [y]es, [n]o, [?]: ";
            match input.ask(question).as_deref().map(str::trim) {
                Some("y" | "yes" | "Y") => break,
                Some("n" | "no" | "N") | None => return Ok(PlanAnswer::Refuse),
                Some("") => {}
                Some(_) => printer.status(PLAN_ANSWERS),
            }
        }
        passphrase.confirm_at(input).map(|()| PlanAnswer::Run)
    });
    match answer {
        Ok(answer) => answer,
        Err(NoAnswer::Interrupted) => Ok(PlanAnswer::Interrupted),
        Err(no_answer @ NoAnswer::Terminal(_)) => Err(no_answer.into()),
    }
}

/// The answers to the question about a plan, with their meanings.
const PLAN_ANSWERS: &str = "  y  run it: none of its calls asks again, whatever its arguments are
  n  call nothing; to change the plan, edit its file and run it again
`--approve ask` asks about each call instead, and lets you change its arguments";

/// Shows a plan to the person who approves it: its graph, every call with all its arguments, the effects of its tools.
pub(crate) fn show(plan: &CheckedPlan, printer: Printer) {
    // The drawing has already escaped untrusted text: to escape it again would show its colours as text.
    printer.status(drawing::text(plan, &printer.status_style()).trim_end());
    printer.quote(text_report::dry_run(&preview(plan, &EvaluationLimits::default())).trim_end());
    for line in effects(plan) {
        printer.quote(&line);
    }
}

/// Returns the trusted effects of a plan's tools.
pub(super) fn effects(plan: &CheckedPlan) -> Vec<String> {
    let tools = tools_of(plan);
    let width = tools
        .iter()
        .map(|tool| tool.qualified_name().chars().count())
        .max();
    tools
        .iter()
        .map(|tool| {
            let name = tool.qualified_name();
            let name = terminal_text::one_line(&name).into_owned();
            let says = &tool.annotations;
            let may = if !says.trusted {
                "may do anything"
            } else if says.read_only {
                "only reads"
            } else if says.destructive {
                "may destroy"
            } else if says.idempotent {
                "has effects, but is idempotent"
            } else {
                "has effects"
            };
            format!("  {name:width$}  {may}", width = width.unwrap_or(0))
        })
        .collect()
}

/// An approver that agrees to every call of a run, because its whole plan was approved. The undos of the run that reverts it if it fails are
/// calls of another plan.
struct WholePlan {
    /// The run, if it is stored.
    run: Option<RunId>,
    otherwise: Arc<dyn Approver>,
}

impl Approver for WholePlan {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        if self.run.as_ref().is_some_and(|run| *run != request.run) {
            return self.otherwise.decide(request);
        }
        let decision = if request.was_rejected {
            Decision::Later
        } else {
            Decision::Approve { args: None }
        };
        Box::pin(std::future::ready(decision))
    }
}

/// An approver that prints the commands with which another process can decide, and leaves the decision to that process.
struct Announced {
    live: Arc<Live>,
    printer: Printer,
}

impl Approver for Announced {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let line = store::waiting_line(&request.run, &request.at.to_string());
        self.live.suspend(|| self.printer.message(&line));
        Box::pin(std::future::ready(Decision::Later))
    }
}
