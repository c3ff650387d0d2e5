//! Flows of n8n: nodes by their names, and the connections between them.

use std::collections::HashMap;

use planwright_core::Value;

use super::texts::replaced;
use super::{Translation, objects, step, waits};
use crate::native::{Language, UsedIds, expression_in};

/// The condition under which a node is reached; none if it always is.
type NodeCondition = Option<String>;

const FORM: &str = "a flow of n8n";

/// The maximum number of nodes.
const MAX_NODES: usize = 200;

/// A node, with what leads to it.
struct FlowNode<'v> {
    value: &'v Value,
    kind: Kind,
    id: String,
    /// The nodes before it, and the output of each that leads here.
    before: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Call,
    /// A decision with two outputs.
    If,
    /// A node that passes on what it receives: a trigger, a merge.
    Passing,
}

/// The translation of `{"nodes": [{"name", "type", "parameters"}], "connections": {"NAME": {"main": [[{"node"}]]}}}`.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let nodes = objects(value.get("nodes")?)?;
    let connections = value.get("connections")?.as_object()?;
    (nodes.len() <= MAX_NODES).then_some(())?;
    let mut used = UsedIds::default();
    let mut found: Vec<FlowNode<'_>> = Vec::new();
    let mut positions: HashMap<&str, usize> = HashMap::new();
    for node in nodes {
        let name = node.get("name")?.as_text()?;
        let kind = kind(tool_of(node)?);
        let id = used.add_for(&name.to_lowercase());
        positions.insert(name, found.len());
        found.push(FlowNode {
            value: node,
            kind,
            id,
            before: Vec::new(),
        });
    }
    for (name, outputs) in connections {
        let from = *positions.get(&**name)?;
        for (output, targets) in outputs.get("main")?.as_list()?.iter().enumerate() {
            for target in targets.as_list().unwrap_or_default() {
                let to = *positions.get(target.get("node")?.as_text()?)?;
                found.get_mut(to)?.before.push((from, output));
            }
        }
    }
    let flow = Flow {
        nodes: &found,
        positions: &positions,
    };
    let mut steps = Vec::new();
    for node in found.iter().filter(|node| node.kind == Kind::Call) {
        steps.push(flow.step(node)?);
    }
    let translation = Translation::complete(FORM, steps)?;
    let (Some(name), true) = (value.get("name"), translation.is_complete) else {
        return Some(translation);
    };
    let steps = translation.plan.get("steps")?.clone();
    Some(Translation {
        plan: Value::object([("name", name.clone()), ("steps", steps)]),
        ..translation
    })
}

/// The tool that `node` calls.
fn tool_of(node: &Value) -> Option<&str> {
    let parameters = node.get("parameters");
    let of_client = parameters.and_then(|all| all.get("tool").or_else(|| all.get("toolName")));
    let name = of_client.or_else(|| node.get("type"))?.as_text()?;
    Some(name.strip_prefix("mcp.").unwrap_or(name))
}

fn kind(tool: &str) -> Kind {
    let name = tool.rsplit('.').next().unwrap_or(tool).to_lowercase();
    let passing = [
        "start",
        "webhook",
        "cron",
        "noop",
        "merge",
        "schedule",
        "stickynote",
    ];
    match &*name {
        "if" => Kind::If,
        name if passing.contains(&name) || name.ends_with("trigger") => Kind::Passing,
        _ => Kind::Call,
    }
}

/// The parameters of a node for MCP that hold the arguments of the tool.
const ARGUMENTS: [&str; 5] = [
    "arguments",
    "toolParameters",
    "toolArguments",
    "toolParams",
    "toolInput",
];

struct Flow<'f, 'v> {
    nodes: &'f [FlowNode<'v>],
    positions: &'f HashMap<&'v str, usize>,
}

