//! `planwright init`: files to begin with.

use std::path::Path;

use planwright::format::InitV1;
use planwright::terminal_text;

use crate::args::{Format, InitArguments, RunFormat};
use crate::error::{CommandError, Exit, reason};
use crate::system::text_file::{may_write, write};
use crate::view::output;
use crate::view::printer::Printer;

/// A configuration without settings, which shows all settings in comments.
const SETTINGS: &str = include_str!("init/planwright.toml");

/// A list of no servers.
const SERVERS: &str = include_str!("init/mcp.json");

/// The names under which servers are looked for.
const SERVER_FILES: [&str; 2] = ["mcp.json", ".mcp.json"];

/// `planwright init`
pub(crate) fn init(arguments: &InitArguments, printer: Printer) -> Result<Exit, CommandError> {
    let folder = &arguments.folder;
    let at = |name: &str| {
        if folder == Path::new(".") {
            name.into()
        } else {
            folder.join(name)
        }
    };
    let shown = |name: &str| at(name).display().to_string();
    let settings = at("planwright.toml");
    may_write(&settings, arguments.force)?;
    std::fs::create_dir_all(folder).map_err(|error| {
        CommandError::new(format!(
            "cannot make the folder `{}`: {}",
            folder.display(),
            reason(&error)
        ))
    })?;
    write(SETTINGS, &settings, arguments.force)?;
    let mut written = vec![shown("planwright.toml")];
    let mut existing = Vec::new();
    let there = SERVER_FILES
        .iter()
        .find(|name| at(name).symlink_metadata().is_ok());
    match there {
        Some(name) => existing.push(shown(name)),
        None => {
            write(SERVERS, &at("mcp.json"), false)?;
            written.push(shown("mcp.json"));
        }
    }
    let report = InitV1::new(written, existing);
    match arguments.format {
        Format::Json => output::json(&report, RunFormat::Json, printer)?,
        Format::Text => {
            for file in &report.written {
                printer.data_line(&terminal_text::one_line(file));
            }
            for file in &report.existing {
                printer.quote(&format!("`{file}` was there already, and stays as it is"));
            }
        }
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use planwright::config::{Config, ConfigSource, Origin};
    use planwright::mcp::ServersConfig;

    use super::{SERVERS, SETTINGS};

    /// Uncomments the examples of a file.
    fn awake(text: &str, mark: &str) -> String {
        let lines = text.lines().map(|line| {
            let (blanks, rest) = line.split_at(line.len() - line.trim_start().len());
            let shown = rest
                .strip_prefix(mark)
                .filter(|shown| !shown.starts_with(' '));
            format!("{blanks}{}\n", shown.unwrap_or(rest))
        });
        lines.collect()
    }

    /// Returns the keys of all settings in a file.
    fn keys(origin: Origin, text: &str) -> Vec<String> {
        let source = ConfigSource::read(origin, "planwright.toml", text).unwrap();
        let settings = Config::of([&source]).settings();
        let keys = settings
            .into_iter()
            .filter(|setting| &*setting.set_in != "default");
        keys.map(|setting| setting.key).collect()
    }

    #[test]
    fn the_first_configuration_says_nothing_and_shows_what_may_be_said() {
        assert!(keys(Origin::Project, SETTINGS).is_empty());
        assert!(keys(Origin::Project, &awake(SETTINGS, "#")).len() > 15);
    }

    /// The settings that only the user's own file can have.
    const OWN: [&str; 9] = [
        "flow.enabled",
        "flow.trusted",
        "flow.effects",
        "approvals.passphrase",
        "tools.no_ask",
        "tools.read_only",
        "tools.idempotent",
        "serve.hosts",
        "serve.origins",
    ];

    #[test]
    fn the_first_configuration_shows_all_that_a_project_may_say() {
        let schema = include_str!("../../../../docs/schema/config.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let shown = keys(Origin::Project, &awake(SETTINGS, "#"));
        let mut missing = Vec::new();
        for (table, of) in schema["properties"].as_object().unwrap() {
            let Some(name) = of["$ref"].as_str().and_then(|path| path.rsplit('/').next()) else {
                continue;
            };
            // Neither the store nor telemetry nor the model is a project's affair.
            let fields = &schema["$defs"][name]["properties"];
            let fields = fields.as_object().unwrap().keys();
            for field in fields.filter(|_| !matches!(&**table, "store" | "telemetry" | "model")) {
                let key = format!("{table}.{field}");
                let inner = format!("{key}.");
                let mut shown = shown.iter();
                let is_shown = shown.any(|shown| *shown == key || shown.starts_with(&inner));
                if is_shown == OWN.contains(&&*key) {
                    missing.push(key);
                }
            }
        }
        assert_eq!(missing, <[&str; 0]>::default());
    }

    #[test]
    fn the_first_list_of_servers_is_empty_and_shows_how_they_are_written() {
        let servers = |text: &str| {
            let (config, warnings) =
                ServersConfig::parse(text, "mcp.json", &|_| Some("x".to_owned())).unwrap();
            assert!(
                warnings.is_empty() && config.unusable.is_empty(),
                "{warnings:?} {:?}",
                config.unusable
            );
            config.servers.len()
        };
        assert_eq!(servers(SERVERS), 0);
        assert_eq!(servers(&awake(SERVERS, "//")), 1);
    }
}
