//! Tests of the whole analysis: figures in its serialized form, and properties of the analysis of any output.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Analysis, StepFailure, StepResult, analyze, trim_value};

pub(super) fn value(json: &Value) -> planwright_core::Value {
    planwright_core::Value::from_json(&json.to_string()).unwrap()
}

/// Analyzes the output of one step.
fn analyze_output(output: &Value) -> Analysis {
    let output = value(output);
    let result = StepResult {
        step: "orders",
        tool: "shop.list_orders",
        output: &output,
    };
    analyze(&[result], &[])
}

/// Checks parts of the analysis of an output: each is a pointer into the analysis with its expected value.
fn check(output: &Value, expected: &[(&str, Value)]) {
    let found = serde_json::to_value(analyze_output(output)).unwrap();
    for (pointer, expected) in expected {
        let part = found.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(part, expected, "{pointer} in {found:#}");
    }
}

#[test]
fn kinds() {
    for (output, kind) in [
        (json!(null), "null"),
        (json!(true), "boolean"),
        (json!(1), "number"),
        (json!("a"), "text"),
        (json!({"a": 1}), "record"),
        (json!([{"a": 1}]), "records"),
        (json!([1, 2, null]), "numbers"),
        (json!(["a"]), "texts"),
        (json!([true]), "booleans"),
        (json!([]), "empty"),
        (json!([1, "a"]), "list"),
        (json!([[1], [2]]), "list"),
    ] {
        check(
            &output,
            &[
                ("/steps/0/kind", json!(kind)),
                ("/schema", json!("planwright.analysis/1")),
            ],
        );
    }
}

#[test]
fn lists_and_values_are_found_in_records() {
    check(
        &json!({"page": {"total": 3, "of/all": "x"}, "orders": [{"id": 1}], "none": null}),
        &[
            (
                "/steps/0/values",
                json!([{"at": "/page/total", "value": 3}, {"at": "/page/of~1all", "value": "x"}]),
            ),
            ("/steps/0/collections/0/at", json!("/orders")),
            ("/steps/0/collections/0/count", json!(1)),
            ("/steps/0/collections/0/fields/0/at", json!("/orders/*/id")),
        ],
    );
}

#[test]
fn numbers() {
    let orders = json!([
        {"id": "o-1", "total": 10}, {"id": "o-2", "total": 30}, {"id": "o-3"}, {"id": "o-4", "total": null},
        {"id": "o-5", "total": 5}, {"id": "o-6", "total": 5}, "no record",
    ]);
    check(
        &orders,
        &[
            ("/steps/0/collections/0/others", json!(1)),
            (
                "/steps/0/collections/0/fields/1",
                json!({
                    "at": "/*/total", "name": "total", "present": 4, "null": 1, "missing": 1, "distinct": 3,
                    "numbers": {
                        "count": 4, "sum": 50, "mean": 12.5, "median": 7.5, "deviation": 11.902_380_714_238_1,
                        "min": {"at": "/4/total", "name": "o-5", "value": 5},
                        "max": {"at": "/1/total", "name": "o-2", "value": 30},
                    },
                }),
            ),
        ],
    );
    let sum = "/steps/0/collections/0/fields/0/numbers/sum";
    check(&json!([0.1, 0.2]), &[(sum, json!(0.3))]);
    check(&json!([1, 0.5, 2]), &[(sum, json!(3.5))]);
    check(
        &json!([i64::MAX, i64::MAX, -1]),
        &[(sum, json!(18_446_744_073_709_551_613_u64))],
    );
    check(
        &json!([u64::MAX, u64::MAX]),
        &[(sum, json!("36893488147419103230"))],
    );
    check(
        &json!([1e308, 1e308]),
        &[
            (sum, Value::Null),
            ("/steps/0/collections/0/fields/0/numbers/mean", json!(1e308)),
        ],
    );
    // Numbers that are identifiers are not added.
    check(
        &json!([{"customer_id": 7}, {"customer_id": 9}]),
        &[("/steps/0/collections/0/fields/0/numbers", Value::Null)],
    );
}

