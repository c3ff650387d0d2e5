//! `planwright wrap`: puts the gateway in front of the servers that a client has, and takes it away again.

mod difference;
mod edit;
mod files;
mod object;
mod place;
mod report;
mod stays;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::{Path, PathBuf};

use planwright::core::Value;
use planwright::wire::{RenamedServerV1, StayingServerV1, WrapV1, WrappedFileV1};

use super::args::{Format, RunFormat, WrapArguments};
use super::error::CommandError;
use super::exit::Exit;
use super::output;
use super::printer::Printer;
use edit::{Fault, Section};
use files::Ours;
use object::Object;
use place::{Client, Place, Surroundings};

/// `planwright wrap CLIENT|FILE`
pub(crate) fn wrap(arguments: &WrapArguments, printer: Printer) -> Result<Exit, CommandError> {
    let mut places = places(arguments)?;
    if arguments.undo {
        // Two lists may stand in one file: what was done last is undone first.
        places.reverse();
    }
    let mut done = Vec::new();
    for place in &places {
        let file = if arguments.undo {
            undo(place, arguments.dry_run)?
        } else {
            put_in_front(place, arguments.dry_run)?
        };
        done.extend(file);
    }
    if done.is_empty() && !arguments.undo {
        return Err(nothing_found(&places));
    }
    let report = WrapV1::new(arguments.undo, arguments.dry_run, done);
    match arguments.format {
        Format::Json => output::json(&report, RunFormat::Json, printer)?,
        Format::Text => report::print(&report, printer),
    }
    Ok(Exit::Success)
}

/// The lists of servers that the arguments are about.
fn places(arguments: &WrapArguments) -> Result<Vec<Place>, CommandError> {
    if let Some(client) = Client::named(&arguments.target) {
        let places = client.places(&Surroundings::of_process()?).into_iter();
        let scope = arguments.scope;
        let wanted = places.filter(|place| scope.is_none_or(|scope| place.scope == Some(scope)));
        return Ok(wanted.collect());
    }
    let file = PathBuf::from(&arguments.target);
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let is_word = !arguments.target.contains(['/', '\\', '.']);
        let error = CommandError::unreadable(&file, &error);
        if is_word {
            return error.hint(
                "the clients that are known are claude-code, claude-desktop, cursor and vscode",
            );
        }
        error
    })?;
    let has = |name: &str| Object::find(&text, &[name]).is_ok_and(|found| found.is_some());
    let is_vs_code = !has("mcpServers") && has("servers");
    Ok(vec![Place::named(file, is_vs_code)])
}

fn nothing_found(places: &[Place]) -> CommandError {
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
    CommandError::new("there are no servers to stand in front of")
        .hint(format!("looked in {}", files.join(", ")))
}

/// Puts the gateway in front of the servers of one list; nothing where there are none.
fn put_in_front(place: &Place, dry_run: bool) -> Result<Option<WrappedFileV1>, CommandError> {
    let Some(text) = files::read(&place.file)? else {
        return Ok(None);
    };
    let path = path(place);
    let explain = |fault| explain(&place.file, fault);
    if !edit::has_servers(&text, &path).map_err(explain)? {
        return Ok(None);
    }
    let ours = Ours::of(place)?;
    let known = files::read(&ours.servers)?;
    let file = ours.servers.display().to_string();
    let section = Section {
        path: &path,
        name: place.entry,
        entry: entry(place, &file)?,
        file: &file,
    };
    let wrapped = edit::wrap(&text, known.as_deref(), &section, &stays::reason).map_err(explain)?;
    let changed = !wrapped.moved.is_empty();
    let mut report = report(place, &ours);
    report.changed = changed;
    report.stay = wrapped
        .stay
        .into_iter()
        .map(|(server, because)| StayingServerV1 { server, because })
        .collect();
    report.moved = wrapped.moved;
    if !changed {
        report.backup = None;
    } else if dry_run {
        report.difference = difference::difference(&text, &wrapped.client, &servers(&text, &path));
        report.backup = None;
    } else {
        if known.is_none() {
            files::write_private(&ours.backup, &text)?;
        }
        files::write_private(&ours.servers, &wrapped.ours)?;
        if let Err(error) = files::replace_client(&place.file, &text, &wrapped.client) {
            match known {
                Some(known) => files::write_private(&ours.servers, &known)?,
                None => files::remove(&ours.servers)?,
            }
            return Err(error);
        }
    }
    Ok(Some(report))
}

