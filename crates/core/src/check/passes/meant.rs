//! The arguments that a plan means: a parameter under another name, and a literal in another form.

use std::sync::Arc;

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::expression::{print_path, time_form};
use crate::plan::{Reference, Segment, Source};
use crate::schema::{Compatibility, ObjectType, Type};
use crate::{Schema, Tool, Value};

/// Words of other systems for the roots of references.
pub(super) const ROOTS: [(&str, &str); 9] = [
    ("state", "slots.state"),
    ("data", "slots.data"),
    ("input", "inputs"),
    ("params", "inputs"),
    ("parameters", "inputs"),
    ("variables", "vars"),
    ("var", "vars"),
    ("secret", "secrets"),
    ("environment", "env"),
];

/// Fields that other systems put between a step and its output.
pub(super) const OUTPUT_FIELDS: [&str; 7] = [
    "output", "outputs", "result", "results", "data", "response", "json",
];

/// Words of other systems for an object with the outputs of all steps, or with all inputs.
pub(super) const HOLDERS: [&str; 11] = [
    "outputs", "output", "context", "ctx", "args", "tasks", "nodes", "memory", "globals",
    "env_vars", "workflow",
];

/// Words that tools use for the same parameter.
const WORDS: [&[&str]; 11] = [
    &["limit", "max", "count", "top", "n"],
    &[
        "path",
        "file",
        "filename",
        "filepath",
        "dir",
        "directory",
        "folder",
    ],
    &["text", "message", "msg", "content", "body"],
    &["query", "sql", "q", "statement", "search"],
    &["from", "source", "src"],
    &["to", "target", "dest", "destination", "dst"],
    &["url", "uri", "link", "address"],
    &["timezone", "tz", "zone"],
    &["city", "location", "place"],
    &["pattern", "glob", "regex"],
    &["id", "identifier"],
];

/// The maximum length of a value in advice, in bytes.
const MAX_SHOWN: usize = 300;

/// The maximum depth of a value that is converted into another form.
const MAX_DEPTH: usize = 8;

/// Returns true if `written` may be another name for the parameter `known`: the words of one name include those of the other.
pub(super) fn is_related(written: &str, known: &str) -> bool {
    let (written, known) = (words(written), words(known));
    let is_part = |part: &[String], whole: &[String]| {
        part.iter()
            .all(|word| whole.iter().any(|other| is_same(word, other)))
    };
    !written.is_empty()
        && !known.is_empty()
        && (is_part(&written, &known) || is_part(&known, &written))
}

/// The only one of the fields `known` that is another word for `written`.
pub(super) fn synonym<'n>(written: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let written = written.to_lowercase();
    let mut found = known.filter(|known| is_same(&written, &known.to_lowercase()));
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

fn is_same(one: &str, other: &str) -> bool {
    let both = |group: &&[&str]| group.contains(&one) && group.contains(&other);
    one == other || WORDS.iter().any(both) || is_plural(one, other) || is_plural(other, one)
}

/// Returns true if `many` is the plural of `one`: `entity` and `entities`, `box` and `boxes`.
fn is_plural(one: &str, many: &str) -> bool {
    let ends = [("y", "ies"), ("", "es"), ("", "s")].into_iter();
    one.len() > 2
        && ends
            .filter_map(|(end, plural)| Some((one.strip_suffix(end)?, many.strip_suffix(plural)?)))
            .any(|(one, many)| one == many)
}

/// The advice for a text that is none of the texts that `wanted` takes, but near one of them.
pub(super) fn near_choice(wanted: &Type, value: &Value, reporter: &Reporter<'_>) -> Option<String> {
    let near = reporter.nearest(value.as_text()?, choices(wanted))?;
    Some(format!("did you mean `{}`?", Value::text(near).to_json()))
}

/// The texts that `wanted` lists.
fn choices(wanted: &Type) -> Vec<&str> {
    let members = wanted.members().iter();
    let texts = members.filter_map(|member| match member {
        Type::Literal(Value::Text(text)) => Some(&**text),
        _ => None,
    });
    texts.collect()
}

