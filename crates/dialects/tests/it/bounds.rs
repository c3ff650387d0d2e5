//! Printed plans can be read again, at any nesting and with any number of alternatives.

use std::time::Duration;

use planwright_core::plan::{Action, Name, Node};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, Step, StepId, Value};
use planwright_dialects::document::ReadLimits;
use planwright_dialects::{ReadOptions, dialect, parse};

use crate::golden::sound_plan;

/// Prints `plan` in the dialect `name` and reads it again, with higher limits if the printer warns. Returns the
/// diagnostics of the printer as an error.
#[track_caller]
fn print_and_read(plan: &Plan, name: &str) -> Result<(), String> {
    let (printed, diagnostics) = dialect(name).unwrap().print(plan);
    let Some(printed) = printed else {
        return Err(shown(&diagnostics));
    };
    let mut options = ReadOptions::new("test").in_dialect(name);
    if diagnostics.iter().any(|it| it.code == Code::TooDeep) {
        let again = parse(printed.as_bytes(), &options);
        assert!(again.diagnostics.has_errors(), "{name}: {printed}");
        options.limits.depth = ReadLimits::MAX_DEPTH;
    }
    let read = parse(printed.as_bytes(), &options);
    assert!(
        !read.diagnostics.has_errors(),
        "{name}: {:#?}\n{printed}",
        read.diagnostics
    );
    match shown(&diagnostics) {
        shown if shown.is_empty() => Ok(()),
        shown => Err(shown),
    }
}

/// The diagnostics, without warnings about unsupported features.
fn shown(diagnostics: &Diagnostics) -> String {
    let counts =
        |diagnostic: &&Diagnostic| diagnostic.is_error() || diagnostic.code != Code::Unprintable;
    let lines: Vec<String> = diagnostics
        .iter()
        .filter(counts)
        .map(ToString::to_string)
        .collect();
    lines.join("\n")
}

/// A plan whose only argument consists of `depth` nested lists or objects.
fn nested(depth: usize, nest: fn(Value) -> Value) -> Plan {
    let value = (0..depth).fold(Value::from(1), |value, _| nest(value));
    let args = Node::literal(Value::object([("x", value)]), Place::NOWHERE);
    let tool = Name {
        text: "t".into(),
        place: Place::NOWHERE,
    };
    let mut plan = Plan::default();
    plan.steps
        .push(Step::new(StepId::new("a"), Action::Tool(tool), args));
    plan
}

/// Checks that the dialect `name` has `levels_around` lists and objects around an argument, and reports excessive nesting.
#[track_caller]
fn check_depth(name: &str, levels_around: usize) {
    let usual = ReadLimits::default().depth;
    let help = "pass the deeper parts as an input of the run, or let a step compute them";
    let count = |levels| {
        format!(
            "PW0003: the written plan is nested {levels} levels deep, and readers accept {usual} (raise the limit of the reader, pass large parts as an input of the run, or let a step compute them)"
        )
    };
    let never = format!(
        "PW0901: the {name} dialect cannot express a plan that is nested 513 levels deep ({help})"
    );
    for nest in [
        (|value| Value::list([value])) as fn(Value) -> Value,
        |value| Value::object([("k", value)]),
    ] {
        let with = |levels: usize| print_and_read(&nested(levels - levels_around, nest), name);
        assert_eq!(with(usual), Ok(()));
        assert_eq!(with(usual + 1), Err(count(usual + 1)));
        assert_eq!(
            with(ReadLimits::MAX_DEPTH),
            Err(count(ReadLimits::MAX_DEPTH))
        );
        assert_eq!(with(ReadLimits::MAX_DEPTH + 1), Err(never.clone()));
    }
}

#[test]
fn printed_nesting_is_at_most_the_depth_that_readers_accept() {
    check_depth("native", 4);
    check_depth("lines", 4);
    check_depth("concierge", 4);
    check_depth("acts", 3);
    check_depth("mcp-cli", 4);
    check_depth("clear-ai", 4);
    check_depth("agentle", 1);
}

#[test]
fn printed_alternatives_are_readable() {
    let plan = |alternatives: usize| {
        let ids: Vec<String> = (0..alternatives).map(|at| format!("s{at}")).collect();
        let mut steps: Vec<_> = ids
            .iter()
            .map(|id| serde_json::json!({"id": id, "tool": "t"}))
            .collect();
        let one_of = format!("${{{}}}", ids.join(" ?? "));
        steps.push(serde_json::json!({"id": "final", "tool": "t", "args": {"x": one_of}}));
        sound_plan(&serde_json::json!({"steps": steps}).to_string(), "native")
    };
    for name in ["native", "lines"] {
        assert_eq!(print_and_read(&plan(100), name), Ok(()));
    }
}

#[test]
fn printed_times_are_at_most_the_longest_readable_time() {
    let milliseconds = ReadLimits::MAX_DURATION.as_millis().try_into().unwrap();
    let longest = Duration::from_millis(milliseconds);
    let plan = |time: Duration| {
        let mut plan = nested(0, |value| value);
        plan.steps[0].timeout = Some(time);
        plan
    };
    for name in ["native", "lines", "clear-ai"] {
        assert_eq!(print_and_read(&plan(longest), name), Ok(()));
        for time in [longest + Duration::from_millis(1), Duration::MAX] {
            let expected = format!(
                "PW0901: the {name} dialect cannot express a time of {} s (omit the limit if there is to be none)",
                time.as_secs()
            );
            assert_eq!(print_and_read(&plan(time), name), Err(expected));
        }
    }
}
