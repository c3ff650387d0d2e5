//! References to the output of a step that has a substitute for its failure.

/// The maximum number of references in advice.
const MAX_SHOWN_REFERENCES: usize = 6;

/// The value in which the path of a reference is read as well, if the first one failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// The substitute has the same fields.
    OfBoth,
    /// The substitute is read whole.
    OfFirst,
}

/// The references to the step `id` in `text`, each with the one that reads `other` if the step failed. `None` if one of them is too
/// complicated to be written anew, or if there are many.
pub(super) fn replaced_references(
    text: &str,
    id: &str,
    other: &str,
    rest: Rest,
) -> Option<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    for part in text.split("${").skip(1) {
        let Some((inside, _)) = part.split_once('}') else {
            continue;
        };
        // Most references of a long text read other steps.
        if !inside.contains(id) {
            continue;
        }
        let places = places_of(inside, id);
        if places.is_empty() {
            continue;
        }
        if found.len() == MAX_SHOWN_REFERENCES || inside.contains(['{', '\\', '`', '\n']) {
            return None;
        }
        let written = format!("${{{inside}}}");
        if found.iter().any(|(known, _)| *known == written) {
            continue;
        }
        let mut meant = String::new();
        let mut done = 0;
        for place in places {
            let end = place + path_length(&inside[place..], id.len());
            let (path, after) = (&inside[place + id.len()..end], &inside[end..]);
            // A part that may be missing has another meaning with a substitute.
            if after.starts_with("?.") || after.starts_with("?[") {
                return None;
            }
            let of_other = if rest == Rest::OfBoth { path } else { "" };
            let value = format!("{id}{path} ?? {other}{of_other}");
            let before = inside[..place].trim_end();
            let is_alone =
                (before.is_empty() || before.ends_with(['(', ',']) || before.ends_with("??"))
                    && (after.trim_start().is_empty()
                        || after.trim_start().starts_with([')', ','])
                        || after.trim_start().starts_with("??"));
            meant.push_str(&inside[done..place]);
            if is_alone {
                meant.push_str(&value);
            } else {
                meant.extend(["(", &value, ")"]);
            }
            done = end;
        }
        meant.push_str(&inside[done..]);
        found.push((written, format!("${{{meant}}}")));
    }
    Some(found)
}

/// The places of the name `id` in `expression`, outside of texts in quotes.
fn places_of(expression: &str, id: &str) -> Vec<usize> {
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut quote = None;
    let mut places = Vec::new();
    for (at, sign) in expression.char_indices() {
        match quote {
            Some(open) if open == sign => quote = None,
            Some(_) => {}
            None if sign == '\'' || sign == '"' => quote = Some(sign),
            None => {
                let before = &expression[..at];
                let after = expression[at..].strip_prefix(id);
                if !before.ends_with(|sign| is_of_name(sign) || sign == '.')
                    && after.is_some_and(|after| {
                        // `notes_2` is another step, and `notes(…)` a function.
                        !after.starts_with(|sign| is_of_name(sign) || sign == '(')
                    })
                {
                    places.push(at);
                }
            }
        }
    }
    places
}

/// The length of the path at the start of `expression`, whose name has `name` bytes, without the name of a method behind it.
fn path_length(expression: &str, name: usize) -> usize {
    let mut length = name;
    loop {
        let rest = &expression[length..];
        let part = if let Some(field) = rest.strip_prefix('.') {
            let end = field.find(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
            let end = end.unwrap_or(field.len());
            let is_method = field[end..].starts_with('(');
            (end > 0 && !is_method).then_some(end + 1)
        } else if let Some(index) = rest.strip_prefix('[') {
            let end = index.find(']').filter(|end| {
                index[..*end]
                    .chars()
                    .all(|sign| sign.is_ascii_digit() || sign == '*')
            });
            end.map(|end| end + 2)
        } else {
            None
        };
        match part {
            Some(part) => length += part,
            None => return length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rest, replaced_references};

    #[test]
    fn substitutes_stand_at_each_path() {
        for (written, expected) in [
            ("${a}", Some("${a ?? b}")),
            ("${a.x[0].y}", Some("${a.x[0].y ?? b.x[0].y}")),
            ("${json(a.x)}", Some("${json(a.x ?? b.x)}")),
            ("${a.x.trim()}", Some("${(a.x ?? b.x).trim()}")),
            ("${a.x ?? ''}", Some("${a.x ?? b.x ?? ''}")),
            ("${a.n + 1}", Some("${(a.n ?? b.n) + 1}")),
            ("${size(a.x, a.y)}", Some("${size(a.x ?? b.x, a.y ?? b.y)}")),
            ("${'a' + a.t}", Some("${'a' + (a.t ?? b.t)}")),
            ("${a?.x}", None),
        ] {
            let found = replaced_references(written, "a", "b", Rest::OfBoth);
            let expected = expected.map(|meant| vec![(written.to_owned(), meant.to_owned())]);
            assert_eq!(found, expected, "{written}");
        }
        for other in ["${a_2}", "${x.a}", "${results.a.success}", "${'a'}", "a"] {
            let found = replaced_references(other, "a", "b", Rest::OfFirst);
            assert_eq!(found, Some(Vec::new()), "{other}");
        }
    }
}
