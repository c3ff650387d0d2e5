//! Queries of jq and JSONPath, translated so that the error has the form that has their effect here.

use super::cursor::name_length;

/// Maximum number of characters of a translation.
const MAX_SHOWN: usize = 160;

/// Filters of jq without arguments, and the methods that have their effect.
const FILTERS: [(&str, &str); 18] = [
    ("add", "sum"),
    ("ascii_downcase", "lowerAscii"),
    ("ascii_upcase", "upperAscii"),
    ("count", "size"),
    ("first", "first"),
    ("flatten", "flatten"),
    ("keys", "keys"),
    ("last", "last"),
    ("length", "size"),
    ("max", "max"),
    ("min", "min"),
    ("reverse", "reverse"),
    ("size", "size"),
    ("sort", "sort"),
    ("sum", "sum"),
    ("uniq", "distinct"),
    ("unique", "distinct"),
    ("values", "values"),
];

/// Filters of jq with a text, and the methods that have their effect.
const TEXT_FILTERS: [(&str, &str); 6] = [
    ("contains", "contains"),
    ("endswith", "endsWith"),
    ("join", "join"),
    ("split", "split"),
    ("startswith", "startsWith"),
    ("test", "matches"),
];

/// Functions of jq that make another kind of value, and the functions that have their effect.
const CONVERSIONS: [(&str, &str); 3] = [
    ("fromjson", "json"),
    ("tonumber", "double"),
    ("tostring", "string"),
];

/// Returns the hint about `text` if it is a query: its translation, if `is_readable` accepts that.
pub(super) fn hint(text: &str, is_readable: impl Fn(&str) -> bool) -> Option<String> {
    let text = text.trim();
    let translated = form(text, is_readable).map(|form| format!("write `{form}`"));
    let searches = || {
        let (before, after) = text.split_once("..")?;
        let is_path = before.ends_with(|c: char| c == '$' || c == ']' || c.is_alphanumeric())
            && after.starts_with(|c: char| c == '*' || c.is_alphabetic());
        is_path.then(|| {
            "no path searches at all depths: write the fields on the way, as in `step.list[*].field`"
                .to_owned()
        })
    };
    translated.or_else(searches)
}

/// The readable expression for the query `text`; `None` if it is that expression itself, or has none.
pub(super) fn form(text: &str, is_readable: impl Fn(&str) -> bool) -> Option<String> {
    let text = text.trim();
    translated(text)
        .filter(|form| form != text && form.chars().count() <= MAX_SHOWN && is_readable(form))
}

/// The expression for the query `text`; `None` if it is not a query, or has no translation.
fn translated(text: &str) -> Option<String> {
    // jq collects items in brackets; here `[*]` does.
    let collected = text.strip_prefix('[').and_then(|all| all.strip_suffix(']'));
    let collected = collected.filter(|inside| inside.contains("[]") && is_closed(inside));
    let text = collected.unwrap_or(text);
    let root = text.strip_prefix("$.");
    let text = root.unwrap_or(text);
    let length = name_length(text);
    let stages = stages(text);
    let is_query = root.is_some() || stages.len() > 1 || text.contains("[]") || text.contains("[?");
    let (first, others) = stages.split_first()?;
    // A path that begins with a dot does not name its step.
    if !is_query || length == 0 {
        return None;
    }
    let mut stream = Stream {
        list: None,
        value: first.get(..length)?.to_owned(),
    };
    stream.path(first.get(length..)?.trim_end())?;
    for stage in others {
        stream.stage(stage.trim())?;
    }
    Some(stream.form())
}

/// The values that the stages of a query pass on.
struct Stream {
    /// The list whose items the values come from, if there are several.
    list: Option<String>,
    /// The value, or what each item `x` becomes.
    value: String,
}

impl Stream {
    /// The expression for the values.
    fn form(self) -> String {
        let Some(list) = self.list else {
            return self.value;
        };
        match self.value.strip_prefix('x') {
            Some("") if is_path(&list) => format!("{list}[*]"),
            Some("") => list,
            Some(rest) if is_path(&list) && is_path(&self.value) => format!("{list}[*]{rest}"),
            _ => format!("{list}.map(x, {})", self.value),
        }
    }

