//! The questions about calls, plans and servers as they look on a terminal of 80 columns and 24 lines, in colour. A snapshot is the screen at the end:
//! `{bold}`, `{red}` and so on begin a style, `{}` ends it; ids and times are masked.

use std::fs;
use std::num::NonZero;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::decisions::{RUN, set_up, typed, waiting};
use crate::terminal::{Terminal, ends_question};
use crate::typing::at_terminal;

/// The rows and columns of the terminal.
const SIZE: (u16, u16) = (24, 80);

/// Runs the program on such a terminal. A person types each answer as soon as the screen shows the text before it.
pub(crate) fn screen(folder: &Path, arguments: &str, exchange: &[(&str, &str)]) -> String {
    screen_in(folder, "", arguments, exchange)
}

/// Runs the program on such a terminal, with further variables, as a shell has them.
pub(crate) fn screen_in(
    folder: &Path,
    environment: &str,
    arguments: &str,
    exchange: &[(&str, &str)],
) -> String {
    let mut screens = screens_in(folder, environment, arguments, exchange, SIZE);
    screens.pop().unwrap_or_default()
}

/// The screens of a terminal with these rows and columns at each answer of the person, and at the end.
pub(crate) fn screens(
    folder: &Path,
    arguments: &str,
    exchange: &[(&str, &str)],
    size: (u16, u16),
) -> Vec<String> {
    screens_in(folder, "", arguments, exchange, size)
}

fn screens_in(
    folder: &Path,
    environment: &str,
    arguments: &str,
    exchange: &[(&str, &str)],
    (rows, columns): (u16, u16),
) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_planwright");
    let stty = format!("stty rows {rows} cols {columns}");
    let line = format!("{stty}; exec env {environment} '{program}' {arguments}");
    let editor = folder.join("editor");
    let mut variables = vec![("TERM", "xterm-256color")];
    if editor.exists() {
        variables.push(("EDITOR", editor.to_str().unwrap()));
    }
    let mut terminal = Terminal::start(folder, &line, &variables);
    let (rows, columns) = (NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap());
    let mut parser = vt100::Parser::new(rows, columns, 0);
    let mut exchange = exchange.iter();
    let mut next = exchange.next();
    let mut screens = Vec::new();
    loop {
        let bytes = terminal.shown();
        if bytes.is_empty() {
            break;
        }
        parser.process(bytes);
        while let Some((question, answer)) = next
            && is_asked(parser.screen(), question, answer)
        {
            screens.push(rendered(parser.screen()));
            terminal.press(answer);
            next = exchange.next();
        }
    }
    terminal.exit();
    let shown = rendered(parser.screen());
    assert!(next.is_none(), "{next:?} was not asked:\n{shown}");
    screens.push(shown);
    let folder = folder.display().to_string();
    let screens = screens.iter();
    screens
        .map(|shown| masked(&shown.replace(&folder, "/folder")))
        .collect()
}

/// Returns true once a person gives `answer`: the screen shows `question`, and the cursor is behind it if the answer is a line. The beginning of a
/// question may be shown before its end, and the echo of an answer would be written between them.
fn is_asked(screen: &vt100::Screen, question: &str, answer: &str) -> bool {
    let (row, column) = screen.cursor_position();
    let line: String = (0..column)
        .filter_map(|column| screen.cell(row, column))
        .map(|cell| {
            if cell.has_contents() {
                cell.contents()
            } else {
                " "
            }
        })
        .collect();
    screen.contents().contains(question) && (!answer.ends_with('\n') || ends_question(&line))
}

/// The lines of the screen with its styles.
fn rendered(screen: &vt100::Screen) -> String {
    let mut lines = Vec::new();
    let (rows, columns) = screen.size();
    for row in 0..rows.get() {
        let mut line = String::new();
        let mut current = String::new();
        for column in 0..columns.get() {
            let Some(cell) = screen.cell(row, column) else {
                continue;
            };
            if cell.is_wide_continuation() {
                continue;
            }
            let style = style(cell);
            if style != current {
                line.extend(["{", &style, "}"]);
                current = style;
            }
            line.push_str(if cell.has_contents() {
                cell.contents()
            } else {
                " "
            });
        }
        if !current.is_empty() {
            line.push_str("{}");
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n").trim_end().to_owned()
}

fn style(cell: &vt100::Cell) -> String {
    const COLOURS: [&str; 8] = [
        "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
    ];
    let colour = match cell.fgcolor() {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => Some(match COLOURS.get(usize::from(index)) {
            Some(name) => (*name).to_owned(),
            None => format!("colour {index}"),
        }),
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    };
    let flags = [
        (cell.bold(), "bold"),
        (cell.dim(), "dim"),
        (cell.italic(), "italic"),
        (cell.underline(), "underline"),
        (cell.inverse(), "inverse"),
    ];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set);
    let words: Vec<String> = flags
        .map(|(_, word)| word.to_owned())
        .chain(colour)
        .collect();
    words.join(" ")
}

/// `text` with its ids, digests and times replaced, which differ from run to run.
fn masked(text: &str) -> String {
    let id = regex::Regex::new(r"\b[0-9a-f]{8,64}\b").unwrap();
    let time = regex::Regex::new(r"<?\b[0-9.]+ ?(ms|s)\b *").unwrap();
    let spinner = regex::Regex::new("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]").unwrap();
    let text = spinner.replace_all(text, "⠋");
    let text = id.replace_all(&text, "ID");
    let text = time.replace_all(&text, "TIME ");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

pub(crate) fn assert_screen(name: &str, shown: &str) {
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false, snapshot_path => "../golden/prompts"}, {
        insta::assert_snapshot!(name, shown);
    });
}

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    folder
}

