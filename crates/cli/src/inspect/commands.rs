//! `planwright show` with its estimate, and `planwright tools`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use indexmap::IndexSet;
use planwright::core::check::{CheckedPlan, Policy};
use planwright::core::expression::EvaluationLimits;
use planwright::core::{Catalog, SeenAnswers, ServerName, Tool, Value};
use planwright::drawing::Drawing;
use planwright::engine::Durations;
use planwright::engine::run::estimate;
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::format::EstimateV1;
use planwright::planner::tools::signatures::seen_answers;
use planwright::terminal_text;
use serde::Serialize;

use super::flow;
use crate::args::{DrawingFormat, Format, RunFormat, ShowArguments, ToolsArguments};
use crate::error::{CommandError, Exit};
use crate::run::plan_file;
use crate::runs::{show, store};
use crate::setup::settings::{self, Settings};
use crate::tools::changed_tools;
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::{Toolbox, assumed_tools};
use crate::view::printer::Printer;
use crate::view::{diagnostics, output};

/// `planwright show PLAN`
pub(crate) async fn show(
    arguments: &ShowArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let marks_flow = arguments.flow().is_on();
    if marks_flow && arguments.picture() == DrawingFormat::Source {
        return Err(CommandError::new(
            "`--as source` cannot show the flow: it prints the text of the plan",
        )
        .hint("leave out `--flow` and `--exposed`, or choose another `--as`"));
    }
    // `@1` is not a version of a plan.
    let is_position = arguments
        .plan
        .text
        .plan
        .to_str()
        .is_some_and(|name| name.starts_with('@'));
    if !arguments.estimate
        && (is_position || plan_file::find_stored(&arguments.plan.text)?.is_none())
        && let Some((store, run)) = show::find(arguments)?
    {
        return show::show(&store, &run, arguments, printer);
    }
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let config = arguments.flow().apply(config);
    let mut loaded = plan_file::read(&arguments.plan).map_err(hint_at_runs(arguments))?;
    if arguments.picture() == DrawingFormat::Source && !arguments.estimate {
        let text = loaded.texts.first().map_or("", |(_, text)| text);
        printer.untrusted_data(text);
        return Ok(Exit::Success);
    }
    let named = loaded.tool_names();
    let mut scripted = Durations::new();
    let stored = match &arguments.durations {
        Some(path) => store::load_durations(path)?,
        None => Durations::new(),
    };
    let has_tools = marks_flow || arguments.tools.are_named();
    let mut toolbox = None;
    let catalog = if has_tools {
        let needed = config.with_undo_tools(named);
        let mut opened =
            Toolbox::open(&arguments.tools, Some(&needed), ServerUse::Lists, printer).await?;
        opened.servers.close().await;
        let pins = store::open_existing(&arguments.plan.text.store)?;
        opened.apply_config(&config, pins.as_ref(), printer)?;
        scripted = std::mem::take(&mut opened.durations);
        let catalog = opened.catalog.clone();
        toolbox = Some(opened);
        catalog
    } else {
        // A drawing needs no tools: all tools that the plan names are assumed to exist.
        assumed_tools(&named, |name| server_of(name, &stored))
    };
    if !has_tools {
        loaded = loaded.with_numbered_arguments();
    }
    let written = loaded.plan.clone();
    let (sound, loaded) = if marks_flow {
        flow::check(loaded, &catalog, &config)
    } else {
        loaded.check(&catalog, &config.restrict(Policy::new()))
    };
    diagnostics::show(&loaded.diagnostics, &loaded.texts, printer);
    if let Some(toolbox) = toolbox.filter(|_| marks_flow) {
        for note in toolbox.notes_on(&loaded.diagnostics) {
            printer.status(&note);
        }
    }
    if arguments.estimate {
        let Some(plan) = &sound else {
            return Ok(Exit::Rejected);
        };
        for (server, tool, learned) in stored.tools() {
            scripted.insert(server, tool, learned);
        }
        show_estimate(plan, arguments, &scripted, printer)?;
        return Ok(Exit::Success);
    }
    let (mut drawing, exit) = match (&sound, &written) {
        (Some(plan), _) if !loaded.diagnostics.has_errors() => (Drawing::of(plan), Exit::Success),
        // Only the flow policy denies it.
        (Some(plan), _) => (Drawing::of(plan), Exit::Rejected),
        // Even a partial drawing helps a person to find the problem.
        (None, Some(plan)) => (Drawing::of_unchecked(plan), Exit::Rejected),
        (None, None) => return Ok(Exit::Rejected),
    };
    if let (true, Some(plan)) = (marks_flow, &sound) {
        flow::mark(&mut drawing, plan, loaded.labels(), &config);
    }
    if let Some(step) = &arguments.step {
        show::print_step(&drawing, step, arguments.format, printer)?;
    } else {
        show::draw(&drawing, arguments.picture(), None, printer)?;
    }
    Ok(exit)
}

