//! The script of the page without insignificant spaces.

/// Replacements in the texts of templates, which are markup: the parser of the library ignores these spaces.
const MARKUP_SPACES: &[(&str, &str)] = &[("\n<", "<"), (">\n", ">"), ("\n$", "$"), (" />", "/>")];

/// The characters behind which a slash begins a regular expression.
const BEFORE_EXPRESSION: &str = "(,=:[!&|?{};>";

/// Returns a script without the spaces between its tokens, without separators at the end of blocks and lists, and with the shorter word for
/// variables that do not change.
///
/// The script has semicolons behind all statements, no empty statements, no comments, and no division behind a closing brace.
pub(super) fn without_spaces(script: &str) -> String {
    let mut compact = CompactScript {
        rest: script,
        text: String::with_capacity(script.len()),
        templates: Vec::new(),
    };
    while let Some(next) = compact.rest.chars().next() {
        compact.token(next);
    }
    compact.text
}

/// A script whose beginning is compact.
struct CompactScript<'a> {
    rest: &'a str,
    text: String,
    /// The open templates, each with the number of open braces in its expression.
    templates: Vec<usize>,
}

impl CompactScript<'_> {
    /// Moves a token, or the spaces before one.
    fn token(&mut self, first: char) {
        match first {
            '"' | '\'' => self.quoted(first),
            '`' => {
                self.take(1);
                self.template_text();
            }
            '/' if self.is_expression() => self.regular_expression(),
            '{' => {
                if let Some(open) = self.templates.last_mut() {
                    *open += 1;
                }
                self.take(1);
            }
            '}' => self.closing_brace(),
            ' ' | '\n' => self.spaces(),
            _ if is_word(first) => {
                let end = self.rest.find(|letter| !is_word(letter));
                let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                self.text += if word == "const" { "let" } else { word };
                self.rest = rest;
            }
            _ => self.take(first.len_utf8()),
        }
    }

    /// Moves the next bytes as they are.
    fn take(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        self.text += taken;
        self.rest = rest;
    }

    /// Returns the length of the rest up to the first character for which `is_end` is true, and with it. `is_end` gets each character that is
    /// not escaped, with the text behind it.
    fn length(&self, mut is_end: impl FnMut(char, &str) -> bool) -> usize {
        let mut after = self.rest.chars();
        while let Some(letter) = after.next() {
            if letter == '\\' {
                after.next();
            } else if is_end(letter, after.as_str()) {
                return self.rest.len() - after.as_str().len();
            }
        }
        self.rest.len()
    }

    fn quoted(&mut self, quote: char) {
        let mut is_first = true;
        let length = self.length(|letter, _| !std::mem::take(&mut is_first) && letter == quote);
        self.take(length);
    }

    fn regular_expression(&mut self) {
        let (mut is_first, mut is_in_class) = (true, false);
        let length = self.length(|letter, _| {
            is_in_class = letter == '[' || is_in_class && letter != ']';
            !std::mem::take(&mut is_first) && letter == '/' && !is_in_class
        });
        self.take(length);
    }

    /// Moves the text of a template, up to its end or to an expression.
    fn template_text(&mut self) {
        let is_end = |letter, after: &str| letter == '`' || letter == '$' && after.starts_with('{');
        let (text, rest) = self.rest.split_at(self.length(is_end));
        let (text, rest) = match rest.strip_prefix('{') {
            Some(rest) if text.ends_with('$') => {
                self.templates.push(0);
                (format!("{text}{{"), rest)
            }
            _ => (text.to_owned(), rest),
        };
        self.text += &replaced(text, MARKUP_SPACES);
        self.rest = rest;
    }

    fn closing_brace(&mut self) {
        // The last character of a text, of an expression or of markup is another one.
        if self.text.ends_with([';', ',']) {
            self.text.pop();
        }
        self.take(1);
        match self.templates.last_mut() {
            Some(0) => {
                self.templates.pop();
                self.template_text();
            }
            Some(open) => *open -= 1,
            None => {}
        }
    }

    /// Moves a space only if the tokens around it would be one without it.
    fn spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n']);
        let before = self.text.chars().next_back();
        let after = self.rest.chars().next();
        if let (Some(before), Some(after)) = (before, after)
            && (is_word(before) && is_word(after) || before == after && matches!(after, '+' | '-'))
        {
            self.text.push(' ');
        }
    }

    /// Returns true if an expression may begin here, and not an operator.
    fn is_expression(&self) -> bool {
        let last = self.text.chars().next_back();
        last.is_none_or(|last| BEFORE_EXPRESSION.contains(last)) || self.text.ends_with("return")
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

/// Returns `text` with all replacements, one after the other.
pub(super) fn replaced(text: String, replacements: &[(&str, &str)]) -> String {
    let replacements = replacements.iter();
    replacements.fold(text, |text, (space, short)| text.replace(space, short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expected: &str) {
        assert_eq!(without_spaces(script), expected, "{script}");
    }

    #[test]
    fn tokens_stay_apart() {
        check(
            "const a = b + 1;\nreturn a in b;\n",
            "let a=b+1;return a in b;",
        );
        check("a + +b - -c;", "a+ +b- -c;");
        check(
            "function f() {\n  g();\n}\nconst { a, b, } = f();",
            "function f(){g()}let{a,b}=f();",
        );
        check("const ä = [1, 2];\nlet $x = ä;", "let ä=[1,2];let $x=ä;");
    }

    #[test]
    fn texts_and_expressions_are_not_changed() {
        for text in [
            r"'a, \' b'",
            r#""a ; }""#,
            r"/[/ '] +\/ `/g",
            "`a, b ;`",
            "`a\n b`",
        ] {
            check(&format!("f({text} + {text})"), &format!("f({text}+{text})"));
        }
        check("return /a b/.test(c) / d / e;", "return/a b/.test(c)/d/e;");
        check(
            "`a, ${ b.map((c) => `${ { d: 1, }.d } ; `) } , e`;",
            "`a, ${b.map((c)=>`${{d:1}.d} ; `)} , e`;",
        );
    }

    #[test]
    fn markup_loses_the_spaces_that_its_parser_ignores() {
        check(
            "html`<p class=\"a b\"\nid=${ id }>\n<${Icon} of=${ 1 } />\n${ text } more</p>\n`",
            "html`<p class=\"a b\"\nid=${id}><${Icon} of=${1}/>${text} more</p>`",
        );
    }
}
