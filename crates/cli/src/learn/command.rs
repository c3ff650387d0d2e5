//! `planwright learn FILE…`: learns a plan, checks it, and replays it over the recorded answers.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use planwright::Planwright;
use planwright::core::check::Policy;
use planwright::core::{Catalog, Object, Value};
use planwright::dialects::{self, ReadOptions};
use planwright::engine::approval::{Always, Decision};
use planwright::loaded_plan::LoadedPlan;
use planwright::service::Tools;
use planwright_learn::replay::{TraceBackend, TraceComparison};
use planwright_learn::{LearnedPlan, Trace, generalize};

use super::{recurring, report, traces};
use crate::args::{Format, LearnArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::runs::{exchange, store};
use crate::setup::settings::{self, Settings};
use crate::system::text_file::{may_write, write};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::Printer;
use crate::view::{diagnostics, output};

/// `planwright learn`
pub(crate) async fn learn(
    arguments: &LearnArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    if let Some(client) = &arguments.client {
        return recurring::list(client, arguments, printer);
    }
    if let Some(file) = &arguments.output {
        may_write(file, arguments.force)?;
    }
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let config = arguments.flow.apply(config);
    let mut traces = traces::named(arguments)?;
    let needed: BTreeSet<String> = traces.iter().flat_map(tool_names).collect();
    let mut toolbox =
        Toolbox::open(&arguments.tools, Some(&needed), ServerUse::Lists, printer).await?;
    toolbox.servers.close().await;
    let has_tools = toolbox.note_without_source().is_none();
    if !has_tools {
        toolbox.catalog = recurring::assumed_catalog(&traces);
    }
    toolbox.apply_config(&config, None, printer)?;
    let catalog = &toolbox.catalog;
    for trace in &mut traces {
        trace.resolve(catalog);
    }
    let mut learned = generalize(&traces, catalog);
    learned.plan.name = arguments.save.as_deref().map(Into::into);
    learned.plan.metadata = origin(&traces, &learned);
    let text = text_of(&learned, arguments)?;
    let policy = config.restrict(Policy::new());
    let dialect = arguments.to.dialect();
    let load = |inputs| {
        let options = ReadOptions::new("learned").in_dialect(dialect);
        let result = dialects::parse(text.as_bytes(), &options);
        LoadedPlan::new("learned", result).with_inputs(inputs)
    };
    let mut replays = Vec::new();
    let mut checked = None;
    for (number, calls) in learned.calls.iter().enumerate() {
        let inputs = learned.inputs_of(number);
        let (sound, loaded) = load(inputs.clone()).check(catalog, &policy);
        let is_sound = sound.is_some();
        // The diagnostics of the first plan that has errors count, else those of the first trace.
        if checked.is_none() || (!is_sound && replays.iter().all(Option::is_some)) {
            checked = Some(loaded);
        }
        replays.push(if is_sound {
            replay(load(inputs), TraceBackend::new(calls, catalog), catalog).await?
        } else {
            None
        });
    }
    let found = checked.as_ref().map(|loaded| &loaded.diagnostics);
    let names: Vec<String> = traces.iter().map(|trace| trace.name.clone()).collect();
    let mut learned_plan = report::report(
        &learned,
        (&text, dialect),
        &names,
        &replays,
        (has_tools, found.into_iter().flatten().cloned().collect()),
    );
    if let Some(name) = &arguments.save {
        if learned_plan.sound && learned_plan.same_calls {
            let store = store::open(&arguments.store, printer)?;
            let plan = (Some(dialect), &learned.plan);
            let saved = exchange::save_plan(&store, name.clone(), text.clone(), plan, printer)?;
            learned_plan.saved = Some(saved);
        } else {
            printer.status("the plan was not saved");
        }
    }
    if let Some(file) = &arguments.output {
        write(&text, file, arguments.force)?;
        printer.quote(&format!("written to `{}`", file.display()));
    }
    match arguments.format {
        Format::Text => {
            if arguments.output.is_none() {
                printer.untrusted_data(&text);
            }
            if let Some(loaded) = &checked {
                diagnostics::show(&loaded.diagnostics, &loaded.texts, printer);
                for note in toolbox.notes_on(&loaded.diagnostics) {
                    printer.status(&note);
                }
            }
            report::print(&learned_plan, printer);
        }
        Format::Json => output::json(&learned_plan, RunFormat::Json, printer)?,
    }
    Ok(match (learned_plan.sound, learned_plan.same_calls) {
        (false, _) => Exit::Rejected,
        (true, false) => Exit::Failed,
        (true, true) => Exit::Success,
    })
}

/// Runs a plan over recorded answers; `None` if it does not run. Nothing is called, so it needs no consent.
async fn replay(
    loaded: LoadedPlan,
    answers: TraceBackend,
    catalog: &Catalog,
) -> Result<Option<TraceComparison>, CommandError> {
    let service = Planwright::over(Tools {
        catalog: Arc::new(catalog.clone()),
        backend: Arc::new(answers.clone()),
        policy: Policy::new().allow_all_releases(),
    });
    let (Some(plan), _) = service.check_loaded(loaded) else {
        return Ok(None);
    };
    let approve = Always(Decision::Approve { args: None });
    service.run(plan).approver(approve).await?;
    Ok(Some(answers.report()))
}

/// Returns the names by which a catalog may have the tools of a trace.
fn tool_names(trace: &Trace) -> impl Iterator<Item = String> {
    trace.calls.iter().flat_map(|call| {
        let short = call.tool.strip_prefix("mcp__").map(str::to_owned);
        std::iter::once(call.tool.to_string()).chain(short)
    })
}

/// Returns the origin of a plan, which is stored beside it.
fn origin(traces: &[Trace], learned: &LearnedPlan) -> Value {
    let names = traces.iter().map(|trace| Value::from(trace.name.as_str()));
    let mut fields = Object::default();
    fields.insert("learned_from".into(), Value::list(names));
    fields.insert("complete".into(), learned.is_complete().into());
    fields.into()
}

fn text_of(learned: &LearnedPlan, arguments: &LearnArguments) -> Result<String, CommandError> {
    let dialect = dialects::by_name(arguments.to.dialect())
        .map_err(|unknown| CommandError::new(unknown.message.clone()))?;
    let (text, losses) = dialect.print(&learned.plan);
    text.ok_or_else(|| {
        let reasons: Vec<&str> = losses.iter().map(|loss| loss.message.as_str()).collect();
        CommandError::new(format!(
            "the plan cannot be written: {}",
            reasons.join("; ")
        ))
    })
}
