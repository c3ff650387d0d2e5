//! Equivalence of a plan in every dialect that can express it: each case is run as it is and as it was converted,
//! over the same simulated tools, and the steps are compared one by one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use planwright::core::Diagnostics;
use planwright::dialects::{ReadOptions, dialect, dialects, parse};
use planwright::engine::backend::Simulated;
use planwright::engine::{RunStatus, RunSummary};
use planwright::{Plan, Planwright, Value};

/// So many cases at least must be compared in each dialect.
const AT_LEAST: [(&str, usize); 7] = [
    ("native", 300),
    ("lines", 300),
    ("concierge", 50),
    ("acts", 30),
    ("mcp-cli", 100),
    ("clear-ai", 100),
    ("agentle", 50),
];

/// The parts of a plan whose loss never changes the outcome of a step.
const NEVER_MATTERS: [&str; 10] = [
    "'s name",
    "'s title",
    "'s description",
    "metadata",
    "the purpose of a step",
    "the steps whose outputs the plan returns",
    "where a step writes its output",
    "the ids of steps",
    "side by side",
    "takes references",
];

/// The parts of a plan whose loss changes the outcome of a step only if a step fails or a value is missing.
const MATTERS_IN_FAILURE: [&str; 6] = [
    "continue after an independent one failed",
    "the first failure stops the run",
    "a missing value fails the step",
    "an item without the value fails the step",
    "sharable parameters take references",
    "not for a failed step",
];

/// Simulated tools, plans of the library, what is given by name, the plan.
struct Case {
    name: String,
    script: Value,
    library: Vec<(String, Plan)>,
    inputs: Vec<(String, Value)>,
    plan: Plan,
}

fn value(json: &serde_json::Value) -> Value {
    Value::from_json(&json.to_string()).unwrap()
}

/// The plan in `json`, where it can be read.
fn read(json: &serde_json::Value, name: Option<&str>) -> Option<Plan> {
    let text = json
        .as_str()
        .map_or_else(|| json.to_string(), str::to_owned);
    let options = ReadOptions {
        dialect: name,
        ..ReadOptions::new("plan")
    };
    let result = parse(text.as_bytes(), &options);
    result.plan.filter(|_| !result.diagnostics.has_errors())
}

impl Case {
    /// The case that `json` describes, unless it is about a plan that cannot be read.
    fn of(json: &serde_json::Value) -> Option<Self> {
        let plan = read(&json["plan"], json["dialect"].as_str())?;
        let none = serde_json::json!({});
        let tools = json.get("tools").unwrap_or(&none);
        let script = value(&serde_json::json!({ "tools": tools }));
        let library = json["library"].as_object().into_iter().flatten();
        let library: Option<Vec<(String, Plan)>> = library
            .map(|(name, plan)| Some((name.clone(), read(plan, None)?)))
            .collect();
        let inputs = json["vars"].as_object().into_iter().flatten();
        Some(Self {
            name: json["name"].to_string(),
            script,
            library: library?,
            inputs: inputs
                .map(|(name, inputs)| (name.clone(), value(inputs)))
                .collect(),
            plan,
        })
    }

    /// Runs `plan` over fresh tools, if it is sound here.
    async fn outcome(&self, plan: Plan) -> Option<RunSummary> {
        let tools = Simulated::from_script(&self.script).unwrap();
        let mut builder = Planwright::builder().simulated(tools);
        for (name, plan) in &self.library {
            builder = builder.library_plan(name.as_str(), plan.clone());
        }
        let planwright = builder.open().await.unwrap();
        let checked = planwright.check_with(plan, self.inputs.clone()).ok()?;
        Some(planwright.run(checked).await.unwrap())
    }
}

/// Returns the outcome and the output of each step.
fn steps(summary: &RunSummary) -> Vec<String> {
    let steps = summary.steps.iter();
    steps
        .map(|step| format!("{:?} {:?}", step.status, step.output))
        .collect()
}

/// Returns true if a plan that was printed with these diagnostics must behave like the one of `summary`.
fn must_agree(findings: &Diagnostics, summary: &RunSummary) -> bool {
    let went_well = summary.status == RunStatus::Succeeded
        && summary.warnings.is_empty()
        && summary.steps.iter().all(|step| step.output.is_some());
    findings.iter().all(|finding| {
        let is_about = |part: &&str| finding.message.contains(*part);
        NEVER_MATTERS.iter().any(is_about) || went_well && MATTERS_IN_FAILURE.iter().any(is_about)
    })
}

#[tokio::test(start_paused = true)]
async fn a_converted_plan_does_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    let mut errors = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        for json in &cases {
            let Some(case) = Case::of(json) else {
                continue;
            };
            let Some(before) = case.outcome(case.plan.clone()).await else {
                continue;
            };
            for target in dialects() {
                let (Some(printed), findings) = target.print(&case.plan) else {
                    continue;
                };
                let again = parse(
                    printed.as_bytes(),
                    &ReadOptions::new("plan").in_dialect(target.name()),
                );
                let again = again.plan.unwrap();
                let back = dialect("native").unwrap().print(&again).0.unwrap();
                let back = parse(
                    back.as_bytes(),
                    &ReadOptions::new("plan").in_dialect("native"),
                );
                for plan in [Some(again), back.plan] {
                    // Parameters may be marked as sharable, or not.
                    let Some(after) = case.outcome(plan.unwrap()).await else {
                        if target.name() != "concierge" {
                            errors.push(format!("{} in {} is refused", case.name, target.name()));
                        }
                        continue;
                    };
                    if must_agree(&findings, &before) {
                        *compared.entry(target.name()).or_default() += 1;
                        let (before, after) = (steps(&before), steps(&after));
                        if before != after {
                            errors.push(format!(
                                "{} in {}: {before:?}, {after:?}\n{printed}",
                                case.name,
                                target.name()
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(
        errors.is_empty(),
        "{} errors:\n{}",
        errors.len(),
        errors.join("\n")
    );
    for (name, least) in AT_LEAST {
        let count = compared.get(name).copied().unwrap_or(0);
        assert!(count >= least, "{name}: {compared:?}");
    }
}