/// Adds a hint about runs to the error for a missing plan.
fn hint_at_runs(arguments: &ShowArguments) -> impl FnOnce(CommandError) -> CommandError {
    let is_missing = !arguments.plan.text.plan.exists();
    move |error| {
        if is_missing {
            error.hint("`planwright runs` lists stored runs")
        } else {
            error
        }
    }
}

/// Returns the server of a tool that a plan names without one, as recorded in earlier runs.
fn server_of(tool: &str, stored: &Durations) -> ServerName {
    let tools = stored.tools().into_iter();
    let mut servers = tools.filter(|(_, name, _)| &***name == tool);
    match (servers.next(), servers.next()) {
        (Some((server, ..)), None) => server.clone(),
        _ => "unknown".into(),
    }
}

#[derive(Serialize)]
struct ToolListing<'a> {
    name: String,
    server: &'a str,
    tool: &'a str,
    description: Option<&'a str>,
    input_schema: &'a Value,
    output_schema: &'a Value,
    /// The answers so far of a tool without an output schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<SeenListing<'a>>,
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    asks_first: bool,
}

#[derive(Serialize)]
struct SeenListing<'a> {
    calls: u64,
    /// The number of answers with each field.
    fields: BTreeMap<&'a str, u64>,
    schema: Value,
    /// An answer with its values masked.
    sample: &'a Value,
}

impl<'a> SeenListing<'a> {
    fn of(seen: &'a SeenAnswers) -> Option<Self> {
        let fields = seen.fields().map(|(name, count)| (&**name, count));
        (seen.calls > 0).then(|| Self {
            calls: seen.calls,
            fields: fields.collect(),
            schema: seen.schema(),
            sample: &seen.sample,
        })
    }
}

/// `planwright tools`
pub(crate) async fn tools(
    arguments: &ToolsArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    if arguments.changed || arguments.accept.is_some() {
        return changed_tools::command(arguments, printer).await;
    }
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let server_use = if arguments.refresh {
        ServerUse::FreshLists
    } else {
        ServerUse::Lists
    };
    let mut toolbox = Toolbox::open(&arguments.tools, None, server_use, printer).await?;
    toolbox.servers.close().await;
    let pins = if arguments.no_store || !toolbox.needs_store(&config) {
        None
    } else {
        Some(store::open(&arguments.store, printer)?)
    };
    toolbox.apply_config(&config, pins.as_ref(), printer)?;
    let filter = arguments.filter.as_deref().map(str::to_lowercase);
    let matches = |tool: &Tool| {
        filter.as_ref().is_none_or(|filter| {
            let description = tool.description.as_deref().unwrap_or_default();
            tool.qualified_name().to_lowercase().contains(filter)
                || description.to_lowercase().contains(filter)
        })
    };
    let catalog = &toolbox.catalog;
    let mut found: Vec<&Tool> = catalog
        .tools()
        .map(AsRef::as_ref)
        .filter(|tool| matches(tool))
        .collect();
    match arguments.format {
        Format::Json => {
            let listing: Vec<ToolListing<'_>> = found
                .iter()
                .map(|tool| ToolListing {
                    name: catalog.shortest_name(tool),
                    server: &tool.server,
                    tool: &tool.name,
                    description: tool.description.as_deref(),
                    input_schema: tool.input.as_value(),
                    output_schema: tool.output.as_value(),
                    seen: tool.seen.as_deref().and_then(SeenListing::of),
                    read_only: tool.annotations.read_only,
                    destructive: tool.annotations.destructive,
                    idempotent: tool.annotations.idempotent,
                    asks_first: tool.needs_approval(),
                })
                .collect();
            output::json(&listing, RunFormat::Json, printer)?;
        }
        Format::Text => {
            // A server has a single heading, even if its tools are not listed consecutively.
            let servers: IndexSet<&ServerName> = found.iter().map(|tool| &tool.server).collect();
            found.sort_by_key(|tool| servers.get_index_of(&tool.server));
            printer.pages(&listing_text(catalog, &found, filter.is_some()));
            if found.is_empty() {
                let is_missing = toolbox.servers.missing().next().is_some();
                match toolbox.source() {
                    _ if !catalog.is_empty() => printer.status("no tool matches"),
                    Some((path, _)) if !is_missing => printer.quote(&format!(
                        "no tools in `{}`: `planwright servers add NAME -- COMMAND` adds a server",
                        path.display()
                    )),
                    _ => printer.status(
                        "no tools: name servers with `--servers FILE` or try `--workspace .`",
                    ),
                }
            }
            if let Some(listed) = toolbox.listed_before() {
                printer.status(&format!("{listed}; `--refresh` lists them again"));
            }
        }
    }
    Ok(Exit::Success)
}