#[test]
fn groups() {
    let orders = json!([
        {"country": "GB", "total": 1, "code": 200}, {"country": "DE", "total": 2, "code": 200},
        {"country": "GB", "total": 4, "code": 404}, {"country": "DE", "total": 8.5, "code": 200},
        {"country": "AT", "code": 404}, {"country": "GB", "code": 200},
    ]);
    check(
        &orders,
        &[
            (
                "/steps/0/collections/0/fields/0/groups",
                json!({"top": [
                    {"value": "GB", "count": 3, "share": 0.5, "sums": {"total": 5}, "means": {"total": 2.5}},
                    {"value": "DE", "count": 2, "share": 0.333_333_333_333_333, "sums": {"total": 10.5}, "means": {"total": 5.25}},
                    {"value": "AT", "count": 1, "share": 0.166_666_666_666_667},
                ]}),
            ),
            (
                "/steps/0/collections/0/fields/2/groups/top/0",
                json!({"value": 200, "count": 4, "share": 0.666_666_666_666_667, "sums": {"total": 11.5}, "means": {"total": 3.833_333_333_333_33}}),
            ),
            ("/steps/0/collections/0/fields/2/numbers", Value::Null),
        ],
    );
    // Values that hardly repeat form no groups.
    check(
        &json!([{"a": "x"}, {"a": "y"}, {"a": "y"}]),
        &[("/steps/0/collections/0/fields/0/groups", Value::Null)],
    );
    let many: Vec<String> = (0..60).map(|number| format!("g{}", number % 15)).collect();
    check(
        &json!(many),
        &[
            (
                "/steps/0/collections/0/fields/0/groups/groups_left_out",
                json!(5),
            ),
            (
                "/steps/0/collections/0/fields/0/groups/records_left_out",
                json!(20),
            ),
            (
                "/steps/0/collections/0/fields/0/groups/top/0",
                json!({"value": "g0", "count": 4, "share": 0.066_666_666_666_666_7}),
            ),
        ],
    );
}

#[test]
fn truth_values_and_lengths() {
    check(
        &json!([{"paid": true, "items": [1, 2]}, {"paid": false, "items": []}, {"paid": true, "items": [1]}]),
        &[
            (
                "/steps/0/collections/0/fields/0/booleans",
                json!({"true": 2, "false": 1}),
            ),
            ("/steps/0/collections/0/fields/1/lengths/sum", json!(3)),
            (
                "/steps/0/collections/0/fields/1/lengths/max/at",
                json!("/0/items"),
            ),
        ],
    );
}

#[test]
fn duplicates() {
    check(
        &json!([{"id": 1}, {"id": 2}, {"id": 1}, {"id": 1}, {"id": 3}, {"id": 3}]),
        &[(
            "/steps/0/collections/0/fields/0/duplicates",
            json!({"count": 2, "examples": [
                {"value": 1, "times": 3, "at": ["/0/id", "/2/id"]},
                {"value": 3, "times": 2, "at": ["/4/id", "/5/id"]},
            ]}),
        )],
    );
    check(
        &json!([{"customer_id": 1}, {"customer_id": 1}]),
        &[("/steps/0/collections/0/fields/0/duplicates", Value::Null)],
    );
}

#[test]
fn outliers() {
    let outliers = "/steps/0/collections/0/fields/0/numbers/outliers";
    check(
        &json!([10, 11, 9, 10, 12, 8, 10, 95]),
        &[
            (&format!("{outliers}/method"), json!("modified_z")),
            (&format!("{outliers}/count"), json!(1)),
            (
                &format!("{outliers}/farthest/0/mark"),
                json!({"at": "/7", "value": 95}),
            ),
            (&format!("{outliers}/farthest/0/score"), json!(57.332_5)),
        ],
    );
    // Too few numbers, or none far from the others.
    check(
        &json!([10, 11, 9, 10, 12, 8, 95]),
        &[(outliers, Value::Null)],
    );
    check(
        &json!([10, 11, 9, 10, 12, 8, 10, 13]),
        &[(outliers, Value::Null)],
    );
    check(&json!([5, 5, 5, 5, 5, 5, 5, 5]), &[(outliers, Value::Null)]);
    // More than half of the numbers are equal, so the z-score is used.
    check(
        &json!([5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 50]),
        &[
            (&format!("{outliers}/method"), json!("z")),
            (&format!("{outliers}/farthest/0/mark/at"), json!("/12")),
        ],
    );
}

