//! Values of arguments: literals against schemas, and types of references against the expected ones.

use std::sync::Arc;

use super::ArgumentPass;
use super::lists::list_of_arguments;
use crate::check::passes::meant::{literal_advice, meant_text, near_choice, renamed_field};
use crate::check::passes::positional::{
    ArgumentReceiver, fitting_fields, may_be_text, properties, text_advice, with_shape,
};
use crate::check::passes::references::step_number;
use crate::check::reporter::Reporter;
use crate::expression::parse_form;
use crate::plan::{Node, NodeKind, TextPart};
use crate::schema::{Compatibility, SchemaViolation, SchemaViolationKind, TemplateValue, Type};
use crate::{Code, Object, Place, PointerSegment, Severity, StepId, Value};

/// The maximum length of a call in advice, in bytes.
const MAX_SHOWN_CALL: usize = 500;

impl ArgumentPass<'_> {
    /// Checks a value against a schema. Returns the reason if the schema is malformed, which makes it accept anything.
    pub(super) fn check_value<'s>(
        &self,
        receiver: &ArgumentReceiver<'s>,
        node: &Node,
        reporter: &mut Reporter<'_>,
    ) -> Option<&'s str> {
        let schema = receiver.schema;
        let is_accepted = schema.definitely_accepts_node(node);
        // Compiling is costly: it is skipped for a value that certainly fits a schema that was fully understood.
        if (!is_accepted || schema.is_incomplete())
            && let Some(reason) = schema.malformed()
        {
            return Some(reason);
        }
        if !is_accepted {
            let template = TemplateValue::of(node);
            for violation in schema.validate_literal(&template.value) {
                // A violation that depends on the value of a reference is left to the validation during the run.
                if template.is_certain(&violation) && !reporter.count_if_full(Severity::Error) {
                    self.report_violation(receiver, node, violation, reporter);
                }
            }
        }
        // A literal is known in full.
        if node.as_literal().is_none() {
            let mut path = Vec::new();
            self.check_types(receiver, schema.structure(), node, &mut path, reporter);
        }
        None
    }

    fn report_violation(
        &self,
        receiver: &ArgumentReceiver<'_>,
        node: &Node,
        violation: SchemaViolation,
        reporter: &mut Reporter<'_>,
    ) {
        let SchemaViolation {
            mut path,
            kind,
            message,
            ..
        } = violation;
        // Violations at the top level are about missing or unknown arguments, which have separate codes.
        let is_top = path.is_empty() && receiver.argument.is_none();
        let argument = receiver.named(&path);
        let name = &receiver.name;
        if let SchemaViolationKind::Unknown(field) = &kind {
            path.push(PointerSegment::Key(Arc::clone(field)));
        }
        let place = self.place_inside(node, &path, reporter);
        let diagnostic = match kind {
            SchemaViolationKind::Missing(field) if is_top => {
                let renamed = self.renamed(receiver, reporter).iter();
                let written = renamed.clone().find(|(_, meant)| *meant == field);
                if let Some((written, _)) = written
                    && let Some(node) = self.fields(reporter).and_then(|all| all.get(written))
                {
                    let message = format!(
                        "{name} needs the argument `{field}`, and has no parameter `{written}`"
                    );
                    let diagnostic = reporter.error(Code::MissingArgument, node.place, message);
                    let mut help = format!("write `{field}` in place of `{written}`");
                    // One name for one value, the other for a list of them.
                    let wanted = receiver.schema.property(&field).unwrap_or(Type::Any);
                    let form = match node.as_literal() {
                        Some(value) => literal_advice(&wanted, value),
                        None => item_advice(&wanted, node),
                    };
                    if let Some(form) = form {
                        help = format!("{help}; for its value, {form}");
                    }
                    reporter.push(diagnostic.help(help).rename(&*field));
                    return;
                }
                let message = format!("{name} needs the argument `{field}`");
                let diagnostic = reporter.error(Code::MissingArgument, place, message);
                let joined = self.joined_arguments(receiver, reporter);
                match list_of_arguments(receiver, node).or(joined) {
                    Some(help) => diagnostic.help(help),
                    None => with_shape(diagnostic, receiver.schema.property(&field)),
                }
            }
            SchemaViolationKind::Unknown(field) if is_top => {
                let is_renamed = |(written, _): &(Arc<str>, Arc<str>)| *written == field;
                if self.renamed(receiver, reporter).iter().any(is_renamed)
                    || list_of_arguments(receiver, node).is_some()
                {
                    return;
                }
                let message = format!("{name} has no parameter `{field}`");
                let mut diagnostic = reporter.error(Code::UnknownArgument, place, message);
                let known = properties(receiver.schema.structure());
                let given = self.fields(reporter).and_then(|fields| fields.get(&field));
                diagnostic.help = given
                    .and_then(|given| {
                        self.bound_values(&field, given, reporter)
                            .or_else(|| self.row_limit(&field, given, reporter))
                    })
                    .or_else(|| {
                        reporter.advice(&field, "parameters", known.iter().map(|name| &**name))
                    })
                    .filter(|_| !known.is_empty())
                    .or_else(|| Some("it takes no parameters".to_owned()));
                match self.unambiguous_parameter(&field, &known, reporter) {
                    Some(name) => diagnostic.rename(name),
                    None => diagnostic,
                }
            }
            kind @ (SchemaViolationKind::Missing(_)
            | SchemaViolationKind::Unknown(_)
            | SchemaViolationKind::Wrong) => {
                let message = format!("the argument {argument} of {name} does not fit: {message}");
                let mut diagnostic = reporter.error(Code::InvalidLiteral, place, message);
                match kind {
                    SchemaViolationKind::Missing(field) => {
                        let shape = receiver.shape(&path);
                        let keys = keys_at(node, &path);
                        let written = match &shape {
                            Type::Object(object) => keys.iter().find(|key| {
                                let keys = || keys.iter().copied();
                                renamed_field(object, keys, key).is_some_and(|meant| meant == field)
                            }),
                            _ => None,
                        };
                        diagnostic = match written {
                            Some(written) => {
                                diagnostic.help(format!("write `{field}` in place of `{written}`"))
                            }
                            None => with_shape(diagnostic, shape.property(&field)),
                        };
                    }
                    SchemaViolationKind::Unknown(field) => {
                        path.pop();
                        let known = properties(&receiver.shape(&path));
                        let known = known.iter().map(|name| &**name);
                        diagnostic.help = reporter.advice(&field, "fields", known);
                    }
                    SchemaViolationKind::Wrong => {
                        if let Some(value) = literal_at(node, &path) {
                            diagnostic.help = diagnostic
                                .help
                                .or_else(|| self.inner_call_advice(value))
                                .or_else(|| self.expression_advice(value))
                                .or_else(|| {
                                    let wanted = receiver.shape(&path);
                                    literal_advice(&wanted, value)
                                        .or_else(|| near_choice(&wanted, value, reporter))
                                });
                            if let Some(written) = reporter.written(place) {
                                diagnostic = self.with_written_number(
                                    diagnostic,
                                    (receiver, &path),
                                    (value, written),
                                );
                            }
                        }
                    }
                }
                diagnostic
            }
        };
        reporter.push(diagnostic);
    }

    /// Compares the types of references with the expected types.
    fn check_types(
        &self,
        receiver: &ArgumentReceiver<'_>,
        wanted: &Type,
        node: &Node,
        path: &mut Vec<PointerSegment>,
        reporter: &mut Reporter<'_>,
    ) {
        match &node.kind {
            NodeKind::Literal(_) => {}
            NodeKind::Reference(reference) => {
                if self.report_items((receiver, wanted), reference, path, reporter) {
                    return;
                }
                // The pass of the references reports it.
                if step_number(self.resolved, reference).is_some() {
                    return;
                }
                let found = self.types.reference_type(reference, Some(self.index));
                // Only a certain mismatch is an error; the run validates the rest.
                if wanted.accepts(&found) == Compatibility::No
                    && !(wanted.takes_text()
                        && may_be_text(reference, &found)
                        && !self.types.is_computed(reference))
                    && !reporter.count_if_full(Severity::Error)
                {
                    let message = format!(
                        "the argument {} of {} takes {wanted}, but `{}` gives {found}",
                        receiver.named(path),
                        receiver.name,
                        reference.shown()
                    );
                    let mut diagnostic =
                        reporter.error(Code::WrongReferenceType, reference.place, message);
                    let written = meant_text(self.resolved, reference);
                    diagnostic.help = self
                        .only_field_advice(wanted, reference, &found)
                        .or_else(|| fitting_fields(wanted, &found))
                        .or_else(|| self.same_round(reference, &found))
                        .or_else(|| text_advice(wanted, &written, &found))
                        .or_else(|| self.sibling_fields(wanted, reference));
                    reporter.push(diagnostic);
                } else if !self.report_alternatives(receiver, wanted, reference, path, reporter) {
                    self.check_answers(receiver, wanted, reference, path, reporter);
                }
            }
            NodeKind::Text(parts) => {
                if wanted.accepts(&Type::Text) == Compatibility::No
                    && !reporter.count_if_full(Severity::Error)
                {
                    let message = format!(
                        "the argument {} of {} takes {wanted}, but a reference inside of text gives text",
                        receiver.named(path),
                        receiver.name,
                    );
                    let help = item_text_advice(wanted, parts).unwrap_or_else(|| {
                        "a reference that stands alone keeps its type".to_owned()
                    });
                    let diagnostic = reporter.error(Code::WrongReferenceType, node.place, message);
                    reporter.push(diagnostic.help(help));
                } else {
                    self.report_objects_in_text(receiver, parts, path, reporter);
                }
            }
            NodeKind::List(items) => {
                if self.check_composite(receiver, wanted, &Type::any_list(), node, path, reporter) {
                    for (index, item) in items.iter().enumerate() {
                        path.push(PointerSegment::Index(index));
                        self.check_types(receiver, &wanted.item(index), item, path, reporter);
                        path.pop();
                    }
                }
            }
            NodeKind::Object(fields) => {
                if self.check_composite(receiver, wanted, &Type::any_object(), node, path, reporter)
                {
                    for field in fields {
                        // An unknown field was already reported.
                        let Some(wanted) = wanted.property(&field.key) else {
                            continue;
                        };
                        path.push(PointerSegment::Key(Arc::clone(&field.key)));
                        self.check_types(receiver, &wanted, &field.value, path, reporter);
                        path.pop();
                    }
                }
            }
        }
    }

    /// Checks that the schema accepts a list or an object here.
    fn check_composite(
        &self,
        receiver: &ArgumentReceiver<'_>,
        wanted: &Type,
        found: &Type,
        node: &Node,
        path: &[PointerSegment],
        reporter: &mut Reporter<'_>,
    ) -> bool {
        if wanted.accepts(found) != Compatibility::No {
            return true;
        }
        if reporter.count_if_full(Severity::Error) {
            return false;
        }
        let message = format!(
            "the argument {} of {} takes {wanted}, not {found}",
            receiver.named(path),
            receiver.name
        );
        let mut diagnostic =
            reporter.error(Code::InvalidLiteral, self.place_or_step(node), message);
        diagnostic.help = item_advice(wanted, node);
        reporter.push(diagnostic);
        false
    }

    /// The advice for a text that is an expression over a step of the plan.
    fn expression_advice(&self, value: &Value) -> Option<String> {
        let text = value.as_text()?;
        let (root, _) = text.split_once(['.', '['])?;
        let is_step = self.resolved.ids.contains_key(&StepId::new(root));
        let is_shown = is_step && text.len() <= MAX_SHOWN_CALL && !text.contains('`');
        let is_form = is_shown && parse_form(text).is_ok();
        is_form.then(|| format!("write `${{{text}}}`"))
    }

    /// The advice for `value` in place of an argument, if it is a call.
    fn inner_call_advice(&self, value: &Value) -> Option<String> {
        let fields = value.as_object()?;
        let tool = value.get("tool")?.as_text()?;
        let words = ["args", "arguments", "params", "input"];
        let args = words.iter().find_map(|word| value.get(word));
        (fields.len() == 2 && args?.as_object().is_some()).then_some(())?;
        let is_free = |id: &String| !self.resolved.ids.contains_key(&StepId::new(id.as_str()));
        let name = tool.replace(|sign: char| !sign.is_alphanumeric(), "_");
        let numbered = (2..100).map(|number| format!("{name}_{number}"));
        let id = std::iter::once(name.clone())
            .chain(numbered)
            .find(is_free)?;
        let step = Value::object([
            ("id", Value::text(id.as_str())),
            ("tool", Value::text(tool)),
            ("args", args.cloned().unwrap_or_else(Value::empty_object)),
        ]);
        let json = step.to_json();
        (json.len() <= MAX_SHOWN_CALL && !json.contains('`')).then(|| {
            format!("an argument cannot hold a call: write the step `{json}` before this one, and `${{{id}}}` here")
        })
    }

    /// Returns the source place of the part of `node` at `path`.
    fn place_inside(&self, node: &Node, path: &[PointerSegment], reporter: &Reporter<'_>) -> Place {
        if let (NodeKind::Object(fields), Some((PointerSegment::Key(key), rest))) =
            (&node.kind, path.split_first())
            && let Some(field) = fields.iter().find(|field| field.key == *key)
            && field.value.place != Place::NOWHERE
        {
            return self.place_inside(&field.value, rest, reporter);
        }
        reporter.descend(self.place_or_step(node), path)
    }
}

