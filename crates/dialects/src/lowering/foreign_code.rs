//! Lines of programming languages: blocks, declarations, statements.
//!
//! Ignoring them would change what a plan means, so each is an error that suggests the form of a plan.

/// The advice about a block: the fields that express the same for one step.
pub(crate) const NO_BLOCKS: &str = "a plan has no blocks: give each step its own `{\"when\": ${…}}`, `{\"for_each\": ${…}}` or `{\"on_error\": …}`, without indentation";

/// The advice about a statement that is nearly a step.
const STEP: &str =
    "write `id = tool(name=value)`, or `id = ${…}` for a value; words belong after a `#`";

/// Keywords that open a block.
const OPENERS: [&str; 34] = [
    "if", "elif", "elsif", "elseif", "else", "unless", "for", "foreach", "while", "until", "loop",
    "repeat", "with", "try", "except", "catch", "rescue", "finally", "ensure", "switch", "match",
    "case", "when", "do", "begin", "def", "fn", "func", "function", "async", "parallel", "class",
    "struct", "lambda",
];

/// Keywords that stand alone on a line of a block.
const BLOCK_WORDS: [&str; 8] = ["then", "do", "done", "end", "fi", "esac", "else", "begin"];

/// Keywords before a name that is assigned.
const DECLARATIONS: [&str; 10] = [
    "let", "const", "var", "val", "auto", "final", "my", "local", "await", "set",
];

/// Assignment operators, except `=`.
const OPERATORS: [&str; 8] = [":=", "<-", "+=", "-=", "*=", "/=", "|=", "??="];

/// The problem in a line of a program, and the advice; `None` for prose.
pub(crate) fn error(line: &str) -> Option<(String, String)> {
    let code = without_comment(line).trim();
    if let Some(word) = opener(code) {
        let help = block_advice(code, word).unwrap_or_else(|| NO_BLOCKS.to_owned());
        return Some((format!("`{word}` opens a block"), help));
    }
    if is_callback(code) {
        return Some(("a function opens a block".to_owned(), NO_BLOCKS.to_owned()));
    }
    if BLOCK_WORDS.contains(&code) {
        return Some((format!("`{code}` belongs to a block"), NO_BLOCKS.to_owned()));
    }
    let name = assigned(code)?;
    Some((
        format!("`{name}` cannot be the id of a step"),
        STEP.to_owned(),
    ))
}

/// The maximum length of a condition or a list in advice, in bytes.
const MAX_SHOWN_CODE: usize = 80;

/// The advice about `if condition:` and `for name in list:`, with the field that each step of the block needs.
fn block_advice(code: &str, word: &str) -> Option<String> {
    let rest = code.trim_start_matches(['}', ' ']).strip_prefix(word)?;
    let rest = rest.trim().trim_end_matches([':', '{', ' ']);
    let rest = rest.strip_suffix(" then").unwrap_or(rest);
    let rest = rest.strip_suffix(" do").unwrap_or(rest).trim();
    let is_enclosed = rest.starts_with('(') && rest.ends_with(')');
    let rest = if is_enclosed {
        &rest[1..rest.len() - 1]
    } else {
        rest
    };
    let is_shown = |text: &str| {
        !text.is_empty() && text.len() < MAX_SHOWN_CODE && !text.contains(['`', '{', '}'])
    };
    match word {
        "if" | "elif" | "elsif" if is_shown(rest) => Some(format!(
            "a plan has no blocks: put `{{\"when\": ${{{rest}}}}}` after each step of this one, without indentation"
        )),
        "else" => Some(
            "a plan has no blocks: put `{\"when\": ${!(…)}}` with the condition after each step of this one, without indentation"
                .to_owned(),
        ),
        "try" | "begin" => Some(
            "a plan has no blocks: put `{\"on_error\": \"continue\"}` after each step of this one, without indentation"
                .to_owned(),
        ),
        "except" | "catch" | "rescue" => Some(
            "a plan has no blocks: put `{\"when\": ${!results.STEP.success}}` after each step of this one, without indentation and with the id of the step that may fail"
                .to_owned(),
        ),
        "finally" | "ensure" => Some(
            "a plan has no blocks: put `{\"after\": [\"STEP\"]}` after each step of this one, without indentation and with the id of the last step before it"
                .to_owned(),
        ),
        "while" | "until" | "repeat" => Some(
            "a plan has no blocks, and repeats one step: put `{\"repeat\": {\"until\": ${…}, \"max\": …}}` after that step, without indentation and with a condition on its own answer, which ends the loop; several steps become the plan of one, `round = {\"plan\": {\"steps\": […]}, \"repeat\": {\"until\": ${round.STEP…}, \"max\": …}}`; what follows the loop has this step in its `after`"
                .to_owned(),
        ),
        "for" | "foreach" => {
            let (name, list) = rest.split_once(" in ").or_else(|| rest.split_once(" of "))?;
            let name = name.trim_start_matches("const ").trim_start_matches("let ").trim();
            (is_shown(name) && is_shown(list.trim())).then(|| {
                let list = list.trim();
                format!(
                    "a plan has no blocks: put `{{\"for_each\": ${{{list}}}}}` after each step of this one, without indentation, and write `${{item}}` for `{name}`"
                )
            })
        }
        _ => None,
    }
}

