//! Lanes of graphs of various shapes.

use insta::assert_snapshot;
use planwright_core::plan::{Alternative, Form, Node, Read, Reference, Source};
use planwright_core::{Place, Step, StepId};

use super::{Drawing, Style, after, body, checked, graph, plan, step};

#[test]
fn steps_that_have_nothing_to_do_with_each_other() {
    let steps = vec![
        step("a", "get", &[]),
        step("b", "get", &[]),
        step("c", "put", &[]),
    ];
    assert_snapshot!(graph(steps), @r#"
    ●  a  get
    ●  b  get
    ●  c  put
    "#);
}

#[test]
fn a_chain() {
    let steps = vec![
        step("a", "get", &[]),
        step("b", "turn", &["a"]),
        step("c", "put", &["b"]),
    ];
    assert_snapshot!(graph(steps), @r#"
    ●  a  get
    │
    ●  b  turn
    │
    ●  c  put
    "#);
}

#[test]
fn a_diamond() {
    let steps = vec![
        step("files", "list_files", &[]),
        step("count", "count_lines", &["files"]),
        step("search", "search_text", &["files"]),
        step("report", "write", &["count", "search"]),
    ];
    assert_snapshot!(graph(steps), @r#"
    ●    files   list_files
    ├─╮
    │ ●  count   count_lines
    ● │  search  search_text
    ├─╯
    ●    report  write
    "#);
}

#[test]
fn many_into_one() {
    let steps = vec![
        step("tokyo", "get_weather", &[]),
        step("london", "get_weather", &[]),
        step("oslo", "get_weather", &[]),
        step("compare", "compare_data", &["tokyo", "london", "oslo"]),
        step("tell", "notify", &["compare"]),
    ];
    assert_snapshot!(graph(steps), @r#"
    ●      tokyo    get_weather
    │ ●    london   get_weather
    │ │ ●  oslo     get_weather
    ├─┴─╯
    ●      compare  compare_data
    │
    ●      tell     notify
    "#);
}

#[test]
fn one_into_many() {
    let steps = vec![
        step("files", "list_files", &[]),
        step("a", "read_file", &["files"]),
        step("b", "read_file", &["files"]),
        step("c", "read_file", &["files"]),
        step("apart", "ping", &[]),
    ];
    assert_snapshot!(graph(steps), @r#"
    ●    files  list_files
    ├─╮
    │ ●  a      read_file
    ├─╮
    │ ●  b      read_file
    ●    c      read_file
    ●    apart  ping
    "#);
}

#[test]
fn lanes_that_cross() {
    let steps = vec![
        step("a", "get", &[]),
        step("b", "get", &[]),
        step("c", "get", &[]),
        step("d", "join", &["a", "c"]),
        step("e", "join", &["b", "d"]),
        step("f", "join", &["a", "e", "b"]),
        step("g", "end", &["d"]),
    ];
    assert_snapshot!(graph(steps), @r#"
    ●        a  get
    │ ●      b  get
    │ │ ●    c  get
    ├─│─┤
    │ │ ●    d  join
    │ ├─┼─╮
    │ │ │ ●  e  join
    ├─┴─│─╯
    ●   │    f  join
        ●    g  end
    "#);
}

#[test]
fn steps_that_are_written_before_what_they_wait_for() {
    let steps = vec![
        step("last", "put", &["middle"]),
        step("middle", "turn", &["first"]),
        step("first", "get", &[]),
    ];
    assert_snapshot!(graph(steps), @r#"
    ●  first   get
    │
    ●  middle  turn
    │
    ●  last    put
    "#);
}

#[test]
fn order_alone_is_dashed() {
    let steps = vec![
        step("backup", "create_backup", &[]),
        step("check", "verify", &["backup"]),
        after(step("migrate", "migrate", &[]), &["check", "backup"]),
        after(step("clean", "clean_up", &["backup"]), &["migrate"]),
    ];
    assert_snapshot!(graph(steps), @r#"
    ●    backup   create_backup
    ├─╮
    │ ●  check    verify
    ├─┤
    │ ●  migrate  migrate
    ├─╯
    ●    clean    clean_up
    "#);
}

#[test]
fn more_lanes_than_fit_are_named() {
    let ids: Vec<String> = (1..=15).map(|number| format!("page{number}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut steps: Vec<Step> = names.iter().map(|id| step(id, "fetch", &[])).collect();
    steps.push(step("all", "join", &names));
    steps.push(step("one", "show", &["page14"]));
    assert_snapshot!(graph(steps), @r#"
    ●                          page1   fetch
    │ ●                        page2   fetch
    │ │ ●                      page3   fetch
    │ │ │ ●                    page4   fetch
    │ │ │ │ ●                  page5   fetch
    │ │ │ │ │ ●                page6   fetch
    │ │ │ │ │ │ ●              page7   fetch
    │ │ │ │ │ │ │ ●            page8   fetch
    │ │ │ │ │ │ │ │ ●          page9   fetch
    │ │ │ │ │ │ │ │ │ ●        page10  fetch
    │ │ │ │ │ │ │ │ │ │ ●      page11  fetch
    │ │ │ │ │ │ │ │ │ │ │ ●    page12  fetch
    │ │ │ │ │ │ │ │ │ │ │ │ ●  page13  fetch
    │ │ │ │ │ │ │ │ │ │ │ │ ●  page14  fetch
    │ │ │ │ │ │ │ │ │ │ │ │ ●  page15  fetch
    ├─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─╯
    ●                          all     join   ← page13, page14, page15
    ●                          one     show   ← page14
    "#);
}

#[test]
fn cycles_are_reported() {
    let steps = vec![
        step("a", "get", &[]),
        step("b", "turn", &["d", "a"]),
        step("c", "turn", &["b"]),
        step("d", "turn", &["c"]),
        step("e", "put", &["d"]),
        step("self", "put", &["self"]),
    ];
    assert_snapshot!(body(&Drawing::of_unchecked(&plan(steps)).text(&Style::default())), @r#"
    ●    a     get
    │ ●  self  put   waits for itself
    ●    b     turn  waits for d in a cycle
    │
    ●    c     turn
    │
    ●    d     turn
    │
    ●    e     put
    "#);
}

#[test]
fn a_dashed_lane_carries_no_data() {
    let mut maybe = step("maybe", "show", &["b"]);
    let alternatives =
        ["b", "c"].map(|id| Alternative::Read(Read::whole(Source::Step(StepId::new(id)))));
    maybe.args = Node::reference(Reference {
        text: "${b ?? c}".into(),
        place: Place::NOWHERE,
        form: Form::First(alternatives.into()),
    });
    let steps = vec![
        step("a", "get", &[]),
        step("b", "get", &[]),
        step("c", "get", &[]),
        step("d", "put", &["a"]),
        after(step("e", "put", &["b"]), &["a"]),
        maybe,
    ];
    let drawing = Drawing::of(&checked(plan(steps)));
    assert_snapshot!(body(&drawing.text(&Style::default())), @r#"
    ●        a      get
    │ ●      b      get
    │ │ ●    c      get
    ├─│─┊─╮
    ┊ │ ┊ ●  d      put
    ├─┤ ┊
    ● │ ┊    e      put
      ├─╯
      ●      maybe  show
    "#);
    assert_snapshot!(drawing.mermaid(), @r#"
    flowchart TD
        s0["<b>a</b><br/>get"]
        s1["<b>b</b><br/>get"]
        s2["<b>c</b><br/>get"]
        s3["<b>d</b><br/>put"]
        s4["<b>e</b><br/>put"]
        s5["<b>maybe</b><br/>show"]
        s0 --> s3
        s0 --> s4
        s1 --> s4
        s1 --> s5
        s2 -.-> s5
        linkStyle 1 stroke-dasharray: 8 5
    "#);
}
