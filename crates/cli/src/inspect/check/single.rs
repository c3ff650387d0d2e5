//! `planwright check PLAN`: the check of one plan.

use std::collections::BTreeSet;
use std::path::Path;

use planwright::config::Config;
use planwright::core::Diagnostic;
use planwright::core::check::Policy;
use planwright::core::plan::Sharing;
use planwright::loaded_plan::LoadedPlan;
use serde::Serialize;

use super::unproved::{self, Unproved};
use super::{fix, several};
use crate::args::{CheckArguments, Format};
use crate::error::{CommandError, Exit};
use crate::run::plan_file;
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::Printer;
use crate::view::{diagnostics, output};

/// The schema's name and version.
const CHECK_SCHEMA: &str = "planwright.check/1";

#[derive(Serialize)]
struct Checked<'a> {
    schema: &'static str,
    ok: bool,
    diagnostics: Vec<&'a Diagnostic>,
    /// The reads that the check could not follow, for a sound plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unproved: Vec<Unproved>,
}

/// `planwright check PLAN`
pub(crate) async fn check(
    arguments: &CheckArguments,
    server_use: ServerUse,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let config = arguments.flow.apply(config);
    if arguments.saved || !arguments.more.is_empty() {
        return several::check(arguments, &config, server_use, printer).await;
    }
    let policy = policy(arguments, &config);
    let mut loaded = plan_file::read(&arguments.plan)?;
    let needed = config.with_undo_tools(loaded.tool_names());
    let mut toolbox = open(arguments, (&config, &needed), server_use, printer).await?;
    if arguments.fix {
        fix::fix(arguments, &toolbox.catalog, &policy, printer)?;
        loaded = plan_file::read(&arguments.plan)?;
        let of_fixed = config.with_undo_tools(loaded.tool_names());
        if !of_fixed.is_subset(&needed) {
            toolbox.servers.close().await;
            toolbox = open(arguments, (&config, &of_fixed), server_use, printer).await?;
        }
    }
    loaded = structure(arguments, loaded);
    let (mut sound, mut loaded) = loaded.check(&toolbox.catalog, &policy);
    toolbox.servers.close().await;
    if arguments.strict && loaded.diagnostics.has_problems() {
        loaded.diagnostics.raise();
        sound = None;
    }
    // The answers of simulated tools are in their file.
    let of_servers = sound
        .as_ref()
        .filter(|_| arguments.tools.simulate.is_none() && !arguments.without_tools);
    let unproved = of_servers.map(unproved::unproved).unwrap_or_default();
    match arguments.format {
        Format::Text => {
            diagnostics::show(&loaded.diagnostics, &loaded.texts, printer);
            let of_tools = (arguments, &toolbox.catalog, &policy);
            fix::print_fix_hint(of_tools, &loaded.diagnostics, printer)?;
            if let Some(plan) = &sound {
                let steps = plan.steps().len();
                let what = if steps == 1 { "step" } else { "steps" };
                let subject = if arguments.without_tools {
                    "the structure of the plan"
                } else {
                    "the plan"
                };
                printer.status(&format!("{subject} is sound: {steps} {what}"));
                unproved::print(&unproved, printer);
            } else {
                for note in toolbox.notes_on(&loaded.diagnostics) {
                    printer.status(&note);
                }
            }
        }
        Format::Json => output::json(
            &Checked {
                schema: CHECK_SCHEMA,
                ok: sound.is_some(),
                diagnostics: loaded.diagnostics.iter().collect(),
                unproved,
            },
            arguments.document_format(),
            printer,
        )?,
    }
    Ok(match sound {
        Some(_) => Exit::Success,
        None => Exit::Rejected,
    })
}

/// Returns the policy for the plans. Rules about tools do not apply to a check without them.
pub(super) fn policy(arguments: &CheckArguments, config: &Config) -> Policy {
    let policy = config.restrict(Policy::new());
    if !arguments.without_tools {
        return policy;
    }
    Policy {
        denied: Vec::new(),
        allowed: Vec::new(),
        stage: None,
        flow: None,
        ..policy
    }
}

/// Returns the plan as it is checked: without tools, no parameter has a name or a mark.
pub(super) fn structure(arguments: &CheckArguments, loaded: LoadedPlan) -> LoadedPlan {
    if !arguments.without_tools {
        return loaded;
    }
    let mut loaded = loaded.with_numbered_arguments();
    if let Some(plan) = &mut loaded.plan {
        plan.sharing = Sharing::default();
    }
    loaded
}

/// Opens the tools that `needed` names.
pub(super) async fn open(
    arguments: &CheckArguments,
    (config, needed): (&Config, &BTreeSet<String>),
    server_use: ServerUse,
    printer: Printer,
) -> Result<Toolbox, CommandError> {
    if arguments.without_tools {
        return Ok(Toolbox::assumed(needed));
    }
    let mut toolbox = Toolbox::open(&arguments.tools, Some(needed), server_use, printer).await?;
    // The soundness of a plan does not depend on approvals.
    toolbox.apply_config(config, None, printer)?;
    let store = store::open_existing(&arguments.plan.text.store)?;
    toolbox.recall_answers(config, store.as_ref())?;
    Ok(toolbox)
}
