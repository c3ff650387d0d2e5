//! `planwright flow`: the origins of a plan's arguments, and the classification of tools by the policy.

use std::fmt::Write as _;
use std::path::Path;

use planwright::config::Config;
use planwright::core::check::Policy;
use planwright::core::flow::{
    Confidentiality, FlowContext, FlowOrigin, FlowParameter, FlowReport, FlowVerdict, Integrity,
    OnViolation, OutputField, ParameterRule, output_fields, parameter_rules, uncovered_rules,
};
use planwright::core::{Catalog, CheckedPlan, Diagnostic, Diagnostics, Severity};
use planwright::drawing::Drawing;
use planwright::format::{FlowToolV1, FlowToolsV1, FlowV1};
use planwright::loaded_plan::{LoadedPlan, ResultLabels};
use planwright::terminal_text::one_line;

use crate::args::{FlowArguments, Format, RunFormat};
use crate::error::{CommandError, Exit};
use crate::run::plan_file;
use crate::setup::settings::{self, Settings};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::Printer;
use crate::view::{diagnostics, output};

/// Maximum number of sources that a line names.
const MAX_ORIGINS: usize = 5;

/// `planwright flow PLAN`, `planwright flow --tools`
pub(crate) async fn flow(
    arguments: &FlowArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let config = config.with_flow();
    match arguments.plan() {
        Some(plan) if !arguments.of_tools => {
            let config = if arguments.exposed {
                config.with_exposed_planner()
            } else {
                config
            };
            of_plan(plan_file::read(&plan)?, arguments, &config, printer).await
        }
        Some(_) | None => of_tools(arguments, &config, printer).await,
    }
}

async fn of_plan(
    loaded: LoadedPlan,
    arguments: &FlowArguments,
    config: &Config,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let needed = config.with_undo_tools(loaded.tool_names());
    let mut toolbox =
        Toolbox::open(&arguments.tools, Some(&needed), ServerUse::Lists, printer).await?;
    toolbox.apply_config(config, None, printer)?;
    let (sound, loaded) = check(loaded, &toolbox.catalog, config);
    toolbox.servers.close().await;
    let report = sound.as_ref().and_then(|plan| plan.flow()).map(|report| {
        let mut report = report.clone();
        report.on_violation = config.flow().violation;
        report
    });
    let report = report.as_ref();
    let verdict = report.map_or(FlowVerdict::Denied, FlowReport::verdict);
    match arguments.format {
        Format::Text => {
            diagnostics::show(&loaded.diagnostics, &loaded.texts, printer);
            match report {
                Some(report) => printer.data(&plan_text(report)),
                None => {
                    for note in toolbox.notes_on(&loaded.diagnostics) {
                        printer.status(&note);
                    }
                }
            }
        }
        Format::Json => {
            let diagnostics = loaded.diagnostics.iter().cloned().collect();
            output::json(&FlowV1::new(report, diagnostics), RunFormat::Json, printer)?;
        }
    }
    Ok(match verdict {
        _ if sound.is_none() => Exit::Rejected,
        FlowVerdict::Clean | FlowVerdict::Warns => Exit::Success,
        FlowVerdict::Asks => Exit::Waiting,
        FlowVerdict::Denied => Exit::Rejected,
    })
}

/// Checks a plan with the flow analysis. A plan that only the flow policy denies is returned as well, so that its violations, which are
/// errors, can be shown.
pub(super) fn check(
    loaded: LoadedPlan,
    catalog: &Catalog,
    config: &Config,
) -> (Option<CheckedPlan>, LoadedPlan) {
    let mut policy = config.restrict(Policy::new());
    if let Some(flow) = &mut policy.flow {
        flow.violation = OnViolation::Ask;
    }
    let (sound, mut loaded) = loaded.check(catalog, &policy);
    if config.flow().violation == OnViolation::Deny {
        for diagnostic in &mut loaded.diagnostics {
            if diagnostic.code.is_flow_violation() {
                diagnostic.severity = Severity::Error;
            }
        }
    }
    (sound, loaded)
}

/// Marks the flow of untrusted and private values in a drawing of `plan`, with the labels of the results that the plan does not compute.
pub(crate) fn mark(
    drawing: &mut Drawing,
    plan: &CheckedPlan,
    labels: &ResultLabels,
    config: &Config,
) {
    let policy = config.restrict(Policy::new());
    let context = FlowContext {
        recalled: Some(&labels.recalled),
        retained: Some(&labels.retained),
        ..FlowContext::new(config.flow(), &policy.releases)
    };
    drawing.mark_flow(plan, context);
}

/// Formats a line for each parameter that is guarded or leaves the system, with the path of a violation, then the verdict.
fn plan_text(report: &FlowReport) -> String {
    let mut text = String::new();
    for parameter in report.parameters.iter() {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}", parameter_line(parameter));
        for hop in parameter.path().iter() {
            let _ = writeln!(text, "      {}", one_line(&hop.text));
        }
    }
    if report.parameters.is_empty() {
        text.push_str("no parameter of the plan has a rule in guard or leaves\n");
    }
    let _ = writeln!(text, "{}", verdict_text(report));
    text
}

