//! Secrets in values, verbatim and in each encoding.

use std::sync::Arc;

use planwright_core::Value;
use proptest::prelude::*;

use super::redactor::*;

fn check(secrets: &[&str], json: &str, expected: &str) {
    let redactor = Redactor::new(secrets.iter().map(|secret| Arc::from(*secret)));
    let mut value = Value::from_json(json).unwrap();
    redactor.value(&mut value);
    assert_eq!(value.to_json(), expected);
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    check(
        &["hunter2", "hunter2-long", "abc"],
        r#"{"a":"Bearer hunter2-long","b":["x","hunter2!"],"hunter2":1,"abc":"abc"}"#,
        r#"{"a":"Bearer [redacted]","b":["x","[redacted]!"],"[redacted]":1,"abc":"abc"}"#,
    );
    check(
        &["abcd1234", "1234efgh"],
        r#"["abcd1234efgh", "abcd1234abcd1234"]"#,
        r#"["[redacted]","[redacted][redacted]"]"#,
    );
}

#[test]
fn a_secret_that_is_a_number() {
    check(
        &["4711"],
        r#"[4711, 14711.5, 4712, "4711", {"4711": 0}]"#,
        r#"["[redacted]","[redacted]",4712,"[redacted]",{"[redacted]":0}]"#,
    );
    check(&["47 11"], "[4711]", "[4711]");
}

#[test]
fn encoded_secrets() {
    // In `a:hunter2?`, the parts `a:` and `?` are not secret.
    check(
        &["hunter2"],
        r#"["YTpodW50ZXIyPw=="]"#,
        r#"["YT[redacted]Pw=="]"#,
    );
    check(
        &["hunter2"],
        r#"["68756e74657232", "0x68756E74657232!"]"#,
        r#"["[redacted]","0x[redacted]!"]"#,
    );
    check(
        &["p w/é%"],
        r#"["p%20w%2f%C3%A9%25", "p+w/%c3%a9%", "p%2520w/é%2525"]"#,
        r#"["[redacted]","[redacted]","[redacted]"]"#,
    );
    check(
        &["a\"b\\\né😀"],
        r#"["{\"k\": \"a\\\"b\\\\\\né😀\"}", "a\\u0022b\\\\\\n\\u00e9\\uD83d\\ude00"]"#,
        r#"["{\"k\": \"[redacted]\"}","[redacted]"]"#,
    );
}

#[test]
fn other_texts_are_left_alone() {
    check(
        &["hunter2"],
        r#"["hunter", "HUNTER2", "aHVudGV", "6875", "%68%75", "\\u0068", "é%", "%", "\\"]"#,
        r#"["hunter","HUNTER2","aHVudGV","6875","%68%75","\\u0068","é%","%","\\"]"#,
    );
}

#[test]
fn what_holds_no_secret_is_not_copied() {
    let redactor = Redactor::new([Arc::from("hunter2")]);
    let list = Arc::new(vec![Value::from("x")]);
    let mut value = Value::List(Arc::clone(&list));
    redactor.value(&mut value);
    let Value::List(after) = &value else {
        panic!("still a list");
    };
    assert!(Arc::ptr_eq(&list, after));
}

