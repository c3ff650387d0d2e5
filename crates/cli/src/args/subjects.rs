//! The commands by subject, as `--help` lists them.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches};

use super::Arguments;
use super::tips::with_tip;
use crate::error::Exit;
use crate::view::paragraph::filled;
use crate::view::printer::Printer;

/// The commands of each subject, in the order of `--help`.
const SUBJECTS: &[(&str, &[&str])] = &[
    (
        "Plans",
        &[
            "check", "explain", "flow", "lsp", "show", "convert", "save", "learn", "list", "delete",
        ],
    ),
    (
        "Runs",
        &[
            "run", "call", "resume", "revert", "runs", "logs", "attach", "cancel", "replay",
            "diff", "export", "import", "prune", "ui",
        ],
    ),
    ("Decisions", &["waiting", "approve", "reject", "passphrase"]),
    ("Models", &["create", "ask", "chat", "dates"]),
    ("Servers and tools", &["servers", "tools", "trust", "login"]),
    ("Gateway", &["serve", "health", "wrap", "token"]),
    ("Workflow engines", &["worker"]),
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

/// Maximum width of help, in columns.
const MAX_COLUMNS: usize = 110;

/// Parses the command line. For `--help`, `--version` and a usage error, prints the text and returns the exit status instead.
pub(crate) fn parse() -> Result<Arguments, ExitCode> {
    let command = command(Printer::data_width().min(MAX_COLUMNS));
    let matches = command.clone().try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    arguments.map_err(|error| {
        // An argument, such as a path, need not be UTF-8.
        let words = std::env::args_os().skip(1);
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let error = with_tip(error, &words, &command);
        let printed = error.print().and_then(|()| std::io::stdout().flush());
        let is_lost = printed.is_err_and(|error| error.kind() != ErrorKind::BrokenPipe);
        if is_lost && !error.use_stderr() {
            ExitCode::from(Exit::Internal.code())
        } else {
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code()))
        }
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
