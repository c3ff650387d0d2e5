//! Conversion of any plan to one that may be sound: invalid references are removed, the rest stays odd.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use planwright_core::check::{CheckContext, check};
use planwright_core::plan::{
    Action, Name, Node, NodeKind, OnError, Output, PlanTarget, RETRY_FIELDS, Read, Reference,
    Segment, Sharing, SlotKind, Source, Step, TextPart, Undo,
};
use planwright_core::{Catalog, Lookup, Place, Plan, PlanDigest, Tool, Value};

/// The digest of `plan`, if it is sound for some catalog. All parameters may be shared.
pub(super) fn digest(plan: &Plan) -> Option<PlanDigest> {
    let mut plan = plan.clone();
    let mut catalog = Catalog::new();
    open(&mut plan, &mut catalog);
    let (checked, _) = check(plan, &CheckContext::new(&catalog));
    checked.map(|checked| checked.digest().to_owned())
}

fn open(plan: &mut Plan, catalog: &mut Catalog) {
    plan.sharing = Sharing::Open;
    for step in &mut plan.steps {
        match &mut step.action {
            Action::Tool(name) if matches!(catalog.find(&name.text), Lookup::Unknown) => {
                let (server, tool) = name.text.split_once('.').unwrap_or(("server", &name.text));
                catalog.add(Tool::new(server, tool));
            }
            Action::Plan(call) => {
                if let PlanTarget::Inline(inner) = &mut call.target {
                    open(inner, catalog);
                }
            }
            _ => {}
        }
    }
}

/// `plan` with only some of its features, since other dialects support few of them. `seed` decides which.
pub(super) fn thinned(plan: &Plan, seed: u64) -> Plan {
    let mut rest = seed | 1;
    let mut removes = || {
        rest ^= rest << 13;
        rest ^= rest >> 7;
        rest ^= rest << 17;
        !rest.is_multiple_of(if seed.is_multiple_of(4) { 2 } else { 24 })
    };
    let usual = Plan::default();
    let mut plan = plan.clone();
    for text in [&mut plan.name, &mut plan.title, &mut plan.description] {
        *text = text.take().filter(|_| !removes());
    }
    plan.inputs.retain(|_| !removes());
    plan.contents.retain(|_| !removes());
    plan.slot_schemas.retain(|_| !removes());
    plan.instances.retain(|_| !removes());
    if removes() {
        plan.output = usual.output;
    }
    if removes() {
        plan.mode = usual.mode;
    }
    if removes() {
        plan.metadata = usual.metadata;
    }
    for step in &mut plan.steps {
        thin_step(step, &mut removes);
    }
    plan
}

fn thin_step(step: &mut Step, removes: &mut dyn FnMut() -> bool) {
    let name = Name {
        text: "server.tool".into(),
        place: Place::NOWHERE,
    };
    let usual = Step::new(step.id.clone(), Action::Tool(name), Node::default());
    if removes() {
        step.action = usual.action;
    }
    for text in [&mut step.title, &mut step.note, &mut step.instance] {
        *text = text.take().filter(|_| !removes());
    }
    step.after.retain(|_| !removes());
    step.when = step.when.take().filter(|_| !removes());
    step.for_each = step.for_each.take().filter(|_| !removes());
    step.repeat = step.repeat.take().filter(|_| !removes());
    step.writes = step.writes.take().filter(|_| !removes());
    step.retry = step.retry.take().filter(|_| !removes());
    step.timeout = step.timeout.take().filter(|_| !removes());
    if removes() {
        step.on_error = usual.on_error;
    }
    if removes() {
        step.approval = usual.approval;
    }
    if removes() {
        step.idempotency = usual.idempotency;
    }
    if removes() {
        step.concurrency = usual.concurrency;
    }
}

/// `plan` without what the checks would certainly refuse.
pub(super) fn made_sound(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for input in &mut plan.inputs {
        let usual = || Value::from("a");
        if !input.schema.is_null() {
            input.default = Some(usual());
        }
        input.default.get_or_insert_with(usual);
    }
    let mut known = HashSet::new();
    plan.instances
        .retain(|name| !name.trim().is_empty() && known.insert(Arc::clone(name)));
    for content in &mut plan.contents {
        content.instance = content.instance.take().filter(|name| known.contains(name));
    }
    let inputs: HashSet<Arc<str>> = plan
        .inputs
        .iter()
        .map(|input| Arc::clone(&input.name))
        .collect();
    let mut scope = Scope {
        earlier: HashSet::new(),
        inputs,
        in_items: false,
        in_rounds: false,
    };
    let steps = std::mem::take(&mut plan.steps);
    for mut step in steps {
        let id = Arc::clone(step.id.text());
        if !scope.earlier.contains(&id) {
            step.instance = step.instance.take().filter(|name| known.contains(name));
            fix_step(&mut step, &mut scope);
            plan.steps.push(step);
            scope.earlier.insert(id);
        }
    }
    (scope.in_items, scope.in_rounds) = (false, false);
    match &mut plan.output {
        Output::All => {}
        Output::Steps(names) => retain_known(names, &scope.earlier),
        Output::Value(node) => scope.fix(node, &Value::Null),
    }
    plan
}

