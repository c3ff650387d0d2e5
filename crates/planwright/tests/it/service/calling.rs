//! Functions as tools: checked ahead, called with what they take, failing as they say.

use planwright::core::plan::Node;
use planwright::core::{Code, Step};
use planwright::dialects::{ReadOptions, dialect, parse_as};
use planwright::engine::backend::ToolOutput;
use planwright::{
    CallContext, Error, Function, Functions, Plan, Planwright, ToolError, Value, parse,
};
use serde_json::json;

use super::support::planwright;

/// Returns the output of the plan of `steps`.
async fn outcome(steps: serde_json::Value) -> Result<serde_json::Value, Error> {
    let planwright = planwright().await;
    let plan = planwright.check(parse(json!({"steps": steps}).to_string()))?;
    let summary = planwright.run(plan).await?;
    let failures = summary.steps.iter().filter_map(|step| step.error.as_ref());
    let failures: Vec<String> = failures.map(ToString::to_string).collect();
    Ok(json!({"output": serde_json::Value::from(summary.output), "failures": failures}))
}

/// The codes of the findings that keep the plan of `steps` from running.
async fn rejected(steps: serde_json::Value) -> Vec<Code> {
    let error = outcome(steps).await.unwrap_err();
    let findings = error.diagnostics().unwrap();
    findings.iter().map(|finding| finding.code).collect()
}

#[tokio::test]
async fn data_passes_through_types() {
    let steps = json!([
        {"id": "a", "tool": "weather", "args": {"city": "Oslo"}},
        {"id": "b", "tool": "functions.note", "args": {"to": "Ada", "text": "${a.city}: ${a.temp}"}},
    ]);
    assert_eq!(
        outcome(steps).await.unwrap(),
        json!({"output": {"a": {"city": "Oslo", "temp": 4}, "b": "Ada: Oslo: 4"}, "failures": []})
    );
}

#[tokio::test]
async fn a_failure_is_the_tools_own() {
    let steps = json!([{"id": "a", "tool": "weather", "args": {"city": "Atlantis"}}]);
    let outcome = outcome(steps).await.unwrap();
    assert_eq!(outcome["failures"], json!(["it is under water"]));
}

#[tokio::test]
async fn schemas_are_checked_ahead() {
    let missing = json!([{"id": "a", "tool": "weather", "args": {}}]);
    assert_eq!(rejected(missing).await, [Code::MissingArgument]);
    let wrong = json!([{"id": "a", "tool": "weather", "args": {"city": 7}}]);
    assert_eq!(rejected(wrong).await, [Code::InvalidLiteral]);
    let no_field = json!([
        {"id": "a", "tool": "weather", "args": {"city": "Oslo"}},
        {"id": "b", "tool": "note", "args": {"to": "Ada", "text": "${a.wind}"}},
    ]);
    assert_eq!(rejected(no_field).await, [Code::ImpossiblePath]);
}

#[tokio::test]
async fn sharable_parameters_take_data_in_concierge() {
    let plan = |parameter: &str, other: &str| {
        let reference = json!({"output_by_reference": {"a": ["city"]}});
        let steps = json!([
            {"id": "a", "tool": "weather", "args": {"city": "Oslo"}},
            {"id": "b", "tool": "note", "args": {parameter: reference, other: "Ada"}},
        ]);
        json!({"steps": steps}).to_string()
    };
    let planwright = planwright().await;
    let options = planwright::dialects::ReadOptions::new("plan").in_dialect("concierge");
    let read = |text: String| planwright::dialects::parse(text.as_bytes(), &options);

    let plan_to_run = planwright.check(read(plan("text", "to"))).unwrap();
    let summary = planwright.run(plan_to_run).await.unwrap();
    assert_eq!(summary.steps[1].output, Some(Value::from("Ada: Oslo")));

    let error = planwright.check(read(plan("to", "text"))).unwrap_err();
    let findings = error.diagnostics().unwrap();
    let codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::NotSharable]);
}

