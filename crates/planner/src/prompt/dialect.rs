//! Dialects in which models write plans: the instructions for each, the feedback to a model whose plan has errors, and JSON
//! Schemas of replies, for providers that enforce them.
//!
//! Each schema accepts every valid reply: objects are declared open, since strict readers close objects that declare nothing,
//! and any value may be a reference instead.

use std::fmt::Write as _;
use std::sync::LazyLock;

use planwright_core::diagnostic::FLOW_REFUSAL;
use planwright_core::expression::function_usages;
use planwright_core::{Catalog, Diagnostic, Diagnostics, Lookup, Object, Value};
use planwright_dialects::native::PlanDialect;
use serde_json::{Value as Json, json};

use crate::model::AnswerSchema;

/// Returns the system prompt that teaches `dialect`.
pub(crate) fn instructions(dialect: PlanDialect) -> &'static str {
    match dialect {
        PlanDialect::Json => &PLAN_INSTRUCTIONS,
        PlanDialect::Lines => &LINES_INSTRUCTIONS,
    }
}

/// Returns the schema of a plan with the tools of `catalog`, for dialects that providers can enforce.
pub(crate) fn enforced_schema(dialect: PlanDialect, catalog: &Catalog) -> Option<AnswerSchema> {
    (dialect == PlanDialect::Json).then(|| plan_schema(catalog))
}

/// Returns a hint about the expected form, for replies without a plan.
pub(crate) fn format_hint(dialect: PlanDialect) -> &'static str {
    match dialect {
        PlanDialect::Json => "answer with one JSON object, {\"steps\": [...], \"output\": [...]}",
        PlanDialect::Lines => {
            "answer with lines `id = tool(name=value)`, and `return [\"id\"]` as the last"
        }
    }
}

/// The placeholder of the list of functions in the instructions.
const FUNCTIONS: &str = "FUNCTIONS";

/// The instructions for plans in JSON, complete.
static PLAN_INSTRUCTIONS: LazyLock<String> = LazyLock::new(|| with_functions(PLAN_TEMPLATE));

/// The instructions for plans in lines, complete.
static LINES_INSTRUCTIONS: LazyLock<String> = LazyLock::new(|| with_functions(LINES_TEMPLATE));

fn with_functions(template: &str) -> String {
    let usages = function_usages();
    template.replacen(FUNCTIONS, &format!("`{}`", usages.join("`, `")), 1)
}

/// Instructions that teach a model to write plans in JSON.
const PLAN_TEMPLATE: &str = r#"You write plans. A plan is one JSON object: calls of tools, whose arguments refer to results of other calls. Answer with the plan alone, without any words around it.

{"name": "warn-of-heat", "steps": [
  {"id": "found", "tool": "list_cities", "args": {"country": "JP"}},
  {"id": "weather", "for_each": "${found.cities}", "tool": "get_weather", "args": {"city": "${item.name}", "unit": "celsius"}},
  {"id": "hot", "value": "${weather.filter(w, w.temp > 30)}"},
  {"id": "warn", "when": "${size(hot) > 0}", "tool": "notify", "args": {"text": "Hot in ${hot[*].city}"}}],
 "output": ["hot"]}

A step that may fail, and a text with a reference in it:

{"steps": [{"id": "owner", "tool": "find_owner", "args": {"page": "start"}, "on_error": "continue"},
  {"id": "asked", "tool": "send_note", "args": {"to": "${owner.mail ?? 'help@example.org'}", "text": "Is the page of ${owner.name ?? 'the team'} current?"}}],
 "output": ["asked"]}

- Each step has an `id` of its own and exactly one of `tool` with `args`, or `value`, which computes something without any call.
- "${step.field[0]}" stands for a part of a step's result and keeps its type; within a longer text it is inserted. `[*]` takes a part of every item: "${found.cities[*].name}". `${a.x ?? b.x ?? "none"}` takes the first that exists.
- Between `${` and `}` may stand any CEL expression over the same names: arithmetic (`/` of whole numbers drops the fraction, `size(x) / 2.0` keeps it), comparisons, `a ? b : c`, `has(step.field)`, and these functions, there are no others: FUNCTIONS.
- `-> {…}` in the list of tools is the shape of a result. If none is shown, refer to the result as a whole: "${step}".
- References imply the order: steps that do not refer to each other run at the same time. Write "after": ["id"] only if an order is needed and no data is passed.
- "for_each" runs a step once for each item of a list (`${item}`, `${index}`); its result is the list of results. "when" skips a step if its condition is false.
- "on_error": "continue" continues without the step; "retry": {"attempts": 3} and "timeout": "30s" do what they say.
- "output" lists the ids of the steps whose results answer the question. Leave intermediate results out.
- Call only tools that are listed, with the parameters that are listed; those without `?` are required. Take values from the question, from the information below, or from results, and make up none.
- Use as few steps as will do.
- If these tools cannot do what is asked, answer {"cannot": "why"} in place of a plan. If only the person knows something that you need, and no tool tells it, answer {"ask": "your question"}. The person reads it."#;

