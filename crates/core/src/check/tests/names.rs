//! The name pass: unknown and ambiguous names.

use super::fixture::{CheckFixture, plan};
use crate::plan::Action;
use crate::{Lookup, Place};

#[test]
fn a_tool_whose_place_is_not_known_is_where_its_step_is() {
    let fixture = CheckFixture::with_tools(r#"{"get_weather": {}}"#);
    let mut plan = plan(r#"{"steps": [{"id": "a", "tool": "get_wether"}]}"#);
    if let Action::Tool(name) = &mut plan.steps[0].action {
        name.place = Place::NOWHERE;
    }
    let (_, diagnostics) = fixture.check_plan(plan);
    let diagnostics: Vec<_> = diagnostics.iter().collect();
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(
        diagnostics[0].to_string(),
        "PW0201 at /steps/0: there is no tool `get_wether` (did you mean `get_weather`?)"
    );
    assert_eq!(diagnostics[0].fix, None);
}

#[test]
fn tools() {
    let fixture = CheckFixture::with_tools(
        r#"{"get_weather": {}, "one.search": {}, "two.search": {}, "alpha": {}, "zeta": {}}"#,
    );
    let check = |tool: &str, expected: &[&str]| {
        fixture.expect(
            &format!(r#"{{"steps": [{{"id": "a", "tool": "{tool}"}}]}}"#),
            expected,
        );
    };
    check("get_weather", &[]);
    check("test.get_weather", &[]);
    check(
        "WeatherGet",
        &["PW0201 at /steps/0/tool: there is no tool `WeatherGet` (did you mean `get_weather`?)"],
    );
    check("two.search", &[]);
    check(
        "get_wether",
        &["PW0201 at /steps/0/tool: there is no tool `get_wether` (did you mean `get_weather`?)"],
    );
    check(
        "test.get_wether",
        &[
            "PW0201 at /steps/0/tool: there is no tool `test.get_wether` (did you mean `test.get_weather`?)",
        ],
    );
    check(
        "ghost",
        &[
            "PW0201 at /steps/0/tool: there is no tool `ghost` (the tools are `alpha`, `get_weather`, `one.search`, `two.search`, `zeta`)",
        ],
    );
    check(
        "search",
        &[
            "PW0202 at /steps/0/tool: 2 servers offer a tool `search` (write one of `one.search`, `two.search`)",
        ],
    );
    check(
        "execute_plan",
        &[
            "PW0209 at /steps/0/tool: a plan cannot call the plan tool `execute_plan` (write the steps of the inner plan into this one)",
        ],
    );
    CheckFixture::with_tools(r#"{"execute_plan": {}}"#)
        .expect(r#"{"steps": [{"id": "a", "tool": "execute_plan"}]}"#, &[]);
    CheckFixture::default().expect(
        r#"{"steps": [{"id": "a", "tool": "ghost"}]}"#,
        &["PW0201 at /steps/0/tool: there is no tool `ghost` (no server offers a tool)"],
    );
}

#[test]
fn names_that_models_know() {
    let fixture = CheckFixture::with_tools(
        r#"{"one.search": {}, "two.search": {}, "a b.get.it": {}, "a_b.get_it": {}, "one.x__y": {}, "one__x.y": {}}"#,
    );
    let found = |name: &str| match fixture.catalog.find(name) {
        Lookup::Found(tool) => tool.qualified_name().to_string(),
        Lookup::Ambiguous(tools) => format!("{} tools", tools.len()),
        Lookup::Unknown => "none".to_owned(),
    };
    let cases = [
        ("one__search", "one.search"),
        ("two__search", "two.search"),
        ("search", "2 tools"),
        ("a_b__get_it", "2 tools"),
        ("x__y", "one.x__y"),
        ("one__x__y", "2 tools"),
        ("three__search", "none"),
        ("one__search_", "none"),
    ];
    for (name, wanted) in cases {
        assert_eq!(found(name), wanted, "{name}");
    }
}

#[test]
fn a_near_tool_is_offered_as_a_fix() {
    let fixture = CheckFixture::with_tools(r#"{"get_weather": {}}"#);
    let (_, diagnostics) = fixture.check(r#"{"steps": [{"id": "a", "tool": "get_wether"}]}"#);
    let fix = diagnostics
        .iter()
        .find_map(|diagnostic| diagnostic.fix.clone());
    let fix = fix.expect("a fix");
    assert_eq!(
        (&*fix.pointer, &*fix.replacement),
        ("/steps/0/tool", "get_weather")
    );
}

#[test]
fn a_call_of_a_misspelt_tool_is_checked_like_one_of_the_tool_itself() {
    let fixture = CheckFixture::with_tools(
        r#"{"get_weather": {"in": {
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false
        }}}"#,
    );
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "getWeather", "args": {"town": "Oslo"}}]}"#,
        &[
            "PW0201 at /steps/0/tool: there is no tool `getWeather` (did you mean `get_weather`?)",
            "PW0502 at /steps/0/args: the tool `get_weather` needs the argument `city` (it takes text)",
            "PW0503 at /steps/0/args/town: the tool `get_weather` has no parameter `town` (the only parameter is `city`)",
        ],
    );
}

