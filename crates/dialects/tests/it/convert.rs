//! Conversion between dialects: the meaning, and the reported losses.
//!
//! A case is called `WHAT.DIALECT.json`; the names of cases that some dialect refuses begin with the code of that
//! error.

use std::fs;

use planwright_dialects::dialect;

use crate::golden::{assert_golden, cases, sound_plan};
use crate::meaning::meaning;

const DIALECTS: [&str; 5] = ["concierge", "acts", "mcp-cli", "clear-ai", "agentle"];

#[test]
fn what_can_be_said_elsewhere_is_said_and_the_rest_is_found() {
    for file in cases("conversions") {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let (_, from) = stem.rsplit_once('.').unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let shown: Vec<String> = DIALECTS
            .iter()
            .filter(|to| **to != from)
            .map(|to| format!("--- {to}\n{}", converted(from, &text, to)))
            .collect();
        assert_eq!(
            shown.concat().contains("refused"),
            stem.starts_with("PW0901")
        );
        assert_golden(&file, &shown.join("\n"));
    }
}

/// The meaning of `text` after conversion from `from` to `to`, or `refused`, and the diagnostics.
fn converted(from: &str, text: &str, to: &str) -> String {
    let plan = sound_plan(text, from);
    let (printed, diagnostics) = dialect(to).unwrap().print(&plan);
    assert_eq!(printed.is_none(), diagnostics.has_errors());
    let mut lines = match printed {
        Some(printed) => vec![meaning(&sound_plan(&printed, to))],
        None => vec!["refused".to_owned()],
    };
    for diagnostic in &diagnostics {
        assert_eq!(diagnostic.code.as_str(), "PW0901");
        lines.push(format!(
            "{:?} {}: {}",
            diagnostic.severity, diagnostic.pointer, diagnostic.message
        ));
    }
    lines.join("\n")
}
