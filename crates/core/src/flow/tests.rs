//! The size of the label graph, and results of an earlier plan.

use std::num::NonZeroU32;

use super::analysis::graph_size;
use super::{FlowContext, FlowPattern, FlowPolicy, StepLabels, ValueLabels, analyze};
use crate::check::{CheckContext, Policy, Releases, check};
use crate::expression::parse_form;
use crate::plan::{
    Action, Field, ForEach, Method, Node, OnError, Output, Reference, Repeat, SlotKind, SlotPath,
    Targets, Writes,
};
use crate::{Catalog, Place, Plan, Schema, Step, StepId, Tool, Value};

fn reference(text: &str) -> Node {
    Node::reference(Reference {
        text: format!("${{{text}}}").into(),
        place: Place::NOWHERE,
        form: parse_form(text).unwrap_or_else(|error| panic!("{text}: {error:?}")),
    })
}

fn object(fields: Vec<(&str, Node)>) -> Node {
    let fields = fields.into_iter().map(|(key, value)| Field {
        key: key.into(),
        value,
    });
    Node::object(fields.collect(), Place::NOWHERE)
}

/// Creates a plan of `groups` groups of steps: a call with a replacement output, a loop over its items, and a value that is written to a
/// slot. Each group reads the previous one.
fn plan(groups: usize) -> Plan {
    let mut steps = Vec::new();
    for group in 0..groups {
        let previous = group.checked_sub(1);
        let read = |text: String| match previous {
            Some(_) => reference(&text),
            None => Node::literal(Value::from("x"), Place::NOWHERE),
        };
        let last = previous.unwrap_or_default();
        let mut call = Step::call(
            format!("call{group}").as_str(),
            "s.read",
            object(vec![
                ("to", read(format!("value{last}.one"))),
                ("text", read(format!("loop{last}.map(l, l.name).join(',')"))),
            ]),
        );
        call.on_error = OnError::Output(object(vec![("items", read(format!("loop{last}")))]));
        let mut each = Step::new(
            StepId::new(format!("loop{group}").as_str()),
            Action::Value(object(vec![("name", reference("item.name ?? 'n'"))])),
            Node::default(),
        );
        each.for_each = Some(ForEach {
            item_name: None,
            with_item: false,
            over: reference(&format!("call{group}.items.filter(i, i.name != 'a')")),
            max_parallel: None,
        });
        let mut value = Step::new(
            StepId::new(format!("value{group}").as_str()),
            Action::Value(object(vec![
                ("one", reference(&format!("call{group}.items[0].name"))),
                ("all", reference(&format!("loop{group}"))),
            ])),
            Node::default(),
        );
        value.writes = Some(Writes {
            targets: Targets::All(vec![SlotPath {
                kind: SlotKind::State,
                keys: vec![format!("slot{group}").into()],
                place: Place::NOWHERE,
            }]),
            method: Method::Set,
            place: Place::NOWHERE,
        });
        steps.extend([call, each, value]);
    }
    Plan {
        output: Output::Value(reference(&format!("value{}", groups - 1))),
        steps,
        ..Plan::default()
    }
}

/// Returns the tools of such plans, and a policy that they violate.
fn tools_and_policy() -> (Catalog, FlowPolicy) {
    let mut tool = Tool::new("s", "read");
    let output = r#"{"type": "object", "properties": {"items": {"type": "array", "items":
        {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}}}}"#;
    tool.output = Schema::from_value(Value::from_json(output).unwrap());
    let rule = |text: &str| FlowPattern::parse(text).unwrap().into();
    let policy = FlowPolicy {
        trusted: vec![rule("*:size")],
        private: vec![rule("*:name")],
        leaves: vec![rule("*:text")],
        decides: vec![rule("*")],
        ..FlowPolicy::default()
    };
    ([tool].into_iter().collect(), policy)
}

#[test]
fn a_check_finds_the_same_as_an_analysis_alone() {
    let (catalog, policy) = tools_and_policy();
    let checked_by = Policy::new().with_flow(policy.clone());
    for groups in [10, 100] {
        let context = CheckContext::new(&catalog).with_policy(&checked_by);
        let (checked, found) = check(plan(groups), &context);
        let checked = checked.unwrap_or_else(|| panic!("{found:#?}"));
        let report = checked.flow().unwrap();
        let alone = analyze(
            &checked,
            FlowContext::new(&policy, &Releases::Listed(Vec::new())),
        );
        assert_eq!(report.parameters, alone.parameters);
        assert_eq!(report.output_sources, alone.output_sources);
        assert_eq!(report.text_sources, alone.text_sources);
        assert!(alone.diagnostics.len() >= groups);
        for violation in &alone.diagnostics {
            assert!(found.iter().any(|other| other == violation), "{violation}");
        }
    }
}

#[test]
fn an_error_at_the_end_of_a_large_plan_leaves_no_violations() {
    let (catalog, policy) = tools_and_policy();
    let checked_by = Policy::new().with_flow(policy);
    let mut plan = plan(100);
    plan.steps.push(Step::new(
        StepId::new("end"),
        Action::Value(reference("call99.items[0].size.unit")),
        Node::default(),
    ));
    let context = CheckContext::new(&catalog).with_policy(&checked_by);
    let (checked, found) = check(plan, &context);
    assert!(checked.is_none());
    assert!(found.has_errors());
    assert!(
        found.iter().all(|found| !found.code.is_flow()),
        "{found:#?}"
    );
}

