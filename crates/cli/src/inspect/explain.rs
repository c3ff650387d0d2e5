//! `planwright explain CODE`: the page of a diagnostic code or of a kind of error, which the program contains.

use planwright::core::Code;
use planwright::dialects::document::nearest;
use planwright::engine::ErrorKind;
use planwright::format::ExplanationV1;

use crate::args::{ExplainArguments, Format, RunFormat};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::paragraph::filled;
use crate::view::printer::{BOLD, Printer, styled};

/// All pages of `docs/codes` and `docs/errors`, one after the other. `cargo xtask generate` writes the file: a package
/// has no `docs`.
const PAGES: &str = include_str!("explain/pages.txt");

/// Maximum width of a paragraph, in columns. Longer lines are hard to read.
const MAX_COLUMNS: usize = 100;

/// `planwright explain CODE`
pub(crate) fn explain(
    arguments: &ExplainArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let Some(name) = &arguments.code else {
        list(arguments.format, printer)?;
        return Ok(Exit::Success);
    };
    let subject = find(name)?;
    match arguments.format {
        Format::Json => output::json(&subject.explanation(), RunFormat::Json, printer)?,
        Format::Text => {
            let columns = Printer::data_width().min(MAX_COLUMNS);
            printer.pages(&rendered(subject.page(), columns));
        }
    }
    Ok(Exit::Success)
}

/// Prints each code and each kind of error with its title.
fn list(format: Format, printer: Printer) -> Result<(), CommandError> {
    match format {
        Format::Json => {
            let all: Vec<ExplanationV1> = subjects().map(Subject::explanation).collect();
            output::json(&all, RunFormat::Json, printer)
        }
        Format::Text => {
            let width = subjects().map(|each| each.name.len()).max().unwrap_or(0);
            for Subject { name, title } in subjects() {
                let padding = " ".repeat(width - name.len());
                printer.data_line(&format!("{}{padding}  {title}", styled(BOLD, name)));
            }
            Ok(())
        }
    }
}

/// A page's subject: a diagnostic code, or the kind of a step's error.
#[derive(Clone, Copy, Debug)]
struct Subject {
    name: &'static str,
    title: &'static str,
}

impl Subject {
    fn page(self) -> &'static str {
        let heading = format!("# {}: ", self.name);
        let start = PAGES.find(&heading).unwrap_or(PAGES.len());
        let page = &PAGES[start..];
        let end = page.find("\n# ").map_or(page.len(), |at| at + 1);
        page[..end].trim_end()
    }

    fn explanation(self) -> ExplanationV1 {
        ExplanationV1::new(self.name, self.title, self.page())
    }
}

fn subjects() -> impl Iterator<Item = Subject> {
    let codes = Code::ALL.iter().map(|code| Subject {
        name: code.as_str(),
        title: code.title(),
    });
    let kinds = ErrorKind::ALL.into_iter().map(|kind| Subject {
        name: kind.as_str(),
        title: kind.title(),
    });
    codes.chain(kinds)
}

/// Returns the subject with this name. Case and leading zeros do not matter: `pw201` and `201` are `PW0201`.
fn find(name: &str) -> Result<Subject, CommandError> {
    let wanted = name.trim().to_ascii_uppercase();
    let digits = wanted.strip_prefix("PW").unwrap_or(&wanted);
    let is_code = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    let wanted = if is_code {
        format!("PW{digits:0>4}")
    } else {
        wanted.to_ascii_lowercase()
    };
    if let Some(subject) = subjects().find(|subject| subject.name == wanted) {
        return Ok(subject);
    }
    let error = CommandError::new(format!(
        "`{name}` is neither a diagnostic code nor a kind of error"
    ));
    let names = subjects().map(|subject| subject.name);
    Err(match nearest(&wanted, names) {
        Some(near) => error.hint(format!("did you mean `planwright explain {near}`?")),
        None => error.hint("`planwright explain` lists all codes and kinds"),
    })
}

/// Returns the page of a code or of a kind of error, in Markdown.
pub(crate) fn page(name: &str) -> Option<&'static str> {
    subjects()
        .find(|subject| subject.name == name)
        .map(Subject::page)
}

