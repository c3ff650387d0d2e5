//! Lines of prose for people.
//!
//! A line that is neither a step nor prose belongs to a program, and ignoring it would change the meaning of the plan.
//! No list covers all languages, so a line is accepted only if it looks like prose.

use super::foreign_code::{self, NO_BLOCKS};

/// The advice about a line that is not prose.
const HELP: &str = "write `id = tool(name=value)` with its own `{\"when\": ${…}}` or `{\"for_each\": ${…}}`; words belong after a `#`";

/// The advice about a comment that holds code.
const COMMENTS: &str = "a comment begins with `#`; remove the line, or write it as a step";

/// Keywords that put other lines under a condition or in a loop.
const CONDITIONS: [&str; 19] = [
    "if",
    "elif",
    "elsif",
    "elseif",
    "else",
    "unless",
    "otherwise",
    "while",
    "until",
    "when",
    "whenever",
    "foreach",
    "repeat",
    "loop",
    "switch",
    "case",
    "except",
    "catch",
    "rescue",
];

/// Words that belong to a program if they are the whole line.
const STANDALONE_WORDS: [&str; 30] = [
    "then",
    "do",
    "done",
    "fi",
    "esac",
    "begin",
    "next",
    "wend",
    "endif",
    "endfor",
    "endwhile",
    "endforeach",
    "endfunction",
    "endswitch",
    "forever",
    "exit",
    "break",
    "continue",
    "pass",
    "quit",
    "stop",
    "default",
    "finally",
    "commit",
    "rollback",
    "try",
    "return",
    "yield",
    "redo",
    "abort",
];

/// Members of [`STANDALONE_WORDS`] that are a heading if a colon follows.
const HEADINGS: [&str; 5] = ["then", "next", "done", "stop", "return"];

/// Keywords of short statements.
const STATEMENT_WORDS: [&str; 24] = [
    "print", "puts", "echo", "assert", "raise", "throw", "del", "delete", "defer", "goto", "break",
    "continue", "exit", "yield", "die", "unset", "rethrow", "return", "import", "package",
    "require", "include", "lambda", "set",
];

/// The first two words of statements in SQL.
const SQL_STATEMENTS: [(&str, &str); 5] = [
    ("insert", "into"),
    ("delete", "from"),
    ("begin", "transaction"),
    ("create", "table"),
    ("drop", "table"),
];

/// Characters of programs that occur in no word. Some may surround a word.
const CODE_CHARS: &str = "{}[]<>=|\\$^~#\"`*;()!?";

