//! Tests of the readers of traces.

use planwright_learn::reader::detect;
use planwright_learn::{ReadError, Trace, TraceAnswer, TraceFormat, read};

/// Reads the traces of a golden file, whose format is recognised.
pub(crate) fn golden(name: &str) -> Vec<Trace> {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    read(name, &text, detect(&text).unwrap()).unwrap()
}

#[test]
fn formats_are_recognised_by_their_form() {
    let cases = [
        (
            r#"[{"role": "assistant", "tool_calls": [{"id": "a"}]}]"#,
            Some(TraceFormat::OpenAi),
        ),
        (
            r#"{"output": [{"type": "function_call"}]}"#,
            Some(TraceFormat::OpenAi),
        ),
        (
            r#"{"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}"#,
            Some(TraceFormat::Anthropic),
        ),
        (
            r#"[{"name": "x", "attributes": {"gen_ai.tool.name": "x"}}]"#,
            Some(TraceFormat::Otel),
        ),
        (
            "{\"format\": \"planwright.run-export/1\"}\n{}",
            Some(TraceFormat::Run),
        ),
        (r#"{"steps": []}"#, None),
        ("hello", None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(detect(text), expected, "{text}");
    }
}

#[test]
fn what_was_expected_is_said() {
    let cases = [
        (
            "{\"a\": 1}\n{\"b\": }",
            TraceFormat::OpenAi,
            "line 2 is not JSON: expected value at line 1 column 7",
        ),
        (
            r#"{"messages": []}"#,
            TraceFormat::Anthropic,
            "the text has no calls in the format anthropic: expected messages with blocks `tool_use`",
        ),
        (
            r#"[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}]"#,
            TraceFormat::OpenAi,
            "the arguments of `f` are a list, not an object",
        ),
    ];
    for (text, format, expected) in cases {
        let error: ReadError = read("trace", text, format).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn rounds_and_failures_are_read() {
    let [trace] = golden("openai-refund").try_into().unwrap();
    assert_eq!(
        trace.request.as_deref(),
        Some("Please refund the order ORD-20417 of Ana Ruiz, she wrote to us.")
    );
    let rounds: Vec<usize> = trace.calls.iter().map(|call| call.round).collect();
    assert_eq!(rounds, [0, 1, 2, 3]);
    assert_eq!(
        trace.calls[1].answer,
        TraceAnswer::Failed("Error: the gateway is busy".to_owned())
    );
    // Calls of one message are made together.
    let [trace] = golden("anthropic-close").try_into().unwrap();
    let rounds: Vec<usize> = trace.calls.iter().map(|call| call.round).collect();
    assert_eq!(rounds, [0, 1, 1]);
}

#[test]
fn spans_are_ordered_by_their_start() {
    let traces = golden("otel-check-in");
    let tools: Vec<Vec<&str>> = traces
        .iter()
        .map(|trace| trace.calls.iter().map(|call| &*call.tool).collect())
        .collect();
    let with_cot = vec!["find_booking", "bring_cot", "check_in"];
    assert_eq!(
        tools,
        [with_cot.clone(), vec!["find_booking", "check_in"], with_cot]
    );
    assert_eq!(traces[0].request.as_deref(), Some("Check in Ida Lund."));
    assert_eq!(
        traces[0].calls[2].args.to_json(),
        r#"{"booking":"BK-7741","keys":2}"#
    );
    assert_eq!(traces[0].ended_unix_ms, Some(1_763_700_000_099));
}

#[test]
fn an_answer_before_the_next_call_of_a_session_begins_a_round() {
    use std::time::{Duration, SystemTime};

    use planwright_core::Value;
    use planwright_learn::TraceAnswer;
    use planwright_learn::reader::{SessionCall, trace_of_session};

    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let call = |(began, ended)| SessionCall {
        is_exposed: false,
        tool: "shop.find".into(),
        args: Value::empty_object(),
        answer: TraceAnswer::Missing,
        began: at(began),
        ended: at(ended),
    };
    // The first two are in flight together; the third may read the answer of the second, and the fourth that of the third.
    let trace = trace_of_session("one", [(0, 9), (1, 3), (3, 5), (6, 7)].map(call));
    let rounds: Vec<usize> = trace.calls.iter().map(|call| call.round).collect();
    assert_eq!(rounds, [0, 0, 1, 2]);
    assert_eq!(trace.ended_unix_ms, Some(9000));
}
