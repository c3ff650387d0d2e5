//! Paths such as `.a.0["odd key"][1]`, as several dialects write them.

/// One move along a written path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// `.name` or `["name"]`.
    Name(String),
    /// `[0]`, `[-1]`.
    Index(i64),
    /// `[*]`.
    Each,
    /// `.*`, which some dialects read as `[*]` and others as a name.
    Star,
}

/// Reads `text`, which is empty or begins with `.` or `[`.
///
/// # Errors
///
/// What is wrong with it, as a clause for a message.
pub(crate) fn moves(text: &str) -> Result<Vec<Move>, String> {
    let mut moves = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (one, after) = if let Some(inside) = rest.strip_prefix('[') {
            bracket(inside)?
        } else if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return Err("a name is missing after `.`".to_owned());
            }
            let one = match &name[..end] {
                "*" => Move::Star,
                plain => Move::Name(plain.to_owned()),
            };
            (one, &name[end..])
        } else {
            return Err("`]` must be followed by `.`, `[` or the end".to_owned());
        };
        moves.push(one);
        rest = after;
    }
    Ok(moves)
}

/// Reads what stands after `[`, and gives what follows the `]`.
fn bracket(inside: &str) -> Result<(Move, &str), String> {
    if inside.starts_with('"') {
        return quoted(inside);
    }
    let unclosed = || "`[` is never closed".to_owned();
    let end = inside.find(']').ok_or_else(unclosed)?;
    let (content, after) = (inside[..end].trim(), &inside[end + 1..]);
    if content == "*" {
        return Ok((Move::Each, after));
    }
    let digits = content.strip_prefix('-').unwrap_or(content);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match content.parse() {
        Ok(index) if is_number => Ok((Move::Index(index), after)),
        _ => Err("only a whole number or a text in double quotes can stand in `[…]`".to_owned()),
    }
}

/// Reads `"…"]`, and gives what follows it.
pub(crate) fn quoted(text: &str) -> Result<(Move, &str), String> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let Some(Ok(name)) = stream.next() else {
        return Err("the text in `[\"…\"]` is not closed or not JSON".to_owned());
    };
    let rest = &text[stream.byte_offset()..];
    match rest.strip_prefix(']') {
        Some(after) => Ok((Move::Name(name), after)),
        None => Err("`[\"…\"` is not followed by `]`".to_owned()),
    }
}

/// `["name"]`.
pub(crate) fn write_quoted_name(name: &str) -> String {
    format!("[{}]", serde_json::Value::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_move_by_move() {
        let name = |text: &str| Move::Name(text.to_owned());
        let cases = [
            ("", Ok(vec![])),
            (".a.b-c.0", Ok(vec![name("a"), name("b-c"), name("0")])),
            (
                "[0][-1][ 2 ]",
                Ok(vec![Move::Index(0), Move::Index(-1), Move::Index(2)]),
            ),
            (
                ".a[\"x.]\\\"\"].ü",
                Ok(vec![name("a"), name("x.]\""), name("ü")]),
            ),
            (".*[*][\"*\"]", Ok(vec![Move::Star, Move::Each, name("*")])),
            (".a.", Err("a name is missing after `.`")),
            ("..a", Err("a name is missing after `.`")),
            ("[0", Err("`[` is never closed")),
            ("[0]a", Err("`]` must be followed by `.`, `[` or the end")),
            (
                "[x]",
                Err("only a whole number or a text in double quotes can stand in `[…]`"),
            ),
            (
                "[+1]",
                Err("only a whole number or a text in double quotes can stand in `[…]`"),
            ),
            (
                "[99999999999999999999]",
                Err("only a whole number or a text in double quotes can stand in `[…]`"),
            ),
            (
                "[\"x]",
                Err("the text in `[\"…\"]` is not closed or not JSON"),
            ),
            ("[\"x\" ]", Err("`[\"…\"` is not followed by `]`")),
        ];
        for (text, wanted) in cases {
            assert_eq!(moves(text), wanted.map_err(str::to_owned), "{text}");
        }
    }
}
