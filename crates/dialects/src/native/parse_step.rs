//! Lowers one step of a native plan, with the slots that it writes; and the initial values and schemas of slots.

use std::num::NonZeroU32;
use std::sync::Arc;

use planwright_core::expression::is_item_name;
use planwright_core::plan::{
    Action, Approval, Concurrency, ForEach, Idempotency, InitialValues, Keyword, Method, Name,
    Node, NodeKind, OnError, PlanCall, PlanTarget, RETRY_FIELDS, Repeat, Retry, RetryAccess,
    RetryField, RetryFieldKind, SlotKind, SlotPath, SlotSchema, Step, Targets, Undo, Writes,
};
use planwright_core::{Code, Diagnostic, EXTRACTION, StepId, Value};

use super::foreign_expression::exact_form;
use super::guesses::{expression_of, is_own_expression, on_error_word, without_markers};
use super::keywords::all;
use super::parse::{
    NativeReader, bound, bound_of, choice, names, time, warn_about_reserved_id, wrong_word,
};
use super::reference::{is_expression, is_readable, read_slot};
use crate::document::{Fields, Item, ItemEntry, ItemKind, quote};
use crate::lowering::{lower, lower_fields, text_or_number};

/// The maximum rounds of a `repeat` without `max`.
const DEFAULT_ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);

