//! The flow analysis, on plans as they are written. A case lists each guarded or leaving parameter: `ok` or a code, the
//! step, the parameter, and the sources of the violating value.

use std::fs;
use std::path::Path;

use planwright_core::check::{DependencyKind, Releases};
use planwright_core::flow::{
    Confidentiality, FlowContext, FlowParameter, FlowPattern, FlowPolicy, FlowReport, FlowRule,
    FlowVerdict, Guard, Integrity, PlannerLabel, analyze,
};
use planwright_core::{
    Catalog, CheckContext, CheckedPlan, Code, Plan, Policy, Schema, Tool, Value, check,
};
use planwright_dialects::{ReadOptions, parse};

use crate::golden::cases;

#[test]
fn every_parameter_has_the_labels_of_its_sources() {
    let mut problems = Vec::new();
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
                problems.push(format!(
                    "{about}:\n  found    {found:#?}\n  expected {expected:#?}"
                ));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Every dependency on data has an edge, and the way of a violating value begins with a marked one.
fn assert_edges(plan: &CheckedPlan, flow: &FlowPolicy) {
    let context = FlowContext::new(flow, &Releases::Anything).with_edges();
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
        for origin in parameter.origins() {
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
    match report(plan, dialect, catalog, flow) {
        Ok(report) => report.parameters.iter().map(line).collect(),
        Err(diagnostics) => diagnostics,
    }
}

/// Reads, checks and analyzes a plan; fails with the diagnostics if it is not sound.
pub(crate) fn report(
    plan: &str,
    dialect: &str,
    catalog: &Catalog,
    flow: FlowPolicy,
) -> Result<FlowReport, Vec<String>> {
    let read = parse(
        plan.as_bytes(),
        &ReadOptions::new("test").in_dialect(dialect),
    );
    match read.plan.filter(|_| !read.diagnostics.has_errors()) {
        Some(plan) => analyzed(plan, catalog, flow),
        None => Err(read.diagnostics.iter().map(ToString::to_string).collect()),
    }
}

pub(crate) fn analyzed(
    plan: Plan,
    catalog: &Catalog,
    flow: FlowPolicy,
) -> Result<FlowReport, Vec<String>> {
    let policy = Policy::new().allow_all_releases().with_flow(flow.clone());
    let context = CheckContext::new(catalog).with_policy(&policy);
    let (checked, diagnostics) = check(plan, &context);
    if let Some(checked) = &checked {
        assert_edges(checked, &flow);
    }
    match checked {
        Some(checked) => Ok(checked.flow().unwrap().clone()),
        None => Err(diagnostics.iter().map(ToString::to_string).collect()),
    }
}

/// A plan that is an attack with one field of an output, and a benign twin with another.
pub(crate) struct Attack {
    pub(crate) about: String,
    code: String,
    pub(crate) dialect: String,
    /// The field, or the tool, that the violating value comes from.
    origin: String,
    /// The plan with the field that violates the policy; `None` if the case has only the other.
    pub(crate) hostile: Option<String>,
    /// The plan with the harmless field; `None` if the case has only the other.
    pub(crate) twin: Option<String>,
    /// True if the author of both plans has read untrusted text.
    exposed: bool,
}

/// Attacks with the tools and the policy that they share.
type AttackGroup = (Vec<Attack>, Catalog, FlowPolicy);

/// Returns the attacks on the policy that most of them share.
pub(crate) fn attacks() -> AttackGroup {
    let mut files = cases("flow_attacks").into_iter();
    let file = files.find(|file| file.ends_with("attacks.json")).unwrap();
    attack_groups(&file).remove(0)
}

/// Returns the groups of attacks in a file. Each may have a policy of its own. Steps of native plans follow two that read
/// mails.
fn attack_groups(file: &Path) -> Vec<AttackGroup> {
    let all = Value::from_json(&fs::read_to_string(file).unwrap()).unwrap();
    let groups = match all.get("groups") {
        Some(groups) => groups.as_list().unwrap().to_vec(),
        None => vec![all.clone()],
    };
    let groups = groups.iter();
    groups
        .map(|group| {
            let policy = flow_policy(group.get("flow").unwrap());
            let tools = catalog(all.get("tools").unwrap());
            (attacks_of(group), tools, policy)
        })
        .collect()
}

fn attacks_of(group: &Value) -> Vec<Attack> {
    let text = |case: &Value, key: &str, default: &str| match case.get(key) {
        Some(Value::Text(text)) => text.to_string(),
        _ => default.to_owned(),
    };
    let readers = Value::from_json(
        r#"[{"id": "r", "tool": "inbox.read", "args": {"message_id": "1"}}, {"id": "l", "tool": "inbox.list", "args": {}}]"#,
    )
    .unwrap();
    let list = group.get("cases").unwrap().as_list().unwrap().iter();
    list.map(|case| {
        let plan = match case.get("steps") {
            Some(steps) => {
                let steps = steps.as_list().unwrap().iter();
                let steps = readers.as_list().unwrap().iter().chain(steps).cloned();
                Value::object([("steps", Value::list(steps))]).to_json()
            }
            None => text(case, "plan", ""),
        };
        let part = |key: &str, default: &str| match case.get(key) {
            Some(Value::Null) => None,
            _ => Some(text(case, key, default)),
        };
        let evil = part("attack", "from");
        Attack {
            about: text(case, "about", ""),
            code: text(case, "code", "PW1001"),
            dialect: text(case, "dialect", "native"),
            hostile: evil.as_ref().map(|evil| plan.replace("PART", evil)),
            twin: part("twin", "message_id").map(|part| plan.replace("PART", &part)),
            origin: text(case, "origin", evil.as_deref().unwrap_or_default()),
            exposed: case.get("exposed").is_some(),
        }
    })
    .collect()
}

impl Attack {
    /// Returns true if the report has a violation of the kind that the attack must have, with the field as source.
    fn is_found(&self, report: &FlowReport) -> bool {
        let field = self.origin.rsplit('.').next().unwrap();
        report.violations().any(|parameter| {
            parameter.code.unwrap().as_str() == self.code
                && parameter.origins().iter().any(|origin| {
                    let last = origin.field.rsplit('.').next().unwrap();
                    last == field || last == "error" || *origin.tool == *self.origin
                })
        })
    }
}

#[test]
fn every_attack_is_found_and_its_twin_is_clean() {
    let mut problems = Vec::new();
    for file in cases("flow_attacks") {
        for (attacks, catalog, policy) in attack_groups(&file) {
            for attack in &attacks {
                add_problems(attack, &catalog, policy.clone(), &mut problems);
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_guarded_field_beyond_many_others_is_found() {
    let (_, catalog, policy) = attacks();
    let others: Vec<String> = (0..2_100)
        .map(|number| format!(r#""a{number}": 1"#))
        .collect();
    let plan = |key: &str| {
        format!(
            r#"{{"steps": [{{"id": "r", "tool": "inbox.read", "args": {{"message_id": "1"}}}},
                {{"id": "v", "value": {{{}, "to": "${{r.{key}}}"}}}},
                {{"id": "s", "tool": "any.untyped", "args": {{"payload": "${{v}}"}}}}]}}"#,
            others.join(", ")
        )
    };
    let verdict = |key: &str| {
        let report = report(&plan(key), "native", &catalog, policy.clone());
        report.unwrap().verdict()
    };
    assert_eq!(verdict("from"), FlowVerdict::Asks);
    assert_eq!(verdict("message_id"), FlowVerdict::Clean);
}

fn add_problems(
    attack: &Attack,
    catalog: &Catalog,
    mut policy: FlowPolicy,
    problems: &mut Vec<String>,
) {
    let Attack { about, dialect, .. } = attack;
    if attack.exposed {
        policy.planner = PlannerLabel::Exposed;
    }
    if let Some(hostile) = &attack.hostile {
        match report(hostile, dialect, catalog, policy.clone()) {
            Ok(report) if attack.is_found(&report) => {}
            Ok(report) => {
                let found: Vec<String> = report.parameters.iter().map(line).collect();
                problems.push(format!("missed: {about}: {found:?}"));
            }
            Err(found) => problems.push(format!("not sound: {about}: {found:?}")),
        }
    }
    if let Some(twin) = &attack.twin {
        match report(twin, dialect, catalog, policy) {
            Ok(report) if report.verdict() == FlowVerdict::Clean => {}
            Ok(report) => {
                let found: Vec<String> = report.violations().map(line).collect();
                problems.push(format!("false alarm: {about}: {found:?}"));
            }
            Err(found) => problems.push(format!("not sound: {about}: {found:?}")),
        }
    }
}

fn line(found: &FlowParameter) -> String {
    let place = format!("{} {}", found.step, found.parameter);
    let Some(code) = found.code else {
        return format!("ok {place}");
    };
    // A way begins at its source and ends at the parameter.
    assert!(found.path().len() >= 2, "{found:#?}");
    let mut origins: Vec<String> = found
        .origins()
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
    catalog.add_extraction();
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
            let rules = rules.into_iter();
            rules
                .map(|rule| match rule.pattern.as_str() {
                    "builtin" => Guard::Builtin,
                    _ => Guard::Rule(rule),
                })
                .collect()
        }),
        private: list("private").unwrap_or_default(),
        leaves: list("leaves").unwrap_or_default(),
        decides: list("decides").unwrap_or_default(),
        planner: default.planner,
        violation: default.violation,
    }
}
