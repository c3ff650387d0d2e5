//! Tests of the parsers of server-sent events and JSON bodies.

use super::{EventTooLong, JsonLines, MessageTooLong, SseParser};

/// Returns the events of `text`, which must not depend on how it is split.
fn check(text: &str) -> String {
    let read = |size: usize| {
        let mut reader = SseParser::new(40);
        for chunk in text.as_bytes().chunks(size) {
            if reader.push(chunk) == Err(EventTooLong) {
                return "too long".to_owned();
            }
        }
        let events = std::iter::from_fn(|| reader.next()).map(|event| {
            let data = event.data.map(|data| String::from_utf8(data).unwrap());
            format!("{:?} {data:?} {:?} {:?}", event.kind, event.id, event.retry)
        });
        events.collect::<Vec<String>>().join("\n")
    };
    let whole = read(text.len());
    for size in 1..text.len() {
        assert_eq!(read(size), whole, "in chunks of {size}");
    }
    whole
}

#[test]
fn parses_events() {
    insta::assert_snapshot!(
        check("data: a\n\ndata:b\ndata: c\r\n\r\n: nothing\n\nevent: x\rdata\r\rid: 7\nretry: 20\ndata:\n\ndata: cut"),
        @r#"
    None Some("a") None None
    None Some("b\nc") None None
    Some("x") Some("") None None
    None Some("") Some("7") Some(20)
    "#);
    insta::assert_snapshot!(check("\u{feff}data: ä\n\nid: only\n\nretry: soon\n\n"), @r#"
    None Some("ä") None None
    None None Some("only") None
    "#);
}

#[test]
fn limits_events() {
    let long = "x".repeat(60);
    assert_eq!(check(&format!("data: {long}\n\n")), "too long");
    assert_eq!(
        check(&format!("data: {0}\ndata: {0}\n\n", &long[..25])),
        "too long"
    );
    assert_eq!(check(&format!(": {long}\n\n")), "");
}

/// Returns the messages of `text`, which must not depend on how it is split.
fn check_json_lines(text: &str) -> Vec<String> {
    let read = |size: usize| {
        let mut lines = JsonLines::new(40);
        let mut messages = Vec::new();
        for chunk in text.as_bytes().chunks(size) {
            lines.push(chunk);
            loop {
                match lines.next() {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break,
                    Err(MessageTooLong) => return vec!["too long".to_owned()],
                }
            }
        }
        messages.extend(lines.rest());
        let text = |message| String::from_utf8(message).unwrap().trim().to_owned();
        messages.into_iter().map(text).collect()
    };
    let whole = read(text.len());
    for size in 1..text.len() {
        assert_eq!(read(size), whole, "in chunks of {size}");
    }
    whole
}

#[test]
fn splits_at_line_ends() {
    assert_eq!(
        check_json_lines("{\"a\":1}\n{\"b\":2}\r\n{\"c\":"),
        ["{\"a\":1}", "{\"b\":2}", "{\"c\":"]
    );
    assert_eq!(check_json_lines("\n \n{}\n\n"), ["{}"]);
}

#[test]
fn a_message_may_have_several_lines() {
    let message = "{\n \"a\": [\n1\n]\n}";
    assert_eq!(check_json_lines(message), [message]);
}

#[test]
fn texts_end_nothing() {
    let lines = ["{\"a\":\"}\\\"}\\\\\"}", "{\"}\n\":1}"];
    assert_eq!(check_json_lines(&lines.join("\n")), lines);
}

#[test]
fn what_is_no_json_ends_at_its_line() {
    assert_eq!(check_json_lines("}\n{} no\n[]"), ["}", "{} no", "[]"]);
}

#[test]
fn limits_messages() {
    let long = format!("\"{}\"", "x".repeat(30));
    assert_eq!(
        check_json_lines(&format!("{long}\n{long}\n{long}")).len(),
        3
    );
    assert_eq!(
        check_json_lines(&format!("[{long},\n{long}]")),
        ["too long"]
    );
}
