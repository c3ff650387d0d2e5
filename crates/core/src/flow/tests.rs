//! The size of the label graph.

use super::analysis::graph_size;
use super::{FlowContext, FlowPattern, FlowPolicy};
use crate::check::{CheckContext, Releases, check};
use crate::expression::parse_form;
use crate::plan::{
    Action, Field, ForEach, Method, Node, OnError, Output, Reference, SlotKind, SlotPath, Targets,
    Writes,
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

/// A plan of `groups` groups of steps: a call, a loop over its items, a slot, and a replacement for a failed call. Each group
/// reads the one before.
fn plan(groups: usize) -> Plan {
    let mut steps = Vec::new();
    for group in 0..groups {
        let before = group.checked_sub(1);
        let read = |text: String| match before {
            Some(_) => reference(&text),
            None => Node::literal(Value::from("x"), Place::NOWHERE),
        };
        let last = before.unwrap_or_default();
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

#[test]
fn the_graph_grows_linearly_with_the_plan() {
    let mut tool = Tool::new("s", "read");
    let output = r#"{"type": "object", "properties": {"items": {"type": "array", "items":
        {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}}}}"#;
    tool.output = Schema::from_value(Value::from_json(output).unwrap());
    let catalog: Catalog = [tool].into_iter().collect();
    let rule = |text: &str| FlowPattern::parse(text).unwrap().into();
    let policy = FlowPolicy {
        trusted: vec![rule("*:size")],
        private: vec![rule("*:name")],
        leaves: vec![rule("*:text")],
        decides: vec![rule("*")],
        ..FlowPolicy::default()
    };
    let size = |groups: usize| {
        let (checked, diagnostics) = check(plan(groups), &CheckContext::new(&catalog));
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        graph_size(&checked, FlowContext::new(&policy, &Releases::Anything))
    };
    let sizes = [50, 100, 200, 400].map(size);
    for pair in sizes.windows(2) {
        assert!(pair[1] * 100 <= pair[0] * 202, "{sizes:?}");
    }
    // 150 steps have some eleven nodes each.
    assert!(sizes[0] < 150 * 15, "{sizes:?}");
}
