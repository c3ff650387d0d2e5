//! Completion: tools, arguments, fields of plans and steps, references and their paths.

use std::ops::Range;

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, MarkupContent,
    MarkupKind, TextEdit,
};
use planwright::core::catalog::Lookup;
use planwright::core::expression::function_usages;
use planwright::core::plan::Keyword as _;
use planwright::core::{PointerSegment, Tool, Value};

use super::hover::tool_text;
use super::paths::{CursorScope, TrailingPath, fields, is_word};
use super::shown_type::shown_type;
use crate::analysis::AnalyzedPlan;
use crate::cursor::{CursorPlace, EditCursor};
use crate::document::TextDocument;
use crate::server::PlanTools;

/// The context of a completion, besides the place of the cursor.
pub(crate) struct CompletionContext<'a> {
    pub(crate) document: &'a TextDocument,
    pub(crate) tools: &'a PlanTools,
    /// The last version of the text that was a plan.
    pub(crate) plan: Option<&'a AnalyzedPlan>,
    /// The JSON Schema of plans.
    pub(crate) schema: &'a Value,
}

/// Returns what may be written at `place`.
pub(crate) fn complete(
    place: &CursorPlace,
    context: &CompletionContext<'_>,
) -> Vec<CompletionItem> {
    match &place.cursor {
        EditCursor::Expression { before, word, .. } => {
            context.of_expression(before, word, CursorScope::at(place))
        }
        EditCursor::ToolName { word } => context.tools(word, false),
        EditCursor::Argument {
            tool,
            present,
            word,
        } => context.arguments(tool, present, word, |name| format!("{name}=")),
        EditCursor::Key {
            object,
            present,
            word,
            is_quoted,
        } => {
            let key = |name: &str| {
                if *is_quoted {
                    name.to_owned()
                } else {
                    format!("{}: ", Value::text(name))
                }
            };
            match (&place.tool, is_arguments(object, place.in_undo)) {
                (Some(tool), true) => context.arguments(tool, present, word, key),
                _ => context.plan_fields(object, present, word, key),
            }
        }
        EditCursor::Value {
            path,
            word,
            is_quoted,
        } => context.of_value(place, path, word, *is_quoted),
    }
}

/// Returns true for the path of the arguments of a step, or of its undo.
pub(super) fn is_arguments(path: &[PointerSegment], in_undo: bool) -> bool {
    let name = if in_undo { "arguments" } else { "args" };
    matches!(path.last(), Some(PointerSegment::Key(key)) if &**key == name)
}

