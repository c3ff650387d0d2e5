//! `planwright wrap`: puts the gateway in front of the servers of a client, and removes it again.

use std::path::{Path, PathBuf};

use planwright::config::is_tool_pattern;
use planwright::core::Value;
use planwright::format::{
    CarriedRuleV1, CarriedRulesV1, DroppedFieldV1, RenamedServerV1, StayingServerV1, WrapV1,
    WrappedFileV1,
};

use super::client::Client;
use super::converted::{behind, read_converted, write_converted};
use super::edit::{EditError, Section, names_file};
use super::own_rules::RulesChange;
use super::place::{GatewayFiles, PathEnvironment, ServerListPlace};
use super::rules::{ClientRule, RuleList};
use super::switches::Switches;
use crate::args::{Format, RunFormat, WrapArguments};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::printer::Printer;

/// `planwright wrap [CLIENT|FILE]`
pub(crate) fn wrap(arguments: &WrapArguments, printer: Printer) -> Result<Exit, CommandError> {
    let Some(target) = &arguments.target else {
        return super::overview::overview(arguments.format, printer);
    };
    let mut places = places(target, arguments)?;
    if arguments.undo {
        // One file may have two lists: the last change is undone first.
        places.reverse();
    }
    let around = PathEnvironment::of_process()?;
    let mut done = Vec::new();
    for place in &places {
        let file = if arguments.undo {
            undo(place, &around, arguments.dry_run)?
        } else {
            put_in_front(place, &around, arguments.dry_run)?
        };
        done.extend(file);
    }
    if done.is_empty() && !arguments.undo {
        return Err(no_servers_error(&places));
    }
    let is_client = Client::named(target).is_some();
    if done.is_empty() && !is_client {
        // Nothing was moved from a file that does not exist: its name is misspelt.
        let file = Path::new(target);
        std::fs::metadata(file).map_err(|error| CommandError::unreadable(file, &error))?;
    }
    let is_done = done.iter().all(|file| file.problem.is_none());
    let report = WrapV1::new(arguments.undo, arguments.dry_run, done);
    match arguments.format {
        Format::Json => output::json(&report, RunFormat::Json, printer)?,
        Format::Text => super::report::print(&report, printer),
    }
    Ok(if is_done { Exit::Success } else { Exit::Failed })
}

/// The lists of servers that the arguments are about.
fn places(target: &str, arguments: &WrapArguments) -> Result<Vec<ServerListPlace>, CommandError> {
    if let Some(client) = Client::named(target) {
        let places = client.places(&PathEnvironment::of_process()?).into_iter();
        let scope = arguments.scope;
        let wanted = places.filter(|place| scope.is_none_or(|scope| place.scope == Some(scope)));
        return Ok(wanted.collect());
    }
    let file = PathBuf::from(target);
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(vec![ServerListPlace::named(file, &text)]),
        // Servers that were moved from a file are found even if the file no longer exists.
        Err(error) if arguments.undo && error.kind() == std::io::ErrorKind::NotFound => {
            Ok(ServerListPlace::deleted(&file))
        }
        Err(error) => {
            let is_word = !target.contains(['/', '\\', '.']);
            let error = CommandError::unreadable(&file, &error);
            if is_word {
                return Err(error.hint(format!("known clients are {}", Client::names())));
            }
            Err(error)
        }
    }
}

fn no_servers_error(places: &[ServerListPlace]) -> CommandError {
    let mut files: Vec<String> = Vec::new();
    for place in places {
        let file = format!("`{}`", place.file.display());
        if !files.contains(&file) {
            files.push(file);
        }
    }
    if files.is_empty() {
        return CommandError::new("the client has no servers of that scope");
    }
    CommandError::new("there are no servers to wrap")
        .hint(format!("looked in {}", files.join(", ")))
}

