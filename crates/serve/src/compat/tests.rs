//! Descriptions and results for clients of other systems.

use planwright::loaded_plan::LoadedPlan;
use planwright_core::check::Policy;
use planwright_core::{Catalog, Value};
use planwright_dialects::ReadOptions;
use planwright_engine::Engine;
use planwright_engine::backend::Simulated;

use super::tools::{DescriptionContext, SubmittedPlan};
use super::{refusal_response, run_response};
use crate::settings::CompatProfile;
use crate::tools::Condition;
use crate::tools::snapshot::marks_sharing;

const TOOLS: &str = r#"{"tools": {
    "find": {
        "description": "Finds a city.",
        "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        "returns": {"lat": 59.9, "zip": "0150"}
    },
    "tell": {
        "input_schema": {"type": "object", "properties": {"text": {"x-sharable": true}, "loud": {"type": "boolean"}}},
        "sleep_ms": 250, "echo": true
    },
    "nap": {"returns": 7},
    "fail": {"fails": "no such city"},
    "long": {"returns": "0123456789012345678901234567890123456789"},
    "pay": {"approval": true, "returns": "paid"}
}}"#;

/// Runs the plan in `arguments` and renders the response, with values of up to 40 bytes.
async fn check(name: CompatProfile, arguments: &str) -> String {
    let simulated = Simulated::from_script(&Value::from_json(TOOLS).unwrap()).unwrap();
    let catalog: Catalog = simulated.tools().cloned().collect();
    let arguments = Value::from_json(arguments).unwrap();
    let handed = name.tools().plan(&arguments).unwrap();
    let SubmittedPlan::Plan { text, dialect, .. } = handed else {
        panic!("no plan: {handed:?}");
    };
    let options = ReadOptions {
        dialect,
        ..ReadOptions::new("plan")
    };
    let result = planwright_dialects::parse(text.as_bytes(), &options);
    let loaded = LoadedPlan::new("plan", result).shared();
    let (plan, _) = loaded.check(&catalog, &Policy::new());
    let plan = plan.expect("the plan is sound");
    let summary = Engine::new(simulated)
        .run("r1".parse().unwrap(), plan.clone())
        .await;
    message(&run_response(name, &summary, Some(&plan), 40))
}

/// Renders the text, the links, and whether the response is an error. Asserts that the structured content equals the text.
fn message(answer: &Value) -> String {
    let blocks = answer.get("content").and_then(Value::as_list).unwrap();
    let text = blocks[0].get("text").and_then(Value::as_text).unwrap();
    let structured = answer.get("structuredContent").unwrap();
    assert_eq!(Value::from_json(text).unwrap(), *structured);
    let mut message = text.to_owned();
    for block in &blocks[1..] {
        message.push('\n');
        message.push_str(&block.get("uri").unwrap().to_json());
    }
    if answer.get("isError") == Some(&Value::from(true)) {
        message += "\nerror";
    }
    message
}

