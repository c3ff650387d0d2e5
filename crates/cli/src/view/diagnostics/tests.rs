//! Findings in both looks.

use insta::assert_snapshot;
use planwright::core::{Code, Diagnostic, Diagnostics};

use super::report::Excerpt;
use super::report::{Look, compact, count_line, graphical};
use super::show;
use crate::args::Colour;
use crate::view::printer::Printer;

const PLAN: &str = r#"{
  "steps": [
    {"id": "a", "tool": "get_wether", "args": {"city": "東京"}},
    {
      "id": "b",
      "tool": "notify"
    }
  ]
}
"#;

/// A diagnostic about the first `spot` in the plan.
fn about(diagnostic: Diagnostic, pointer: &str, spot: &str) -> Diagnostic {
    let start = PLAN.find(spot).unwrap();
    diagnostic.at_span(pointer, start..start + spot.len())
}

fn texts() -> Vec<(String, String)> {
    vec![("plan.json".to_owned(), PLAN.to_owned())]
}

fn diagnostics() -> Diagnostics {
    let mut long = about(
        Diagnostic::error(
            Code::MissingArgument,
            "the tool `notify` needs the argument `text`",
        ),
        "/steps/1",
        "{\n      \"id\": \"b\",\n      \"tool\": \"notify\"\n    }",
    );
    long.help = Some("add `text` to `args`".into());
    let mut elsewhere = Diagnostic::warning(Code::UnusedInput, "the input `n` is never read");
    elsewhere.source = Some("library/other.json".into());
    [
        about(
            Diagnostic::error(Code::UnknownTool, "unknown tool `get_wether`"),
            "/steps/0/tool",
            "\"get_wether\"",
        )
        .help("did you mean `get_weather`?"),
        long,
        about(
            Diagnostic::warning(Code::InvalidLiteral, "odd \u{1b}[31mcity"),
            "/steps/0/args/city",
            "\"東京\"",
        ),
        elsewhere,
    ]
    .into_iter()
    .collect()
}

fn drawn(diagnostics: &Diagnostics, texts: &[(String, String)], width: usize) -> String {
    graphical(
        diagnostics,
        texts,
        Look {
            width,
            coloured: false,
        },
    )
}

