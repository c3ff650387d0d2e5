//! The sharing pass: parameters that may receive data from other steps.

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::plan::{Field, Node, NodeKind, Sharing};
use crate::schema::resolve_pointer;
use crate::{Code, Schema, Tool, Value};

/// The schema keyword that marks a parameter, or a part of one, as sharable.
const SHARABLE_KEYWORD: &str = "x-sharable";

pub(in crate::check) fn check(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    if resolved.plan.sharing == Sharing::Open {
        return;
    }
    for (index, step) in resolved.steps() {
        let Some(tool) = resolved.tool(index) else {
            continue;
        };
        match &step.args.kind {
            NodeKind::Object(fields) => {
                let whole = tool.input.location();
                for field in fields {
                    check_parameter(tool, field, &whole, reporter);
                }
            }
            // Constants come from the plan itself.
            NodeKind::Literal(_) => {}
            NodeKind::Reference(_) | NodeKind::Text(_) | NodeKind::List(_) => {
                let diagnostic = reporter.error(
                    Code::NotSharable,
                    step.args.place,
                    format!(
                        "the arguments of `{}` as a whole cannot come from another step",
                        tool.name
                    ),
                );
                reporter.push(diagnostic);
            }
        }
    }
}

fn check_parameter(
    tool: &Tool,
    field: &Field,
    whole: &SchemaLocation<'_>,
    reporter: &mut Reporter<'_>,
) {
    let mut found = Vec::new();
    collect_references(&field.value, &whole.field(&field.key), false, &mut found);
    for node in found {
        node.each_reference(&mut |reference| {
            let message = format!(
                "the parameter `{}` of `{}` is not sharable, so no reference may stand in it",
                field.key, tool.name
            );
            let diagnostic = reporter.error(Code::NotSharable, reference.place, message).help(
                "write the value itself, or mark the parameter with `x-sharable` in the tool's schema",
            );
            reporter.push(diagnostic);
        });
    }
}

/// Collects the references in `node` that are not allowed. The nearest enclosing mark decides.
fn collect_references<'a>(
    node: &'a Node,
    location: &SchemaLocation<'_>,
    sharable: bool,
    found: &mut Vec<&'a Node>,
) {
    let sharable = location.flag(SHARABLE_KEYWORD).unwrap_or(sharable);
    match &node.kind {
        NodeKind::Literal(_) => {}
        NodeKind::Reference(_) | NodeKind::Text(_) if sharable => {}
        NodeKind::Reference(_) | NodeKind::Text(_) => found.push(node),
        NodeKind::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_references(item, &location.item(index), sharable, found);
            }
        }
        NodeKind::Object(fields) => {
            for field in fields {
                collect_references(&field.value, &location.field(&field.key), sharable, found);
            }
        }
    }
}

/// Maximum number of schemas for one location, since references may form cycles.
const MAX_SCHEMAS: usize = 64;

/// The schemas that may apply to one location in a value, including targets of `$ref` and branches of `allOf`, `anyOf`
/// and `oneOf`.
#[derive(Clone, Debug)]
struct SchemaLocation<'a> {
    document: &'a Value,
    schemas: Vec<&'a Value>,
}

impl Schema {
    /// Returns the location of the whole value.
    fn location(&self) -> SchemaLocation<'_> {
        let document = self.as_value();
        SchemaLocation::new(document, vec![document])
    }
}

impl<'a> SchemaLocation<'a> {
    fn new(document: &'a Value, mut schemas: Vec<&'a Value>) -> Self {
        let mut at = 0;
        while let Some(schema) = schemas.get(at).copied() {
            at += 1;
            let target = schema
                .get("$ref")
                .and_then(Value::as_text)
                .and_then(|target| resolve_pointer(document, target.strip_prefix('#')?));
            let branches = ["allOf", "anyOf", "oneOf"]
                .into_iter()
                .filter_map(|keyword| schema.get(keyword)?.as_list())
                .flatten();
            let left = MAX_SCHEMAS.saturating_sub(schemas.len());
            schemas.extend(target.into_iter().chain(branches).take(left));
        }
        Self { document, schemas }
    }

    /// Returns the location of the field `name`.
    fn field(&self, name: &str) -> Self {
        let schemas = self.schemas.iter().filter_map(|schema| {
            schema
                .get("properties")
                .and_then(|properties| properties.get(name))
                .or_else(|| schema.get("additionalProperties"))
        });
        Self::new(self.document, schemas.collect())
    }

    /// Returns the location of the item at `index`.
    fn item(&self, index: usize) -> Self {
        let schemas = self.schemas.iter().filter_map(|schema| {
            schema
                .get("prefixItems")
                .and_then(|items| items.as_list()?.get(index))
                .or_else(|| schema.get("items"))
        });
        Self::new(self.document, schemas.collect())
    }

    /// Returns true if one of the schemas sets `keyword` to `true`, false if one sets it to `false` and none to `true`,
    /// and otherwise `None`.
    fn flag(&self, keyword: &str) -> Option<bool> {
        self.schemas
            .iter()
            .filter_map(|schema| schema.get(keyword)?.as_bool())
            .max()
    }
}