/// Instructions that teach a model to write plans in lines.
const LINES_TEMPLATE: &str = r#"You write plans. A plan is made of lines: calls of tools, whose arguments refer to results of other calls. Answer with the plan alone, without any words around it.

found = list_cities(country="JP")
weather = get_weather(city=${item.name}, unit="celsius") {"for_each": ${found.cities}}
hot = ${weather.filter(w, w.temp > 30)}
warn = notify(text="Hot in ${hot[*].city}") {"when": ${size(hot) > 0}}
return ["hot"]

A step that may fail, and a text with a reference in it:

owner = find_owner(page="start") {"on_error": "continue"}
asked = send_note(to=${owner.mail ?? 'help@example.org'}, text="Is the page of ${owner.name ?? 'the team'} current?")
return ["asked"]

- Each line is a step: an id of its own, `=`, and a call or `${…}`, which computes something without any call. All values are JSON.
- `${step.field[0]}` stands for a part of a step's result and keeps its type. As a value it needs no quotes; within a text it is inserted. `[*]` takes a part of every item: `${found.cities[*].name}`. `${a.x ?? b.x ?? "none"}` takes the first that exists.
- Between `${` and `}` may stand any CEL expression over the same names: arithmetic (`/` of whole numbers drops the fraction, `size(x) / 2.0` keeps it), comparisons, `a ? b : c`, `has(step.field)`, and these functions, there are no others: FUNCTIONS.
- `-> {…}` in the list of tools is the shape of a result. If none is shown, refer to the result as a whole: "${step}".
- References imply the order: steps that do not refer to each other run at the same time. Write {"after": ["id"]} behind a call only if an order is needed and no data is passed.
- Behind a call, in one pair of braces: "for_each" runs it once for each item of a list (`${item}`, `${index}`), its result is the list of results; "when" skips it if its condition is false; "on_error": "continue" continues without it; "retry": {"attempts": 3} and "timeout": "30s" do what they say.
- `return` lists the ids of the steps whose results answer the question. Leave intermediate results out.
- Call only tools that are listed, with the parameters that are listed; those without `?` are required. Take values from the question, from the information below, or from results, and make up none.
- Use as few steps as will do.
- If these tools cannot do what is asked, answer {"cannot": "why"} in place of a plan. If only the person knows something that you need, and no tool tells it, answer {"ask": "your question"}. The person reads it."#;

/// Maximum number of diagnostics in a message; later ones are mostly consequences of earlier ones.
const MAX_DIAGNOSTICS: usize = 40;

const REPEATED_NOTICE: &str = "It is the same plan as before: change what is wrong.\n";

const RETRY_REQUEST: &str =
    "Answer with the whole plan again, with all of this fixed, and without any text around it.";

/// Formats all errors of a plan as the next message to the model. `is_repeated` tells it that it sent the same plan before.
pub fn feedback(diagnostics: &Diagnostics, is_repeated: bool) -> String {
    let mut text = error_list(diagnostics);
    if is_repeated {
        text += REPEATED_NOTICE;
    }
    text + RETRY_REQUEST
}

/// Like [`feedback`], for a plan in the lines of `text`.
pub(crate) fn lines_feedback(diagnostics: &Diagnostics, text: &str, is_repeated: bool) -> String {
    let mut feedback = error_list_at(diagnostics, "the line of your answer", &|diagnostic| {
        // A diagnostic with a separate source is about another text.
        let span = diagnostic.span.filter(|_| diagnostic.source.is_none())?;
        let before = text.get(..span.start)?;
        Some(before.matches('\n').count() + 1)
    });
    if is_repeated {
        feedback += REPEATED_NOTICE;
    }
    feedback + RETRY_REQUEST
}

/// Formats the errors, one per line.
pub(crate) fn error_list(diagnostics: &Diagnostics) -> String {
    error_list_at(diagnostics, "the place in your JSON", &|_| None)
}

/// Formats the errors with their places: the line number from `line`, or else the JSON pointer.
fn error_list_at(
    diagnostics: &Diagnostics,
    place: &str,
    line: &dyn Fn(&Diagnostic) -> Option<usize>,
) -> String {
    let (shown, is_refused) = diagnostics.for_model();
    // A warning would invite a model to change what runs.
    let errors: Vec<_> = shown.filter(|diagnostic| diagnostic.is_error()).collect();
    let mut text = format!("This cannot be run. What is wrong, with {place}:\n");
    for diagnostic in errors.iter().take(MAX_DIAGNOSTICS) {
        let _ = match line(diagnostic) {
            Some(line) => writeln!(text, "- line {line}: {}", without_pointer(diagnostic)),
            None => writeln!(text, "- {diagnostic}"),
        };
    }
    if errors.len() > MAX_DIAGNOSTICS {
        let _ = writeln!(text, "- and {} more", errors.len() - MAX_DIAGNOSTICS);
    }
    if is_refused {
        let _ = writeln!(text, "- {FLOW_REFUSAL}");
    }
    text
}

/// Removes the JSON pointer, which means nothing to a model that wrote lines.
fn without_pointer(diagnostic: &Diagnostic) -> Diagnostic {
    Diagnostic {
        pointer: String::new(),
        ..diagnostic.clone()
    }
}

