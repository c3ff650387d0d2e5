//! Marks of untrusted and private values in each picture.

use insta::assert_snapshot;
use planwright_core::check::Releases;
use planwright_core::flow::{FlowContext, FlowPattern, FlowPolicy, PlannerLabel};
use planwright_core::plan::{Action, Field, Node, PlanCall, PlanTarget};
use planwright_core::{CheckContext, CheckedPlan, Library, Place, Plan, Step, StepId, check};

use super::{Drawing, Style, Symbols, branches, catalog, checked, name, of_step, plan, step};

fn policy() -> FlowPolicy {
    let rules = |texts: &[&str]| {
        let patterns = texts
            .iter()
            .map(|text| FlowPattern::parse(text).unwrap().into());
        patterns.collect()
    };
    FlowPolicy {
        trusted: rules(&["*.contacts", "*.note", "*.send", "*.balance"]),
        private: rules(&["*.balance"]),
        leaves: rules(&["*:text"]),
        ..FlowPolicy::default()
    }
}

/// A call of `send` with these arguments, each the whole output of a step.
fn send(id: &str, args: &[(&str, &str)]) -> Step {
    let field = |(key, read): &(&str, &str)| Field {
        key: (*key).into(),
        value: of_step(read),
    };
    let fields = args.iter().map(field).collect();
    Step::call(id, "send", Node::object(fields, Place::NOWHERE))
}

/// Mails to a contact and to the sender of a mail, with a private value in the text of one.
fn mails() -> Plan {
    let mut odd = send("odd", &[("to", "mail"), ("text", "rich")]);
    odd.when = Some(of_step("ann"));
    plan(vec![
        step("mail", "read", &[]),
        step("ann", "contacts", &[]),
        step("rich", "balance", &[]),
        send("fine", &[("to", "ann"), ("subject", "mail")]),
        odd,
        step("log", "note", &["fine", "odd"]),
    ])
}

fn marked(plan: &CheckedPlan, policy: &FlowPolicy) -> Drawing {
    let mut drawing = Drawing::of(plan);
    drawing.mark_flow(plan, FlowContext::new(policy, &Releases::default()));
    drawing
}

fn drawn() -> Drawing {
    marked(&checked(mails()), &policy())
}