/// The length of the keyword of a declaration at the start of `code`, with the blanks after it.
pub(crate) fn declaration_length(code: &str) -> Option<usize> {
    let rest = DECLARATIONS.iter().find_map(|word| {
        let rest = code.strip_prefix(word)?;
        rest.starts_with(' ').then(|| rest.trim_start())
    })?;
    Some(code.len() - rest.len())
}

fn without_comment(line: &str) -> &str {
    // A `#` within a text is rare in such lines, and cutting there does no harm.
    line.split_once(" #").map_or(line, |(code, _)| code)
}

/// The keyword with which a line opens a block.
fn opener(code: &str) -> Option<&str> {
    // `} else {`
    let code = code.trim_start_matches('}').trim_start();
    let length = code
        .find(|c: char| !c.is_ascii_lowercase())
        .unwrap_or(code.len());
    let (word, rest) = code.split_at(length);
    if !OPENERS.contains(&word) || rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    // A sentence may begin with the keyword as well, so the line must also look like a block.
    let opens = [":", "{", ")", "}", ";", "|"];
    let choices = [
        " then", " do", "else", "try", "finally", "begin", "loop", "ensure", "rescue",
    ];
    let is_block = opens.iter().any(|end| code.ends_with(end))
        || choices.iter().any(|end| code.ends_with(end))
        || is_condition(rest);
    is_block.then_some(word)
}

/// Returns true if the text after `if` or `while` is a condition and not prose: it has an operator or a reference.
fn is_condition(rest: &str) -> bool {
    const SIGNS: [&str; 12] = [
        "==",
        "!=",
        ">=",
        "<=",
        "&&",
        "||",
        "===",
        " > ",
        " < ",
        "${",
        " := ",
        " in range(",
    ];
    SIGNS.iter().any(|sign| rest.contains(sign))
}

/// Returns true if a line ends with the start of a callback: `xs.forEach(x => {`, `xs.each do |x|`.
fn is_callback(code: &str) -> bool {
    let Some((before, _)) = code.split_once(['(', ' ']) else {
        return false;
    };
    if !before.contains('.') {
        return false;
    }
    let is_arrow = ["=>", "=> {", "-> {", "->"]
        .iter()
        .any(|end| code.ends_with(end));
    let is_do = code.ends_with('|') && code.contains(" do |") || code.ends_with(" do");
    let is_closure = code.ends_with('{') && code.contains(['(', '|']);
    is_arrow || is_do || is_closure
}