/// Puts the servers of one list back; nothing where none were taken.
fn undo(place: &Place, dry_run: bool) -> Result<Option<WrappedFileV1>, CommandError> {
    let ours = Ours::of(place)?;
    let Some(wrapped) = files::read(&ours.servers)? else {
        return Ok(None);
    };
    let Some(text) = files::read(&place.file)? else {
        return Err(
            CommandError::new(format!("`{}` is gone", place.file.display()))
                .hint(format!("its servers are in `{}`", ours.servers.display()))
                .hint(format!("as it was, it is in `{}`", ours.backup.display())),
        );
    };
    let path = path(place);
    let file = ours.servers.display().to_string();
    let section = Section {
        path: &path,
        name: place.entry,
        // As it is now: the program may have been somewhere else when the entry was made.
        entry: servers(&text, &path)
            .get(place.entry)
            .cloned()
            .unwrap_or_default(),
        file: &file,
    };
    let mut restored =
        edit::unwrap(&text, &wrapped, &section).map_err(|fault| explain(&place.file, fault))?;
    let backup = files::read(&ours.backup)?;
    let as_it_was = backup.filter(|backup| {
        let again = edit::wrap(backup, None, &section, &stays::reason);
        again.is_ok_and(|again| again.client == text && again.ours == wrapped)
    });
    let is_exact = as_it_was.is_some();
    if let Some(backup) = as_it_was {
        restored.client = backup;
    }
    let mut report = report(place, &ours);
    report.changed = true;
    report.returned = restored.returned;
    report.renamed = restored
        .renamed
        .into_iter()
        .map(|(server, now)| RenamedServerV1 { server, now })
        .collect();
    if dry_run {
        let shown = servers(&restored.client, &path);
        report.difference = difference::difference(&text, &restored.client, &shown);
        return Ok(Some(report));
    }
    files::replace_client(&place.file, &text, &restored.client)?;
    files::remove(&ours.servers)?;
    if is_exact {
        files::remove(&ours.backup)?;
        report.backup = None;
    }
    Ok(Some(report))
}

fn report(place: &Place, ours: &Ours) -> WrappedFileV1 {
    WrappedFileV1 {
        path: place.file.display().to_string(),
        scope: place.scope.map(super::args::Scope::word),
        entry: place.entry,
        servers_file: ours.servers.display().to_string(),
        backup: Some(ours.backup.display().to_string()),
        ..WrappedFileV1::default()
    }
}

/// The entry that starts the gateway.
fn entry(place: &Place, servers: &str) -> Result<Value, CommandError> {
    let kind = place.is_typed.then(|| ("type", Value::from("stdio")));
    let args = ["serve", "--servers", servers].map(Value::from);
    let fields = [
        ("command", Value::from(files::this_program()?)),
        ("args", Value::list(args)),
    ];
    Ok(Value::object(kind.into_iter().chain(fields)))
}

/// The servers of a client's file, as a value.
fn servers(text: &str, path: &[&str]) -> Value {
    let found = Object::find(text, path).ok().flatten();
    let members = found.into_iter().flat_map(|object| object.members);
    Value::object(members.map(|member| (member.name, member.value)))
}

fn path(place: &Place) -> Vec<&str> {
    place.path.iter().map(String::as_str).collect()
}

fn explain(file: &Path, fault: Fault) -> CommandError {
    CommandError::new(format!(
        "`{}` cannot be changed: {}",
        file.display(),
        fault.message
    ))
    .hint(fault.help)
}
