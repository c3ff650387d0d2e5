//! The dialect: recognises and lowers a native plan.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::expression::PatternBudget;
use planwright_core::plan::{Action, Input, InputKind, Keyword, Name, Output, PlanTarget, Step};
use planwright_core::{
    Code, Diagnostic, Diagnostics, Place, Plan, SourceText, Sources, TextEdit, Value,
};

use super::bare_names;
use super::guesses;
use super::keywords::{self, REFERENCE_ROOTS, all};
use super::print;
use super::reference::{NativeTemplates, plain};
use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{
    DiagnosticSink, Document, Fields, Item, ItemEntry, ItemKind, nearest, quote, with_article,
};
use crate::foreign_references;
use crate::lowering::lower;

/// Planwright's own dialect.
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// Fields of a plan that no other dialect has.
const OWN_PLAN_FIELDS: &[&str] = &[
    "inputs",
    "vars",
    "slots",
    "slot_schemas",
    "instances",
    "output",
    "ordering",
    "on_failure",
    "sharing",
    "mode",
];

/// Fields of a step that no other dialect has.
const OWN_STEP_FIELDS: &[&str] = &[
    "plan",
    "value",
    "extract",
    "positional",
    "after",
    "when",
    "for_each",
    "max_parallel",
    "as",
    "with_item",
    "repeat",
    "writes",
    "on_error",
    "retry",
    "approval",
    "idempotent",
    "alone",
    "scopes",
    "undo",
];

/// Fields of a step that this dialect does not have, but another one does.
const FOREIGN_STEP_FIELDS: &[&str] = &[
    "index",
    "params",
    "arguments",
    "tool_calls",
    "parallel",
    "optional",
    "retry_count",
];

impl Dialect for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn shape(&self) -> &'static str {
        "`{\"steps\": [{\"id\", \"tool\", \"args\"}], \"inputs\", \"output\"}` with `${step.field}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return MatchConfidence::No;
        };
        let has_any = |item: &Item, names: &[&str]| names.iter().any(|name| item.has(name));
        // `${…}` in arguments also occurs in mcp-cli plans, so it only counts together with an id and without foreign
        // fields.
        let is_own = |step: &Item| {
            has_any(step, OWN_STEP_FIELDS)
                || (step.has("id")
                    && step
                        .get("args")
                        .is_some_and(|args| contains_item(args, &has_marker)))
        };
        // The fields of the plan come first: a plan may have thousands of steps.
        if has_any(&document.root, OWN_PLAN_FIELDS)
            || steps.iter().any(|step| has_any(step, OWN_STEP_FIELDS))
        {
            return MatchConfidence::Certain;
        }
        let foreign = has_any(&document.root, &["output_steps", "variables"])
            || steps.iter().any(|step| {
                has_any(step, FOREIGN_STEP_FIELDS)
                    || step
                        .get("args")
                        .is_some_and(|args| contains_item(args, &is_foreign))
            });
        if !foreign && steps.iter().any(is_own) {
            return MatchConfidence::Certain;
        }
        if !foreign && steps.iter().all(|step| step.has("id") && step.has("tool")) {
            return MatchConfidence::Possible;
        }
        MatchConfidence::No
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}

/// Returns true if `predicate` holds for `item` or for any value inside of it.
fn contains_item(item: &Item, predicate: &dyn Fn(&Item) -> bool) -> bool {
    predicate(item)
        || match &item.kind {
            ItemKind::List(items) => items.iter().any(|item| contains_item(item, predicate)),
            ItemKind::Object(entries) => entries
                .iter()
                .any(|ItemEntry { item, .. }| contains_item(item, predicate)),
            _ => false,
        }
}

fn has_marker(item: &Item) -> bool {
    item.as_text().is_some_and(|text| text.contains("${"))
}

/// Returns true if `item` is a reference that another dialect writes as an object.
fn is_foreign(item: &Item) -> bool {
    item.has("output_by_reference")
}

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let mut sink = DiagnosticSink::new();
    let mut source = document.source;
    let mut root = document.root;
    guesses::rewrite(&mut root, &mut source, &mut sink, document.limits);
    let mut reader = NativeReader {
        source: &mut source,
        sink: &mut sink,
        patterns: PatternBudget::default(),
        item_name: None,
    };
    let plan = reader.plan(&root);
    let diagnostics = sink.finish(&source);
    let sources = Sources::one(source);
    let plan = plan.map(|mut plan| {
        share_sources(&mut plan, &sources);
        plan
    });
    (plan, diagnostics)
}

