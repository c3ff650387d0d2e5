//! References of other systems in texts: `{{step.x}}`, `${{ step.x }}`, `$step.x`, `<step.x>`.
//!
//! A tool would receive them unchanged, so they are errors; the text itself is written as a reference to a literal,
//! `${'{{step.x}}'}`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use planwright_core::expression::print_form;
use planwright_core::plan::{Alternative, Form, Input, InputKind};
use planwright_core::{Code, Diagnostic, Plan, Value};

use crate::document::{DiagnosticSink, Item, ItemKind};

/// The words that other systems put before the id of a step.
const PREFIXES: [&str; 6] = [
    "steps.", "step.", "nodes.", "tasks.", "results.", "outputs.",
];

/// The fields that other systems put between the id and the path, if one of [`PREFIXES`] precedes the id.
const OUTPUT_FIELDS: [&str; 4] = [".outputs", ".output", ".result", ".data"];

/// The maximum length of a marker.
const MAX_MARKER_BYTES: usize = 256;

/// The fields of a step whose texts reach a tool, another step, or the output.
const CHECKED_FIELDS: [&str; 6] = ["args", "value", "for_each", "when", "repeat", "on_error"];

/// Reports each text of `steps` and `output` with such a marker of a step or an input of the plan.
pub(super) fn check(
    steps: &[Item],
    output: Option<&Item>,
    inputs: &[Input],
    sink: &mut DiagnosticSink,
) {
    let ids = steps
        .iter()
        .filter_map(|step| field(step, "id")?.as_text().map(|id| &**id));
    let names = ReferenceNames {
        steps: ids.collect(),
        inputs: inputs
            .iter()
            .map(|input| (&*input.name, input.kind))
            .collect(),
    };
    for step in steps {
        for name in CHECKED_FIELDS {
            if let Some(item) = field(step, name) {
                names.item(item, sink);
            }
        }
    }
    if let Some(output) = output {
        names.item(output, sink);
    }
}

fn field<'a>(item: &'a Item, name: &str) -> Option<&'a Item> {
    let mut entries = item.as_object()?.iter();
    let entry = entries.find(|entry| &*entry.key == name)?;
    Some(&entry.item)
}

/// The names of a plan's own steps and inputs.
pub(super) struct ReferenceNames<'a> {
    steps: HashSet<&'a str>,
    inputs: HashMap<&'a str, InputKind>,
}

impl<'a> ReferenceNames<'a> {
    /// The names of the steps and inputs of `plan`.
    pub(super) fn of(plan: &'a Plan) -> Self {
        let inputs = plan.inputs.iter();
        Self {
            steps: plan.steps.iter().map(|step| step.id.as_str()).collect(),
            inputs: inputs.map(|input| (&*input.name, input.kind)).collect(),
        }
    }

