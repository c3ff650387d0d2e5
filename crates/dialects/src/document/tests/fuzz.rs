//! Property tests of the reader with arbitrary bytes.

use planwright_core::Value;
use proptest::prelude::*;

use super::super::{ReadLimits, read};
use super::read_text;

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec((any::<String>(), inner), 0..20)
                .prop_map(|fields| { serde_json::Value::Object(fields.into_iter().collect()) }),
        ]
    })
}

fn assert_sound(bytes: &[u8]) {
    let (document, diagnostics) = read(bytes, "test", 7, &ReadLimits::default());
    assert!(document.is_some() || diagnostics.has_errors());
    for diagnostic in &diagnostics {
        let span = diagnostic.span.unwrap_or_default();
        assert!(span.start <= span.end && span.end <= bytes.len());
        if let Ok(text) = std::str::from_utf8(bytes) {
            assert!(text.get(span.start..span.end).is_some(), "{diagnostic:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_json_is_read_as_another_reader_reads_it(value in json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        };
        let text = text.unwrap_or_default();
        let wanted = Value::from_json(&text).ok();
        let (document, diagnostics) = read_text(&text);
        prop_assert!(diagnostics.is_empty(), "{:?}", diagnostics);
        prop_assert_eq!(document.map(|document| document.root.to_value()), wanted);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_sound(&bytes);
    }

    #[test]
    fn any_jumble_of_json_is_survived(text in "([\\[\\]{}:,\"'\\\\ \n/*a0-9eE+.\u{fe}-]|\\\\u[dD][89abc-f][0-9a-f]{2}|true|null|//|/\\*|\\*/|\"a\":){0,60}") {
        assert_sound(text.as_bytes());
    }

    #[test]
    fn any_wounded_json_is_survived(value in json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = serde_json::to_vec(&value).unwrap_or_default();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        assert_sound(&bytes);
    }
}