/// A plan can choose both secret and text, so that nearly all of it matches nearly everywhere.
#[test]
fn a_text_in_which_looking_takes_too_long_is_masked_as_a_whole() {
    let check = |secret: String, text: String| {
        let redactor = Redactor::new([Arc::from(secret)]);
        let masked = format!(r#"["{MASK}"]"#);
        let mut value = Value::list([Value::from(text.as_str())]);
        redactor.value(&mut value);
        assert_eq!(value.to_json(), masked);
    };
    // The secret does not occur, but proving that exceeds the scan budget.
    check("a".repeat(20_000) + "b", "a".repeat(40_000));
    check("\\".repeat(1000), "\\".repeat(5_000));
}

#[test]
fn a_long_secret_that_is_found_soon_is_masked_alone() {
    let numbers: Vec<String> = (0..10_000_u32).map(|number| number.to_string()).collect();
    let secret = numbers.join(" ");
    let text = format!("it is {secret}, {secret}, and no other");
    let redactor = Redactor::new([Arc::from(&*secret)]);
    let expected = format!("it is {MASK}, {MASK}, and no other");
    assert_eq!(redactor.text(&text), expected);
    let spelt = format!("it is {}, and no other", percent(&secret, false, true));
    let expected = format!("it is {MASK}, and no other");
    assert_eq!(redactor.text(&spelt), expected);
}

#[test]
fn what_is_nested_is_looked_at_once() {
    let redactor = Redactor::new([Arc::from("hunter2")]);
    let nested = |text: &str| {
        (0..500).fold(Value::from(text), |inner, level| match level % 2 {
            0 => Value::list([inner]),
            _ => Value::object([("in", inner)]),
        })
    };
    let long = "no secret ".repeat(20_000);
    let mut value = nested(&format!("{long}hunter2"));
    redactor.value(&mut value);
    assert!(value == nested(&format!("{long}{MASK}")));
}

const STANDARD: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(bytes: &[u8], alphabet: &[u8], is_padded: bool) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut whole = [0; 3];
        whole[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, whole[0], whole[1], whole[2]]);
        for position in 0..=group.len() {
            let index = (bits >> (18 - 6 * position)) & 63;
            text.push(char::from(alphabet[index as usize]));
        }
        if is_padded {
            text.push_str(&"=".repeat(3 - group.len()));
        }
    }
    text
}

fn hex(text: &str, is_upper: bool) -> String {
    let digits = text.bytes().map(|byte| {
        if is_upper {
            format!("{byte:02X}")
        } else {
            format!("{byte:02x}")
        }
    });
    digits.collect()
}

/// Percent-encodes every byte, or only those that a form would.
fn percent(text: &str, every: bool, is_upper: bool) -> String {
    let bytes = text.bytes().map(|byte| match byte {
        b' ' if !every => "+".to_owned(),
        _ if !every && byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ if is_upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    });
    bytes.collect()
}

fn json(text: &str) -> String {
    let json = Value::from(text).to_json();
    json[1..json.len() - 1].to_owned()
}

fn ascii_json(text: &str) -> String {
    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
    units.collect()
}

/// All encodings of `text`, including adjacent characters that cannot be separated from it.
fn spellings(before: &str, text: &str, after: &str) -> Vec<(String, String)> {
    let whole = format!("{before}{text}{after}");
    let bytes = whole.as_bytes();
    let around = |spelt: String| (format!("{before}{spelt}{after}"), spelt);
    let mut all = vec![
        around(text.to_owned()),
        around(hex(text, false)),
        around(hex(text, true)),
        around(percent(text, false, true)),
        around(percent(text, true, false)),
        around(percent(&percent(text, false, true), false, false)),
        around(json(text)),
        around(json(&json(text))),
        around(ascii_json(text)),
        around(percent(&json(text), false, true)),
    ];
    for alphabet in [STANDARD, URL_SAFE] {
        for is_padded in [true, false] {
            let encoded = base64(bytes, alphabet, is_padded);
            // The characters that depend on the secret alone.
            let start = (before.len() * 8).div_ceil(6);
            let end = (before.len() + text.len()) * 8 / 6;
            all.push((encoded.clone(), encoded[start..end].to_owned()));
            let inner = encoded[start..end].to_owned();
            all.push((percent(&encoded, false, true), percent(&inner, false, true)));
            let wrapped: Vec<&str> = encoded
                .as_bytes()
                .chunks(7)
                .map(|line| std::str::from_utf8(line).unwrap())
                .collect();
            all.push((wrapped.join("\r\n"), inner));
        }
    }
    all
}