    /// A step in native JSON, with its texts escaped so that none is reported.
    pub(super) fn escape_step(&self, step: Value) -> Value {
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

    /// `value` with its texts escaped so that none is reported.
    pub(super) fn escape(&self, value: Value) -> Value {
        match value {
            Value::Text(text) => match self.escape_text(&text) {
                Some(escaped) => escaped.into(),
                None => Value::Text(text),
            },
            Value::List(items) => Value::list(items.iter().map(|item| self.escape(item.clone()))),
            Value::Object(fields) => {
                let fields = fields.iter();
                Value::object(fields.map(|(key, field)| (key.clone(), self.escape(field.clone()))))
            }
            scalar => scalar,
        }
    }

    /// `text` with each marker as a reference to a literal; `None` if it has no marker.
    fn escape_text(&self, text: &str) -> Option<String> {
        let mut escaped: Option<String> = None;
        loop {
            let current = escaped.as_deref().unwrap_or(text);
            let Some((range, _)) = self.marker(current) else {
                return escaped;
            };
            let literal = Value::text(&current[range.clone()]);
            let literal = print_form(&Form::First(vec![Alternative::Literal(literal)]))?;
            let before = &current[..range.start];
            // Dollars right before a reference are doubled.
            let dollars = before.len() - before.trim_end_matches('$').len();
            let mut longer = current.to_owned();
            longer.replace_range(range, &format!("{}${{{literal}}}", "$".repeat(dollars)));
            escaped = Some(longer);
        }
    }

    fn item(&self, item: &Item, sink: &mut DiagnosticSink) {
        match &item.kind {
            ItemKind::Text(text) => {
                if let Some((range, meaning)) = self.marker(text) {
                    let written = &text[range];
                    let message =
                        format!("`{written}` is a reference in other systems, and only text here");
                    let help =
                        format!("write `${{{meaning}}}`; for the text itself, `${{'{written}'}}`");
                    let diagnostic = Diagnostic::error(Code::MalformedReference, message);
                    sink.push(item.place, diagnostic.help(help));
                }
            }
            ItemKind::List(items) => {
                for item in items {
                    self.item(item, sink);
                }
            }
            ItemKind::Object(entries) => {
                for entry in entries {
                    self.item(&entry.item, sink);
                }
            }
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {}
        }
    }

    /// The first marker in `text` that names a step or an input: its bytes, and the path in this dialect.
    fn marker(&self, text: &str) -> Option<(Range<usize>, String)> {
        // A marker inside of one of our references is part of an expression.
        let references = references(text);
        let is_apart = |at: usize| {
            let next = references.partition_point(|range| range.end <= at);
            references
                .get(next)
                .is_none_or(|range| !range.contains(&at))
        };
        let at = |start: usize, end: usize| is_apart(start).then_some(start..end);
        for (start, _) in text.match_indices("{{") {
            let inside = start + 2;
            let dollars = text[..start].len() - text[..start].trim_end_matches('$').len();
            // `$${` is a literal `${`.
            let is_escaped = dollars > 0 && dollars.is_multiple_of(2);
            if !is_escaped
                && let Some(length) = marker_window(text, inside).find("}}")
                && let Some(meaning) = self.path(&text[inside..inside + length])
                && let start = start - usize::from(dollars > 0)
                && let Some(written) = at(start, inside + length + 2)
            {
                return Some((written, meaning));
            }
        }
        // Without a path, a word in angle brackets may be markup, unless it is the whole text.
        for (start, _) in text.match_indices('<') {
            let inside = start + 1;
            if let Some(length) = marker_window(text, inside).find('>') {
                let end = inside + length + 1;
                let path = &text[inside..inside + length];
                let is_whole = start == 0 && end == text.len();
                if (is_whole || path.contains(['.', '[']))
                    && let Some(meaning) = self.path(path)
                    && let Some(written) = at(start, end)
                {
                    return Some((written, meaning));
                }
            }
        }
        // Likewise, a word after a dollar may be a price or a shell variable.
        for (start, _) in text.match_indices('$') {
            let inside = start + 1;
            let is_of_path = |c: char| c.is_alphanumeric() || "_-.[]".contains(c);
            let rest = &text[inside..];
            let length = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
            // A full stop may end a sentence.
            let path = rest[..length].trim_end_matches('.');
            let is_whole = start == 0 && length == rest.len();
            if (is_whole || path.contains(['.', '[']))
                && let Some(meaning) = self.path(path)
                && let Some(written) = at(start, inside + path.len())
            {
                return Some((written, meaning));
            }
        }
        None
    }

    /// The path in this dialect of a path in another system, if it names a step or an input.
    fn path(&self, written: &str) -> Option<String> {
        let written = written.trim();
        // `{{ x | filter }}`
        let written = written.split([' ', '|']).next().unwrap_or_default();
        let inputs = ["inputs.", "input.", "vars."];
        if let Some(name) = inputs.iter().find_map(|word| written.strip_prefix(word)) {
            return self.input(name);
        }
        let prefixed = PREFIXES.iter().find_map(|word| written.strip_prefix(word));
        if let Some(path) = prefixed
            && let Some(meaning) = self.step(path, true)
        {
            return Some(meaning);
        }
        self.step(written, false).or_else(|| self.input(written))
    }

    fn step(&self, path: &str, has_prefix: bool) -> Option<String> {
        let (name, rest) = split_name(path);
        self.steps.get(name)?;
        let between = OUTPUT_FIELDS.iter().filter(|_| has_prefix);
        let mut shorter = between.filter_map(|word| rest.strip_prefix(word));
        let rest = shorter
            .find(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            .unwrap_or(rest);
        Some(format!("{name}{rest}"))
    }

    fn input(&self, path: &str) -> Option<String> {
        let (name, rest) = split_name(path);
        let slot = match self.inputs.get(name)? {
            InputKind::Variable => "vars",
            InputKind::Input => "inputs",
        };
        Some(format!("{slot}.{name}{rest}"))
    }
}

/// The references of this dialect in `text`, whose content is not searched for markers. `${{` begins none.
fn references(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("${").map(|start| at + start) {
        if text[start..].starts_with("${{") {
            at = start + 3;
            continue;
        }
        let mut open = 0_usize;
        let mut end = text.len();
        for (index, byte) in text.bytes().enumerate().skip(start + 1) {
            match byte {
                b'{' => open += 1,
                b'}' if open == 1 => {
                    end = index + 1;
                    break;
                }
                b'}' => open -= 1,
                _ => {}
            }
        }
        found.push(start..end);
        at = end;
    }
    found
}

/// The part of `text` from byte `start` on that a marker may cover, so that the cost of many unclosed markers is
/// linear.
fn marker_window(text: &str, start: usize) -> &str {
    let end = text.len().min(start + MAX_MARKER_BYTES);
    &text[start..text.floor_char_boundary(end)]
}

/// The name at the start of a path, and the rest.
fn split_name(path: &str) -> (&str, &str) {
    path.split_at(path.find(['.', '[']).unwrap_or(path.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let names = ReferenceNames {
            steps: HashSet::from(["o", "rows"]),
            inputs: HashMap::from([("city", InputKind::Input), ("v", InputKind::Variable)]),
        };
        let found = names.marker(text);
        found.map(|(range, meaning)| format!("{} is {meaning}", &text[range]))
    }

    #[test]
    fn markers_of_other_systems() {
        for (text, expected) in [
            ("{{o.temp}}", "{{o.temp}} is o.temp"),
            ("It is {{ o.temp }} there", "{{ o.temp }} is o.temp"),
            (
                "{{steps.o.outputs.temp}}",
                "{{steps.o.outputs.temp}} is o.temp",
            ),
            (
                "${{ steps.o.outputs.temp }}",
                "${{ steps.o.outputs.temp }} is o.temp",
            ),
            ("{{ o.temp | round }}", "{{ o.temp | round }} is o.temp"),
            ("{{city}}", "{{city}} is inputs.city"),
            ("{{ inputs.city }}", "{{ inputs.city }} is inputs.city"),
            ("{{v}}", "{{v}} is vars.v"),
            ("$o.temp", "$o.temp is o.temp"),
            ("It is $rows[0].id.", "$rows[0].id is rows[0].id"),
            ("$o", "$o is o"),
            ("<o.temp>", "<o.temp> is o.temp"),
            ("<o>", "<o> is o"),
            ("${o.x} and {{o.y}}", "{{o.y}} is o.y"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn texts_that_are_none() {
        for text in [
            "{{x.temp}}",
            "{{",
            "$5.00",
            "$x.y",
            "<b>o</b>",
            "<p.x>",
            "a $o b",
            "${o.temp}",
            "${'{{o.temp}}'}",
            "${rows.map(o, {'a': o.x})}",
            "$${o.temp}",
            "$${{ o.temp }}",
            "${\"{{o.temp}}\"}",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn escaped_texts_are_not_reported() {
        let names = ReferenceNames {
            steps: HashSet::from(["o"]),
            inputs: HashMap::new(),
        };
        for text in [
            "{{o.x}}",
            "a {{o.x}} b {{ o.y }} c",
            "$${{ o.x }} and ${{ o.x }}",
            "$o.x and $o.y.",
            "<o>",
            "<o.x><o.y>",
            "$$o.x",
        ] {
            let escaped = names.escape_text(text).expect("the text has a marker");
            assert_eq!(names.marker(&escaped), None, "{text}: {escaped}");
        }
        assert_eq!(names.escape_text("${o.x}"), None);
    }
}