/// Shares the sources with the plans inside of the plan.
fn share_sources(plan: &mut Plan, sources: &Sources) {
    plan.sources = sources.clone();
    for step in &mut plan.steps {
        if let Action::Plan(call) = &mut step.action
            && let PlanTarget::Inline(inner) = &mut call.target
        {
            share_sources(inner, sources);
        }
    }
}

/// The state of reading a native plan.
pub(super) struct NativeReader<'a> {
    pub(super) source: &'a mut SourceText,
    pub(super) sink: &'a mut DiagnosticSink,
    /// The budget for compiling patterns that are known while reading.
    pub(super) patterns: PatternBudget,
    /// The name of the item of the loop of the step that is read.
    pub(super) item_name: Option<Arc<str>>,
}

impl NativeReader<'_> {
    pub(super) fn templates(&mut self) -> NativeTemplates<'_> {
        NativeTemplates {
            source: self.source,
            sink: self.sink,
            patterns: &mut self.patterns,
            item_name: self.item_name.as_deref(),
        }
    }

    pub(super) fn report(&mut self, place: Place, code: Code, message: &str, help: &str) {
        let diagnostic = Diagnostic::error(code, message);
        self.sink.push(place, diagnostic.help(help));
    }

    pub(super) fn plan(&mut self, root: &Item) -> Option<Plan> {
        // An inner plan sees its inputs only.
        let around = self.item_name.take();
        let plan = self.plan_alone(root);
        self.item_name = around;
        plan
    }

    fn plan_alone(&mut self, root: &Item) -> Option<Plan> {
        let mut fields = Fields::of(root, "the plan", self.sink)?;
        let mut plan = Plan {
            name: fields.text("name", self.sink).map(Arc::clone),
            title: fields.text("title", self.sink).map(Arc::clone),
            description: fields.text("description", self.sink).map(Arc::clone),
            inputs: self.inputs(&mut fields),
            ordering: choice(&mut fields, "ordering", self.sink),
            on_failure: choice(&mut fields, "on_failure", self.sink),
            sharing: choice(&mut fields, "sharing", self.sink),
            mode: choice(&mut fields, "mode", self.sink),
            metadata: fields
                .optional("metadata")
                .map(Item::to_value)
                .unwrap_or_default(),
            place: root.place,
            ..Plan::default()
        };
        if let Some(slots) = fields.optional("slots") {
            plan.contents = self.contents(slots);
        }
        if let Some(schemas) = fields.optional("slot_schemas") {
            plan.slot_schemas = self.slot_schemas(schemas);
        }
        plan.instances = names(&mut fields, "instances", self.sink)
            .into_iter()
            .map(|name| name.text)
            .collect();
        let output = fields.optional("output");
        if let Some(output) = output {
            plan.output = self.output(output);
        }
        let items = fields.required_list("steps", self.sink);
        fields.finish(self.sink);
        // All other fields are read before, so that their problems are reported even without steps.
        let items = items?;
        plan.steps.reserve_exact(items.len());
        let replaced = foreign_references::check(items, output, &plan.inputs, self.sink);
        let meant = replaced.as_deref().unwrap_or(items);
        plan.steps
            .extend(meant.iter().filter_map(|item| self.step(item)));
        foreign_references::warn_of_order(items, &plan, self.sink);
        if let Some(output) = output {
            self.warn_about_name(output, &plan.steps);
        }
        bare_names::warn(items, output, &plan, self.source, self.sink);
        // If no step could be read, an empty plan would hide that.
        (!plan.steps.is_empty() || items.is_empty()).then_some(plan)
    }

    /// Warns about an output that equals the id of a step, but is only a text.
    fn warn_about_name(&mut self, output: &Item, steps: &[Step]) {
        let Some(text) = output.as_text() else {
            return;
        };
        let span = self.source.span(output.place).unwrap_or_default();
        let written = self.source.text().get(span.start..span.end);
        // A word without quotes was reported before.
        let is_quoted = written.is_some_and(|written| written.starts_with(['"', '\'']));
        if is_quoted && steps.iter().any(|step| step.id.text() == text) {
            let message = format!(
                "the output is the text {}, and not that of the step",
                quote(text)
            );
            let help = format!("write `[\"{text}\"]`, or `\"${{{text}}}\"`");
            let diagnostic = Diagnostic::warning(Code::MalformedReference, message);
            self.sink.push(output.place, diagnostic.help(help));
        }
    }

    fn inputs(&mut self, fields: &mut Fields<'_>) -> Vec<Input> {
        let mut inputs = Vec::new();
        let declared = fields.object("inputs", self.sink);
        for entry in declared.and_then(Item::as_object).unwrap_or_default() {
            inputs.push(self.input(&entry.key, &entry.item));
        }
        let variables = fields.object("vars", self.sink);
        let variables = variables.and_then(Item::as_object).unwrap_or_default();
        inputs.extend(variables.iter().map(|entry| Input {
            name: Arc::clone(&entry.key),
            kind: InputKind::Variable,
            schema: Value::Null,
            default: Some(entry.item.to_value()),
            place: entry.item.place,
        }));
        inputs
    }

    fn input(&mut self, name: &Arc<str>, item: &Item) -> Input {
        let mut input = Input {
            name: Arc::clone(name),
            kind: InputKind::Input,
            schema: Value::Null,
            default: None,
            place: item.place,
        };
        let entries = match &item.kind {
            ItemKind::Object(entries) => entries,
            ItemKind::Null | ItemKind::Bool(true) => return input,
            ItemKind::Bool(false) => {
                input.schema = false.into();
                return input;
            }
            _ => {
                let found = with_article(item.kind_word());
                let message = format!("expected a JSON Schema in `inputs`, found {found}");
                let value = item.to_value();
                let written = quote(&value.to_json());
                let written = written.trim_matches('`');
                let help = format!("write `{{\"default\": {written}}}` for a value");
                // Several words may be a description as well, and those of a name are capitalized.
                let is_value = !value.as_text().is_some_and(|text| {
                    let is_of_name = |word: &str| !word.starts_with(char::is_lowercase);
                    text.contains(' ') && !text.split(' ').all(is_of_name)
                });
                let span = self.source.span(item.place).filter(|_| is_value);
                let edit = span.map(|span| {
                    TextEdit::new(
                        span.start..span.end,
                        format!("{{\"default\": {}}}", value.to_json()),
                    )
                });
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                let diagnostic = diagnostic.help(help).fixes(edit);
                self.sink.push(item.place, diagnostic);
                // It is read as a default, so that references to it are not reported.
                input.default = Some(value);
                return input;
            }
        };
        // `default` and `x-variable` belong to the input, all other fields to its schema.
        let mut schema = planwright_core::Object::default();
        for entry in entries {
            match &*entry.key {
                "default" => input.default = Some(entry.item.to_value()),
                "x-variable" => match entry.item.kind {
                    ItemKind::Bool(true) => input.kind = InputKind::Variable,
                    ItemKind::Bool(false) => {}
                    _ => self
                        .sink
                        .push_wrong_type(&entry.item, "x-variable", "true or false"),
                },
                _ => {
                    schema.insert(Arc::clone(&entry.key), entry.item.to_value());
                }
            }
        }
        if !schema.is_empty() {
            input.schema = schema.into();
        }
        input
    }

    /// Reads the output: a list of plain texts is a list of step ids; `{"value": …}` is the value, even if it looks
    /// like such a list.
    fn output(&mut self, item: &Item) -> Output {
        if let Some([only]) = item.as_object()
            && &*only.key == "value"
        {
            return Output::Value(lower(&only.item, &mut self.templates()));
        }
        let ids: Option<Vec<Name>> = item.as_list().and_then(|items| {
            items
                .iter()
                .map(|item| {
                    Some(Name {
                        text: plain(item.as_text()?)?.into(),
                        place: item.place,
                    })
                })
                .collect()
        });
        match ids {
            Some(ids) => Output::Steps(ids),
            None => Output::Value(lower(item, &mut self.templates())),
        }
    }
}

