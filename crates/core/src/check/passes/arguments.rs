//! Arguments: whether each call gives what its tool, or its plan, takes.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::receiver::{Receiver, fitting_fields, may_be_text, properties, with_shape};
use crate::check::reporter::Findings;
use crate::check::resolved_plan::Survey;
use crate::check::type_inference::Shapes;
use crate::plan::{Action, Node, NodeKind, PlanCall, PlanTarget};
use crate::schema::Frame;
use crate::schema::{Additional, FaultKind, Fit, SchemaFault, Type};
use crate::{Code, Hashing, Plan, PointerSegment, Schema, Severity, Step, Tool, Value};

pub(in crate::check) fn check(
    survey: &Survey<'_>,
    shapes: &Shapes<'_>,
    findings: &mut Findings<'_>,
) {
    let mut malformed = HashSet::new();
    for (index, step) in survey.steps() {
        let pass = CallPass {
            shapes,
            index,
            step,
            fields: OnceCell::new(),
        };
        pass.list(findings);
        match &step.action {
            Action::Tool(name) => {
                let Some(tool) = survey.tool(index).filter(|tool| !tool.input.is_any()) else {
                    continue;
                };
                if let Some(matter) = pass.tool(tool, findings)
                    && malformed.insert(tool.qualified_name())
                {
                    let message = format!(
                        "the input schema of the tool `{}` is malformed: {matter}",
                        tool.name
                    );
                    let finding = findings
                        .warning(Code::InvalidSchema, name.place, message)
                        .help("its arguments are not checked");
                    findings.push(finding);
                }
            }
            Action::Plan(call) => {
                if let Some(plan) = survey.sub_plan(index) {
                    pass.plan(call, plan.plan(), findings);
                }
            }
            Action::Value(_) => {}
        }
    }
}

struct CallPass<'a> {
    shapes: &'a Shapes<'a>,
    index: u32,
    step: &'a Step,
    /// The arguments by name, where that much is known, once somebody asked.
    fields: OnceCell<Option<Fields>>,
}

type Fields = IndexMap<Arc<str>, Node, Hashing>;

