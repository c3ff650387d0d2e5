//! `planwright convert`: a plan in another dialect, or the parts that it cannot express.

use planwright::core::check::{CheckContext, check, name_arguments};
use planwright::core::plan::Output;
use planwright::core::{Catalog, Code, Diagnostics, Plan};
use planwright::dialects::{self, ReadOptions};
use planwright::format::ConversionV1;
use planwright::loaded_plan::tool_names;

use crate::args::{ConvertArguments, Format, RunFormat};
use crate::error::{CommandError, Exit};
use crate::run::plan_file::{self, ParsedPlanText};
use crate::system::text_file::{may_write, write};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::Printer;
use crate::view::{diagnostics, output};

/// The help for parts that the requested dialect cannot express.
const LOSS_HELP: &str = "remove it from the plan, or convert with `--to native`";

/// `planwright convert PLAN --to DIALECT`
pub(crate) async fn convert(
    arguments: &ConvertArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let target = dialects::dialect(&arguments.to)
        .ok_or_else(|| CommandError::new(format!("no dialect is called `{}`", arguments.to)))?;
    let file = arguments.output.as_deref().filter(|file| **file != *"-");
    if let Some(file) = file {
        may_write(file, arguments.force)?;
    }
    let ParsedPlanText { name, result } = plan_file::parse_without_tools(&arguments.text)?;
    let mut diagnostics = result.diagnostics;
    let mut text = None;
    if let Some(mut plan) = result.plan.filter(|_| !diagnostics.has_errors()) {
        let catalog = catalog(arguments, &plan, printer).await?;
        if let Some(catalog) = &catalog {
            diagnostics.extend(name_arguments(&mut plan, catalog));
        }
        if arguments.drop_output && plan.output != Output::All {
            plan.output = Output::All;
            printer
                .status("note: the output of the plan is dropped, so all results are its output");
        }
        let (printed, mut found) = target.print(&plan);
        if let (Some(catalog), Some(printed)) = (&catalog, &printed) {
            found.extend(unsharable(&plan, printed, target.name(), catalog));
        }
        for diagnostic in &mut found {
            if diagnostic.is_error() && diagnostic.help.is_none() {
                diagnostic.help = Some(LOSS_HELP.to_owned());
            }
        }
        diagnostics.extend(found);
        text = printed.filter(|_| !diagnostics.has_errors());
    }
    diagnostics.sort();
    if arguments.format == Format::Text {
        let texts = [(name, result.source.to_string())];
        diagnostics::show(&diagnostics, &texts, printer);
    }
    if let (Some(text), Some(file)) = (&text, file) {
        write(text, file, arguments.force)?;
        printer.quote(&format!("written to `{}`", file.display()));
    }
    match arguments.format {
        Format::Text => match &text {
            Some(text) if file.is_none() => printer.untrusted_data(text),
            Some(_) => {}
            None => printer.status("the plan was not converted; nothing was written"),
        },
        Format::Json => {
            let conversion = ConversionV1::new(
                result.dialect,
                target.name(),
                text.as_deref(),
                diagnostics.iter().cloned(),
            );
            output::json(&conversion, RunFormat::Json, printer)?;
        }
    }
    Ok(match text {
        Some(_) => Exit::Success,
        None => Exit::Rejected,
    })
}

/// Loads the named tools, if any: a conversion works without them, with less information.
async fn catalog(
    arguments: &ConvertArguments,
    plan: &Plan,
    printer: Printer,
) -> Result<Option<Catalog>, CommandError> {
    if !arguments.tools.are_named() {
        return Ok(None);
    }
    let needed = tool_names([plan]);
    let toolbox = Toolbox::open(&arguments.tools, Some(&needed), ServerUse::Lists, printer).await?;
    toolbox.servers.close().await;
    Ok(Some(toolbox.catalog))
}

/// Returns the references of `plan` at places where `printed` must not have any: a dialect may allow references only in marked
/// parameters.
fn unsharable(plan: &Plan, printed: &str, dialect: &str, catalog: &Catalog) -> Diagnostics {
    let options = ReadOptions::new("converted").in_dialect(dialect);
    let Some(converted) = dialects::parse(printed.as_bytes(), &options).plan else {
        return Diagnostics::new();
    };
    let as_converted = Plan {
        sharing: converted.sharing,
        ..plan.clone()
    };
    let (_, found) = check(as_converted, &CheckContext::new(catalog));
    found
        .into_iter()
        .filter(|diagnostic| diagnostic.code == Code::NotSharable)
        .collect()
}