fn daily(values: &[f64]) -> Value {
    let records = (1..).zip(values);
    json!(
        records
            .map(|(day, value)| json!({"day": format!("2025-10-{day:02}"), "value": value}))
            .collect::<Vec<_>>()
    )
}

#[test]
fn trends_of_a_number_a_day() {
    let trend = "/steps/0/collections/0/fields/0/dates/trends/0";
    for (values, direction) in [
        (&[1.0, 2.0, 3.0, 4.0][..], json!("rising")),
        (&[9.0, 7.5, 6.0, 4.0, 3.0], json!("falling")),
        (&[100.0, 101.0, 100.0, 99.0, 100.0], json!("flat")),
        (&[0.0, 0.0, 0.0, 0.0], json!("flat")),
        (&[1.0, 9.0, 2.0, 8.0, 3.0], json!("unclear")),
        (&[1.0, 2.0, 3.0], Value::Null),
    ] {
        check(
            &daily(values),
            &[(&format!("{trend}/direction"), direction)],
        );
    }
    check(
        &daily(&[1.0, 3.0, 5.0, 7.0]),
        &[(
            trend,
            json!({"of": "value", "per": "day", "points": 4, "slope": 2.0, "fit": 1.0, "direction": "rising"}),
        )],
    );
}

/// Records with the given number per day.
fn events(days: &[(&str, usize)]) -> Value {
    let events = days.iter().flat_map(|(day, count)| {
        vec![json!({"at": format!("{day}T10:00:00Z"), "cost": 2}); *count]
    });
    json!(events.collect::<Vec<_>>())
}

#[test]
fn trends_of_events() {
    let dates = "/steps/0/collections/0/fields/0/dates";
    let rising = events(&[
        ("2025-10-01", 1),
        ("2025-10-02", 2),
        ("2025-10-03", 3),
        ("2025-10-04", 4),
        ("2025-10-05", 5),
    ]);
    check(
        &rising,
        &[
            (&format!("{dates}/count"), json!(15)),
            (&format!("{dates}/from"), json!("2025-10-01")),
            (&format!("{dates}/to"), json!("2025-10-05")),
            (&format!("{dates}/buckets"), json!(5)),
            (
                &format!("{dates}/busiest"),
                json!({"from": "2025-10-05", "count": 5}),
            ),
            (
                &format!("{dates}/trends"),
                json!([
                    {"per": "day", "points": 5, "slope": 1.0, "fit": 1.0, "direction": "rising"},
                    {"of": "cost", "per": "day", "points": 5, "slope": 2.0, "fit": 1.0, "direction": "rising"},
                ]),
            ),
        ],
    );
    // Days without records count as zero, including the leap day.
    check(
        &events(&[("2024-02-27", 5), ("2024-03-01", 5)]),
        &[
            (&format!("{dates}/buckets"), json!(4)),
            (&format!("{dates}/trends/0/points"), json!(4)),
            (&format!("{dates}/trends/0/direction"), json!("unclear")),
        ],
    );
    // Weeks begin on Monday; the first and the last are incomplete.
    check(
        &events(&[
            ("2025-09-03", 9),
            ("2025-09-10", 2),
            ("2025-09-17", 2),
            ("2025-09-24", 2),
            ("2025-10-01", 2),
            ("2025-10-07", 1),
        ]),
        &[
            (&format!("{dates}/per"), json!("week")),
            (&format!("{dates}/busiest/from"), json!("2025-09-01")),
            (&format!("{dates}/trends/0/points"), json!(4)),
            (&format!("{dates}/trends/0/direction"), json!("flat")),
        ],
    );
    check(
        &events(&[("2024-01-15", 2), ("2025-12-31", 1)]),
        &[
            (&format!("{dates}/per"), json!("month")),
            (&format!("{dates}/buckets"), json!(24)),
            (&format!("{dates}/busiest/from"), json!("2024-01-01")),
            (&format!("{dates}/trends/0/points"), json!(23)),
        ],
    );
    check(
        &json!([{"at": "2025-10-01"}, {"at": "soon"}, {"at": "later"}]),
        &[(dates, Value::Null)],
    );
    check(&json!([{"at": "2025-02-30"}]), &[(dates, Value::Null)]);
}

