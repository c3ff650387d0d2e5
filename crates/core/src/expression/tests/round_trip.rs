//! Printed forms parse to the same form.

use std::sync::Arc;

use proptest::prelude::*;

use crate::StepId;
use crate::expression::{parse_form, print_form};
use crate::plan::{Alternative, Form, Missing, Path, Read, Segment, SlotKind, Source};
use crate::{Number, Value};

fn key() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![
        4 => "[a-z_][a-z0-9_-]{0,6}",
        1 => "-?[0-9]{1,3}",
        1 => any::<String>(),
        1 => prop::sample::select(vec!["in", "null", "inputs", "all", "größe", "", "a.b", "\"", "}", "${", "??"])
            .prop_map(str::to_owned),
    ]
    .prop_map(Arc::from)
}

fn id() -> impl Strategy<Value = StepId> {
    key()
        .prop_filter("an id is not blank", |key| !key.trim().is_empty())
        .prop_map(StepId::new)
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        id().prop_map(Source::Step),
        id().prop_map(Source::Result),
        prop::sample::select(vec![
            Source::Slot(SlotKind::Inputs),
            Source::Slot(SlotKind::Vars),
            Source::Slot(SlotKind::State),
            Source::Slot(SlotKind::Data),
            Source::Item,
            Source::Index,
            Source::Last,
        ]),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    let segment = prop_oneof![
        3 => key().prop_map(Segment::Key),
        1 => any::<i64>().prop_map(Segment::Index),
        1 => Just(Segment::Each),
    ];
    prop::collection::vec(segment, 0..5)
}

fn read() -> impl Strategy<Value = Read> {
    let missing = prop::sample::select(vec![Missing::Fail, Missing::Null, Missing::NullInItems]);
    (source(), path(), missing).prop_map(|(source, path, missing)| {
        // Without `[*]` there are no items, and `NullInItems` means the same as `Fail`.
        let missing = match missing {
            Missing::NullInItems if !path.contains(&Segment::Each) => Missing::Fail,
            missing => missing,
        };
        Read::part(source, path).or_missing(missing)
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("JSON has no infinities", |number| {
            Number::from_f64(number).map(Value::Number)
        }),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..3).prop_map(Value::object),
        ]
    })
}

fn expression() -> impl Strategy<Value = Alternative> {
    prop::sample::select(vec![
        "a.n + 1 > 3",
        "(a.n ?? 0) * 2",
        "rows.filter(r, r.x > 1).map(r, r.id)",
        "a.yes ? b.x : 'no'",
        "[a, b]",
        "{'a': a.x?}",
        "-a.n",
        "!a.yes",
        "size(a[*].v)",
    ])
    .prop_map(|text| match parse_form(text) {
        Ok(Form::First(alternatives)) => alternatives[0].clone(),
        other => panic!("{text}: {other:?}"),
    })
}

fn form() -> impl Strategy<Value = Form> {
    let alternative = prop_oneof![
        3 => read().prop_map(Alternative::Read),
        1 => value().prop_map(Alternative::Literal),
        1 => expression(),
    ];
    prop_oneof![
        4 => prop::collection::vec(alternative, 1..4).prop_map(Form::First),
        1 => prop::collection::vec(read(), 1..4).prop_map(Form::All),
    ]
}

proptest! {
    #[test]
    fn printed_forms_read_as_they_were(form in form()) {
        let text = print_form(&form).expect("short forms can be printed");
        prop_assert_eq!(parse_form(&text), Ok(form), "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-c0-9 .?!:,'\"\\\\(){}\\[\\]*+<=>&|/$ä-]{0,60}") {
        if let Ok(form) = parse_form(&text)
            && let Some(printed) = print_form(&form)
        {
            prop_assert_eq!(parse_form(&printed), Ok(form), "{} became {}", text, printed);
        }
    }
}

#[test]
fn unprintable_forms() {
    assert_eq!(print_form(&Form::First(Vec::new())), None);
    assert_eq!(print_form(&Form::All(Vec::new())), None);
    let long = Value::text("x".repeat(5000));
    assert_eq!(
        print_form(&Form::First(vec![Alternative::Literal(long)])),
        None
    );
    let deep = (0..50).fold(Value::Null, |inner, _| vec![inner].into());
    assert_eq!(
        print_form(&Form::First(vec![Alternative::Literal(deep)])),
        None
    );
}
