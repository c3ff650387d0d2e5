//! Images, audio and resources that steps have returned: separate blocks of an answer, and resources of the run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright::media::Media;
use planwright_core::check::CheckedPlan;
use planwright_core::plan::{
    Action, Alternative, Form, Output, Plan, Read, Reference, Source, Step,
};
use planwright_core::{Object, Value};
use planwright_engine::RunId;
use planwright_engine::RunSummary;
use planwright_engine::run::StepSummary;

/// The largest size of all blocks in one response, in bytes of JSON. Further blocks are linked.
const MAX_ATTACHED_BYTES: usize = 4 << 20;

/// Returns the address of a run's output.
pub(crate) fn output_address(run: &RunId) -> String {
    format!("planwright://runs/{run}/output")
}

/// Returns the address of the result of a step.
pub(crate) fn step_address(run: &RunId, step: &str) -> String {
    format!("planwright://runs/{run}/steps/{step}")
}

/// Returns the address of a block that a step has returned.
pub(crate) fn content_address(run: &RunId, step: &str, index: usize) -> String {
    format!("{}/content/{index}", step_address(run, step))
}

/// The blocks of one answer.
#[derive(Debug)]
pub(crate) struct Attachments<'a> {
    summary: &'a RunSummary,
    /// The blocks with data, by their data.
    by_data: HashMap<&'a str, AttachedBlock<'a>>,
    seen: HashSet<String>,
    room: usize,
    blocks: Vec<Value>,
    listed: Vec<Value>,
}

/// A block, and the step that has returned it.
#[derive(Clone, Copy, Debug)]
struct AttachedBlock<'a> {
    step: &'a StepSummary,
    index: usize,
    block: &'a Value,
}

impl<'a> Attachments<'a> {
    /// Returns the attachments of the steps that `plan` selects.
    pub(crate) fn of(summary: &'a RunSummary, plan: Option<&CheckedPlan>) -> Self {
        let mut attached = Self {
            summary,
            by_data: HashMap::new(),
            seen: HashSet::new(),
            room: MAX_ATTACHED_BYTES,
            blocks: Vec::new(),
            listed: Vec::new(),
        };
        let mut selected = Vec::new();
        let selection = Selection::of(summary, plan);
        for step in &summary.steps {
            let is_selected = selection.contains(step);
            each_block(step, &mut |attached_block| {
                if let Some(data) = Media::of(attached_block.block).and_then(|media| media.data) {
                    attached.by_data.entry(data).or_insert(attached_block);
                }
                if is_selected {
                    selected.push(attached_block);
                }
            });
        }
        for attached_block in selected {
            attached.attach(attached_block);
        }
        attached
    }

    /// Replaces each image, audio or resource in `value` by its outline and attaches it.
    pub(crate) fn detach(&mut self, value: &Value) -> Value {
        if let Some(media) = Media::binary(value) {
            let mut outline = media.outline();
            let data = media.data.unwrap_or_default();
            match self.by_data.get(data).copied() {
                Some(attached_block) => {
                    let address = self.attach(attached_block);
                    outline.insert("uri".into(), Value::from(address));
                }
                // The block was computed: no step has returned it in this form.
                None if self.seen.insert(data.to_owned()) => {
                    self.listed.push(Value::from(outline.clone()));
                    self.push(value.clone(), None);
                }
                None => {}
            }
            return Value::from(outline);
        }
        match value {
            Value::List(items) if items.iter().any(has_binary) => items
                .iter()
                .map(|item| self.detach(item))
                .collect::<Vec<_>>()
                .into(),
            Value::Object(fields) if fields.values().any(has_binary) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (Arc::clone(name), self.detach(value)));
                Value::from(fields.collect::<Object>())
            }
            other => other.clone(),
        }
    }

    /// Returns the blocks, with their descriptions.
    pub(crate) fn finish(self) -> (Vec<Value>, Vec<Value>) {
        (self.blocks, self.listed)
    }

    /// Attaches a block once and returns its address.
    fn attach(&mut self, attached_block: AttachedBlock<'a>) -> String {
        let at = attached_block.step.at.to_string();
        let address = content_address(&self.summary.run, &at, attached_block.index);
        if self.seen.insert(address.clone()) {
            let media = Media::of(attached_block.block);
            let mut listed = media.map_or_else(Object::default, |media| media.outline());
            listed.insert("step".into(), Value::from(at));
            listed.insert("uri".into(), Value::from(address.as_str()));
            self.listed.push(Value::from(listed));
            self.push(attached_block.block.clone(), Some(&address));
        }
        address
    }

    /// Adds a block, or a link to the resource at `address` if the block is too large.
    fn push(&mut self, block: Value, address: Option<&str>) {
        let size = json_bytes(&block);
        if let Some(room) = self.room.checked_sub(size) {
            self.room = room;
            self.blocks.push(block);
            return;
        }
        let mut link = vec![
            ("type", Value::from("resource_link")),
            (
                "uri",
                address
                    .map_or_else(|| output_address(&self.summary.run), str::to_owned)
                    .into(),
            ),
            ("name", Value::from("content")),
        ];
        let media = Media::of(&block);
        if let Some(kind) = media.and_then(|media| media.mime_type) {
            link.push(("mimeType", Value::from(kind)));
        }
        if let Some(bytes) = media.and_then(|media| media.bytes()) {
            link.push(("size", Value::from(bytes)));
        }
        self.blocks.push(Value::object(link));
    }
}