    /// Takes the values to their parts at `path`: `.name`, `[0]`, `["name"]`, `[]`, `[*]`, `[?(@.name > 1)]`.
    fn path(&mut self, path: &str) -> Option<()> {
        let mut rest = path;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("[]").or_else(|| rest.strip_prefix("[*]")) {
                self.each(|list| list)?;
                rest = after;
            } else if let Some(after) = rest.strip_prefix("[?") {
                let end = closing(after, ']')?;
                let condition = after.get(..end)?.trim();
                let inside = condition
                    .strip_prefix('(')
                    .and_then(|inside| inside.strip_suffix(')'))
                    .filter(|inside| is_closed(inside));
                let condition = inside.unwrap_or(condition);
                // JMESPath names the fields of the item alone, and marks literals.
                let condition = if condition.contains('@') {
                    outside_texts(condition, &[("@", "x")])
                } else {
                    with_item(&outside_texts(condition, &[("`", "")]))
                };
                let condition = words(&condition);
                self.each(|list| format!("{list}.filter(x, {condition})"))?;
                rest = after.get(end + 1..)?;
            } else if rest.starts_with('[') {
                let end = closing(rest.get(1..)?, ']')? + 2;
                self.value.push_str(rest.get(..end)?);
                rest = rest.get(end..)?;
            } else {
                let after = rest.strip_prefix('.')?;
                let length = name_length(after);
                if length > 0 {
                    self.value.push('.');
                    self.value.push_str(after.get(..length)?);
                } else if !after.starts_with('[') {
                    return None;
                }
                rest = after.get(length..)?;
            }
        }
        Some(())
    }

    /// Continues with the items of the single value.
    fn each(&mut self, list: impl FnOnce(String) -> String) -> Option<()> {
        if self.list.is_some() {
            return None;
        }
        self.list = Some(list(std::mem::replace(&mut self.value, "x".to_owned())));
        Some(())
    }

    /// Applies a stage of a pipe: a path or a filter.
    fn stage(&mut self, stage: &str) -> Option<()> {
        if stage == "." {
            return Some(());
        }
        // In JMESPath an index after a pipe selects from all values so far.
        let position = stage
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
            .filter(|(position, _)| position.parse::<u32>().is_ok() && self.list.is_some());
        if let Some((position, rest)) = position {
            let all = Self {
                list: self.list.take(),
                value: std::mem::take(&mut self.value),
            };
            self.value = format!("{}[{position}]", all.form());
            return if rest.is_empty() {
                Some(())
            } else {
                self.path(rest)
            };
        }
        if stage.starts_with(['.', '[']) {
            return self.path(stage);
        }
        let length = name_length(stage);
        let (name, arguments) = stage.split_at_checked(length)?;
        let arguments = match arguments.trim() {
            "" => "",
            call => call.strip_prefix('(')?.strip_suffix(')')?.trim(),
        };
        let known = |table: &[(&str, &'static str)]| {
            let row = table.iter().find(|(there, _)| *there == name);
            row.map(|(_, here)| *here)
        };
        match (name, arguments) {
            ("select", condition) if self.value == "x" => {
                let list = self.list.take()?;
                self.list = Some(format!("{list}.filter(x, {})", of_item(condition)));
            }
            ("map", inner) => {
                let mut items = Stream {
                    list: Some(self.value.clone()),
                    value: "x".to_owned(),
                };
                for stage in stages(inner) {
                    items.stage(stage.trim())?;
                }
                self.value = items.form();
            }
            ("sort_by", key) => self.call("sortBy", &format!("x, {}", of_item(key))),
            ("group_by", key) => self.call("groupBy", &format!("x, {}", of_item(key))),
            (_, "") => match (known(&FILTERS), known(&CONVERSIONS)) {
                (Some(method), _) => self.call(method, ""),
                (None, Some(function)) => self.value = format!("{function}({})", self.value),
                (None, None) => return None,
            },
            (_, text) if text.starts_with(['"', '\'']) => self.call(known(&TEXT_FILTERS)?, text),
            _ => return None,
        }
        Some(())
    }

    fn call(&mut self, method: &str, arguments: &str) {
        self.value = format!("{}.{method}({arguments})", self.value);
    }
}

/// The condition or key `text` of jq, in which a path begins with a dot, about the item `x`.
fn of_item(text: &str) -> String {
    let mut written = String::new();
    let mut before = ' ';
    let mut quote = None;
    for letter in text.chars() {
        let begins = letter == '.'
            && quote.is_none()
            && !(before.is_alphanumeric() || matches!(before, '_' | ')' | ']'));
        if begins {
            written.push('x');
        }
        match quote {
            Some(open) if open == letter => quote = None,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            Some(_) | None => {}
        }
        written.push(letter);
        before = letter;
    }
    words(&written)
}