fn retain_known(names: &mut Vec<Name>, known: &HashSet<Arc<str>>) {
    let mut seen = HashSet::new();
    names.retain(|name| known.contains(&name.text) && seen.insert(Arc::clone(&name.text)));
}

fn fix_step(step: &mut Step, scope: &mut Scope) {
    retain_known(&mut step.after, &scope.earlier);
    step.positional.clear();
    (scope.in_items, scope.in_rounds) = (false, false);
    if let Some(for_each) = &mut step.for_each {
        scope.fix(&mut for_each.over, &Vec::new().into());
    }
    if let Some(when) = &mut step.when {
        scope.fix(when, &true.into());
    }
    (scope.in_items, scope.in_rounds) = (step.for_each.is_some(), step.repeat.is_some());
    scope.fix(&mut step.args, &Value::empty_object());
    if let Some(repeat) = &mut step.repeat {
        scope.fix(&mut repeat.until, &true.into());
        repeat.max = few(repeat.max);
    }
    if let OnError::Output(node) = &mut step.on_error {
        scope.fix(node, &Value::Null);
    }
    if let Some(retry) = &mut step.retry {
        *retry = retry.with(&RETRY_FIELDS[0], |policy| {
            policy.attempts = few(policy.attempts);
        });
    }
    match &mut step.action {
        Action::Tool(_) => {}
        Action::Value(node) => scope.fix(node, &Value::Null),
        Action::Plan(call) => match &mut call.target {
            // There is no library here.
            PlanTarget::Named(name) => step.action = Action::Tool(name.clone()),
            PlanTarget::Inline(inner) => {
                **inner = made_sound(inner);
                step.args = Node::literal(Value::empty_object(), Place::NOWHERE);
            }
        },
    }
    step.undo = step.tool().cloned().zip(step.undo.take()).map(|(tool, _)| {
        let args = Node::literal(Value::empty_object(), Place::NOWHERE);
        Box::new(Undo { tool, args })
    });
}

fn few(count: NonZeroU32) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(count.get() % 4)
}

/// The names to which a step may refer.
struct Scope {
    earlier: HashSet<Arc<str>>,
    inputs: HashSet<Arc<str>>,
    in_items: bool,
    in_rounds: bool,
}

impl Scope {
    /// Replaces a node with an invalid reference by `instead`.
    fn fix(&self, node: &mut Node, instead: &Value) {
        let is_sound = match &mut node.kind {
            NodeKind::Literal(_) => true,
            NodeKind::Reference(reference) => self.knows(reference),
            NodeKind::Text(parts) => parts.iter().all(|part| match part {
                TextPart::Literal(_) => true,
                TextPart::Reference(reference) => self.knows(reference),
            }),
            NodeKind::List(items) => {
                for item in &mut *items {
                    self.fix(item, &Value::Null);
                }
                *node = Node::list(std::mem::take(items), node.place);
                true
            }
            NodeKind::Object(fields) => {
                for field in &mut *fields {
                    self.fix(&mut field.value, &Value::Null);
                }
                *node = Node::object(std::mem::take(fields), node.place);
                true
            }
        };
        if !is_sound {
            *node = Node::literal(instead.clone(), node.place);
        }
    }

    fn knows(&self, reference: &Reference) -> bool {
        reference
            .reads()
            .into_iter()
            .all(|read| self.can_read(read))
    }

    fn can_read(&self, read: &Read) -> bool {
        match &read.source {
            Source::Step(id) | Source::Result(id) => self.earlier.contains(id.text()),
            Source::Slot(SlotKind::Inputs) => match read.path.first() {
                Some(Segment::Key(name)) => self.inputs.contains(name),
                _ => false,
            },
            Source::Slot(_) => true,
            Source::Item => self.in_items,
            Source::Index => self.in_items || self.in_rounds,
            Source::Last => self.in_rounds,
            Source::ExternalValue(..) => false,
        }
    }
}
