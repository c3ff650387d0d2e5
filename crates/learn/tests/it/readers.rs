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

/// Reads the only trace of a text.
fn only(text: &str) -> Trace {
    let [trace] = read("log", text, detect(text).unwrap())
        .unwrap()
        .try_into()
        .unwrap();
    trace
}

/// Returns the tools of a trace, each with its arguments, its round and its answer.
fn shown(trace: &Trace) -> Vec<String> {
    let calls = trace.calls.iter();
    calls
        .map(|call| {
            let answer = match &call.answer {
                TraceAnswer::Output(value) => value.to_json(),
                TraceAnswer::Failed(message) => format!("failed: {message}"),
                TraceAnswer::Missing => "-".to_owned(),
            };
            format!(
                "{} {} {} {answer}",
                call.round,
                call.tool,
                call.args.to_json()
            )
        })
        .collect()
}

/// A span of OTLP as JSON; `args` are left out if they are empty.
fn span(id: &str, parent: &str, name: &str, args: &str, rest: &str) -> String {
    let args = if args.is_empty() {
        String::new()
    } else {
        format!(r#""gen_ai.tool.call.arguments": {args}, "gen_ai.tool.call.result": "ok","#)
    };
    format!(
        r#"{{"traceId": "t", "spanId": "{id}", "parentSpanId": "{parent}", "startTimeUnixNano": 5,
            "attributes": {{{args} {rest} "gen_ai.tool.name": "{name}"}}}}"#
    )
}

