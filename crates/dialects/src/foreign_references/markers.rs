//! The markers of other systems in texts, and the names of a plan that tell them from other text.

mod dollar;
mod marker;
pub(super) mod phrase;
mod unnamed;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use planwright_core::expression::print_form;
use planwright_core::plan::{Action, Alternative, Form, Input, InputKind, SlotPath, Step};
use planwright_core::{Plan, Value};

pub(super) use self::marker::Marker;
use self::unnamed::joined_text;
use super::operations::{Certainty, has_operator};
use super::paths::{
    MAX_MARKER_BYTES, ascii_characters, begins_reference, dotted, end_of_reference, length_to,
    marker_window, may_contain, references, split_name, strip_prefix_any_case, with_positions,
};
use super::templates::has_statement;
use crate::native::path_of;

/// The words that other systems put before the id of a step, in any case.
const PREFIXES: [&str; 13] = [
    "steps.", "step.", "nodes.", "node.", "tasks.", "task.", "needs.", "results.", "outputs.",
    "json.", "data.", "state.", "ref:",
];

/// The words that other systems put before the name of an input, in any case.
const INPUT_PREFIXES: [&str; 10] = [
    "env.",
    "workflow.parameters.",
    "inputs.parameters.",
    "inputs.",
    "input.",
    "vars.",
    "variables.",
    "parameters.",
    "params.",
    "args.",
];

/// The delimiters of expressions in other systems. Longer ones precede their own prefixes.
const EXPRESSION_DELIMITERS: [(&str, &str); 6] = [
    ("{{", "}}"),
    ("<<", ">>"),
    ("<%", "%>"),
    ("@{", "}"),
    ("#{", "}"),
    ("%{", "}"),
];

/// The delimiters of paths in other systems.
const PATH_DELIMITERS: [(&str, &str); 8] = [
    ("${", "}"),
    ("<", ">"),
    ("[[", "]]"),
    ("$(", ")"),
    ("$[", "]"),
    ("%(", ")s"),
    ("%", "%"),
    ("{", "}"),
];

/// The prefixes of paths in other systems that are a whole text.
const SIGILS: [&str; 11] = [
    "@", "#", "=", ":", "&", "~", "^", "→", "!Ref ", "!GetAtt ", "ref:",
];

/// The key of objects with a single field that are references in other systems.
const REFERENCE_KEYS: [&str; 18] = [
    "$expr",
    "$get",
    "$output",
    "$path",
    "$result",
    "from_step",
    "fromStep",
    "ref",
    "step_output",
    "stepOutput",
    "value_from",
    "valueFrom",
    "$ref",
    "$step",
    "$from",
    "$var",
    "Ref",
    "output_by_reference",
];

/// HTML elements whose names are also common step ids.
const HTML_ELEMENTS: [&str; 24] = [
    "a", "b", "i", "u", "p", "s", "q", "br", "hr", "em", "li", "ul", "ol", "td", "th", "tr", "h1",
    "h2", "div", "code", "table", "title", "body", "summary",
];

/// The functions of other systems that give the output of a step.
pub(super) const OUTPUT_CALLS: [&str; 4] = ["body('", "outputs('", "activity('", "actions('"];

/// The fields that other systems write between the id and the path, if one of [`PREFIXES`] precedes the id.
const OUTPUT_FIELDS: [&str; 6] = [
    ".outputs", ".output", ".results", ".result", ".data", ".json",
];

/// The members of [`OUTPUT_FIELDS`] that are hardly fields of an answer: they may follow an id without a prefix.
const PLAIN_OUTPUT_FIELDS: [&str; 4] = [".outputs", ".output", ".results", ".result"];

/// The roots that other systems have for the output of the step before, in any case.
const PREVIOUS_ROOTS: [&str; 13] = [
    "json",
    "result",
    "prev_result",
    "previous_result",
    "previous_output",
    "observation",
    "last_observation",
    "prev",
    "previous",
    "previous_step",
    "previousstep",
    "last_output",
    "last_result",
];

