//! References of a plan to results of earlier runs: `${runs.RUN.STEP}`.

use std::collections::{BTreeMap, BTreeSet};

use planwright::loaded_plan::RECALLED;
use planwright_core::Plan;
use planwright_core::plan::{Segment, Source};

/// The steps of earlier runs that a plan refers to, by run.
pub(crate) fn recalled_steps(plan: &Plan) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    plan.each_reference(&mut |reference| {
        for read in reference.reads() {
            let is_recalled = matches!(&read.source, Source::Step(id) if id.as_str() == RECALLED);
            if is_recalled && let [Segment::Key(run), Segment::Key(step), ..] = read.path.as_slice()
            {
                let steps = found.entry(run.to_string()).or_default();
                steps.insert(step.to_string());
            }
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use planwright_dialects::ReadOptions;

    use super::recalled_steps;

    fn check(args: &str) -> String {
        let text = format!(r#"{{"steps": [{{"id": "a", "tool": "t", "args": {args}}}]}}"#);
        let options = ReadOptions::new("plan").in_dialect("native");
        let plan = planwright_dialects::parse(text.as_bytes(), &options).plan;
        let found = recalled_steps(&plan.unwrap());
        let runs = found.iter().map(|(run, steps)| format!("{run}: {steps:?}"));
        runs.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn references_to_runs_are_found() {
        insta::assert_snapshot!(check(r#"{"x": "${runs.a1.weather.temp} ${runs.a1.other}"}"#), @r#"a1: {"other", "weather"}"#);
        insta::assert_snapshot!(check(r#"{"x": ["${runs[\"01ab\"].a[0]}"], "y": {"z": "${runs.ff.b > 1}"}}"#), @r#"01ab: {"a"}; ff: {"b"}"#);
        insta::assert_snapshot!(check(r#"{"x": "runs.a1.b", "y": "${steps.runs.a.b} ${runs} ${runs.a}"}"#), @r#"a: {"b"}"#);
    }
}
