//! Hover: what a name stands for, its type, and the labels of its value.

use std::fmt::Write as _;
use std::ops::Range;

use planwright::core::catalog::Lookup;
use planwright::core::flow::{
    Confidentiality, FlowPolicy, FlowReport, Integrity, OutputField, output_fields,
};
use planwright::core::{Catalog, PointerSegment, Tool, Value};

use super::completion::{is_arguments, schema_at};
use super::paths::{CursorScope, TrailingPath, is_word};
use super::shown_type::shown_type;
use crate::analysis::{AnalyzedPlan, contains};
use crate::cursor::{CursorPlace, EditCursor};
use crate::server::PlanTools;

/// Maximum number of sources of a value that are named.
const MAX_SOURCES: usize = 5;

/// The text of a hover, as Markdown, and the bytes that it is about.
pub(crate) type HoverText = (String, Range<usize>);

/// Describes what stands at the byte `offset` of `text`. `find` returns the place of a byte.
pub(crate) fn hover(
    text: &str,
    offset: usize,
    find: impl Fn(&str, usize) -> Option<CursorPlace>,
    plan: &AnalyzedPlan,
    tools: &PlanTools,
    schema: &Value,
) -> Option<HoverText> {
    // The types of the steps of inner plans are not those of steps with the same ids.
    let definition = plan.occurrences.iter().find(|found| {
        found.is_definition && found.scope.is_empty() && contains(&found.span, offset)
    });
    if let Some(found) = definition {
        let text = step_text(plan, &found.step, tools)?;
        return Some((text, found.span.clone()));
    }
    let end = word_end(text, offset, is_word);
    let place = find(text, end)?;
    if let EditCursor::Expression { before, word, .. } = &place.cursor {
        return of_expression(before, word, plan, CursorScope::at(&place), tools);
    }
    let end = word_end(text, offset, |other| {
        is_word(other) || matches!(other, '-' | '.' | '/' | ':')
    });
    let place = find(text, end)?;
    let catalog = &tools.catalog;
    match &place.cursor {
        EditCursor::Value { path, word, .. } if ends_with(path, "tool") => {
            let tool = tool_named(catalog, text.get(word.clone())?)?;
            Some((tool_text(catalog, tool), word.clone()))
        }
        EditCursor::ToolName { word } => {
            let tool = tool_named(catalog, text.get(word.clone())?)?;
            Some((tool_text(catalog, tool), word.clone()))
        }
        EditCursor::Argument { tool, word, .. } => {
            let tool = tool_named(catalog, tool)?;
            let name = text.get(word.clone())?;
            let shown = parameter_text(tool, name, place.step.as_deref(), plan)?;
            Some((shown, word.clone()))
        }
        EditCursor::Key { object, word, .. } => {
            let name = text.get(word.clone())?;
            let shown = match &place.tool {
                Some(tool) if is_arguments(object, place.in_undo) => {
                    // The labels of a step are those of its own call.
                    let step = place.step.as_deref().filter(|_| !place.in_undo);
                    parameter_text(tool_named(catalog, tool)?, name, step, plan)?
                }
                _ => {
                    let object = schema_at(schema, object)?;
                    let field = object.get("properties")?.get(name)?;
                    let description = field.get("description").and_then(Value::as_text)?;
                    description.to_owned()
                }
            };
            Some((shown, word.clone()))
        }
        EditCursor::Expression { .. } | EditCursor::Value { .. } => None,
    }
}

fn ends_with(path: &[PointerSegment], name: &str) -> bool {
    matches!(path.last(), Some(PointerSegment::Key(key)) if &**key == name)
}

/// The end of the word that contains the byte `offset`.
fn word_end(text: &str, offset: usize, is_part: impl Fn(char) -> bool) -> usize {
    let rest = text.get(offset..).unwrap_or_default();
    offset + rest.find(|other| !is_part(other)).unwrap_or(rest.len())
}

fn tool_named<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Tool> {
    match catalog.find(name) {
        Lookup::Found(tool) => catalog.get(&tool.server, &tool.name).map(AsRef::as_ref),
        _ => None,
    }
}

fn of_expression(
    before: &str,
    word: &Range<usize>,
    plan: &AnalyzedPlan,
    scope: CursorScope<'_>,
    tools: &PlanTools,
) -> Option<HoverText> {
    let path = TrailingPath::read(before)?;
    let shape = path.shape(plan, scope)?;
    let mut text = format!("```\n{}: {}\n```", path_text(before), shown_type(&shape));
    let read = plan.types(&path.root).filter(|_| !scope.in_undo);
    if let Some(read) = read {
        if let Some(tool) = &read.tool {
            let _ = write!(text, "\nThe output of `{}`", tool.qualified_name());
        }
        labels(&mut text, tools.policy.flow.as_ref(), read.tool.as_deref());
    }
    Some((text, word.clone()))
}

/// The path at the end of an expression, as it is written.
fn path_text(before: &str) -> &str {
    let start = before.rfind(|other: char| {
        !is_word(other) && !matches!(other, '.' | '[' | ']' | '*' | '"' | '\'')
    });
    let start = start.map_or(0, |at| {
        at + before[at..].chars().next().map_or(0, char::len_utf8)
    });
    &before[start..]
}

