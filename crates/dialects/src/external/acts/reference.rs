//! References in the values of a call, and the slots that its output goes to: reading both, and writing both.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::plan::{
    Action, Alternative, Form, Keyword, Method, Missing, NodeKind, Output, Read, Reference,
    Segment, SlotKind, SlotPath, Source, Targets, Writes,
};
use planwright_core::{Code, Diagnostic, Place, Plan, SourceText, Step, StepId, Value};

use super::context::word_for;
use super::expression::{self, ActsExpression, ActsExpressionError, Operand, Operator, is_plain};
use crate::document::{DiagnosticSink, Fields, Item, Offsets, nearest, quote};
use crate::lowering::ReferenceSyntax;
use crate::printing::{LossReport, WriteReferences, result_variable};

/// The state of reading the values of a call.
pub(super) struct ActsReader<'a> {
    pub(super) source: &'a mut SourceText,
    pub(super) sink: &'a mut DiagnosticSink,
}

impl ActsReader<'_> {
    /// Reports the problems of the text at `place`.
    fn report(&mut self, place: Place, problems: Vec<ActsExpressionError>) {
        let offsets = Offsets::of(self.source, place);
        for problem in problems {
            let mut diagnostic =
                Diagnostic::error(problem.code, problem.message).help(problem.help);
            if let Some(fix) = problem.fix {
                diagnostic = diagnostic.fix(fix);
            }
            let spot = offsets.place(self.source, place, problem.range);
            self.sink.push(spot, diagnostic);
        }
    }
}

impl ReferenceSyntax for ActsReader<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        if !text.contains(expression::SIGN) {
            return NodeKind::Literal(Arc::clone(text).into());
        }
        let problems = if expression::is_meant(text) {
            match expression::read(text) {
                Ok(expression) => {
                    return NodeKind::Reference(reference(&expression, text.trim(), place));
                }
                Err(problems) => problems,
            }
        } else {
            match expression::unescape(text) {
                Ok(literal) => return NodeKind::Literal(literal.into()),
                Err(range) => vec![inside_of_text(range)],
            }
        };
        self.report(place, problems);
        NodeKind::Literal(Arc::clone(text).into())
    }
}

fn inside_of_text(range: std::ops::Range<usize>) -> ActsExpressionError {
    ActsExpressionError {
        range,
        code: Code::MalformedReference,
        message: "a reference must be the whole text".to_owned(),
        help: "pass it as a whole parameter, or write `††` for a literal `†`".to_owned(),
        fix: None,
    }
}

fn reference(expression: &ActsExpression, text: &str, place: Place) -> Reference {
    let reads = expression.operands.iter().map(read);
    Reference {
        text: text.into(),
        place,
        form: match expression.operator {
            Operator::First => Form::First(reads.map(Alternative::Read).collect()),
            Operator::All => Form::All(reads.collect()),
        },
    }
}

fn read(operand: &Operand) -> Read {
    let path = operand.keys.iter().map(|key| Segment::key(Arc::clone(key)));
    Read::part(Source::Slot(operand.kind), path.collect())
}

/// The name of an output method.
pub(super) fn method_word(method: Method) -> &'static str {
    // The names are those of the system. A method that it lacks must not get the name of another one.
    match method {
        Method::Set => "set",
        Method::Merge => "merge",
        Method::Assign => "assign",
        Method::Push => "push",
        Method::Concat => "concat",
    }
}

/// Reads the slots that the call with `fields` writes.
pub(super) fn writes(fields: &mut Fields<'_>, reader: &mut ActsReader<'_>) -> Option<Writes> {
    let path = fields.optional("_outputPath");
    let method = fields.optional("_outputMethod");
    if let (None, Some(item)) = (path, method) {
        let message = "`_outputMethod` has no effect without `_outputPath`";
        let diagnostic = Diagnostic::warning(Code::ConflictingFields, message);
        let help = "add `_outputPath`, such as `†state.result`";
        reader.sink.push(item.place, diagnostic.help(help));
    }
    let method = method.map_or(Some(Method::Set), |item| method_called(item, reader));
    let item = path?;
    let targets = targets(item, reader);
    Some(Writes {
        targets: targets?,
        method: method?,
        place: item.place,
    })
}