impl Flow<'_, '_> {
    fn step(&self, node: &FlowNode<'_>) -> Option<Value> {
        let parameters = node.value.get("parameters");
        let own = parameters.and_then(|all| ARGUMENTS.iter().find_map(|name| all.get(name)));
        let args = own.or(parameters).map(|args| self.arguments(args, node));
        let args = match args {
            Some(args) => Some(args?),
            None => None,
        };
        let args = args.filter(|args| args.as_object().is_some_and(|fields| !fields.is_empty()));
        let mut ids = Vec::new();
        self.calls_before(node, &mut ids, 0)?;
        let condition = self.condition(node, 0)?;
        let retries = node.value.get("retryOnFail").and_then(Value::as_bool) == Some(true);
        let attempts = node.value.get("maxTries").cloned();
        let attempts = attempts
            .or_else(|| Value::from_json("3").ok())
            .filter(|_| retries);
        let continues = node.value.get("continueOnFail").and_then(Value::as_bool) == Some(true);
        Some(step([
            ("id", Some(Value::text(node.id.as_str()))),
            ("title", node.value.get("name").cloned()),
            ("tool", tool_of(node.value).map(Value::text)),
            ("args", args),
            ("after", waits(ids.into_iter().map(Value::text).collect())),
            (
                "when",
                condition.map(|condition| Value::text(format!("${{{condition}}}"))),
            ),
            ("retry", attempts),
            ("on_error", continues.then(|| Value::text("continue"))),
        ]))
    }

    /// The arguments `written` of `node`, an object or its JSON.
    fn arguments(&self, written: &Value, node: &FlowNode<'_>) -> Option<Value> {
        let args = self.texts(written, node)?;
        let found = match args.as_text() {
            Some(text) if text.trim().is_empty() => Value::empty_object(),
            Some(text) => Value::from_json(text).ok()?,
            None => args,
        };
        found.as_object().is_some().then_some(found)
    }

    /// The calls that lead to `node`, past the nodes that call nothing.
    fn calls_before(&self, node: &FlowNode<'_>, ids: &mut Vec<String>, depth: usize) -> Option<()> {
        (depth < self.nodes.len()).then_some(())?;
        for (from, _) in &node.before {
            let from = self.nodes.get(*from)?;
            match from.kind {
                Kind::Call if ids.contains(&from.id) => {}
                Kind::Call => ids.push(from.id.clone()),
                Kind::If | Kind::Passing => self.calls_before(from, ids, depth + 1)?,
            }
        }
        Some(())
    }

    /// The condition under which `node` is reached; `None` if the plan cannot say it.
    fn condition(&self, node: &FlowNode<'_>, depth: usize) -> Option<NodeCondition> {
        (depth < self.nodes.len()).then_some(())?;
        let mut ways: Vec<String> = Vec::new();
        for (from, output) in &node.before {
            let from = self.nodes.get(*from)?;
            let outer = self.condition(from, depth + 1)?;
            let own = match (from.kind, output) {
                (Kind::If, 0) => Some(self.decision(from)?),
                (Kind::If, _) => Some(format!("!({})", self.decision(from)?)),
                (Kind::Call | Kind::Passing, _) => None,
            };
            let way = match (outer, own) {
                (Some(outer), Some(own)) => format!("({outer}) && ({own})"),
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => return Some(None),
            };
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        Some(match ways.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            // Both ways out of one decision.
            [one, other] if *other == format!("!({one})") || *one == format!("!({other})") => None,
            several => Some(format!("({})", several.join(") || ("))),
        })
    }