#[test]
fn with_the_spot() {
    assert_snapshot!(drawn(&diagnostics(), &texts(), 80), @r#"
    error PW0201

      × unknown tool `get_wether`
       ╭─[plan.json:3:25]
     2 │   "steps": [
     3 │     {"id": "a", "tool": "get_wether", "args": {"city": "東京"}},
       ·                         ──────┬─────
       ·                               ╰── step `a`: /steps/0/tool
     4 │     {
       ╰────
      help: did you mean `get_weather`?

    error PW0502

      × the tool `notify` needs the argument `text`
       ╭─[plan.json:4:5]
     3 │     {"id": "a", "tool": "get_wether", "args": {"city": "東京"}},
     4 │     {
       ·     ┬
       ·     ╰── step `b`: /steps/1
     5 │       "id": "b",
     6 │       "tool": "notify"
       ╰────
      help: add `text` to `args`

    warning PW0501

      ⚠ odd \u{1b}[31mcity
       ╭─[plan.json:3:56]
     2 │   "steps": [
     3 │     {"id": "a", "tool": "get_wether", "args": {"city": "東京"}},
       ·                                                        ───┬──
       ·                                                           ╰── step `a`
     4 │     {
       ╰────

    warning PW0801

      ⚠ the input `n` is never read in `library/other.json`
    "#);
}

#[test]
fn one_a_line() {
    assert_snapshot!(compact(&diagnostics(), &texts()), @r#"
    plan.json:3:25: error PW0201: unknown tool `get_wether` (did you mean `get_weather`?)
        {"id": "a", "tool": "get_wether", "args": {"city": "東京"}},
                            ^^^^^^^^^^^^ step `a`
    plan.json:4:5: error PW0502: the tool `notify` needs the argument `text` (add `text` to `args`)
        {
        ^ step `b`
    plan.json:3:56: warning PW0501: odd \u{1b}[31mcity
        {"id": "a", "tool": "get_wether", "args": {"city": "東京"}},
                                                           ^^^^^^ step `a`
    library/other.json: warning PW0801: the input `n` is never read
    "#);
    assert_snapshot!(count_line(&diagnostics()), @"2 errors, 2 warnings");
}

#[test]
fn the_label_of_a_spot_at_the_end_of_a_line_has_room() {
    let text = r#"{"steps":[{"id":"mail","tool":"t","args":{"to":"a","text":"b","subjct":"x"}}]}"#;
    let start = text.find("\"x\"").unwrap();
    let diagnostic = Diagnostic::error(Code::UnknownArgument, "no parameter `subjct`")
        .at_span("/steps/0/args/subjct", start..start + 3);
    let diagnostics: Diagnostics = [diagnostic].into_iter().collect();
    let texts = [("-".to_owned(), text.to_owned())];
    for width in [50, 60, 70, 80, 100] {
        let drawn = drawn(&diagnostics, &texts, width);
        let label = drawn
            .lines()
            .find(|line| line.contains('╰') && line.contains("step"));
        let label = label.unwrap_or_else(|| panic!("no label: {drawn}"));
        assert!(label.contains("step `mail`"), "{drawn}");
        assert!(label.chars().count() <= width, "{drawn}");
    }
}

#[test]
fn long_lines_are_cut_around_the_spot() {
    let text = format!(
        r#"{{"steps":[{}{{"id":"x","tool":"nope"}}{}]}}"#,
        r#"{"id":"a","tool":"t"},"#.repeat(50),
        r#",{"id":"b","tool":"t"}"#.repeat(50)
    );
    let start = text.find("\"nope\"").unwrap();
    let diagnostic = Diagnostic::error(
        Code::UnknownTool,
        "unknown tool `nope`, which does not occur in any of the catalogs",
    )
    .at_span("/steps/50/tool", start..start + 6);
    let diagnostics: Diagnostics = [diagnostic].into_iter().collect();
    let texts = [("-".to_owned(), text)];
    let narrow = drawn(&diagnostics, &texts, 60);
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 62),
        "{narrow}"
    );
    assert_snapshot!(narrow, @r#"
    error PW0201

      × unknown tool `nope`, which does not occur in any of
      │ the catalogs
       ╭─[-:1:1128]
     1 │ …ool":"t"},{"id":"x","tool":"nope"},{"id":"b","…
       ·                             ───┬──
       ·                                ╰── step `x`
       ╰────
    "#);
}

/// The step of a plan with liberties, and of one in lines, is found as well.
#[test]
fn steps_of_other_texts() {
    let check = |text: &str, pointer: &str, spot: &str, expected: &str| {
        let start = text.find(spot).unwrap();
        let diagnostic = Diagnostic::error(Code::UnknownTool, "unknown")
            .at_span(pointer, start..start + spot.len());
        let diagnostics: Diagnostics = [diagnostic].into_iter().collect();
        let texts = [("plan.json".to_owned(), text.to_owned())];
        let shown = compact(&diagnostics, &texts);
        assert!(shown.ends_with(expected), "{shown}");
    };
    check(
        "{'steps': [{id: 'odd', 'tool': 't'}]}",
        "/steps/0/tool",
        "'t'",
        "^^^ step `odd`\n",
    );
    check(
        "a = t()\nb = u(x=1)\n",
        "/steps/1/tool",
        "u",
        "    b = u(x=1)\n        ^ step `b`\n",
    );
}

/// Spans that no text has, and texts that no span fits, are shown as well as they can be.
#[test]
fn odd_spans() {
    let cases = [
        ("", 0..0, ""),
        ("{", 1..1, ""),
        ("{\n", 2..2, ""),
        ("{\n\n\n", 40..50, ""),
        ("é", 1..1, ""),
        ("[1,\r\n2]\r\n", 5..6, ""),
        ("\n\n\n", 0..3, ""),
        ("a\tb", 2..3, ""),
    ];
    for (text, span, pointer) in cases {
        let diagnostic =
            Diagnostic::error(Code::NotJson, "the text is not JSON").at_span(pointer, span.clone());
        let diagnostics: Diagnostics = [diagnostic].into_iter().collect();
        let texts = [("plan.json".to_owned(), text.to_owned())];
        for width in [0, 20, 80] {
            let shown = drawn(&diagnostics, &texts, width);
            assert!(shown.contains("the text is not JSON"), "{text:?} {span:?}");
            assert!(
                !shown.contains("Failed to read"),
                "{text:?} {span:?} {shown}"
            );
        }
        assert!(compact(&diagnostics, &texts).contains("PW0001"));
    }
    let at_end = Diagnostic::error(Code::NotJson, "the text ends too early").at_span("", 2..2);
    let diagnostics: Diagnostics = [at_end].into_iter().collect();
    assert_snapshot!(drawn(&diagnostics, &[("plan.json".to_owned(), "{\n".to_owned())], 80), @r"
    error PW0001

      × the text ends too early
       ╭─[plan.json:1:2]
     1 │ { 
       ·  ┬
       ·  ╰── here
       ╰────
    ");
}

#[test]
fn colours_change_nothing_but_colours() {
    let look = Look {
        width: 80,
        coloured: true,
    };
    let coloured = graphical(&diagnostics(), &texts(), look);
    assert!(coloured.contains("\u{1b}["));
    let plain = anstream::adapter::strip_str(&coloured).to_string();
    assert_eq!(plain, drawn(&diagnostics(), &texts(), 80));
}

#[test]
fn no_findings_say_nothing() {
    show(&Diagnostics::new(), &texts(), Printer::new(Colour::Never));
    assert_snapshot!(count_line(&Diagnostics::new()), @"");
}

/// Marks that take no column of their own are gone over once, however many there are.
#[test]
fn a_long_line_costs_no_more_than_its_length() {
    let line = format!("{}{}!", "x".repeat(100), "\u{301}".repeat(300_000));
    let spot = line.len() - 1..line.len();
    let excerpt = Excerpt::of("plan.json", &line, spot.into(), 80);
    assert_eq!(excerpt.position(), (1, 300_101));
    assert!(excerpt.spot().offset() <= 80 * 16);
    let line = "東".repeat(1_000_000);
    for at in (0..1000).map(|at| at * 3000) {
        let excerpt = Excerpt::of("plan.json", &line, (at..at + 3).into(), 80);
        assert_eq!(excerpt.position(), (1, at / 3 + 1));
    }
}

#[test]
fn omitted_diagnostics_are_counted() {
    let mut diagnostics = diagnostics();
    assert_eq!(count_line(&diagnostics), "2 errors, 2 warnings");
    diagnostics.note_omitted(7);
    assert_eq!(count_line(&diagnostics), "more than 2 errors, 2 warnings");
}
