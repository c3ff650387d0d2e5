//! Tables as tools give them, with figures that pandas computed of the same tables without their mess.
//!
//! `fields` and `collections` of a case are parts of the analysis by their pointers; `null` stands for what must not be there.

use planwright_planner::analysis::{Analysis, StepResult, analyze};
use serde_json::Value as Json;

use crate::support::{assert_golden, cases, read, value};

/// The maximum difference of two numbers computed in binary.
const TOLERANCE: f64 = 1e-12;

fn analysis(output: &Json) -> Analysis {
    let output = value(output);
    let result = StepResult {
        step: "s",
        tool: "t",
        output: &output,
    };
    analyze(&[result], &[])
}

/// Checks that `found` has all that is expected.
fn check(expected: &Json, found: &Json, at: &str) {
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) => {
            for (name, expected) in expected {
                let found = found.get(name).unwrap_or(&Json::Null);
                check(expected, found, &format!("{at} {name}"));
            }
        }
        (Json::Array(expected), Json::Array(found)) => {
            assert_eq!(expected.len(), found.len(), "{at}: {found:?}");
            for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
                check(expected, found, &format!("{at} {number}"));
            }
        }
        (Json::Number(expected), Json::Number(found)) => {
            let same = expected == found || {
                let (one, other) = (expected.as_f64().unwrap(), found.as_f64().unwrap());
                (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
            };
            assert!(same, "{at}: {found} is not {expected}");
        }
        _ => assert_eq!(found, expected, "{at}"),
    }
}

/// The part of the analysis that stands at a pointer, among `parts` of all collections.
fn part<'f>(mut parts: impl Iterator<Item = &'f Json>, at: &str) -> &'f Json {
    parts.find(|part| part["at"] == at).unwrap_or(&Json::Null)
}

#[test]
fn figures_are_those_of_pandas() {
    for file in cases("analysis") {
        let case = read(&file);
        let analysis = analysis(&case["output"]);
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let found = serde_json::to_value(&analysis).unwrap();
        let nothing = Vec::new();
        let collections = found["steps"][0]["collections"]
            .as_array()
            .unwrap_or(&nothing);
        let fields = || {
            let fields = collections
                .iter()
                .filter_map(|one| one["fields"].as_array());
            fields.flatten()
        };
        for (at, expected) in case["fields"].as_object().unwrap() {
            check(expected, part(fields(), at), &format!("{name}: {at}"));
        }
        for (at, expected) in case["collections"].as_object().into_iter().flatten() {
            check(
                expected,
                part(collections.iter(), at),
                &format!("{name}: {at}"),
            );
        }
        assert_golden(&file, &analysis.to_text(10_000));
    }
}