/// The words of a name in lower case: `maxCount` and `max_count` have two.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for sign in name.chars() {
        let ends = !sign.is_alphanumeric() || sign.is_uppercase();
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if sign.is_alphanumeric() {
            word.extend(sign.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The expression between the braces of the reference `text`.
fn inside(text: &str) -> Option<&str> {
    Some(text.strip_prefix("${")?.strip_suffix('}')?.trim())
}

/// Returns true if `tail` is a comparison with one value, such as ` > 30`.
fn is_comparison(tail: &str) -> bool {
    let tail = tail.trim_start();
    let signs = ["==", "!=", ">=", "<=", ">", "<"];
    let parts = ["&&", "||", "?", "x."];
    signs.iter().any(|sign| tail.starts_with(sign)) && !parts.iter().any(|part| tail.contains(part))
}

/// The advice for the reference `text`, which reads `rest` of the list `list` as if it was one of its items.
pub(super) fn items_advice(text: &str, list: &str, rest: &str) -> Option<String> {
    let inside = inside(text)?;
    let tail = inside.strip_prefix(list)?.strip_prefix(rest)?;
    if is_comparison(tail) {
        return Some(exists(list, rest, tail));
    }
    let each = format!("{list}[*]{rest}");
    tail.is_empty().then(|| {
        format!("`{list}` is a list: write `${{{each}}}` for this part of all items, `${{{list}[0]{rest}}}` for the first one")
    })
}

fn exists(list: &str, rest: &str, tail: &str) -> String {
    format!(
        "`{list}` is a list: write `${{{list}.exists(x, x{rest}{tail})}}` if one item is enough, with `all` in place of `exists` for every item"
    )
}

/// The advice for the reference `text` that compares all items of a list with one value: `${a[*].b > 3}`.
pub(super) fn any_item_advice(text: &str) -> Option<String> {
    let (list, tail) = inside(text)?.split_once("[*]")?;
    let is_name = |sign: char| sign.is_alphanumeric() || "._-[]".contains(sign);
    let end = tail.find(|sign: char| !is_name(sign))?;
    let (rest, tail) = tail.split_at_checked(end)?;
    (list.chars().all(is_name) && !rest.contains("[*]") && is_comparison(tail))
        .then(|| exists(list, rest, tail))
}

/// Words of other systems for the loop or its item.
const LOOPS: [&str; 7] = [
    "each",
    "loop",
    "foreach",
    "iteration",
    "iter",
    "current",
    "ansible_loop",
];

/// Returns true if `word.part` is the item of a loop in other systems.
pub(super) fn is_item_part(word: &str, part: &str) -> bool {
    LOOPS.contains(&word) && matches!(part, "value" | "item" | "element" | "current" | "val")
}

/// The reference `text` with the path `meant` in place of `written`.
pub(super) fn replaced(text: &str, written: &str, meant: &str) -> String {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '.';
    let mut whole = String::new();
    let mut rest = inside(text).unwrap_or_default();
    let mut is_found = false;
    while let Some((before, after)) = rest.split_once(written) {
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        is_found |= is_word;
        // A size cannot be negated: `!a.length` is true for an empty list.
        let negated = before
            .strip_suffix('!')
            .filter(|_| is_word && meant.starts_with("size(") && meant.ends_with(')'));
        if let Some(before) = negated {
            whole.extend([before, meant, " == 0"]);
        } else {
            whole.push_str(before);
            whole.push_str(if is_word { meant } else { written });
        }
        rest = after;
    }
    whole.push_str(rest);
    // Texts of other dialects have other forms of the path.
    if is_found {
        format!("${{{whole}}}")
    } else {
        format!("${{{meant}}}")
    }
}

/// The text of `reference` with the roots of inputs where they are missing.
pub(super) fn meant_text(resolved: &ResolvedPlan<'_>, reference: &Reference) -> String {
    let mut text = reference.text.to_string();
    reference.each_read(&mut |read| {
        if let Source::Step(id) = &read.source
            && let Some(kind) = resolved.meant_input(id)
        {
            let written = format!("{id}{}", print_path(&read.path));
            text = replaced(&text, &written, &format!("{kind}.{written}"));
        }
    });
    text
}

/// The hint for the reference `text` to a word, or to a field of it, that is the position of a loop's item in other systems.
pub(super) fn position_advice(text: &str, word: &str, path: &[Segment]) -> Option<String> {
    let (written, meant) = match path {
        [] if matches!(word, "i" | "idx" | "loop_index" | "item_index") => {
            (word.to_owned(), "index")
        }
        [Segment::Key(part)] if LOOPS.contains(&word) => {
            let meant = match &**part {
                "index" | "index0" | "key" | "i" | "idx" => "index",
                "index1" => "index + 1",
                "first" => "index == 0",
                _ => return None,
            };
            (format!("{word}.{part}"), meant)
        }
        _ => return None,
    };
    let is_alone = inside(text).is_none_or(|inside| inside == written);
    // The first item has the number 1 in templates.
    if is_alone && written == "loop.index" {
        return Some("write `${index}`, from 0 on, or `${index + 1}`, from 1 on".to_owned());
    }
    let meant = if is_alone || meant == "index" {
        meant.to_owned()
    } else {
        format!("({meant})")
    };
    let whole = replaced(text, &written, &meant);
    Some(format!(
        "write `{whole}`: `index` is the position of the item, from 0 on"
    ))
}

/// The advice for the reference `text` to the field `word` of the object `around`, whose only field `field` is text, and that of a
/// file in JSON if it `is_json`.
pub(super) fn field_in_text_advice(
    text: &str,
    around: &str,
    (field, is_json): (&str, bool),
    word: &str,
) -> Option<String> {
    let is_word = |text: &str| {
        text.chars()
            .all(|sign| sign.is_alphanumeric() || sign == '_')
    };
    let tail = inside(text)?.strip_prefix(around)?.strip_prefix('.')?;
    let tail = tail.strip_prefix(word).filter(|_| is_word(word))?;
    let whole = format!("{around}.{field}");
    let digits = tail.rsplit([' ', '=', '<', '>']).next().unwrap_or_default();
    let is_number = is_comparison(tail) && digits.parse::<f64>().is_ok();
    let found = if is_number {
        format!("double(regex.extract({whole}, '{word}: *([0-9.]+)'))")
    } else {
        format!("regex.extract({whole}, '{word}: *([^,;]+)')")
    };
    let of_json = format!("${{json({whole}).{word}{tail}}}");
    (tail.is_empty() || is_comparison(tail)).then(|| {
        if is_json {
            return format!("write `{of_json}`: the only field is `{field}`, the text of a file in JSON");
        }
        format!("the only field is `{field}`, which is text: if it is JSON, write `{of_json}`; if `{word}: …` stands in it, `${{{found}{tail}}}`")
    })
}

/// The advice for the reference `text` to a time of another system, such as `${yesterday}`.
pub(super) fn time_advice(text: &str) -> Option<String> {
    time_form(inside(text)?).map(|form| format!("write `${{{form}}}`"))
}

/// The advice for the reference `text` that is a variable of a shell, such as `${HOME}`, in an argument of `tool`.
pub(super) fn shell_advice(text: &str, tool: Option<&Tool>) -> Option<String> {
    let name = inside(text)?;
    let is_sign = |sign: char| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_';
    (name.len() > 1
        && name.starts_with(|sign: char| sign.is_ascii_uppercase())
        && name.chars().all(is_sign))
    .then(|| {
        let tool = tool.map_or_else(|| "TOOL".to_owned(), |tool| tool.qualified_name().to_string());
        format!(
            "for the environment variable, write `${{env.{name}}}`, and `{name} = [\"{tool}\"]` below `[env]` in your own planwright.toml, or for the text itself `${text}`"
        )
    })
}

/// The advice to write `value` in the form that `wanted` takes, if there is exactly one.
pub(super) fn literal_advice(wanted: &Type, value: &Value) -> Option<String> {
    if let Value::Text(text) = value
        && let Some((sign, plain)) = unusual_sign(text)
        && wanted.accepts(&Type::Literal(plain.clone())) == Compatibility::Yes
    {
        let json = plain.to_json();
        return Some(format!("the text has {sign}: write `{json}`"));
    }
    let meant = fitted(wanted, value, 0)?;
    let json = (meant != *value).then(|| meant.to_json())?;
    let is_shown = json.len() <= MAX_SHOWN && !json.contains('`') && !json.contains("${");
    is_shown.then(|| format!("write `{json}`"))
}

/// `value` in the form that `wanted` takes: `"5"` as a number, an item as a list; `None` if it fits in no form.
fn fitted(wanted: &Type, value: &Value, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let fits = |value: &Value| wanted.accepts(&Type::Literal(value.clone())) == Compatibility::Yes;
    if fits(value) {
        return Some(value.clone());
    }
    let found = match (wanted, value) {
        // A number in quotes; other JSON in a text may be meant as text.
        (Type::Number | Type::Integer | Type::Boolean, Value::Text(text)) => {
            let text = text.trim().to_ascii_lowercase();
            let written = match &*text {
                "yes" | "on" => "true".to_owned(),
                "no" | "off" => "false".to_owned(),
                // Commas and underscores between thousands.
                _ if text.starts_with(|sign: char| sign.is_ascii_digit()) => {
                    text.replace([',', '_'], "")
                }
                _ => text,
            };
            Value::from_json(&written).ok()?
        }
        (Type::Text, Value::Number(_) | Value::Bool(_)) => Value::text(value.to_json()),
        // A word with other capitals or separators, such as `Error` for `error`, and `in progress` for `in_progress`.
        (Type::Literal(_) | Type::Union(_), Value::Text(text)) => {
            let letters = |text: &str| -> String {
                let signs = text
                    .chars()
                    .filter(|sign| !sign.is_whitespace() && !"_-".contains(*sign));
                signs.flat_map(char::to_lowercase).collect()
            };
            let meant = letters(text);
            let mut same = choices(wanted)
                .into_iter()
                .filter(|choice| letters(choice) == meant);
            let only = same.next().filter(|_| same.next().is_none());
            Value::text(only?)
        }
        (Type::List(_), Value::List(items)) => {
            let items = items.iter().enumerate();
            let items = items.map(|(index, item)| fitted(&wanted.item(index), item, depth + 1));
            Value::list(items.collect::<Option<Vec<_>>>()?)
        }
        (Type::List(_), Value::Text(text)) if let Some(items) = listed(text) => {
            let items = items
                .iter()
                .map(|item| fitted(&wanted.item(0), item, depth + 1));
            Value::list(items.collect::<Option<Vec<_>>>()?)
        }
        (Type::List(_), Value::Text(_) | Value::Number(_) | Value::Bool(_) | Value::Object(_)) => {
            Value::list([fitted(&wanted.item(0), value, depth + 1)?])
        }
        (Type::Object(object), Value::Object(fields)) => {
            let fields = fields.iter().map(|(key, field)| {
                let keys = || fields.keys().map(|key| &**key);
                let meant = renamed_field(object, keys, key);
                let key = meant.unwrap_or_else(|| Arc::clone(key));
                let field = match wanted.property(&key) {
                    Some(wanted) => fitted(&wanted, field, depth + 1)?,
                    None => field.clone(),
                };
                Some((key, field))
            });
            Value::object(fields.collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    };
    fits(&found).then_some(found)
}

/// The missing field of `object` that the unknown field `written` among `keys` certainly stands for.
pub(super) fn renamed_field<'k, K: Iterator<Item = &'k str>>(
    object: &ObjectType,
    keys: impl Fn() -> K,
    written: &str,
) -> Option<Arc<str>> {
    if object.properties.contains_key(written) {
        return None;
    }
    let required = object.properties.iter();
    let missing = required
        .filter(|(name, property)| property.required && !keys().any(|key| key == &***name))
        .map(|(name, _)| name);
    let mut meant = missing.filter(|name| is_related(written, name));
    let only = meant.next().filter(|_| meant.next().is_none())?;
    let unknown = keys().filter(|key| !object.properties.contains_key(*key));
    let is_alone = unknown.filter(|key| is_related(key, only)).count() == 1;
    is_alone.then(|| Arc::clone(only))
}

/// The items of a list in a text: the JSON of a list, or words with commas or line breaks between them.
fn listed(text: &str) -> Option<Vec<Value>> {
    if text.trim_start().starts_with('[') {
        let list = Value::from_json(text.trim()).ok()?;
        return list.as_list().map(<[Value]>::to_vec);
    }
    let separator = if text.contains('\n') { '\n' } else { ',' };
    let items: Vec<&str> = text.split(separator).map(str::trim).collect();
    // A sentence has commas as well.
    let is_word = |item: &&str| !item.is_empty() && !item.contains(char::is_whitespace);
    (items.len() > 1 && items.iter().all(is_word))
        .then(|| items.into_iter().map(Value::text).collect())
}

/// The first sign of `text` that looks like another one or like none, with its name, and the text with the usual signs.
fn unusual_sign(text: &str) -> Option<(String, Value)> {
    let (first, _) = text.chars().find_map(|sign| Some((sign, usual(sign)?)))?;
    let plain: String = text
        .chars()
        .map(|sign| usual(sign).map_or_else(|| sign.to_string(), str::to_owned))
        .collect();
    let name = match first {
        '\u{a0}' | '\u{2007}' | '\u{202f}' => "a no-break space",
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => "an invisible character",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "a dash in place of `-`",
        '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => "a typographic quote",
        _ => "a letter that looks like another one",
    };
    let sign = format!("{name} (U+{:04X})", u32::from(first));
    Some((sign, Value::text(plain)))
}

/// The usual text for a character that looks like it, or is invisible; `None` for any other character.
fn usual(sign: char) -> Option<&'static str> {
    Some(match sign {
        '\u{a0}' | '\u{2007}' | '\u{202f}' => " ",
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => "",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2018}' | '\u{2019}' => "'",
        '\u{201c}' | '\u{201d}' => "\"",
        'а' => "a",
        'е' => "e",
        'о' => "o",
        'р' => "p",
        'с' => "c",
        'х' => "x",
        'у' => "y",
        'і' => "i",
        'А' => "A",
        'В' => "B",
        'Е' => "E",
        'К' => "K",
        'М' => "M",
        'Н' => "H",
        'О' => "O",
        'Р' => "P",
        'С' => "C",
        'Т' => "T",
        'Х' => "X",
        _ => return None,
    })
}

/// Returns true if `schema` declares no parameters, although it does not forbid any.
pub(super) fn lists_none(schema: &Schema) -> bool {
    let value = schema.as_value();
    let is_empty = |fields: &Value| {
        fields
            .as_object()
            .is_some_and(|fields| fields.iter().next().is_none())
    };
    value.get("properties").is_some_and(is_empty)
        && [
            "additionalProperties",
            "patternProperties",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
        ]
        .iter()
        .all(|key| value.get(key).is_none())
}

/// The advice for a reference with `||` between values and a default.
pub(super) fn default_advice(text: &str) -> Option<String> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    let values: Vec<&str> = inside.split("||").map(str::trim).collect();
    let signs = ["&&", "==", "!=", " ? ", "??"];
    let has_operator = signs.iter().any(|sign| inside.contains(sign));
    let is_whole = values.iter().all(|value| !value.is_empty());
    (!has_operator && is_whole && values.len() > 1).then(|| {
        format!(
            "write `${{{}}}` for the first value that exists",
            values.join(" ?? ")
        )
    })
}

/// The advice for a reference with two comparisons in a row, `a < b < c`.
pub(super) fn chain_advice(text: &str) -> Option<String> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    let words: Vec<&str> = inside.split_whitespace().collect();
    let is_sign = |word: &str| matches!(word, "<" | "<=" | ">" | ">=");
    let [low, first, value, second, high] = words.as_slice() else {
        return None;
    };
    (is_sign(first) && is_sign(second))
        .then(|| format!("write `${{{low} {first} {value} && {value} {second} {high}}}`"))
}