/// Maximum number of tools listed by name in a schema. Providers limit the length of an `enum`.
const MAX_TOOLS: usize = 160;

/// Returns the schema of a plan with the tools of `catalog`, or of a declining reply.
pub fn plan_schema(catalog: &Catalog) -> AnswerSchema {
    let fields = json!({
        "name": {"type": "string"},
        "steps": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "id": {},
                "tool": tool_schema(catalog),
                "args": {"type": "object", "additionalProperties": true},
                "value": {},
                "for_each": {},
                "when": {},
                "after": {},
                "on_error": {},
                "retry": {},
                "timeout": {}
            },
            "additionalProperties": true
        }},
        "output": {}
    });
    reply_schema("plan", fields)
}

/// Returns the schema of corrected arguments for a step.
pub(crate) fn arguments_schema() -> AnswerSchema {
    let fields = json!({"args": {"type": ["object", "null"], "additionalProperties": true}});
    reply_schema("arguments", fields)
}

/// Returns the schema of a solution in the Acts protocol; `output` is the schema of its output.
pub(crate) fn solution_schema(output: Option<&Value>) -> AnswerSchema {
    let output = output.map_or_else(
        || json!({}),
        |output| json!({"anyOf": [{"type": "null"}, Json::from(&with_references(output))]}),
    );
    let fields = json!({
        "calls": {"type": "array", "items": {
            "type": "object",
            "properties": {"_tool": {"type": "string"}, "_outputPath": {"type": "string"}},
            "required": ["_tool"],
            "additionalProperties": true
        }},
        "output": output
    });
    reply_schema("solution", fields)
}

/// Returns the schema of an object with `fields`, or with the fields of a declining reply.
fn reply_schema(name: &str, mut fields: Json) -> AnswerSchema {
    for declined in ["cannot", "ask"] {
        fields[declined] = json!({"type": "string"});
    }
    let schema = json!({"type": "object", "properties": fields, "additionalProperties": true});
    AnswerSchema {
        name: name.to_owned(),
        schema: Value::from(schema),
    }
}

/// Returns the schema of a tool name, with every unambiguous spelling.
fn tool_schema(catalog: &Catalog) -> Json {
    let mut names: Vec<String> = Vec::new();
    for tool_schema in catalog.tools() {
        let spellings = [
            tool_schema.name.to_string(),
            tool_schema.qualified_name().to_string(),
            tool_schema.model_name(),
        ];
        for name in spellings {
            // A name that several servers use is ambiguous without its server.
            if matches!(catalog.find(&name), Lookup::Found(_)) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    // An empty `enum` would accept no tool at all.
    if names.is_empty() || catalog.tools().count() > MAX_TOOLS {
        return json!({"type": "string"});
    }
    json!({"type": "string", "enum": names})
}

/// Relaxes a schema so that each value in it may be a reference, which is text.
fn with_references(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let relaxed = fields.iter().map(|(name, part)| {
        let part = match (&**name, part) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions",
                Value::Object(parts),
            ) => {
                let parts = parts.iter();
                let parts = parts.map(|(name, part)| (name.clone(), with_references(part)));
                Value::from(parts.collect::<Object>())
            }
            ("items" | "additionalProperties", part) => with_references(part),
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::List(parts)) => {
                Value::list(parts.iter().map(with_references))
            }
            (_, part) => part.clone(),
        };
        // Text matches every branch, so `oneOf` would reject it.
        let name = if &**name == "oneOf" {
            "anyOf".into()
        } else {
            name.clone()
        };
        (name, part)
    });
    let text = Value::object([("type", Value::from("string"))]);
    let relaxed = Value::from(relaxed.collect::<Object>());
    Value::object([("anyOf", Value::list([relaxed, text]))])
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;
    use planwright_dialects::native::lines::{from_json, plan_in, to_json};

    use super::*;
    use crate::create::json_values;

    #[test]
    fn the_examples_of_both_dialects_are_the_same_plans() {
        let values = json_values(instructions(PlanDialect::Json));
        let plans = values.into_iter().filter_map(|text| {
            let value: serde_json::Value = serde_json::from_str(text).ok()?;
            let mut fields = value.as_object()?.clone();
            fields.remove("name");
            let is_plan = fields.contains_key("steps");
            is_plan.then(|| Value::from(serde_json::Value::Object(fields)))
        });
        let plans: Vec<Value> = plans.collect();
        assert_eq!(plans.len(), 2);
        let taught = instructions(PlanDialect::Lines);
        for json in plans {
            let example = from_json(&json);
            assert!(taught.contains(&example), "{taught} lacks {example}");
            assert_eq!(to_json(&example), Some(json));
            assert_eq!(plan_in(&example), Some(example.trim()));
        }
    }

    #[test]
    fn the_instructions_name_all_functions() {
        for dialect in PlanDialect::ALL {
            let taught = instructions(dialect);
            assert!(!taught.contains(FUNCTIONS));
            for usage in function_usages() {
                assert!(taught.contains(&format!("`{usage}`")), "{usage}");
            }
        }
    }
}