fn run(more: &str, exchange: &[(&str, &str)]) -> String {
    let folder = scene();
    let line = format!("{} --var token=sesame-open {more}", RUN.join(" "));
    without_first(&screen(folder.path(), &line, exchange))
}

/// The screen `shown` without the line of the first step, which is written before or after the question. No line has scrolled away.
fn without_first(shown: &str) -> String {
    let lines: Vec<&str> = shown
        .lines()
        .filter(|line| !line.contains("first  look"))
        .collect();
    lines.join("\n")
}

#[test]
fn a_call_of_a_run() {
    assert_screen("call", &run("", &[("[y]es", "y\n")]));
}

#[test]
fn a_call_with_other_arguments() {
    let exchange = [
        ("[y]es", "c\n"),
        ("as JSON", "{\"amount\": 7}\n"),
        ("with these arguments?", "y\n"),
    ];
    assert_screen("changed-arguments", &run("", &exchange));
}

#[test]
fn changed_arguments_are_shown_and_may_be_changed_again_or_rejected() {
    let exchange = [
        ("[y]es", "c\n"),
        ("as JSON", "{\"amount\": 7, \"note\": \"a\\u202eb\"}\n"),
        ("\\u{202e}", "c\n"),
        (
            "in full, [l]ater, [?]: c\narguments as JSON",
            "{\"amount\": 8}\n",
        ),
        ("amount: 8", "n\n"),
    ];
    let folder = scene();
    let line = format!("{} --var token=sesame-open", RUN.join(" "));
    // All lines fit: what has scrolled away depends on the place of the line of the first step.
    let screens = screens(folder.path(), &line, &exchange, (34, 80));
    let shown = without_first(screens.last().unwrap());
    assert_screen("changed-arguments-rejected", &shown);
}

