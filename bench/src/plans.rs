//! Plans and catalogs of any size.

use planwright_core::check::{CheckContext, CheckedPlan, Policy, check};
use planwright_core::flow::{FlowPattern, FlowPolicy, FlowRule, Guard};
use planwright_core::{Catalog, Diagnostics, Schema, Tool, Value};
use planwright_dialects::{ReadOptions, parse};
use serde_json::{Map, json};

use crate::shape::Shape;

/// Creates a catalog of `tools` tools with typical schemas: texts, numbers, a list, a nested object.
pub fn catalog(tools: usize) -> Catalog {
    (0..tools)
        .map(|number| {
            let input = Schema::from_value(Value::from(json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "minLength": 1, "description": "what to look for"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "sort": {"enum": ["name", "score", "date"]},
                    "near": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}},
                },
                "required": ["query"],
                "additionalProperties": false,
            })));
            let output = Schema::from_value(Value::from(json!({
                "type": "object",
                "properties": {
                    "items": {"type": "array", "items": {"type": "object", "properties": {
                        "id": {"type": "string"}, "name": {"type": "string"}, "score": {"type": "number"},
                    }, "required": ["id", "name"]}},
                    "total": {"type": "integer"},
                },
                "required": ["items", "total"],
            })));
            Tool {
                input,
                output,
                ..Tool::new(format!("server{}", number / 20), format!("tool_{number}"))
            }
        })
        .collect()
}

/// The number of references in each step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Density {
    /// Two references: one within text, one as a whole argument with a fallback.
    Typical,
    /// Six references: in most of the arguments, including lists and objects.
    High,
    /// Four expressions: over lists, texts and conditions.
    Expressions,
}

/// Returns the text of a native plan with `steps` steps over the tools of a [`catalog`] of `tools`. Each step but the first refers to
/// earlier ones.
pub fn text(steps: usize, tools: usize, density: Density) -> String {
    let steps: Vec<serde_json::Value> = (0..steps)
        .map(|number| {
            let args = args(number, density);
            json!({"id": format!("s{number}"), "tool": format!("tool_{}", number * 7 % tools), "args": args})
        })
        .collect();
    json!({"name": "measured", "steps": steps, "output": ["s0"]}).to_string()
}

fn args(number: usize, density: Density) -> serde_json::Value {
    let before = number.saturating_sub(1);
    let earlier = number / 2;
    match density {
        _ if number == 0 => json!({"query": "everything", "limit": 20}),
        Density::Typical => json!({
            "query": format!("more of ${{s{before}.items[0].name}}"),
            "limit": format!("${{s{earlier}.total ?? 20}}"),
            "tags": ["new", "used"],
            "sort": "score",
        }),
        Density::High => json!({
            "query": format!("more of ${{s{before}.items[0].name}} like ${{s{earlier}.items[0].name}}"),
            "limit": format!("${{s{earlier}.total ?? 20}}"),
            "tags": [format!("${{s{before}.items[0].id}}"), "new", format!("${{s{earlier}.items[1].id ?? \"none\"}}")],
            "sort": "score",
            "near": {"lat": 59.9, "lon": format!("${{s{earlier}.items[0].score ?? 10.7}}")},
        }),
        Density::Expressions => json!({
            "query": format!("${{s{before}.items.filter(i, i.score > 0.5).map(i, i.name).join(', ')}}"),
            "limit": format!("${{s{earlier}.total > 20 ? 20 : s{earlier}.total + 1}}"),
            "tags": format!("${{s{before}.items.sortBy(i, i.name).map(i, i.id)}}"),
            "sort": "score",
            "near": {"lat": 59.9, "lon": format!("${{s{earlier}.items.exists(i, i.id == 'x') ? 10.7 : 0.5}}")},
        }),
    }
}

/// Reads and checks `text`.
///
/// # Panics
///
/// If the plan is not sound.
pub fn checked(text: &str, catalog: &Catalog) -> CheckedPlan {
    checked_by(text, catalog, &Policy::new())
}

/// Reads `text` and checks it with `policy`.
///
/// # Panics
///
/// If the plan is not sound.
pub fn checked_by(text: &str, catalog: &Catalog, policy: &Policy) -> CheckedPlan {
    findings_by(text, catalog, policy).0
}

/// Reads `text` and checks it with `policy`. Returns the findings as well, whose words are formed when they are read.
///
/// # Panics
///
/// If the plan is not sound.
pub fn findings_by(text: &str, catalog: &Catalog, policy: &Policy) -> (CheckedPlan, Diagnostics) {
    let result = parse(text.as_bytes(), &ReadOptions::new("measured"));
    let plan = result.plan.expect("a plan");
    let (checked, findings) = check(plan, &CheckContext::new(catalog).with_policy(policy));
    match checked {
        Some(checked) => (checked, findings),
        None => panic!("{findings:#?}"),
    }
}

/// Returns the flow policy of a table `[flow]` without entries: the outputs of all tools are untrusted, and the built-in guards hold. They
/// guard no parameter of a [`catalog`].
pub fn builtin_guards() -> Policy {
    Policy::new().with_flow(FlowPolicy::default())
}

/// Returns a flow policy with rules of each kind for the tools of a [`catalog`]. Each step has guarded and leaving parameters.
pub fn flow_policy() -> Policy {
    let rules = |patterns: &[&str]| {
        let rules = patterns.iter().map(|text| FlowPattern::parse(text));
        rules.map(|rule| rule.expect("a pattern").into()).collect()
    };
    let guards: Vec<FlowRule> = rules(&["*:query", "*:lon"]);
    Policy::new().with_flow(FlowPolicy {
        trusted: rules(&["*:id", "server1.*", "*:total"]),
        guard: [Guard::Builtin]
            .into_iter()
            .chain(guards.into_iter().map(Guard::Rule))
            .collect(),
        private: rules(&["server2.*:name"]),
        leaves: rules(&["*:tags", "server3.*"]),
        decides: rules(&["server4.*"]),
        ..FlowPolicy::default()
    })
}

/// Returns a checked plan of `steps` calls of the tool `noop` of the server `here` in this shape. Steps depend on each other by
/// references in their arguments.
pub fn shaped(shape: Shape, steps: u32, catalog: &Catalog) -> CheckedPlan {
    checked(&shaped_text(shape, steps, "noop"), catalog)
}

/// Returns the text of that plan, with calls of `tool`.
pub fn shaped_text(shape: Shape, steps: u32, tool: &str) -> String {
    let steps: Vec<serde_json::Value> = (0..)
        .zip(shape.waits(steps))
        .map(|(number, waits): (u32, Vec<u32>)| {
            let args: Map<String, serde_json::Value> = waits
                .iter()
                .map(|on| (format!("from{on}"), json!(format!("${{s{on}}}"))))
                .collect();
            json!({"id": format!("s{number}"), "tool": tool, "args": args})
        })
        .collect();
    json!({"steps": steps, "output": ["s0"]}).to_string()
}
