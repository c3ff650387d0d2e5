//! `planwright check --saved`: all stored plans against today's tools and policy.

use std::collections::BTreeSet;

use planwright::config::Config;
use planwright::core::check::Policy;
use planwright::core::flow::{OnViolation, uncovered_rules};
use planwright::core::{Diagnostic, Diagnostics};
use planwright::loaded_plan::LoadedPlan;
use planwright::terminal_text;
use serde::Serialize;

use crate::args::{CheckArguments, Format, RunFormat};
use crate::error::{CommandError, Exit};
use crate::run::plan_file;
use crate::runs::store;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::Printer;
use crate::view::{diagnostics, output};

/// The result of checking a stored plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// A plan without diagnostics.
    Sound,
    /// The plan can run, with warnings.
    Warns,
    /// The plan can run, but a step waits for approval since a value violates the flow policy.
    Asks,
    /// The plan must not run.
    Rejected,
}

impl Verdict {
    fn of(diagnostics: &Diagnostics, on_violation: OnViolation) -> Self {
        let asks = |diagnostic: &Diagnostic| diagnostic.code.is_flow_violation();
        if diagnostics.has_errors() {
            Self::Rejected
        } else if on_violation == OnViolation::Ask && diagnostics.iter().any(asks) {
            Self::Asks
        } else if !diagnostics.has_faults() {
            Self::Sound
        } else {
            Self::Warns
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Warns => "warns",
            Self::Asks => "asks",
            Self::Rejected => "rejected",
        }
    }
}

#[derive(Serialize)]
struct SavedCheck<'a> {
    ok: bool,
    plans: Vec<CheckedSaved<'a>>,
    /// The rules of the policy that cover nothing.
    diagnostics: Vec<&'a Diagnostic>,
}

#[derive(Serialize)]
struct CheckedSaved<'a> {
    name: &'a str,
    version: u32,
    verdict: Verdict,
    diagnostics: Vec<&'a Diagnostic>,
}

/// A stored plan after its check.
struct CheckedPlan {
    name: String,
    version: u32,
    loaded: LoadedPlan,
    verdict: Verdict,
}

/// `planwright check --saved`
pub(super) async fn check(
    arguments: &CheckArguments,
    config: &Config,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let stored = match store::open_if_there(&arguments.plan.text.store)? {
        Some(store) => store.plans().map_err(store::explain)?,
        None => Vec::new(),
    };
    let mut read = Vec::with_capacity(stored.len());
    for plan in stored {
        let (name, version) = (plan.name.clone(), plan.version);
        read.push((
            name,
            version,
            plan_file::read_stored(&arguments.plan, plan)?,
        ));
    }
    let loaded = read.iter().map(|(.., loaded)| loaded);
    let needed: BTreeSet<String> = loaded.flat_map(LoadedPlan::tool_names).collect();
    let mut toolbox = Toolbox::empty();
    if !read.is_empty() {
        toolbox = Toolbox::open(&arguments.tools, Some(&needed), printer).await?;
        // The soundness of a plan does not depend on approvals.
        toolbox.apply_config(config, None, printer)?;
        toolbox.close().await;
    }
    let policy = config.restrict(Policy::new());
    let on_violation = config.flow().violation;
    // They are the same for all plans.
    let of_policy: Vec<Diagnostic> = match &policy.flow {
        Some(flow) if !read.is_empty() => uncovered_rules(flow, &toolbox.catalog),
        Some(_) | None => Vec::new(),
    };
    let plans = read.into_iter().map(|(name, version, loaded)| {
        let mut loaded = loaded.check_without_inputs(&toolbox.catalog, &policy);
        loaded.diagnostics = loaded
            .diagnostics
            .into_iter()
            .filter(|diagnostic| !of_policy.contains(diagnostic))
            .collect();
        if arguments.strict {
            loaded.diagnostics.raise();
        }
        CheckedPlan {
            verdict: Verdict::of(&loaded.diagnostics, on_violation),
            name,
            version,
            loaded,
        }
    });
    let plans: Vec<CheckedPlan> = plans.collect();
    let mut of_policy: Diagnostics = of_policy.into_iter().collect();
    if arguments.strict {
        of_policy.raise();
    }
    let is_sound =
        !of_policy.has_errors() && plans.iter().all(|plan| plan.verdict != Verdict::Rejected);
    match arguments.format {
        Format::Text => {
            diagnostics::show(&of_policy, &[], printer);
            show(&plans, &toolbox, printer);
        }
        Format::Json => {
            let plans = plans.iter().map(|plan| CheckedSaved {
                name: &plan.name,
                version: plan.version,
                verdict: plan.verdict,
                diagnostics: plan.loaded.diagnostics.iter().collect(),
            });
            let all = SavedCheck {
                ok: is_sound,
                plans: plans.collect(),
                diagnostics: of_policy.iter().collect(),
            };
            output::json(&all, RunFormat::Json, printer)?;
        }
    }
    Ok(if is_sound {
        Exit::Success
    } else {
        Exit::Rejected
    })
}

/// Prints the diagnostics of the plans, then a line for each plan.
fn show(plans: &[CheckedPlan], toolbox: &Toolbox, printer: Printer) {
    let called = |plan: &CheckedPlan| format!("{}@{}", plan.name, plan.version);
    let width = plans
        .iter()
        .map(|plan| terminal_text::width(&called(plan)))
        .max();
    let mut notes = Vec::new();
    for plan in plans {
        diagnostics::show(&plan.loaded.diagnostics, &plan.loaded.texts, printer);
        let called = called(plan);
        let called = terminal_text::padded(&called, width.unwrap_or(0));
        printer.data_line(&format!("{called}  {}", plan.verdict.as_str()));
        if notes.is_empty() {
            notes = toolbox.notes_on(&plan.loaded.diagnostics);
        }
    }
    for note in notes {
        printer.status(&note);
    }
    if plans.is_empty() {
        printer.status("no plans: `planwright save PLAN` saves one");
    }
}