/// The target of the assignment in a line of a program: `let x`, `x.y`, `(a, b)`, `x +`.
fn assigned(code: &str) -> Option<String> {
    let (left, right) = split(code)?;
    // A few words before an assignment belong to it; a sentence does not.
    let few = |text: &str| text.split_whitespace().count() <= 4;
    let is_name = |c: char| c.is_alphanumeric() || "_-.$@[](){}'\"`, *:<>|&?!".contains(c);
    if left.is_empty() || !few(left) || !left.chars().all(is_name) {
        return None;
    }
    let declares = DECLARATIONS
        .iter()
        .any(|word| left.starts_with(&format!("{word} ")));
    (declares || is_value(right)).then(|| left.trim_matches(['`', ' ']).to_owned())
}

/// Both sides of the first assignment operator.
fn split(code: &str) -> Option<(&str, &str)> {
    for operator in OPERATORS {
        if let Some((left, right)) = code.split_once(operator) {
            return Some((left.trim(), right.trim()));
        }
    }
    let (left, right) = code.split_once('=')?;
    let compares = right.starts_with(['=', '>', '~']) || left.ends_with(['!', '<', '>', '=']);
    (!compares).then(|| (left.trim(), right.trim()))
}

/// Returns true if `text` is the right side of an assignment and not prose: a call or a reference, up to the end of
/// the line.
fn is_value(text: &str) -> bool {
    let text = text.trim_end_matches([';', ',', '`']);
    let text = text.strip_prefix("await ").unwrap_or(text);
    let length = text
        .find(|c: char| !(c.is_alphanumeric() || "_-./:".contains(c)))
        .unwrap_or(text.len());
    let is_call = length > 0 && text[length..].starts_with('(');
    let ends = text.ends_with([')', '}', ']', '(', '{', '[']);
    (is_call && ends) || (text.starts_with("${") && text.ends_with('}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_programs() {
        for line in [
            "if t.is_dst:",
            "  elif x:  # a comment",
            "else:",
            "for city in cities:",
            "async for x in xs:",
            "while True:",
            "with open(\"x\") as f:",
            "try:",
            "except Error as e:",
            "finally:",
            "def main():",
            "match x:",
            "if (t.isDst) {",
            "} else {",
            "} catch (e) {",
            "for (const x of xs) {",
            "for _, x := range xs {",
            "for x in xs {",
            "function main() {",
            "async function main() {",
            "xs.forEach(x => {",
            "xs.map((x) =>",
            "xs.each do |x|",
            "3.times do",
            "xs.iter().for_each(|x| {",
            "if [ $x = 1 ]; then",
            "for x in a b; do",
            "unless ${t.is_dst}",
            "if t.temp > 5",
            "if x then",
            "if x: a = f(x)",
            "if (x) a = f(x);",
            "for x in xs: f(x)",
            "done",
            "end",
            "fi",
            "let x = 5",
            "let a = f(x=1)",
            "const a = await f();",
            "var a = f(",
            "a := f()",
            "a <- f(x)",
            "a += f(x)",
            "a.b = f()",
            "a[0] = f(x)",
            "(a, b) = f()",
            "a, b = f(x)",
            "a: int = f(x)",
            "$a = f(x);",
            "`a = f()`",
            "- a = f(x=1)",
            "1. a = f(x=1)",
            "a.b = ${c.d}",
            "String a = f(x);",
            "\"a = f()",
        ] {
            assert!(error(line).is_some(), "{line}");
        }
    }

    #[test]
    fn lines_of_words() {
        for line in [
            "",
            "Here is the plan:",
            "For each city:",
            "If it rains, take an umbrella.",
            "for your information",
            "if you want more, ask",
            "when all is done, it returns the mail",
            "First a = f() runs.",
            "The total is the sum = a + b of both",
            "do not worry",
            "end of the plan",
            "a == f()",
            "x => y",
            "# for x in xs:",
            "1. f(1)",
            "#E1 = f[x]",
            "note(s) to keep",
            "It calls `a = f()` first.",
        ] {
            assert_eq!(error(line), None, "{line}");
        }
    }
}