/// Puts the gateway in front of the servers of one list; `None` if there are none.
fn put_in_front(
    place: &ServerListPlace,
    around: &PathEnvironment,
    dry_run: bool,
) -> Result<Option<WrappedFileV1>, CommandError> {
    let Some(text) = super::place::read(&place.file)? else {
        return Ok(None);
    };
    let path = path(place);
    let explain = |problem| explain(&place.file, problem);
    let listed = super::edit::servers(place.syntax, &text, &path).map_err(explain)?;
    if listed.is_none_or(|servers| servers.is_empty()) {
        return Ok(None);
    }
    let gateway_files = GatewayFiles::of(place)?;
    let known = super::place::read(&gateway_files.servers)?;
    let known_entries = super::place::read(&gateway_files.entries)?;
    let file = gateway_files.servers.display().to_string();
    let section = section(place, &path, entry(place, &file)?, &file);
    let switches = Switches::of(place, around)?;
    let stays = |name: &str, server: &Value| switches.stays(name, server);
    let wrapped = super::edit::wrap(&text, known.as_deref(), &section, &stays).map_err(explain)?;
    let changed = !wrapped.moved.is_empty();
    if changed {
        switches.check(&place.entry)?;
    }
    let mut report = report(place, &gateway_files);
    report.stay = wrapped
        .stay
        .into_iter()
        .map(|(server, because)| StayingServerV1 { server, because })
        .collect();
    report.moved = wrapped.moved;
    report.dropped = wrapped
        .dropped
        .into_iter()
        .map(|(server, field)| DroppedFieldV1 { server, field })
        .collect();
    let mut converted = read_converted(&gateway_files, known_entries.as_deref())?;
    let is_converted = !wrapped.converted.is_empty();
    // A server of that name that a person removed from our file is another one.
    converted.retain(|known| !report.moved.contains(&known.name));
    converted.extend(wrapped.converted);
    // Servers that moved before are included: the client's rules may have changed.
    let behind = behind(&wrapped.gateway_text, &converted);
    let listed = servers(place, &text);
    let rules = client_rules(place, around, &listed, &behind)?;
    let (left, carried): (Vec<_>, Vec<_>) = rules.iter().partition(|rule| rule.is_refused());
    let change = RulesChange::add_rules(&gateway_files, &carried)?;
    report.changed = changed || change.is_some();
    if report.changed && !rules.is_empty() {
        report.rules = Some(carried_rules(
            &gateway_files,
            &carried,
            &left,
            change.as_ref(),
        ));
    }
    if !changed {
        report.backup = None;
        if let (Some(change), false) = (&change, dry_run) {
            change.write()?;
        }
    } else if dry_run {
        report.difference = super::report::difference(&text, &wrapped.client, &listed);
        report.backup = None;
    } else {
        if known.is_none() {
            super::place::write_private(&gateway_files.backup, &text)?;
        }
        super::place::write_private(&gateway_files.servers, &wrapped.gateway_text)?;
        let recorded = if is_converted {
            write_converted(&gateway_files, &converted)
        } else {
            Ok(())
        };
        // The rules are written first, so that they apply to every call through the gateway.
        let ruled = recorded.and_then(|()| change.as_ref().map_or(Ok(()), RulesChange::write));
        let done =
            ruled.and_then(|()| super::place::replace_client(&place.file, &text, &wrapped.client));
        if let Err(error) = done {
            for (file, before) in [
                (&gateway_files.servers, known),
                (&gateway_files.entries, known_entries),
            ] {
                match before {
                    Some(before) => super::place::write_private(file, &before)?,
                    None => super::place::remove(file)?,
                }
            }
            if let Some(change) = &change {
                change.revert()?;
            }
            return Err(error);
        }
    }
    Ok(Some(report))
}