#[test]
fn steps() {
    let fixture = CheckFixture::with_tools(r#"{"t": {}}"#);
    fixture.expect(
        r#"{"steps": []}"#,
        &["PW0106: the plan has no steps (add at least one step)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": " ", "tool": "t"}]}"#,
        &["PW0109 at /steps/0: a step's id is blank (give the step a short name)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "t"}, {"id": "b", "tool": "t"}, {"id": "a", "tool": "t"}]}"#,
        &["PW0203 at /steps/2: two steps have the id `a` (the first is at `/steps/0`: give this one another id, such as `a_2`)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "fetch", "tool": "t"}, {"id": "b", "tool": "t", "after": ["fetsh"], "args": {"v": "${ghost.x}", "w": "is ${fetc}"}}], "output": ["b", "zz"]}"#,
        &[
            "PW0204 at /steps/1/after/0: the step `b` waits for `fetsh`, which is not in the plan (did you mean `fetch`?)",
            "PW0204 at /steps/1/args/v: `${ghost.x}` refers to the step `ghost`, which is not in the plan (the steps are `b`, `fetch`)",
            "PW0204 at /steps/1/args/w: `${fetc}` refers to the step `fetc`, which is not in the plan (did you mean `fetch`?)",
            "PW0204 at /output/1: the output selects `zz`, which is not in the plan (the steps are `b`, `fetch`)",
        ],
    );
    fixture.expect(
        r#"{"listed": true, "steps": [{"id": "a", "tool": "t", "args": {"v": "${b}"}}, {"id": "b", "tool": "t"}, {"id": "c", "tool": "t", "args": {"v": "${c}"}}]}"#,
        &[
            "PW0302 at /steps/0/args/v: `${b}` refers to the step `b`, which comes later (the steps run as they are listed: move `b` up)",
            "PW0301 at /steps/2/args/v: the step `c` waits for itself (remove its reference to itself)",
        ],
    );
}

#[test]
fn steps_that_come_later() {
    CheckFixture::with_tools(r#"{"t": {}}"#).expect(
        r#"{"listed": true, "steps": [{"id": "a", "tool": "t", "after": ["b"]}, {"id": "b", "tool": "t", "until": "${slots.state.x}"}, {"id": "c", "tool": "t", "writes": "state.x"}]}"#,
        &[
            "PW0302 at /steps/0/after/0: the step `a` comes after the later step `b` (the steps run as they are listed: move `b` up)",
            "PW0302 at /steps/1/until: the step `b` reads a slot that the later step `c` writes (the steps run as they are listed: move `c` up)",
        ],
    );
}

#[test]
fn all_diagnostics_are_reported_at_once() {
    CheckFixture::with_tools(r#"{"w": {"in": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}, "k": {"enum": ["a", "b"]}}, "required": ["n", "k"]}}}"#)
        .expect(
            r#"{"steps": [{"id": "x", "tool": "w", "args": {"n": 0, "k": "c"}}, {"id": "y", "tool": "w", "args": {"n": 2}}, {"id": "z", "tool": "gone"}]}"#,
            &[
                "PW0501 at /steps/0/args/n: the argument `n` of the tool `w` does not fit: `0` is less than `1`",
                r#"PW0501 at /steps/0/args/k: the argument `k` of the tool `w` does not fit: `"c"` is none of `"a"`, `"b"`"#,
                r#"PW0502 at /steps/1/args: the tool `w` needs the argument `k` (it takes `"a"` or `"b"`)"#,
                "PW0201 at /steps/2/tool: there is no tool `gone` (the only tool is `w`)",
            ],
        );
}

/// Steps that extract data: their schemas, the types of their output, and the labels of their data.
mod extraction {
    use super::super::fixture::CheckFixture;
    use crate::flow::FlowPolicy;
    use crate::plan::{Action, Name, Node};
    use crate::{Catalog, EXTRACTION, Lookup, Place, Policy, Tool, Value};

    fn fixture() -> CheckFixture {
        let mut fixture = CheckFixture::with_tools(
            r#"{"web.get": {"out": {"type": "object", "properties": {"text": {"type": "string"}}}},
            "pay": {"in": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}}}"#,
        );
        fixture.catalog.add_extraction();
        fixture
    }

    /// A plan that extracts data by `args`, and pays the amount.
    fn plan(args: &str, amount: &str) -> String {
        format!(
            r#"{{"steps": [
            {{"id": "page", "tool": "web.get"}},
            {{"id": "bill", "tool": "planwright.extract", "args": {args}}},
            {{"id": "pay", "tool": "pay", "args": {{"amount": {amount}}}}}
        ]}}"#
        )
    }

    const BILL: &str = r#"{"from": "${page.text}", "schema": {"type": "object", "properties": {"sum": {"type": "number"}, "to": {"type": "string"}}, "required": ["sum"], "additionalProperties": false}}"#;

    #[test]
    fn the_schema_types_the_output() {
        let fixture = fixture();
        fixture.expect(&plan(BILL, r#""${bill.sum}""#), &[]);
        fixture.expect(
        &plan(BILL, r#""${bill.to}""#),
        &["PW0504 at /steps/2/args/amount: the argument `amount` of the tool `pay` takes a number, but `${bill.to}` gives text (the field `sum` of `bill` fits)"],
    );
        fixture.expect(
        &plan(BILL, r#""${bill.summ}""#),
        &["PW0402 at /steps/2/args/amount: `${bill.summ}` leads nowhere: there is no field `summ` in the output of `bill` (did you mean `sum`?)"],
    );
    }

    #[test]
    fn a_schema_must_be_known_and_sound() {
        let check = |args: &str, expected: &str| {
            let (checked, diagnostics) = fixture().check(&plan(args, "3"));
            let found: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            assert!(checked.is_none(), "{args}");
            assert!(
                found.len() == 1 && found[0].starts_with(expected),
                "{found:?}"
            );
        };
        check(
            r#"{"from": "x", "schema": {"type": "${page.text}"}}"#,
            "PW0505 at /steps/1/args/schema: the schema of `bill` has references",
        );
        check(
            r#"{"from": "${page.text}", "schema": {"type": "numbr"}}"#,
            "PW0505 at /steps/1/args/schema: the schema of `bill` is malformed: ",
        );
        check(
            r#"{"from": "${page.text}", "schema": true}"#,
            "PW0501 at /steps/1/args/schema",
        );
        check(r#"{"schema": {}}"#, "PW0502 at /steps/1/args");
        check(r#"{"from": "x", "schema": {}, "tone": "stern"}"#, "PW0503");
    }

    #[test]
    fn without_a_model_the_message_says_how_to_configure_one() {
        let mut fixture = fixture();
        fixture.catalog = fixture.catalog.without_extraction();
        fixture.expect(
        &plan(BILL, "3"),
        &["PW0201 at /steps/1/tool: there is no model that could extract data in `bill` (configure one as for planning: `[model]` in your own planwright.toml)"],
    );
    }

    #[test]
    fn no_server_receives_the_texts() {
        let mut tool = Tool::new("planwright", "extract");
        tool.origin = "node evil.js".into();
        let mut catalog: Catalog = [tool].into_iter().collect();
        assert!(matches!(catalog.find(EXTRACTION), Lookup::Unknown));
        assert!(matches!(catalog.find("extract"), Lookup::Found(_)));
        catalog.add_extraction();
        let Lookup::Found(found) = catalog.find(EXTRACTION) else {
            panic!("the extraction tool is not found");
        };
        assert!(found.is_extraction());
        // Other tools keep their names, and the tool is not listed.
        let mut catalog: Catalog = [Tool::new("zip", "extract")].into_iter().collect();
        catalog.add_extraction();
        assert!(matches!(catalog.find("extract"), Lookup::Found(tool) if &*tool.server == "zip"));
        assert_eq!(catalog.len(), 1);
    }

    #[test]
    fn a_checked_plan_matches_the_tools_it_was_checked_with() {
        let fixture = fixture();
        let (checked, _) = fixture.check(&plan(BILL, r#""${bill.sum}""#));
        let checked = checked.unwrap();
        assert_eq!(checked.tool_mismatches(&fixture.context()), []);
        let mut other = fixture.catalog.clone().without_extraction();
        let mut tool = Tool::extraction();
        tool.approval = true;
        other.add(tool);
        let context = crate::CheckContext::new(&other).with_policy(&fixture.policy);
        let found = checked.tool_mismatches(&context);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    /// Returns true if the output of a plan may show an untrusted text, and is untrusted.
    fn exposes(schema: &str, output: &str) -> bool {
        let mut fixture = fixture();
        fixture.policy = Policy::new().with_flow(FlowPolicy::default());
        let text = format!(
            r#"{{"steps": [
            {{"id": "page", "tool": "web.get"}},
            {{"id": "bill", "tool": "planwright.extract", "args": {{"from": "${{page.text}}", "schema": {schema}}}}}
        ], "output": "{output}"}}"#
        );
        let (checked, diagnostics) = fixture.check(&text);
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
        let report = checked.flow().unwrap();
        assert_eq!(report.output.integrity, crate::flow::Integrity::Untrusted);
        report.exposes
    }

    #[test]
    fn only_texts_expose() {
        let closed = |fields: &str| {
            format!(
                r#"{{"type": "object", "properties": {fields}, "additionalProperties": false}}"#
            )
        };
        let mixed = closed(
            r#"{"n": {"type": "integer"}, "kind": {"enum": ["a", "b"]}, "t": {"type": "string"}, "l": {"type": "array", "items": {"type": "boolean"}}}"#,
        );
        assert!(exposes(&mixed, "${bill}"));
        assert!(exposes(&mixed, "${bill.t}"));
        assert!(!exposes(&mixed, "${bill.n}"));
        assert!(!exposes(&mixed, "${bill.kind}"));
        assert!(!exposes(&mixed, "${bill.l}"));
        assert!(!exposes(&mixed, "${bill.l[0]}"));
        for text in [
            "${bill.kind}: ${bill.n}",
            "${string(bill.n)}",
            "${'n: ' + string(bill.n)}",
        ] {
            assert!(!exposes(&mixed, text), "{text}");
        }
        for text in [
            "${bill.t}: ${bill.n}",
            "${string(bill)}",
            "${string(bill.t)}",
            "${json('[' + string(bill.n) + ']')}",
        ] {
            assert!(exposes(&mixed, text), "{text}");
        }
        assert!(!exposes(
            &closed(r#"{"n": {"type": "integer"}}"#),
            "${bill}"
        ));
        let closed_as_a_whole = |more: &str| {
            format!(
                r#"{{"type": "object", "properties": {{"n": {{"type": "integer"}}}}, "unevaluatedProperties": false{more}}}"#
            )
        };
        assert!(!exposes(&closed_as_a_whole(""), "${bill}"));
        let texts = r#", "patternProperties": {"^t": {"type": "string"}}"#;
        assert!(exposes(&closed_as_a_whole(texts), "${bill}"));
        let more = r#", "allOf": [{"properties": {"t": {"type": "string"}}}]"#;
        assert!(exposes(&closed_as_a_whole(more), "${bill}"));
        // The model may add fields to an open object.
        assert!(exposes(
            r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#,
            "${bill}"
        ));
        assert!(exposes("{}", "${bill}"));
    }

    #[test]
    fn arguments_without_a_schema_are_refused() {
        let mut plan = super::super::fixture::plan(&plan(BILL, "3"));
        plan.steps[1].action = Action::Tool(Name {
            text: EXTRACTION.into(),
            place: Place::NOWHERE,
        });
        plan.steps[1].args = Node::literal(Value::empty_object(), Place::NOWHERE);
        let (checked, diagnostics) = fixture().check_plan(plan);
        assert!(checked.is_none());
        assert!(diagnostics.has_errors());
    }
}
