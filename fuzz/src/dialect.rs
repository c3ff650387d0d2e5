//! Texts in every dialect, parsed, printed and parsed again.

use planwright_core::check::{CheckContext, check};
use planwright_core::plan::Action;
use planwright_core::{Catalog, Code, Diagnostics, Lookup, Plan, PlanDigest, TextEdit, Tool};
use planwright_dialects::document::ReadLimits;
use planwright_dialects::{ParseResult, ReadOptions, dialects, parse};

/// Parses `input` as a plan in `dialect`.
///
/// # Panics
///
/// If a diagnostic lies outside of the text, a text without errors results in no plan, or a valid plan cannot be parsed after it was
/// printed in a dialect that supports it, or is another plan after that in its own dialect or the native one.
pub fn in_dialect(dialect: &str, input: &[u8]) {
    survives(&parse(
        input,
        &ReadOptions::new("input").in_dialect(dialect),
    ));
}

/// Parses `input` as a plan in the dialect that is detected.
///
/// # Panics
///
/// Those of [`in_dialect`].
pub fn detected(input: &[u8]) {
    survives(&parse(input, &ReadOptions::new("input")));
}

fn survives(result: &ParseResult) {
    assert_in_place(&result.diagnostics, &result.source);
    if result.diagnostics.has_errors() {
        return;
    }
    let plan = result.plan.as_ref();
    let plan = plan.expect("a text without errors gives a plan");
    if let Some(digest) = digest(plan) {
        assert_printable(plan, &digest, result.dialect);
    }
}

/// Asserts that every diagnostic lies within `text` and has a message.
pub(crate) fn assert_in_place(diagnostics: &Diagnostics, text: &str) {
    for finding in diagnostics {
        assert!(!finding.message.is_empty(), "{finding:?}");
        let is_inside = |edit: &TextEdit| text.get(edit.span.start..edit.span.end).is_some();
        assert!(
            text.is_empty() || finding.source.is_some() || finding.fixes.iter().all(is_inside),
            "{finding:?} has a fix outside of its text"
        );
        let Some(span) = finding.span.filter(|_| finding.source.is_none()) else {
            continue;
        };
        assert!(
            text.is_empty() || text.get(span.start..span.end).is_some(),
            "{finding:?} stands outside of its text"
        );
    }
}

/// Returns the digest of the plan, if it is valid with the tools that it names.
fn digest(plan: &Plan) -> Option<PlanDigest> {
    let catalog = tools_of(plan);
    let (checked, findings) = check(plan.clone(), &CheckContext::new(&catalog));
    assert_eq!(checked.is_none(), findings.has_errors());
    checked.map(|checked| checked.digest().clone())
}

/// Returns a catalog of the tools that `plan` names, without schemas.
pub(crate) fn tools_of(plan: &Plan) -> Catalog {
    let mut catalog = Catalog::new();
    for step in &plan.steps {
        let Action::Tool(name) = &step.action else {
            continue;
        };
        if matches!(catalog.find(&name.text), Lookup::Unknown) {
            let (server, tool) = name.text.split_once('.').unwrap_or(("server", &name.text));
            catalog.add(Tool::new(server, tool));
        }
    }
    catalog
}

/// Asserts that every dialect that can print `plan` prints all of it. `own` is the dialect that it was written in.
fn assert_printable(plan: &Plan, meaning: &str, own: Option<&str>) {
    for dialect in dialects() {
        let (printed, findings) = dialect.print(plan);
        assert_eq!(printed.is_none(), findings.has_errors());
        let Some(printed) = printed else { continue };
        let to = dialect.name();
        let mut options = ReadOptions::new("printed").in_dialect(to);
        if findings.iter().any(|finding| finding.code == Code::TooDeep) {
            options.limits.depth = ReadLimits::MAX_DEPTH;
        }
        let again = parse(printed.as_bytes(), &options);
        assert!(
            !again.diagnostics.has_errors(),
            "{to} of {own:?}: {:#?}\n{printed}",
            again.diagnostics
        );
        // These dialects print the order that follows from references as well.
        let states_order = matches!(to, "mcp-cli" | "clear-ai");
        if findings.is_empty() && (to == "native" || Some(to) == own && !states_order) {
            let again = again.plan.as_ref().and_then(digest);
            assert_eq!(
                again.as_deref(),
                Some(meaning),
                "{to} of {own:?}\n{printed}"
            );
        }
    }
}