/// The error in a line that is not a step, and the advice; `None` for prose.
pub(crate) fn error(line: &str) -> Option<(String, &'static str)> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let not_prose = || Some(("the line is neither a step nor words".to_owned(), HELP));
    if let Some(text) = comment(line) {
        // Models write words in comments of other languages too, which have no effect in any. Code in them is a step that
        // was meant to be left out, or not.
        let is_code = foreign_code::error(text).is_some() || error(text).is_some();
        return is_code.then(|| {
            (
                "a comment of another language holds code".to_owned(),
                COMMENTS,
            )
        });
    }
    if let Some(text) = line.strip_prefix('#') {
        return if is_directive(text) {
            not_prose()
        } else {
            None
        };
    }
    let line = without_list_marker(line);
    if line.chars().all(|c| "-=*_~.–—…+".contains(c)) {
        return None;
    }
    let line = without_inline_code(line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let lower: Vec<String> = words.iter().take(2).map(|word| normalized(word)).collect();
    let first = lower.first().map_or("", String::as_str);
    let second = lower.get(1).map_or("", String::as_str);
    if is_condition(&line, first, second) {
        let message = "the line puts other lines under a condition or in a loop".to_owned();
        return Some((message, NO_BLOCKS));
    }
    let is_prose = is_balanced(&line)
        && !line.ends_with([';', '{', '('])
        && line.contains(char::is_alphabetic)
        && words.iter().all(|word| is_word(word))
        && !is_statement(&line, &words, first, second)
        && !is_label(&line, &words);
    if is_prose { None } else { not_prose() }
}

/// The text of a comment in another language.
fn comment(line: &str) -> Option<&str> {
    let marks = [
        ("//", ""),
        ("/*", "*/"),
        ("<!--", "-->"),
        ("--", ""),
        (";", ""),
    ];
    marks.iter().find_map(|(open, close)| {
        let text = line.strip_prefix(open)?.trim_start_matches(['/', '*', ';']);
        let text = text.trim().strip_suffix(close)?.trim();
        (!text.is_empty() && text.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            .then_some(text)
    })
}

/// Returns true if `text`, which follows a `#`, is a preprocessor directive and no comment: `#if X`.
fn is_directive(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_lowercase());
    let word = &text[..end.unwrap_or(text.len())];
    let directives = [
        "if", "ifdef", "ifndef", "elif", "else", "endif", "include", "define", "pragma",
    ];
    directives.contains(&word)
}

/// `line` without the marker of a list item or a quotation, and without emphasis.
fn without_list_marker(line: &str) -> &str {
    let mut line = line.trim_start_matches(['>', ' ']);
    for mark in ["- ", "* ", "+ ", "• "] {
        line = line.strip_prefix(mark).unwrap_or(line).trim_start();
    }
    if let Some((mark, rest)) = line.split_once(' ') {
        let number = mark.trim_start_matches('(').trim_end_matches(['.', ')']);
        let is_short = number.len() < 4 && mark.ends_with(['.', ')']);
        if is_short && number.chars().all(char::is_alphanumeric) {
            line = rest.trim_start();
        }
    }
    let inner = line.trim_matches(['*', '_']);
    if inner.is_empty() { line } else { inner }
}

/// `line` with a word in place of each piece of inline code. A line that consists of code only is checked as code.
fn without_inline_code(line: &str) -> String {
    let pieces: Vec<&str> = line.split('`').collect();
    let mut around = pieces.iter().step_by(2);
    let mentions = pieces.len() > 2
        && pieces.len() % 2 == 1
        && around.any(|words| words.contains(char::is_alphabetic));
    if !mentions {
        return line.trim_matches('`').to_owned();
    }
    let pieces = pieces.into_iter().enumerate();
    pieces
        .map(|(index, piece)| if index % 2 == 0 { piece } else { "code" })
        .collect()
}

/// Returns true if `line` is the head of a condition or a loop over other lines.
fn is_condition(line: &str, first: &str, second: &str) -> bool {
    let begins = match first {
        "for" => {
            let all = ["each", "every", "all", "any"].contains(&second);
            all || [" in ", " to "].iter().any(|word| line.contains(word))
        }
        "do" => second == "while" || second == "until",
        "only" | "and" | "or" | "but" => CONDITIONS.contains(&second),
        _ => CONDITIONS.contains(&first),
    };
    if !begins {
        return false;
    }
    // A complete sentence, unlike a heading such as `If it rains:`, applies to no other line.
    let is_sentence = line.ends_with(['.', '!', '?']) || line.contains(", ");
    let opens = line.ends_with([':', '(', ')', ','])
        || [" then", " THEN", " do", " DO"]
            .iter()
            .any(|end| line.ends_with(end));
    opens || !is_sentence || line.split_whitespace().count() < 3
}

/// Returns true if `line` closes as many brackets as it opens.
fn is_balanced(line: &str) -> bool {
    let count = |sign: char| line.matches(sign).count();
    count('(') == count(')') && count('[') == count(']')
}

/// Returns true if `word` is a word of prose, perhaps with punctuation around it.
fn is_word(word: &str) -> bool {
    let core = word
        .trim_start_matches(['"', '\'', '(', '[', '*', '_'])
        .trim_end_matches(['"', '\'', ')', ']', '*', '_', '.', ',', ':', ';', '!', '?']);
    if core.is_empty() {
        return ["-", "...", ":", "!", "?"].contains(&word);
    }
    // An address may hold any of the characters below.
    if core.starts_with("https://") || core.starts_with("http://") {
        return true;
    }
    let core = core.strip_suffix("(s").unwrap_or(core);
    let amount = core.strip_prefix('$');
    let amount = amount.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let core = amount.unwrap_or(core);
    let option = core.strip_prefix('-');
    let is_code = option
        .is_some_and(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '-'))
        || core.ends_with("++")
        || core.ends_with("--")
        || core.contains("::")
        || core.contains("&&")
        || core.starts_with(['@', '%', '.', ':'])
        || ["/*", "*/"].iter().any(|sign| core.contains(sign));
    !is_code && !core.contains(|c| CODE_CHARS.contains(c))
}

