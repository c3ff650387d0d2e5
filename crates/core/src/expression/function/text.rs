//! Text functions. Positions count characters, not bytes.

use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;
use crate::{Number, Value};

type Result = std::result::Result<Value, EvaluationError>;

/// Tests if the text contains another one.
pub(super) fn contains(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (text, part) = two_texts("contains", values, budget)?;
    Ok(text.contains(part).into())
}

/// Tests if the text begins with another one.
pub(super) fn starts_with(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (text, part) = two_texts("startsWith", values, budget)?;
    Ok(text.starts_with(part).into())
}

/// Tests if the text ends with another one.
pub(super) fn ends_with(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (text, part) = two_texts("endsWith", values, budget)?;
    Ok(text.ends_with(part).into())
}

/// Returns the character at a position; empty at the end of the text.
pub(super) fn char_at(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::Text(text), Value::Number(at)] = values else {
        return Err(EvaluationError::unsupported("charAt", values));
    };
    budget.spend_text(text.len())?;
    let start = byte_of(text, at)?;
    let rest = text.get(start..).unwrap_or_default();
    Ok(rest.chars().take(1).collect::<String>().into())
}

/// Returns the position of the first occurrence of a part, optionally searching from a start; -1 if there is none.
pub(super) fn index_of(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (text, part, from) = match values {
        [Value::Text(text), Value::Text(part)] => (text, part, 0),
        [Value::Text(text), Value::Text(part), Value::Number(from)] => {
            (text, part, search_position(text, part, from)?)
        }
        _ => return Err(EvaluationError::unsupported("indexOf", values)),
    };
    budget.spend_text(text.len())?;
    let found = text
        .get(from..)
        .and_then(|rest| rest.find(part.as_ref()))
        .map(|at| at + from);
    Ok(character_of(text, found))
}

/// Returns the position of the last occurrence of a part, optionally one that begins at or before a position; -1 if there is none.
pub(super) fn last_index_of(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (text, part, last) = match values {
        [Value::Text(text), Value::Text(part)] => (text, part, text.len()),
        [Value::Text(text), Value::Text(part), Value::Number(last)] => {
            (text, part, search_position(text, part, last)?)
        }
        _ => return Err(EvaluationError::unsupported("lastIndexOf", values)),
    };
    budget.spend_text(text.len() + part.len())?;
    // The offset plus the length may fall inside a character.
    let end = text.floor_char_boundary(last.saturating_add(part.len()));
    let found = text.get(..end).and_then(|text| text.rfind(part.as_ref()));
    Ok(character_of(text, found))
}

/// Converts ASCII letters to lower case.
pub(super) fn lower_ascii(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    Ok(one_text("lowerAscii", values, budget)?
        .to_ascii_lowercase()
        .into())
}

/// Converts ASCII letters to upper case.
pub(super) fn upper_ascii(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    Ok(one_text("upperAscii", values, budget)?
        .to_ascii_uppercase()
        .into())
}

/// Removes whitespace at both ends.
pub(super) fn trim(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    Ok(one_text("trim", values, budget)?.trim().into())
}

/// Replaces a part by another, everywhere or a limited number of times.
pub(super) fn replace(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (text, from, to, limit) = match values {
        [Value::Text(text), Value::Text(from), Value::Text(to)] => (text, from, to, usize::MAX),
        [
            Value::Text(text),
            Value::Text(from),
            Value::Text(to),
            Value::Number(limit),
        ] => (text, from, to, count(limit)?),
        _ => return Err(EvaluationError::unsupported("replace", values)),
    };
    budget.spend_text(text.len())?;
    let found = text.matches(from.as_ref()).take(limit).count();
    // The result may be far longer than the text, so it is paid for before it is built.
    budget.spend_text(found.saturating_mul(to.len()))?;
    Ok(text.replacen(from.as_ref(), to, found).into())
}

/// Splits the text at a separator, with an optional maximum number of parts. An empty separator gives the characters.
pub(super) fn split(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (text, separator, limit) = match values {
        [Value::Text(text), Value::Text(separator)] => (text, separator, usize::MAX),
        [
            Value::Text(text),
            Value::Text(separator),
            Value::Number(limit),
        ] => (text, separator, count(limit)?),
        _ => return Err(EvaluationError::unsupported("split", values)),
    };
    budget.spend(text.len())?;
    if separator.is_empty() {
        let mut parts: Vec<Value> = Vec::new();
        let mut rest = text.as_ref();
        while let Some(letter) = rest.chars().next() {
            if parts.len() + 1 >= limit {
                break;
            }
            let (head, tail) = rest.split_at(letter.len_utf8());
            parts.push(head.into());
            rest = tail;
        }
        if !rest.is_empty() && limit > 0 {
            parts.push(rest.into());
        }
        return Ok(parts.into());
    }
    Ok(Value::list(
        text.splitn(limit, separator.as_ref()).map(Value::from),
    ))
}