#[test]
fn text() {
    assert_snapshot!(drawn().text(&Style::default()), @r#"
    6 steps, 5 tools, longest chain 3

    ●        mail  read
    ┃ ●      ann   contacts
    ┃ │ ●    rich  balance
    ┠─┼─┃─┒
    ┃ │ ┃ ●  fine  send      untrusted from mail
    ┠─┴─┚ │
    ●     │  odd   send      when ${ann} · to: untrusted (PW1001) · text: private (PW1002) · private from rich · untrusted from mail
    ├─────╯
    ●        log   note

    flow: ┃ carries untrusted or private values; 2 violations of the policy
    "#);
}

#[test]
fn ascii() {
    let style = Style {
        symbols: Symbols::Ascii,
        ..Style::default()
    };
    assert_snapshot!(drawn().text(&style), @r#"
    6 steps, 5 tools, longest chain 3

    *        mail  read
    ! *      ann   contacts
    ! | *    rich  balance
    !-+-!-.
    ! | ! *  fine  send      untrusted from mail
    !-'-' |
    *     |  odd   send      when ${ann}; to: untrusted (PW1001); text: private (PW1002); private from rich; untrusted from mail
    |-----'
    *        log   note

    flow: ! carries untrusted or private values; 2 violations of the policy
    "#);
}

#[test]
fn mermaid() {
    assert_snapshot!(drawn().mermaid(), @r#"
    flowchart TD
        s0["<b>mail</b><br/>read"]
        s1["<b>ann</b><br/>contacts"]
        s2["<b>rich</b><br/>balance"]
        s3["<b>fine</b><br/>send"]
        c4{"${ann}"}
        s4["<b>odd</b><br/>send<br/>to: untrusted (PW1001)<br/>text: private (PW1002)"]
        s5["<b>log</b><br/>note"]
        c4 -->|yes| s4
        s0 -->|untrusted| s3
        s0 -->|untrusted| c4
        s1 --> s3
        s1 --> c4
        s2 -->|private| c4
        s3 --> s5
        s4 --> s5
        linkStyle 1,2,5 stroke:#c62828,stroke-width:3px
    "#);
}

#[test]
fn dot() {
    assert_snapshot!(drawn().dot(), @r##"
    digraph "plan" {
        node [shape=box, style="rounded,filled", fillcolor=white];
        s0 [label="mail\nread"];
        s1 [label="ann\ncontacts"];
        s2 [label="rich\nbalance"];
        s3 [label="fine\nsend"];
        c4 [shape=diamond, style=solid, label="${ann}"];
        c4 -> s4 [label="yes"];
        s4 [label="odd\nsend\nto: untrusted (PW1001)\ntext: private (PW1002)"];
        s5 [label="log\nnote"];
        s0 -> s3 [label="untrusted", color="#c62828", penwidth=2];
        s0 -> c4 [label="untrusted", color="#c62828", penwidth=2];
        s1 -> s3;
        s1 -> c4;
        s2 -> c4 [label="private", color="#c62828", penwidth=2];
        s3 -> s5;
        s4 -> s5;
    }
    "##);
}

#[test]
fn json() {
    let data = drawn().json();
    let steps = serde_json::to_string(&data.steps[4]).unwrap();
    assert_snapshot!(steps, @r#"{"id":"odd","kind":"tool","tool":"send","when":"${ann}","approval":false,"alone":false,"violations":[{"code":"PW1001","parameter":"to"},{"code":"PW1002","parameter":"text"}]}"#);
    let edges: Vec<String> = data
        .edges
        .iter()
        .map(|edge| serde_json::to_string(edge).unwrap())
        .collect();
    assert_snapshot!(edges.join("\n"), @r#"
    {"from":"mail","to":"fine","kind":"data","optional":false,"integrity":"untrusted","confidentiality":"public"}
    {"from":"ann","to":"fine","kind":"data","optional":false,"integrity":"trusted","confidentiality":"public"}
    {"from":"mail","to":"odd","kind":"data","optional":false,"integrity":"untrusted","confidentiality":"public"}
    {"from":"ann","to":"odd","kind":"data","optional":false,"integrity":"trusted","confidentiality":"public"}
    {"from":"rich","to":"odd","kind":"data","optional":false,"integrity":"trusted","confidentiality":"private"}
    {"from":"fine","to":"log","kind":"data","optional":false,"integrity":"trusted","confidentiality":"public"}
    {"from":"odd","to":"log","kind":"data","optional":false,"integrity":"trusted","confidentiality":"public"}
    "#);
}

#[test]
fn an_exposed_planner_has_violations_without_edges() {
    let exposed = FlowPolicy {
        planner: PlannerLabel::Exposed,
        ..policy()
    };
    let mut lone = step("lone", "send", &[]);
    let to = Field {
        key: "to".into(),
        value: Node::literal("a@b.c".into(), Place::NOWHERE),
    };
    lone.args = Node::object(vec![to], Place::NOWHERE);
    let lone = checked(plan(vec![lone]));
    assert_snapshot!(marked(&lone, &policy()).text(&Style::default()), @r#"
    1 step, 1 tool

    ●  lone  send

    flow: no untrusted or private value goes from step to step
    "#);
    assert_snapshot!(marked(&lone, &exposed).text(&Style::default()), @r#"
    1 step, 1 tool

    ●  lone  send  to: untrusted (PW1001)

    flow: no untrusted or private value goes from step to step; 1 violation of the policy
    "#);
}

#[test]
fn slots_carry_the_labels_of_their_writers() {
    let branches = checked(branches());
    assert_snapshot!(marked(&branches, &policy()).text(&Style::default()), @r#"
    4 steps, 4 tools, longest chain 3

    ●    weather  get_weather  → state.sunny or state.not_sunny
    ┠─┒
    ┃ ●  park     find_park    → state.suggestion · untrusted from weather
    ● ┃  movie    find_movie   → state.suggestion · untrusted from weather
    ┠─┚
    ●    suggest  suggest      untrusted from park, movie

    flow: ┃ carries untrusted or private values
    "#);
}

#[test]
fn a_plan_that_two_steps_run_has_the_marks_of_both() {
    let runs = |id: &str, target: PlanTarget| {
        let call = PlanCall {
            target,
            scopes: Vec::new(),
        };
        Step::new(
            StepId::new(id),
            Action::Plan(call),
            Node::object(Vec::new(), Place::NOWHERE),
        )
    };
    let shared = plan(vec![
        step("read", "read", &[]),
        send("answer", &[("to", "read")]),
    ]);
    let inner = plan(vec![
        step("know", "contacts", &[]),
        send("greet", &[("to", "know")]),
        runs("again", PlanTarget::Named(name("shared"))),
    ]);
    let outer = plan(vec![
        runs("inner", PlanTarget::Inline(Box::new(inner))),
        runs("one", PlanTarget::Named(name("shared"))),
    ]);
    let mut library = Library::new();
    library.add("shared", shared);
    let catalog = catalog(&mails());
    let context = CheckContext::new(&catalog).with_library(&library);
    let (plan, found) = check(outer, &context);
    let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
    assert_snapshot!(marked(&plan, &policy()).text(&Style::default()), @r#"
    2 steps

    ●  inner  plan
    ●  one    plan shared

    plan of step inner
    3 steps, 2 tools, longest chain 2

    ●  know   contacts
    │
    ●  greet  send
    ●  again  plan shared

    plan shared
    2 steps, 2 tools, longest chain 2

    ●  read    read
    ┃
    ●  answer  send  to: untrusted (PW1001) · untrusted from read

    flow: ┃ carries untrusted or private values; 1 violation of the policy
    "#);
}
