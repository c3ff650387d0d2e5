//! Plans as people and models guess them, over the tools of five common servers: each is read, or led to the right form by
//! diagnostics that say what to write.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use planwright_core::{Catalog, CheckContext, Diagnostic, Diagnostics, Schema, Tool, Value, check};
use planwright_dialects::{ReadOptions, parse};

use crate::golden::{assert_golden, cases};

#[test]
fn guessed_plans_are_read_or_led() {
    let catalog = catalog();
    for file in cases("guessed") {
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            continue;
        }
        let text = fs::read(&file).unwrap();
        assert_golden(&file, &outcome(&text, &catalog));
    }
}

/// The dialect of the plan, and all diagnostics of reading and checking it.
fn outcome(text: &[u8], catalog: &Catalog) -> String {
    let read = parse(text, &ReadOptions::new("plan"));
    let mut diagnostics = read.diagnostics;
    if let Some(plan) = read.plan {
        let (_, found) = check(plan, &CheckContext::new(catalog));
        diagnostics.extend(found);
        diagnostics.sort();
    }
    let verdict = if diagnostics.has_errors() {
        "rejected"
    } else {
        "sound"
    };
    format!(
        "{}: {verdict}\n{}",
        read.dialect.unwrap_or("no dialect"),
        shown(&diagnostics)
    )
}

fn shown(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().map(line).collect()
}

fn line(diagnostic: &Diagnostic) -> String {
    let mut line = format!(
        "{:?} {} {}: {}\n",
        diagnostic.severity, diagnostic.code, diagnostic.pointer, diagnostic.message
    );
    if let Some(help) = &diagnostic.help {
        writeln!(line, "  help: {help}").unwrap();
    }
    line
}

/// The tools of five servers.
fn catalog() -> Catalog {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/guessed/tools.json");
    let servers = Value::from_json(&fs::read_to_string(file).unwrap()).unwrap();
    let mut catalog = Catalog::new();
    for (server, tools) in servers.as_object().unwrap() {
        for (name, schemas) in tools.as_object().unwrap() {
            let schema = |key: &str| {
                let found = schemas.get(key).cloned();
                found.map_or(Schema::any(), Schema::from_value)
            };
            let mut tool = Tool::new(server.clone(), name.clone());
            tool.input = schema("input");
            tool.output = schema("output");
            catalog.add(tool);
        }
    }
    catalog.add_extraction();
    catalog
}