/// Returns true if `line` is a short statement: `print x`, `END IF`, `exit`.
fn is_statement(line: &str, words: &[&str], first: &str, second: &str) -> bool {
    let starts = words.first().copied().unwrap_or_default();
    let rest: String = starts.chars().skip(1).collect();
    let is_capital = starts.starts_with(char::is_uppercase) && rest != rest.to_uppercase();
    let ends_sentence = line.ends_with(['.', '!', '?']);
    let is_sentence = ends_sentence || line.ends_with(':') || line.contains(", ");
    let few = words.len() < 4;
    let of_blocks = ["for", "def", "function", "sub", "select"];
    match words.len() {
        0 => return false,
        1 if first == "end" => return true,
        1 if STANDALONE_WORDS.contains(&first) => {
            let is_heading = line.ends_with(':') && HEADINGS.contains(&first);
            return !(is_capital && (ends_sentence || is_heading));
        }
        1 if starts.trim_end_matches(['.', ':', ',']).contains('.') => return true,
        _ => {}
    }
    (first == "end"
        && (STANDALONE_WORDS.contains(&second)
            || CONDITIONS.contains(&second)
            || of_blocks.contains(&second)))
        || (first == "select" && second == "case")
        || (first == "from" && words.contains(&"import"))
        || (!ends_sentence && SQL_STATEMENTS.contains(&(first, second)))
        || (few && !is_sentence && STATEMENT_WORDS.contains(&first))
        || (few && !is_capital && words.iter().any(|word| is_path(word)))
        || (!is_sentence && starts.contains('_'))
        || (!is_capital
            && !is_sentence
            && ["do", "of", "then", "begin", "yield"]
                .iter()
                .any(|word| words.last() == Some(word)))
}

/// Words with a colon that begin a line of prose, even in lower case.
const LABELS: [&str; 10] = [
    "plan:",
    "steps:",
    "note:",
    "notes:",
    "summary:",
    "goal:",
    "task:",
    "question:",
    "answer:",
    "thought:",
];

/// Returns true if `line` is a label or a target followed by names, as in a makefile: `all: x y`, `loop:`.
fn is_label(line: &str, words: &[&str]) -> bool {
    let Some((label, names)) = words.split_first() else {
        return false;
    };
    let is_name = |word: &str| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.$/".contains(c);
        !word.is_empty() && word.chars().all(is_part)
    };
    if label.len() > 3 && label.starts_with('"') && label.ends_with("\":") {
        return true;
    }
    let is_sentence = line.ends_with(['.', '!', '?']) || names.len() > 3;
    label.strip_suffix(':').is_some_and(is_name)
        && !LABELS.contains(label)
        && !is_sentence
        && names.iter().all(|name| is_name(name))
}

/// `word` in lower case, without punctuation around it.
fn normalized(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.to_lowercase()
}