impl NativeReader<'_> {
    /// Lowers `item` to a step; `None` if it has no id.
    pub(super) fn step(&mut self, item: &Item) -> Option<Step> {
        let mut fields = Fields::of(item, "the step", self.sink)?;
        let id = fields
            .required("id", self.sink)
            .and_then(|id| text_or_number(id, "id", self.sink));
        let title = fields.text("title", self.sink).map(Arc::clone);
        // The name stands in arguments and conditions, so it is read before them.
        self.item_name = self.loop_item_name(&mut fields);
        let action = self.action(&mut fields);
        let extracted = fields.optional("extract");
        let written = fields.object("args", self.sink);
        let args = match (extracted.and_then(|item| self.extraction(item)), written) {
            (Some(args), _) => args,
            (None, Some(args)) => lower(args, &mut self.templates()),
            (None, None) => Node::literal(Value::empty_object(), item.place),
        };
        let id_place = id.as_ref().map_or(item.place, |id| id.place);
        let text = id.as_ref().map(|id| Arc::clone(&id.text));
        let mut step = Step::new(StepId::new(text.unwrap_or_default()), action, args);
        step.place = item.place;
        step.title = title;
        let positional = fields.list("positional", self.sink).unwrap_or_default();
        step.positional = positional
            .iter()
            .map(|item| lower(item, &mut self.templates()))
            .collect();
        if extracted.is_some() && (written.is_some() || !step.positional.is_empty()) {
            self.report(
                item.place,
                Code::ConflictingFields,
                "the step has `extract` and arguments",
                "write what it needs inside of `extract`",
            );
        }
        step.after = names(&mut fields, "after", self.sink);
        if let Some(when) = fields.optional("when") {
            step.when = self.condition(when, "when");
        }
        step.for_each = self.for_each(&mut fields);
        if let Some(repeat) = fields.optional("repeat") {
            step.repeat = self.repeat(repeat);
        }
        if let Some(writes) = fields.optional("writes") {
            step.writes = self.writes(writes);
        }
        if let Some(on_error) = fields.optional("on_error") {
            step.on_error = self.on_error(on_error);
        }
        if let Some(retry) = fields.optional("retry") {
            step.retry = self.retry(retry);
        }
        step.timeout = time(&mut fields, "timeout", self.sink);
        if fields.boolean("approval", self.sink) == Some(true) {
            step.approval = Approval::Ask;
        }
        if fields.boolean("idempotent", self.sink) == Some(true) {
            step.idempotency = Idempotency::Idempotent;
        }
        if fields.boolean("alone", self.sink) == Some(true) {
            step.concurrency = Concurrency::Alone;
        }
        step.instance = fields.text("instance", self.sink).map(Arc::clone);
        step.note = fields.text("note", self.sink).map(Arc::clone);
        self.item_name = None;
        if let Some(undo) = fields.optional("undo") {
            step.undo = self.undo(undo).map(Box::new);
        }
        fields.finish(self.sink);
        // A missing id ends the step only here, so that the problems of all fields are reported.
        id?;
        warn_about_reserved_id(&step, id_place, self.sink);
        Some(step)
    }

    /// The arguments in `extract`, for the extraction tool.
    fn extraction(&mut self, item: &Item) -> Option<Node> {
        let mut fields = Fields::of(item, "`extract`", self.sink)?;
        fields.required("from", self.sink);
        fields.object("schema", self.sink);
        if fields
            .required("schema", self.sink)
            .is_some_and(Item::is_null)
        {
            fields.report_missing("schema", self.sink);
        }
        fields.text("ask", self.sink);
        fields.finish(self.sink);
        Some(lower_fields(
            item.place,
            item.as_object()?,
            &mut self.templates(),
        ))
    }

    /// The call that undoes that of the step.
    fn undo(&mut self, item: &Item) -> Option<Undo> {
        let mut fields = Fields::of(item, "`undo`", self.sink)?;
        let tool = fields.required("tool", self.sink);
        let tool = tool.and_then(|tool| self.name(tool, "tool"));
        let args = match fields.object("arguments", self.sink) {
            Some(args) => lower(args, &mut self.templates()),
            None => Node::literal(Value::empty_object(), item.place),
        };
        fields.finish(self.sink);
        Some(Undo { tool: tool?, args })
    }

    /// The action of a step: exactly one of `tool`, `plan`, `value` and `extract`.
    fn action(&mut self, fields: &mut Fields<'_>) -> Action {
        let tool = fields.optional("tool");
        let plan = fields.optional("plan");
        let value = fields.entry("value").map(|entry| &entry.item);
        let extract = fields.optional("extract");
        let scopes = self.scopes(fields);
        let present: Vec<&str> = [
            tool.map(|_| "`tool`"),
            plan.map(|_| "`plan`"),
            value.map(|_| "`value`"),
            extract.map(|_| "`extract`"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if present.len() > 1 {
            let message = format!("the step has {}", present.join(" and "));
            self.report(
                fields.place(),
                Code::ConflictingFields,
                &message,
                "keep one of them",
            );
        }
        if present.is_empty() {
            self.report(
                fields.place(),
                Code::MissingField,
                "the step does nothing",
                "add `tool`, `plan`, `value` or `extract`",
            );
        }
        if plan.is_none() && !scopes.is_empty() {
            self.report(
                fields.place(),
                Code::ConflictingFields,
                "the step has `scopes` but no `plan`",
                "leave `scopes` out",
            );
        }
        // Conflicts are reported above; one action is still lowered for further checks.
        let action = match (tool, plan, value) {
            (Some(tool), ..) => self.name(tool, "tool").map(Action::Tool),
            (None, Some(plan), _) => self
                .target(plan)
                .map(|target| Action::Plan(PlanCall { target, scopes })),
            (None, None, Some(value)) => Some(Action::Value(lower(value, &mut self.templates()))),
            (None, None, None) => extract.map(|item| {
                Action::Tool(Name {
                    text: EXTRACTION.into(),
                    place: item.place,
                })
            }),
        };
        action.unwrap_or_else(|| Action::Value(Node::default()))
    }

    fn name(&mut self, item: &Item, field: &str) -> Option<Name> {
        let Some(text) = item.as_text() else {
            self.sink.push_wrong_type(item, field, "text");
            return None;
        };
        Some(Name {
            text: Arc::clone(text),
            place: item.place,
        })
    }

    fn target(&mut self, item: &Item) -> Option<PlanTarget> {
        if item.as_object().is_some() {
            return Some(PlanTarget::Inline(Box::new(self.plan(item)?)));
        }
        if item.as_text().is_none() {
            self.sink
                .push_wrong_type(item, "plan", "the name of a plan or a plan");
            return None;
        }
        self.name(item, "plan").map(PlanTarget::Named)
    }

    fn scopes(&mut self, fields: &mut Fields<'_>) -> Vec<SlotKind> {
        let mut scopes = Vec::new();
        for item in fields.list("scopes", self.sink).unwrap_or_default() {
            let Some(word) = item.as_text() else {
                self.sink.push_wrong_type(item, "scopes", "a list of texts");
                continue;
            };
            if let Some(kind) = SlotKind::from_word(word) {
                scopes.push(kind);
            } else {
                let known: Vec<&str> = all::<SlotKind>().collect();
                wrong_word(item, "scopes", word, &known, self.sink);
            }
        }
        scopes
    }

    /// A condition: exactly one `${…}`, or a truth value.
    fn condition(&mut self, item: &Item, field: &'static str) -> Option<Node> {
        let text = match &item.kind {
            ItemKind::Bool(_) => return Some(Node::literal(item.to_value(), item.place)),
            ItemKind::Text(text) => text,
            _ => {
                self.sink.push_wrong_type(item, field, "a condition");
                return None;
            }
        };
        let before = self.sink.count();
        let node = lower(item, &mut self.templates());
        if matches!(node.kind, NodeKind::Reference(_)) {
            return Some(node);
        }
        // A fix is safe only if the whole text is an expression.
        let is_expression = !text.contains("${")
            && !text.contains(".length")
            && is_own_expression(text)
            && is_readable(text, &mut self.patterns);
        let exact = (!is_expression)
            .then(|| self.meant_condition(text))
            .flatten();
        // A malformed reference was reported already.
        if self.sink.count() == before {
            let message = format!("`{field}` is text, not a condition: {}", quote(text));
            let help = format!("write the condition as `\"{field}\": \"${{…}}\"`");
            let mut diagnostic = Diagnostic::error(Code::MalformedReference, message).help(help);
            if let Some((exact, is_certain)) = &exact {
                let written = format!("${{{exact}}}");
                let help = format!("write the condition as `\"{field}\": \"{written}\"`");
                diagnostic = diagnostic.help(help);
                if *is_certain {
                    diagnostic = diagnostic.fix(written);
                }
            } else if is_expression {
                let written = format!("${{{}}}", text.trim());
                let help = format!("write the condition as `\"{field}\": \"{written}\"`");
                diagnostic = diagnostic.help(help).fix(written);
            }
            // A condition is never text.
            self.sink.push_with_safe_fix(item.place, diagnostic);
        }
        // The expression is read with its intended meaning, so that its targets are not reported as unused.
        let meant = if is_expression {
            text.trim().to_owned()
        } else {
            exact?.0
        };
        let meant = Item {
            kind: ItemKind::Text(format!("${{{meant}}}").into()),
            place: item.place,
        };
        Some(lower(&meant, &mut self.templates()))
    }

    /// The native form of the condition `text`, and whether all of its operators have this meaning; `None` if there is none.
    fn meant_condition(&mut self, text: &str) -> Option<(String, bool)> {
        let inside = text.trim();
        let stripped = inside
            .strip_prefix("{{")
            .and_then(|text| text.strip_suffix("}}"));
        let stripped = stripped.unwrap_or(inside);
        // `${a} == 1` has its braces at the wrong places.
        let joined = if stripped.contains("${") {
            without_markers(stripped)?
        } else {
            stripped.trim().to_owned()
        };
        let own = expression_of(&joined).filter(|own| is_readable(own, &mut self.patterns));
        if let Some(own) = own {
            return Some((own, true));
        }
        let exact = exact_form(&joined, &mut self.patterns);
        let exact = exact.or_else(|| is_expression(&joined).then_some(joined));
        exact.map(|exact| (exact, false))
    }

    /// The name that `as` gives to the item of a loop.
    fn loop_item_name(&mut self, fields: &mut Fields<'_>) -> Option<Arc<str>> {
        let item = fields.optional("as")?;
        let name = item.as_text().filter(|name| is_item_name(name));
        if name.is_none() {
            self.sink.push_wrong_type(
                item,
                "as",
                "a name for the item, one word that is not reserved",
            );
        }
        name.map(Arc::clone)
    }

    /// The list of a `for_each`: the value itself, or its `items` beside `max_parallel`, which may also be a field of the step.
    fn for_each(&mut self, fields: &mut Fields<'_>) -> Option<ForEach> {
        let item = fields.optional("for_each");
        let beside = fields.optional("max_parallel");
        let mut max_parallel = beside.and_then(|item| bound_of(item, "max_parallel", self.sink));
        let named = fields.optional("as").map(|item| item.place);
        let item_place = fields.optional("with_item").map(|item| item.place);
        let with_item = fields.boolean("with_item", self.sink);
        let Some(item) = item else {
            let only_with = [
                ("max_parallel", beside.map(|beside| beside.place)),
                ("as", named),
                ("with_item", item_place),
            ];
            for (field, place) in only_with {
                if let Some(place) = place {
                    self.report(
                        place,
                        Code::ConflictingFields,
                        &format!("the step has `{field}` but no `for_each`"),
                        &format!("leave `{field}` out"),
                    );
                }
            }
            return None;
        };
        let over = if item.as_object().is_some() {
            let mut inner = Fields::of(item, "`for_each`", self.sink)?;
            let items = inner.required("items", self.sink);
            // The limit inside `for_each` overrides that of the step.
            if let Some(bound) = bound(&mut inner, "max_parallel", self.sink) {
                max_parallel = Some(bound);
            }
            inner.finish(self.sink);
            items?
        } else {
            item
        };
        let node = lower(over, &mut self.templates());
        let is_list = match &node.kind {
            NodeKind::Reference(_) | NodeKind::List(_) => true,
            NodeKind::Literal(value) => value.as_list().is_some(),
            NodeKind::Text(_) | NodeKind::Object(_) => false,
        };
        if !is_list {
            // A text with a malformed marker became a literal, which was reported already.
            let is_text = over.as_text().is_some_and(|text| text.contains("${"));
            if !is_text || matches!(node.kind, NodeKind::Text(_)) {
                self.sink
                    .push_wrong_type(over, "for_each", "a list or one `${…}`");
            }
        }
        Some(ForEach {
            item_name: self.item_name.clone(),
            with_item: with_item == Some(true),
            over: node,
            max_parallel,
        })
    }

    fn repeat(&mut self, item: &Item) -> Option<Repeat> {
        let mut fields = Fields::of(item, "`repeat`", self.sink)?;
        let until = fields.required("until", self.sink);
        let max = match fields.optional("max") {
            Some(max) => bound_of(max, "max", self.sink),
            None => Some(DEFAULT_ROUNDS),
        };
        fields.finish(self.sink);
        let until = self.condition(until?, "until")?;
        Some(Repeat { until, max: max? })
    }

    fn on_error(&mut self, item: &Item) -> OnError {
        if let Some(word) = item.as_text() {
            return match &**word {
                "fail" => OnError::Fail,
                "continue" => OnError::Continue,
                _ => self.other_on_error(item, word),
            };
        }
        if item.as_object().is_none() {
            self.sink
                .push_wrong_type(item, "on_error", "`fail`, `continue` or an object");
            return OnError::Fail;
        }
        let Some(mut fields) = Fields::of(item, "`on_error`", self.sink) else {
            return OnError::Fail;
        };
        let output = fields.required("output", self.sink);
        fields.finish(self.sink);
        output.map_or(OnError::Fail, |output| {
            OnError::Output(lower(output, &mut self.templates()))
        })
    }

    /// Reports an invalid word in `on_error`. Words of other systems are read by their meaning.
    fn other_on_error(&mut self, item: &Item, word: &str) -> OnError {
        let (meant, read) = match on_error_word(word) {
            Some(meant @ "continue") => (meant, OnError::Continue),
            Some(meant) => (meant, OnError::Fail),
            None => {
                wrong_word(item, "on_error", word, &["fail", "continue"], self.sink);
                return OnError::Fail;
            }
        };
        let message = format!("`on_error` cannot be {}", quote(word));
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message)
            .help(format!("write `\"on_error\": \"{meant}\"`"))
            .fix(meant);
        self.sink.push_with_safe_fix(item.place, diagnostic);
        read
    }

    fn retry(&mut self, item: &Item) -> Option<Retry> {
        if item.as_object().is_none() {
            return bound_of(item, "retry", self.sink).map(Retry::new);
        }
        let mut fields = Fields::of(item, "`retry`", self.sink)?;
        let (first, others) = RETRY_FIELDS.split_first()?;
        let attempts = fields.required(first.name, self.sink);
        let attempts = attempts.and_then(|item| bound_of(item, first.name, self.sink));
        let mut retry = attempts.map(Retry::new);
        for field in others {
            retry = match &field.kind {
                RetryFieldKind::Count(access) => {
                    let count = fields.optional(field.name);
                    let count = count.and_then(|item| bound_of(item, field.name, self.sink));
                    stated(retry, field, access, count)
                }
                RetryFieldKind::Time(access) => {
                    let time = time(&mut fields, field.name, self.sink);
                    stated(retry, field, access, time)
                }
            };
        }
        fields.finish(self.sink);
        retry
    }

    /// The initial values of slots: an object by kind, or a list of such objects.
    pub(super) fn contents(&mut self, item: &Item) -> Vec<InitialValues> {
        let mut contents = Vec::new();
        for group in item.as_list().unwrap_or(std::slice::from_ref(item)) {
            let Some(mut fields) = Fields::of(group, "`slots`", self.sink) else {
                continue;
            };
            let instance = fields.text("instance", self.sink).map(Arc::clone);
            for (kind, entry) in self.by_kind(fields, group) {
                if entry.item.as_object().is_none() {
                    self.sink
                        .push_wrong_type(&entry.item, &entry.key, "an object");
                    continue;
                }
                contents.push(InitialValues {
                    kind,
                    instance: instance.clone(),
                    value: entry.item.to_value(),
                    place: entry.item.place,
                });
            }
        }
        contents
    }

    /// The schemas of slots by kind, or a list of such objects.
    pub(super) fn slot_schemas(&mut self, item: &Item) -> Vec<SlotSchema> {
        let mut schemas = Vec::new();
        for group in item.as_list().unwrap_or(std::slice::from_ref(item)) {
            let Some(fields) = Fields::of(group, "`slot_schemas`", self.sink) else {
                continue;
            };
            for (kind, entry) in self.by_kind(fields, group) {
                schemas.push(SlotSchema {
                    kind,
                    schema: entry.item.to_value(),
                    place: entry.item.place,
                });
            }
        }
        schemas
    }

    /// The fields of `group` that are kinds of slots, in the order of the text.
    fn by_kind<'i>(
        &mut self,
        mut fields: Fields<'_>,
        group: &'i Item,
    ) -> Vec<(SlotKind, &'i ItemEntry)> {
        for word in all::<SlotKind>() {
            fields.entry(word);
        }
        fields.finish(self.sink);
        group
            .as_object()
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| Some((SlotKind::from_word(&entry.key)?, entry)))
            .collect()
    }

    /// The writes of a step: a slot, or an object with further fields.
    fn writes(&mut self, item: &Item) -> Option<Writes> {
        if item.as_text().is_some() {
            return Some(Writes {
                targets: Targets::All(vec![self.slot_path(item, "writes")?]),
                method: Method::Set,
                place: item.place,
            });
        }
        if item.as_object().is_none() {
            self.sink
                .push_wrong_type(item, "writes", "a slot or an object");
            return None;
        }
        let mut fields = Fields::of(item, "`writes`", self.sink)?;
        let to = fields.optional("to");
        let one_of = fields.optional("one_of");
        let method = choice(&mut fields, "method", self.sink);
        fields.finish(self.sink);
        let targets = match (to, one_of) {
            (Some(to), None) => {
                if to.as_list().is_some_and(<[Item]>::is_empty) {
                    self.report(
                        to.place,
                        Code::InvalidFieldValue,
                        "`to` names no slot",
                        "name one, such as `\"state.user\"`, or leave `writes` out",
                    );
                }
                Targets::All(self.slot_paths(to, "to"))
            }
            (None, Some(one_of)) => {
                let paths = self.slot_paths(one_of, "one_of");
                if one_of.as_list().is_none_or(|items| items.len() < 2) {
                    self.report(
                        one_of.place,
                        Code::InvalidFieldValue,
                        "`one_of` needs at least two slots",
                        "the first is for success, the last for failure; use `to` for a single one",
                    );
                }
                Targets::OneOf(paths)
            }
            (Some(_), Some(one_of)) => {
                self.report(
                    one_of.place,
                    Code::ConflictingFields,
                    "`writes` has both `to` and `one_of`",
                    "keep one of them",
                );
                return None;
            }
            (None, None) => {
                self.report(
                    item.place,
                    Code::MissingField,
                    "`writes` names no slot",
                    "add `to`, such as `\"to\": \"state.user\"`",
                );
                return None;
            }
        };
        Some(Writes {
            targets,
            method,
            place: item.place,
        })
    }

    fn slot_paths(&mut self, item: &Item, field: &str) -> Vec<SlotPath> {
        item.as_list()
            .unwrap_or(std::slice::from_ref(item))
            .iter()
            .filter_map(|item| self.slot_path(item, field))
            .collect()
    }

    /// A slot such as `state.user` or `vars["odd name"]`.
    fn slot_path(&mut self, item: &Item, field: &str) -> Option<SlotPath> {
        let Some(text) = item.as_text() else {
            self.sink.push_wrong_type(item, field, "a slot");
            return None;
        };
        let Some((kind, keys)) = read_slot(text) else {
            let message = format!("{} is not a slot", quote(text));
            let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
            let help = "write `vars.name`, `state.name` or `data.name`, with `.` between names";
            self.sink.push(item.place, diagnostic.help(help));
            return None;
        };
        if kind == SlotKind::Inputs {
            self.report(
                item.place,
                Code::InvalidFieldValue,
                "no step writes the inputs",
                "write to `vars`, `state` or `data`",
            );
            return None;
        }
        Some(SlotPath {
            kind,
            keys,
            place: item.place,
        })
    }
}

/// Returns `retry` with a field that a step states, if it states it.
fn stated<T>(
    retry: Option<Retry>,
    field: &RetryField,
    access: &RetryAccess<T>,
    value: Option<T>,
) -> Option<Retry> {
    let Some(value) = value else {
        return retry;
    };
    retry.map(|retry| retry.with(field, |policy| (access.set)(policy, value)))
}
