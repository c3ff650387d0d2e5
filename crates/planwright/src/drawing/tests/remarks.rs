//! Remarks beside the graph.

use insta::assert_snapshot;

use super::{Drawing, Mark, Style, Symbols, body, branches, checked, plan, remarkable, step};

#[test]
fn slots_make_edges() {
    let drawn = Drawing::of(&checked(branches())).text(&Style::default());
    assert_snapshot!(drawn, @r#"
    4 steps, 4 tools, longest chain 3

    ●    weather  get_weather  → state.sunny or state.not_sunny
    ├─╮
    │ ●  park     find_park    → state.suggestion
    ● │  movie    find_movie   → state.suggestion
    ├─╯
    ●    suggest  suggest
    "#);
}

#[test]
fn everything_that_can_be_said() {
    let drawing = Drawing::of_unchecked(&remarkable());
    assert_snapshot!(drawing.text(&Style::default()), @r#"
    watch-weather: Watch the weather
    5 steps, 4 tools, longest chain 4, stops at the first failure
    inputs: cities = ["Tokyo","London"], limit (required)

    ●    weather  get_weather  for each of ${inputs.cities}, 4 at a time · Ask for the weather everywhere
    │
    ●    poll     get_status   repeat until ${poll} (max 10) · within 1.5s
    ├─╮
    │ ●  warn     notify       when ${poll} · asks first · alone · up to 3 attempts · may fail
    │ │
    │ ●  rest     put          on error null
    ●    summary  value

    output: summary, warn
    "#);
    let narrow = Style {
        width: Some(70),
        symbols: Symbols::Ascii,
        colour: false,
    };
    assert_snapshot!(drawing.text(&narrow), @r#"
    watch-weather: Watch the weather
    5 steps, 4 tools, longest chain 4, stops at the first failure
    inputs: cities = ["Tokyo","London"], limit (required)

    *    weather  get_weather  for each of ${inputs.cities}, 4 at a time
    |                          Ask for the weather everywhere
    |
    *    poll     get_status   repeat until ${poll} (max 10); within 1.5s
    |-.
    | *  warn     notify       when ${poll}; asks first; alone
    | |                        up to 3 attempts; may fail
    | |
    | *  rest     put          on error null
    *    summary  value

    output: summary, warn
    "#);
}

#[test]
fn a_finished_run() {
    let mut drawing = Drawing::of(&checked(branches()));
    for (id, mark) in [
        ("weather", Mark::Succeeded),
        ("park", Mark::Failed),
        ("movie", Mark::Skipped),
        ("suggest", Mark::Waiting),
    ] {
        drawing.mark(id, mark);
    }
    assert_snapshot!(body(&drawing.text(&Style::default())), @r#"
    ✓    weather  get_weather  → state.sunny or state.not_sunny
    ├─╮
    │ ✗  park     find_park    → state.suggestion
    – │  movie    find_movie   → state.suggestion
    ├─╯
    ○    suggest  suggest
    "#);
    let ascii = Style {
        symbols: Symbols::Ascii,
        ..Style::default()
    };
    assert_snapshot!(body(&drawing.text(&ascii)), @r#"
    +    weather  get_weather  -> state.sunny or state.not_sunny
    |-.
    | x  park     find_park    -> state.suggestion
    - |  movie    find_movie   -> state.suggestion
    |-'
    o    suggest  suggest
    "#);
}

#[test]
fn colours_change_nothing_but_colours() {
    let drawing = Drawing::of_unchecked(&remarkable());
    let coloured = drawing.text(&Style {
        colour: true,
        ..Style::default()
    });
    assert!(coloured.contains("\u{1b}[1m"));
    let plain = anstream::adapter::strip_str(&coloured).to_string();
    let trimmed = |text: &str| -> Vec<String> {
        let lines = text.lines();
        lines.map(|line| line.trim_end().to_owned()).collect()
    };
    assert_eq!(trimmed(&plain), trimmed(&drawing.text(&Style::default())));
}

#[test]
fn nothing_in_a_plan_steers_the_terminal() {
    let drawing = Drawing::of_unchecked(&plan(vec![step("a\u{1b}[2J\nb", "t\u{7}", &[])]));
    let text = drawing.text(&Style::default());
    assert_snapshot!(text, @r#"
    1 step, 1 tool

    ●  a\u{1b}[2J b  t\u{7}
    "#);
}
