//! Names and forms of other languages, and what to write here instead.

use super::table::names;

/// Names of functions in other languages, in lower case, and their names here. They take the same arguments.
static NAMES: &[(&str, &str)] = &[
    ("abs", "math.abs"),
    ("any", "exists"),
    ("average", "avg"),
    ("boolean", "bool"),
    ("ceil", "math.ceil"),
    ("count", "size"),
    ("datetime", "date"),
    ("dumps", "string"),
    ("every", "all"),
    ("flat", "flatten"),
    ("float", "double"),
    ("floor", "math.floor"),
    ("fromjson", "json"),
    ("len", "size"),
    ("length", "size"),
    ("loads", "json"),
    ("lower", "lowerAscii"),
    ("mean", "avg"),
    ("number", "double"),
    ("orderby", "sortBy"),
    ("order_by", "sortBy"),
    ("parsefloat", "double"),
    ("parseint", "int"),
    ("parsejson", "json"),
    ("parse_json", "json"),
    ("range", "lists.range"),
    ("replaceall", "replace"),
    ("round", "math.round"),
    ("some", "exists"),
    ("sort_by", "sortBy"),
    ("str", "string"),
    ("strip", "trim"),
    ("tojson", "string"),
    ("tolower", "lowerAscii"),
    ("tolowercase", "lowerAscii"),
    ("tostring", "string"),
    ("toupper", "upperAscii"),
    ("touppercase", "upperAscii"),
    ("uniq", "distinct"),
    ("unique", "distinct"),
    ("upper", "upperAscii"),
];

const FIRST_MATCH: &str = "`regex.extract(text, 'pattern')`";
const ALL_MATCHES: &str = "`regex.extractAll(text, 'pattern')`";
const DATE: &str = "`date(text)`";
const DEFAULT: &str = "`value ?? 'default'`";
const CHOICE: &str = "`condition ? value : otherwise`";
const ADDED: &str = "`list + [item]`";
const FIELDS: &str = "the fields one by one, as `{'a': x.a, 'b': y.b}`";
const NOW: &str = "`now()`, the time of the run";
const EMPTY: &str = "`size(value) == 0`";
const REPLACED: &str = "`text.replace('a', 'b')`, which replaces a text and no pattern";
const TEXT: &str = "`'text ' + string(value)`";

/// Names of functions in other languages, in lower case, with the form that has their effect here.
static FORMS: &[(&str, &str)] = &[
    ("append", ADDED),
    ("array.from", "the list itself"),
    ("coalesce", DEFAULT),
    ("concat", "`a + b`"),
    ("date.now", NOW),
    ("date.parse", DATE),
    ("datetime.datetime.now", NOW),
    ("datetime.datetime.utcnow", NOW),
    ("datetime.fromisoformat", DATE),
    ("datetime.now", NOW),
    ("datetime.strptime", DATE),
    ("datetime.timedelta", "`duration('72h')`"),
    ("datetime.today", NOW),
    ("datetime.utcnow", NOW),
    ("default", DEFAULT),
    ("empty", EMPTY),
    ("entries", "`object.keys().map(k, [k, object[k]])`"),
    (
        "enumerate",
        "`lists.range(size(list)).map(i, [i, list[i]])`",
    ),
    ("extend", ADDED),
    ("find", "`list.filter(x, …).first()`"),
    ("findall", ALL_MATCHES),
    ("flatmap", "`list.map(x, …).flatten()`"),
    ("flat_map", "`list.map(x, …).flatten()`"),
    ("fold", "`list.sum()`, `list.max()` or `list.join(', ')`"),
    ("foreach", "`list.map(x, …)`"),
    ("fromisoformat", DATE),
    ("get", "`object.field ?? 'default'`"),
    ("if", CHOICE),
    ("ifelse", CHOICE),
    ("ifnull", DEFAULT),
    ("iif", CHOICE),
    ("includes", "`item in list`, or `text.contains(part)`"),
    ("isempty", EMPTY),
    ("isnull", "`value == null`"),
    ("isoformat", "the time itself: it is a text in RFC 3339"),
    ("items", "`object.keys().map(k, [k, object[k]])`"),
    ("json.dumps", "`string(value)`"),
    ("json.loads", "`json(text)`"),
    ("json.parse", "`json(text)`"),
    ("json.stringify", "`string(value)`"),
    (
        "match",
        "`regex.extract(text, 'pattern')`, or `text.matches('pattern')` to test it",
    ),
    ("matchall", ALL_MATCHES),
    ("math.ceiling", "`math.ceil(x)`"),
    ("math.max", "`max(a, b)`"),
    ("math.min", "`min(a, b)`"),
    ("math.pow", "the product, as in `x * x`"),
    ("math.sum", "`sum(list)`"),
    ("merge", FIELDS),
    ("number.parsefloat", "`double(text)`"),
    ("number.parseint", "`int(text)`"),
    ("object.assign", FIELDS),
    ("object.entries", "`object.keys().map(k, [k, object[k]])`"),
    (
        "object.keys",
        "`object.keys()`, with the value before the dot",
    ),
    (
        "object.values",
        "`object.values()`, with the value before the dot",
    ),
    ("pow", "the product, as in `x * x`"),
    ("push", ADDED),
    ("re.findall", ALL_MATCHES),
    ("re.match", FIRST_MATCH),
    ("re.search", FIRST_MATCH),
    ("re.split", "`text.split(',')`"),
    ("re.sub", REPLACED),
    ("reduce", "`list.sum()`, `list.max()` or `list.join(', ')`"),
    ("regex.find", FIRST_MATCH),
    ("regex.findall", ALL_MATCHES),
    ("regex.match", "`text.matches('pattern')`"),
    ("regex.replace", REPLACED),
    ("regex.split", "`text.split(',')`"),
    ("regex.sub", REPLACED),
    ("search", FIRST_MATCH),
    ("sorted", "`list.sort()`, or `list.sortBy(x, x.key)`"),
    ("statistics.mean", "`avg(list)`"),
    ("strftime", "`date(text).format('%Y-%m-%d')`"),
    ("string.format", TEXT),
    ("strptime", DATE),
    ("test", "`text.matches('pattern')`"),
    ("timedelta", "`duration('72h')`"),
    ("today", NOW),
    ("tofixed", "`math.round(x * 100) / 100.0`"),
    ("toisostring", "the time itself: it is a text in RFC 3339"),
];