#[test]
fn spans_of_one_call_are_one_call() {
    let http = r#"{"traceId": "t", "spanId": "http", "parentSpanId": "outer"}"#;
    let inner = span("inner", "http", "refund", r#"{"a": 1}"#, "");
    // The outer span may have no arguments, or a name with the server, and may come later.
    for outer in [
        span("outer", "root", "refund", r#"{"a": 1}"#, ""),
        span("outer", "root", "mcp__shop__refund", "", ""),
    ] {
        for spans in [[&inner, &outer], [&outer, &inner]] {
            let trace = only(&format!("[{}, {http}, {}]", spans[0], spans[1]));
            assert_eq!(shown(&trace).len(), 1, "{outer}");
            assert!(shown(&trace)[0].ends_with(r#"{"a":1} "ok""#), "{outer}");
            assert_eq!(trace.left_out, [""; 0]);
        }
    }
    // The same id, or the same span once more.
    let id = r#""gen_ai.tool.call.id": "c1","#;
    let first = span("1", "", "refund", r#"{"a": 1}"#, id);
    let second = span("2", "", "refund", r#"{"a": 1}"#, id);
    assert_eq!(
        only(&format!("[{first}, {second}, {first}]")).calls.len(),
        1
    );
    // A repetition after a failure is a call of its own.
    let failed = span(
        "3",
        "",
        "refund",
        "",
        &format!(r#"{id} "error.type": "busy","#),
    );
    let repeated = only(&format!("[{failed}, {first}]"));
    assert_eq!(repeated.calls.len(), 2);
    // Without a common span or id, they are two.
    let second = span("2", "", "refund", r#"{"a": 1}"#, "");
    assert_eq!(only(&format!("[{first}, {second}]")).calls.len(), 2);
}

#[test]
fn calls_within_other_calls_are_left_out_and_reported() {
    let outer = span("outer", "", "task", "{}", "");
    let inner = span("inner", "outer", "refund", r#"{"a": 1}"#, "");
    let innermost = span("innermost", "inner", "refund", r#"{"a": 1}"#, "");
    let trace = only(&format!("[{innermost}, {inner}, {outer}]"));
    assert_eq!(shown(&trace), [r#"0 task {} "ok""#]);
    assert_eq!(
        trace.left_out,
        ["`refund` is called within a call of `task`, so it is left out"]
    );
    // A circle of parents ends.
    let circle = [
        span("1", "2", "refund", "{}", ""),
        span("2", "1", "send", "{}", ""),
    ];
    let circle = read(
        "log",
        &format!("[{}]", circle.join(", ")),
        TraceFormat::Otel,
    );
    assert!(circle.is_err(), "{circle:?}");
}

#[test]
fn calls_of_the_connector_to_mcp_servers_are_read() {
    let trace = only(
        r#"{"messages": [
            {"role": "user", "content": "Refund it"},
            {"role": "assistant", "content": [
                {"type": "mcp_tool_use", "id": "m1", "name": "find", "server_name": "shop", "input": {"a": 1}},
                {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [{"type": "text", "text": "found"}]},
                {"type": "mcp_tool_use", "id": "m2", "name": "refund", "server_name": "shop", "input": {"a": 1}},
                {"type": "mcp_tool_result", "tool_use_id": "m2", "is_error": true, "content": [{"type": "text", "text": "no"}]}
            ]}
        ]}"#,
    );
    assert_eq!(
        shown(&trace),
        [
            r#"0 shop.find {"a":1} "found""#,
            r#"1 shop.refund {"a":1} failed: no"#
        ]
    );
}

#[test]
fn calls_in_unknown_forms_are_reported() {
    let cases = [
        (
            r#"[{"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
                {"type": "custom_tool_call", "call_id": "d", "name": "send", "input": "x"}]"#,
            "`send` is called in the form `custom_tool_call`, which is not read",
        ),
        (
            r#"[{"role": "assistant", "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}},
                {"id": "d", "type": "custom", "custom": {"name": "send", "input": "x"}}]}]"#,
            "`send` is called in the form `custom`, which is not read",
        ),
        (
            r#"[{"role": "assistant", "content": [
                {"type": "tool_use", "id": "c", "name": "find", "input": {}},
                {"type": "server_tool_use", "id": "d", "name": "web_search", "input": {}}]}]"#,
            "`web_search` is called in the form `server_tool_use`, which is not read",
        ),
        (
            r#"[{"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
                {"type": "web_search_call", "id": "d"}]"#,
            "`a tool` is called in the form `web_search_call`, which is not read",
        ),
    ];
    for (text, expected) in cases {
        let trace = only(text);
        assert_eq!(shown(&trace), ["0 find {} -"], "{text}");
        assert_eq!(trace.left_out, [expected]);
    }
    // A conversation with nothing else is a trace beside others.
    let text = r#"[{"messages": [{"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"}]},
                   {"messages": [{"type": "custom_tool_call", "call_id": "d", "name": "send", "input": "x"}]}]"#;
    let traces = read("log", text, TraceFormat::OpenAi).unwrap();
    let calls: Vec<usize> = traces.iter().map(|trace| trace.calls.len()).collect();
    assert_eq!(calls, [1, 0]);
}

#[test]
fn calls_without_ids_are_answered_by_name() {
    let trace = only(
        r#"[{"role": "assistant", "content": null, "function_call": {"name": "send", "arguments": "{\"a\": 1}"}},
            {"role": "function", "name": "send", "content": "sent"},
            {"role": "assistant", "content": null, "function_call": {"name": "send", "arguments": "{\"a\": 1}"}},
            {"role": "function", "name": "send", "content": "sent"}]"#,
    );
    // Without an id, an equal call is another one.
    assert_eq!(
        shown(&trace),
        [r#"0 send {"a":1} "sent""#, r#"1 send {"a":1} "sent""#]
    );
}

#[test]
fn repeated_lines_of_a_log_are_one_call() {
    let call = |id: &str, name: &str, answer: &str| {
        format!(
            r#"{{"type": "assistant", "message": {{"role": "assistant", "content": [{{"type": "tool_use", "id": "{id}", "name": "{name}", "input": {{}}}}]}}}}
{{"type": "user", "message": {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "{id}", "content": "{answer}"}}]}}}}
"#
        )
    };
    let twice = [
        call("t1", "find", "x"),
        call("t2", "refund", "y"),
        call("t2", "refund", "y"),
        call("t1", "find", "x"),
    ];
    let tools = |calls: &[String]| -> Vec<String> {
        let trace = only(&calls.concat());
        trace
            .calls
            .iter()
            .map(|call| call.tool.to_string())
            .collect()
    };
    assert_eq!(tools(&twice), ["find", "refund"]);
    // Ids that other calls have as well identify no call.
    let reused = [
        call("t1", "find", "x"),
        call("t1", "refund", "y"),
        call("t1", "find", "x"),
    ];
    assert_eq!(tools(&reused), ["find", "refund", "find"]);
    // Another answer is that of another call.
    let polled = [call("t1", "find", "x"), call("t1", "find", "y")];
    assert_eq!(tools(&polled), ["find", "find"]);
}