/// Returns the contents of the resource for a step's result: the value, and each block as a separate resource.
pub(crate) fn contents_of_step(run: &RunId, step: &StepSummary, address: &str) -> Vec<Value> {
    let by_address = step
        .content
        .iter()
        .enumerate()
        .filter_map(|(index, block)| {
            let address = content_address(run, &step.at.to_string(), index);
            Some((Media::of(block)?.data?, address))
        });
    let by_data: HashMap<&str, String> = by_address.collect();
    let value = step
        .output
        .as_ref()
        .map(|value| replace_data(value, &by_data));
    let mut contents = Vec::new();
    contents.extend(value.map(|value| json_contents(address, &value)));
    contents.extend(step.content.iter().enumerate().map(|(index, block)| {
        block_contents(&content_address(run, &step.at.to_string(), index), block)
    }));
    contents
}

/// Returns the block at `address`, as the contents of a resource.
pub(crate) fn contents_at(summary: &RunSummary, address: &str) -> Option<Value> {
    let mut found = None;
    for step in &summary.steps {
        each_block(step, &mut |attached_block| {
            let at = attached_block.step.at.to_string();
            if content_address(&summary.run, &at, attached_block.index) == address {
                found = Some(block_contents(address, attached_block.block));
            }
        });
    }
    found
}

/// Returns a value as the contents of a resource.
pub(crate) fn json_contents(address: &str, value: &Value) -> Value {
    Value::object([
        ("uri", Value::from(address)),
        ("mimeType", Value::from("application/json")),
        ("text", Value::from(value.to_json())),
    ])
}

fn block_contents(address: &str, block: &Value) -> Value {
    let Some(media) = Media::of(block) else {
        return json_contents(address, block);
    };
    let of_resource = block
        .get("resource")
        .and_then(|resource| resource.get("text"));
    let (field, content) = match (media.data, of_resource) {
        (Some(data), _) => ("blob", Value::from(data)),
        (None, Some(text)) => ("text", text.clone()),
        (None, None) => return json_contents(address, block),
    };
    let mut fields = vec![("uri", Value::from(address))];
    fields.extend(media.mime_type.map(|kind| ("mimeType", Value::from(kind))));
    fields.push((field, content));
    Value::object(fields)
}

/// Returns `value` with the data of blocks replaced by their addresses.
fn replace_data(value: &Value, addresses: &HashMap<&str, String>) -> Value {
    let found = Media::binary(value).and_then(|media| Some((media, addresses.get(media.data?)?)));
    match (found, value) {
        (Some((media, address)), _) => {
            let mut outline = media.outline();
            outline.insert("uri".into(), Value::from(address.as_str()));
            Value::from(outline)
        }
        (None, Value::List(items)) => {
            let items = items.iter().map(|item| replace_data(item, addresses));
            items.collect::<Vec<_>>().into()
        }
        (None, other) => other.clone(),
    }
}

