//! Pseudocode with keywords in capital letters: `SET a TO f(x=1)`, `IF … THEN … END IF`.

/// Keywords that begin a line, and those of programs that they stand for.
const HEADS: [(&str, &str); 16] = [
    ("IF", "if"),
    ("ELSE IF", "elif"),
    ("ELSEIF", "elif"),
    ("ELSE", "else"),
    ("FOR EACH", "for"),
    ("FOR", "for"),
    ("RETURN", "return"),
    ("TRY", "try"),
    ("CATCH", "catch"),
    ("FINALLY", "finally"),
    ("PARALLEL", "parallel"),
    ("CALL", ""),
    ("SET", "="),
    ("LET", "="),
    ("STORE", "="),
    ("END", "end"),
];

/// Keywords inside of a line.
const INNER: [(&str, &str); 7] = [
    (" THEN", " then"),
    (" DO", " do"),
    (" AND ", " and "),
    (" OR ", " or "),
    (" NOT ", " not "),
    (" IN ", " in "),
    (" EQUALS ", " == "),
];

/// `text` with the keywords of programs; `None` if no line begins with one in capital letters.
pub(super) fn lowered(text: &str) -> Option<String> {
    let lines: Vec<Option<String>> = text.lines().map(line).collect();
    lines.iter().any(Option::is_some).then(|| {
        let lines = lines.into_iter().zip(text.lines());
        let lines = lines.map(|(lowered, line)| lowered.unwrap_or_else(|| line.to_owned()) + "\n");
        lines.collect()
    })
}

/// The line with the keywords of programs; `None` if it begins with none in capital letters.
fn line(line: &str) -> Option<String> {
    let blanks = &line[..line.len() - line.trim_start().len()];
    let code = line.trim();
    let (head, word, rest) = HEADS.iter().find_map(|(head, word)| {
        let rest = code.strip_prefix(head)?;
        let is_word = rest.is_empty() || rest.starts_with([' ', ':']);
        is_word.then_some((*head, *word, rest.trim_start()))
    })?;
    if matches!(
        head,
        "END" | "ELSE" | "TRY" | "CATCH" | "FINALLY" | "PARALLEL"
    ) {
        return Some(format!("{blanks}{word}"));
    }
    // A text in quotes may have such words as well.
    let mut rest = rest.to_owned();
    for (inner, word) in INNER.iter().filter(|_| !line.contains(['"', '\''])) {
        rest = rest.replace(inner, word);
    }
    let rest = rest
        .strip_suffix(" THEN")
        .or_else(|| rest.strip_suffix(" DO"))
        .unwrap_or(&rest);
    Some(match word {
        "" => format!("{blanks}{rest}"),
        "=" => {
            let (name, value) = rest.split_once(" TO ").or_else(|| rest.split_once(" = "))?;
            format!("{blanks}{name} = {value}")
        }
        _ => format!("{blanks}{word} {rest}"),
    })
}
