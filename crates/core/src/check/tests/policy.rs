//! Sharing, policy, limits, and speed.

use std::time::{Duration, Instant};

use super::fixture::{CheckFixture, json};
use crate::check::{AllowList, CheckContext, Limits, Policy, StageRule, ToolRule, check};
use crate::plan::{Alternative, Field, Form, Node, Read, Reference, Segment, Source};
use crate::{Place, Plan, Schema, Step, Tool};

#[test]
fn sharable_parameters() {
    CheckFixture::with_tools(r#"{"fetch": {}, "show": {"in": {"type": "object", "properties": {"value": {"x-sharable": true}, "secret": {"type": "string"}}}}}"#)
        .expect(
            r#"{"sharing": true, "steps": [{"id": "f", "tool": "fetch"}, {"id": "s", "tool": "show", "args": {"value": {"deep": "${f.x}"}, "secret": "a ${f} b", "free": ["${f}"]}}, {"id": "t", "tool": "show", "args": "${f}"}]}"#,
            &[
                "PW0601 at /steps/1/args/secret: the parameter `secret` of `show` is not sharable, so no reference may stand in it (write the value itself, or mark the parameter with `x-sharable` in the tool's schema or `tools.sharable` in your own planwright.toml)",
                "?PW0503 at /steps/1/args/free: the tool `show` lists no parameter `free` (leave it out, the tool may ignore it; the parameters are `secret`, `value`)",
                "PW0601 at /steps/1/args/free/0: the parameter `free` of `show` is not sharable, so no reference may stand in it (write the value itself, or mark the parameter with `x-sharable` in the tool's schema or `tools.sharable` in your own planwright.toml)",
                "PW0601 at /steps/2/args: the arguments of `show` as a whole cannot come from another step",
            ],
        );
}

#[test]
fn a_step_of_an_instance_that_there_is_not() {
    let mut plan = Plan {
        steps: vec![
            Step::call("a", "t", Node::object(Vec::new(), Place::NOWHERE)),
            Step::call("b", "t", Node::object(Vec::new(), Place::NOWHERE)),
        ],
        instances: vec!["one".into(), "two".into()],
        ..Plan::default()
    };
    let catalog = [Tool::new("s", "t")].into_iter().collect();
    for (instance, expected) in [
        (None, None),
        (Some("two"), None),
        (
            Some("oen"),
            Some("the step `b` is of the instance `oen`, which the plan does not run for"),
        ),
    ] {
        plan.steps[1].instance = instance.map(Into::into);
        let (_, diagnostics) = check(plan.clone(), &CheckContext::new(&catalog));
        let messages: Vec<&str> = diagnostics
            .iter()
            .map(|diagnostic| &*diagnostic.message)
            .collect();
        assert_eq!(messages, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn sharable_parts_of_parameters() {
    CheckFixture::with_tools(
        r##"{"fetch": {}, "show": {"in": {"type": "object",
            "properties": {
                "box": {"type": "object", "properties": {"open": {"x-sharable": true}, "shut": {}}},
                "list": {"items": {"x-sharable": true}},
                "pair": {"prefixItems": [{"x-sharable": true}], "items": {}},
                "named": {"$ref": "#/$defs/open"},
                "maybe": {"anyOf": [{"type": "string", "x-sharable": true}, {"type": "null"}]},
                "most": {"x-sharable": true, "properties": {"secret": {"x-sharable": false}}},
                "loop": {"$ref": "#/properties/loop"}
            },
            "additionalProperties": {"x-sharable": true},
            "$defs": {"open": {"x-sharable": true}}}}}"##,
    )
    .expect(
        r#"{"sharing": true, "steps": [{"id": "f", "tool": "fetch"},
            {"id": "s", "tool": "show", "args": {"box": {"open": "${f}"}, "list": ["${f}", ["${f}"]], "pair": ["${f}"],
                "named": "${f}", "maybe": "${f}", "most": {"x": "${f}"}, "other": "${f}"}},
            {"id": "t", "tool": "show", "args": {"box": {"shut": "${f}"}, "pair": [1, "${f}"], "most": {"secret": ["${f}"]},
                "loop": "${f}"}}]}"#,
        &[
            "PW0601 at /steps/2/args/box/shut: the parameter `box` of `show` is not sharable, so no reference may stand in it (write the value itself, or mark the parameter with `x-sharable` in the tool's schema or `tools.sharable` in your own planwright.toml)",
            "PW0601 at /steps/2/args/pair/1: the parameter `pair` of `show` is not sharable, so no reference may stand in it (write the value itself, or mark the parameter with `x-sharable` in the tool's schema or `tools.sharable` in your own planwright.toml)",
            "PW0601 at /steps/2/args/most/secret/0: the parameter `most` of `show` is not sharable, so no reference may stand in it (write the value itself, or mark the parameter with `x-sharable` in the tool's schema or `tools.sharable` in your own planwright.toml)",
            "PW0601 at /steps/2/args/loop: the parameter `loop` of `show` is not sharable, so no reference may stand in it (write the value itself, or mark the parameter with `x-sharable` in the tool's schema or `tools.sharable` in your own planwright.toml)",
        ],
    );
}

