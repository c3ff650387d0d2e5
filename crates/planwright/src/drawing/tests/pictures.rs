//! Mermaid, Graphviz, JSON; plans in plans.

use insta::assert_snapshot;
use planwright_core::plan::{Action, Node, Ordering, PlanCall, PlanTarget};
use planwright_core::{CheckContext, Library, Place, Plan, Step, StepId, Value, check};

use super::{Drawing, Mark, Style, catalog, checked, name, plan, remarkable, step};
use crate::drawing::{json, text};

fn runs(id: &str, target: PlanTarget) -> Step {
    let call = PlanCall {
        target,
        scopes: Vec::new(),
    };
    Step::new(
        StepId::new(id),
        Action::Plan(call),
        Node::literal(Value::empty_object(), Place::NOWHERE),
    )
}

#[test]
fn plans_in_plans() {
    let shared = plan(vec![step("x", "get", &[]), step("y", "put", &["x"])]);
    let inner = plan(vec![
        step("p", "get", &[]),
        runs("q", PlanTarget::Named(name("shared"))),
    ]);
    let outer = plan(vec![
        runs("one", PlanTarget::Named(name("shared"))),
        runs("two", PlanTarget::Named(name("shared"))),
        runs("three", PlanTarget::Inline(Box::new(inner))),
    ]);
    let mut library = Library::new();
    library.add("shared", shared.clone());
    let catalog = catalog(&shared);
    let context = CheckContext::new(&catalog).with_library(&library);
    let (checked, findings) = check(outer, &context);
    let checked = checked.unwrap_or_else(|| panic!("{findings:?}"));
    assert_snapshot!(text(&checked, &Style::default()), @r#"
    3 steps

    ●  one    plan shared
    ●  two    plan shared
    ●  three  plan

    plan shared
    2 steps, 2 tools, longest chain 2

    ●  x  get
    │
    ●  y  put

    plan of step three
    2 steps, 1 tool

    ●  p  get
    ●  q  plan shared
    "#);
    let data = serde_json::to_string(&json(&checked)).unwrap();
    assert_snapshot!(data, @r#"{"schema":"planwright.graph/1","name":null,"title":null,"inputs":[],"listed":false,"steps":[{"id":"one","kind":"plan","plan":"shared","approval":false,"alone":false},{"id":"two","kind":"plan","plan":"shared","approval":false,"alone":false},{"id":"three","kind":"plan","plan":"three","approval":false,"alone":false}],"edges":[],"plans":[{"name":"shared","steps":[{"id":"x","kind":"tool","tool":"get","approval":false,"alone":false},{"id":"y","kind":"tool","tool":"put","approval":false,"alone":false}],"edges":[{"from":"x","to":"y","kind":"data","optional":false}]},{"name":"three","steps":[{"id":"p","kind":"tool","tool":"get","approval":false,"alone":false},{"id":"q","kind":"plan","plan":"shared","approval":false,"alone":false}],"edges":[]}]}"#);
}

#[test]
fn an_empty_plan() {
    let drawing = Drawing::of_unchecked(&Plan::default());
    assert_snapshot!(drawing.text(&Style::default()), @"0 steps");
    assert_snapshot!(drawing.mermaid(), @"flowchart TD");
}

#[test]
fn mermaid() {
    assert_snapshot!(Drawing::of_unchecked(&remarkable()).mermaid(), @r#"
    ---
    title: "Watch the weather"
    ---
    flowchart TD
        s0["<b>weather</b><br/>get_weather<br/>for each of ${inputs.cities}, 4 at a time<br/>Ask for the weather everywhere"]
        s1["<b>poll</b><br/>get_status<br/>repeat until ${poll} (max 10)<br/>within 1.5s"]
        c2{"${poll}"}
        s2["<b>warn</b><br/>notify<br/>asks first<br/>alone<br/>up to 3 attempts<br/>may fail"]
        s3["<b>rest</b><br/>put<br/>on error null"]
        s4("<b>summary</b><br/>value")
        c2 -->|yes| s2
        s0 --> s1
        s1 --> c2
        s1 --> s4
        s2 --> s3
    "#);
}

#[test]
fn listed_steps_in_other_pictures() {
    let mut listed = plan(vec![
        step("say \"hi\" <b>", "get", &[]),
        step("b", "turn", &[]),
        step("c", "put", &["say \"hi\" <b>"]),
    ]);
    listed.ordering = Ordering::Listed;
    let mut drawing = Drawing::of(&checked(listed));
    drawing.mark("b", Mark::Succeeded);
    assert_snapshot!(drawing.text(&Style::default()), @r#"
    3 steps, 3 tools, longest chain 3, in listed order

    ●    say "hi" <b>  get
    ├─╮
    │ ✓  b             turn
    ├─╯
    ●    c             put
    "#);
    assert_snapshot!(drawing.mermaid(), @r#"
    flowchart TD
        s0["<b>say #quot;hi#quot; #lt;b#gt;</b><br/>get"]
        s1["<b>b</b><br/>turn"]
        s2["<b>c</b><br/>put"]
        s0 --> s1
        s0 --> s2
        s1 --> s2
        linkStyle 0,2 stroke-dasharray: 8 5
        classDef succeeded fill:#e4f6e6,stroke:#2c8a3a,color:#121
        class s1 succeeded
    "#);
    assert_snapshot!(drawing.dot(), @r##"
    digraph "plan" {
        node [shape=box, style="rounded,filled", fillcolor=white];
        s0 [label="say \"hi\" <b>\nget"];
        s1 [label="b\nturn", fillcolor="#e4f6e6"];
        s2 [label="c\nput"];
        s0 -> s1 [style=dashed];
        s0 -> s2;
        s1 -> s2 [style=dashed];
    }
    "##);
    let json = serde_json::to_string_pretty(&drawing.json()).unwrap();
    assert_snapshot!(json, @r#"
    {
      "schema": "planwright.graph/1",
      "name": null,
      "title": null,
      "inputs": [],
      "listed": true,
      "steps": [
        {
          "id": "say \"hi\" <b>",
          "kind": "tool",
          "tool": "get",
          "approval": false,
          "alone": false
        },
        {
          "id": "b",
          "kind": "tool",
          "tool": "turn",
          "approval": false,
          "alone": false,
          "status": "succeeded"
        },
        {
          "id": "c",
          "kind": "tool",
          "tool": "put",
          "approval": false,
          "alone": false
        }
      ],
      "edges": [
        {
          "from": "say \"hi\" <b>",
          "to": "b",
          "kind": "listed",
          "optional": false
        },
        {
          "from": "say \"hi\" <b>",
          "to": "c",
          "kind": "data",
          "optional": false
        },
        {
          "from": "b",
          "to": "c",
          "kind": "listed",
          "optional": false
        }
      ]
    }
    "#);
}