fn method_called(item: &Item, reader: &mut ActsReader<'_>) -> Option<Method> {
    let Some(word) = item.as_text() else {
        reader.sink.push_wrong_type(item, "_outputMethod", "text");
        return None;
    };
    let mut methods = Method::ALL.iter().copied();
    if let Some(method) = methods.find(|method| method_word(*method) == &**word) {
        return Some(method);
    }
    let message = format!("{} is not an output method", quote(word));
    let names = Method::ALL.iter().map(|method| method_word(*method));
    let help = match nearest(word, names.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("write `{}`", names.collect::<Vec<_>>().join("`, `")),
    };
    let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message).help(help);
    reader.sink.push(item.place, diagnostic);
    None
}

fn targets(item: &Item, reader: &mut ActsReader<'_>) -> Option<Targets> {
    let Some(text) = item.as_text() else {
        reader.sink.push_wrong_type(item, "_outputPath", "text");
        return None;
    };
    let expression = match expression::read(text) {
        Ok(expression) => expression,
        Err(problems) => {
            reader.report(item.place, problems);
            return None;
        }
    };
    let inputs = expression
        .operands
        .iter()
        .filter(|operand| operand.kind == SlotKind::Inputs);
    let problems: Vec<ActsExpressionError> = inputs
        .map(|operand| ActsExpressionError {
            range: 0..text.len(),
            code: Code::InvalidFieldValue,
            message: format!(
                "{} is an input, which no call writes",
                quote(&operand.to_string())
            ),
            help: "write to `†state…` or `†data…`".to_owned(),
            fix: None,
        })
        .collect();
    if !problems.is_empty() {
        reader.report(item.place, problems);
        return None;
    }
    let paths: Vec<SlotPath> = expression
        .operands
        .into_iter()
        .map(|operand| SlotPath {
            kind: operand.kind,
            keys: operand.keys,
            place: item.place,
        })
        .collect();
    Some(match expression.operator {
        Operator::First if paths.len() > 1 => Targets::OneOf(paths),
        _ => Targets::All(paths),
    })
}

/// The slot that holds the output of `step`.
#[derive(Debug, Default)]
pub(super) struct OutputSlots {
    slots: HashMap<StepId, SlotPath>,
    /// The targets of the steps that got an additional slot, by position.
    targets: HashMap<usize, Targets>,
}

impl OutputSlots {
    /// Assigns a slot to each step that others refer to: its own slot if no other step writes to it, else a new slot with the
    /// name of the step.
    pub(super) fn of(plan: &Plan, losses: &mut LossReport<'_>) -> Self {
        let mut output_slots = Self::default();
        let referenced = ReferencedSteps::of(plan);
        if referenced.steps.is_empty() {
            return output_slots;
        }
        let mut used = UsedSlots::of(plan, &referenced);
        for (position, step) in plan.steps.iter().enumerate() {
            let Some(place) = referenced.steps.get(step.id.as_str()) else {
                continue;
            };
            if let Some(slot) = used.own_slot(step) {
                output_slots.slots.insert(step.id.clone(), slot.clone());
                continue;
            }
            let Some(mut paths) = extendable_paths(step) else {
                let what = format!(
                    "a reference to {}, which does not simply store its output",
                    quote(step.id.as_str())
                );
                losses.error(*place, &what);
                continue;
            };
            let Some(name) = used.free_name(step.id.as_str()) else {
                let what = format!(
                    "a reference to {} while other steps use the state as a whole",
                    quote(step.id.as_str())
                );
                losses.error(*place, &what);
                continue;
            };
            let slot = SlotPath {
                kind: SlotKind::State,
                keys: vec![name],
                place: step.place,
            };
            paths.push(slot.clone());
            output_slots.slots.insert(step.id.clone(), slot);
            output_slots.targets.insert(position, Targets::All(paths));
        }
        output_slots
    }

    /// The slot that holds the output of `step`.
    fn slot_of(&self, step: &StepId) -> Option<(SlotKind, Vec<Arc<str>>)> {
        let slot = self.slots.get(step)?;
        Some((slot.kind, slot.keys.clone()))
    }

    /// The targets of the step at `position`, if a slot was added to them.
    pub(super) fn targets_of(&self, position: usize) -> Option<&Targets> {
        self.targets.get(&position)
    }
}