/// Puts the servers of one list back; `None` if none were moved.
fn undo(
    place: &ServerListPlace,
    around: &PathEnvironment,
    dry_run: bool,
) -> Result<Option<WrappedFileV1>, CommandError> {
    let gateway_files = GatewayFiles::of(place)?;
    let path = path(place);
    let file = gateway_files.servers.display().to_string();
    let text = super::place::read(&place.file)?;
    let Some(wrapped) = super::place::read(&gateway_files.servers)? else {
        let entry = text.and_then(|text| servers(place, &text).get(&place.entry).cloned());
        let is_ours = entry.is_some_and(|entry| names_file(&entry, &file));
        return Ok(is_ours.then(|| {
            let problem = format!(
                "`{}` still starts the gateway with `{file}`, which is gone with the servers in it",
                place.entry
            );
            unrestored(place, &gateway_files, problem)
        }));
    };
    let Some(text) = text else {
        let problem = format!("it is gone; its servers are in `{file}`");
        return Ok(Some(unrestored(place, &gateway_files, problem)));
    };
    // The current path is used, because the program may have moved since the entry was written.
    let entry = servers(place, &text).get(&place.entry).cloned();
    let section = section(place, &path, entry.unwrap_or_default(), &file);
    let converted = super::place::read(&gateway_files.entries)?;
    let converted = read_converted(&gateway_files, converted.as_deref())?;
    let mut restored = super::edit::unwrap(&text, &wrapped, &converted, &section)
        .map_err(|problem| explain(&place.file, problem))?;
    let backup = super::place::read(&gateway_files.backup)?;
    let switches = Switches::of(place, around)?;
    let stays = |name: &str, server: &Value| switches.stays(name, server);
    let as_it_was = backup.filter(|backup| {
        let again = super::edit::wrap(backup, None, &section, &stays);
        again.is_ok_and(|again| again.client == text && again.gateway_text == wrapped)
    });
    let is_exact = as_it_was.is_some();
    let mut report = report(place, &gateway_files);
    if let Some(backup) = as_it_was {
        restored.client = backup;
        restored.left = None;
    }
    let (left, gateway_text) = restored.left.unzip();
    report.stay = left
        .into_iter()
        .flatten()
        .map(|server| StayingServerV1 {
            server,
            because: "no client but planwright reads OpenAPI documents".to_owned(),
        })
        .collect();
    report.changed = true;
    report.returned = restored.returned;
    report.renamed = restored
        .renamed
        .into_iter()
        .map(|(server, now)| RenamedServerV1 { server, now })
        .collect();
    let change = RulesChange::remove_rules(&gateway_files)?;
    if change.is_some() {
        report.rules = Some(carried_rules(&gateway_files, &[], &[], change.as_ref()));
    }
    if dry_run {
        let shown = servers(place, &restored.client);
        report.difference = super::report::difference(&text, &restored.client, &shown);
        return Ok(Some(report));
    }
    super::place::replace_client(&place.file, &text, &restored.client)?;
    // The file of the servers goes last: while it is there, an undo that failed here can be repeated.
    if let Some(change) = change {
        change.write()?;
    }
    super::place::remove(&gateway_files.entries)?;
    match gateway_text {
        Some(text) => super::place::write_private(&gateway_files.servers, &text)?,
        None => super::place::remove(&gateway_files.servers)?,
    }
    if is_exact {
        super::place::remove(&gateway_files.backup)?;
        report.backup = None;
    }
    Ok(Some(report))
}

/// Returns the client's rules about the servers `behind` the gateway, without duplicates. Rules in `client` are current; the others are
/// older.
fn client_rules(
    place: &ServerListPlace,
    around: &PathEnvironment,
    client: &Value,
    behind: &Value,
) -> Result<Vec<ClientRule>, CommandError> {
    let entries = |servers: &Value| servers.as_object().cloned().unwrap_or_default();
    let (client, behind) = (entries(client), entries(behind));
    let names = |servers: &planwright::core::Object| -> Vec<String> {
        servers.keys().map(ToString::to_string).collect()
    };
    let moved = names(&behind);
    let all = [names(&client), moved.clone()].concat();
    let is_own = place.is_own(around);
    let file = place.file.display().to_string();
    let mut found = Vec::new();
    for (server, entry) in &behind {
        found.extend(super::rules::of_entry(server, entry, &file, is_own));
    }
    for file in place.rule_files(around)? {
        let rules = super::rules::of_file(&file, &moved, &all).map_err(|error| {
            CommandError::new(format!("`{}` is not JSON: {error}", file.name))
                .hint("its tool rules must also apply behind the gateway: fix it, then try again")
        })?;
        found.extend(rules);
    }
    let mut rules: Vec<ClientRule> = Vec::new();
    for rule in found {
        if !rule.is_refused() && !is_tool_pattern(&rule.pattern) {
            let message = format!(
                "the rule `{}` in `{}` is about `{}`, which cannot be expressed in planwright.toml",
                rule.written, rule.file, rule.pattern
            );
            return Err(CommandError::new(message)
                .hint("nothing was changed; remove the rule, or give the server another name"));
        }
        let is_known = rules.iter().any(|known| {
            known.list == rule.list
                && known.pattern == rule.pattern
                && known.is_refused() == rule.is_refused()
        });
        if !is_known {
            rules.push(rule);
        }
    }
    Ok(rules)
}