#[test]
fn a_conversation_that_grows_is_one_trace() {
    let call = |id: &str, name: &str| {
        format!(
            r#"{{"role": "assistant", "tool_calls": [{{"id": "{id}", "function": {{"name": "{name}", "arguments": "{{}}"}}}}]}}"#
        )
    };
    let answer =
        |id: &str| format!(r#"{{"role": "tool", "tool_call_id": "{id}", "content": "ok"}}"#);
    let ask = r#"{"role": "user", "content": "Refund it"}"#;
    let line = |messages: &[&str], response: &str| {
        format!(
            "{{\"request\": {{\"messages\": [{}]}}, \"response\": {{\"choices\": [{{\"message\": {response}}}]}}}}\n",
            messages.join(", ")
        )
    };
    let (find, refund) = (call("c1", "find"), call("c2", "refund"));
    let done = r#"{"role": "assistant", "content": "Done."}"#;
    let log = [
        line(&[ask], &find),
        line(&[ask, &find, &answer("c1")], &refund),
        line(&[ask, &find, &answer("c1"), &refund, &answer("c2")], done),
    ];
    let trace = only(&log.concat());
    assert_eq!(shown(&trace), [r#"0 find {} "ok""#, r#"1 refund {} "ok""#]);
    // Another conversation stays another one, also if it ends earlier.
    let other = line(&[ask], &call("c9", "find"));
    let traces = read("log", &(log.concat() + &other), TraceFormat::OpenAi).unwrap();
    assert_eq!(traces.len(), 2);
}

#[test]
fn a_conversation_in_parts_is_one_trace() {
    let call = |id: &str, name: &str| {
        format!(
            r#"{{"type": "function_call", "call_id": "{id}", "name": "{name}", "arguments": "{{}}"}}"#
        )
    };
    let answer = |id: &str| {
        format!(r#"{{"type": "function_call_output", "call_id": "{id}", "output": "ok"}}"#)
    };
    let line = |previous: &str, input: &str, id: &str, output: &str| {
        format!(
            "{{\"request\": {{{previous} \"input\": [{input}]}}, \"response\": {{\"id\": \"{id}\", \"output\": [{output}]}}}}\n"
        )
    };
    let ask = r#"{"role": "user", "content": "Refund it"}"#;
    let after = |id: &str| format!("\"previous_response_id\": \"{id}\",");
    let done = r#"{"type": "message", "role": "assistant", "content": []}"#;
    for with_ids in [true, false] {
        let after = |id: &str| if with_ids { after(id) } else { String::new() };
        let log = [
            line("", ask, "r0", &call("c1", "find")),
            // Another conversation in between.
            line("", ask, "q0", &call("d1", "find")),
            line(&after("r0"), &answer("c1"), "r1", &call("c2", "refund")),
            line(&after("r1"), &answer("c2"), "r2", done),
        ];
        let traces = read("log", &log.concat(), TraceFormat::OpenAi).unwrap();
        let calls: Vec<Vec<String>> = traces.iter().map(shown).collect();
        assert_eq!(
            calls,
            [
                vec![
                    r#"0 find {} "ok""#.to_owned(),
                    r#"1 refund {} "ok""#.to_owned()
                ],
                vec!["0 find {} -".to_owned()]
            ]
        );
        assert!(traces.iter().all(|trace| trace.left_out.is_empty()));
    }
    // The beginning is not in the log.
    let trace = only(&line(
        &after("r0"),
        &answer("c1"),
        "r1",
        &call("c2", "refund"),
    ));
    assert_eq!(
        trace.left_out,
        [
            "there are answers to calls that the log does not have",
            "the calls before the response `r0` are not in the log, or others follow them"
        ]
    );
}

#[test]
fn lists_of_conversations_are_traces() {
    let messages = r#"[{"role": "user", "content": "Go"}, {"role": "assistant", "tool_calls": [{"id": "ID", "function": {"name": "find", "arguments": "{}"}}]}]"#;
    for text in [
        format!("[{messages}, {}]", messages.replace("ID", "other")),
        format!(
            "[{{\"messages\": {messages}}}, {{\"messages\": {}}}]",
            messages.replace("ID", "other")
        ),
    ] {
        let traces = read("log", &text, detect(&text).unwrap()).unwrap();
        let names: Vec<&str> = traces.iter().map(|trace| &*trace.name).collect();
        assert_eq!(names, ["log#1", "log#2"]);
    }
}

#[test]
fn calls_of_subagents_are_left_out_and_reported() {
    let line = |is_side: bool, id: &str, name: &str| {
        format!(
            r#"{{"isSidechain": {is_side}, "message": {{"role": "assistant", "content": [{{"type": "tool_use", "id": "{id}", "name": "{name}", "input": {{}}}}]}}}}
"#
        )
    };
    let trace = only(&(line(false, "t1", "Task") + &line(true, "t2", "send")));
    assert_eq!(shown(&trace), ["0 Task {} -"]);
    assert_eq!(
        trace.left_out,
        ["`send` is called by a subagent, so it is left out"]
    );
    // The log of the subagent itself.
    let trace = only(&line(true, "t2", "send"));
    assert_eq!(shown(&trace), ["0 send {} -"]);
    assert_eq!(trace.left_out, [""; 0]);
}

#[test]
fn answers_that_report_nothing_but_an_error_have_failed() {
    let answer = |written: &str| {
        let written = planwright_core::Value::from(written).to_json();
        let trace = only(&format!(
            r#"[{{"type": "function_call", "call_id": "c", "name": "find", "arguments": "{{}}"}},
                {{"type": "function_call_output", "call_id": "c", "output": {written}}}]"#
        ));
        trace.calls[0].answer.clone()
    };
    for failed in [
        r#"{"error": "no such order"}"#,
        r#"{"error": {"code": 5}, "success": false}"#,
        r#"{"error": true, "message": "no such order"}"#,
    ] {
        assert_eq!(answer(failed), TraceAnswer::Failed(failed.to_owned()));
    }
    for succeeded in [
        r#"{"error": null}"#,
        r#"{"error": "", "ok": true}"#,
        r#"{"job": 7, "error": "no such order"}"#,
        r#"["error"]"#,
    ] {
        assert!(answer(succeeded).output().is_some(), "{succeeded}");
    }
}