/// Describes a step: its call, its output and the labels of that.
fn step_text(plan: &AnalyzedPlan, id: &str, tools: &PlanTools) -> Option<String> {
    let step = plan.types(id)?;
    let mut text = format!("```\n{id}: {}\n```", shown_type(&step.output));
    if let Some(tool) = &step.tool {
        let _ = write!(text, "\nThe output of `{}`", tool.qualified_name());
    }
    labels(&mut text, tools.policy.flow.as_ref(), step.tool.as_deref());
    if let Some(report) = &plan.inspection.flow {
        for parameter in report.parameters_of(id) {
            let _ = write!(text, "\n\n{}", parameter_labels(parameter));
        }
    }
    Some(text)
}

/// Appends the labels of the fields of an output.
fn labels(text: &mut String, policy: Option<&FlowPolicy>, tool: Option<&Tool>) {
    let (Some(policy), Some(tool)) = (policy, tool) else {
        return;
    };
    for field in output_fields(policy, tool) {
        let _ = write!(text, "\n\n{}", field_labels(&field));
    }
}

fn field_labels(field: &OutputField) -> String {
    let name = if field.field.is_empty() {
        "output".to_owned()
    } else {
        format!("`{}`", field.field)
    };
    let rules = [&field.integrity_rule, &field.confidentiality_rule];
    let mut text = format!(
        "{name}: {}",
        label_words(field.integrity, field.confidentiality)
    );
    for rule in rules.into_iter().flatten() {
        let _ = write!(text, ", by `{rule}`");
    }
    text
}

fn label_words(integrity: Integrity, confidentiality: Confidentiality) -> &'static str {
    match (integrity, confidentiality) {
        (Integrity::Trusted, Confidentiality::Public) => "trusted",
        (Integrity::Trusted, Confidentiality::Private) => "trusted, private",
        (Integrity::Untrusted, Confidentiality::Public) => "untrusted",
        (Integrity::Untrusted, Confidentiality::Private) => "untrusted, private",
    }
}

/// Describes a tool: its signature, its description, its effects.
pub(crate) fn tool_text(catalog: &Catalog, tool: &Tool) -> String {
    let parameters = tool.input.as_value().get("properties");
    let parameters = parameters.and_then(Value::as_object).into_iter().flatten();
    let parameters: Vec<String> = parameters
        .map(|(name, _)| parameter_signature(tool, name))
        .collect();
    let output = if tool.output.is_any() {
        String::new()
    } else {
        format!(" → {}", shown_type(tool.output.structure()))
    };
    let name = catalog.shortest_name(tool);
    let mut text = format!("```\n{name}({}){output}\n```", parameters.join(", "));
    if let Some(description) = &tool.description {
        let _ = write!(text, "\n{}", description.trim());
    }
    let effects = if tool.annotations.read_only {
        "reads only"
    } else if tool.annotations.destructive {
        "may destroy"
    } else {
        "changes"
    };
    let asks = if tool.needs_approval() {
        "; a person decides about each call"
    } else {
        ""
    };
    let _ = write!(text, "\n\n*{}: {effects}{asks}*", tool.server);
    text
}

fn parameter_signature(tool: &Tool, name: &str) -> String {
    let is_required = tool.input.structure().members().iter().any(|member| {
        matches!(member, planwright::core::schema::Type::Object(object) if object.requires(name))
    });
    let mark = if is_required { "" } else { "?" };
    let shape = tool.input.property(name);
    let shape = shape.map_or_else(|| "any".to_owned(), |shape| shown_type(&shape));
    format!("{name}{mark}: {shape}")
}

/// Describes a parameter, and in a sound plan the labels of the value that the step passes to it.
fn parameter_text(
    tool: &Tool,
    name: &str,
    step: Option<&str>,
    plan: &AnalyzedPlan,
) -> Option<String> {
    let parameter = tool.input.as_value().get("properties")?.get(name)?;
    let mut text = format!("```\n{}\n```", parameter_signature(tool, name));
    if let Some(description) = parameter.get("description").and_then(Value::as_text) {
        let _ = write!(text, "\n{}", description.trim());
    }
    for line in argument_labels(plan.inspection.flow.as_ref(), step, name) {
        let _ = write!(text, "\n\n{line}");
    }
    Some(text)
}

fn argument_labels(report: Option<&FlowReport>, step: Option<&str>, name: &str) -> Vec<String> {
    let (Some(report), Some(step)) = (report, step) else {
        return Vec::new();
    };
    let parameters = report.parameters_of(step);
    let is_about = |parameter: &str| {
        parameter.is_empty()
            || parameter == name
            || parameter
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('.'))
    };
    parameters
        .filter(|parameter| is_about(&parameter.parameter))
        .map(parameter_labels)
        .collect()
}

fn parameter_labels(parameter: &planwright::core::flow::FlowParameter) -> String {
    let name = if parameter.parameter.is_empty() {
        "all arguments".to_owned()
    } else {
        format!("`{}`", parameter.parameter)
    };
    let mut text = format!(
        "{name}: {}",
        label_words(parameter.integrity, parameter.confidentiality)
    );
    let origins = parameter.origins().iter();
    let origins: Vec<String> = origins
        .take(MAX_SOURCES)
        .map(|origin| origin.shown().clone())
        .collect();
    if !origins.is_empty() {
        let _ = write!(text, ", from {}", origins.join(", "));
    }
    if let Some(code) = parameter.code {
        let _ = write!(text, " – {code}: {}", code.title());
    }
    text
}