/// Formats a page for a terminal: paragraphs of at most `columns`, indented examples, and no Markdown syntax.
fn rendered(page: &str, columns: usize) -> String {
    let mut text = String::new();
    let mut paragraph = String::new();
    let mut is_example = false;
    let flush = |paragraph: &mut String, text: &mut String| {
        if !paragraph.is_empty() {
            let indentation = if paragraph.starts_with("- ") { 2 } else { 0 };
            text.push_str(&filled(&without_marks(paragraph), columns, indentation));
            text.push('\n');
            paragraph.clear();
        }
    };
    for line in page.lines() {
        if line.starts_with("```") {
            flush(&mut paragraph, &mut text);
            is_example = !is_example;
        } else if is_example {
            text.push_str(format!("    {line}").trim_end());
            text.push('\n');
        } else if let Some(heading) = line.trim_start_matches('#').strip_prefix(' ')
            && line.starts_with('#')
        {
            flush(&mut paragraph, &mut text);
            text.push_str(&styled(BOLD, heading));
            text.push('\n');
        } else if line.trim().is_empty() {
            flush(&mut paragraph, &mut text);
            text.push('\n');
        } else {
            if line.starts_with("- ") {
                flush(&mut paragraph, &mut text);
            } else if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line.trim());
        }
    }
    flush(&mut paragraph, &mut text);
    text
}

/// Removes the marks of emphasis, and the targets of links, which the terminal cannot follow.
fn without_marks(paragraph: &str) -> String {
    let mut text = String::new();
    let mut rest = paragraph;
    while let Some(at) = rest.find(['[', '*', '`']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("**") {
            rest = after;
        } else if let Some((name, after)) = link(rest) {
            text.push_str(name);
            rest = after;
        } else if let Some((code, after)) = code_span(rest) {
            // Brackets and asterisks in code are not marks.
            text.push_str(code);
            rest = after;
        } else {
            text.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    text
}

/// Splits `[name](target)` from the beginning of a text: the name and the rest.
fn link(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (_, rest) = rest.split_once(')')?;
    (!name.contains('[')).then_some((name, rest))
}

/// Splits a span of code, with its backticks, from the beginning of a text.
fn code_span(text: &str) -> Option<(&str, &str)> {
    let end = text.strip_prefix('`')?.find('`')? + 2;
    Some(text.split_at(end))
}

#[cfg(test)]
mod tests {
    use planwright::terminal_text;

    use super::*;

    #[test]
    fn every_subject_has_its_page() {
        for subject in subjects() {
            let Subject { name, title } = subject;
            let page = subject.page();
            assert!(
                page.starts_with(&format!("# {name}: {title}\n")),
                "{name}: {page}"
            );
            assert_eq!(page.matches("\n# ").count(), 0, "{name}");
        }
    }

    #[test]
    fn codes_are_found_by_their_digits() {
        for name in ["PW0201", "pw0201", "PW201", "201", " 0201 "] {
            assert_eq!(find(name).unwrap().name, "PW0201", "{name}");
        }
        assert_eq!(find(" Timeout ").unwrap().name, "timeout");
        for (name, hint) in [
            ("timeuot", "did you mean `planwright explain timeout`?"),
            ("PW0299", "did you mean `planwright explain PW0209`?"),
            ("E0308", "`planwright explain` lists all codes and kinds"),
            ("", "`planwright explain` lists all codes and kinds"),
            (
                "PW\u{1b}[31m",
                "`planwright explain` lists all codes and kinds",
            ),
        ] {
            assert_eq!(find(name).unwrap_err().hints(), [hint], "{name}");
        }
    }

    #[test]
    fn pages_are_laid_out_for_a_terminal() {
        let page = "# PW1: a title\n\nWords **Why.** and\n[a page](../x.md#y) with `[*]` in it.\n\n- one item\n  of two lines\n- other\n\n\
            ```json wrong\n{\"a\": [1](2)}\n```\n";
        let plain = anstream::adapter::strip_str(&rendered(page, 20)).to_string();
        assert_eq!(
            plain,
            "PW1: a title\n\nWords Why. and a\npage with `[*]` in\nit.\n\n- one item of two\n  lines\n- other\n\n    {\"a\": [1](2)}\n"
        );
    }

    #[test]
    fn no_paragraph_is_wider_than_the_terminal() {
        for subject in subjects() {
            for columns in [60, 80] {
                let text =
                    anstream::adapter::strip_str(&rendered(subject.page(), columns)).to_string();
                for line in text
                    .lines()
                    .filter(|line| !line.starts_with("    "))
                    .skip(1)
                {
                    let width = terminal_text::width(line);
                    assert!(
                        width <= columns || !line.trim().contains(' '),
                        "{}: {line}",
                        subject.name
                    );
                }
            }
        }
    }
}
