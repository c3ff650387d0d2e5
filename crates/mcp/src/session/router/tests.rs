//! Tests of the router.

use super::{RequestError, RequestId, RequestOutcome, ResponseRouter, RouteResult};
use crate::session::envelope;

const ID: RequestId = RequestId::Number(7);

/// Returns the outcome of the request 7 after `line`.
fn check(line: &str) -> Option<RequestOutcome> {
    let router = ResponseRouter::default();
    let mut answer = router.register(ID);
    let line = line.as_bytes();
    let delivery = envelope::read(line).map(|message| router.route(message, None));
    if let None | Some(RouteResult::Invalid) = delivery {
        router.fail_unreadable(line, None);
    }
    answer.try_recv().ok()
}

fn unreadable(line: &str) -> String {
    match check(line) {
        Some(Err(RequestError::Unreadable(reason))) => reason,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn routes_results_unchanged() {
    let passed = [
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"b":1,"a":[]}}"#,
            r#"{"b":1,"a":[]}"#,
        ),
        (r#"{"result":null,"id":"7","more":{}}"#, "null"),
        (r#"{"id":7,"result":"\u00e4"}"#, "\"ä\""),
        (r#"{"id":7,"result":{},"error":null}"#, "{}"),
    ];
    for (line, expected) in passed {
        assert_eq!(check(line).unwrap().unwrap().to_json(), expected, "{line}");
    }
    let others = [
        r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
        "[]",
        "npm notice",
    ];
    for line in others {
        assert!(check(line).is_none(), "{line}");
    }
}

#[test]
fn routes_errors_unchanged() {
    let cases = [
        (
            r#"{"id":7,"error":{"code":-32602,"message":"no","data":{"x":[1.5]}}}"#,
            r#"-32602 no Some({"x":[1.5]})"#,
        ),
        (r#"{"id":7,"error":{"code":1,"message":"no"}}"#, "1 no None"),
        (r#"{"id":7,"error":"odd"}"#, r#"-32603 "odd" None"#),
        (
            r#"{"id":7,"result":null,"error":{"code":1,"message":"no"}}"#,
            "1 no None",
        ),
    ];
    for (line, expected) in cases {
        let Some(Err(RequestError::Refused(error))) = check(line) else {
            panic!("{line}");
        };
        let data = error.data.map(|data| data.to_json());
        let data = data.map_or("None".to_owned(), |data| format!("Some({data})"));
        assert_eq!(format!("{} {} {data}", error.code, error.message), expected);
    }
}

#[test]
fn fails_requests_with_unreadable_results() {
    let deep = format!(
        r#"{{"result":{}{},"id":7}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    assert_eq!(unreadable(&deep), "recursion limit exceeded");
    assert_eq!(
        unreadable(r#"{"id":7,"result":{"#),
        "EOF while parsing an object"
    );
    let broken = [
        r#"{"jsonrpc": "2.0", "id": 7, "result": {"x": NaN}}"#,
        r#"{"id":"7","result":{"x":NaN}}"#,
        r#"{"result":{"id":8,"x":NaN},"jsonrpc":"2.0","id":7}"#,
        r#"{"result":{"x":NaN}, "id": 7, "jsonrpc": "2.0"}"#,
        // The message names no request, but only one is pending.
        r#"{"jsonrpc":"2.0","result":{"id":7,"x":NaN}}"#,
    ];
    for line in broken {
        assert_eq!(unreadable(line), "expected value", "{line}");
    }
    let odd = [
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"x":1e400}}"#,
            "number out of range",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7}"#,
            "it has neither a result nor an error",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"error":null}"#,
            "it has neither a result nor an error",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
            "it has both a result and an error",
        ),
        (
            r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
            "invalid type: sequence, expected a JSON-RPC message",
        ),
    ];
    for (line, reason) in odd {
        assert_eq!(unreadable(line), reason, "{line}");
    }
    let unrelated = [
        r#"{"jsonrpc":"2.0","id":8,"result":{"x":NaN}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"x":NaN}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"data":NaN}}"#,
        r#"{"id":7,"level":"info"}"#,
        r#"{"result":{"x":NaN,"id":7}}"#,
        "{",
        "}",
        "",
    ];
    for line in unrelated {
        assert!(check(line).is_none(), "{line}");
    }
}

#[test]
fn an_unreadable_answer_without_an_id_belongs_to_the_request_it_arrived_for() {
    let line = br#"{"jsonrpc":"2.0","result":{"x":NaN}}"#;
    let router = ResponseRouter::default();
    let mut pending = [7, 8].map(|id| router.register(RequestId::Number(id)));
    assert_eq!(router.fail_unreadable(line, None), None);
    assert!(pending.iter_mut().all(|answer| answer.try_recv().is_err()));
    let related = RequestId::Number(8);
    assert_eq!(
        router.fail_unreadable(line, Some(&related)).as_ref(),
        Some(&related)
    );
    assert!(router.is_pending(&ID) && !router.is_pending(&related));
}

#[test]
fn unregisters_and_closes() {
    let answer = r#"{"id":7,"result":{}}"#.as_bytes();
    let router = ResponseRouter::default();
    let _unused = router.register(ID);
    router.unregister(&ID);
    let message = envelope::read(answer).unwrap();
    assert_eq!(router.route(message, None), RouteResult::ForRmcp);

    let mut before = router.register(ID);
    router.close();
    let mut after = router.register(ID);
    assert!(before.try_recv().is_err() && after.try_recv().is_err());
}

#[test]
fn captures_the_handshake() {
    let router = ResponseRouter::default();
    router.capture_handshake(ID);
    let message = envelope::read(br#"{"id":7,"result":{"odd":1}}"#).unwrap();
    assert_eq!(router.route(message, None), RouteResult::ForRmcp);
    assert_eq!(
        router.take_handshake(&ID).unwrap().to_json(),
        r#"{"odd":1}"#
    );
}
