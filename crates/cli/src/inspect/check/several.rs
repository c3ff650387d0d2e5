//! `planwright check A B C`: several plans, and `planwright check --saved`: all stored ones, against today's tools and policy.

use std::collections::BTreeSet;

use planwright::config::Config;
use planwright::core::flow::{OnViolation, uncovered_rules};
use planwright::core::{Diagnostic, Diagnostics};
use planwright::loaded_plan::LoadedPlan;
use planwright::terminal_text;
use serde::Serialize;

use super::{fix, single};
use crate::args::{CheckArguments, Format};
use crate::error::{CommandError, Exit};
use crate::run::plan_file;
use crate::runs::store;
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::{Printer, counted};
use crate::view::{diagnostics, output};

/// The schema's name and version.
const CHECKS_SCHEMA: &str = "planwright.checks/1";

/// The result of checking a plan.
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
    /// The plan could not be read.
    Unreadable,
}

impl Verdict {
    const ALL: [Self; 5] = [
        Self::Sound,
        Self::Warns,
        Self::Asks,
        Self::Rejected,
        Self::Unreadable,
    ];

    fn of(diagnostics: &Diagnostics, on_violation: OnViolation) -> Self {
        let asks = |diagnostic: &Diagnostic| diagnostic.code.is_flow_violation();
        if diagnostics.has_errors() {
            Self::Rejected
        } else if on_violation == OnViolation::Ask && diagnostics.iter().any(asks) {
            Self::Asks
        } else if !diagnostics.has_problems() {
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
            Self::Unreadable => "unreadable",
        }
    }

    fn exit(self) -> Exit {
        match self {
            Self::Sound | Self::Warns | Self::Asks => Exit::Success,
            Self::Rejected => Exit::Rejected,
            Self::Unreadable => Exit::Usage,
        }
    }
}

#[derive(Serialize)]
struct SeveralChecked<'a> {
    schema: &'static str,
    ok: bool,
    plans: Vec<CheckedV1<'a>>,
    /// The rules of the policy that match no tool.
    diagnostics: Vec<&'a Diagnostic>,
}

#[derive(Serialize)]
struct CheckedV1<'a> {
    /// The name of a stored plan, or the path of a file.
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    verdict: Verdict,
    /// The reason why the plan could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    diagnostics: Vec<&'a Diagnostic>,
}

/// A plan before its check.
struct NamedPlan {
    name: String,
    /// The version of a stored plan.
    version: Option<u32>,
    loaded: Result<LoadedPlan, CommandError>,
}

/// A plan after its check.
struct CheckedPlan {
    name: String,
    version: Option<u32>,
    loaded: Result<LoadedPlan, CommandError>,
    verdict: Verdict,
}

impl CheckedPlan {
    fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.loaded.iter().flat_map(|loaded| &loaded.diagnostics)
    }
}

/// Reads the plans that the arguments name.
fn read(arguments: &CheckArguments) -> Result<Vec<NamedPlan>, CommandError> {
    if !arguments.saved {
        let plans = arguments.plans();
        return Ok(plans
            .map(|plan| NamedPlan {
                name: plan.text.plan.display().to_string(),
                version: None,
                loaded: plan_file::read(&plan),
            })
            .collect());
    }
    let stored = match store::open_existing(&arguments.plan.text.store)? {
        Some(store) => store.plans().map_err(store::explain)?,
        None => Vec::new(),
    };
    let read = stored.into_iter().map(|plan| NamedPlan {
        name: plan.name.clone(),
        version: Some(plan.version),
        loaded: plan_file::read_stored(&arguments.plan, plan),
    });
    Ok(read.collect())
}

