//! YAML with markers such as `{message: ${a.b}}` and `message: {{ a.b }}`, whose braces begin objects without quotes around them.

/// The maximum length of a marker.
const MAX_MARKER_BYTES: usize = 256;

/// The maximum length of a value, which bounds the cost of a text with many places where one may begin.
const MAX_VALUE_BYTES: usize = 1024;

/// `code` with quotes around each value that has such a marker; `None` if it has none.
pub(super) fn with_quotes(code: &str) -> Option<String> {
    let mut written = String::with_capacity(code.len());
    // The indentation of the key whose text on the next lines is no YAML.
    let mut block: Option<usize> = None;
    for line in code.split_inclusive('\n') {
        let indentation = line.len() - line.trim_start_matches(' ').len();
        let is_text = !line.trim().is_empty() && block.is_none_or(|outer| indentation <= outer);
        if !is_text {
            written.push_str(line);
            continue;
        }
        let inside = line.trim_end();
        let sign = inside.rsplit([' ', ':']).next().unwrap_or_default();
        block = (sign.starts_with(['|', '>']) && sign.len() < 4).then_some(indentation);
        written.push_str(&quoted(inside));
        written.push_str(&line[inside.len()..]);
    }
    (written != code).then_some(written)
}

/// The line with quotes around the values that have markers.
fn quoted(line: &str) -> String {
    let mut written = String::with_capacity(line.len());
    let mut depth = 0_usize;
    let mut rest = line;
    // A value begins here.
    let mut begins = true;
    while let Some(sign) = rest.chars().next() {
        if sign == '#' && (written.is_empty() || written.ends_with(' ')) {
            break;
        }
        if matches!(sign, '"' | '\'') && begins {
            let end = end_of_quoted(rest, sign);
            written.push_str(&rest[..end]);
            rest = &rest[end..];
            begins = false;
            continue;
        }
        if begins && sign != ' ' {
            let length = length_of_value(rest, depth);
            let value = rest[..length].trim_end();
            let is_marked = value.contains("{{") || (depth > 0 && value.contains("${"));
            if is_marked && !value.contains(['"', '\\']) && !has_key(value) {
                written.extend(["\"", value, "\""]);
                rest = &rest[value.len()..];
                begins = false;
                continue;
            }
        }
        match sign {
            '{' | '[' if begins => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let next = rest[sign.len_utf8()..].chars().next();
        begins = match sign {
            ':' | '-' => next.is_none_or(|next| next == ' ') && (sign == ':' || begins),
            '{' | '[' | ' ' => begins,
            ',' => depth > 0,
            _ => false,
        };
        written.push(sign);
        rest = &rest[sign.len_utf8()..];
    }
    written + rest
}

/// Returns true if `value` begins with a key.
fn has_key(value: &str) -> bool {
    let end = value.find(['{', '$']).unwrap_or(value.len());
    value[..end].contains(": ")
}

/// The length of the value at the start of `rest`: to the end of the line, or of its part of a list or an object; 0 if that is long.
fn length_of_value(rest: &str, depth: usize) -> usize {
    let mut at = 0;
    while let Some(sign) = rest[at..].chars().next() {
        let marker = [("${", "}"), ("{{", "}}")];
        let inside = marker
            .iter()
            .find(|(open, _)| rest[at..].starts_with(open))
            .and_then(|(_, close)| {
                let end = rest.floor_char_boundary(at + MAX_MARKER_BYTES);
                Some(rest[at..end].find(close)? + close.len())
            });
        if let Some(length) = inside {
            at += length;
            continue;
        }
        let is_end = matches!(sign, ',' | '}' | ']' | '{' | '[') && depth > 0;
        if is_end || (at == 0 && matches!(sign, '{' | '[')) {
            break;
        }
        at += sign.len_utf8();
        if at > MAX_VALUE_BYTES {
            return 0;
        }
    }
    at
}

/// The length of the quoted text at the start of `rest`.
fn end_of_quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, sign) in rest.char_indices().skip(1) {
        if sign == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = quote == '"' && sign == '\\' && !is_escaped;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::with_quotes;

    #[test]
    fn values_with_markers_get_quotes() {
        let check = |code: &str, expected: Option<&str>| {
            assert_eq!(with_quotes(code).as_deref(), expected, "{code}");
        };
        check("a: {b: ${c.d}}", Some("a: {b: \"${c.d}\"}"));
        check(
            "a: {b: at ${c.d}, e: [${f}, 1]} # ${x}\n",
            Some("a: {b: \"at ${c.d}\", e: [\"${f}\", 1]} # ${x}\n"),
        );
        check("- b: {{ c.d }} now", Some("- b: \"{{ c.d }} now\""));
        check("with: {a: {{ b }}}", Some("with: {a: \"{{ b }}\"}"));
        check("a: ${c.d}", None);
        check("a: {b: \"${c.d}\"}", None);
        check("a: |\n  b: {{ c }}\nd: 1", None);
        check("a: {b: {c: 1}}", None);
    }
}