#[tokio::test(start_paused = true)]
async fn concierge_tells_step_by_step() {
    insta::assert_snapshot!(check(CompatProfile::Concierge, r#"{"steps": [
        {"id": "a", "tool": "find", "args": {"name": "Oslo"}},
        {"id": "b", "tool": "tell", "args": {"text": {"output_by_reference": {"a": ["zip"]}}}}
    ]}"#).await, @r#"
    {
      "status": "completed",
      "steps": {
        "a": {
          "status": "ok",
          "result": {
            "lat": 59.9,
            "zip": "0150"
          }
        },
        "b": {
          "status": "ok",
          "result": {
            "text": "0150"
          }
        }
      }
    }
    "#);
    insta::assert_snapshot!(check(CompatProfile::Concierge, r#"{"steps":
        "[{\"id\": \"a\", \"tool\": \"nap\"}, {\"id\": \"b\", \"tool\": \"fail\"}, {\"id\": \"c\", \"tool\": \"nap\"}]"
    }"#).await, @r#"
    {
      "status": "partial",
      "steps": {
        "a": {
          "status": "ok",
          "result": 7
        },
        "b": {
          "status": "error",
          "error": "no such city"
        }
      }
    }
    error
    "#);
    insta::assert_snapshot!(check(CompatProfile::Concierge, r#"{"steps": [{"id": 1, "tool": "long"}, {"id": "p", "tool": "pay"}]}"#).await, @r#"
    {
      "status": "partial",
      "steps": {
        "1": {
          "status": "ok",
          "result": {
            "$trimmed": {
              "bytes": 42,
              "start": "0123456789012345678901234567890123456789"
            }
          }
        },
        "p": {
          "status": "error",
          "error": "a person has to decide about this call of `p` before the run `r1` can continue"
        }
      }
    }
    "planwright://runs/r1/output"
    "#);
}

#[tokio::test(start_paused = true)]
async fn agentle_tells_what_was_asked_for() {
    insta::assert_snapshot!(check(CompatProfile::Agentle, r#"{"steps": [
        {"id": "a", "tool": "find", "arguments": "{\"name\": \"Oslo\"}"},
        {"id": "n", "tool": "nap", "arguments": "{}"},
        {"id": "b", "tool": "tell", "arguments": "{\"text\": \"$ref:a.zip\"}"}
    ], "output_steps": ["b", "n"]}"#).await, @r#"{"b":{"text":"0150"},"n":7}"#);
    insta::assert_snapshot!(check(CompatProfile::Agentle, r#"{"steps": [
        {"id": "other", "tool": "fail", "arguments": "{}"},
        {"id": "n", "tool": "nap", "arguments": "{}"},
        {"id": "s1", "tool": "fail", "arguments": "{}"},
        {"id": "s2", "tool": "tell", "arguments": {"text": "$ref:s1"}}
    ], "output_steps": ["n", "s2"]}"#).await, @r#"
    {"n":7,"s2":{"error":"Skipped because dependency s1 failed"},"other":{"error":"no such city"},"s1":{"error":"no such city"}}
    error
    "#);
    insta::assert_snapshot!(check(CompatProfile::Agentle, r#"{"steps": [
        {"id": "long", "tool": "long", "arguments": "{}"}
    ]}"#).await, @r#"
    {"long":{"$trimmed":{"bytes":42,"start":"0123456789012345678901234567890123456789"}}}
    "planwright://runs/r1/output"
    "#);
}

#[tokio::test(start_paused = true)]
async fn mcp_cli_tells_variables_and_steps() {
    insta::assert_snapshot!(check(CompatProfile::McpCli, r#"{"plan": {"id": "p-1", "title": "Weather", "variables": {"city": "Oslo"}, "steps": [
        {"title": "Find it", "tool": "find", "args": {"name": "${city}"}, "result_variable": "found"},
        {"tool": "tell", "args": {"text": "${found.zip}"}, "depends_on": ["1"]}
    ]}}"#).await, @r#"{"success":true,"plan_id":"p-1","title":"Weather","duration":0.25,"steps_completed":2,"steps_total":2,"results":{"city":"Oslo","found":{"lat":59.9,"zip":"0150"}},"steps":[{"index":"1","title":"Find it","tool":"find","success":true,"error":null},{"index":"2","title":"tell","tool":"tell","success":true,"error":null}]}"#);
    insta::assert_snapshot!(check(CompatProfile::McpCli, r#"{"plan": {"steps": [
        {"tool": "fail", "args": {}}, {"tool": "nap", "args": {}}, {"tool": "nap", "args": {}, "depends_on": ["1"]}
    ]}}"#).await, @r#"
    {"success":false,"plan_id":"r1","title":"r1","duration":0.0,"steps_completed":1,"steps_total":3,"error":"step 1: no such city","results":{"2":7},"steps":[{"index":"1","title":"fail","tool":"fail","success":false,"error":"no such city"},{"index":"2","title":"nap","tool":"nap","success":true,"error":null},{"index":"3","title":"nap","tool":"nap","success":false,"error":"skipped: `1` has not succeeded"}]}
    error
    "#);
}

#[test]
fn a_refusal_is_an_error_in_each_form() {
    insta::assert_snapshot!(message(&refusal_response(CompatProfile::Agentle, "no `x`\nno `y`")), @r#"
    {"error":"no `x`\nno `y`"}
    error
    "#);
    insta::assert_snapshot!(message(&refusal_response(CompatProfile::Concierge, "no `x`")), @r#"
    {
      "error": "no `x`"
    }
    error
    "#);
}

#[test]
fn arguments_are_read_as_these_systems_have_them() {
    let read = |name: CompatProfile, arguments: &str| {
        let arguments = Value::from_json(arguments).unwrap();
        match name.tools().plan(&arguments) {
            Ok(SubmittedPlan::Plan { text, dialect, .. }) => {
                format!("{}: {text}", dialect.unwrap())
            }
            Ok(SubmittedPlan::Stored { name, inputs }) => {
                format!("{name} {}", Value::from(inputs).to_json())
            }
            Err(error) => error.0,
        }
    };
    insta::assert_snapshot!(read(CompatProfile::Concierge, r#"{"steps": [], "more": 1}"#), @r#"concierge: {"steps":[],"more":1}"#);
    insta::assert_snapshot!(read(CompatProfile::Concierge, "{}"), @r#"`execute_plan` needs the argument `steps`: {"steps": [{"id": …, "tool": …}, …]}"#);
    insta::assert_snapshot!(read(CompatProfile::Agentle, r#"{"steps": null}"#), @r#"`execute_tool_plan` needs the argument `steps`: {"steps": [{"id": …, "tool": …}, …]}"#);
    insta::assert_snapshot!(read(CompatProfile::McpCli, r#"{"plan_id": "weekly", "variables": {"city": "Oslo"}}"#), @r#"weekly {"city":"Oslo"}"#);
    insta::assert_snapshot!(read(CompatProfile::McpCli, "{}"), @"`plan_execute` needs the argument `plan_id`");
    insta::assert_snapshot!(read(CompatProfile::McpCli, r#"{"goal": "x"}"#), @"`plan_execute` has no argument `goal`; it takes `plan_id`, `plan`, `variables`");
}

/// Returns the definitions of a profile, without the constant part of each description.
fn entries(name: CompatProfile, marks: bool) -> String {
    let simulated = Simulated::from_script(&Value::from_json(TOOLS).unwrap()).unwrap();
    let catalog: Catalog = simulated.tools().cloned().collect();
    let context = DescriptionContext {
        tools: catalog.tools().collect(),
        marks_sharing: marks,
        saved: Vec::new(),
        creates: false,
    };
    let mut entries = name.tools().definitions(&context);
    let mut names = Vec::new();
    for entry in &mut entries {
        names.push(entry["name"].as_str().unwrap_or_default().to_owned());
        let description = entry["description"].as_str().unwrap();
        let last = description
            .rsplit_once("\n\n")
            .map(|(_, last)| last.to_owned());
        entry["description"] = last.into();
    }
    let tools = name.tools().tools().iter();
    let always = tools.filter(|tool| tool.condition == Condition::Always);
    assert_eq!(names, always.map(|tool| tool.name).collect::<Vec<_>>());
    let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
    entries.join("\n")
}

#[test]
fn tools_are_shown_as_these_systems_show_them() {
    insta::assert_snapshot!(entries(CompatProfile::Concierge, true), @r#"{"name":"execute_plan","title":"Plan Execution","description":"Tools:\nsimulated.find(name: string)  -- Finds a city\nsimulated.tell(text?: any, loud?: boolean) [sharable: text]\nsimulated.nap()\nsimulated.fail()\nsimulated.long()\nsimulated.pay() [asks first]","inputSchema":{"type":"object","properties":{"steps":{"type":"array","minItems":1,"items":{"type":"object","required":["id","tool","args"],"properties":{"id":{"type":"string"},"tool":{"type":"string"},"args":{"type":"object","additionalProperties":true}},"additionalProperties":false}}},"required":["steps"]}}"#);
    insta::assert_snapshot!(entries(CompatProfile::Agentle, true), @r#"{"name":"execute_tool_plan","description":"Tools:\nsimulated.find(name: string)  -- Finds a city\nsimulated.tell(text?: any, loud?: boolean)\nsimulated.nap()\nsimulated.fail()\nsimulated.long()\nsimulated.pay() [asks first]","inputSchema":{"type":"object","properties":{"steps":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"tool":{"type":"string"},"arguments":{"type":"string"}},"required":["id","tool","arguments"],"additionalProperties":false}},"output_steps":{"type":"array","items":{"type":"string"}}},"required":["steps"],"additionalProperties":false}}"#);
    insta::assert_snapshot!(entries(CompatProfile::McpCli, true), @r#"{"name":"plan_execute","description":null,"inputSchema":{"type":"object","properties":{"plan_id":{"type":"string","description":"the plan's id or name"}},"required":["plan_id"]}}"#);
}

#[test]
fn it_is_known_whether_tools_say_what_takes_references() {
    let check = |schema: &str, expected: bool| {
        let schema = Value::from_json(schema).unwrap();
        assert_eq!(marks_sharing(&schema), expected, "{schema:?}");
    };
    check(r#"{"properties": {"a": {"type": "string"}}}"#, false);
    check(r#"{"properties": {"a": {"x-sharable": true}}}"#, true);
    check(
        r#"{"properties": {"a": {"items": [{"x-sharable": false}]}}}"#,
        true,
    );
    check("true", false);
}
