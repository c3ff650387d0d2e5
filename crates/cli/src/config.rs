//! `planwright config`: what holds here, and from where.

use std::fmt::Write as _;
use std::path::Path;

use planwright::config::Origin;
use planwright::core::Value;
use planwright::format::{ConfigFileV1, ConfigV1};
use planwright::terminal_text;

use super::args::{ConfigArguments, Format, RunFormat};
use super::error::CommandError;
use super::exit::Exit;
use super::printer::Printer;
use super::settings::{self, Settings};
use crate::view::output;

/// `planwright config`
pub(crate) fn command(arguments: &ConfigArguments, printer: Printer) -> Result<Exit, CommandError> {
    let settings = settings::load(Path::new("."))?;
    match arguments.format {
        Format::Json => output::json(&report(&settings), RunFormat::Json, printer)?,
        Format::Text => printer.data(&text(&report(&settings))),
    }
    Ok(Exit::Success)
}

fn report(settings: &Settings) -> ConfigV1 {
    let files = settings.files.iter().map(|(origin, path)| ConfigFileV1 {
        origin: match origin {
            Origin::User => "user",
            Origin::Project => "project",
        },
        path: path.display().to_string(),
    });
    let holding = settings.config.settings();
    ConfigV1::new(files, holding)
}

/// The files, then a line for each setting: what, how much, from where.
fn text(report: &ConfigV1) -> String {
    let mut text = String::new();
    for file in &report.files {
        let _ = writeln!(
            text,
            "{:8} {}",
            file.origin,
            terminal_text::one_line(&file.path)
        );
    }
    if report.files.is_empty() {
        text += "no planwright.toml here, nor in the folder of your settings\n";
    }
    text.push('\n');
    let lines: Vec<[String; 3]> = report
        .settings
        .iter()
        .map(|setting| {
            [&*setting.key, &shown(&setting.value), &*setting.set_in]
                .map(|part| terminal_text::one_line(part).into_owned())
        })
        .collect();
    let width = |column: usize| {
        let widths = lines.iter().map(|line| terminal_text::width(&line[column]));
        widths.max().unwrap_or(0)
    };
    let (keys, values) = (width(0), width(1));
    for [key, value, place] in &lines {
        let key = terminal_text::padded(key, keys);
        let _ = writeln!(
            text,
            "{key}  {}  {place}",
            terminal_text::padded(value, values)
        );
    }
    text
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Text(text) => text.to_string(),
        Value::List(items) if items.is_empty() => "nothing".to_owned(),
        other => other.to_json(),
    }
}
