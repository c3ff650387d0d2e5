//! References of other systems in texts: `{{step.x}}`, `${{ step.x }}`, `$step.x`, `<step.x>`.
//!
//! A tool would receive them unchanged, so they are errors; the text itself is written as a reference to a literal,
//! `${'{{step.x}}'}`.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use planwright_core::expression::print_form;
use planwright_core::plan::{Alternative, Form, Input, InputKind};
use planwright_core::{Code, Diagnostic, Plan, Value};

use crate::document::{DiagnosticSink, Entry, Item, ItemKind};

/// The words that other systems put before the id of a step, in any case.
const PREFIXES: [&str; 10] = [
    "steps.", "step.", "nodes.", "node.", "tasks.", "needs.", "results.", "outputs.", "json.",
    "data.",
];

/// The words that other systems put before the name of an input, in any case.
const INPUT_PREFIXES: [&str; 9] = [
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
const EXPRESSION_DELIMITERS: [(&str, &str); 5] = [
    ("{{", "}}"),
    ("<%", "%>"),
    ("@{", "}"),
    ("#{", "}"),
    ("%{", "}"),
];

/// The delimiters of paths in other systems.
const PATH_DELIMITERS: [(&str, &str); 7] = [
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
const REFERENCE_KEYS: [&str; 6] = [
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

/// The fields that other systems put between the id and the path, if one of [`PREFIXES`] precedes the id.
const OUTPUT_FIELDS: [&str; 4] = [".outputs", ".output", ".result", ".data"];

/// The maximum length of a marker.
const MAX_MARKER_BYTES: usize = 256;

/// The fields of a step whose texts reach a tool, another step, or the output.
const CHECKED_FIELDS: [&str; 8] = [
    "args",
    "positional",
    "value",
    "extract",
    "for_each",
    "when",
    "repeat",
    "on_error",
];

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
    let order: Vec<&str> = ids.collect();
    let names = ReferenceNames {
        steps: order.iter().copied().collect(),
        order,
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
    /// The ids of the steps in order, for references by index.
    order: Vec<&'a str>,
    inputs: HashMap<&'a str, InputKind>,
}

impl<'a> ReferenceNames<'a> {
    /// The names of the steps and inputs of `plan`.
    pub(super) fn of(plan: &'a Plan) -> Self {
        let inputs = plan.inputs.iter();
        Self {
            steps: plan.steps.iter().map(|step| step.id.as_str()).collect(),
            order: plan.steps.iter().map(|step| step.id.as_str()).collect(),
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
    fn escape_text(&self, text: &str) -> Option<String> {
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
            let literal = literal(&current[range.clone()])?;
            longer.replace_range(range, &format!("{}{literal}", "$".repeat(dollars)));
            escaped = Some(longer);
        }
    }

    fn item(&self, item: &Item, sink: &mut DiagnosticSink) {
        match &item.kind {
            ItemKind::Text(text) => {
                if let Some(marker) = self.marker(text) {
                    report(
                        item,
                        &text[marker.range],
                        &marker.meaning,
                        marker.is_certain,
                        sink,
                    );
                }
            }
            ItemKind::List(items) => {
                for item in items {
                    self.item(item, sink);
                }
            }
            ItemKind::Object(entries) => {
                if let [entry] = &entries[..]
                    && let Some(text) = entry.item.as_text()
                    && let Some(meaning) = self.keyed_reference(&entry.key, text)
                {
                    report(&entry.item, text, &meaning, true, sink);
                    return;
                }
                if let Some((written, meaning)) = self.output_by_reference(entries) {
                    report(item, &written, &meaning, false, sink);
                }
                for entry in entries {
                    self.item(&entry.item, sink);
                }
            }
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {}
        }
    }

    /// The path in this dialect of `{key: text}`, if that is a reference of another system.
    fn keyed_reference(&self, key: &str, text: &str) -> Option<String> {
        let path = text.trim_start_matches("#/").replace('/', ".");
        REFERENCE_KEYS.contains(&key).then(|| self.path(&path))?
    }

    /// A reference of the form `{"output_by_reference": {"id": ["key"]}}`: its text, and the path in this dialect.
    fn output_by_reference(&self, entries: &[Entry]) -> Option<(String, String)> {
        let [entry] = entries else {
            return None;
        };
        let [step] = entry.item.as_object()? else {
            return None;
        };
        let names = &*entry.key == "output_by_reference" && self.steps.contains(&*step.key);
        let path = step.item.as_list().filter(|_| names)?;
        let mut meaning = step.key.to_string();
        for key in path {
            let _ = match key.as_text() {
                Some(key) => write!(meaning, ".{key}"),
                None => write!(meaning, "[{}]", key.to_value().to_json()),
            };
        }
        let inner = entry.item.to_value().to_json();
        Some((format!("{{\"output_by_reference\":{inner}}}"), meaning))
    }

    /// The first marker in `text` that names a step or an input.
    fn marker(&self, text: &str) -> Option<Marker> {
        // A marker inside of one of our references is part of an expression.
        let references = references(text);
        let is_apart = |at: usize| {
            let next = references.partition_point(|range| range.end <= at);
            references
                .get(next)
                .is_none_or(|range| !range.contains(&at))
        };
        for (open, close) in EXPRESSION_DELIMITERS {
            for (start, _) in text.match_indices(open) {
                let inside = start + open.len();
                let Some(length) = marker_window(text, inside).find(close) else {
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
                // `${{…}}` may be a reference of this dialect to an object.
                let is_dollar_form = open == "{{" && dollars > 0;
                let named = if is_dollar_form {
                    self.path(content).map(|meaning| (meaning, true))
                } else {
                    self.expression(content)
                };
                if let Some((meaning, is_certain)) = named {
                    let mut end = inside + length + close.len();
                    // `{{{x}}}`
                    if text[end..].starts_with('}') && text[inside..].starts_with('{') {
                        end += 1;
                    }
                    let range = start - usize::from(is_dollar_form)..end;
                    return Some(Marker {
                        range,
                        meaning,
                        is_certain,
                    });
                }
            }
        }
        if let Some(path) = SIGILS.iter().find_map(|sigil| text.strip_prefix(sigil))
            && !path.contains(char::is_whitespace)
            && let Some(meaning) = self.path(path)
        {
            let is_certain = path.contains(['.', '[']);
            let range = 0..text.len();
            return Some(Marker {
                range,
                meaning,
                is_certain,
            });
        }
        for (open, close) in PATH_DELIMITERS {
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
                let is_certain = is_whole || path.contains(['.', '[']);
                if (is_certain || !(open == "<" && HTML_ELEMENTS.contains(&path)))
                    && !path.contains(char::is_whitespace)
                    && let Some(meaning) = self.path(path)
                {
                    let range = start..end;
                    return Some(Marker {
                        range,
                        meaning,
                        is_certain,
                    });
                }
            }
        }
        self.dollar_marker(text, is_apart)
    }

    /// The first marker in `text` that is a dollar and a path.
    fn dollar_marker(&self, text: &str, is_apart: impl Fn(usize) -> bool) -> Option<Marker> {
        for (start, _) in text.match_indices('$') {
            if !is_apart(start) {
                continue;
            }
            let rest = &text[start + 1..];
            // `$.x` may be a JSONPath for the tool.
            let is_json_path = rest.starts_with('.');
            let skipped = ["ref:", "."].iter().find(|word| rest.starts_with(**word));
            let inside = start + 1 + skipped.map_or(0, |word| word.len());
            let is_of_path = |c: char| c.is_alphanumeric() || "_-.[]'\"".contains(c);
            let rest = &text[inside..];
            let length = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
            // A full stop or a quote may end a sentence. A word without a path may also be a price or a shell variable.
            let path = rest[..length].trim_end_matches(['.', '-', '\'', '"']);
            let is_whole = start == 0 && length == rest.len();
            let is_certain = (is_whole || path.contains(['.', '['])) && !is_json_path;
            if let Some(meaning) = self.path(path) {
                let range = start..inside + path.len();
                return Some(Marker {
                    range,
                    meaning,
                    is_certain,
                });
            }
        }
        None
    }

    /// The path in this dialect of an expression in another system, if it names a step or an input, and whether that is
    /// certain.
    fn expression(&self, written: &str) -> Option<(String, bool)> {
        let signs = |c: char| c.is_whitespace() || "-~#{}.=$@(!".contains(c);
        if let Some(meaning) = self.path(written.trim_matches(signs)) {
            return Some((meaning, true));
        }
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut before = ' ';
        for (at, sign) in written.char_indices() {
            let begins = is_of_name(sign) && !is_of_name(before) && !".-".contains(before);
            before = sign;
            if !begins {
                continue;
            }
            let rest = &written[at..];
            let is_of_path = |c: char| is_of_name(c) || "-.[]'\"".contains(c);
            let length = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
            let path = rest[..length].trim_end_matches(['.', '-', '\'', '"', ']']);
            if let Some(meaning) = self.path(path) {
                return Some((meaning, path.contains(['.', '['])));
            }
        }
        None
    }

    /// The path in this dialect of a path in another system, if it names a step or an input.
    fn path(&self, written: &str) -> Option<String> {
        let written = written.trim();
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
        if let Some(step) = strip_prefix_any_case(written, "steps[") {
            let (index, rest) = step.split_once(']')?;
            let name = self.order.get(index.parse::<usize>().ok()?)?;
            return self.step(&format!("{name}{rest}"), true);
        }
        let prefixed = PREFIXES
            .iter()
            .find_map(|word| strip_prefix_any_case(written, word));
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
        if name.is_empty() {
            return None;
        }
        let slot = match self.inputs.get(name)? {
            InputKind::Variable => "vars",
            InputKind::Input => "inputs",
        };
        Some(format!("{slot}.{name}{rest}"))
    }
}

/// A reference of another system in a text.
struct Marker {
    range: Range<usize>,
    /// The path in this dialect.
    meaning: String,
    /// True if it can hardly be anything else. Otherwise it is only a warning.
    is_certain: bool,
}

fn report(item: &Item, written: &str, meaning: &str, is_certain: bool, sink: &mut DiagnosticSink) {
    let is_text = item.as_text().is_some();
    let what = if is_text { "text" } else { "an object" };
    let message = format!("`{written}` is a reference in other systems, and only {what} here");
    let text = literal(written).filter(|_| is_text);
    let help = match &text {
        Some(text) => format!("write `${{{meaning}}}`; for the text itself, `{text}`"),
        None => format!("write `${{{meaning}}}`"),
    };
    let diagnostic = if is_certain {
        Diagnostic::error(Code::MalformedReference, message)
    } else {
        Diagnostic::warning(Code::MalformedReference, message)
    };
    sink.push(item.place, diagnostic.help(help));
}

/// `text` as a reference to a literal.
fn literal(text: &str) -> Option<String> {
    let form = Form::First(vec![Alternative::Literal(Value::text(text))]);
    print_form(&form).map(|form| format!("${{{form}}}"))
}

/// The rest of `text` after `prefix`, ignoring ASCII case.
fn strip_prefix_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// `a['b'].c` as `a.b.c`; `None` if nothing is quoted.
fn dotted(path: &str) -> Option<String> {
    let mut dotted = path.to_owned();
    for quote in ["'", "\""] {
        dotted = dotted
            .replace(&format!("[{quote}"), ".")
            .replace(&format!("{quote}]"), "");
    }
    (dotted != path).then_some(dotted)
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
    use crate::{ReadOptions, parse};

    fn shown(text: &str) -> Option<String> {
        let names = ReferenceNames {
            steps: HashSet::from(["o", "rows"]),
            order: vec!["o", "rows"],
            inputs: HashMap::from([("city", InputKind::Input), ("v", InputKind::Variable)]),
        };
        let found = names.marker(text);
        found.map(|marker| {
            let verb = if marker.is_certain { "is" } else { "may be" };
            format!("{} {verb} {}", &text[marker.range], marker.meaning)
        })
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
            ("{{- o.temp -}}", "{{- o.temp -}} is o.temp"),
            ("{{{o.temp}}}", "{{{o.temp}}} is o.temp"),
            ("{{ upper(o.temp) }}", "{{ upper(o.temp) }} is o.temp"),
            ("{{ o['temp'] }}", "{{ o['temp'] }} is o.temp"),
            (
                "{{ Steps[\"o\"].temp }}",
                "{{ Steps[\"o\"].temp }} is o.temp",
            ),
            ("{{ steps[1].id }}", "{{ steps[1].id }} is rows.id"),
            ("{{ $('o').item }}", "{{ $('o').item }} may be o"),
            ("{{ not o }}", "{{ not o }} may be o"),
            ("<%= o.temp %>", "<%= o.temp %> is o.temp"),
            ("@{body('o')['temp']}", "@{body('o')['temp']} may be o"),
            ("#{o.temp}", "#{o.temp} is o.temp"),
            ("%{o}", "%{o} is o"),
            ("{o}", "{o} is o"),
            ("It is {o.temp}", "{o.temp} is o.temp"),
            ("It is {city}", "{city} may be inputs.city"),
            ("%o.temp%", "%o.temp% is o.temp"),
            ("%o%", "%o% is o"),
            ("%(o.temp)s", "%(o.temp)s is o.temp"),
            ("[[o.temp]]", "[[o.temp]] is o.temp"),
            ("$(o.temp)", "$(o.temp) is o.temp"),
            ("$ref:o.temp", "$ref:o.temp is o.temp"),
            ("$.o.temp", "$.o.temp may be o.temp"),
            ("a $o b", "$o may be o"),
            ("$o->temp", "$o may be o"),
            ("@o.temp", "@o.temp is o.temp"),
            ("#o", "#o may be o"),
            ("=steps.o.temp", "=steps.o.temp is o.temp"),
            ("a <rows> b", "<rows> may be rows"),
            ("${o.x} and {{o.y}}", "{{o.y}} is o.y"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn objects_that_are_references() {
        let text = r##"{"steps": [
            {"id": "o", "tool": "f"},
            {"id": "p", "tool": "f", "positional": ["{{o.a}}"], "args": {
                "a": [{"$ref": "#/steps/o/x"}], "b": {"output_by_reference": {"o": ["x", 0]}},
                "c": {"$ref": "#/definitions/o"}, "d": {"$ref": "o", "x": 1}
            }}
        ]}"##;
        let result = parse(
            text.as_bytes(),
            &ReadOptions::new("test").in_dialect("native"),
        );
        let found = result.diagnostics.iter();
        let found: Vec<_> = found
            .map(|one| (one.is_error(), one.help.clone().unwrap_or_default()))
            .collect();
        let wanted = [
            (
                true,
                r#"write `${o.a}`; for the text itself, `${"{{o.a}}"}`"#,
            ),
            (
                true,
                r##"write `${o.x}`; for the text itself, `${"#/steps/o/x"}`"##,
            ),
            (false, "write `${o.x[0]}`"),
        ]
        .map(|(is_error, help)| (is_error, help.to_owned()));
        assert_eq!(found, wanted, "{:#?}", result.diagnostics);
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
            "a@o.temp",
            "50% of o and 20%",
            "{\"o\": 1}",
            "o.temp",
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
            order: vec!["o"],
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
            "{{{o.x}}}",
            "a $o b",
            "#{o} and @{o.x}",
            "$ref:o",
            "=o.x",
        ] {
            let escaped = names.escape_text(text).expect("the text has a marker");
            assert!(names.marker(&escaped).is_none(), "{text}: {escaped}");
        }
        assert_eq!(names.escape_text("${o.x}"), None);
    }
}