    /// The condition of a decision.
    fn decision(&self, node: &FlowNode<'_>) -> Option<String> {
        let conditions = node.value.get("parameters")?.get("conditions")?;
        let sign = |item: &Value| {
            let operation = item.get("operation").or_else(|| item.get("operator"));
            let operation = operation.map(|found| found.get("operation").unwrap_or(found));
            Some(
                match operation.map_or(Some("equals"), |operation| operation.as_text())? {
                    "equals" | "equal" | "true" => "==",
                    "notEquals" | "notEqual" | "false" => "!=",
                    "larger" | "gt" => ">",
                    "largerEqual" | "gte" => ">=",
                    "smaller" | "lt" => "<",
                    "smallerEqual" | "lte" => "<=",
                    _ => return None,
                },
            )
        };
        let operand = |value: &Value| match value {
            Value::Text(text) if text.starts_with('=') => {
                self.expression(text.trim_start_matches('='), node)
            }
            Value::Text(text) if !text.contains(['\'', '\\']) => Some(format!("'{text}'")),
            Value::Number(_) | Value::Bool(_) => Some(value.to_json()),
            _ => None,
        };
        let compared = |item: &Value| {
            let left = operand(item.get("value1").or_else(|| item.get("leftValue"))?)?;
            let right = item.get("value2").or_else(|| item.get("rightValue"));
            let right = right.map_or(Some("true".to_owned()), operand)?;
            Some(format!("{left} {} {right}", sign(item)?))
        };
        let lists: Vec<&Value> = match conditions.get("conditions") {
            Some(list) => vec![list],
            None => conditions.as_object()?.values().collect(),
        };
        let mut found = Vec::new();
        for list in lists {
            for item in list.as_list()? {
                found.push(compared(item)?);
            }
        }
        let combined = conditions
            .get("combinator")
            .or_else(|| node.value.get("parameters")?.get("combineOperation"));
        let sign = match combined.and_then(Value::as_text) {
            Some("or" | "any") => ") || (",
            _ => ") && (",
        };
        match found.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            several => Some(format!("({})", several.join(sign))),
        }
    }

    /// `value` with references in place of `={{ … }}`; `None` if one has no counterpart.
    fn texts(&self, value: &Value, node: &FlowNode<'_>) -> Option<Value> {
        let is_known = std::cell::Cell::new(true);
        let written = replaced(value, &|text: &str| {
            let Some(text) = text.strip_prefix('=') else {
                return text.replace("${", "$${");
            };
            let found = self.template(text, node);
            is_known.set(is_known.get() && found.is_some());
            found.unwrap_or_default()
        });
        is_known.get().then_some(written)
    }

    fn template(&self, text: &str, node: &FlowNode<'_>) -> Option<String> {
        let mut written = String::new();
        let mut rest = text;
        while let Some((before, inside)) = rest.split_once("{{") {
            let (inside, behind) = inside.split_once("}}")?;
            written.push_str(before);
            let expression = self.expression(inside, node)?;
            written.extend(["${", &expression, "}"]);
            rest = behind;
        }
        Some(written + rest)
    }

    /// The expression `written`, in which `$json` is the output of the node before `node`.
    fn expression(&self, written: &str, node: &FlowNode<'_>) -> Option<String> {
        let written = written.trim();
        let inside = written
            .strip_prefix("{{")
            .and_then(|text| text.strip_suffix("}}"));
        let mut rest = inside.unwrap_or(written).trim();
        let mut native = String::new();
        while let Some(at) = rest.find('$') {
            native.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            if let Some(behind) = after.strip_prefix("json") {
                let mut ids = Vec::new();
                self.calls_before(node, &mut ids, 0)?;
                let [only] = ids.as_slice() else {
                    return None;
                };
                native.push_str(only);
                rest = behind;
                continue;
            }
            let named = after
                .strip_prefix("node[")
                .or_else(|| after.strip_prefix('('))?;
            let quote = named
                .chars()
                .next()
                .filter(|sign| matches!(sign, '\'' | '"'))?;
            let (name, behind) = named[1..].split_once(quote)?;
            let behind = behind.trim_start_matches([']', ')']);
            let parts = [".first()", ".last()", ".item", ".json"];
            let behind = parts.iter().fold(behind, |behind, part| {
                behind.strip_prefix(part).unwrap_or(behind)
            });
            native.push_str(&self.nodes.get(*self.positions.get(name)?)?.id);
            rest = behind;
        }
        native.push_str(rest);
        expression_in(&native, Language::Own)
    }
}
