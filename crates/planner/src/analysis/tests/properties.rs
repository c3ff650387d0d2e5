//! Properties of the analysis of any output.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{StepResult, analyze, trim_value};
use super::{analyze_output, value};

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