impl CompletionContext<'_> {
    fn item(
        &self,
        (label, text): (&str, String),
        word: &Range<usize>,
        kind: CompletionItemKind,
    ) -> CompletionItem {
        CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            filter_text: Some(label.to_owned()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit {
                range: self.document.range(word.clone()),
                new_text: text,
            })),
            ..CompletionItem::default()
        }
    }

    /// The known tools, by the shortest names that are unambiguous.
    fn tools(&self, word: &Range<usize>, needs_quotes: bool) -> Vec<CompletionItem> {
        let catalog = &self.tools.catalog;
        let tools = catalog.tools().map(|tool| {
            let name = catalog.shortest_name(tool);
            let text = if needs_quotes {
                Value::text(name.as_str()).to_string()
            } else {
                name.clone()
            };
            CompletionItem {
                detail: Some(tool.server.to_string()),
                documentation: Some(markdown(tool_text(catalog, tool))),
                ..self.item((&name, text), word, CompletionItemKind::FUNCTION)
            }
        });
        tools.collect()
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        match self.tools.catalog.find(name) {
            Lookup::Found(tool) => self.tools.catalog.get(&tool.server, &tool.name),
            _ => None,
        }
        .map(AsRef::as_ref)
    }

    /// The parameters of a tool that the call lacks, the required ones first.
    fn arguments(
        &self,
        tool: &str,
        present: &[String],
        word: &Range<usize>,
        text: impl Fn(&str) -> String,
    ) -> Vec<CompletionItem> {
        let Some(tool) = self.tool(tool) else {
            return Vec::new();
        };
        let schema = tool.input.as_value();
        let parameters = schema.get("properties").and_then(Value::as_object);
        let parameters = parameters.into_iter().flatten();
        let parameters = parameters.filter(|(name, _)| !present.contains(&name.to_string()));
        let items = parameters.map(|(name, parameter)| {
            let is_required = tool.input.structure().members().iter().any(|member| {
                matches!(member, planwright::core::schema::Type::Object(object) if object.requires(name))
            });
            let shape = tool.input.property(name).map(|shape| shown_type(&shape));
            let mark = if is_required { "" } else { "?" };
            let description = parameter.get("description").and_then(Value::as_text);
            CompletionItem {
                detail: shape.map(|shape| format!("{name}{mark}: {shape}")),
                documentation: description.map(|text| markdown(text.to_owned())),
                sort_text: Some(format!("{}{name}", u8::from(!is_required))),
                ..self.item((name, text(name)), word, CompletionItemKind::FIELD)
            }
        });
        items.collect()
    }

    /// The fields that the JSON Schema of plans has at a path.
    fn plan_fields(
        &self,
        object: &[PointerSegment],
        present: &[String],
        word: &Range<usize>,
        text: impl Fn(&str) -> String,
    ) -> Vec<CompletionItem> {
        let Some(schema) = schema_at(self.schema, object) else {
            return Vec::new();
        };
        let fields = schema.get("properties").and_then(Value::as_object);
        let fields = fields.into_iter().flatten();
        let fields = fields.filter(|(name, _)| !present.contains(&name.to_string()));
        let items = fields.map(|(name, field)| {
            let description = resolved(self.schema, field)
                .get("description")
                .or_else(|| field.get("description"))
                .and_then(Value::as_text);
            CompletionItem {
                documentation: description.map(|text| markdown(text.to_owned())),
                ..self.item((name, text(name)), word, CompletionItemKind::PROPERTY)
            }
        });
        items.collect()
    }

    fn of_value(
        &self,
        place: &CursorPlace,
        path: &[PointerSegment],
        word: &Range<usize>,
        is_quoted: bool,
    ) -> Vec<CompletionItem> {
        let mut names = path.iter().rev();
        let key = |segment: Option<&PointerSegment>| match segment {
            Some(PointerSegment::Key(key)) => Some(key.to_string()),
            Some(PointerSegment::Root | PointerSegment::Index(_)) | None => None,
        };
        let last = names.next();
        let above = names.next();
        match (key(last).as_deref(), key(above).as_deref()) {
            (Some("tool"), _) => self.tools(word, !is_quoted),
            // The ids of steps: in `after` and `output`.
            (None, Some("after")) => {
                let own = place.step.as_deref();
                let mut items = self.steps(word, is_quoted, str::to_owned);
                items.retain(|item| Some(item.label.as_str()) != own);
                items
            }
            (None, Some("output")) => self.steps(word, is_quoted, str::to_owned),
            (Some(name), Some(above))
                if above == (if place.in_undo { "arguments" } else { "args" }) =>
            {
                let tool = place.tool.as_deref().and_then(|tool| self.tool(tool));
                let schema = tool
                    .and_then(|tool| tool.input.as_value().get("properties")?.get(name).cloned());
                let mut items = self.choices(schema.as_ref(), word, is_quoted);
                if !place.in_undo {
                    items.extend(self.steps(word, is_quoted, |id| format!("${{{id}}}")));
                }
                items
            }
            _ => {
                let schema = schema_at(self.schema, path);
                let choices = self.choices(schema, word, is_quoted);
                if choices.is_empty() {
                    self.steps(word, is_quoted, |id| format!("${{{id}}}"))
                } else {
                    choices
                }
            }
        }
    }

    /// The constants that a schema lists.
    fn choices(
        &self,
        schema: Option<&Value>,
        word: &Range<usize>,
        is_quoted: bool,
    ) -> Vec<CompletionItem> {
        let Some(schema) = schema else {
            return Vec::new();
        };
        let mut values: Vec<Value> = Vec::new();
        let mut add = |schema: &Value| {
            let listed = schema.get("enum").and_then(Value::as_list).unwrap_or(&[]);
            values.extend(listed.iter().cloned());
            values.extend(schema.get("const").cloned());
            if schema.get("type").and_then(Value::as_text) == Some("boolean") {
                values.extend([Value::Bool(true), Value::Bool(false)]);
            }
        };
        add(schema);
        for key in ["anyOf", "oneOf"] {
            let members = schema.get(key).and_then(Value::as_list).unwrap_or(&[]);
            members.iter().for_each(&mut add);
        }
        let items = values.iter().filter_map(|value| {
            let label = value
                .as_text()
                .map_or_else(|| value.to_string(), str::to_owned);
            let text = match (is_quoted, value.as_text()) {
                (true, Some(text)) => text.to_owned(),
                // Within quotes, only a text can follow.
                (true, None) => return None,
                (false, _) => value.to_string(),
            };
            Some(self.item((&label, text), word, CompletionItemKind::ENUM_MEMBER))
        });
        items.collect()
    }

    /// The steps of the plan.
    fn steps(
        &self,
        word: &Range<usize>,
        is_quoted: bool,
        text: impl Fn(&str) -> String,
    ) -> Vec<CompletionItem> {
        let steps = self
            .plan
            .into_iter()
            .flat_map(|plan| &plan.inspection.steps);
        let items = steps.map(|step| {
            let written = text(&step.id);
            let written_text = if is_quoted {
                written.clone()
            } else {
                Value::text(written.as_str()).to_string()
            };
            CompletionItem {
                detail: Some(shown_type(&step.output)),
                ..self.item((&written, written_text), word, CompletionItemKind::VARIABLE)
            }
        });
        items.collect()
    }

    /// The continuations of an expression: a field of the path before the cursor, else a root, a function.
    fn of_expression(
        &self,
        before: &str,
        word: &Range<usize>,
        scope: CursorScope<'_>,
    ) -> Vec<CompletionItem> {
        let head = before.trim_end_matches(is_word);
        if let Some(receiver) = head.strip_suffix('.') {
            return self.after_dot(receiver, word, scope);
        }
        let mut items = if scope.in_undo {
            self.undo_roots(word, scope)
        } else {
            self.roots(word, scope.step)
        };
        for usage in function_usages() {
            if usage.starts_with("x.") {
                continue;
            }
            let name = usage.split('(').next().unwrap_or_default().to_owned();
            items.push(CompletionItem {
                detail: Some(usage),
                ..self.item(
                    (&name, format!("{name}(")),
                    word,
                    CompletionItemKind::FUNCTION,
                )
            });
        }
        items
    }

    /// The roots of paths in an undo.
    fn undo_roots(&self, word: &Range<usize>, scope: CursorScope<'_>) -> Vec<CompletionItem> {
        let items = ["output", "arguments"].map(|name| {
            let shape = self
                .plan
                .and_then(|plan| TrailingPath::read(name)?.shape(plan, scope));
            CompletionItem {
                detail: shape.map(|shape| shown_type(&shape)),
                ..self.item((name, name.to_owned()), word, CompletionItemKind::KEYWORD)
            }
        });
        items.into()
    }

    /// The roots of paths in a step.
    fn roots(&self, word: &Range<usize>, step: Option<&str>) -> Vec<CompletionItem> {
        let mut items = self.steps_bare(word, step);
        let slots = self
            .plan
            .into_iter()
            .flat_map(|plan| &plan.inspection.slots);
        for (kind, name, shape) in slots {
            let path = match kind.as_str() {
                kind @ ("inputs" | "vars") => format!("{kind}.{name}"),
                kind => format!("slots.{kind}.{name}"),
            };
            items.push(CompletionItem {
                detail: Some(shown_type(shape)),
                ..self.item((&path, path.clone()), word, CompletionItemKind::VARIABLE)
            });
        }
        let item = step
            .and_then(|step| self.plan?.types(step))
            .map(|step| shown_type(&step.item));
        items.push(CompletionItem {
            detail: item,
            ..self.item(
                ("item", "item".to_owned()),
                word,
                CompletionItemKind::KEYWORD,
            )
        });
        items
    }

    /// The ids of the other steps, as references write them.
    fn steps_bare(&self, word: &Range<usize>, own: Option<&str>) -> Vec<CompletionItem> {
        let steps = self
            .plan
            .into_iter()
            .flat_map(|plan| &plan.inspection.steps);
        let steps = steps.filter(|step| Some(step.id.as_str()) != own);
        let items = steps.map(|step| {
            let is_plain = step.id.chars().all(is_word);
            let text = if is_plain {
                step.id.to_string()
            } else {
                format!("steps['{}']", step.id)
            };
            CompletionItem {
                detail: Some(shown_type(&step.output)),
                ..self.item((&step.id, text), word, CompletionItemKind::VARIABLE)
            }
        });
        items.collect()
    }

    fn after_dot(
        &self,
        receiver: &str,
        word: &Range<usize>,
        scope: CursorScope<'_>,
    ) -> Vec<CompletionItem> {
        let mut items = Vec::new();
        let path = TrailingPath::read(receiver);
        let names = match (&path, self.plan) {
            (Some(path), Some(plan)) => names_below(path, plan, scope),
            _ => Vec::new(),
        };
        for (name, detail) in names {
            items.push(CompletionItem {
                detail: Some(detail),
                ..self.item((&name, name.clone()), word, CompletionItemKind::FIELD)
            });
        }
        for usage in function_usages() {
            let Some(method) = usage.strip_prefix("x.") else {
                continue;
            };
            let name = method.split('(').next().unwrap_or_default().to_owned();
            items.push(CompletionItem {
                detail: Some(usage.clone()),
                sort_text: Some(format!("~{name}")),
                ..self.item(
                    (&name, format!("{name}(")),
                    word,
                    CompletionItemKind::METHOD,
                )
            });
        }
        items
    }
}