/// The advice for a text where a list of texts is `wanted`.
fn item_text_advice(wanted: &Type, parts: &[TextPart]) -> Option<String> {
    let Type::List(list) = wanted else {
        return None;
    };
    let written = |part: &TextPart| match part {
        TextPart::Literal(text) => text.to_string(),
        TextPart::Reference(reference) => reference.text.to_string(),
    };
    let text: String = parts.iter().map(written).collect();
    let json = Value::list([Value::text(text)]).to_json();
    let is_shown = json.len() <= MAX_SHOWN_CALL && !json.contains('`');
    (list.any_item().takes_text() && is_shown).then(|| format!("write `{json}`"))
}

/// The advice for the object `node` where a list of objects is `wanted`: its fields become those of the only item.
fn item_advice(wanted: &Type, node: &Node) -> Option<String> {
    let (Type::List(list), NodeKind::Object(fields)) = (wanted, &node.kind) else {
        return None;
    };
    let Type::Object(item) = list.any_item() else {
        return None;
    };
    let required = item.properties.iter().filter(|(_, wanted)| wanted.required);
    let missing = required.filter(|(name, _)| fields.iter().all(|field| field.key != **name));
    let missing: Vec<&str> = missing.map(|(name, _)| &**name).collect();
    let unknown = fields
        .iter()
        .filter(|field| !item.properties.contains_key(&field.key));
    let unknown: Vec<&str> = unknown.map(|field| &*field.key).collect();
    let advice = "write it in brackets, `[{…}]`, as the only item".to_owned();
    Some(match (missing.as_slice(), unknown.as_slice()) {
        ([], _) => advice,
        ([missing], [unknown]) => format!("{advice}, with `{missing}` in place of `{unknown}`"),
        (missing, _) => {
            let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
            format!("{advice}, with {}, which it needs too", names.join(", "))
        }
    })
}

