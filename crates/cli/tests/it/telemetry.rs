//! The spans and metrics that a collector receives for a run.

mod collector;

use std::process::Output;

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, status::StatusCode};
use planwright_testkit::listening::ClosedPort;

use crate::program::{planwright, stderr};
use collector::Collector;

const TOOLS: &str = r#"{"tools": {
    "echo": {"echo": true},
    "break": {"fails": "no s3cret here"}
}}"#;

const PLAN: &str = r#"{"name": "letters", "steps": [
    {"id": "one", "tool": "echo", "args": {"text": "s3cret"}},
    {"id": "all", "tool": "echo", "for_each": [1, 2], "args": {"text": "${item}"}},
    {"id": "bad", "tool": "break", "on_error": "continue"}
]}"#;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Runs the plan with `toml` as the user's own configuration.
fn run(toml: &str, variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir_all(folder.path().join(".config/planwright")).unwrap();
    write(".config/planwright/planwright.toml", toml);
    write("tools.json", TOOLS);
    write("plan.json", PLAN);
    planwright(folder.path())
        .args([
            "run",
            "plan.json",
            "--simulate",
            "tools.json",
            "--no-store",
            "--log",
            "warn",
        ])
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

/// Each span by its step or name, with its parent's name and its kind of error.
fn tree(spans: &[Span]) -> Vec<String> {
    let name = |span: &Span| match attribute(&span.attributes, "planwright.step") {
        Some(step) => format!("{} {step}", span.name),
        None => span.name.clone(),
    };
    let mut lines: Vec<String> = spans
        .iter()
        .map(|span| {
            let parent = spans
                .iter()
                .find(|parent| parent.span_id == span.parent_span_id);
            let parent = parent.map_or("-".to_owned(), &name);
            let error = attribute(&span.attributes, "error.type").unwrap_or("-");
            format!("{} < {parent} | {error}", name(span))
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_run_is_a_tree_of_spans() {
    let collector = Collector::start();
    let toml = format!(
        "[telemetry]\nendpoint = \"{}\"\nheaders.x-api-key = \"k3y\"\n",
        collector.url()
    );
    let output = run(&toml, &[("TRACEPARENT", PARENT), ("TRACESTATE", "rojo=1")]);
    assert!(output.status.success(), "{}", stderr(&output));
    let heard = collector.heard();
    assert_eq!(
        tree(&heard.spans),
        [
            "execute_tool break < step break bad | tool_error",
            "execute_tool echo < step echo all[0] | -",
            "execute_tool echo < step echo all[1] | -",
            "execute_tool echo < step echo one | -",
            "invoke_workflow letters < - | -",
            "step all < invoke_workflow letters | -",
            "step break bad < invoke_workflow letters | tool_error",
            "step echo all[0] < step all | -",
            "step echo all[1] < step all | -",
            "step echo one < invoke_workflow letters | -",
        ]
    );
    for span in &heard.spans {
        assert_eq!(hex(&span.trace_id), "0af7651916cd43dd8448eb211c80319c");
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        let failed = attribute(&span.attributes, "error.type").is_some();
        let status = span.status.as_ref().map(|status| status.code);
        assert_eq!(status == Some(StatusCode::Error as i32), failed, "{span:?}");
    }
    let root = heard
        .spans
        .iter()
        .find(|span| span.name.starts_with("invoke"))
        .unwrap();
    assert_eq!(hex(&root.parent_span_id), "b7ad6b7169203331");
    assert_eq!(root.trace_state, "rojo=1");
    let call = heard
        .spans
        .iter()
        .find(|span| span.name.starts_with("execute"))
        .unwrap();
    assert_eq!(
        attribute(&call.attributes, "gen_ai.operation.name"),
        Some("execute_tool")
    );
    assert_eq!(
        attribute(&call.attributes, "mcp.method.name"),
        Some("tools/call")
    );
    for name in [
        "gen_ai.workflow.duration",
        "gen_ai.execute_tool.duration",
        "mcp.client.operation.duration",
    ] {
        assert!(
            heard.metrics.iter().any(|metric| metric == name),
            "{name} in {:?}",
            heard.metrics
        );
    }
    assert_eq!(heard.service.as_deref(), Some("planwright"));
    assert!(
        heard.keys.iter().all(|key| key == "k3y"),
        "{:?}",
        heard.keys
    );
    assert!(
        !heard.text.contains("s3cret"),
        "no values unless they are wanted"
    );
}

#[test]
fn values_are_captured_on_request() {
    let collector = Collector::start();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.url()),
        ("OTEL_SERVICE_NAME", "letters-of-ada"),
    ];
    let output = run("[telemetry]\ncapture_values = true\n", &variables);
    assert!(output.status.success(), "{}", stderr(&output));
    let heard = collector.heard();
    assert!(heard.text.contains("s3cret"));
    assert_eq!(heard.service.as_deref(), Some("letters-of-ada"));
}

#[test]
fn a_collector_that_is_not_there_is_no_harm() {
    let port = ClosedPort::take();
    let closed = port.url();
    let output = run("", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &closed)]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("WARN") || stderr(&output).contains("ERROR"),
        "{}",
        stderr(&output)
    );
    let off = run(
        "",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &closed),
            ("OTEL_SDK_DISABLED", "true"),
        ],
    );
    assert!(
        !stderr(&off).contains("WARN") && !stderr(&off).contains("ERROR"),
        "{}",
        stderr(&off)
    );
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}