/// The members of [`PREVIOUS_ROOTS`] that begin a reference even without any sign around it.
const PLAIN_PREVIOUS_ROOTS: [&str; 7] = [
    "previous_result",
    "previous_output",
    "prev",
    "previous",
    "previous_step",
    "last_output",
    "last_result",
];

/// The prefixes of references by the position of a step, in any case.
const INDEX_PREFIXES: [&str; 4] = ["steps[", "step[", "nodes[", "tasks["];

/// The fields of a step whose texts reach a tool, another step, or the output.
pub(super) const CHECKED_FIELDS: [&str; 8] = [
    "args",
    "positional",
    "value",
    "extract",
    "for_each",
    "when",
    "repeat",
    "on_error",
];

/// The reference syntax of a dialect whose plans are searched after they were lowered.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceForm {
    /// Writes a reference to a dotted path that begins with a step or with `inputs`, `vars`, `state` or `data`; `None` if
    /// the dialect has no references.
    pub write: fn(&str) -> Option<String>,
    /// Returns true if a text or a key has the form of the dialect's own references. In a literal, it was escaped.
    pub is_own: fn(&str) -> bool,
}

impl ReferenceForm {
    /// The form of a dialect without references.
    pub(crate) const NONE: Self = Self {
        write: |_| None,
        is_own: |_| false,
    };

    /// The form of the native dialect, whose own references are skipped before.
    const NATIVE: Self = Self {
        write: |path| Some(format!("${{{path}}}")),
        is_own: |_| false,
    };
}

/// The names of a plan's own steps, slots and inputs.
pub(crate) struct ReferenceNames<'a> {
    /// The paths of the steps' outputs, by the names of the steps and of the slots that they write.
    pub(super) steps: HashMap<&'a str, Cow<'a, str>>,
    /// The ids of the steps in order, for references by index.
    order: Vec<&'a str>,
    /// The paths of the inputs.
    inputs: HashMap<&'a str, String>,
    /// The path of the output of the step before the searched one.
    previous: Option<Cow<'a, str>>,
    /// The position of the searched step.
    position: usize,
    pub(super) form: ReferenceForm,
    is_native: bool,
    /// True if the first call has the number 0 in `call_0`.
    pub(super) counts_from_zero: bool,
}

