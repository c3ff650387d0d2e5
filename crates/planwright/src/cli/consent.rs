//! Consent that is given once to a whole plan, or by another process.

use std::io::{BufRead, BufReader, Write};
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use planwright::core::check::CheckedPlan;
use planwright::core::expression::EvaluationLimits;
use planwright::drawing;
use planwright::engine::Decision;
use planwright::engine::approval::{ApprovalRequest, Approver};
use planwright::engine::run::preview;
use planwright::kept::tools_of;
use planwright::legible;
use planwright_store::{Store, StoredDecision};
use tokio::sync::watch;

use super::approvals::terminal;
use super::error::CommandError;
use super::keeping;
use super::live::Live;
use super::passphrase::PassphraseCheck;
use super::printer::Printer;
use super::text_report;

/// Asks about a whole plan, unless `digest` names the one that is approved: whether it may be run. `own` is the digest that approves it.
pub(crate) fn to_plan(
    plan: &CheckedPlan,
    own: &str,
    digest: Option<&str>,
    passphrase: &PassphraseCheck,
    printer: Printer,
) -> Result<bool, CommandError> {
    if let Some(digest) = digest {
        return if own.starts_with(digest) {
            passphrase.confirm().map(|()| true)
        } else {
            Err(CommandError::new(format!(
                "the plan is not the one that was approved: its digest is `{}`",
                keeping::digest(own)
            ))
            .hint("look at it again: `planwright run PLAN --dry-run`"))
        };
    }
    let Ok(terminal) = terminal() else {
        return Err(
            CommandError::new("there is no terminal to approve the plan on").hint(format!(
                "look at it with `--dry-run`, then say `--approve plan:{}`",
                keeping::digest(own)
            )),
        );
    };
    printer.quote(&drawing::text(plan, &printer.style()));
    printer.quote(&text_report::dry_run(&preview(
        plan,
        &EvaluationLimits::default(),
    )));
    for line in effects(plan) {
        printer.quote(&line);
    }
    let mut lines = BufReader::new(&terminal).lines();
    loop {
        let asked = write!(
            &terminal,
            "run this plan, with all its calls? [y]es, [n]o: "
        )
        .and_then(|()| (&terminal).flush());
        let answer = asked.ok().and_then(|()| lines.next()?.ok());
        match answer.as_deref().map(str::trim) {
            Some("y" | "yes" | "Y") => return passphrase.confirm().map(|()| true),
            Some("n" | "no" | "N") | None => return Ok(false),
            Some(_) => {}
        }
    }
}

/// What the tools of a plan may do, as far as one may believe them.
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
            let name = legible::one_line(&name).into_owned();
            let says = &tool.annotations;
            let may = if !says.trusted {
                "may do anything"
            } else if says.read_only {
                "only reads"
            } else if says.destructive {
                "may destroy"
            } else if says.idempotent {
                "has effects, which a second call would not add to"
            } else {
                "has effects"
            };
            format!("  {name:width$}  {may}", width = width.unwrap_or(0))
        })
        .collect()
}

/// Agrees to every call: the plan as a whole was approved.
pub(crate) struct WholePlan;

impl Approver for WholePlan {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(std::future::ready(Decision::Approve { args: None }))
    }
}

/// Decisions of other processes, as the store has them; where there is none, somebody else decides, or it is waited for.
pub(crate) struct FromStore {
    pub(crate) store: Store,
    pub(crate) run: String,
    pub(crate) otherwise: Otherwise,
    pub(crate) live: Arc<Live>,
    pub(crate) printer: Printer,
    pub(crate) news: OnceLock<watch::Receiver<News>>,
}

/// What is known of decisions: those that were made, or why nobody can tell.
pub(crate) type News = Result<Vec<StoredDecision>, String>;

/// What becomes of a call that nobody has decided about.
pub(crate) enum Otherwise {
    /// Somebody else decides.
    Ask(Arc<dyn Approver>),
    /// It waits for another process.
    Wait,
}

impl Approver for FromStore {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        match self.store.decisions(&self.run) {
            Ok(decisions) => {
                if let Some(decision) = about(&decisions, &request) {
                    return Box::pin(std::future::ready(decision));
                }
            }
            Err(error) => self.say(&format!("warning: {error}")),
        }
        match &self.otherwise {
            Otherwise::Ask(other) => other.decide(request),
            Otherwise::Wait => Box::pin(self.wait(request)),
        }
    }
}

impl FromStore {
    async fn wait(&self, request: ApprovalRequest) -> Decision {
        let (run, step) = (keeping::short(&self.run), request.at.to_string());
        self.say(&format!(
            "`{step}` waits: `planwright approve {run} {step}`, or `planwright reject {run} {step}`"
        ));
        let mut news = self.news.get_or_init(|| self.listen()).clone();
        let decided = news
            .wait_for(|news| match news {
                Ok(decisions) => about(decisions, &request).is_some(),
                Err(_) => true,
            })
            .await;
        match decided.as_deref() {
            Ok(Ok(decisions)) => about(decisions, &request).unwrap_or(Decision::Later),
            Ok(Err(error)) => {
                self.say(&format!("warning: {error}"));
                Decision::Later
            }
            Err(_) => Decision::Later,
        }
    }

    /// Hears of decisions from now on. One task listens for all calls that wait.
    fn listen(&self) -> watch::Receiver<News> {
        let (sender, receiver) = watch::channel(Ok(Vec::new()));
        let (store, run) = (self.store.clone(), self.run.clone());
        tokio::spawn(async move {
            let mut decisions = match store.watch_decisions(&run) {
                Ok(decisions) => decisions,
                Err(error) => {
                    drop(sender.send_replace(Err(error.to_string())));
                    return;
                }
            };
            loop {
                tokio::select! {
                    () = sender.closed() => return,
                    news = decisions.next() => match news {
                        Ok(more) => sender.send_modify(|known| {
                            if let Ok(known) = known {
                                known.extend(more);
                            }
                        }),
                        Err(error) => {
                            drop(sender.send_replace(Err(error.to_string())));
                            return;
                        }
                    }
                }
            }
        });
        receiver
    }

    fn say(&self, text: &str) {
        self.live.suspend(|| self.printer.quote(text));
    }
}

/// The latest decision about just this call.
fn about(decisions: &[StoredDecision], request: &ApprovalRequest) -> Option<Decision> {
    let digest = request.digest();
    decisions
        .iter()
        .rev()
        .find(|decision| decision.digest == digest)
        .map(|decision| decision.decision.clone())
}