fn parameter_line(parameter: &FlowParameter) -> String {
    let mark = match parameter.code {
        Some(code) => code.as_str(),
        None => "ok    ",
    };
    let name = if parameter.parameter.is_empty() {
        "(all)"
    } else {
        &parameter.parameter
    };
    let mut line = format!(
        "{mark}  {}  {}({})",
        one_line(&parameter.step),
        one_line(&parameter.tool),
        one_line(name)
    );
    let rules = [
        ("guarded by", &parameter.guard),
        ("leaves by", &parameter.leaves),
    ];
    for (what, rule) in rules {
        if let Some(rule) = rule {
            let _ = write!(line, ", {what} `{}`", one_line(rule));
        }
    }
    if !parameter.origins().is_empty() {
        let _ = write!(line, ", from {}", origins(parameter.origins()));
    }
    line
}

fn origins(origins: &[FlowOrigin]) -> String {
    let shown = origins.iter().take(MAX_ORIGINS);
    let mut names: Vec<String> = shown
        .map(|origin| one_line(&origin.shown()).into_owned())
        .collect();
    if origins.len() > MAX_ORIGINS {
        names.push(format!("{} more", origins.len() - MAX_ORIGINS));
    }
    names.join(", ")
}

fn verdict_text(report: &FlowReport) -> String {
    let violations = report.violations().count();
    let (noun, verb) = if violations == 1 {
        ("violation", "waits")
    } else {
        ("violations", "wait")
    };
    match report.verdict() {
        FlowVerdict::Clean => "clean: no violation".to_owned(),
        FlowVerdict::Warns => format!("{violations} {noun}, which the policy only warns about"),
        FlowVerdict::Asks => {
            let steps = report.asking_steps();
            let names: Vec<String> = steps
                .iter()
                .map(|step| format!("`{}`", one_line(step)))
                .collect();
            format!(
                "{violations} {noun}: {} {verb} for approval",
                names.join(", ")
            )
        }
        FlowVerdict::Denied => format!("{violations} {noun}: the policy denies the plan"),
    }
}

async fn of_tools(
    arguments: &FlowArguments,
    config: &Config,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let mut toolbox = Toolbox::open(&arguments.tools, None, ServerUse::Lists, printer).await?;
    toolbox.apply_config(config, None, printer)?;
    toolbox.servers.close().await;
    let policy = config.flow();
    let tools: Vec<FlowToolV1> = toolbox
        .catalog
        .tools()
        .map(|tool| FlowToolV1 {
            tool: tool.qualified_name().to_string(),
            outputs: output_fields(policy, tool),
            parameters: parameter_rules(policy, tool),
        })
        .collect();
    let found: Vec<Diagnostic> = uncovered_rules(policy, &toolbox.catalog);
    match arguments.format {
        Format::Text => {
            let diagnostics: Diagnostics = found.into_iter().collect();
            diagnostics::show(&diagnostics, &[], printer);
            for note in toolbox.notes() {
                printer.status(&note);
            }
            printer.pages(&tools_text(&tools));
        }
        Format::Json => output::json(&FlowToolsV1::new(tools, found), RunFormat::Json, printer)?,
    }
    Ok(Exit::Success)
}

fn tools_text(tools: &[FlowToolV1]) -> String {
    let mut text = String::new();
    for tool in tools {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}", one_line(&tool.tool));
        for field in &tool.outputs {
            let _ = writeln!(text, "  gives {}", output_line(field));
        }
        for parameter in &tool.parameters {
            let _ = writeln!(text, "  takes {}", rule_line(parameter));
        }
    }
    text
}

fn output_line(field: &OutputField) -> String {
    let name = if field.field.is_empty() {
        "everything".to_owned()
    } else {
        format!("`{}`", one_line(&field.field))
    };
    let integrity = match field.integrity {
        Integrity::Trusted => "trusted",
        Integrity::Untrusted => "untrusted",
    };
    let mut line = format!("{name}: {integrity}");
    if let Some(rule) = &field.integrity_rule {
        let _ = write!(line, " by `{}`", one_line(rule));
    }
    if field.confidentiality == Confidentiality::Private {
        line.push_str(", private");
        if let Some(rule) = &field.confidentiality_rule {
            let _ = write!(line, " by `{}`", one_line(rule));
        }
    }
    line
}

fn rule_line(parameter: &ParameterRule) -> String {
    let name = if parameter.parameter.is_empty() {
        "any parameters".to_owned()
    } else {
        format!("`{}`", one_line(&parameter.parameter))
    };
    let mut parts = Vec::new();
    if let Some(rule) = &parameter.guard {
        parts.push(format!("guarded by `{}`", one_line(rule)));
    }
    if let Some(rule) = &parameter.leaves {
        parts.push(format!("leaves by `{}`", one_line(rule)));
    }
    if parameter.decides {
        parts.push("guarded against untrusted conditions".to_owned());
    }
    format!("{name}: {}", parts.join(", "))
}
