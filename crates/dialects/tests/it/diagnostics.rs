//! The diagnostics of all dialects, as users see them. A case is called `CODE-what.DIALECT.json`, or `.txt`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use planwright_core::Diagnostic;
use planwright_dialects::document::ReadLimits;
use planwright_dialects::{ReadOptions, parse};

use crate::golden::{assert_golden, cases};

#[test]
fn every_error_is_found_where_it_stands() {
    for file in cases("diagnostics") {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let (name, dialect) = stem.rsplit_once('.').unwrap();
        let (code, _) = name.split_once('-').unwrap();
        let options = ReadOptions {
            dialect: Some(dialect).filter(|dialect| *dialect != "any"),
            limits: limits(code),
            ..ReadOptions::new("test")
        };
        let result = parse(&fs::read(&file).unwrap(), &options);
        let codes: Vec<&str> = result
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.code.as_str())
            .collect();
        assert!(codes.contains(&code), "{stem} has {codes:?}");
        assert!(result.diagnostics.has_errors());
        let shown: Vec<String> = result
            .diagnostics
            .iter()
            .map(|diagnostic| show(diagnostic, &result.source))
            .collect();
        assert_golden(Path::new(&file), &shown.join("\n"));
    }
}

/// The default limits, except for the case that needs a text beyond them.
fn limits(code: &str) -> ReadLimits {
    match code {
        "PW0002" => ReadLimits {
            bytes: 64,
            ..ReadLimits::default()
        },
        _ => ReadLimits::default(),
    }
}

fn show(diagnostic: &Diagnostic, text: &str) -> String {
    let mut shown = format!(
        "{} {}: {}",
        diagnostic.code, diagnostic.pointer, diagnostic.message
    );
    if let Some(help) = &diagnostic.help {
        shown.push_str("\n  help: ");
        shown.push_str(&without_listing(help));
    }
    if let Some(span) = diagnostic.span {
        let spot = text
            .get(span.start..span.end)
            .unwrap_or("(outside of the text)");
        let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
        write!(shown, "\n  line {line}: {spot:?}").unwrap();
    }
    shown
}

/// The help without its list of dialects, which will grow and is not tested here.
fn without_listing(help: &str) -> String {
    for beginning in ["there are ", "the shapes are "] {
        if let Some(at) = help.find(beginning) {
            return format!("{}…", &help[..at + beginning.len()]);
        }
    }
    help.to_owned()
}