#[test]
fn the_graph_grows_linearly_with_the_plan() {
    let (catalog, policy) = tools_and_policy();
    let size = |groups: usize| {
        let (checked, diagnostics) = check(plan(groups), &CheckContext::new(&catalog));
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        graph_size(&checked, FlowContext::new(&policy, &Releases::Anything))
    };
    let sizes = [50, 100, 200, 400].map(size);
    for pair in sizes.windows(2) {
        assert!(pair[1] * 100 <= pair[0] * 202, "{sizes:?}");
    }
    // Each of the 150 steps has about eleven nodes.
    assert!(sizes[0] < 150 * 15, "{sizes:?}");
}

#[test]
fn a_result_of_an_earlier_plan_has_labels_of_its_own() {
    let send = Step::call(
        "send",
        "s.send",
        object(vec![("to", reference("said.who"))]),
    );
    let said = Step::new(
        StepId::new("said"),
        Action::Value(object(vec![(
            "who",
            Node::literal(Value::from("ann"), Place::NOWHERE),
        )])),
        Node::default(),
    );
    let plan = Plan {
        output: Output::Value(reference("said.who")),
        steps: vec![said, send],
        ..Plan::default()
    };
    let catalog: Catalog = [Tool::new("s", "send")].into_iter().collect();
    let policy = Policy::new().with_flow(FlowPolicy::default());
    let analyse = |retained: Option<ValueLabels>| {
        let retained: StepLabels = retained
            .map(|retained| ("said".into(), retained))
            .into_iter()
            .collect();
        let context = CheckContext::new(&catalog)
            .with_policy(&policy)
            .with_retained(&retained);
        let (checked, diagnostics) = check(plan.clone(), &context);
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        let flow = checked.flow().unwrap();
        let parameters: Vec<String> = flow
            .violations()
            .map(|violation| {
                let path: Vec<&str> = violation.path().iter().map(|hop| &*hop.text).collect();
                format!("{}: {}", violation.parameter, path.join("; "))
            })
            .collect();
        (parameters, flow.exposes)
    };
    assert_eq!(analyse(None), (vec![], false));
    assert_eq!(
        analyse(Some(ValueLabels::new(false, false))),
        (vec![], false)
    );
    let (parameters, exposes) = analyse(Some(ValueLabels::new(true, false)));
    assert_eq!(
        parameters,
        [
            "to: `said` has a result that was set, or is from an earlier plan of the run; passes `${said.who}` in `send`; reaches the parameter `to` of `s.send` in `send`"
        ]
    );
    assert!(exposes);
}

#[test]
fn a_round_that_was_set_has_labels_of_its_own() {
    let to = object(vec![("to", reference("last.who ?? 'ann'"))]);
    let mut send = Step::call("send", "s.send", to);
    send.repeat = Some(Repeat {
        until: reference("index > 0"),
        max: NonZeroU32::MIN.saturating_add(1),
    });
    let plan = Plan {
        steps: vec![send],
        ..Plan::default()
    };
    let catalog: Catalog = [Tool::new("s", "send")].into_iter().collect();
    let rule = FlowPattern::parse("s.send").unwrap().into();
    let policy = Policy::new().with_flow(FlowPolicy {
        trusted: vec![rule],
        ..FlowPolicy::default()
    });
    for untrusted in [false, true] {
        let set = StepLabels::from([("send".into(), ValueLabels::new(untrusted, false))]);
        let context = CheckContext::new(&catalog)
            .with_policy(&policy)
            .with_retained(&set);
        let (checked, diagnostics) = check(plan.clone(), &context);
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        let violations = checked.flow().unwrap().violations();
        assert_eq!(violations.count(), usize::from(untrusted));
    }
}

#[test]
fn the_help_names_only_rules_that_remove_the_violation() {
    let mut get = Step::call("get", "s.get", object(vec![]));
    get.on_error = OnError::Continue;
    let send = |to: Node| Step::call("send", "s.send", object(vec![("to", to)]));
    let catalog: Catalog = [Tool::new("s", "get"), Tool::new("s", "send")]
        .into_iter()
        .collect();
    let rule = |text: &str| FlowPattern::parse(text).unwrap().into();
    let help = |from: &str, policy: FlowPolicy| {
        let plan = Plan {
            steps: vec![get.clone(), send(reference(from))],
            ..Plan::default()
        };
        let policy = Policy::new().with_flow(policy);
        let (_, diagnostics) = check(plan, &CheckContext::new(&catalog).with_policy(&policy));
        let mut found = diagnostics.iter().filter(|found| !found.path.is_empty());
        let help = found.next().and_then(|found| found.help.clone());
        help.unwrap_or_else(|| panic!("{from}: {diagnostics:#?}"))
    };
    let untrusted = |from: &str| help(from, FlowPolicy::default());
    // No rule makes an error trusted, but a rule can cover an output field that is named `error`.
    let person = "take the value from a trusted source, or make it an input; or a person decides the call when the plan runs";
    assert_eq!(untrusted("results.get.error.message"), person);
    assert_eq!(untrusted("results.get.error.message + get.name"), person);
    assert_eq!(
        untrusted("get.error"),
        format!(
            "{person}; or add `s.get:error` to `trusted` in `[flow]` of your own planwright.toml"
        )
    );
    // An error is private if its tool is.
    let private = |from: &str| {
        help(
            from,
            FlowPolicy {
                guard: Vec::new(),
                private: vec![rule("s.get")],
                leaves: vec![rule("s.send")],
                ..FlowPolicy::default()
            },
        )
    };
    assert_eq!(
        private("results.get.error.message"),
        "send something else, or a person decides the call when the plan runs; if it is not private, take `s.get` out of `private` in `[flow]`"
    );
}
