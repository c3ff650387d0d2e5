//! A thousand plans through every dialect that can be printed, and back: a plan that is not refused is unchanged.

mod equivalence;
mod sound_plans;
mod typical_plans;

use planwright_core::plan::{Ordering, Read, Source};
use planwright_core::{Plan, Step};
use planwright_dialects::{Dialect, ReadOptions, dialect, dialects, parse};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use self::equivalence::assert_equivalent;
use self::sound_plans::{digest, made_sound, thinned};
use self::typical_plans::typical_plan;
use crate::golden::{is_clean, sound_plan};
use crate::native::strategy;
use crate::native::without_places::without_places;
use crate::round_trip;

const PLANS: usize = 1000;

/// The minimum number of typical plans that each dialect must support.
const MIN_TYPICAL: [(&str, usize); 7] = [
    ("native", 1000),
    ("lines", 1000),
    ("concierge", 150),
    ("acts", 150),
    ("mcp-cli", 150),
    ("clear-ai", 150),
    ("agentle", 150),
];

/// The plan in `text`, which was printed in the dialect `name`.
#[track_caller]
fn read(text: &str, name: &str) -> Plan {
    let result = parse(text.as_bytes(), &ReadOptions::new("test").in_dialect(name));
    let diagnostics = result.diagnostics;
    let is_native = matches!(name, "native" | "lines");
    assert!(
        !diagnostics.has_errors() || (!is_native && is_clean(&diagnostics)),
        "{name}: {diagnostics:#?}\n{text}"
    );
    result.plan.unwrap()
}

/// `plan` after a round trip through the native dialect.
#[track_caller]
fn through_native(plan: &Plan) -> Plan {
    let (printed, diagnostics) = dialect("native").unwrap().print(plan);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    read(&printed.unwrap(), "native")
}

/// Prints `plan` in `target`, reads it again, and compares; returns false if it was refused.
#[track_caller]
fn survives(plan: &Plan, target: &dyn Dialect) -> bool {
    let (printed, diagnostics) = target.print(plan);
    assert_eq!(printed.is_none(), diagnostics.has_errors());
    let Some(printed) = printed else {
        return false;
    };
    let again = read(&printed, target.name());
    assert_equivalent(plan, &again, &diagnostics, target.name(), &printed);
    assert_eq!(
        without_places(&through_native(&again)),
        without_places(&again),
        "{printed}"
    );
    // Everything that was read can be expressed, so further round trips change nothing.
    let (reprinted, _) = target.print(&again);
    let reprinted = reprinted.unwrap_or_else(|| panic!("{} refuses {printed}", target.name()));
    let normalized = read(&reprinted, target.name());
    let (last, _) = target.print(&normalized);
    assert_eq!(last.as_ref(), Some(&reprinted));
    true
}

#[test]
fn modest_plans_go_through_every_dialect() {
    let mut runner = TestRunner::deterministic();
    let strategy = typical_plan();
    let mut accepted = [0; MIN_TYPICAL.len()];
    for _ in 0..PLANS {
        let plan = strategy.new_tree(&mut runner).unwrap().current();
        for (count, (name, _)) in accepted.iter_mut().zip(MIN_TYPICAL) {
            *count += usize::from(survives(&plan, dialect(name).unwrap()));
        }
    }
    for (count, (name, least)) in accepted.into_iter().zip(MIN_TYPICAL) {
        assert!(
            count >= least,
            "{name} says {count} of {PLANS} plans: {accepted:?}"
        );
    }
}

/// The minimum number of arbitrary plans that must be sound, and of sound ones that each dialect must support.
const MIN_SOUND: usize = 300;
const MIN_ARBITRARY: [(&str, usize); 7] = [
    ("native", MIN_SOUND),
    ("lines", MIN_SOUND),
    ("concierge", 20),
    ("acts", 20),
    ("mcp-cli", 20),
    ("clear-ai", 20),
    ("agentle", 20),
];