/// Returns true if `word` is a path such as `t.items`.
fn is_path(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let mut parts = word.split('.');
    let is_long = parts.clone().any(|part| part.len() > 1);
    word.contains('.') && is_long && parts.all(|part| part.starts_with(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_accepted() {
        for line in [
            "",
            "---",
            "# if x:",
            "#E1 = f[x]",
            "// the file is written next",
            "/* then it is mailed */",
            "-- fetch first",
            "note: fetch first",
            "(all of it)",
            "See https://example.com/x?y=1 for more.",
            "plan:",
            "Targets: a b",
            "cities: those that it names, in order",
            "Here is the plan:",
            "Plan:",
            "Step 1: fetch the orders",
            "1. Fetch the orders of $5.00 and more.",
            "2) Then (and only then) mail them; nothing else.",
            "- Then mail it:",
            "**Both at once**",
            "> Quoted words",
            "It calls `a = f()` first.",
            "If it rains, take an umbrella.",
            "If you want more, ask",
            "when all is done, it returns the mail",
            "for your information",
            "do not worry",
            "end of the plan",
            "note(s) to keep",
            "a note (in words)",
            "That is all.",
            "Done.",
            "Next, it mails report.md to ada@example.com and example.com/x.",
            "Writes report.md",
            "Let's go!",
            "e.g. this one",
            "\"Quoted\" and 'quoted' – 50% of it",
            "Voici le plan :",
            "これが計画です：",
            "Hier ist der Plan …",
            "Änderungen folgen",
        ] {
            assert_eq!(error(line), None, "{line}");
        }
    }

    #[test]
    fn lines_of_programs_are_refused() {
        for line in [
            "3.times {",
            "// w = f(x=1)",
            "//w = f()",
            "// if t.ok:",
            "/* w = f() */",
            "<!-- w = f() -->",
            "-- w = f()",
            "; w = f()",
            "/// w = ${a.b}",
            "lambda x: x",
            "import os",
            "from x import y",
            "\"id\": \"a\",",
            "curl -X POST http://x",
            "rm -rf /",
            "#include <x.h>",
            "INSERT INTO x VALUES (1)",
            "set w 5",
            "all: x",
            "all: x y",
            "clean:",
            "loop:",
            "tool: get_weather",
            "when: t.ok",
            "t.items.each { |x|",
            "until t.is_dst",
            "repeat",
            "::again::",
            "goto again",
            "defer f(x)",
            "go func() {",
            "'outer: for x in t.items {",
            "fetch().then((t) => {",
            "}))",
            "(",
            "(when t",
            "[[ $t ]] && {",
            "t.ok && f(x)",
            "t.ok ? f(x) : null",
            "| t.is_dst",
            "IF t.is_dst THEN",
            "FOR i := 1 TO 10 DO",
            "BEGIN",
            "END.",
            "End If",
            "Next",
            "Select Case t",
            "case t.hour of",
            "1:",
            "CASE 1",
            "COMMIT;",
            "IF EXISTS (SELECT 1)",
            "<?php",
            "<% if t %>",
            "{% if t %}",
            "<xsl:if test=\"t\">",
            "#if DEBUG",
            "#endif",
            "if x",
            "If ${t.ok}:",
            "**if t.ok:**",
            "`if t.ok:`",
            "- If it is late:",
            "2. if it is late then",
            "For each city:",
            "FOR EACH x IN xs",
            "Otherwise:",
            "only if it is late:",
            "Repeat three times:",
            "assert t.ok",
            "print t.x",
            "puts x",
            "echo $x",
            "n++",
            "write_file --path a",
            "2. f(1)",
            "- f(x=1)",
            "f(x=1)  # writes",
            "/*",
            "\"\"\"",
            "<!--",
            "cat <<EOF",
            "exit",
            "break",
            "throw new Error(\"x\")",
            "resource \"x\" \"y\" {",
            "@task",
            "x => y",
            "a == f()",
            "t.items",
        ] {
            assert!(error(line).is_some(), "{line}");
        }
    }
}
