//! The flow analysis, on plans as they are written. A case lists each guarded or leaving parameter: `ok` or a code, the
//! step, the parameter, and the sources of the violating value.

use std::fs;

use planwright_core::check::{DependencyKind, Releases};
use planwright_core::flow::{
    Confidentiality, FlowContext, FlowParameter, FlowPattern, FlowPolicy, FlowRule, Guard,
    Integrity, PlannerLabel, analyze,
};
use planwright_core::{
    Catalog, CheckContext, CheckedPlan, Code, Policy, Schema, Tool, Value, check,
};
use planwright_dialects::{ReadOptions, parse};

use crate::golden::cases;

#[test]
fn every_parameter_has_the_labels_of_its_sources() {
    let mut faults = Vec::new();
    for file in cases("flow") {
        let text = fs::read_to_string(&file).unwrap();
        let all = Value::from_json(&text).unwrap();
        let catalog = catalog(all.get("tools").unwrap());
        for case in all.get("cases").unwrap().as_list().unwrap() {
            let about = case.get("about").unwrap().as_text().unwrap();
            let rules = case.get("flow").or(all.get("flow")).unwrap();
            let mut policy = flow_policy(rules);
            if case.get("exposed").is_some() {
                policy.planner = PlannerLabel::Exposed;
            }
            let plan = case.get("plan").unwrap();
            let plan = match plan {
                Value::Text(text) => text.to_string(),
                plan => plan.to_json(),
            };
            let dialect = case
                .get("dialect")
                .map_or("native", |name| name.as_text().unwrap());
            let found = parameters(&plan, dialect, &catalog, policy);
            let expected: Vec<&str> = case
                .get("expect")
                .unwrap()
                .as_list()
                .unwrap()
                .iter()
                .map(|line| line.as_text().unwrap())
                .collect();
            if found != expected {
                faults.push(format!(
                    "{about}:\n  found    {found:#?}\n  expected {expected:#?}"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Every dependency on data has an edge, and the way of a violating value begins with a marked one.
fn assert_edges(plan: &CheckedPlan, flow: &FlowPolicy) {
    let context = FlowContext {
        policy: flow,
        releases: &Releases::Anything,
        with_edges: true,
    };
    let report = analyze(plan, context);
    let ids: Vec<String> = plan
        .plan()
        .steps
        .iter()
        .map(|step| step.id.to_string())
        .collect();
    let edge = |from: &str, to: &str| {
        let mut edges = report.edges.iter();
        edges.find(|edge| *edge.from == *from && *edge.to == *to)
    };
    for (step, id) in plan.steps().iter().zip(&ids) {
        for dependency in &step.dependencies {
            let from = &ids[dependency.on as usize];
            let carries = matches!(dependency.kind, DependencyKind::Data | DependencyKind::Slot);
            if carries && from != id {
                assert!(
                    edge(from, id).is_some(),
                    "{from} to {id}: {:#?}",
                    report.edges
                );
            }
        }
    }
    for parameter in report.violations() {
        for origin in &parameter.origins {
            let is_marked = report.edges.iter().any(|edge| {
                edge.from == origin.step
                    && match parameter.code {
                        Some(Code::PrivateArgument) => {
                            edge.confidentiality == Confidentiality::Private
                        }
                        _ => edge.integrity == Integrity::Untrusted,
                    }
            });
            // Literals, secrets and results of earlier runs come from no step; inner plans give their output to the step around.
            // A step that reads its own last round has no edge.
            let is_step =
                origin.step != parameter.step && ids.iter().any(|id| **id == *origin.step);
            assert!(is_marked || !is_step, "{parameter:#?}: {:#?}", report.edges);
        }
    }
}

fn parameters(plan: &str, dialect: &str, catalog: &Catalog, flow: FlowPolicy) -> Vec<String> {
    let read = parse(
        plan.as_bytes(),
        &ReadOptions::new("test").in_dialect(dialect),
    );
    let Some(plan) = read.plan.filter(|_| !read.diagnostics.has_errors()) else {
        return read.diagnostics.iter().map(ToString::to_string).collect();
    };
    let policy = Policy::new().allow_all_releases().with_flow(flow.clone());
    let context = CheckContext::new(catalog).with_policy(&policy);
    let (checked, diagnostics) = check(plan, &context);
    if let Some(checked) = &checked {
        assert_edges(checked, &flow);
    }
    match checked {
        Some(checked) => checked
            .flow()
            .unwrap()
            .parameters
            .iter()
            .map(line)
            .collect(),
        None => diagnostics.iter().map(ToString::to_string).collect(),
    }
}

fn line(found: &FlowParameter) -> String {
    let place = format!("{} {}", found.step, found.parameter);
    let Some(code) = found.code else {
        return format!("ok {place}");
    };
    // A way begins at its source and ends at the parameter.
    assert!(found.way.len() >= 2, "{found:#?}");
    let mut origins: Vec<String> = found
        .origins
        .iter()
        .map(|origin| match (&*origin.step, &*origin.field) {
            ("", "") => origin.tool.to_string(),
            ("", field) => format!("{}.{field}", origin.tool),
            (step, "") => step.to_owned(),
            (step, field) => format!("{step}.{field}"),
        })
        .collect();
    origins.sort();
    format!("{} {place}: {}", code.as_str(), origins.join(","))
}

fn catalog(tools: &Value) -> Catalog {
    let mut catalog = Catalog::new();
    for tool in tools.as_list().unwrap() {
        let (server, name) = tool
            .get("name")
            .unwrap()
            .as_text()
            .unwrap()
            .split_once('.')
            .unwrap();
        let schema = |key: &str| {
            tool.get(key)
                .cloned()
                .map_or(Schema::any(), Schema::from_value)
        };
        let mut made = Tool::new(server, name);
        made.input = schema("input");
        made.output = schema("output");
        made.hints.open_world = tool.get("open_world").and_then(Value::as_bool);
        catalog.add(made);
    }
    catalog
}

fn flow_policy(rules: &Value) -> FlowPolicy {
    let list = |key: &str| -> Option<Vec<FlowRule>> {
        let patterns = rules.get(key)?.as_list().unwrap().iter();
        Some(
            patterns
                .map(|text| FlowPattern::parse(text.as_text().unwrap()).unwrap().into())
                .collect(),
        )
    };
    let default = FlowPolicy::default();
    FlowPolicy {
        untrusted: list("untrusted").unwrap_or(default.untrusted),
        trusted: list("trusted").unwrap_or_default(),
        guard: list("guard").map_or(default.guard, |rules| {
            rules.into_iter().map(Guard::Rule).collect()
        }),
        private: list("private").unwrap_or_default(),
        leaves: list("leaves").unwrap_or_default(),
        decides: list("decides").unwrap_or_default(),
        planner: default.planner,
        violation: default.violation,
    }
}