impl<'a> ReferenceNames<'a> {
    /// The names of the steps and inputs of the native plan `plan`.
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let order = plan.steps.iter().map(|step| step.id.as_str());
        let loops = plan.steps.iter().any(|step| step.for_each.is_some());
        Self {
            // Every step may follow another one.
            previous: Some("previous".into()),
            ..Self::native(order.collect(), &plan.inputs, loops)
        }
    }

    /// The names of the steps `order` and of `inputs`; and those of a loop, if a step `loops`.
    pub(super) fn native(order: Vec<&'a str>, inputs: &'a [Input], loops: bool) -> Self {
        let names_of_loop = ["item", "index"].into_iter().filter(|_| loops);
        Self::with_items(order, inputs, names_of_loop)
    }

    /// The names of the steps `order`, of `inputs`, and of the items of loops.
    pub(super) fn with_items(
        order: Vec<&'a str>,
        inputs: &'a [Input],
        names_of_loop: impl Iterator<Item = &'a str>,
    ) -> Self {
        let names_of_loop = names_of_loop.map(|name| (name, name.to_owned()));
        Self {
            steps: order.iter().map(|id| (*id, path_of(id).into())).collect(),
            order,
            previous: None,
            position: 0,
            inputs: names_of_loop.chain(inputs.iter().map(input_path)).collect(),
            form: ReferenceForm::NATIVE,
            is_native: true,
            counts_from_zero: false,
        }
    }

    /// The names with their `paths`, the ids among them in `order`, and the paths of `inputs` and items.
    pub(crate) fn of_paths(
        order: Vec<&'a str>,
        paths: HashMap<&'a str, Cow<'a, str>>,
        inputs: HashMap<&'a str, String>,
    ) -> Self {
        Self {
            steps: paths,
            order,
            previous: None,
            position: 0,
            inputs,
            form: ReferenceForm::NATIVE,
            is_native: true,
            counts_from_zero: false,
        }
    }

    /// The same names, with the output of the step `id` as the previous one.
    pub(crate) fn with_previous(mut self, id: &str) -> Self {
        self.previous = self.steps.get(id).cloned();
        self.position = self.order.len();
        self
    }

    /// The bytes of the first marker in `text` that stands for a path alone, and the path.
    pub(crate) fn first_marker(&self, text: &str) -> Option<(Range<usize>, String)> {
        let mut marker = self.marker(text).filter(|marker| !marker.is_partial)?;
        marker.leave_lead();
        Some((marker.range, marker.meaning))
    }

    /// The names of the steps, slots and inputs of `plan`.
    pub(super) fn of_slots(plan: &'a Plan, form: ReferenceForm) -> Self {
        let mut inputs: HashMap<&str, String> = plan.inputs.iter().map(input_path).collect();
        for values in &plan.contents {
            for key in values
                .value
                .as_object()
                .into_iter()
                .flat_map(|all| all.keys())
            {
                inputs.insert(key, format!("{}.{key}", values.kind));
            }
        }
        let mut steps = HashMap::new();
        for step in &plan.steps {
            let written = step.writes.as_ref().map(|writes| writes.targets.paths());
            let written = written.unwrap_or_default();
            for slot in written {
                if let Some(name) = slot.keys.first() {
                    let path = if slot.keys.len() == 1 {
                        slot.to_string()
                    } else {
                        format!("{}.{name}", slot.kind)
                    };
                    steps.insert(&**name, Cow::from(path));
                }
            }
            let output = written.first().map(SlotPath::to_string);
            let output = output.map_or_else(|| step.id.as_str().into(), Cow::from);
            steps.entry(step.id.as_str()).or_insert(output);
        }
        // Calls without names are referred to by their tools, if no other step has the same one.
        let mut calls: HashMap<&str, usize> = HashMap::new();
        for tool in plan.steps.iter().filter_map(tool_of) {
            *calls.entry(tool).or_default() += 1;
        }
        for step in &plan.steps {
            if let Some(tool) = tool_of(step).filter(|tool| calls.get(tool) == Some(&1))
                && let Some(output) = steps.get(step.id.as_str()).cloned()
            {
                steps.entry(tool).or_insert(output);
            }
        }
        Self {
            steps,
            order: plan.steps.iter().map(|step| step.id.as_str()).collect(),
            previous: None,
            position: 0,
            inputs,
            form,
            is_native: false,
            counts_from_zero: false,
        }
    }

    /// The path of the output of the step before the searched one.
    pub(super) fn previous_path(&self) -> Option<&str> {
        self.previous.as_deref()
    }

    /// Returns true if the references are those of the native dialect.
    pub(super) fn is_native(&self) -> bool {
        self.is_native
    }

    /// Returns true if `name` is that of an input or the item of a loop.
    pub(super) fn has_input(&self, name: &str) -> bool {
        self.inputs.contains_key(name)
    }

    /// The names, with the step before `index` as the previous one.
    pub(super) fn search_step(&mut self, index: usize) {
        self.position = index;
        let previous = index
            .checked_sub(1)
            .and_then(|before| self.order.get(before));
        self.previous = previous.and_then(|id| self.steps.get(id).cloned());
    }

    /// A step in native JSON. Its texts are escaped, so that none is reported.
    pub(crate) fn escape_step(&self, step: Value) -> Value {
        let Value::Object(fields) = &step else {
            return step;
        };
        Value::object(fields.iter().map(|(name, value)| {
            let value = if CHECKED_FIELDS.contains(&&**name) {
                self.escape(value.clone())
            } else {
                value.clone()
            };
            (name.clone(), value)
        }))
    }

    /// `value` with escaped texts, so that none is reported.
    pub(crate) fn escape(&self, value: Value) -> Value {
        match value {
            Value::Text(text) => match self.escape_text(&text) {
                Some(escaped) => escaped.into(),
                None => Value::Text(text),
            },
            Value::List(items) => Value::list(items.iter().map(|item| self.escape(item.clone()))),
            Value::Object(fields) => {
                let is_alone = fields.len() == 1;
                Value::object(fields.iter().map(|(key, field)| {
                    let text = field.as_text().filter(|_| is_alone);
                    let keyed = text.filter(|text| self.keyed_reference(key, text).is_some());
                    let literal = keyed.and_then(literal).map(Value::from);
                    let field = literal.unwrap_or_else(|| self.escape(field.clone()));
                    (key.clone(), field)
                }))
            }
            scalar => scalar,
        }
    }

    /// `text` with each marker as a reference to a literal; `None` if it has no marker.
    pub(super) fn escape_text(&self, text: &str) -> Option<String> {
        let mut escaped: Option<String> = None;
        loop {
            let current = escaped.as_deref().unwrap_or(text);
            let Some(marker) = self.marker(current) else {
                return escaped;
            };
            let range = marker.range;
            let before = &current[..range.start];
            // Dollars right before a reference are doubled.
            let dollars = before.len() - before.trim_end_matches('$').len();
            let mut longer = current.to_owned();
            let literal = self.literal_marker(&current[range.clone()])?;
            longer.replace_range(range, &format!("{}{literal}", "$".repeat(dollars)));
            escaped = Some(longer);
        }
    }

    /// The marker `written` as text: the part before its first native reference becomes a reference to a literal; the rest is
    /// unchanged, so that the native reference still works.
    pub(super) fn literal_marker(&self, written: &str) -> Option<String> {
        let references = self.references(written);
        let end = references
            .first()
            .map_or(written.len(), |range| range.start);
        let (before, rest) = written.split_at(end);
        Some(literal(before)? + rest)
    }

    /// The references of this dialect in `text`, if it is the native one; the others are lowered before the search.
    fn references(&self, text: &str) -> Vec<Range<usize>> {
        if self.is_native {
            references(text)
        } else {
            Vec::new()
        }
    }

    /// The path in this dialect of `{key: text}`, if that is a reference of another system.
    pub(super) fn keyed_reference(&self, key: &str, text: &str) -> Option<String> {
        let path = text.trim_start_matches("#/").replace('/', ".");
        // `from` is a word of many tools, and the name of a step hardly their value.
        let is_step = key == "from" && self.is_native && {
            let root = path.split(['.', '[']).next().unwrap_or_default();
            self.steps.contains_key(root)
        };
        (is_step || REFERENCE_KEYS.contains(&key)).then(|| self.path(&path))?
    }

    /// The first marker in `text` that names a step or an input.
    pub(super) fn marker(&self, text: &str) -> Option<Marker> {
        // A marker inside a native reference is part of an expression. If its first closing brace is its last character, it has
        // no other end.
        if self.is_native
            && begins_reference(text)
            && (text.find('}') == Some(text.len() - 1) || end_of_reference(text, 0) == text.len())
        {
            return None;
        }
        let references = self.references(text);
        let is_foreign = |range: &Range<usize>| !(self.form.is_own)(&text[range.clone()]);
        let is_apart = |at: usize| {
            let next = references.partition_point(|range| range.end <= at);
            references
                .get(next)
                .is_none_or(|range| !range.contains(&at))
        };
        if self.is_native
            && references.is_empty()
            && has_statement(text)
            && let Some(meaning) = self.template(text)
        {
            return Some(Marker::new(0..text.len(), meaning, true));
        }
        if self.is_native
            && let Some(meaning) = joined_text(text, &references)
        {
            return Some(Marker::new(0..text.len(), meaning, false));
        }
        if self.is_native
            && references.is_empty()
            && let Some(meaning) = self.call_text(text)
        {
            return Some(Marker::new(0..text.len(), meaning, true));
        }
        // Most texts contain few of the delimiters, and a search for each of them would be slow.
        let characters = ascii_characters(text);
        for (open, close) in EXPRESSION_DELIMITERS {
            if !may_contain(characters, open) {
                continue;
            }
            for (start, _) in text.match_indices(open) {
                let inside = start + open.len();
                let Some(length) = length_to(close, text, inside, is_apart) else {
                    continue;
                };
                let content = &text[inside..inside + length];
                let dollars = text[..start].len() - text[..start].trim_end_matches('$').len();
                // `$${` is a literal `${`.
                let is_escaped = dollars > 0 && dollars.is_multiple_of(2);
                // Only the innermost, so that the cost of many openings is linear.
                if is_escaped || content.contains(open) || !is_apart(start) {
                    continue;
                }
                // `${{…}}` may be a native reference to an object; with a colon it certainly is.
                let is_dollar_form = open == "{{" && dollars > 0;
                let named = if is_dollar_form && content.contains(':') {
                    None
                } else if is_dollar_form && !has_operator(content) {
                    self.path(content)
                        .map(|meaning| (meaning, Certainty::Certain))
                        .or_else(|| self.expression(content).filter(|_| content.contains('(')))
                } else {
                    self.expression(content)
                };
                if let Some((meaning, certainty)) = named {
                    let mut end = inside + length + close.len();
                    // `{{{x}}}`
                    if text[end..].starts_with('}') && text[inside..].starts_with('{') {
                        end += 1;
                    }
                    // n8n marks an expression by `=` at the start of the text.
                    let lead = self.expression_lead(&text[..start], content);
                    let range = match lead {
                        Some(_) => 0..end,
                        None => start - usize::from(is_dollar_form)..end,
                    };
                    if is_foreign(&range) {
                        let is_certain = certainty != Certainty::Doubtful;
                        let mut marker = Marker::new(range, meaning, is_certain);
                        marker.is_partial = certainty == Certainty::Partial;
                        marker.lead = lead;
                        return Some(marker);
                    }
                }
            }
        }
        if let Some((meaning, is_certain)) = self.time_text(text) {
            return Some(Marker::new(0..text.len(), meaning, is_certain));
        }
        if let Some(path) = SIGILS.iter().find_map(|sigil| text.strip_prefix(sigil))
            && !path.contains(char::is_whitespace)
            && let Some(meaning) = self.path(path).or_else(|| self.output_call(path))
            && is_foreign(&(0..text.len()))
        {
            // `#E1` is a reference of ReWOO.
            let is_evidence = text.strip_prefix("#E").is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            });
            let is_certain = is_evidence || path.contains(['.', '[']);
            return Some(Marker::new(0..text.len(), meaning, is_certain));
        }
        // `previous.email`
        let is_path = |text: &str| {
            let is_of_path = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
            text.contains(['.', '[']) && text.chars().all(is_of_path)
        };
        if self.is_native
            && is_path(text)
            && PLAIN_PREVIOUS_ROOTS.contains(&split_name(text).0)
            && let Some(meaning) = self.previous_output(text)
        {
            return Some(Marker::new(0..text.len(), meaning, true));
        }
        for (open, close) in PATH_DELIMITERS {
            if !may_contain(characters, open) {
                continue;
            }
            for (start, _) in text.match_indices(open) {
                let inside = start + open.len();
                // `$${`, and the expressions handled above.
                let is_other = open == "{" && text[..start].ends_with(['{', '$', '@', '#', '%']);
                if is_other || !is_apart(start) {
                    continue;
                }
                let Some(length) = marker_window(text, inside).find(close) else {
                    continue;
                };
                let end = inside + length + close.len();
                let path = text[inside..inside + length].trim_matches(['(', ')', ' ']);
                let is_whole = start == 0 && end == text.len();
                // An id such as `S1` or `read_file` is not a word of a sentence.
                let is_of_id = |sign: char| sign.is_ascii_digit() || sign == '_';
                let is_brace = open.ends_with('{') || open.ends_with('[');
                let is_id = is_brace
                    && path.starts_with(char::is_alphabetic)
                    && path.contains(is_of_id)
                    && self.steps.contains_key(path);
                let is_joined = open == "{" && self.joins_steps(text);
                let is_call = is_brace && self.numbered_call(path).is_some();
                let is_certain =
                    is_whole || is_id || is_joined || is_call || path.contains(['.', '[']);
                if (is_certain || !(open == "<" && HTML_ELEMENTS.contains(&path)))
                    && !path.contains(char::is_whitespace)
                    && let Some(meaning) = self.path(path)
                {
                    let range = start..end;
                    if is_foreign(&range) {
                        return Some(Marker::new(range, meaning, is_certain));
                    }
                }
            }
        }
        self.dollar_marker(text, is_apart)
            .or_else(|| self.phrase_marker(text, is_apart))
            .or_else(|| self.bracketed_field(text, is_apart))
            .or_else(|| self.unknown_marker(text, is_apart))
    }

    /// The length of the text between the `=` that begins an expression of n8n and its first braces, which have `content`; `None` if
    /// `before`, the text before the braces, begins no expression.
    fn expression_lead(&self, before: &str, content: &str) -> Option<usize> {
        let lead = before.strip_prefix('=')?;
        let is_expression = lead.is_empty()
            || self.is_native && content.trim_start().starts_with('$') && !lead.ends_with('$');
        (is_expression && !lead.contains("${")).then_some(lead.len())
    }

    /// Returns true if `text` is short and has nothing but ids of steps in brackets and references: `{a}, {b}`.
    fn joins_steps(&self, text: &str) -> bool {
        if text.len() > MAX_MARKER_BYTES {
            return false;
        }
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, inside) = (&rest[..start], &rest[start + 1..]);
            let Some(end) = inside.find('}') else {
                return false;
            };
            let is_step = before.ends_with('$') || self.steps.contains_key(inside[..end].trim());
            if !is_step || before.contains(char::is_alphanumeric) {
                return false;
            }
            rest = &inside[end + 1..];
        }
        !rest.contains(char::is_alphanumeric)
    }

    /// The path in this dialect of a path in another system, if it names a step or an input.
    pub(crate) fn path(&self, written: &str) -> Option<String> {
        let written = written.trim();
        if let Some(meaning) = self.path_with_blanks(written) {
            return Some(meaning);
        }
        // `{{ x | filter }}`
        let written = written.split([' ', '|']).next().unwrap_or_default();
        // `steps['x']`
        let dotted = dotted(written);
        let written = dotted.as_deref().unwrap_or(written);
        if let Some(name) = INPUT_PREFIXES
            .iter()
            .find_map(|word| strip_prefix_any_case(written, word))
        {
            return self.input(name);
        }
        let indexed = INDEX_PREFIXES
            .iter()
            .find_map(|word| strip_prefix_any_case(written, word));
        if let Some((index, rest)) = indexed.and_then(|step| step.split_once(']')) {
            // If the ids of steps are numbers, `steps[1]` is the step with the id 1.
            let is_number = |id: &&str| id.bytes().all(|byte| byte.is_ascii_digit());
            let are_numbers = self.order.iter().all(is_number);
            let name = match self.order.iter().find(|id| are_numbers && **id == index) {
                Some(id) => id,
                None => self.order.get(index.parse::<usize>().ok()?)?,
            };
            return self.step(&format!("{name}{rest}"), true);
        }
        if let Some(meaning) = self.previous_output(written) {
            return Some(meaning);
        }
        if let Some(meaning) = self.numbered_call(written) {
            return Some(meaning);
        }
        let prefixed = PREFIXES
            .iter()
            .find_map(|word| strip_prefix_any_case(written, word));
        if let Some(path) = prefixed
            && let Some(meaning) = self.step(path, true)
        {
            return Some(meaning);
        }
        self.step(written, false)
            .or_else(|| self.input(written))
            // `a__field` of Zapier
            .or_else(|| {
                self.step(
                    &written.split_once("__").map(|(a, b)| format!("{a}.{b}"))?,
                    true,
                )
            })
    }

    /// The path of a reference to a step whose id has blanks, `{{ Get time.field }}`.
    fn path_with_blanks(&self, written: &str) -> Option<String> {
        let blank = written.find(' ')?;
        let ends = written.match_indices(['.', '[']).map(|(at, _)| at);
        let ends = ends.take_while(|end| *end <= MAX_MARKER_BYTES);
        let whole = (written.len() <= MAX_MARKER_BYTES).then_some(written.len());
        let outputs = ends
            .chain(whole)
            .filter(|end| *end > blank)
            .filter_map(|end| Some((self.steps.get(&written[..end])?, &written[end..])));
        // The longest id counts.
        let (output, rest) = outputs.last()?;
        (!rest.contains([' ', '|'])).then(|| format!("{output}{rest}"))
    }

    /// The path of a reference to the output of the step before, `json.x` or `previous.x`.
    fn previous_output(&self, written: &str) -> Option<String> {
        let previous = self.previous.as_ref()?;
        let (root, rest) = split_name(written);
        let is_root = PREVIOUS_ROOTS.contains(&&*root.to_lowercase());
        let is_other = self.steps.contains_key(root) || self.inputs.contains_key(root);
        if !is_root || is_other {
            return None;
        }
        let mut shorter = OUTPUT_FIELDS
            .iter()
            .filter_map(|word| rest.strip_prefix(word));
        let rest = shorter
            .find(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            .unwrap_or(rest);
        Some(format!("{previous}{rest}"))
    }

    /// The path in this dialect of the reference `written` whose field [`Self::step`] has left out; `None` if it has left out none.
    pub(super) fn long_form(&self, written: &str) -> Option<String> {
        let start = written.find(|c: char| c.is_alphanumeric() || c == '_')?;
        let rest = &written[start..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-.[]".contains(c)));
        let (name, path) = split_name(&rest[..end.unwrap_or(rest.len())]);
        let output = self.steps.get(name)?;
        let mut words = PLAIN_OUTPUT_FIELDS.iter();
        words
            .any(|word| path.starts_with(word))
            .then(|| format!("{output}{path}"))
    }

    fn step(&self, path: &str, has_prefix: bool) -> Option<String> {
        let (name, rest) = split_name(path);
        // A bare number is a price or an index, even if a step has it as its id.
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        let has_field = rest
            .strip_prefix('.')
            .is_some_and(|field| field.starts_with(|sign: char| sign.is_alphabetic()));
        if !self.is_native && !has_prefix && is_number && !has_field {
            return None;
        }
        let output = self.steps.get(name)?;
        let between: &[&str] = if has_prefix {
            &OUTPUT_FIELDS
        } else {
            &PLAIN_OUTPUT_FIELDS
        };
        let between = between.iter();
        let mut shorter = between.filter_map(|word| rest.strip_prefix(word));
        let rest = shorter
            .find(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            .unwrap_or(rest);
        // `outputs.result` is the whole output, as well.
        let is_whole = rest == ".result" && path.contains(".outputs.");
        let rest = if is_whole { "" } else { rest };
        Some(format!("{output}{}", with_positions(rest)))
    }

    fn input(&self, path: &str) -> Option<String> {
        let (name, rest) = split_name(path);
        let input = self.inputs.get(name).filter(|_| !name.is_empty())?;
        Some(format!("{input}{rest}"))
    }
}

/// The path `written` without the words that other systems write before and after the name of a step.
fn without_words(written: &str) -> String {
    let path = PREFIXES
        .iter()
        .find_map(|word| strip_prefix_any_case(written, word));
    let (name, rest) = split_name(path.unwrap_or(written));
    let shorter = OUTPUT_FIELDS
        .iter()
        .find_map(|word| rest.strip_prefix(word))
        .filter(|_| path.is_some());
    format!("{name}{}", shorter.unwrap_or(rest))
}

/// The tool that `step` calls, if it calls one.
fn tool_of(step: &Step) -> Option<&str> {
    match &step.action {
        Action::Tool(name) => Some(&name.text),
        Action::Plan(_) | Action::Value(_) => None,
    }
}

/// The name of `input`, and its path.
fn input_path(input: &Input) -> (&str, String) {
    let slot = match input.kind {
        InputKind::Variable => "vars",
        InputKind::Input => "inputs",
    };
    (&input.name, format!("{slot}.{}", input.name))
}

/// `text` as a reference to a literal.
pub(super) fn literal(text: &str) -> Option<String> {
    let form = Form::First(vec![Alternative::Literal(Value::text(text))]);
    print_form(&form).map(|form| format!("${{{form}}}"))
}
