//! Try plans.
use std::fs;
use planwright_core::{Catalog, CheckContext, Schema, Tool, Value, check};
use planwright_dialects::{ReadOptions, parse};

fn main() {
    let mut args = std::env::args().skip(1);
    let tools = args.next().unwrap();
    let servers = Value::from_json(&fs::read_to_string(tools).unwrap()).unwrap();
    let mut catalog = Catalog::new();
    for (server, tools) in servers.as_object().unwrap() {
        for (name, schemas) in tools.as_object().unwrap() {
            let schema = |key: &str| schemas.get(key).cloned().map_or(Schema::any(), Schema::from_value);
            let mut tool = Tool::new(server.clone(), name.clone());
            tool.input = schema("input");
            tool.output = schema("output");
            catalog.add(tool);
        }
    }
    catalog.add_extraction();
    for file in args {
        let text = fs::read(&file).unwrap();
        let read = parse(&text, &ReadOptions::new("plan"));
        let mut diagnostics = read.diagnostics;
        let mut printed = None;
        if let Some(plan) = read.plan {
            printed = planwright_dialects::dialect("native").unwrap().print(&plan).0;
            let (_, found) = check(plan, &CheckContext::new(&catalog));
            diagnostics.extend(found);
            diagnostics.sort();
        }
        println!("=== {file}: {:?} {}", read.dialect, if diagnostics.has_errors() { "REJECTED" } else { "sound" });
        for d in &diagnostics {
            println!("{:?} {} {}: {}", d.severity, d.code, d.pointer, d.message);
            if let Some(help) = &d.help { println!("    help: {help}"); }
        }
        if let Some(printed) = printed {
            println!("  => {}", Value::from_json(&printed).unwrap().to_json());
        }
    }
}
