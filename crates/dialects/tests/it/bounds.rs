//! What is written can be read again, however deeply it is nested and however many alternatives a reference has.

use std::time::Duration;

use planwright_core::plan::{Action, Name, Node};
use planwright_core::{Place, Plan, Step, StepId, Value};
use planwright_dialects::document::Limits;
use planwright_dialects::{ReadOptions, dialect, parse};

use crate::golden::sound_plan;

/// Prints `plan` in the dialect `name` and reads it again; where it is refused, the finding.
#[track_caller]
fn through(plan: &Plan, name: &str) -> Result<(), String> {
    let (printed, findings) = dialect(name).unwrap().print(plan);
    let Some(printed) = printed else {
        let errors = findings.iter().filter(|finding| finding.is_error());
        return Err(errors
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"));
    };
    let read = parse(
        printed.as_bytes(),
        &ReadOptions::new("test").in_dialect(name),
    );
    assert!(
        !read.diagnostics.has_errors(),
        "{name}: {:#?}\n{printed}",
        read.diagnostics
    );
    Ok(())
}

/// A plan whose only argument is made of `depth` lists or objects, one in another.
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

/// That the dialect `name` writes arguments of at most `most` levels.
#[track_caller]
fn check_depth(name: &str, most: usize) {
    for nest in [
        (|value| Value::list([value])) as fn(Value) -> Value,
        |value| Value::object([("k", value)]),
    ] {
        let refused = (100..140).find_map(|depth| {
            let found = through(&nested(depth, nest), name).err()?;
            Some((depth, found))
        });
        let expected = format!(
            "PW0901: the {name} dialect cannot say a plan that is nested deeper than 128 levels (let what lies deeper be an input of the run, or come from a step)"
        );
        assert_eq!(refused, Some((most + 1, expected)));
    }
}

#[test]
fn arguments_are_no_deeper_than_is_read() {
    check_depth("native", 124);
    check_depth("lines", 124);
    check_depth("concierge", 124);
    check_depth("acts", 125);
    check_depth("mcp-cli", 124);
    check_depth("clear-ai", 124);
    check_depth("agentle", 127);
}

#[test]
fn there_are_no_more_alternatives_than_are_read() {
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
        assert_eq!(through(&plan(100), name), Ok(()));
    }
    assert_eq!(through(&plan(17), "mcp-cli"), Ok(()));
    assert_eq!(
        through(&plan(18), "mcp-cli"),
        Err("PW0901 at /steps/18/args/x: the mcp-cli dialect cannot say so many alternatives in one reference".to_owned())
    );
}

#[test]
fn times_are_no_longer_than_is_read() {
    let longest = Limits::LONGEST_TIME;
    let plan = |time: Duration| {
        let mut plan = nested(0, |value| value);
        plan.steps[0].timeout = Some(time);
        plan
    };
    for name in ["native", "lines", "clear-ai"] {
        assert_eq!(through(&plan(longest), name), Ok(()));
        for time in [longest + Duration::from_millis(1), Duration::MAX] {
            let expected = format!(
                "PW0901: the {name} dialect cannot say a time of {} s (leave a limit out where there is to be none)",
                time.as_secs()
            );
            assert_eq!(through(&plan(time), name), Err(expected));
        }
    }
}
