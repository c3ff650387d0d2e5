//! The argument pass: missing, unknown and wrong arguments, and the schemas of steps that extract data.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::meant::{is_related, lists_none, literal_advice};
use super::positional::{
    ArgumentReceiver, fitting_fields, may_be_text, named_arguments, properties, text_advice,
    with_shape,
};
use crate::catalog::extraction_schema;
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::type_inference::TypeInference;
use crate::expression::print_form;
use crate::plan::{Action, Node, NodeKind, PlanCall, PlanTarget};
use crate::schema::{
    Additional, Compatibility, SchemaViolation, SchemaViolationKind, TemplateValue, Type,
};
use crate::{
    Code, EXTRACTION, Hashing, Place, Plan, PointerSegment, Schema, Severity, Step, Tool, Value,
};

pub(in crate::check) fn check(
    resolved: &ResolvedPlan<'_>,
    types: &TypeInference<'_>,
    reporter: &mut Reporter<'_>,
) {
    let mut malformed = HashSet::new();
    for (index, step) in resolved.steps() {
        let pass = ArgumentPass {
            types,
            index,
            step,
            fields: OnceCell::new(),
            renamed: OnceCell::new(),
        };
        pass.check_loop(reporter);
        match &step.action {
            Action::Tool(name) => {
                let Some(tool) = resolved.tool(index).filter(|tool| !tool.input.is_any()) else {
                    continue;
                };
                // A malformed schema is reported once per tool, not for each call.
                if let Some(reason) = pass.check_tool_call(tool, reporter)
                    && malformed.insert(tool.qualified_name())
                {
                    let message = format!(
                        "the input schema of the tool `{}` is malformed: {reason}",
                        tool.name
                    );
                    let diagnostic = reporter
                        .warning(Code::InvalidSchema, name.place, message)
                        .help("its arguments are not checked");
                    reporter.push(diagnostic);
                }
            }
            Action::Plan(call) => {
                if let Some(plan) = resolved.sub_plan(index) {
                    pass.check_plan_call(call, plan.plan(), reporter);
                }
            }
            Action::Value(_) => {}
        }
    }
}

struct ArgumentPass<'a> {
    types: &'a TypeInference<'a>,
    index: u32,
    step: &'a Step,
    /// The arguments by name, if known; computed on first use.
    fields: OnceCell<Option<NamedArguments>>,
    /// The arguments that stand for missing ones of a tool, each as it is written and as it is meant.
    renamed: OnceCell<Vec<(Arc<str>, Arc<str>)>>,
}

type NamedArguments = IndexMap<Arc<str>, Node, Hashing>;