/// Warns if the step's id has a meaning in references.
pub(super) fn warn_about_reserved_id(step: &Step, place: Place, sink: &mut DiagnosticSink) {
    let id = step.id.as_str();
    if REFERENCE_ROOTS.contains(&id) {
        let message = format!("a step is called `{id}`, which means something else in references");
        let help = format!(
            "call it something else, or write `${{steps['{id}']}}` in references; a list of ids names it `{id}`"
        );
        let diagnostic = Diagnostic::warning(Code::InvalidId, message);
        sink.push(place, diagnostic.help(help));
    }
}

/// The choice in `name`; the default if it is absent or invalid.
pub(super) fn choice<T: Keyword + Default>(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut DiagnosticSink,
) -> T {
    let Some(item) = fields.optional(name) else {
        return T::default();
    };
    let Some(word) = item.as_text() else {
        sink.push_wrong_type(item, name, "text");
        return T::default();
    };
    T::from_word(word).unwrap_or_else(|| {
        wrong_word(item, name, word, &all::<T>().collect::<Vec<_>>(), sink);
        T::default()
    })
}

/// Reports that `word`, in the field `name`, is not one of `known`.
pub(super) fn wrong_word(
    item: &Item,
    name: &str,
    word: &str,
    known: &[&str],
    sink: &mut DiagnosticSink,
) {
    let message = format!("`{name}` cannot be {}", quote(word));
    let help = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write `{}`", known.join("`, `")),
    };
    let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
    sink.push(item.place, diagnostic.help(help));
}

