//! Seed inputs: the plans, tools and expressions of the tests.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::explain;
use crate::project::{Project, ProjectFile};

/// Writes the seeds of `target` into the folder `corpus`, and keeps the inputs that were found before.
///
/// # Errors
///
/// A file cannot be read or written.
pub(super) fn write(project: &Project, target: &str, corpus: &Path) -> Result<(), String> {
    fs::create_dir_all(corpus).map_err(|error| explain(corpus, &error))?;
    for (number, seed) in seeds(&project.files()?, target).iter().enumerate() {
        let path = corpus.join(format!("seed-{number}"));
        fs::write(&path, seed).map_err(|error| explain(&path, &error))?;
    }
    Ok(())
}

fn seeds(files: &[ProjectFile], target: &str) -> Vec<String> {
    let below = |folder: &'static str| {
        files
            .iter()
            .filter(move |file| file.path.starts_with(folder))
    };
    let mut seeds: Vec<String> = below("fuzz/seeds/")
        .filter(|file| file.path.split('/').nth(2) == Some(target))
        .map(|file| file.text.clone())
        .collect();
    let golden = below("crates/dialects/tests/golden/").filter(|file| file.extension() != "snap");
    let cases: Vec<Value> = below("crates/cli/tests/cases/")
        .filter_map(|file| serde_json::from_str(&file.text).ok())
        .flat_map(|cases: Value| cases.as_array().cloned().unwrap_or_default())
        .collect();
    match target {
        "check" => seeds.extend(cases.iter().map(|case| {
            format!(
                "{}\0{}",
                json(&serde_json::json!({"tools": case["tools"]})),
                json(&case["plan"])
            )
        })),
        "bind" => seeds.extend(cases.iter().map(|case| {
            format!(
                "{}\0{}",
                json(&answers(&case["tools"])),
                json(&case["plan"])
            )
        })),
        "simulated" => {
            seeds.extend(
                cases
                    .iter()
                    .map(|case| json(&serde_json::json!({"tools": case["tools"]}))),
            );
        }
        "expression" => seeds.extend(
            below("crates/core/tests/it/cel/")
                .filter(|file| file.extension() == "txt")
                .flat_map(|file| file.text.lines())
                .map(|line| format!("[{{\"a\":[1,\"b\",null]}},[1,2,3]]\0{line}")),
        ),
        "servers" | "dates" => {}
        dialect => {
            let named = format!("/{dialect}/");
            let ending = format!(".{dialect}.");
            let any = dialect == "any-dialect";
            seeds.extend(
                golden
                    .filter(|file| any || file.path.contains(&named) || file.path.contains(&ending))
                    .map(|file| file.text.clone()),
            );
            seeds.extend(
                cases
                    .iter()
                    .filter(|case| any || case["dialect"] == dialect)
                    .map(|case| json(&case["plan"])),
            );
        }
    }
    seeds
}

/// Returns the results of simulated tools.
fn answers(tools: &Value) -> Value {
    let tools = tools.as_object().into_iter().flatten();
    tools.map(|(_, tool)| tool["returns"].clone()).collect()
}

/// Returns a value as JSON without whitespace; a text is a plan that is not JSON and returned unchanged.
fn json(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