fn carried_rules(
    gateway_files: &GatewayFiles,
    carried: &[&ClientRule],
    left: &[&ClientRule],
    change: Option<&RulesChange>,
) -> CarriedRulesV1 {
    let to_wire = |rule: &ClientRule| CarriedRuleV1 {
        tools: rule.pattern.clone(),
        rule: rule.written.clone(),
        from: rule.file.clone(),
    };
    let of = |list: RuleList| {
        let rules = carried.iter().filter(|rule| rule.list == list);
        rules.map(|rule| to_wire(rule)).collect()
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut difference = change.map_or_else(Vec::new, |change| {
        super::report::difference(&text(&change.before), &text(&change.after), &Value::Null)
    });
    difference.retain(|line| line.starts_with(['+', '-']));
    CarriedRulesV1 {
        file: gateway_files.settings.display().to_string(),
        no_ask: of(RuleList::NoAsk),
        ask: of(RuleList::Ask),
        deny: of(RuleList::Deny),
        left: left.iter().map(|rule| to_wire(rule)).collect(),
        difference,
    }
}

fn report(place: &ServerListPlace, gateway_files: &GatewayFiles) -> WrappedFileV1 {
    WrappedFileV1 {
        path: place.file.display().to_string(),
        scope: place.scope.map(crate::args::WrapScope::word),
        entry: place.entry.clone(),
        servers_file: gateway_files.servers.display().to_string(),
        backup: Some(gateway_files.backup.display().to_string()),
        ..WrappedFileV1::default()
    }
}

/// The report about a list that cannot be restored.
fn unrestored(
    place: &ServerListPlace,
    gateway_files: &GatewayFiles,
    problem: String,
) -> WrappedFileV1 {
    let mut report = report(place, gateway_files);
    report.problem = Some(problem);
    if !gateway_files.backup.is_file() {
        report.backup = None;
    }
    report
}

/// The entry that starts the gateway, as the client writes it.
fn entry(place: &ServerListPlace, servers: &str) -> Result<Value, CommandError> {
    let args = ["serve", "--servers", servers].map(Value::from);
    let fields = [
        ("command", Value::from(super::place::this_program()?)),
        ("args", Value::list(args)),
    ];
    let timeout = place.form.gateway_timeout;
    let timeout = timeout.map(|timeout| ("timeout", Value::from(timeout)));
    let entry = Value::object(fields.into_iter().chain(timeout));
    Ok(place.form.restore(&place.entry, &entry))
}

fn section<'a>(
    place: &'a ServerListPlace,
    path: &'a [&'a str],
    entry: Value,
    file: &'a str,
) -> Section<'a> {
    Section {
        syntax: place.syntax,
        form: place.form,
        path,
        name: &place.entry,
        entry,
        file,
    }
}

/// The servers of a client's file, as a value.
pub(super) fn servers(place: &ServerListPlace, text: &str) -> Value {
    let path = path(place);
    let found = super::edit::servers(place.syntax, text, &path)
        .ok()
        .flatten();
    Value::object(found.into_iter().flatten())
}

pub(super) fn path(place: &ServerListPlace) -> Vec<&str> {
    place.path.iter().map(String::as_str).collect()
}

fn explain(file: &Path, problem: EditError) -> CommandError {
    CommandError::new(format!(
        "`{}` cannot be changed: {}",
        file.display(),
        problem.message
    ))
    .hint(problem.help)
}
