//! The page about all commands, generated from clap's definitions, like `--help`.

use std::fmt::Write;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command, CommandFactory};
use planwright_testkit::generated;

use super::Arguments;

const HEAD: &str = "\
# Commands

<!-- `cargo xtask generate` makes this page of what `--help` prints. -->

`planwright COMMAND --help` prints the same in a terminal. Standard output has the data, standard error the messages; see
[operating](../guide/operating.md).
";

/// The heading of options that name none.
const OPTIONS: &str = "Options";

#[test]
fn generated_page_of_commands() {
    generated::check("docs/reference/commands.md", &page());
}

fn page() -> String {
    let mut root = Arguments::command();
    root.build();
    let mut text = HEAD.to_owned();
    describe_all(&root, &mut text);
    text += "\n## Global options\n\n";
    for argument in root.get_arguments().filter(|argument| is_global(argument)) {
        text += &item(argument);
    }
    text
}

fn describe_all(command: &Command, text: &mut String) {
    let commands = command.get_subcommands();
    for command in commands.filter(|command| command.get_name() != "help") {
        describe(command, text);
        describe_all(command, text);
    }
}

fn describe(command: &Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut about = ended(about.trim_end());
    let aliases = command.get_visible_aliases();
    let aliases: Vec<String> = aliases.map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        write!(about, "\n\nAlso {}.", aliases.join(", ")).unwrap();
    }
    write!(text, "\n## {name}\n\n{about}\n\n```text\n{usage}\n```\n").unwrap();
    let mut headings: Vec<&str> = Vec::new();
    for argument in described(command) {
        let heading = heading(argument);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for wanted in headings {
        write!(text, "\n**{wanted}**\n\n").unwrap();
        for argument in described(command).filter(|argument| heading(argument) == wanted) {
            *text += &item(argument);
        }
    }
}

/// The arguments and then the options of a command, without those that every command has.
fn described(command: &Command) -> impl Iterator<Item = &Arg> {
    let options = command
        .get_arguments()
        .filter(|argument| !argument.is_positional());
    command
        .get_positionals()
        .chain(options)
        .filter(|argument| !is_global(argument) && !is_help_or_version(argument))
}

/// Returns true if it is `--help` or `--version`.
fn is_help_or_version(argument: &Arg) -> bool {
    !matches!(
        argument.get_action(),
        ArgAction::Set | ArgAction::Append | ArgAction::SetTrue
    )
}

fn is_global(argument: &Arg) -> bool {
    argument.is_global_set()
}

fn heading(argument: &Arg) -> &str {
    match argument.get_help_heading() {
        Some(heading) => heading,
        None if argument.is_positional() => "Arguments",
        None => OPTIONS,
    }
}

/// Returns the description of an argument, as an item of a list.
fn item(argument: &Arg) -> String {
    let takes_value = argument.get_action().takes_values();
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let aliases = argument.get_visible_aliases().unwrap_or_default();
    let aliases = aliases.iter().map(|alias| format!("--{alias}"));
    let names: Vec<String> = short.into_iter().chain(long).chain(aliases).collect();
    let mut name = names.join(", ");
    if takes_value {
        let values = argument.get_value_names().unwrap_or_default();
        let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
        name = format!("{name} {}", values.join(" ")).trim().to_owned();
    }
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut text = format!("- `{name}`: {}", ended(&help));
    let values: Vec<PossibleValue> = if takes_value {
        argument.get_possible_values()
    } else {
        Vec::new()
    };
    if !values.is_empty() {
        let values: Vec<String> = values.iter().map(value).collect();
        write!(text, " One of {}.", values.join(", ")).unwrap();
    }
    let default: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if takes_value && !default.is_empty() {
        write!(text, " Default: {}.", default.join(" ")).unwrap();
    }
    text + "\n"
}

fn value(value: &PossibleValue) -> String {
    let name = value.get_name();
    match value.get_help() {
        Some(help) => format!("`{name}` ({})", decapitalised(&help.to_string())),
        None => format!("`{name}`"),
    }
}

fn decapitalised(text: &str) -> String {
    let mut letters = text.chars();
    if letters.clone().nth(1).is_some_and(char::is_uppercase) {
        return text.to_owned();
    }
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

fn ended(text: &str) -> String {
    let text = text.trim_end_matches('.');
    format!("{text}.")
}