/// Returns the characters from one position up to, but not including, another or the end.
pub(super) fn substring(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (text, from, to) = match values {
        [Value::Text(text), Value::Number(from)] => (text, byte_of(text, from)?, text.len()),
        [Value::Text(text), Value::Number(from), Value::Number(to)] => {
            (text, byte_of(text, from)?, byte_of(text, to)?)
        }
        _ => return Err(EvaluationError::unsupported("substring", values)),
    };
    budget.spend_text(text.len())?;
    text.get(from..to)
        .map(Value::from)
        .ok_or_else(|| EvaluationError::failed("`substring` ends before it begins"))
}

/// Joins the texts of a list, with an optional separator.
pub(super) fn join(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (items, separator) = match values {
        [Value::List(items)] => (items, ""),
        [Value::List(items), Value::Text(separator)] => (items, separator.as_ref()),
        _ => return Err(EvaluationError::unsupported("join", values)),
    };
    let mut joined = String::new();
    for (position, item) in items.iter().enumerate() {
        let Value::Text(text) = item else {
            return Err(EvaluationError::unsupported(
                "join",
                std::slice::from_ref(item),
            ));
        };
        budget.spend_text(text.len() + separator.len())?;
        if position > 0 {
            joined.push_str(separator);
        }
        joined.push_str(text);
    }
    Ok(joined.into())
}

fn one_text<'v>(
    name: &str,
    values: &'v [Value],
    budget: &mut EvaluationBudget,
) -> std::result::Result<&'v str, EvaluationError> {
    let [Value::Text(text)] = values else {
        return Err(EvaluationError::unsupported(name, values));
    };
    budget.spend_text(text.len())?;
    Ok(text)
}

fn two_texts<'v>(
    name: &str,
    values: &'v [Value],
    budget: &mut EvaluationBudget,
) -> std::result::Result<(&'v str, &'v str), EvaluationError> {
    let [Value::Text(text), Value::Text(part)] = values else {
        return Err(EvaluationError::unsupported(name, values));
    };
    budget.spend_text(text.len() + part.len())?;
    Ok((text, part))
}

/// Returns a limit as a count; a negative one means no limit.
fn count(number: &Number) -> std::result::Result<usize, EvaluationError> {
    if !number.is_i64() && !number.is_u64() {
        return Err(EvaluationError::failed(format!(
            "`{number}` is not a whole number"
        )));
    }
    let count = number
        .as_u64()
        .and_then(|count| usize::try_from(count).ok());
    // CEL treats a negative limit as none.
    Ok(count.unwrap_or(usize::MAX))
}

/// Returns the byte offset of the character at `position`.
fn byte_of(text: &str, position: &Number) -> std::result::Result<usize, EvaluationError> {
    let start = position
        .as_u64()
        .and_then(|position| usize::try_from(position).ok())
        .and_then(|position| {
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .nth(position)
        });
    start.ok_or_else(|| position_outside(position))
}

/// Returns the byte offset of `position`, at which a search for `part` begins or ends. Only an empty part may be searched for at or
/// after the end of the text.
fn search_position(
    text: &str,
    part: &str,
    position: &Number,
) -> std::result::Result<usize, EvaluationError> {
    if part.is_empty() && position.as_u64().is_some() {
        return Ok(byte_of(text, position).unwrap_or(text.len()));
    }
    let start = byte_of(text, position)?;
    if start == text.len() {
        return Err(position_outside(position));
    }
    Ok(start)
}

fn position_outside(position: &Number) -> EvaluationError {
    EvaluationError::failed(format!("the position `{position}` is outside of the text"))
}

/// Returns the position of the character at a byte offset; -1 for `None`.
fn character_of(text: &str, byte: Option<usize>) -> Value {
    let position = byte.and_then(|byte| Some(text.get(..byte)?.chars().count()));
    match position {
        Some(position) => (position as u64).into(),
        None => (-1_i64).into(),
    }
}