/// A program that a person uses as an editor: it writes `text` into the file.
fn write_editor(folder: &Path, text: &str) {
    let path = folder.join("editor");
    fs::write(&path, format!("#!/bin/sh\nprintf '%s' '{text}' > \"$1\"\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_call_whose_arguments_are_edited() {
    let folder = scene();
    write_editor(folder.path(), r#"{"amount": 7}"#);
    let line = format!("{} --var token=sesame-open", RUN.join(" "));
    let exchange = [("[y]es", "c\n"), ("with these arguments?", "y\n")];
    let shown = screen(folder.path(), &line, &exchange);
    assert_screen("edited-arguments", &without_first(&shown));
}

#[test]
fn an_editor_that_changes_nothing_approves_nothing() {
    let folder = scene();
    let path = folder.path().join("editor");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let line = format!("{} --var token=sesame-open", RUN.join(" "));
    let exchange = [("[y]es", "c\n"), ("unchanged\nmake the call", "n\n")];
    let shown = screen(folder.path(), &line, &exchange);
    assert_screen("unchanged-arguments", &without_first(&shown));
}

#[test]
fn the_answers_are_explained() {
    let folder = scene();
    let line = RUN.join(" ");
    let exchange = [("[y]es", "?\n"), ("then waits\nmake the call", "n\n")];
    // All lines fit: what has scrolled away depends on the place of the line of the first step.
    for (name, columns) in [("answers", 80), ("answers-narrow", 60)] {
        let screens = screens(folder.path(), &line, &exchange, (30, columns));
        assert_screen(name, &without_first(screens.last().unwrap()));
    }
}

/// A loop of three calls that ask, each with a long argument.
fn loop_scene() -> tempfile::TempDir {
    let folder = scene();
    let plan = json!({"steps": [{"id": "pay", "approval": true, "for_each": [1, 2, 3], "tool": "pay",
        "args": {"amount": "${item}", "token": "for the long lunch of the whole team of the third floor"}}]});
    fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
    folder
}

#[test]
fn the_calls_of_a_loop_together() {
    for (name, size) in [("step", (24, 80)), ("step-narrow", (20, 60))] {
        let folder = loop_scene();
        let exchange = [("[s]tep", "s\n"), ("these 3 calls", "y\n")];
        let screens = screens(folder.path(), &RUN.join(" "), &exchange, size);
        let [first, _, end] = &screens[..] else {
            panic!("{screens:?}")
        };
        assert_screen(&format!("{name}-question"), first);
        assert_screen(name, end);
    }
}

#[test]
fn changed_arguments_stay_in_a_decision_about_the_step() {
    let folder = loop_scene();
    let exchange = [
        ("[s]tep", "c\n"),
        ("as JSON", "{\"amount\": 9, \"token\": \"short\"}\n"),
        ("with these arguments?", "s\n"),
        ("these 3 calls", "y\n"),
    ];
    // All lines fit.
    let screens = screens(folder.path(), &RUN.join(" "), &exchange, (50, 80));
    let (asked, end) = (&screens[3], screens.last().unwrap());
    let listed = "pay[0] wants to call simulated.pay\n  amount: 9\n  token: \"short\"";
    assert!(asked.contains(listed), "{asked}");
    let amounts = [
        (9, "short"),
        (2, "for the long lunch"),
        (3, "for the long lunch"),
    ];
    for (amount, token) in amounts {
        assert!(end.contains(&format!("       {amount}  {token}")), "{end}");
    }
}

#[test]
fn the_calls_of_a_loop_one_by_one_after_all() {
    let folder = loop_scene();
    let answers = "s\no\ny\nn\nl\n";
    let (_, end) = typed(folder.path(), &RUN.join(" "), answers);
    assert!(end.contains("1 step of 1 waits"), "{end}");
}

#[test]
fn an_answer_that_was_typed_early_decides_nothing() {
    let folder = scene();
    let step = |id: &str, amount: Value| json!({"id": id, "approval": true, "tool": "pay", "args": {"amount": amount}});
    let plan =
        json!({"steps": [step("first", json!(1)), step("second", json!("${first.amount}"))]});
    fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
    let mut keys = ["y\ny\n", "n\n"].into_iter();
    let (code, shown) = at_terminal(folder.path(), &RUN.join(" "), &[], |since| {
        let is_asked = since.contains("[?]: ");
        is_asked.then(|| keys.next().unwrap_or_default().to_owned())
    });
    assert_eq!(code, Some(1), "{shown}");
    assert_eq!(
        keys.next(),
        None,
        "the second call was not asked about: {shown}"
    );
}

#[test]
fn a_call_with_hidden_characters() {
    let folder = scene();
    let plan = json!({"steps": [{"id": "pay", "approval": true, "tool": "pay",
        "args": {"amount": 1, "token": "a\u{1b}[31mb\u{202e}c\u{200b}d ".to_owned() + &"long ".repeat(400)}}]});
    fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
    let shown = screen(folder.path(), &RUN.join(" "), &[("[y]es", "n\n")]);
    assert_screen("hidden-characters", &shown);
}

#[test]
fn a_whole_plan() {
    assert_screen("plan", &run("--approve plan", &[("[y]es", "n\n")]));
}

#[test]
fn a_stored_call() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &["--var", "token=sesame-open"]);
    let shown = screen(
        folder.path(),
        &format!("approve {id} pay"),
        &[("[y]es", "n\n")],
    );
    assert_screen("stored-call", &shown);
}

#[test]
fn a_file_of_servers_that_was_found() {
    let folder = scene();
    let servers = json!({"mcpServers": {
        "notes": {
            "command": "notes-server", "args": ["--all", "\u{1b}[31mred", "two words"], "cwd": "notes",
            "env": {"HOST": "${NOTES_HOST:-localhost}", "API_KEY": "swordfish", "PROXY": null}
        },
        "remote": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    }});
    fs::write(folder.path().join("mcp.json"), servers.to_string()).unwrap();
    let shown = screen(folder.path(), "run plan.json", &[("[y/N]", "n\n")]);
    assert_screen("trust", &shown);
}

#[test]
fn a_source_that_is_shown_does_not_control_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("plan.json"),
        "{\"steps\": []}\n\u{1b}[31mred\n",
    )
    .unwrap();
    let shown = screen(folder.path(), "show plan.json --as source", &[]);
    assert!(shown.contains("\\u{1b}[31mred"), "{shown}");
}

#[test]
fn a_passphrase() {
    const SET: [(&str, &str); 2] = [
        ("new passphrase: ", "correct horse\n"),
        ("repeat the new passphrase: ", "correct horse\n"),
    ];
    const AGAIN: &str = "the passphrase is wrong; try again\npassphrase for decisions: ";
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &["--var", "token=sesame-open"]);
    assert_screen("passphrase-new", &screen(folder.path(), "passphrase", &SET));
    let line = format!("approve {id} pay");
    let third = format!("{AGAIN}\n{AGAIN}");
    let wrong = [
        ("[y]es", "y\n"),
        ("passphrase for decisions: ", "wrong guess\n"),
        (AGAIN, "another guess\n"),
        (&third, "the last guess\n"),
    ];
    assert_screen("passphrase-wrong", &screen(folder.path(), &line, &wrong));
    let corrected = [
        ("[y]es", "y\n"),
        ("passphrase for decisions: ", "wrong guess\n"),
        (AGAIN, "correct horse\n"),
    ];
    assert_screen(
        "passphrase-of-a-decision",
        &screen(folder.path(), &line, &corrected),
    );
    let so_far = [("current passphrase: ", "correct horse\n")];
    let exchange = [&so_far[..], &SET].concat();
    assert_screen(
        "passphrase-changed",
        &screen(folder.path(), "passphrase", &exchange),
    );
}