proptest! {
    #[test]
    fn no_spelling_of_a_secret_survives(
        before in "[ -~é\\n]{0,5}",
        secret in "[!-~]{4,9}|[ -~äß😀\"\\\\/\n\t%+]{6,12}|[0-9]{4,8}",
        after in "[ -~é]{0,5}",
    ) {
        let redactor = Redactor::new([Arc::from(&*secret)]);
        for (text, spelt) in spellings(&before, &secret, &after) {
            let redacted = redactor.text(&text);
            prop_assert!(redacted.contains(MASK), "{text:?} {redacted:?}");
            let rest = redacted.replace(MASK, "\u{0}").replace("\r\n", "");
            // Adjacent text may happen to match a part of the secret.
            let own = format!("{before}\u{0}{after}");
            prop_assert!(!rest.contains(&spelt) || own.contains(&spelt), "{text:?} {redacted:?}");
        }
    }

    #[test]
    fn nothing_else_is_taken(text in "[a-z ]{0,40}", secret in "[A-Z]{12,20}") {
        let redactor = Redactor::new([Arc::from(&*secret)]);
        prop_assert_eq!(&*redactor.text(&text), &*text);
    }
}

#[test]
fn a_secret_over_several_lines_blocks_or_items() {
    check(
        &["hunter2"],
        r#"["hun\nter2!", "hun\r\nter\n2", "{\"t\":\"hun\\nter2\"}"]"#,
        r#"["[redacted]!","[redacted]","{\"t\":\"[redacted]\"}"]"#,
    );
    check(
        &["hunter2"],
        r#"[{"type":"text","text":"key hun"},{"type":"image","data":"x"},{"type":"text","text":"ter2, again hunter2"}]"#,
        r#"[{"type":"text","text":"key [redacted]"},{"type":"image","data":"x"},{"type":"text","text":"[redacted], again [redacted]"}]"#,
    );
    check(
        &["hunter2"],
        r#"{"parts":["h","unter","2","hunter"],"b":[{"resource":{"uri":"hunter2","text":"hunt"}},"er2"]}"#,
        r#"{"parts":["[redacted]","[redacted]","[redacted]","hunter"],"b":[{"resource":{"uri":"[redacted]","text":"[redacted]"}},"[redacted]"]}"#,
    );
}

#[test]
fn a_part_of_a_secret_at_a_cut() {
    check(
        &["hunter2-0815"],
        r#"["key hunter2…", "…ter2-0815 is it", "key hunt...", "… 0815", "…nter2-0…", "key hun…", "…815", "hunter2", "ter2-0815"]"#,
        r#"["key [redacted]…","…[redacted] is it","key [redacted]...","… [redacted]","…[redacted]…","key hun…","…815","hunter2","ter2-0815"]"#,
    );
    // In base64, in hexadecimal digits, within an escape.
    check(
        &["hunter2-0815"],
        r#"["aHVudGVyMi…", "68756e746…"]"#,
        r#"["[redacted]…","[redacted]…"]"#,
    );
    check(&["p w/é%"], r#"["p%20w%2f%C…"]"#, r#"["[redacted]…"]"#);
}

#[test]
fn many_cuts_and_a_long_secret_mask_nothing_else() {
    let secret: String = (0..500_u32)
        .map(|number| (number * 7919).to_string())
        .collect();
    let redactor = Redactor::new([Arc::from(&*secret)]);
    let text = "Loading...\nDone… next...\n".repeat(200);
    assert_eq!(redactor.text(&text), text);
    let cut = format!("{text}{}…", &secret[..900]);
    assert_eq!(redactor.text(&cut), format!("{text}{MASK}…"));
}

#[test]
fn a_text_is_redacted_before_it_is_cut() {
    let redactor = Redactor::new([Arc::from("hunter2")]);
    assert_eq!(redactor.cut("key hunter2!", 8), "key [red…");
    assert_eq!(redactor.cut("no key", 6), "no key");
    assert_eq!(redactor.cut("é no key", 3), "é …");
}