#[test]
fn denied_tools() {
    let mut fixture =
        CheckFixture::with_tools(r#"{"a": {}, "shop.pay": {}, "shop.list": {}, "mail.send": {}}"#);
    fixture.policy = Policy::new().deny("shop.*").deny("mail.send");
    fixture.expect(
        r#"{"steps": [{"id": "1", "tool": "a"}, {"id": "2", "tool": "pay"}, {"id": "3", "tool": "shop.list"}, {"id": "4", "tool": "send"}]}"#,
        &[
            "PW0602 at /steps/1/tool: the policy denies the tool `pay` (the rule is `shop.*`: do without the tool, or ask for another policy)",
            "PW0602 at /steps/2/tool: the policy denies the tool `shop.list` (the rule is `shop.*`: do without the tool, or ask for another policy)",
            "PW0602 at /steps/3/tool: the policy denies the tool `send` (the rule is `mail.send`: do without the tool, or ask for another policy)",
        ],
    );
}

#[test]
fn a_policy_speaks_of_tools_by_their_full_names() {
    let policy = Policy::new().deny("shop.*");
    assert_eq!(policy.objection(&Tool::new("mail", "send")), None);
    let (message, way_out) = policy.objection(&Tool::new("shop", "pay")).expect("denied");
    assert_eq!(message, "the policy denies the tool `shop.pay`");
    assert_eq!(
        way_out,
        "the rule is `shop.*`: do without the tool, or ask for another policy"
    );
}

#[test]
fn tools_that_are_not_allowed() {
    let mut fixture =
        CheckFixture::with_tools(r#"{"a": {}, "shop.pay": {}, "shop.list": {}, "mail.send": {}}"#);
    let mut mine = AllowList::from_iter(["shop.*", "a"]);
    mine.set_in = Some("planwright.toml:2".into());
    let theirs = AllowList::from_iter(["*.list", "a", "b", "c", "d", "e", "f"]);
    fixture.policy = Policy::new().allow_only(mine).allow_only(theirs);
    fixture.expect(
        r#"{"steps": [{"id": "1", "tool": "a"}, {"id": "2", "tool": "pay"}, {"id": "3", "tool": "shop.list"}, {"id": "4", "tool": "send"}]}"#,
        &[
            "PW0602 at /steps/1/tool: the policy does not allow the tool `pay` (it allows `*.list`, `a`, `b`, `c`, `d` and 2 more: do without the tool, or ask for another policy)",
            "PW0602 at /steps/3/tool: the policy does not allow the tool `send` (it allows `shop.*`, `a` in `planwright.toml:2`: do without the tool, or ask for another policy)",
        ],
    );
    fixture.policy = Policy::new().allow_only(AllowList::from_iter(["x"; 0]));
    fixture.expect(
        r#"{"steps": [{"id": "1", "tool": "a"}]}"#,
        &[
            "PW0602 at /steps/0/tool: the policy does not allow the tool `a` (it allows no tool at all: do without the tool, or ask for another policy)",
        ],
    );
}

#[test]
fn a_rule_tells_where_it_stands() {
    let mut fixture = CheckFixture::with_tools(r#"{"shop.pay": {}}"#);
    let mut rule = ToolRule::from("*.p*");
    rule.set_in = Some("planwright.toml:4".into());
    fixture.policy = Policy::new().deny(rule);
    fixture.expect(
        r#"{"steps": [{"id": "1", "tool": "pay"}]}"#,
        &[
            "PW0602 at /steps/0/tool: the policy denies the tool `pay` (the rule is `*.p*` in `planwright.toml:4`: do without the tool, or ask for another policy)",
        ],
    );
}

#[test]
fn tools_of_other_stages() {
    let mut fixture =
        CheckFixture::with_tools(r#"{"shop.list": {}, "shop.pay": {}, "mail.send": {}}"#);
    fixture.policy = Policy::new().in_stage(StageRule {
        name: "browse".into(),
        tools: vec!["shop.list".into()],
        others: vec![
            ("checkout".into(), vec!["shop.pay".into()]),
            ("all".into(), vec!["shop.*".into()]),
        ],
    });
    fixture.expect(
        r#"{"steps": [{"id": "1", "tool": "list"}, {"id": "2", "tool": "pay"}, {"id": "3", "tool": "send"}]}"#,
        &[
            "PW0602 at /steps/1/tool: the stage `browse` does not have the tool `pay` (move to the stage `checkout` or `all` first)",
            "PW0602 at /steps/2/tool: the stage `browse` does not have the tool `send` (no stage has this tool)",
        ],
    );
}

#[test]
fn limits() {
    let fixture = |limits: Limits| CheckFixture {
        policy: Policy::new().with_limits(limits),
        ..CheckFixture::with_tools(r#"{"e": {}}"#)
    };
    let plan = r#"{"steps": [{"id": "a", "tool": "e", "until": "${a.x}", "max": 6}, {"id": "b", "tool": "e", "args": {"v": "${a.x + a.y > 3}"}}]}"#;
    let limits = Limits {
        max_expression_length: 8,
        max_repeat: 5,
        ..Limits::default()
    };
    fixture(limits).expect(
        plan,
        &[
            "PW0703 at /steps/0: the step `a` may repeat 6 times, more than the 5 that are allowed (lower the bound)",
            "PW0702 at /steps/1/args/v: the expression has 13 bytes, more than the 8 that are allowed (split it over several `value` steps)",
        ],
    );
    let limits = Limits {
        max_steps: 1,
        ..limits
    };
    fixture(limits).expect(
        plan,
        &["PW0701: the plan has 2 steps, more than the 1 that are allowed (use `for_each` for steps that differ only in their arguments)"],
    );
}

#[test]
fn limits_are_inclusive() {
    let limits = Limits {
        max_steps: 3,
        max_expression_length: 7,
        max_repeat: 5,
        max_attempts: 4,
        ..Limits::default()
    };
    let fixture = CheckFixture {
        policy: Policy::new().with_limits(limits),
        ..CheckFixture::with_tools(r#"{"e": {}}"#)
    };
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e", "until": "${a.x}", "max": 5}, {"id": "b", "tool": "e", "attempts": 4}, {"id": "c", "tool": "e", "args": {"v": "${a.x > 1}"}}]}"#,
        &[],
    );
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e", "until": "${a.x}", "max": 6}, {"id": "b", "tool": "e", "attempts": 5}, {"id": "c", "tool": "e", "args": {"v": "${a.x > 11}"}}]}"#,
        &["PW0703 at /steps/0: the step `a` may repeat 6 times, more than the 5 that are allowed (lower the bound)", "PW0703 at /steps/1: the step `b` may try 5 times, more than the 4 that are allowed (lower the bound)", "PW0702 at /steps/2/args/v: the expression has 8 bytes, more than the 7 that are allowed (split it over several `value` steps)"],
    );
}

#[test]
fn long_lists_of_names_are_cut_off() {
    let tools: Vec<String> = (10..35)
        .map(|tool| format!(r#""tool_{tool}": {{}}"#))
        .collect();
    let fixture = CheckFixture::with_tools(&format!("{{{}}}", tools.join(", ")));
    let check = |tool: &str, end: &str| {
        let (_, diagnostics) = fixture.check(&format!(
            r#"{{"steps": [{{"id": "a", "tool": "{tool}"}}]}}"#
        ));
        let messages: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        assert!(
            matches!(&messages[..], [one] if one.ends_with(end)),
            "{messages:?}"
        );
    };
    check("ghost", "`tool_28`, `tool_29`, 5 more)");
}

/// Each output type is inferred once, however many references ask for it.
#[test]
fn types_are_inferred_once() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    let mut steps = vec![r#"{"id": "s0", "value": {"x": 1}}"#.to_owned()];
    for step in 1..60 {
        let before = step - 1;
        steps.push(format!(
            r#"{{"id": "s{step}", "value": {{"x": "${{s{before}.x}}", "y": "${{s{before}.x}}", "z": "${{s{before}.x}}"}}}}"#
        ));
    }
    steps.reverse();
    steps.push(r#"{"id": "t", "tool": "e", "args": {"v": "${s59.w}"}}"#.to_owned());
    fixture.expect(&format!(r#"{{"steps": [{}]}}"#, steps.join(", ")), &["PW0402 at /steps/60/args/v: `${s59.w}` leads nowhere: there is no field `w` in the output of `s59` (the fields are `x`, `y`, `z`)"]);
}

#[test]
fn values_that_hold_each_other_are_known_up_to_a_size() {
    let fixture = CheckFixture::with_tools(
        r#"{"e": {}, "count": {"in": {"properties": {"v": {"type": "integer"}}}}, "deep": {"in": {"properties": {"v": {"type": "object", "properties": {"y": {"type": "object", "properties": {"y": {"type": "integer"}}}}}}}}}"#,
    );
    let check = |value: &str, steps: usize, last: &str, expected: &[&str]| {
        let mut all = vec![r#"{"id": "s0", "value": {"x": 1}}"#.to_owned()];
        for step in 1..steps {
            let value = value.replace('P', &format!("s{}", step - 1));
            all.push(format!(r#"{{"id": "s{step}", "value": {value}}}"#));
        }
        all.push(last.replace('P', &format!("s{}", steps - 1)));
        fixture.expect(&format!(r#"{{"steps": [{}]}}"#, all.join(", ")), expected);
    };
    let count = r#"{"id": "t", "tool": "count", "args": {"v": "${P}"}}"#;
    let twice = r#"{"id": "t", "tool": "deep", "args": {"v": "${P ?? s70}"}}"#;
    check(
        r#"{"y": "${P}"}"#,
        60,
        count,
        &[
            "PW0504 at /steps/60/args/v: the argument `v` of the tool `count` takes an integer, but `${s59}` gives an object",
        ],
    );
    // Deep, wide, and both.
    let deep = format!(r#"{}"${{P}}"{}"#, "[".repeat(40), "]".repeat(40));
    check(
        &deep,
        2_000,
        r#"{"id": "t", "tool": "e", "args": {"v": "${P}"}}"#,
        &[],
    );
    check(r#"{"y": "${P}", "z": "${P}"}"#, 80, twice, &[]);
    let first = r#"{"id": "t", "tool": "e", "args": {"v": "${P[0]}"}}"#;
    check(r#"["${P}", "${P}", "${P}"]"#, 80, first, &[]);
}

#[test]
fn long_chains_of_values_do_not_exhaust_the_stack() {
    let mut steps = vec![r#"{"id": "s0", "value": {"x": 1}}"#.to_owned()];
    for step in 1..9_000 {
        steps.push(format!(
            r#"{{"id": "s{step}", "value": "${{s{}}}"}}"#,
            step - 1
        ));
    }
    steps.reverse();
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    fixture.expect(&format!(r#"{{"steps": [{}]}}"#, steps.join(", ")), &[]);
    // Values after the limit are still inferred.
    steps.push(r#"{"id": "t", "value": {"x": 1}}, {"id": "u", "value": "${t.y}"}"#.to_owned());
    fixture.expect(&format!(r#"{{"steps": [{}]}}"#, steps.join(", ")), &["PW0402 at /steps/9001/value: `${t.y}` leads nowhere: there is no field `y` in the output of `t` (the only field is `x`)"]);
}

/// Checks steps with references between them, against many tools. The bound allows for unoptimised builds on a busy
/// machine; only quadratic passes exceed it.
#[test]
fn large_plans_are_checked_fast() {
    let mut fixture = CheckFixture::default();
    for number in 0..500 {
        let mut tool = Tool::new("test", format!("tool_{number}"));
        tool.input = Schema::from_value(json(
            r#"{"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}, "required": ["text"], "additionalProperties": false}"#,
        ));
        tool.output = Schema::from_value(json(
            r#"{"type": "object", "properties": {"text": {"type": "string"}, "rows": {"type": "array", "items": {"type": "object"}}}}"#,
        ));
        fixture.catalog.add(tool);
    }
    let plan = |steps: usize| {
        let read = |number: usize| {
            Read::part(
                Source::Step(format!("s{number}").as_str().into()),
                vec![Segment::key("text")],
            )
        };
        let steps = (0..steps).map(|number| {
            let text = if number == 0 {
                Node::literal("start".into(), Place::NOWHERE)
            } else {
                let alternatives = vec![
                    Alternative::Read(read(number - 1)),
                    Alternative::Read(read(number / 2)),
                ];
                Node::reference(Reference {
                    text: format!("${{s{}.text ?? s{}.text}}", number - 1, number / 2).into(),
                    place: Place::NOWHERE,
                    form: Form::First(alternatives),
                })
            };
            let field = Field {
                key: "text".into(),
                value: text,
            };
            let args = Node::object(vec![field], Place::NOWHERE);
            Step::call(format!("s{number}"), format!("tool_{}", number % 500), args)
        });
        Plan {
            steps: steps.collect(),
            ..Plan::default()
        }
    };
    // The first check compiles the schemas.
    let (checked, diagnostics) = fixture.check_plan(plan(1000));
    assert!(checked.is_some(), "{diagnostics:?}");
    #[expect(
        clippy::disallowed_methods,
        reason = "the test measures how long the check takes"
    )]
    let start = Instant::now();
    let (checked, _) = fixture.check_plan(plan(10_000));
    assert!(checked.is_some());
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "10000 steps took {took:?}");
}