/// A dialect refuses a sound plan, or prints it so that it is sound again. The native one refuses nothing.
#[test]
fn any_sound_plan_goes_through_or_is_refused() {
    let mut runner = TestRunner::deterministic();
    let strategy = (strategy::plan(1), any::<u64>());
    let (mut sound, mut accepted) = (0, [0; MIN_ARBITRARY.len()]);
    for _ in 0..PLANS {
        let (plan, seed) = strategy.new_tree(&mut runner).unwrap().current();
        let plan = made_sound(&thinned(&plan, seed));
        let Some(meaning) = digest(&plan) else {
            continue;
        };
        sound += 1;
        assert_eq!(digest(&through_native(&plan)).as_ref(), Some(&meaning));
        for (count, (name, _)) in accepted.iter_mut().zip(MIN_ARBITRARY) {
            let target = dialect(name).unwrap();
            let (Some(printed), diagnostics) = target.print(&plan) else {
                continue;
            };
            *count += 1;
            let again = read(&printed, name);
            let meant = digest(&again);
            assert!(meant.is_some(), "{name}: {printed}");
            let back = digest(&through_native(&again));
            assert_eq!(back, meant, "{name}: {printed}");
            // In this dialect, inputs are the content of a message.
            let has_inputs = name != "acts" || plan.inputs.is_empty();
            if diagnostics.is_empty() && is_loose(&plan) && has_inputs {
                assert_eq!(meant.as_ref(), Some(&meaning), "{name}: {printed}");
            }
        }
    }
    assert!(sound >= MIN_SOUND, "{sound} of {PLANS} are sound");
    for (count, (name, least)) in accepted.into_iter().zip(MIN_ARBITRARY) {
        assert!(count >= least, "{name} of {sound}: {accepted:?}");
    }
}

/// Returns true if steps are independent, so that no dialect changes their dependencies.
fn is_loose(plan: &Plan) -> bool {
    let reads_steps = |step: &Step| {
        let mut reads = false;
        step.args.each_reference(&mut |reference| {
            let of_step = |read: &&Read| matches!(read.source, Source::Step(_));
            reads |= reference.reads().iter().any(of_step);
        });
        reads
    };
    let is_alone = |step: &Step| step.after.is_empty() && !reads_steps(step);
    plan.ordering == Ordering::Dataflow && plan.steps.iter().all(is_alone)
}

fn check_within_reach(text: &serde_json::Value, name: &str) -> Result<(), TestCaseError> {
    let plan = sound_plan(&text.to_string(), name);
    let native = through_native(&plan);
    let own = |plan: &Plan| dialect(name).unwrap().print(plan);
    let ((before, _), (after, _)) = (own(&plan), own(&native));
    prop_assert_eq!(before, after);
    for target in dialects().iter().filter(|dialect| dialect.is_writable()) {
        survives(&native, *target);
    }
    Ok(())
}

/// Random steps rarely fit every dialect; these do.
#[test]
fn metadata_goes_everywhere() {
    for metadata in [
        serde_json::json!({"query": "q"}),
        serde_json::json!({"tags": ["a"], "query": "q"}),
        serde_json::json!({"metadata": {"query": "q"}}),
        serde_json::json!({"metadata": {"tags": ["a"]}}),
        serde_json::json!({"metadata": {}, "tags": []}),
    ] {
        let text = serde_json::json!({
            "steps": [{"tool": "t", "params": {}, "depends_on": []}], "metadata": metadata
        });
        check_within_reach(&text, "clear-ai").unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn concierge_goes_everywhere(plan in round_trip::concierge()) {
        check_within_reach(&plan, "concierge")?;
    }

    #[test]
    fn mcp_cli_goes_everywhere(plan in round_trip::mcp_cli()) {
        check_within_reach(&plan, "mcp-cli")?;
    }

    #[test]
    fn clear_ai_goes_everywhere(plan in round_trip::clear_ai()) {
        check_within_reach(&plan, "clear-ai")?;
    }

    #[test]
    fn agentle_goes_everywhere(plan in round_trip::agentle()) {
        check_within_reach(&plan, "agentle")?;
    }
}