impl CallPass<'_> {
    /// Gives what makes the tool's schema malformed, where that is so.
    fn tool<'t>(&self, tool: &'t Tool, findings: &mut Findings<'_>) -> Option<&'t str> {
        let receiver = Receiver {
            schema: &tool.input,
            name: format!("the tool `{}`", tool.name),
            argument: None,
        };
        let nothing;
        let args = if self.step.args.as_literal() == Some(&Value::Null) {
            nothing = Node::literal(Value::empty_object(), self.step.args.place);
            &nothing
        } else {
            &self.step.args
        };
        let malformed = self.receive(&receiver, args, findings);
        if malformed.is_none() {
            self.unlisted(&receiver, findings);
        }
        malformed
    }

    /// Warns of arguments that an open schema does not list. Servers seldom close their schemas, and many ignore what they do not know.
    fn unlisted(&self, receiver: &Receiver<'_>, findings: &mut Findings<'_>) {
        let shape = receiver.schema.structure();
        let lists = |member: &Type| match member {
            Type::Object(object) => {
                object.additional == Additional::Unsaid && !object.properties.is_empty()
            }
            _ => false,
        };
        let members = shape.members();
        if members.is_empty() || !members.iter().all(lists) {
            return;
        }
        let known = properties(shape);
        let Some(fields) = self.fields(findings) else {
            return;
        };
        for (field, node) in fields {
            if known.contains(field) || findings.only_counts(Severity::Warning) {
                continue;
            }
            let message = format!("{} lists no parameter `{field}`", receiver.name);
            let mut finding = findings.warning(Code::UnknownArgument, node.place, message);
            finding.help = findings.advice(field, "parameters", known.iter().map(|name| &**name));
            findings.push(match self.surely(field, &known, findings) {
                Some(name) => finding.rename(name),
                None => finding,
            });
        }
    }

    fn plan(&self, call: &PlanCall, plan: &Plan, findings: &mut Findings<'_>) {
        // A plan that declares nothing takes whatever it is called with.
        if plan.inputs.is_empty() {
            return;
        }
        let name = match &call.target {
            PlanTarget::Named(name) => format!("the plan `{}`", name.text),
            PlanTarget::Inline(_) => format!("the plan of `{}`", self.step.id),
        };
        let Some(fields) = self.fields(findings) else {
            return;
        };
        for input in &plan.inputs {
            match fields.get(&input.name) {
                Some(node) => {
                    let schema = Schema::from_value(input.schema.clone());
                    if schema.is_any() {
                        continue;
                    }
                    let receiver = Receiver {
                        schema: &schema,
                        name: name.clone(),
                        argument: Some(Arc::clone(&input.name)),
                    };
                    // Where the schema is malformed, the plan's own findings say so.
                    let _ = self.receive(&receiver, node, findings);
                }
                None if input.default.is_none() && !findings.only_counts(Severity::Error) => {
                    let message = format!("{name} needs the argument `{}`", input.name);
                    let finding = findings.error(Code::MissingArgument, self.place(), message);
                    let schema = Schema::from_value(input.schema.clone());
                    findings.push(with_shape(finding, Some(schema.structure().clone())));
                }
                None => {}
            }
        }
        let known: HashSet<&str, Hashing> = plan.inputs.iter().map(|input| &*input.name).collect();
        for (key, node) in fields {
            if known.contains(&**key) || findings.only_counts(Severity::Error) {
                continue;
            }
            let message = format!("{name} has no input `{key}`");
            let mut finding = findings.error(Code::UnknownArgument, node.place, message);
            let inputs = plan.inputs.iter().map(|input| &*input.name);
            finding.help = findings.advice(key, "inputs", inputs);
            findings.push(finding);
        }
    }

    /// The parameter that is surely meant by `written`: the only one near it, and not given yet.
    fn surely<'n>(
        &self,
        written: &str,
        known: &'n [Arc<str>],
        findings: &Findings<'_>,
    ) -> Option<&'n str> {
        let near = findings.only_near(written, known.iter().map(|name| &**name))?;
        let is_given = |fields: &Fields| fields.contains_key(near);
        (!self.fields(findings).is_some_and(is_given)).then_some(near)
    }

    fn fields(&self, findings: &Findings<'_>) -> Option<&Fields> {
        let fields = self.fields.get_or_init(|| self.read_fields(findings));
        fields.as_ref()
    }

    fn read_fields(&self, findings: &Findings<'_>) -> Option<Fields> {
        let args = &self.step.args;
        match &args.kind {
            NodeKind::Object(fields) => Some(
                fields
                    .iter()
                    .map(|field| (Arc::clone(&field.key), field.value.clone()))
                    .collect(),
            ),
            NodeKind::Literal(Value::Null) => Some(Fields::default()),
            NodeKind::Literal(Value::Object(fields)) => Some(
                fields
                    .iter()
                    .map(|(key, value)| {
                        let inside = [PointerSegment::Key(Arc::clone(key))];
                        let place = findings.inside(args.place, &inside);
                        (Arc::clone(key), Node::literal(value.clone(), place))
                    })
                    .collect(),
            ),
            _ => None,
        }
    }

    /// Whether a `for_each` goes over a list.
    fn list(&self, findings: &mut Findings<'_>) {
        let Some(for_each) = &self.step.for_each else {
            return;
        };
        let given = self.shapes.node(&for_each.over, Some(self.index));
        if Type::any_list().accepts(&given) == Fit::No {
            let message = format!(
                "`for_each` of `{}` goes over a list, not over {given}",
                self.step.id
            );
            let finding = findings.error(Code::WrongReferenceType, for_each.over.place, message);
            findings.push(finding);
        }
    }

    /// Gives what makes the schema malformed, where that is so: then it takes anything.
    fn receive<'s>(
        &self,
        receiver: &Receiver<'s>,
        node: &Node,
        findings: &mut Findings<'_>,
    ) -> Option<&'s str> {
        let schema = receiver.schema;
        let frame = Frame::of(node);
        let is_sure = schema.surely_takes(&frame.value, &frame.holes);
        if (!is_sure || schema.is_doubtful())
            && let Some(matter) = schema.malformed()
        {
            return Some(matter);
        }
        if !is_sure {
            for fault in schema.validate(&frame.value) {
                if frame.is_certain(&fault) && !findings.only_counts(Severity::Error) {
                    self.fault(receiver, node, fault, findings);
                }
            }
        }
        if !frame.holes.is_empty() {
            let mut path = Vec::new();
            self.types(receiver, schema.structure(), node, &mut path, findings);
        }
        None
    }

    fn fault(
        &self,
        receiver: &Receiver<'_>,
        node: &Node,
        fault: SchemaFault,
        findings: &mut Findings<'_>,
    ) {
        let SchemaFault {
            mut path,
            kind,
            message,
            ..
        } = fault;
        let is_top = path.is_empty() && receiver.argument.is_none();
        let argument = receiver.named(&path);
        let name = &receiver.name;
        if let FaultKind::Unknown(field) = &kind {
            path.push(PointerSegment::Key(Arc::clone(field)));
        }
        let place = self.inside(node, &path, findings);
        let finding = match kind {
            FaultKind::Missing(field) if is_top => {
                let message = format!("{name} needs the argument `{field}`");
                let finding = findings.error(Code::MissingArgument, place, message);
                with_shape(finding, receiver.schema.property(&field))
            }
            FaultKind::Unknown(field) if is_top => {
                let message = format!("{name} has no parameter `{field}`");
                let mut finding = findings.error(Code::UnknownArgument, place, message);
                let known = properties(receiver.schema.structure());
                finding.help = findings
                    .advice(&field, "parameters", known.iter().map(|name| &**name))
                    .or_else(|| Some("it takes no parameters".to_owned()));
                match self.surely(&field, &known, findings) {
                    Some(name) => finding.rename(name),
                    None => finding,
                }
            }
            kind => {
                let message = format!("the argument {argument} of {name} does not fit: {message}");
                let mut finding = findings.error(Code::InvalidLiteral, place, message);
                match kind {
                    FaultKind::Missing(field) => {
                        let shape = receiver.shape(&path).property(&field);
                        finding = with_shape(finding, shape);
                    }
                    FaultKind::Unknown(field) => {
                        path.pop();
                        let known = properties(&receiver.shape(&path));
                        let known = known.iter().map(|name| &**name);
                        finding.help = findings.advice(&field, "fields", known);
                    }
                    FaultKind::Wrong => {}
                }
                finding
            }
        };
        findings.push(finding);
    }

    /// Holds what comes from elsewhere against the type that is wanted there.
    fn types(
        &self,
        receiver: &Receiver<'_>,
        wanted: &Type,
        node: &Node,
        path: &mut Vec<PointerSegment>,
        findings: &mut Findings<'_>,
    ) {
        match &node.kind {
            NodeKind::Literal(_) => {}
            NodeKind::Reference(reference) => {
                let given = self.shapes.reference(reference, Some(self.index));
                if wanted.accepts(&given) == Fit::No
                    && !(wanted.takes_text() && may_be_text(reference, &given))
                    && !findings.only_counts(Severity::Error)
                {
                    let message = format!(
                        "the argument {} of {} takes {wanted}, but `{}` gives {given}",
                        receiver.named(path),
                        receiver.name,
                        reference.shown()
                    );
                    let mut finding =
                        findings.error(Code::WrongReferenceType, reference.place, message);
                    finding.help = fitting_fields(wanted, &given);
                    findings.push(finding);
                }
            }
            NodeKind::Text(_) => {
                if wanted.accepts(&Type::Text) == Fit::No && !findings.only_counts(Severity::Error)
                {
                    let message = format!(
                        "the argument {} of {} takes {wanted}, but a reference inside of text gives text",
                        receiver.named(path),
                        receiver.name,
                    );
                    let finding = findings
                        .error(Code::WrongReferenceType, node.place, message)
                        .help("a reference that stands alone keeps its type");
                    findings.push(finding);
                }
            }
            NodeKind::List(items) => {
                if self.composite(receiver, wanted, &Type::any_list(), node, path, findings) {
                    for (index, item) in items.iter().enumerate() {
                        path.push(PointerSegment::Index(index));
                        self.types(receiver, &wanted.item(index), item, path, findings);
                        path.pop();
                    }
                }
            }
            NodeKind::Object(fields) => {
                if self.composite(receiver, wanted, &Type::any_object(), node, path, findings) {
                    for field in fields {
                        // A field that there must not be is a finding already.
                        let Some(wanted) = wanted.property(&field.key) else {
                            continue;
                        };
                        path.push(PointerSegment::Key(Arc::clone(&field.key)));
                        self.types(receiver, &wanted, &field.value, path, findings);
                        path.pop();
                    }
                }
            }
        }
    }

    /// Whether a list or an object may stand here at all.
    fn composite(
        &self,
        receiver: &Receiver<'_>,
        wanted: &Type,
        given: &Type,
        node: &Node,
        path: &[PointerSegment],
        findings: &mut Findings<'_>,
    ) -> bool {
        if wanted.accepts(given) != Fit::No {
            return true;
        }
        if findings.only_counts(Severity::Error) {
            return false;
        }
        let message = format!(
            "the argument {} of {} takes {wanted}, not {given}",
            receiver.named(path),
            receiver.name
        );
        let finding = findings.error(Code::InvalidLiteral, self.or_step(node), message);
        findings.push(finding);
        false
    }

    /// Where the part of `node` at `path` was written.
    fn inside(
        &self,
        node: &Node,
        path: &[PointerSegment],
        findings: &Findings<'_>,
    ) -> crate::Place {
        if let (NodeKind::Object(fields), Some((PointerSegment::Key(key), rest))) =
            (&node.kind, path.split_first())
            && let Some(field) = fields.iter().find(|field| field.key == *key)
            && field.value.place != crate::Place::NOWHERE
        {
            return self.inside(&field.value, rest, findings);
        }
        findings.inside(self.or_step(node), path)
    }

    fn place(&self) -> crate::Place {
        self.or_step(&self.step.args)
    }

    /// Where `node` was written, or the step where it was not.
    fn or_step(&self, node: &Node) -> crate::Place {
        if node.place == crate::Place::NOWHERE {
            self.step.place
        } else {
            node.place
        }
    }
}