/// The writes of `step`, except a variable that only names its result, which no reference of this dialect reads.
pub(super) fn slot_writes(step: &Step) -> Option<&Writes> {
    let says_something =
        |writes: &&Writes| !writes.targets.paths().is_empty() && result_variable(writes).is_none();
    step.writes.as_ref().filter(says_something)
}

/// The paths to which another slot can be added: none, or slots that all receive the unchanged output.
fn extendable_paths(step: &Step) -> Option<Vec<SlotPath>> {
    match slot_writes(step) {
        None => Some(Vec::new()),
        Some(writes) => match &writes.targets {
            Targets::All(paths) if writes.method == Method::Set => Some(paths.clone()),
            Targets::All(_) | Targets::OneOf(_) => None,
        },
    }
}

/// The steps and slots to which a plan refers.
#[derive(Default)]
struct ReferencedSteps {
    /// The place of the first reference to each step.
    steps: HashMap<Arc<str>, Place>,
    /// The slots of the state that are read, by their first key.
    state: HashSet<Arc<str>>,
    whole_state: bool,
}

impl ReferencedSteps {
    fn of(plan: &Plan) -> Self {
        let mut referenced = Self::default();
        for step in &plan.steps {
            step.args
                .each_reference(&mut |reference| referenced.add(reference));
            if let Action::Value(node) = &step.action {
                node.each_reference(&mut |reference| referenced.add(reference));
            }
        }
        if let Output::Value(node) = &plan.output {
            node.each_reference(&mut |reference| referenced.add(reference));
        }
        referenced
    }

    fn add(&mut self, reference: &Reference) {
        for read in reference.reads() {
            match &read.source {
                Source::Step(step) => {
                    self.steps
                        .entry(Arc::clone(step.text()))
                        .or_insert(reference.place);
                }
                Source::Slot(SlotKind::State) => match read.path.first() {
                    Some(Segment::Key(key)) => {
                        self.state.insert(Arc::clone(key));
                    }
                    Some(Segment::Index(_) | Segment::Each) | None => self.whole_state = true,
                },
                Source::Slot(SlotKind::Inputs | SlotKind::Vars | SlotKind::Data)
                | Source::Result(_)
                | Source::Item
                | Source::Index
                | Source::Last
                | Source::ExternalValue(..) => {}
            }
        }
    }
}

/// The slots that are in use.
struct UsedSlots {
    state: HashSet<Arc<str>>,
    whole_state: bool,
    /// The number of steps that write slots of each kind, by the first key; without a key, the whole kind.
    writers: HashMap<(SlotKind, Option<Arc<str>>), usize>,
    /// The number for the next slot of the same name: an invalid plan may have steps that share an id.
    numbers: HashMap<String, usize>,
}

impl UsedSlots {
    fn of(plan: &Plan, referenced: &ReferencedSteps) -> Self {
        let mut used = Self {
            state: referenced.state.clone(),
            whole_state: referenced.whole_state,
            writers: HashMap::new(),
            numbers: HashMap::new(),
        };
        for content in &plan.contents {
            if let (SlotKind::State, Some(fields)) = (content.kind, content.value.as_object()) {
                used.state.extend(fields.keys().cloned());
            }
        }
        let writes = plan.steps.iter().filter_map(|step| step.writes.as_ref());
        for path in writes.flat_map(|writes| writes.targets.paths()) {
            let first = path.keys.first().cloned();
            if path.kind == SlotKind::State {
                match &first {
                    Some(key) => {
                        used.state.insert(Arc::clone(key));
                    }
                    None => used.whole_state = true,
                }
            }
            *used.writers.entry((path.kind, first)).or_default() += 1;
        }
        used
    }

