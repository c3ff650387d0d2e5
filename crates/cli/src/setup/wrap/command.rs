//! `planwright wrap`: puts the gateway in front of the servers of a client, and removes it again.

use std::path::{Path, PathBuf};

use planwright::config::is_tool_pattern;
use planwright::core::Value;
use planwright::format::{
    CarriedRuleV1, CarriedRulesV1, RenamedServerV1, StayingServerV1, WrapV1, WrappedFileV1,
};

use super::edit::ObjectText;
use super::edit::{EditError, Section};
use super::own_rules::RulesChange;
use super::place::{GatewayFiles, KnownClient, PathEnvironment, ServerListPlace};
use super::rules::{ClientRule, RuleList};
use crate::args::{Format, RunFormat, WrapArguments};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::printer::Printer;

/// `planwright wrap CLIENT|FILE`
pub(crate) fn wrap(arguments: &WrapArguments, printer: Printer) -> Result<Exit, CommandError> {
    let mut places = places(arguments)?;
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
    let report = WrapV1::new(arguments.undo, arguments.dry_run, done);
    match arguments.format {
        Format::Json => output::json(&report, RunFormat::Json, printer)?,
        Format::Text => super::report::print(&report, printer),
    }
    Ok(Exit::Success)
}

/// The lists of servers that the arguments are about.
fn places(arguments: &WrapArguments) -> Result<Vec<ServerListPlace>, CommandError> {
    if let Some(client) = KnownClient::named(&arguments.target) {
        let places = client.places(&PathEnvironment::of_process()?).into_iter();
        let scope = arguments.scope;
        let wanted = places.filter(|place| scope.is_none_or(|scope| place.scope == Some(scope)));
        return Ok(wanted.collect());
    }
    let file = PathBuf::from(&arguments.target);
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let is_word = !arguments.target.contains(['/', '\\', '.']);
        let error = CommandError::unreadable(&file, &error);
        if is_word {
            return error.hint("known clients are claude-code, claude-desktop, cursor and vscode");
        }
        error
    })?;
    let has = |name: &str| ObjectText::find(&text, &[name]).is_ok_and(|found| found.is_some());
    let is_vs_code = !has("mcpServers") && has("servers");
    Ok(vec![ServerListPlace::named(file, is_vs_code)])
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
    if !super::edit::has_servers(&text, &path).map_err(explain)? {
        return Ok(None);
    }
    let gateway_files = GatewayFiles::of(place)?;
    let known = super::place::read(&gateway_files.servers)?;
    let file = gateway_files.servers.display().to_string();
    let section = Section {
        path: &path,
        name: place.entry,
        entry: entry(place, &file)?,
        file: &file,
    };
    let is_own = place.is_own(around);
    let stays = |name: &str, server: &Value| super::report::reason(name, server, is_own);
    let wrapped = super::edit::wrap(&text, known.as_deref(), &section, &stays).map_err(explain)?;
    let changed = !wrapped.moved.is_empty();
    let mut report = report(place, &gateway_files);
    report.stay = wrapped
        .stay
        .into_iter()
        .map(|(server, because)| StayingServerV1 { server, because })
        .collect();
    report.moved = wrapped.moved;
    // Servers that moved before are included: the client's rules may have changed.
    let behind = servers(&wrapped.gateway_text, super::edit::GATEWAY_SERVERS);
    let rules = client_rules(place, around, &servers(&text, &path), &behind)?;
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
        report.difference =
            super::report::difference(&text, &wrapped.client, &servers(&text, &path));
        report.backup = None;
    } else {
        if known.is_none() {
            super::place::write_private(&gateway_files.backup, &text)?;
        }
        super::place::write_private(&gateway_files.servers, &wrapped.gateway_text)?;
        // The rules are written first, so that they apply to every call through the gateway.
        let ruled = change.as_ref().map_or(Ok(()), RulesChange::write);
        let done =
            ruled.and_then(|()| super::place::replace_client(&place.file, &text, &wrapped.client));
        if let Err(error) = done {
            match known {
                Some(known) => super::place::write_private(&gateway_files.servers, &known)?,
                None => super::place::remove(&gateway_files.servers)?,
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
    let Some(wrapped) = super::place::read(&gateway_files.servers)? else {
        return Ok(None);
    };
    let Some(text) = super::place::read(&place.file)? else {
        return Err(
            CommandError::new(format!("`{}` is gone", place.file.display()))
                .hint(format!(
                    "its servers are in `{}`",
                    gateway_files.servers.display()
                ))
                .hint(format!(
                    "the backup is `{}`",
                    gateway_files.backup.display()
                )),
        );
    };
    let path = path(place);
    let file = gateway_files.servers.display().to_string();
    let section = Section {
        path: &path,
        name: place.entry,
        // The current path is used, because the program may have moved since the entry was written.
        entry: servers(&text, &path)
            .get(place.entry)
            .cloned()
            .unwrap_or_default(),
        file: &file,
    };
    let mut restored = super::edit::unwrap(&text, &wrapped, &section)
        .map_err(|problem| explain(&place.file, problem))?;
    let backup = super::place::read(&gateway_files.backup)?;
    let is_own = place.is_own(around);
    let stays = |name: &str, server: &Value| super::report::reason(name, server, is_own);
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
        let shown = servers(&restored.client, &path);
        report.difference = super::report::difference(&text, &restored.client, &shown);
        return Ok(Some(report));
    }
    super::place::replace_client(&place.file, &text, &restored.client)?;
    match gateway_text {
        Some(text) => super::place::write_private(&gateway_files.servers, &text)?,
        None => super::place::remove(&gateway_files.servers)?,
    }
    if let Some(change) = change {
        change.write()?;
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
        entry: place.entry,
        servers_file: gateway_files.servers.display().to_string(),
        backup: Some(gateway_files.backup.display().to_string()),
        ..WrappedFileV1::default()
    }
}

/// The entry that starts the gateway.
fn entry(place: &ServerListPlace, servers: &str) -> Result<Value, CommandError> {
    let kind = place.is_typed.then(|| ("type", Value::from("stdio")));
    let args = ["serve", "--servers", servers].map(Value::from);
    let fields = [
        ("command", Value::from(super::place::this_program()?)),
        ("args", Value::list(args)),
    ];
    Ok(Value::object(kind.into_iter().chain(fields)))
}

/// The servers of a client's file, as a value.
fn servers(text: &str, path: &[&str]) -> Value {
    let found = ObjectText::find(text, path).ok().flatten();
    let members = found.into_iter().flat_map(|object| object.members);
    Value::object(members.map(|member| (member.name, member.value)))
}

fn path(place: &ServerListPlace) -> Vec<&str> {
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
