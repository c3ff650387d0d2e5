//! Separation of Rust source into code, comments and literals, without parsing.

/// Two views of a Rust file with the same lines. In each, the other view and all literals are blank.
#[derive(Debug)]
pub(crate) struct RustText {
    pub(crate) code: String,
    pub(crate) comments: String,
}

#[derive(Clone, Copy)]
enum Part {
    Code,
    Comment,
    Literal,
}

impl RustText {
    /// Creates the views of `text`.
    pub(crate) fn new(text: &str) -> Self {
        let mut views = Self {
            code: String::with_capacity(text.len()),
            comments: String::with_capacity(text.len()),
        };
        let mut rest = text;
        let mut in_word = false;
        while let Some(next) = rest.chars().next() {
            let (part, length) = next_part(rest, in_word);
            in_word = matches!(part, Part::Code) && is_word(next);
            let (taken, left) = rest.split_at(length);
            views.push(part, taken);
            rest = left;
        }
        views
    }

    fn push(&mut self, part: Part, taken: &str) {
        let blank = || {
            taken
                .chars()
                .map(|letter| if letter == '\n' { '\n' } else { ' ' })
        };
        match part {
            Part::Code => self.code.push_str(taken),
            _ => self.code.extend(blank()),
        }
        match part {
            Part::Comment => self.comments.push_str(taken),
            _ => self.comments.extend(blank()),
        }
    }
}

/// Returns the kind and the length of the first part of `rest`.
fn next_part(rest: &str, in_word: bool) -> (Part, usize) {
    let first = rest.chars().next().map_or(1, char::len_utf8);
    if rest.starts_with("//") {
        return (Part::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Part::Comment, block_comment(rest));
    }
    if rest.starts_with('"') {
        return (Part::Literal, quoted(rest, '"'));
    }
    if rest.starts_with('\'') {
        return match character(rest) {
            Some(length) => (Part::Literal, length),
            None => (Part::Code, first),
        };
    }
    if !in_word && let Some(length) = raw(rest) {
        return (Part::Literal, length);
    }
    (Part::Code, first)
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if !escaped && letter == quote {
            return at + letter.len_utf8();
        }
        escaped = !escaped && letter == '\\';
    }
    rest.len()
}

/// Returns the length of a character literal, or `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut letters = rest.chars().skip(1);
    let inner = letters.next()?;
    if inner == '\\' || letters.next() == Some('\'') {
        return Some(quoted(rest, '\''));
    }
    None
}

/// Returns the length of a raw string literal, such as `br##"…"##`.
fn raw(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let after = after.strip_prefix('r')?;
    let quoted = after.trim_start_matches('#');
    let body = quoted.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(after.len() - quoted.len()));
    let opening = rest.len() - body.len();
    Some(
        body.find(&end)
            .map_or(rest.len(), |at| opening + at + end.len()),
    )
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str, comments: &str) {
        let views = RustText::new(text);
        let words = |view: &str| view.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&views.code), code, "the code of {text}");
        assert_eq!(words(&views.comments), comments, "the comments of {text}");
        assert_eq!(views.code.chars().count(), text.chars().count());
        assert_eq!(views.code.lines().count(), text.lines().count());
    }

    #[test]
    fn views_keep_their_own_part() {
        check("let a = 1; // one", "let a = 1;", "// one");
        check("a /* b /* c */ d */ e", "a e", "/* b /* c */ d */");
        check(r#"f("// no \" comment") + 1"#, "f( ) + 1", "");
        check(r##"f(r#"a " b"#, br"\");"##, "f( , );", "");
        check("'a' 'b: loop {} '\\'' // c", "'b: loop {}", "// c");
        check("'é', \"ü\n\" x", ", x", "");
        check("for_bar\"x\"", "for_bar", "");
        check("\"open", "", "");
    }
}