    /// The slot that only `step` writes, with its unchanged output.
    fn own_slot<'s>(&self, step: &'s Step) -> Option<&'s SlotPath> {
        let writes = step.writes.as_ref()?;
        let (Targets::All(paths), Method::Set) = (&writes.targets, writes.method) else {
            return None;
        };
        paths.iter().find(|path| {
            let first = path.keys.first().cloned();
            matches!(path.kind, SlotKind::State | SlotKind::Data)
                && first.is_some()
                && !self.writers.contains_key(&(path.kind, None))
                && self.writers.get(&(path.kind, first)) == Some(&1)
        })
    }

    /// A new slot of the state that is named after `id`; characters that a name cannot contain are replaced.
    fn free_name(&mut self, id: &str) -> Option<Arc<str>> {
        // A read or write of the whole state would include the new slot.
        if self.whole_state {
            return None;
        }
        let written = |c: char| {
            if is_plain(c.encode_utf8(&mut [0; 4])) {
                c
            } else {
                '_'
            }
        };
        let plain: String = id.chars().map(written).collect();
        // A number would be the index of a list.
        let plain = if plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty() {
            format!("step_{plain}")
        } else {
            plain
        };
        let mut name: Arc<str> = plain.as_str().into();
        if self.state.contains(&name) {
            let number = self.numbers.entry(plain.clone()).or_insert(2);
            while self.state.contains(&name) {
                name = format!("{plain}_{number}").into();
                *number += 1;
            }
        }
        self.state.insert(Arc::clone(&name));
        Some(name)
    }
}

/// A writer of values with references.
pub(super) struct ActsWriter<'a> {
    pub(super) output_slots: &'a OutputSlots,
}

impl WriteReferences for ActsWriter<'_> {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        let (operator, reads): (Operator, Vec<Option<&Read>>) = match &reference.form {
            Form::All(reads) => (Operator::All, reads.iter().map(Some).collect()),
            Form::First(alternatives) => (
                Operator::First,
                alternatives.iter().map(plain_read).collect(),
            ),
        };
        // Only plain reads have a form in this dialect.
        if reads.contains(&None) || reads.is_empty() {
            let what = format!("the expression {}", quote(&reference.text));
            losses.error(reference.place, &what);
            return Value::Null;
        }
        let operands = reads
            .into_iter()
            .flatten()
            .filter_map(|read| self.operand(read, reference, losses))
            .collect();
        ActsExpression { operator, operands }.to_string().into()
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        losses.error(reference.place, "a reference inside of a text");
        String::new()
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        expression::escape(text)
    }
}

impl ActsWriter<'_> {
    fn operand(
        &self,
        read: &Read,
        reference: &Reference,
        losses: &mut LossReport<'_>,
    ) -> Option<Operand> {
        // In this dialect, a step that reads a missing value is skipped.
        let to_step = matches!(read.source, Source::Step(_));
        match read.missing {
            _ if read.path.is_empty() => {}
            Missing::Fail if !to_step => {}
            Missing::Fail => losses.warning(reference.place, "that a missing value fails the step"),
            Missing::Null | Missing::NullInItems => {
                losses.warning(reference.place, "that a missing value gives `null`");
            }
        }
        let (kind, mut keys) = match &read.source {
            Source::Slot(kind) if word_for(*kind).is_some() => (*kind, Vec::new()),
            Source::Step(step) => self.output_slots.slot_of(step)?,
            Source::Slot(_)
            | Source::Result(_)
            | Source::Item
            | Source::Index
            | Source::Last
            | Source::ExternalValue(..) => {
                let what = format!("the reference {}", quote(&reference.text));
                losses.error(reference.place, &what);
                return None;
            }
        };
        for segment in &read.path {
            keys.push(key(segment, reference.place, losses)?);
        }
        Some(Operand { kind, keys })
    }
}

fn key(segment: &Segment, place: Place, losses: &mut LossReport<'_>) -> Option<Arc<str>> {
    match segment {
        Segment::Key(key) => Some(Arc::clone(key)),
        Segment::Index(index) => Some(index.to_string().into()),
        Segment::Each => {
            losses.error(place, "a path that maps over a list");
            None
        }
    }
}

fn plain_read(alternative: &Alternative) -> Option<&Read> {
    match alternative {
        Alternative::Read(read) => Some(read),
        Alternative::Literal(_) | Alternative::Expression(_) => None,
    }
}

/// The slot at `path` as an operand of an output path.
pub(super) fn slot_operand(path: &SlotPath, losses: &mut LossReport<'_>) -> Option<Operand> {
    if !matches!(path.kind, SlotKind::State | SlotKind::Data) {
        let what = format!("that a step writes {}", quote(&path.to_string()));
        losses.error(path.place, &what);
        return None;
    }
    Some(Operand {
        kind: path.kind,
        keys: path.keys.clone(),
    })
}