/// The keys of the object at `path` of `node`.
fn keys_at<'n>(node: &'n Node, path: &[PointerSegment]) -> Vec<&'n str> {
    if let Some(literal) = literal_at(node, path) {
        let fields = literal.as_object().into_iter().flat_map(Object::keys);
        return fields.map(|key| &**key).collect();
    }
    match (&node.kind, path.split_first()) {
        (NodeKind::Object(fields), None) => fields.iter().map(|field| &*field.key).collect(),
        (NodeKind::Object(fields), Some((PointerSegment::Key(key), rest))) => {
            let field = fields.iter().find(|field| field.key == *key);
            field.map_or_else(Vec::new, |field| keys_at(&field.value, rest))
        }
        (NodeKind::List(items), Some((PointerSegment::Index(index), rest))) => {
            let item = items.get(*index);
            item.map_or_else(Vec::new, |item| keys_at(item, rest))
        }
        _ => Vec::new(),
    }
}

/// The literal at `path` of `node`.
fn literal_at<'n>(node: &'n Node, path: &[PointerSegment]) -> Option<&'n Value> {
    match (&node.kind, path.split_first()) {
        (NodeKind::Literal(value), _) => {
            path.iter().try_fold(value, |value, segment| match segment {
                PointerSegment::Key(key) => value.get(key),
                PointerSegment::Index(index) => value.as_list()?.get(*index),
                PointerSegment::Root => Some(value),
            })
        }
        (NodeKind::Object(fields), Some((PointerSegment::Key(key), rest))) => {
            let field = fields.iter().find(|field| field.key == *key)?;
            literal_at(&field.value, rest)
        }
        (NodeKind::List(items), Some((PointerSegment::Index(index), rest))) => {
            literal_at(items.get(*index)?, rest)
        }
        _ => None,
    }
}
