//! Regression tests: all inputs that were found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use planwright_fuzz::mutation::change;
use planwright_fuzz::targets;

fn files_below(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let Ok(entries) = fs::read_dir(&folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn what_was_found_stays_mended() {
    for target in targets() {
        for folder in ["regressions", "seeds"] {
            for file in files_below(&format!("{folder}/{}", target.name)) {
                let input = fs::read(&file).unwrap();
                let tried = std::panic::catch_unwind(|| target.try_input(&input));
                assert!(tried.is_ok(), "{}", file.display());
            }
        }
    }
}

#[test]
fn every_folder_belongs_to_a_target() {
    let names: BTreeSet<&str> = targets().iter().map(|target| target.name).collect();
    for folder in ["regressions", "seeds"] {
        for found in files_below(folder) {
            let name = found.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(
                names.contains(name.as_str()),
                "no target is called `{name}`"
            );
        }
    }
}

/// Mutates the plans of the tests of all dialects. Finds quickly what a fuzzer would find within minutes.
#[test]
fn changed_plans_survive() {
    const TIMES: u64 = 60;
    let golden = files_below("../crates/dialects/tests/golden");
    for target in targets() {
        let Some(dialect) = target.dialect else {
            continue;
        };
        let is_plan = |file: &PathBuf| file.extension().is_some_and(|it| it == "json");
        let folder = golden.iter().find(|folder| folder.ends_with(dialect));
        let plans = folder.map(|folder| files_below(&folder.to_string_lossy()));
        for file in plans.unwrap_or_default().into_iter().filter(is_plan) {
            let plan = fs::read(&file).unwrap();
            for seed in 0..TIMES {
                let Some(changed) = change(&plan, seed) else {
                    continue;
                };
                let tried = std::panic::catch_unwind(|| target.try_input(&changed));
                let text = String::from_utf8_lossy(&changed);
                assert!(tried.is_ok(), "{dialect}: {text}");
            }
        }
    }
}
