//! Tips for commands and options that do not exist: the most likely intended ones.

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use planwright::dialects::document::nearest;

/// Names of commands in other programs, each with the command here.
const COMMAND_SYNONYMS: &[(&str, &str)] = &[
    ("abort", "cancel"),
    ("cat", "show"),
    ("continue", "resume"),
    ("describe", "show"),
    ("draw", "show"),
    ("dry-run", "run --dry-run"),
    ("execute", "run"),
    ("generate", "create"),
    ("halt", "cancel"),
    ("info", "show"),
    ("inspect", "show"),
    ("invoke", "call"),
    ("kill", "cancel"),
    ("lint", "check"),
    ("mcp", "servers"),
    ("new", "init"),
    ("pending", "waiting"),
    ("plan", "create"),
    ("plans", "list"),
    ("ps", "runs"),
    ("remove", "delete"),
    ("rm", "delete"),
    ("rollback", "revert"),
    ("setup", "init"),
    ("start", "run"),
    ("stop", "cancel"),
    ("tail", "logs"),
    ("test", "check"),
    ("undo", "revert"),
    ("verify", "check"),
    ("view", "show"),
    ("visualize", "show"),
    ("viz", "show"),
];

/// Options of other programs, each with the option that has the intended effect, if the command has it.
const OPTION_SYNONYMS: &[(&str, &str)] = &[
    ("concurrency", "max-parallel"),
    ("input", "var"),
    ("inputs", "var"),
    ("jobs", "max-parallel"),
    ("json", "format json"),
    ("quiet", "progress none"),
    ("set-var", "var"),
    ("tail", "follow"),
    ("yes", "approve all"),
];

/// Options of `run` that people try in order to begin in the middle of a plan.
const FROM_STEP: &[&str] = &["from-step", "only", "start-at", "start-from", "step"];

/// The tip for the options in [`FROM_STEP`].
const RETRY_TIP: &str = "`planwright resume RUN --retry STEP` calls a step of a stored run again; finished steps stay finished";

/// Replaces the suggestion for an unknown command or option by a better one, which takes the names in other programs into account.
/// `words` is the command line.
pub(super) fn with_tip(mut error: clap::Error, words: &[String], command: &Command) -> clap::Error {
    let first = words.iter().find(|word| !word.starts_with('-'));
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(word) = text(ContextKind::InvalidSubcommand) else {
                return error;
            };
            // For an unknown subcommand of a command, the suggestion of clap is kept.
            if first != Some(&word) {
                return error;
            }
            error.remove(ContextKind::SuggestedSubcommand);
            if word == "version" {
                let version = ContextValue::String("--version".to_owned());
                error.insert(ContextKind::SuggestedArg, version);
            } else if let Some(name) = intended_command(&word, command) {
                let names = ContextValue::Strings(vec![name]);
                error.insert(ContextKind::SuggestedSubcommand, names);
            }
        }
        ErrorKind::UnknownArgument => {
            // The option belongs to a subcommand but stands before it; clap says so.
            if error.get(ContextKind::SuggestedSubcommand).is_some() {
                return error;
            }
            let option = text(ContextKind::InvalidArg);
            let option = option
                .as_deref()
                .and_then(|option| option.strip_prefix("--"));
            let (Some(option), Some(command)) = (option, invoked_command(words, command)) else {
                return error;
            };
            if command.get_name() == "run" && FROM_STEP.contains(&option) {
                error.remove(ContextKind::SuggestedArg);
                let tip = ContextValue::StyledStrs(vec![StyledStr::from(RETRY_TIP)]);
                error.insert(ContextKind::Suggested, tip);
            } else if let Some(meant) = intended_option(option, command) {
                error.remove(ContextKind::Suggested);
                let meant = ContextValue::String(format!("--{meant}"));
                error.insert(ContextKind::SuggestedArg, meant);
            }
        }
        _ => {}
    }
    error
}

/// Returns the innermost command that the words name.
fn invoked_command<'a>(words: &[String], command: &'a Command) -> Option<&'a Command> {
    let mut words = words.iter().filter(|word| !word.starts_with('-'));
    let command = command.find_subcommand(words.next()?)?;
    let inner = words.next().and_then(|word| command.find_subcommand(word));
    Some(inner.unwrap_or(command))
}

/// Returns the command that an unknown word probably means.
fn intended_command(word: &str, command: &Command) -> Option<String> {
    let synonym = COMMAND_SYNONYMS
        .iter()
        .find(|(synonym, _)| *synonym == word);
    if let Some((_, name)) = synonym {
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

/// Returns the option of `command` that an unknown one probably means, without its dashes.
fn intended_option(option: &str, command: &Command) -> Option<String> {
    let names = command.get_arguments().filter(|known| !known.is_hide_set());
    let names: Vec<&str> = names
        .filter_map(clap::Arg::get_long_and_visible_aliases)
        .flatten()
        .collect();
    let has = |meant: &str| {
        meant
            .split(' ')
            .next()
            .is_some_and(|name| names.contains(&name))
    };
    let synonym = OPTION_SYNONYMS
        .iter()
        .find(|(synonym, meant)| *synonym == option && has(meant));
    if let Some((_, meant)) = synonym {
        return Some((*meant).to_owned());
    }
    let near = nearest(option, names.iter().copied());
    // `--base-url` for `--model-base-url`, `--output-format` for `--format`.
    let ends = |long: &str, short: &str| {
        let rest = long.strip_suffix(short);
        rest.is_some_and(|rest| rest.ends_with('-'))
    };
    let mut similar = names
        .iter()
        .copied()
        .filter(|name| ends(name, option) || ends(option, name));
    let only = match (similar.next(), similar.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    };
    near.or(only).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Arguments;
    use super::*;

    #[test]
    fn synonyms_are_no_commands_and_suggest_one() {
        let command = Arguments::command();
        for (synonym, meant) in COMMAND_SYNONYMS {
            assert!(command.find_subcommand(synonym).is_none(), "{synonym}");
            let name = meant.split(' ').next().unwrap();
            let found = command.find_subcommand(name).unwrap();
            assert_eq!(found.get_name(), name, "{synonym}");
        }
    }

    #[test]
    fn misspelt_commands_suggest_the_intended_one() {
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
                intended_command(word, &command).as_deref(),
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
    fn synonyms_of_options_suggest_an_option() {
        let command = Arguments::command();
        for (synonym, _) in OPTION_SYNONYMS {
            let mut commands = command.get_subcommands();
            let leads = commands.any(|command| intended_option(synonym, command).is_some());
            assert!(leads, "{synonym}");
        }
    }

    fn check_option(name: &str, option: &str, expected: Option<&str>) {
        let command = Arguments::command();
        let command = command.find_subcommand(name).unwrap();
        let meant = intended_option(option, command);
        assert_eq!(meant.as_deref(), expected, "{name} --{option}");
    }

    #[test]
    fn unknown_options_suggest_the_intended_one() {
        check_option("create", "base-url", Some("model-base-url"));
        check_option("run", "server", Some("servers"));
        check_option("run", "output-format", Some("format"));
        check_option("run", "jobs", Some("max-parallel"));
        check_option("run", "yes", Some("approve all"));
        check_option("runs", "json", Some("format json"));
        check_option("logs", "tail", Some("follow"));
        check_option("run", "dryrun", Some("dry-run"));
        check_option("explain", "yes", None);
        check_option("run", "frobnicate", None);
    }
}
