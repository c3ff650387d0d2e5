//! Rules of the policy that cover no tool, field or parameter.

use std::sync::{Arc, LazyLock};

use super::parameters::{ParameterRule, parameter_rules};
use super::policy::{FlowPolicy, FlowRule, Guard};
use crate::schema::{Additional, Type};
use crate::{Catalog, Code, Diagnostic, Tool};

/// Maximum number of fields of a schema that are compared with a rule.
const MAX_FIELDS: usize = 2_000;

/// Maximum nesting of fields that are compared with a rule.
const MAX_DEPTH: usize = 12;

/// Minimum similarity of a name that a warning suggests (Jaro-Winkler).
const MIN_SIMILARITY: f64 = 0.75;

/// The extraction tool.
static EXTRACTION: LazyLock<Arc<Tool>> = LazyLock::new(|| Arc::new(Tool::extraction()));

/// Returns a warning for each rule of `policy` that covers no tool of `catalog`, or no field or parameter of one.
///
/// A tool that does not list its fields may have any, so a rule for them is not warned about.
pub fn uncovered_rules(policy: &FlowPolicy, catalog: &Catalog) -> Vec<Diagnostic> {
    let tools: Vec<&Arc<Tool>> = catalog.tools().collect();
    // Without any tool, no rule can be judged.
    if tools.is_empty() {
        return Vec::new();
    }
    let guards = policy.guard.iter().filter_map(|guard| match guard {
        Guard::Builtin => None,
        Guard::Rule(rule) => Some(rule),
    });
    let outputs = [
        ("untrusted", &policy.untrusted),
        ("trusted", &policy.trusted),
        ("private", &policy.private),
    ];
    let mut diagnostics = Vec::new();
    for (list, rules) in outputs {
        for rule in rules {
            diagnostics.extend(uncovered(list, rule, &tools, Part::Outputs));
        }
    }
    for rule in guards {
        diagnostics.extend(uncovered("guard", rule, &tools, Part::Parameters));
    }
    if !policy.leaves.is_empty() {
        // Texts leave through this tool as well; a catalog need not have it.
        let leaving: Vec<&Arc<Tool>> = tools.iter().copied().chain([&*EXTRACTION]).collect();
        for rule in &policy.leaves {
            diagnostics.extend(uncovered("leaves", rule, &leaving, Part::Parameters));
        }
    }
    for rule in &policy.decides {
        let unguarded = uncovered("decides", rule, &tools, Part::Parameters);
        diagnostics.extend(unguarded.or_else(|| undecided(policy, rule, &tools)));
    }
    diagnostics
}

#[derive(Clone, Copy)]
enum Part {
    Outputs,
    Parameters,
}

fn uncovered(list: &str, rule: &FlowRule, tools: &[&Arc<Tool>], part: Part) -> Option<Diagnostic> {
    let pattern = &rule.pattern;
    let mut covered = tools
        .iter()
        .filter(|tool| pattern.covers_tool(tool))
        .peekable();
    if covered.peek().is_none() {
        let names = tools.iter().map(|tool| tool.qualified_name().to_string());
        let wanted = pattern.tool().as_str();
        return Some(warning(
            list,
            rule,
            "covers no tool",
            nearest(wanted, names),
        ));
    }
    if !pattern.has_field() {
        return None;
    }
    let mut fields = FieldNames::default();
    for tool in covered {
        let shape = match part {
            Part::Outputs => tool.output.structure(),
            Part::Parameters => tool.input.structure(),
        };
        let known = fields.paths.len();
        fields.collect(shape, &mut Vec::new());
        // Most rules cover a field of the first tool.
        let new = fields.paths.get(known..).unwrap_or_default();
        if fields.is_open || new.iter().any(|path| pattern.covers_field(path)) {
            return None;
        }
    }
    let noun = match part {
        Part::Outputs => "covers no field of an output",
        Part::Parameters => "covers no parameter",
    };
    let wanted: Vec<&str> = pattern.field().iter().map(|name| &**name).collect();
    let names = fields.paths.iter().filter_map(|path| {
        let path: Vec<&str> = path.iter().map(|name| &**name).collect();
        let name = if wanted.len() == 1 {
            path.last()?.to_string()
        } else {
            path.join(".")
        };
        Some(name)
    });
    Some(warning(list, rule, noun, nearest(&wanted.join("."), names)))
}

/// Returns a warning if a rule in `decides` names no guarded parameter.
fn undecided(policy: &FlowPolicy, rule: &FlowRule, tools: &[&Arc<Tool>]) -> Option<Diagnostic> {
    let mut covered = tools.iter().filter(|tool| rule.pattern.covers_tool(tool));
    let has_guard = covered.any(|tool| {
        let parameters = parameter_rules(policy, tool);
        parameters
            .iter()
            .any(|ParameterRule { guard, decides, .. }| guard.is_some() && *decides)
    });
    (!has_guard).then(|| {
        let hint = "it counts for parameters that `guard` covers".to_owned();
        warning("decides", rule, "covers no guarded parameter", Some(hint))
    })
}

fn warning(list: &str, rule: &FlowRule, what: &str, help: Option<String>) -> Diagnostic {
    let place = rule.set_in.as_ref();
    let place = place.map_or(String::new(), |place| format!(" (`{place}`)"));
    let FlowRule { pattern, .. } = rule;
    let message = format!("the rule `{pattern}` in `{list}` of `[flow]`{place} {what}");
    let diagnostic = Diagnostic::warning(Code::UnusedFlowRule, message);
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

fn nearest(wanted: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let wanted = wanted.replace('*', "");
    names
        .map(|name| (strsim::jaro_winkler(&wanted, &name), name))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| format!("did you mean `{name}`?"))
}

/// The names of the fields that schemas list.
#[derive(Default)]
struct FieldNames {
    paths: Vec<Vec<Arc<str>>>,
    /// True if a schema lists no fields, so that there may be any.
    is_open: bool,
}

impl FieldNames {
    fn collect(&mut self, shape: &Type, path: &mut Vec<Arc<str>>) {
        if self.paths.len() > MAX_FIELDS || path.len() > MAX_DEPTH {
            self.is_open = true;
            return;
        }
        for member in shape.members() {
            match member {
                Type::Object(object) => {
                    self.is_open |= match &object.additional {
                        Additional::Closed => false,
                        Additional::Unspecified => object.properties.is_empty(),
                        Additional::Open(_) => true,
                    };
                    for (name, property) in &object.properties {
                        path.push(Arc::clone(name));
                        self.paths.push(path.clone());
                        self.collect(&property.shape, path);
                        path.pop();
                    }
                }
                Type::List(list) => self.collect(&list.any_item(), path),
                Type::Any => self.is_open = true,
                Type::Never
                | Type::Null
                | Type::Boolean
                | Type::Integer
                | Type::Number
                | Type::Text
                | Type::Literal(_)
                | Type::Union(_) => {}
            }
        }
    }
}