#[test]
fn omissions_are_counted() {
    let wide: serde_json::Map<String, Value> = (0..60)
        .map(|field| (format!("f{field}"), json!(field)))
        .collect();
    check(
        &json!([wide]),
        &[
            ("/steps/0/collections/0/fields_left_out", json!(10)),
            ("/steps/0/collections/0/fields/50", Value::Null),
        ],
    );
    check(
        &json!(vec![1; 100_003]),
        &[
            ("/steps/0/collections/0/count", json!(100_003)),
            ("/steps/0/collections/0/items_left_out", json!(3)),
            (
                "/steps/0/collections/0/fields/0/numbers/sum",
                json!(100_000),
            ),
        ],
    );
    let many: serde_json::Map<String, Value> = (0..15)
        .map(|list| (format!("l{list}"), json!([1])))
        .collect();
    check(&json!(many), &[("/steps/0/left_out", json!(5))]);
}

#[test]
fn failures_are_listed() {
    let failure = StepFailure {
        step: "mail",
        tool: "mail.send",
        message: "no such address",
    };
    let found = serde_json::to_value(analyze(&[], &[failure])).unwrap();
    assert_eq!(
        found["failures"],
        json!([{"step": "mail", "tool": "mail.send", "message": "no such address"}])
    );
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(
            &[
                "2025-10-01",
                "2024-02-29T10:00:00Z",
                "9999-12-31",
                "0001-01-01"
            ][..]
        )
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 60, 12, |inner| {
        let names = prop::sample::select(&["id", "name", "day", "a/b", "", "status", "x~y"][..]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}

fn record() -> impl Strategy<Value = Value> {
    (0..5_u8, -100..100_i64, 1..29_u8, any::<bool>()).prop_map(|(group, amount, day, flag)| {
        json!({"group": format!("g{group}"), "amount": amount, "day": format!("2025-10-{day:02}"), "flag": flag})
    })
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

proptest! {
    #[test]
    fn any_output_is_analyzed(output in json_value(), budget in 0_usize..400) {
        let whole = value(&output);
        let result = StepResult { step: "a", tool: "t", output: &whole };
        let analysis = analyze(&[result, result], &[]);
        prop_assert_eq!(&analysis, &analyze(&[result, result], &[]));
        // A number that is not finite would be serialized as `null`.
        let written = serde_json::to_value(&analysis).unwrap();
        prop_assert!(!has_null(&written), "{}", written);
        let text = analysis.to_text(budget);
        prop_assert!(text.len() <= (budget * 4).max(40), "{} for {}", text, budget);
        let cut = trim_value(&whole, budget);
        prop_assert!(cut.value.to_json().len() <= (budget * 4).max(8));
        prop_assert_eq!(cut.is_cut, cut.value != whole);
    }

    #[test]
    fn sums_are_exact(numbers in prop::collection::vec(any::<i64>(), 1..50), parts in prop::collection::vec(-1e6..1e6_f64, 1..50)) {
        let sum = |list: &Value| analyze_output(list).steps[0].collections[0].fields[0].numbers.clone().unwrap().sum;
        let naive: i128 = numbers.iter().map(|number| i128::from(*number)).sum();
        prop_assert_eq!(sum(&json!(numbers)).unwrap().to_string(), naive.to_string());
        let naive: f64 = parts.iter().sum();
        let exact = sum(&json!(parts)).unwrap().to_f64();
        prop_assert!((naive - exact).abs() < 1e-6, "{} is not {}", naive, exact);
    }

    #[test]
    fn record_order_does_not_matter(
        (records, shuffled) in prop::collection::vec(record(), 1..60)
            .prop_flat_map(|records| (Just(records.clone()), Just(records).prop_shuffle())),
    ) {
        let [one, other] = [&records, &shuffled].map(|records| {
            let mut found = serde_json::to_value(analyze_output(&json!(records))).unwrap();
            let fields = found["steps"][0]["collections"][0]["fields"].as_array_mut().unwrap();
            for field in fields {
                // Locations may differ, and so may the outliers that are listed.
                if let Some(numbers) = field.get_mut("numbers") {
                    for end in ["min", "max"] {
                        numbers[end] = numbers[end]["value"].clone();
                    }
                    let farthest = numbers.pointer_mut("/outliers/farthest");
                    if let Some(farthest) = farthest {
                        *farthest = Value::Null;
                    }
                }
            }
            found
        });
        prop_assert_eq!(one, other);
    }
}