#[tokio::test]
async fn inputs_are_given_to_the_check() {
    let planwright = planwright().await;
    let text = r#"{"inputs": {"city": {"type": "string"}},
                   "steps": [{"id": "a", "tool": "weather", "args": {"city": "${inputs.city}"}}]}"#;
    let error = planwright.check(parse(text)).unwrap_err();
    assert_eq!(error.diagnostics().unwrap().len(), 1);
    let plan = planwright
        .check_with(parse(text), [("city", "Bergen")])
        .unwrap();
    let summary = planwright.run(plan).await.unwrap();
    assert_eq!(
        summary.output,
        Value::from(json!({"a": {"city": "Bergen", "temp": 6}}))
    );
}

#[tokio::test]
async fn findings_of_text_and_check_come_together() {
    let planwright = planwright().await;
    let text =
        r#"{"steps": [{"id": "a", "tool": "wether", "args": {"city": "Oslo"}, "tool": "weathr"}]}"#;
    let error = planwright.check(parse(text)).unwrap_err();
    let codes: Vec<Code> = error
        .diagnostics()
        .unwrap()
        .iter()
        .map(|one| one.code)
        .collect();
    assert_eq!(codes, [Code::DuplicateKey, Code::UnknownTool]);
    assert!(
        error
            .to_string()
            .starts_with("the plan is not sound: PW0004")
    );
    assert!(error.to_string().ends_with("; and 1 more"));

    let odd = r#"{"inputs": {"x": {"default": 1}},
                  "steps": [{"id": "a", "tool": "weather", "args": {"city": "Oslo"}}]}"#;
    let plan = planwright.check(parse(odd)).unwrap();
    let codes: Vec<Code> = plan.warnings().iter().map(|one| one.code).collect();
    assert_eq!(codes, [Code::UnusedInput]);
}

#[tokio::test]
async fn a_step_that_is_built_without_arguments_has_none() {
    let raw = Function::raw(
        "raw",
        |args: Value| async move { Ok(ToolOutput::value(args)) },
    );
    let functions = Functions::new().with(raw);
    let builder = Planwright::builder().functions(functions);
    let planwright = builder.open().await.unwrap();
    let step = Step::call("a", "raw", Node::default());
    let plan = Plan {
        steps: vec![step],
        ..Plan::default()
    };
    let concierge = dialect("concierge").unwrap();
    let (printed, _) = concierge.print(&plan);
    let again = parse_as(
        concierge,
        printed.unwrap().as_bytes(),
        &ReadOptions::new("plan"),
    );
    assert!(again.plan.is_some(), "{}", again.diagnostics);
    let mut changed = plan.clone();
    changed.steps[0].args = Node::default();
    for plan in [plan, changed] {
        let summary = planwright
            .run(planwright.check(plan).unwrap())
            .await
            .unwrap();
        assert_eq!(summary.output.to_string(), r#"{"a":{}}"#);
    }
}

#[tokio::test]
async fn functions_see_their_run_and_the_data_of_its_caller() {
    let who = Function::with_context("who", async |(): (), context: CallContext| {
        let tenant = context.data.get::<String>().cloned();
        let run = context.run.unwrap();
        Ok::<_, ToolError>(format!("{tenant:?} {run} {}", context.step))
    });
    let planwright = Planwright::builder()
        .functions(Functions::new().with(who))
        .open()
        .await
        .unwrap();
    let plan = parse(r#"{"steps": [{"id": "a", "tool": "who"}], "output": "${a}"}"#);
    let plan = planwright.check(plan).unwrap();
    let run = planwright
        .run(plan)
        .id("r1".parse().unwrap())
        .data("acme".to_owned());
    let output: String = run.await.unwrap().into_output().unwrap();
    assert_eq!(output, r#"Some("acme") r1 a"#);
}

#[tokio::test]
async fn an_output_that_is_missing_names_the_step_that_failed() {
    let fail = Function::new("fail", async |(): ()| Err::<String, _>("nope"));
    let planwright = Planwright::builder()
        .functions(Functions::new().with(fail))
        .open()
        .await
        .unwrap();
    let plan = parse(r#"{"steps": [{"id": "a", "tool": "fail"}], "output": "${a}"}"#);
    let summary = planwright
        .run(planwright.check(plan).unwrap())
        .await
        .unwrap();
    let error = summary.into_output::<String>().unwrap_err();
    assert_eq!(error.to_string(), "the step `a` failed: nope");
}