/// The names that may follow a path, each with its type.
fn names_below(
    path: &TrailingPath,
    plan: &AnalyzedPlan,
    scope: CursorScope<'_>,
) -> Vec<(String, String)> {
    if path.segments.is_empty() && !scope.in_undo {
        let slots = plan.inspection.slots.iter();
        let of_kind = slots.filter(|(kind, ..)| kind.as_str() == path.root);
        let found: Vec<_> = of_kind
            .map(|(_, name, shape)| (name.to_string(), shown_type(shape)))
            .collect();
        if !found.is_empty() {
            return found;
        }
        if matches!(path.root.as_str(), "steps" | "results") {
            let steps = plan.inspection.steps.iter();
            return steps
                .map(|step| (step.id.to_string(), shown_type(&step.output)))
                .collect();
        }
    }
    let Some(shape) = path.shape(plan, scope) else {
        return Vec::new();
    };
    let found = fields(&shape).into_iter();
    found
        .map(|(name, shape, required)| {
            let mark = if required { "" } else { "?" };
            let detail = format!("{name}{mark}: {}", shown_type(&shape));
            (name, detail)
        })
        .collect()
}

pub(crate) fn markdown(value: String) -> Documentation {
    Documentation::MarkupContent(MarkupContent {
        kind: MarkupKind::Markdown,
        value,
    })
}

/// Returns the schema of the value at `path`.
pub(crate) fn schema_at<'a>(schema: &'a Value, path: &[PointerSegment]) -> Option<&'a Value> {
    let mut found = schema;
    for segment in path {
        let here = resolved(schema, found);
        found = match segment {
            PointerSegment::Root => here,
            PointerSegment::Key(key) => here
                .get("properties")
                .and_then(|fields| fields.get(key))
                .or_else(|| here.get("additionalProperties"))?,
            PointerSegment::Index(_) => here.get("items")?,
        };
    }
    Some(resolved(schema, found))
}

/// Follows a `$ref` into the definitions of the schema.
pub(crate) fn resolved<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let target = part.get("$ref").and_then(Value::as_text);
    let name = target.and_then(|target| target.strip_prefix("#/$defs/"));
    let found = name.and_then(|name| schema.get("$defs")?.get(name));
    found.unwrap_or(part)
}