/// Lists tools, grouped by server; with `are_whole`, with their schemas.
fn listing_text(catalog: &Catalog, tools: &[&Tool], are_whole: bool) -> String {
    let mut text = String::new();
    let mut server = None;
    for tool in tools {
        // Writing to a text cannot fail.
        if server != Some(&tool.server) {
            let _ = writeln!(text, "{}:", terminal_text::one_line(&tool.server));
            server = Some(&tool.server);
        }
        let _ = writeln!(text, "  {}", signature(catalog, tool));
        let description = tool.description.as_deref();
        if let Some(line) = description.and_then(|description| description.lines().next()) {
            let _ = writeln!(text, "      {}", listed(line));
        }
        if !are_whole {
            continue;
        }
        let pretty = |schema: &Value| serde_json::to_string_pretty(schema).unwrap_or_default();
        let mut lines = pretty(tool.input.as_value());
        if !tool.output.is_any() {
            lines += "\ngives:\n";
            lines += &pretty(tool.output.as_value());
        } else if let Some(seen) = seen_answers(tool) {
            lines += "\n";
            lines += &seen;
        }
        for line in lines.lines() {
            let _ = writeln!(text, "      {}", terminal_text::one_line(line));
        }
    }
    text
}

/// Formats `name(city: string, days?: integer)`, with a mark if a person is asked.
fn signature(catalog: &Catalog, tool: &Tool) -> String {
    let schema = tool.input.as_value();
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_list)
        .unwrap_or(&[])
        .iter()
        .filter_map(Value::as_text)
        .collect();
    let parameters: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let kind = property
                .get("type")
                .and_then(Value::as_text)
                .unwrap_or("any");
            let mark = if required.contains(&&**name) { "" } else { "?" };
            format!("{name}{mark}: {kind}")
        })
        .collect();
    let asks = if tool.needs_approval() {
        "  (asks first)"
    } else {
        ""
    };
    let call = format!("{}({})", catalog.shortest_name(tool), parameters.join(", "));
    format!("{}{asks}", listed(&call))
}

/// Returns a text of a server on one line of limited length.
fn listed(text: &str) -> String {
    const MAX_COLUMNS: usize = 1000;
    let line = terminal_text::one_line(text);
    terminal_text::shortened(&line, MAX_COLUMNS, "…").into_owned()
}

/// Prints the expected duration of a run of `plan`.
fn show_estimate(
    plan: &CheckedPlan,
    arguments: &ShowArguments,
    known: &Durations,
    printer: Printer,
) -> Result<(), CommandError> {
    let limits = ConcurrencyLimits {
        total: arguments.max_parallel,
        ..ConcurrencyLimits::default()
    };
    let estimate = estimate(plan, known, &limits, &EvaluationLimits::default());
    let estimate = EstimateV1::new(
        &estimate,
        arguments.max_parallel.get(),
        arguments.round_trip,
    );
    match arguments.format {
        Format::Json => output::json(&estimate, RunFormat::Json, printer),
        Format::Text => {
            printer.data(&text(&estimate));
            Ok(())
        }
    }
}

fn text(estimate: &EstimateV1) -> String {
    let calls = match estimate.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let mut text = format!(
        "expected:      {} for {calls}, at most {} at the same time\n\
         critical path: {}\n",
        time(estimate.expected_s),
        estimate.max_parallel,
        time(estimate.critical_path_s)
    );
    let widest = |part: &dyn Fn(usize) -> usize| (0..estimate.critical_path.len()).map(part).max();
    let at = widest(&|index| estimate.critical_path[index].at.chars().count()).unwrap_or(0);
    for call in &estimate.critical_path {
        let (name, tool) = (
            terminal_text::one_line(&call.at),
            terminal_text::one_line(&call.tool),
        );
        let takes = time(call.takes_s);
        let _ = writeln!(text, "  {name:at$}  {takes:>9}  {tool}");
    }
    let _ = writeln!(
        text,
        "step by step:  {}, one call at a time, with a model round trip of {} for each",
        time(estimate.step_by_step_s),
        time(estimate.round_trip_s)
    );
    let _ = writeln!(text, "\nassumed:");
    let _ = writeln!(
        text,
        "  a round trip to the model takes {} (`--round-trip`)",
        time(estimate.round_trip_s)
    );
    let _ = writeln!(text, "  every call succeeds at the first attempt");
    for assumption in &estimate.assumptions {
        let _ = writeln!(text, "  {}", terminal_text::one_line(assumption));
    }
    text
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1000.0)
    } else {
        format!("{seconds:.2} s")
    }
}