/// The condition `text` of JMESPath, in which names are fields of the item, about the item `x`.
fn with_item(text: &str) -> String {
    let mut written = String::new();
    let mut rest = text;
    let mut before = ' ';
    let mut quote = None;
    while let Some(letter) = rest.chars().next() {
        let length = name_length(rest);
        let is_word = |word: &str| matches!(word, "true" | "false" | "null" | "and" | "or" | "in");
        let begins = !letter.is_ascii_digit()
            && quote.is_none()
            && length > 0
            && !(before.is_alphanumeric() || before == '.');
        if begins && let Some((word, after)) = rest.split_at_checked(length) {
            if !is_word(word) && !after.starts_with('(') {
                written.push_str("x.");
            }
            written.push_str(word);
            rest = after;
            before = 'x';
            continue;
        }
        match quote {
            Some(open) if open == letter => quote = None,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            Some(_) | None => {}
        }
        written.push(letter);
        before = letter;
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    written
}

/// `text` with operators in place of the words of jq.
fn words(text: &str) -> String {
    outside_texts(text, &[(" and ", " && "), (" or ", " || ")])
}

/// `text` with the second of each of `pairs` in place of the first, except inside quotes.
fn outside_texts(text: &str, pairs: &[(&str, &str)]) -> String {
    let mut written = String::new();
    let mut rest = text;
    let mut quote = None;
    while let Some(letter) = rest.chars().next() {
        let found = pairs
            .iter()
            .find_map(|(word, sign)| Some((*sign, rest.strip_prefix(word)?)))
            .filter(|_| quote.is_none());
        if let Some((sign, after)) = found {
            written.push_str(sign);
            rest = after;
            continue;
        }
        match quote {
            Some(open) if open == letter => quote = None,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            Some(_) | None => {}
        }
        written.push(letter);
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    written
}

/// The stages of the pipe `text`.
fn stages(text: &str) -> Vec<&str> {
    let mut stages = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for at in outer(text) {
        let letters = text.get(at..).unwrap_or_default();
        let is_pipe = letters.starts_with('|') && !letters.starts_with("||") && before != '|';
        before = letters.chars().next().unwrap_or(' ');
        if is_pipe {
            stages.extend(text.get(start..at));
            start = at + 1;
        }
    }
    stages.extend(text.get(start..));
    stages
}

/// The positions of the characters of `text` outside brackets and quotes.
fn outer(text: &str) -> impl Iterator<Item = usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    text.char_indices().filter_map(move |(at, letter)| {
        if let Some(open) = quote {
            if open == letter {
                quote = None;
            }
            return None;
        }
        let is_outer = depth == 0;
        match letter {
            '"' | '\'' => quote = Some(letter),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_outer.then_some(at)
    })
}

/// The position of the bracket `close` that closes the group around `text`.
fn closing(text: &str, close: char) -> Option<usize> {
    outer(text).find(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(close)))
}

/// Returns true if no bracket of `text` closes one around it.
fn is_closed(text: &str) -> bool {
    closing(text, ')').is_none() && closing(text, ']').is_none()
}

/// Returns true for names and positions with dots and brackets.
fn is_path(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    // Every other part is a text in quotes.
    text.split('"')
        .step_by(2)
        .all(|part| part.chars().all(is_part))
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn queries_have_translations() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(translated(text).as_deref(), expected, "{text}");
        };
        check("a.items[]", Some("a.items[*]"));
        check("a.items[].name", Some("a.items[*].name"));
        check("a | .items[] | .name", Some("a.items[*].name"));
        check("[a.items[] | .name]", Some("a.items[*].name"));
        check("a.items | map(.name)", Some("a.items[*].name"));
        check("a.items | length", Some("a.items.size()"));
        check(
            "a.items[?kind=='b' && n > `1`].name | [0]",
            Some("a.items.filter(x, x.kind=='b' && x.n > 1).map(x, x.name)[0]"),
        );
        check("a.items | map(.n) | add", Some("a.items[*].n.sum()"));
        check(
            "a.items[] | select(.n > 1 and .ok)",
            Some("a.items.filter(x, x.n > 1 && x.ok)"),
        );
        check(
            "a.items[] | select(.kind == \"a.b\") | .name",
            Some("a.items.filter(x, x.kind == \"a.b\").map(x, x.name)"),
        );
        check(
            "a.items | map(select(.ok)) | length",
            Some("a.items.filter(x, x.ok).size()"),
        );
        check(
            "a | sort_by(.n) | first | .name",
            Some("a.sortBy(x, x.n).first().name"),
        );
        check("a.text | split(\",\")", Some("a.text.split(\",\")"));
        check("a.text | fromjson | .n", Some("json(a.text).n"));
        check("$.a.items[0].name", Some("a.items[0].name"));
        check("$.a.items[*].name", Some("a.items[*].name"));
        check(
            "$.a.items[?(@.n > 1)].name",
            Some("a.items.filter(x, x.n > 1).map(x, x.name)"),
        );
        check(
            "a.items[] | select(.n == \"x and y\" or .ok)",
            Some("a.items.filter(x, x.n == \"x and y\" || x.ok)"),
        );
        check(
            "a.items[?@.mail == 'b@c.d or e'].name",
            Some("a.items.filter(x, x.mail == 'b@c.d or e').map(x, x.name)"),
        );
        check("a.items[*] | [0].name", Some("a.items[*][0].name"));
        check("a[\"odd name\"][]", Some("a[\"odd name\"][*]"));
        for text in [
            "a.b",
            "a || b",
            ".a",
            "a | unknown",
            "a..b",
            "[1, 2]",
            "a[].b[]",
            "a[] | select(",
            "",
            "a['|']",
        ] {
            check(text, None);
        }
    }
}