/// Returns true if `value` contains binary media.
fn has_binary(value: &Value) -> bool {
    if Media::binary(value).is_some() {
        return true;
    }
    match value {
        Value::List(items) => items.iter().any(has_binary),
        Value::Object(fields) => fields.values().any(has_binary),
        _ => false,
    }
}

fn each_block<'a>(step: &'a StepSummary, visit: &mut dyn FnMut(AttachedBlock<'a>)) {
    for (index, block) in step.content.iter().enumerate() {
        visit(AttachedBlock { step, index, block });
    }
    for part in &step.parts {
        each_block(part, visit);
    }
}

/// Returns the steps whose blocks are attached to the answer about a run.
pub(crate) fn steps_with_blocks<'a>(
    summary: &'a RunSummary,
    plan: Option<&'a CheckedPlan>,
) -> impl Iterator<Item = &'a StepSummary> {
    fn has_blocks(step: &StepSummary) -> bool {
        !step.content.is_empty() || step.parts.iter().any(has_blocks)
    }
    let mut with_blocks = summary
        .steps
        .iter()
        .filter(|step| has_blocks(step))
        .peekable();
    // Most runs have none.
    let is_needed = with_blocks.peek().is_some();
    let selection = is_needed.then(|| Selection::of(summary, plan));
    with_blocks.filter(move |step| {
        let selection = selection.as_ref();
        selection.is_some_and(|selection| selection.contains(step))
    })
}

/// The steps whose content belongs to the output.
struct Selection<'a> {
    output: &'a Value,
    /// The selected steps; `None` if the plan is not known.
    steps: Option<HashSet<&'a str>>,
}

impl<'a> Selection<'a> {
    fn of(summary: &'a RunSummary, plan: Option<&'a CheckedPlan>) -> Self {
        Self {
            output: &summary.output,
            steps: plan.map(|plan| selection(plan.plan())),
        }
    }

    fn contains(&self, step: &StepSummary) -> bool {
        let id = step.at.step.text();
        match &self.steps {
            Some(steps) => steps.contains(&**id),
            None => self.output.get(id).is_some(),
        }
    }
}

/// Returns the steps whose content belongs to the output: those selected, and those that a selected value copies as a whole.
fn selection(plan: &Plan) -> HashSet<&str> {
    let mut found: HashSet<&str> = HashSet::new();
    match &plan.output {
        Output::All => found.extend(plan.steps.iter().map(|step| &**step.id.text())),
        Output::Steps(names) => found.extend(names.iter().map(|name| &*name.text)),
        Output::Value(node) => node.each_reference(&mut |reference| {
            found.extend(reference.reads().into_iter().filter_map(step_of));
        }),
    }
    // A copy may itself be copied by a later or an earlier step.
    let mut values: Vec<&Step> = plan.steps.iter().collect();
    while let Some(at) = values
        .iter()
        .position(|step| found.contains(&**step.id.text()))
    {
        if let Action::Value(node) = &values.swap_remove(at).action {
            node.each_reference(&mut |reference| {
                let copied = copies(reference).filter(|read| read.path.is_empty());
                found.extend(copied.filter_map(step_of));
            });
        }
    }
    found
}

fn step_of(read: &Read) -> Option<&str> {
    match &read.source {
        Source::Step(step) | Source::Result(step) => Some(step.text()),
        Source::Slot(_)
        | Source::Item
        | Source::Index
        | Source::Last
        | Source::ExternalValue(..) => None,
    }
}

/// Returns the reads of a reference outside of expressions, which compute other values.
fn copies(reference: &Reference) -> impl Iterator<Item = &Read> {
    let (all, alternatives) = match &reference.form {
        Form::All(reads) => (&reads[..], &[][..]),
        Form::First(alternatives) => (&[][..], &alternatives[..]),
    };
    all.iter().chain(alternatives.iter().filter_map(read_of))
}

fn read_of(alternative: &Alternative) -> Option<&Read> {
    match alternative {
        Alternative::Read(read) => Some(read),
        Alternative::Literal(_) | Alternative::Expression(_) => None,
    }
}

/// Returns the size of a value as JSON, in bytes.
pub(crate) fn json_bytes(value: &Value) -> usize {
    let size = value.json_size(usize::MAX);
    size.map_or(usize::MAX, |size| {
        usize::try_from(size.bytes).unwrap_or(usize::MAX)
    })
}
