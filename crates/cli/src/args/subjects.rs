//! The commands by subject, as `--help` lists them, and suggestions for unknown commands.

use std::fmt::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};
use planwright::dialects::document::nearest;

use super::Arguments;
use crate::view::paragraph::filled;
use crate::view::printer::Printer;

/// The commands of each subject, in the order of `--help`.
const SUBJECTS: &[(&str, &[&str])] = &[
    (
        "Plans",
        &[
            "check", "explain", "flow", "show", "convert", "save", "list", "delete",
        ],
    ),
    (
        "Runs",
        &[
            "run", "call", "resume", "runs", "logs", "attach", "cancel", "replay", "diff",
            "export", "import", "prune", "ui",
        ],
    ),
    ("Decisions", &["waiting", "approve", "reject", "passphrase"]),
    ("Models", &["create", "ask", "chat", "dates"]),
    ("Servers and tools", &["servers", "tools", "trust", "login"]),
    ("Gateway", &["serve", "wrap", "token"]),
    (
        "Setup",
        &[
            "demo",
            "init",
            "config",
            "doctor",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// Words that people try for a command, apart from its name and its aliases.
const ALTERNATIVE_NAMES: &[(&str, &str)] = &[
    ("continue", "resume"),
    ("draw", "show"),
    ("execute", "run"),
    ("generate", "create"),
    ("invoke", "call"),
    ("lint", "check"),
    ("new", "init"),
    ("pending", "waiting"),
    ("plan", "create"),
    ("plans", "list"),
    ("ps", "runs"),
    ("remove", "delete"),
    ("rm", "delete"),
    ("setup", "init"),
    ("start", "run"),
    ("test", "check"),
    ("verify", "check"),
];

/// The widest help, in columns.
const MAX_COLUMNS: usize = 110;

/// Parses the command line. Exits the process after `--help`, `--version` or a usage error.
pub(crate) fn parse() -> Arguments {
    let command = command(Printer::data_width().min(MAX_COLUMNS));
    let matches = command.clone().try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    arguments.unwrap_or_else(|error| {
        let first = std::env::args().skip(1).find(|word| !word.starts_with('-'));
        with_hint(error, first.as_deref(), &command).exit()
    })
}

/// The command line, whose help lists the commands by subject in lines of at most `columns`.
fn command(columns: usize) -> Command {
    let command = Arguments::command();
    let list = list(&command, columns);
    let heading = *command.get_styles().get_header();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{heading}Options:{heading:#}\n{{options}}\n\n\
         `planwright help COMMAND` explains a command, `planwright man` prints the manual.\n"
    ))
}

/// Returns a heading for each subject, and a line for each command below it.
fn list(command: &Command, columns: usize) -> String {
    let styles = command.get_styles();
    let (heading, literal) = (styles.get_header(), styles.get_literal());
    let names = SUBJECTS.iter().flat_map(|(_, names)| *names);
    let indentation = names.map(|name| name.len()).max().unwrap_or(0) + 4;
    let mut text = String::new();
    for (subject, names) in SUBJECTS {
        let _ = writeln!(text, "{heading}{subject}:{heading:#}");
        for name in *names {
            let about = match command.find_subcommand(name) {
                Some(found) => found
                    .get_about()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                None => "Explain a command".to_owned(),
            };
            let blanks = " ".repeat(indentation - 2 - name.len());
            let about = filled(
                about.trim_end_matches('.'),
                columns.saturating_sub(indentation),
                0,
            );
            let about = about.replace('\n', &format!("\n{}", " ".repeat(indentation)));
            let _ = writeln!(text, "  {literal}{name}{literal:#}{blanks}{about}");
        }
        text.push('\n');
    }
    text
}

/// Replaces clap's suggestion for an unknown command by one that knows the alternative names, too. Only the `first` word of the
/// command line is a command.
fn with_hint(mut error: clap::Error, first: Option<&str>, command: &Command) -> clap::Error {
    let is_unknown = error.kind() == ErrorKind::InvalidSubcommand;
    let Some(ContextValue::String(word)) = error
        .get(ContextKind::InvalidSubcommand)
        .filter(|_| is_unknown)
    else {
        return error;
    };
    if first != Some(word) {
        return error;
    }
    match suggested_command(word, command) {
        Some(name) => {
            let names = ContextValue::Strings(vec![name]);
            error.insert(ContextKind::SuggestedSubcommand, names);
        }
        None => {
            error.remove(ContextKind::SuggestedSubcommand);
        }
    }
    error
}

/// Returns the command that an unknown word probably means; `None` if no name is similar.
fn suggested_command(word: &str, command: &Command) -> Option<String> {
    let alternative = ALTERNATIVE_NAMES.iter().find(|(other, _)| *other == word);
    if let Some((_, name)) = alternative {
        return Some((*name).to_owned());
    }
    let commands = command.get_subcommands();
    let names = commands.flat_map(|command| {
        let name = std::iter::once(command.get_name());
        name.chain(command.get_all_aliases())
    });
    let name = nearest(word, names)?;
    let found = command.find_subcommand(name)?;
    Some(found.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_has_one_subject() {
        let command = Arguments::command();
        let known: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let listed: Vec<&str> = SUBJECTS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .filter(|name| *name != "help")
            .collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len());
    }

    #[test]
    fn habits_are_no_commands_and_lead_to_some() {
        let command = Arguments::command();
        for (habit, name) in ALTERNATIVE_NAMES {
            assert!(command.find_subcommand(habit).is_none(), "{habit}");
            let found = command.find_subcommand(name).unwrap();
            assert_eq!(found.get_name(), *name, "{habit}");
        }
    }

    #[test]
    fn misspelt_commands_lead_to_the_right_one() {
        let command = Arguments::command();
        for (word, expected) in [
            ("rnu", Some("run")),
            ("chekc", Some("check")),
            ("server", Some("servers")),
            ("validat", Some("check")),
            ("histroy", Some("runs")),
            ("explian", Some("explain")),
            ("start", Some("run")),
            ("plan", Some("create")),
            ("pending", Some("waiting")),
            ("frobnicate", None),
        ] {
            assert_eq!(
                suggested_command(word, &command).as_deref(),
                expected,
                "{word}"
            );
        }
        for (alias, name) in [
            ("validate", "check"),
            ("graph", "show"),
            ("ls", "runs"),
            ("history", "runs"),
            ("status", "runs"),
            ("exec", "run"),
        ] {
            let found = command.find_subcommand(alias).unwrap();
            assert_eq!(found.get_name(), name, "{alias}");
        }
    }

    #[test]
    fn help_is_no_wider_than_the_terminal() {
        for columns in [60, 80, 100] {
            let list = list(&Arguments::command(), columns);
            let plain = anstream::adapter::strip_str(&list).to_string();
            for line in plain.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }
}