/// Objects and modules of other languages that have functions.
const NAMESPACES: &[&str] = &[
    "Array",
    "Date",
    "JSON",
    "Math",
    "Number",
    "Object",
    "String",
    "datetime",
    "json",
    "re",
    "statistics",
];

/// Returns a hint for an unknown function `name`: its name or form here, or a similar name.
pub(in crate::expression) fn advice(name: &str) -> Option<String> {
    foreign_form(name).or_else(|| {
        let loops = [
            "all",
            "exists",
            "exists_one",
            "filter",
            "groupBy",
            "has",
            "map",
            "sortBy",
        ];
        let similar = names()
            .chain(loops)
            .map(|known| (strsim::jaro_winkler(known, name), known))
            .filter(|(similarity, _)| *similarity > 0.75)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        similar.map(|(_, known)| format!("did you mean `{known}`?"))
    })
}

/// Returns a hint for the function `name` of another language.
pub(in crate::expression) fn foreign_form(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    let named = |table: &'static [(&str, &str)]| {
        let found = table.iter().find(|(elsewhere, _)| *elsewhere == lower);
        found.map(|(_, here)| *here)
    };
    let known = lower.strip_prefix("math.").unwrap_or(&lower);
    if [
        "cbrt", "cos", "exp", "log", "log10", "log2", "random", "sin", "sqrt", "tan",
    ]
    .contains(&known)
    {
        return Some(
            "an expression has no roots, logarithms, angles and random numbers".to_owned(),
        );
    }
    if ["title", "titlecase"].contains(&known) {
        return Some("an expression has no function for the first letters of words".to_owned());
    }
    // Names of other languages are seldom similar to ours.
    let same = named(NAMES).map(|here| format!("did you mean `{here}`?"));
    same.or_else(|| named(FORMS).map(|here| format!("write {here}")))
}

/// Returns the function of another language that `text` calls, such as `JSON.parse`, and a hint. `root` is the name at
/// its beginning.
pub(in crate::expression) fn foreign_call<'t>(
    root: &str,
    text: &'t str,
) -> Option<(&'t str, String)> {
    // Few names have the length and the first letter of one of these functions.
    let is_same = |name: &&str| {
        name.len() == root.len() && name.as_bytes().first() == root.as_bytes().first()
    };
    if !NAMESPACES
        .iter()
        .filter(|name| is_same(name))
        .any(|name| *name == root)
    {
        return None;
    }
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
    let end = text.find(|letter| !is_part(letter))?;
    let (name, rest) = text.split_at_checked(end)?;
    let known = rest.starts_with('(').then(|| name.to_lowercase())?;
    // The modules of Python and JavaScript have namesakes of our functions of numbers.
    let here = known
        .strip_prefix("math.")
        .filter(|name| *name != "max" && *name != "min");
    let hint = match here {
        Some(function) if names().any(|ours| ours == known) => {
            Some(format!("write `math.{function}(…)`"))
        }
        _ => foreign_form(&known),
    };
    hint.map(|hint| (name, hint))
}

/// Returns a hint for a text that stands where a value or an operator is expected.
pub(in crate::expression) fn foreign_text(text: &str) -> Option<&'static str> {
    static SIGNS: &[(&str, &str)] = &[
        (
            "...",
            "write `a + b` to join lists, and the fields of objects one by one",
        ),
        ("`", "write `'text ' + string(value)`"),
        (
            "=>",
            "write `list.map(x, x.field)`: the name of the item, and then an expression",
        ),
        ("$", "leave out the `$`"),
        (
            "/*",
            "leave out the comment, or write `//` on a line of its own",
        ),
        ("/", "a pattern is a text, as in `text.matches('^a')`"),
        (
            ".",
            "a path begins with the id of a step, as in `step.field`",
        ),
        ("@", "leave out the `@`"),
    ];
    static WORDS: &[(&str, &str)] = &[
        ("and", "write `&&`"),
        ("else", "write `condition ? value : otherwise`"),
        (
            "for",
            "write `list.filter(x, x.ok).map(x, x.field)`, and `list.map(x, {'key': x.a, 'value': x.b})` for pairs",
        ),
        ("if", "write `condition ? value : otherwise`"),
        ("is", "write `==`, as in `value == null`"),
        (
            "lambda",
            "write `list.map(x, x.field)`: the name of the item, and then an expression",
        ),
        (
            "not",
            "write `!(item in list)`, and `!` for other conditions",
        ),
        ("or", "write `||`"),
    ];
    let length = crate::expression::parser::name_length(text);
    let word = text.get(..length).filter(|word| !word.is_empty());
    match word {
        Some(word) => WORDS.iter().find(|(there, _)| *there == word),
        None => SIGNS.iter().find(|(sign, _)| text.starts_with(sign)),
    }
    .map(|(_, hint)| *hint)
}

/// Returns the value of a keyword of another language, or the call that the word would be with brackets.
pub(crate) fn foreign_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "None" | "nil" | "undefined" | "Null" | "NULL" => "null",
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "now" | "today" => "now()",
        _ => return None,
    })
}
