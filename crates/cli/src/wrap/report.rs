//! The changes to a client's files, for people.

use planwright::format::{CarriedRulesV1, WrapV1, WrappedFileV1};
use planwright::terminal_text;

use super::super::printer::Printer;
use crate::view::live::words::counted;

/// Prints what was done, or would be.
pub(super) fn print(report: &WrapV1, printer: Printer) {
    for file in &report.files {
        for line in lines(report, file) {
            printer.data_line(&terminal_text::one_line(&line));
        }
    }
    if report.files.is_empty() {
        printer.talk("nothing of it stands behind the gateway");
    }
    let has_changed = report.files.iter().any(|file| file.changed);
    if has_changed && !report.dry_run {
        printer.talk("the client sees it once it is started again, or reloads its servers");
    }
    if has_changed && !report.undo {
        printer.quote(
            "note: all other tools of these servers ask before each call, unless their server states that they only read, or that \
             they destroy nothing",
        );
    }
    let is_shared = |file: &&WrappedFileV1| file.scope == Some("project") && !file.moved.is_empty();
    if let Some(file) = report.files.iter().find(is_shared).filter(|_| !report.undo) {
        printer.quote(&format!(
            "note: `{}` may be shared with others, and its entry names files of this machine",
            file.path
        ));
    }
}

fn lines(report: &WrapV1, file: &WrappedFileV1) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", file.path, heading(report, file))];
    for (what, names) in [("moved", &file.moved), ("back", &file.returned)] {
        if !names.is_empty() {
            lines.push(format!("  {what}: {}", names.join(", ")));
        }
    }
    for renamed in &file.renamed {
        lines.push(format!(
            "  `{}` is `{}` now, since the client has another server of that name",
            renamed.server, renamed.now
        ));
    }
    for server in &file.stay {
        lines.push(format!("  stays: {} ({})", server.server, server.because));
    }
    if !report.dry_run && !file.moved.is_empty() {
        lines.push(format!("  servers: {}", file.servers_file));
    }
    if let Some(backup) = file
        .backup
        .as_ref()
        .filter(|_| file.changed && !report.dry_run)
    {
        lines.push(format!("  backup: {backup}"));
    }
    lines.extend(file.difference.iter().map(|line| format!("  {line}")));
    if let Some(rules) = &file.rules {
        lines.extend(of_rules(report, rules));
    }
    lines
}

fn of_rules(report: &WrapV1, rules: &CarriedRulesV1) -> Vec<String> {
    let mut lines = Vec::new();
    if !rules.difference.is_empty() {
        let would = if report.dry_run {
            "would change"
        } else {
            "changed"
        };
        lines.push(format!("  rules: {} {would}", rules.file));
        lines.extend(rules.difference.iter().map(|line| format!("    {line}")));
    }
    for (what, rules) in [
        ("need not ask", &rules.no_ask),
        ("asks", &rules.ask),
        ("never called", &rules.deny),
    ] {
        for rule in rules {
            lines.push(format!(
                "  {what}: {} (`{}` in `{}`)",
                rule.tools, rule.rule, rule.from
            ));
        }
    }
    for rule in &rules.left {
        lines.push(format!(
            "  not taken over: `{}` in `{}` (a project's file cannot say that {} need not ask)",
            rule.rule, rule.from, rule.tools
        ));
    }
    lines
}

fn heading(report: &WrapV1, file: &WrappedFileV1) -> String {
    let would = if report.dry_run { "would " } else { "" };
    if report.undo {
        let come = if report.dry_run { "come" } else { "came" };
        return format!(
            "{} {would}{come} back",
            counted(file.returned.len(), "server")
        );
    }
    if file.moved.is_empty() {
        return "nothing to move".to_owned();
    }
    let go = if report.dry_run { "go" } else { "went" };
    format!(
        "{} {would}{go} behind `{}`",
        counted(file.moved.len(), "server"),
        file.entry
    )
}