/// `planwright check A B C` and `planwright check --saved`
pub(super) async fn check(
    arguments: &CheckArguments,
    config: &Config,
    server_use: ServerUse,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let needed = |plans: &[NamedPlan]| -> BTreeSet<String> {
        let loaded = plans.iter().flat_map(|plan| &plan.loaded);
        config.with_undo_tools(loaded.flat_map(LoadedPlan::tool_names).collect())
    };
    let policy = single::policy(arguments, config);
    let mut plans = read(arguments)?;
    let mut names = needed(&plans);
    let mut toolbox = Toolbox::empty();
    if !plans.is_empty() {
        toolbox = single::open(arguments, (config, &names), server_use, printer).await?;
        toolbox.servers.close().await;
    }
    if arguments.fix {
        fix::fix(arguments, &toolbox.catalog, &policy, printer)?;
        plans = read(arguments)?;
        let before = std::mem::replace(&mut names, needed(&plans));
        if !names.is_subset(&before) {
            toolbox = single::open(arguments, (config, &names), server_use, printer).await?;
            toolbox.servers.close().await;
        }
    }
    let read = plans;
    let on_violation = config.flow().violation;
    // These diagnostics are about the policy, so they are the same for all plans.
    let of_policy: Vec<Diagnostic> = match &policy.flow {
        Some(flow) if !read.is_empty() => uncovered_rules(flow, &toolbox.catalog),
        Some(_) | None => Vec::new(),
    };
    let plans = read.into_iter().map(|plan| {
        let loaded = plan.loaded.map(|loaded| {
            let loaded = single::structure(arguments, loaded);
            // A stored plan gets its inputs when it runs.
            let mut loaded = if arguments.saved {
                loaded.check_without_inputs(&toolbox.catalog, &policy)
            } else {
                loaded.check(&toolbox.catalog, &policy).1
            };
            loaded.diagnostics = loaded
                .diagnostics
                .into_iter()
                .filter(|diagnostic| !of_policy.contains(diagnostic))
                .collect();
            if arguments.strict {
                loaded.diagnostics.raise();
            }
            loaded
        });
        CheckedPlan {
            verdict: match &loaded {
                Ok(loaded) => Verdict::of(&loaded.diagnostics, on_violation),
                Err(_) => Verdict::Unreadable,
            },
            name: plan.name,
            version: plan.version,
            loaded,
        }
    });
    let plans: Vec<CheckedPlan> = plans.collect();
    let mut of_policy: Diagnostics = of_policy.into_iter().collect();
    if arguments.strict {
        of_policy.raise();
    }
    let worst = plans.iter().map(|plan| plan.verdict.exit());
    let of_rules = if of_policy.has_errors() {
        Exit::Rejected
    } else {
        Exit::Success
    };
    let exit = worst.fold(of_rules, Exit::worse);
    match arguments.format {
        Format::Text => {
            diagnostics::show(&of_policy, &[], printer);
            show(&plans, &toolbox, printer);
            if !arguments.saved {
                printer.status(&summary(&plans));
            }
        }
        Format::Json => {
            let plans = plans.iter().map(|plan| CheckedV1 {
                name: &plan.name,
                version: plan.version,
                verdict: plan.verdict,
                error: plan.loaded.as_ref().err().map(ToString::to_string),
                diagnostics: plan.diagnostics().collect(),
            });
            let all = SeveralChecked {
                schema: CHECKS_SCHEMA,
                ok: exit == Exit::Success,
                plans: plans.collect(),
                diagnostics: of_policy.iter().collect(),
            };
            output::json(&all, arguments.document_format(), printer)?;
        }
    }
    Ok(exit)
}

/// Prints the diagnostics of the plans, then a line for each plan.
fn show(plans: &[CheckedPlan], toolbox: &Toolbox, printer: Printer) {
    let called = |plan: &CheckedPlan| {
        let name = terminal_text::one_line(&plan.name);
        match plan.version {
            Some(version) => format!("{name}@{version}"),
            None => name.into_owned(),
        }
    };
    let width = plans
        .iter()
        .map(|plan| terminal_text::width(&called(plan)))
        .max();
    let mut notes = Vec::new();
    for plan in plans {
        match &plan.loaded {
            Ok(loaded) => diagnostics::show(&loaded.diagnostics, &loaded.texts, printer),
            Err(error) => printer.error(error),
        }
        let called = called(plan);
        let called = terminal_text::padded(&called, width.unwrap_or(0));
        printer.data_line(&format!("{called}  {}", plan.verdict.as_str()));
        if let (true, Ok(loaded)) = (notes.is_empty(), &plan.loaded) {
            notes = toolbox.notes_on(&loaded.diagnostics);
        }
    }
    for note in notes {
        printer.status(&note);
    }
    if plans.is_empty() {
        printer.status("no plans: `planwright save PLAN` saves one");
    }
}

/// `3 plans: 1 sound, 1 with warnings, 1 rejected`
fn summary(plans: &[CheckedPlan]) -> String {
    let counts = Verdict::ALL.iter().filter_map(|verdict| {
        let count = plans.iter().filter(|plan| plan.verdict == *verdict).count();
        let what = match verdict {
            Verdict::Sound | Verdict::Rejected | Verdict::Unreadable => verdict.as_str(),
            Verdict::Warns => "with warnings",
            Verdict::Asks => "with a question",
        };
        (count > 0).then(|| format!("{count} {what}"))
    });
    let counts: Vec<String> = counts.collect();
    format!("{}: {}", counted(plans.len(), "plan"), counts.join(", "))
}