impl ArgumentPass<'_> {
    /// Checks a tool call. Returns the reason if the tool's input schema is malformed.
    fn check_tool_call<'t>(&self, tool: &'t Tool, reporter: &mut Reporter<'_>) -> Option<&'t str> {
        let receiver = ArgumentReceiver {
            schema: &tool.input,
            name: format!("the tool `{}`", tool.name),
            argument: None,
        };
        let nothing;
        // `null` means no arguments, which tools receive as an empty object.
        let args = if self.step.args.as_literal() == Some(&Value::Null) {
            nothing = Node::literal(Value::empty_object(), self.step.args.place);
            &nothing
        } else {
            &self.step.args
        };
        let malformed = self.check_value(&receiver, args, reporter);
        if malformed.is_none() {
            self.warn_unlisted(&receiver, reporter);
        }
        malformed
    }

    /// Warns of arguments that an open schema does not list. Servers seldom close their schemas, and many ignore
    /// unknown arguments.
    fn warn_unlisted(&self, receiver: &ArgumentReceiver<'_>, reporter: &mut Reporter<'_>) {
        let shape = receiver.schema.structure();
        let lists = |member: &Type| match member {
            Type::Object(object) => {
                object.additional == Additional::Unspecified && !object.properties.is_empty()
            }
            Type::Any
            | Type::Never
            | Type::Null
            | Type::Boolean
            | Type::Integer
            | Type::Number
            | Type::Text
            | Type::Literal(_)
            | Type::List(_)
            | Type::Union(_) => false,
        };
        let members = shape.members();
        let takes_none = lists_none(receiver.schema);
        // If one alternative accepts any field, an unlisted one is not a reason to warn.
        if !takes_none && (members.is_empty() || !members.iter().all(lists)) {
            return;
        }
        let known = properties(shape);
        let Some(fields) = self.fields(reporter) else {
            return;
        };
        for (field, node) in fields {
            let is_renamed = |(written, _): &(Arc<str>, Arc<str>)| written == field;
            if known.contains(field)
                || self.renamed(receiver, reporter).iter().any(is_renamed)
                || reporter.count_if_full(Severity::Warning)
            {
                continue;
            }
            let message = format!("{} lists no parameter `{field}`", receiver.name);
            let mut diagnostic = reporter.warning(Code::UnknownArgument, node.place, message);
            diagnostic.help = self
                .related_advice(field, &known, reporter)
                .or_else(|| reporter.advice(field, "parameters", known.iter().map(|name| &**name)));
            if takes_none {
                diagnostic.help = Some("it takes no parameters".to_owned());
            }
            reporter.push(match self.unambiguous_parameter(field, &known, reporter) {
                Some(name) => diagnostic.rename(name),
                None => diagnostic,
            });
        }
    }

    fn check_plan_call(&self, call: &PlanCall, plan: &Plan, reporter: &mut Reporter<'_>) {
        // A plan without declared inputs accepts any arguments.
        if plan.inputs.is_empty() {
            return;
        }
        let name = match &call.target {
            PlanTarget::Named(name) => format!("the plan `{}`", name.text),
            PlanTarget::Inline(_) => format!("the plan of `{}`", self.step.id),
        };
        let Some(fields) = self.fields(reporter) else {
            return;
        };
        for input in &plan.inputs {
            match fields.get(&input.name) {
                Some(node) => {
                    let schema = Schema::from_value(input.schema.clone());
                    if schema.is_any() {
                        continue;
                    }
                    let receiver = ArgumentReceiver {
                        schema: &schema,
                        name: name.clone(),
                        argument: Some(Arc::clone(&input.name)),
                    };
                    // A malformed schema is reported by the check of that plan.
                    let _ = self.check_value(&receiver, node, reporter);
                }
                None if input.default.is_none() && !reporter.count_if_full(Severity::Error) => {
                    let message = format!("{name} needs the argument `{}`", input.name);
                    let diagnostic = reporter.error(Code::MissingArgument, self.place(), message);
                    let schema = Schema::from_value(input.schema.clone());
                    reporter.push(with_shape(diagnostic, Some(schema.structure().clone())));
                }
                None => {}
            }
        }
        let known: HashSet<&str, Hashing> = plan.inputs.iter().map(|input| &*input.name).collect();
        for (key, node) in fields {
            if known.contains(&**key) || reporter.count_if_full(Severity::Error) {
                continue;
            }
            let message = format!("{name} has no input `{key}`");
            let mut diagnostic = reporter.error(Code::UnknownArgument, node.place, message);
            let inputs = plan.inputs.iter().map(|input| &*input.name);
            diagnostic.help = reporter.advice(key, "inputs", inputs);
            reporter.push(diagnostic);
        }
    }

    /// Returns the parameter that `written` certainly means: the only near one, if it is not given yet.
    fn unambiguous_parameter<'n>(
        &self,
        written: &str,
        known: &'n [Arc<str>],
        reporter: &Reporter<'_>,
    ) -> Option<&'n str> {
        let near = reporter.unambiguous_nearest(written, known.iter().map(|name| &**name))?;
        let has_near = |fields: &NamedArguments| fields.contains_key(near);
        (!self.fields(reporter).is_some_and(has_near)).then_some(near)
    }

    /// The advice to take the only parameter that `written` may mean, if it is not near by its letters and not given yet.
    fn related_advice(
        &self,
        written: &str,
        known: &[Arc<str>],
        reporter: &Reporter<'_>,
    ) -> Option<String> {
        let given = self.fields(reporter)?;
        if reporter
            .nearest(written, known.iter().map(|name| &**name))
            .is_some()
        {
            return None;
        }
        let mut related = known
            .iter()
            .filter(|name| !given.contains_key(*name) && is_related(written, name));
        match (related.next(), related.next()) {
            (Some(only), None) => Some(format!("did you mean `{only}`?")),
            _ => None,
        }
    }

    /// The unknown arguments that certainly stand for missing ones, by their names.
    fn renamed(
        &self,
        receiver: &ArgumentReceiver<'_>,
        reporter: &Reporter<'_>,
    ) -> &[(Arc<str>, Arc<str>)] {
        self.renamed.get_or_init(|| {
            let shape = receiver.schema.structure();
            let (Type::Object(object), None) = (shape, &receiver.argument) else {
                return Vec::new();
            };
            let Some(fields) = self.fields(reporter) else {
                return Vec::new();
            };
            let unknown: Vec<&Arc<str>> = fields
                .keys()
                .filter(|name| !object.properties.contains_key(*name))
                .take(MAX_RENAMED)
                .collect();
            let missing: Vec<&Arc<str>> = object
                .properties
                .iter()
                .filter(|(name, property)| property.required && !fields.contains_key(*name))
                .map(|(name, _)| name)
                .take(MAX_RENAMED)
                .collect();
            let is_near = |written: &Arc<str>, meant: &Arc<str>| {
                is_related(written, meant) || reporter.nearest(written, [&**meant]).is_some()
            };
            let mut found = Vec::new();
            for meant in &missing {
                let mut near = unknown.iter().filter(|written| is_near(written, meant));
                if let (Some(written), None) = (near.next(), near.next())
                    && missing
                        .iter()
                        .filter(|other| is_near(written, other))
                        .count()
                        == 1
                {
                    found.push((Arc::clone(written), Arc::clone(meant)));
                }
            }
            found
        })
    }

    fn fields(&self, reporter: &Reporter<'_>) -> Option<&NamedArguments> {
        let fields = self.fields.get_or_init(|| {
            let named = named_arguments(&self.step.args, reporter)?;
            Some(
                named
                    .into_iter()
                    .map(|field| (field.key, field.value))
                    .collect(),
            )
        });
        fields.as_ref()
    }

    /// Checks that a `for_each` iterates over a list.
    fn check_loop(&self, reporter: &mut Reporter<'_>) {
        let Some(for_each) = &self.step.for_each else {
            return;
        };
        let found = self.types.node_type(&for_each.over, Some(self.index));
        if Type::any_list().accepts(&found) == Compatibility::No {
            let message = format!(
                "`for_each` of `{}` goes over a list, not over {found}",
                self.step.id
            );
            let diagnostic = reporter.error(Code::WrongReferenceType, for_each.over.place, message);
            reporter.push(match list_advice(&for_each.over, &found) {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
        }
    }

    /// Checks a value against a schema. Returns the reason if the schema is malformed, which makes it accept anything.
    fn check_value<'s>(
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
                // A violation that a reference may still avoid is left to the validation during the run.
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
        // Violations at the top are about arguments as such and have codes of their own.
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
                    let help = format!("write `{field}` in place of `{written}`");
                    reporter.push(diagnostic.help(help).rename(&*field));
                    return;
                }
                let message = format!("{name} needs the argument `{field}`");
                let diagnostic = reporter.error(Code::MissingArgument, place, message);
                with_shape(diagnostic, receiver.schema.property(&field))
            }
            SchemaViolationKind::Unknown(field) if is_top => {
                let is_renamed = |(written, _): &(Arc<str>, Arc<str>)| *written == field;
                if self.renamed(receiver, reporter).iter().any(is_renamed) {
                    return;
                }
                let message = format!("{name} has no parameter `{field}`");
                let mut diagnostic = reporter.error(Code::UnknownArgument, place, message);
                let known = properties(receiver.schema.structure());
                diagnostic.help = reporter
                    .advice(&field, "parameters", known.iter().map(|name| &**name))
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
                        let shape = receiver.shape(&path).property(&field);
                        diagnostic = with_shape(diagnostic, shape);
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
                                .or_else(|| literal_advice(&receiver.shape(&path), value));
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
                let found = self.types.reference_type(reference, Some(self.index));
                // Only a certain mismatch is an error; the run validates the rest.
                if wanted.accepts(&found) == Compatibility::No
                    && !(wanted.takes_text() && may_be_text(reference, &found))
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
                    diagnostic.help = fitting_fields(wanted, &found)
                        .or_else(|| text_advice(wanted, reference, &found));
                    reporter.push(diagnostic);
                }
            }
            NodeKind::Text(_) => {
                if wanted.accepts(&Type::Text) == Compatibility::No
                    && !reporter.count_if_full(Severity::Error)
                {
                    let message = format!(
                        "the argument {} of {} takes {wanted}, but a reference inside of text gives text",
                        receiver.named(path),
                        receiver.name,
                    );
                    let diagnostic = reporter
                        .error(Code::WrongReferenceType, node.place, message)
                        .help("a reference that stands alone keeps its type");
                    reporter.push(diagnostic);
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
        let diagnostic = reporter.error(Code::InvalidLiteral, self.place_or_step(node), message);
        reporter.push(diagnostic);
        false
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

    fn place(&self) -> Place {
        self.place_or_step(&self.step.args)
    }

    /// Returns the source place of `node`, or else that of the step.
    fn place_or_step(&self, node: &Node) -> Place {
        if node.place == Place::NOWHERE {
            self.step.place
        } else {
            node.place
        }
    }
}

pub(in crate::check) fn check_extraction(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    for (_, step) in resolved.steps() {
        if step.tool().is_none_or(|name| &*name.text != EXTRACTION) {
            continue;
        }
        let schema = match (extraction_schema(step), &step.args.kind) {
            (Some(schema), _) => schema,
            // The argument pass reports that it is missing.
            (None, NodeKind::Literal(_) | NodeKind::Object(_)) => continue,
            (None, _) => step.args.clone(),
        };
        let place = match schema.place {
            Place::NOWHERE => step.place,
            place => place,
        };
        let violation = match schema.as_literal() {
            None => (
                format!("the schema of `{}` has references", step.id),
                "write the schema itself, so that the types of the output are known",
            ),
            // The argument pass reports a schema that is not an object.
            Some(value) if !matches!(value, Value::Object(_)) => continue,
            Some(value) => match Schema::from_value(value.clone()).malformed() {
                None => continue,
                Some(reason) => (
                    format!("the schema of `{}` is malformed: {reason}", step.id),
                    "write a JSON Schema of the data, such as {\"type\": \"object\", \"properties\": {…}}",
                ),
            },
        };
        let diagnostic = reporter.error(Code::InvalidSchema, place, violation.0);
        reporter.push(diagnostic.help(violation.1));
    }
}

/// The maximum number of arguments that are compared with missing ones.
const MAX_RENAMED: usize = 16;

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

/// The advice how the reference `over`, whose type `found` is not a list, leads to a list: its lines, or its only field that is one.
fn list_advice(over: &Node, found: &Type) -> Option<String> {
    let NodeKind::Reference(reference) = &over.kind else {
        return None;
    };
    let whole = print_form(&reference.form)?;
    // A field and a method bind more than any operator.
    let form = if whole.contains(' ') {
        format!("({whole})")
    } else {
        whole.clone()
    };
    if *found == Type::Text {
        return Some(format!(
            "write `${{{form}.split('\\n')}}` for its lines, or `${{json({whole})}}` if it is the JSON of a list"
        ));
    }
    if let Type::Literal(Value::Text(text)) = found {
        let separator = [", ", ",", ";", "\n"]
            .into_iter()
            .find(|separator| text.contains(separator))?;
        let separator = separator.replace('\n', "\\n");
        return Some(format!("write `${{{form}.split('{separator}')}}`"));
    }
    let fields = properties(found);
    let is_list = |name: &&Arc<str>| {
        let field = found.property(name);
        field.is_some_and(|field| Type::any_list().accepts(&field) == Compatibility::Yes)
    };
    let lists: Vec<String> = fields
        .iter()
        .filter(is_list)
        .map(|name| format!("`${{{form}.{name}}}`"))
        .collect();
    (!lists.is_empty()).then(|| format!("write {}", lists.join(" or ")))
}
