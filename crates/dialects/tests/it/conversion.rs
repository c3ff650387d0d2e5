//! A thousand plans through every dialect that can be written, and back: what is not refused is the same plan.

mod alike;
mod modest;

use planwright_core::Plan;
use planwright_dialects::{Dialect, ReadOptions, dialect, dialects, parse};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use self::alike::assert_alike;
use self::modest::modest;
use crate::golden::sound_plan;
use crate::native::placeless::placeless;
use crate::round_trip;

const PLANS: usize = 1000;

/// How many of the modest plans each dialect must be able to say at least.
const AT_LEAST: [(&str, usize); 6] = [
    ("native", 1000),
    ("concierge", 150),
    ("acts", 150),
    ("mcp-cli", 150),
    ("clear-ai", 150),
    ("agentle", 150),
];

/// The plan that `text`, which was printed in the dialect `name`, is read as.
#[track_caller]
fn read(text: &str, name: &str) -> Plan {
    let result = parse(text.as_bytes(), &ReadOptions::new("test").in_dialect(name));
    let findings = result.diagnostics;
    assert!(!findings.has_errors(), "{name}: {findings:#?}\n{text}");
    result.plan.unwrap()
}

/// `plan` in the native dialect, and back.
#[track_caller]
fn through_native(plan: &Plan) -> Plan {
    let (printed, findings) = dialect("native").unwrap().print(plan);
    assert!(findings.is_empty(), "{findings:#?}");
    read(&printed.unwrap(), "native")
}

/// Prints `plan` in `target`, reads it again, and compares; `false` where it was refused.
#[track_caller]
fn goes_through(plan: &Plan, target: &dyn Dialect) -> bool {
    let (printed, findings) = target.print(plan);
    assert_eq!(printed.is_none(), findings.has_errors());
    let Some(printed) = printed else {
        return false;
    };
    let again = read(&printed, target.name());
    assert_alike(plan, &again, &findings, target.name(), &printed);
    assert_eq!(
        placeless(&through_native(&again)),
        placeless(&again),
        "{printed}"
    );
    // What was read is within reach, so that from here on nothing changes any more.
    let (reprinted, _) = target.print(&again);
    let reprinted = reprinted.unwrap_or_else(|| panic!("{} refuses {printed}", target.name()));
    let settled = read(&reprinted, target.name());
    let (last, _) = target.print(&settled);
    assert_eq!(last.as_ref(), Some(&reprinted));
    true
}

#[test]
fn modest_plans_go_through_every_dialect() {
    let mut runner = TestRunner::deterministic();
    let strategy = modest();
    let mut accepted = [0; AT_LEAST.len()];
    for _ in 0..PLANS {
        let plan = strategy.new_tree(&mut runner).unwrap().current();
        for (count, (name, _)) in accepted.iter_mut().zip(AT_LEAST) {
            *count += usize::from(goes_through(&plan, dialect(name).unwrap()));
        }
    }
    for (count, (name, least)) in accepted.into_iter().zip(AT_LEAST) {
        assert!(
            count >= least,
            "{name} says {count} of {PLANS} plans: {accepted:?}"
        );
    }
}

fn check_within_reach(text: &serde_json::Value, name: &str) -> Result<(), TestCaseError> {
    let plan = sound_plan(&text.to_string(), name);
    let native = through_native(&plan);
    let (_, findings) = dialect(name).unwrap().print(&native);
    prop_assert!(findings.is_empty(), "{findings:#?}");
    for target in dialects().iter().filter(|dialect| dialect.is_writable()) {
        let accepted = goes_through(&native, *target);
        prop_assert!(accepted || target.name() != name);
    }
    Ok(())
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