/// The list of texts in `name`, empty if absent.
pub(super) fn names(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut DiagnosticSink,
) -> Vec<Name> {
    let items = fields.list(name, sink).unwrap_or_default();
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        match item.as_text() {
            Some(text) => names.push(Name {
                text: Arc::clone(text),
                place: item.place,
            }),
            None => sink.push_wrong_type(item, name, "a list of texts"),
        }
    }
    names
}

/// The whole number from 1 on in `name`.
pub(super) fn bound(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut DiagnosticSink,
) -> Option<NonZeroU32> {
    let item = fields.optional(name)?;
    bound_of(item, name, sink)
}

/// The whole number from 1 on in `item`.
pub(super) fn bound_of(item: &Item, name: &str, sink: &mut DiagnosticSink) -> Option<NonZeroU32> {
    let ItemKind::Number(number) = &item.kind else {
        sink.push_wrong_type(item, name, "a whole number");
        return None;
    };
    let count = number
        .as_u64()
        .and_then(|count| u32::try_from(count).ok())
        .and_then(NonZeroU32::new);
    if count.is_none() {
        let message = format!(
            "`{name}` must be a whole number from 1 to {}, found `{number}`",
            u32::MAX
        );
        sink.push(
            item.place,
            Diagnostic::error(Code::InvalidFieldValue, message),
        );
    }
    count
}

/// The number without a unit below which the unit is probably seconds.
const SHORT_TIME: Duration = Duration::from_secs(1);

/// The duration in `name`.
pub(super) fn time(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut DiagnosticSink,
) -> Option<Duration> {
    let item = fields.optional(name)?;
    let (found, written) = match &item.kind {
        ItemKind::Text(text) => (keywords::read(text), text.to_string()),
        ItemKind::Number(number) => (
            number.as_f64().and_then(keywords::from_milliseconds),
            number.to_string(),
        ),
        _ => {
            sink.push_wrong_type(item, name, "a duration");
            return None;
        }
    };
    if matches!(item.kind, ItemKind::Number(_))
        && found.is_some_and(|time| !time.is_zero() && time < SHORT_TIME)
    {
        // Many systems count seconds.
        let message = format!("`{name}` is {written} milliseconds");
        let help = format!("write `\"{written}s\"` for seconds, or `\"{written}ms\"`");
        // No call of a server is over so soon, while a delay may be short.
        let diagnostic = match name {
            "timeout" => Diagnostic::warning(Code::InvalidFieldValue, message),
            _ => Diagnostic::note(Code::ReadAs, message),
        };
        sink.push(item.place, diagnostic.help(help));
    }
    if found.is_none() {
        let message = format!("`{name}` cannot be {}", quote(&written));
        let guessed = keywords::guessed_duration(&written);
        let meant = guessed.and_then(keywords::write);
        let help = meant.map_or_else(
            || {
                "write a duration such as `\"250ms\"`, `\"30s\"` or `\"2m\"`, or milliseconds"
                    .to_owned()
            },
            |meant| format!("write `\"{meant}\"`"),
        );
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        sink.push(item.place, diagnostic.help(help));
        // The probable meaning is used, so that no further problem is reported.
        return guessed;
    }
    found
}
