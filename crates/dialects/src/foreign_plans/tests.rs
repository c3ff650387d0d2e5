//! Translations of plans of other systems.

use planwright_core::Value;

use super::translated;

#[test]
fn plans_of_other_systems_have_the_same_steps() {
    let check = |text: &str, expected: Option<(&str, &str)>| {
        let found = translated(&Value::from_json(text).unwrap());
        let found = found.map(|found| (found.form, found.plan.to_json(), found.is_complete));
        let expected = expected.map(|(form, plan)| (form, plan.to_owned(), true));
        assert_eq!(found, expected, "{text}");
    };
    check(
        r#"{"StartAt": "A", "States": {
            "A": {"Type": "Task", "Resource": "arn:aws:lambda:x:1:function:f", "Parameters": {"p.$": "$.p", "q": 1}, "ResultPath": "$.a", "Next": "B"},
            "B": {"Type": "Task", "Resource": "g", "Parameters": {"x.$": "$.a.b[0]", "y.$": "$.p"}, "Retry": [{"MaxAttempts": 2}], "Next": "C"},
            "C": {"Type": "Task", "Resource": "h", "Parameters": {"x.$": "$.z", "t": "${no}"}, "TimeoutSeconds": 5, "End": true}}}"#,
        Some((
            "a state machine of AWS Step Functions",
            r#"{"inputs":{"p":{}},"steps":[{"id":"A","tool":"f","args":{"p":"${inputs.p}","q":1}},{"id":"B","tool":"g","args":{"x":"${A.b[0]}","y":"${inputs.p}"},"after":["A"],"retry":3},{"id":"C","tool":"h","args":{"x":"${B.z}","t":"$${no}"},"after":["B"],"timeout":"5s"}]}"#,
        )),
    );
    check(
        r#"{"StartAt": "P", "States": {
            "P": {"Type": "Parallel", "Branches": [
                {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "f", "Parameters": {}, "End": true}}},
                {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "g", "Parameters": {}, "End": true}}}], "ResultPath": null, "Next": "M"},
            "M": {"Type": "Map", "ItemsPath": "$.list", "MaxConcurrency": 2, "Iterator": {"StartAt": "I", "States": {"I": {"Type": "Task", "Resource": "h", "Parameters": {"x.$": "$.n"}, "End": true}}}, "End": true}}}"#,
        Some((
            "a state machine of AWS Step Functions",
            r#"{"inputs":{"list":{}},"steps":[{"id":"A","tool":"f","args":{}},{"id":"B","tool":"g","args":{}},{"id":"M","tool":"h","args":{"x":"${item.n}"},"after":["A","B"],"for_each":"${inputs.list}","max_parallel":2}]}"#,
        )),
    );
    check(
        r#"{"on": "push", "jobs": {"a": {"runs-on": "x", "steps": [{"uses": "s/f@v1", "with": {"n": 1}}, {"id": "k", "uses": "s/g"}]}, "b": {"needs": "a", "steps": [{"uses": "s/f"}]}}}"#,
        Some((
            "a workflow with jobs",
            r#"{"steps":[{"id":"f","tool":"s.f","args":{"n":1}},{"id":"k","tool":"s.g","after":["f"]},{"id":"f_2","tool":"s.f","after":["k"]}]}"#,
        )),
    );
    check(
        r#"{"spec": {"templates": [{"name": "m", "dag": {"tasks": [{"name": "a", "template": "f", "arguments": {"parameters": [{"name": "p", "value": 1}]}}, {"name": "b", "template": "g", "dependencies": ["a"]}]}}]}}"#,
        Some((
            "a workflow of Kubernetes",
            r#"{"steps":[{"id":"a","tool":"f","args":{"p":1}},{"id":"b","tool":"g","dependencies":["a"]}]}"#,
        )),
    );
    check(
        r#"[{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "f", "arguments": {"t": "${x}"}}}, {"method": "tools/call", "params": {"name": "g"}}]"#,
        Some((
            "a list of requests of MCP",
            r#"{"ordering":"listed","steps":[{"id":"call_1","tool":"f","args":{"t":"$${x}"}},{"id":"call_2","tool":"g"}]}"#,
        )),
    );
    check(
        r#"{"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{\"n\": 1}"}}]}, {"role": "tool", "content": "{}"}, {"role": "assistant", "content": [{"type": "text", "text": "so"}, {"type": "tool_use", "id": "b", "name": "g", "input": {}}]}]}"#,
        Some((
            "a conversation with calls that were made already",
            r#"{"steps":[{"id":"a","tool":"f","args":{"n":1}},{"id":"b","tool":"g","args":{},"after":["a"]}]}"#,
        )),
    );
    check(
        r#"{"do": [{"a": {"call": "f", "with": {"n": 1}}}, {"b": {"call": "g"}}]}"#,
        Some((
            "a workflow of calls by name",
            r#"{"steps":[{"id":"a","tool":"f","with":{"n":1}},{"id":"b","tool":"g","after":["a"]}]}"#,
        )),
    );
    check(
        r#"{"functions": [{"name": "now", "operation": "f"}], "states": [{"name": "S", "type": "operation", "actions": [{"functionRef": {"refName": "now", "arguments": {"n": 1}}}, {"functionRef": "g"}]}]}"#,
        Some((
            "a serverless workflow",
            r#"{"steps":[{"id":"S","tool":"f","args":{"n":1}},{"id":"S_2","tool":"g","after":["S"]}]}"#,
        )),
    );
    check(
        r#"{"functions": [], "start": {"stateName": "S"}, "states": [{"name": "T", "end": true, "actions": [{"functionRef": "g"}]}, {"name": "S", "actions": [{"functionRef": "f"}], "transition": "T"}]}"#,
        Some((
            "a serverless workflow",
            r#"{"steps":[{"id":"S","tool":"f"},{"id":"T","tool":"g","after":["S"]}]}"#,
        )),
    );
    for (state, action) in [
        ("", r#", "condition": "${x}""#),
        ("", r#", "retryRef": "r""#),
        (r#", "transition": "S""#, ""),
        (r#", "type": "switch""#, ""),
    ] {
        check(
            &format!(
                r#"{{"states": [{{"name": "S", "actions": [{{"functionRef": "f"{action}}}]{state}}}]}}"#
            ),
            None,
        );
    }
    check(
        r#"{"main": {"steps": [{"a": {"call": "f"}}]}, "other": {"steps": []}}"#,
        None,
    );
    check(r#"{"steps": [{"id": "a", "tool": "f"}]}"#, None);
    check(r#"{"messages": ["a"]}"#, None);
    check("[]", None);
    check("1", None);
}

#[test]
fn a_part_that_has_no_counterpart_is_left_out() {
    let check = |text: &str, expected: &str| {
        let found = translated(&Value::from_json(text).unwrap()).unwrap();
        assert_eq!(
            (found.plan.to_json(), found.is_complete),
            (expected.to_owned(), false),
            "{text}"
        );
    };
    check(
        r#"{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "f", "Next": "C"}, "C": {"Type": "Choice", "Choices": [], "Default": "A"}}}"#,
        r#"{"steps":[{"id":"A","tool":"f"}]}"#,
    );
    check(
        r#"{"jobs": {"a": {"strategy": {}, "steps": [{"uses": "f"}]}}}"#,
        r#"{"steps":[{"id":"f","tool":"f"}]}"#,
    );
    let steps = r#"{"steps":[{"id":"A","tool":"f"}]}"#;
    let task = |fields: &str| {
        format!(
            r#"{{"StartAt": "A", "States": {{"A": {{"Type": "Task", "Resource": "f", "End": true{fields}}}}}}}"#
        )
    };
    for fields in [
        "",
        r#", "Parameters": {}, "InputPath": "$.x""#,
        r#", "Parameters": {}, "Catch": []"#,
        r#", "Parameters": {"x.$": "$.a", "y.$": "$$.Execution.Id"}"#,
        r#", "Parameters": {"FunctionName": "f", "Payload.$": "$"}"#,
        r#", "Parameters": {}, "TimeoutSeconds": 1.5"#,
        r#", "Parameters": {}, "Retry": [{"MaxAttempts": 1}, {"MaxAttempts": 2}]"#,
        r#", "Parameters": {}, "Retry": [{"ErrorEquals": ["Throttled"]}]"#,
        r#", "Parameters": {}, "Retry": [{"BackoffRate": 1}]"#,
    ] {
        check(&task(fields), steps);
    }
    let then = |path: &str, fields: &str| {
        format!(
            r#"{{"StartAt": "A", "States": {{
                "A": {{"Type": "Task", "Resource": "f", "Parameters": {{}}, "Next": "P"{fields}}},
                "P": {{"Type": "Parallel", "Branches": [], "ResultPath": "$.p", "Next": "B"}},
                "B": {{"Type": "Task", "Resource": "g", "Parameters": {{"x.$": "{path}"}}, "End": true}}}}}}"#
        )
    };
    let first = r#"{"steps":[{"id":"A","tool":"f","args":{}}]}"#;
    // The output of `P` has no step, and the whole has several outputs.
    check(&then("$.p.x", ""), first);
    check(&then("$", ""), first);
    let map = |fields: &str| {
        format!(
            r#"{{"StartAt": "M", "States": {{"M": {{"Type": "Map", {fields}"Iterator": {{"StartAt": "A", "States": {{"A": {{"Type": "Task", "Resource": "f", "Parameters": {{}}, "End": true}}}}}}, "End": true}},
                "A": {{"Type": "Task", "Resource": "f", "Parameters": {{}}, "End": true}}}}}}"#
        )
    };
    check(&map(r#""ItemSelector": {}, "#), first);
    check(&map(r#""Parameters": {}, "#), first);
    check(&map(r#""Retry": [], "#), first);
    let argo = |spec: &str, template: &str| {
        format!(
            r#"{{"spec": {{{spec}"templates": [{{"name": "m"{template}, "dag": {{"tasks": [{{"name": "a", "template": "f"}}]}}}}, {{"name": "n", "dag": {{"tasks": [{{"name": "b", "template": "g"}}]}}}}]}}}}"#
        )
    };
    let a = r#"{"steps":[{"id":"a","tool":"f"}]}"#;
    check(&argo("", ""), a);
    check(
        &argo(r#""entrypoint": "n", "#, ""),
        r#"{"steps":[{"id":"b","tool":"g"}]}"#,
    );
    check(&argo("", r#", "parallelism": 1"#), a);
    for spec in [
        r#""onExit": "x", "tasks": [{"name": "a", "template": "f"}]"#,
        r#""finally": [], "tasks": [{"name": "a", "template": "f"}]"#,
        r#""tasks": [{"name": "a", "template": "f", "hooks": {}}]"#,
    ] {
        check(
            &format!(r#"{{"spec": {{{spec}}}}}"#),
            &a.replace(
                r#""f"}"#,
                if spec.contains("hooks") {
                    r#""f","hooks":{}}"#
                } else {
                    r#""f"}"#
                },
            ),
        );
    }
    for fields in [
        r#""env": {"X": null}"#,
        r#""env": ["X"]"#,
        r#""env": {"X": "${{ secrets.X }}"}"#,
        r#""defaults": {}"#,
    ] {
        check(
            &format!(r#"{{"jobs": {{"a": {{"steps": [{{"uses": "f"}}]}}}}, {fields}}}"#),
            r#"{"steps":[{"id":"f","tool":"f"}]}"#,
        );
    }
    // The time of both steps together.
    check(
        r#"{"jobs": {"a": {"timeout-minutes": 5, "steps": [{"uses": "f"}, {"uses": "g"}]}}}"#,
        r#"{"steps":[{"id":"f","tool":"f"},{"id":"g","tool":"g","after":["f"]}]}"#,
    );
    check(
        r#"{"stages": [{"steps": [{"id": "a", "tool": "f"}]}, {"steps": [{"id": "b", "tool": "g"}]}], "on_error": "a"}"#,
        r#"{"steps":[{"id":"a","tool":"f"},{"id":"b","tool":"g","after":["a"]}]}"#,
    );
    check(
        r#"{"plan": ["1. Call f(x=1) and g(y=2)", "2. Think", "Call g(y=1)"]}"#,
        r#"{"steps":[{"id":"g","tool":"g","args":{"y":1}}]}"#,
    );
    // Each call of a message waits for all of the one before.
    let calls = |message: usize| {
        let calls = (0..200)
            .map(|at| format!(r#"{{"id": "c{message}_{at}", "function": {{"name": "f"}}}}"#));
        format!(
            r#"{{"role": "assistant", "tool_calls": [{}]}}"#,
            calls.collect::<Vec<_>>().join(",")
        )
    };
    check(
        &format!(r#"{{"messages": [{}, {}]}}"#, calls(0), calls(1)),
        r#"{"steps":[{"id":"c0_0","tool":"f"}]}"#,
    );
    check(
        r#"{"plan": ["1. Call f(x=1)", "2. Think about the result"]}"#,
        r#"{"steps":[{"id":"f","tool":"f","args":{"x":1}}]}"#,
    );
}

#[test]
fn a_choice_has_a_condition_for_each_branch() {
    let machine = |choice: &str, d: &str| {
        let text = format!(
            r#"{{"StartAt": "A", "States": {{
                "A": {{"Type": "Task", "Resource": "f", "Parameters": {{}}, "Next": "C"}},
                "C": {{"Type": "Choice", {choice}}},
                "B": {{"Type": "Task", "Resource": "g", "Parameters": {{}}, "Next": "E"}},
                "D": {d},
                "E": {{"Type": "Succeed"}}}}}}"#
        );
        let found = translated(&Value::from_json(&text).unwrap()).unwrap();
        (found.plan.to_json(), found.is_complete)
    };
    let pass = r#"{"Type": "Pass", "Result": 1, "Next": "E"}"#;
    let one = r#"{"Variable": "$.n", "NumericEquals": 1, "Next": "B"}"#;
    assert_eq!(
        machine(&format!(r#""Choices": [{one}], "Default": "D""#), pass),
        (
            r#"{"steps":[{"id":"A","tool":"f","args":{}},{"id":"B","tool":"g","args":{},"after":["A"],"when":"${A.n == 1}"},{"id":"D","value":1,"when":"${!(A.n == 1)}"}]}"#.to_owned(),
            true
        )
    );
    // Both ways lead to the same state.
    assert_eq!(
        machine(&format!(r#""Choices": [{one}], "Default": "B""#), pass),
        (
            r#"{"steps":[{"id":"A","tool":"f","args":{}},{"id":"B","tool":"g","args":{},"after":["A"]}]}"#.to_owned(),
            true
        )
    );
    let two = r#"{"Variable": "$.n", "NumericEquals": 2, "Next": "D"}"#;
    let (plan, is_complete) = machine(
        &format!(r#""Choices": [{one}, {two}], "Default": "E""#),
        pass,
    );
    assert!(
        is_complete && plan.contains(r#""when":"${!(A.n == 1) && (A.n == 2)}""#),
        "{plan}"
    );
    let first = (
        r#"{"steps":[{"id":"A","tool":"f","args":{}}]}"#.to_owned(),
        false,
    );
    for choice in [
        // Without a branch for all other cases, the machine fails.
        format!(r#""Choices": [{one}]"#),
        format!(r#""Choices": [{one}], "Default": "A""#),
        format!(r#""Choices": [{one}], "Default": "C""#),
        format!(r#""Choices": [{one}], "Default": "D", "InputPath": "$.x""#),
        r#""Choices": [{"Variable": "$.n", "NumericGreaterThan": 1, "NumericLessThan": 5, "Next": "B"}], "Default": "D""#.to_owned(),
    ] {
        assert_eq!(machine(&choice, pass), first, "{choice}");
    }
    // The conditions of many rules would be longer than the text.
    let many: Vec<&str> = vec![r#"{"Variable": "$.n", "NumericEquals": 1, "Next": "E"}"#; 5000];
    let many = format!(r#""Choices": [{}], "Default": "D""#, many.join(","));
    assert_eq!(machine(&many, pass), first);
}

#[test]
fn environments_and_times_of_jobs_are_those_of_their_steps() {
    let text = r#"{"env": {"A": "x", "B": 1}, "jobs": {"a": {"env": {"A": "y"}, "timeout-minutes": 5, "steps": [{"uses": "f", "with": {"t": "${{ env.A }} ${{ env.B }} ${{ env.C }}"}}]}}}"#;
    let found = translated(&Value::from_json(text).unwrap()).unwrap();
    assert!(found.is_complete);
    assert_eq!(
        found.plan.to_json(),
        r#"{"steps":[{"id":"f","tool":"f","args":{"t":"y 1 ${{ env.C }}"},"timeout":"5m"}]}"#
    );
    let constant = "x".repeat(1000);
    let text = text.replace(r#""x""#, &format!("\"{constant}\""));
    assert!(
        !translated(&Value::from_json(&text).unwrap())
            .unwrap()
            .is_complete
    );
}

#[test]
fn a_playbook_has_no_other_fields_than_a_plan() {
    let found = |fields: &str| {
        let text =
            format!(r#"[{{"hosts": "all", "tasks": [{{"f": {{"x": "{{{{ v }}}}"}}}}]{fields}}}]"#);
        let found = translated(&Value::from_json(&text).unwrap())?;
        Some(found.plan.to_json() + &found.left_out.join(","))
    };
    assert_eq!(
        found(r#", "vars": {"v": 1}"#).as_deref(),
        Some(r#"{"vars":{"v":1},"steps":[{"id":"f","tool":"f","args":{"x":"${vars.v}"}}]}"#)
    );
    assert_eq!(
        found(r#", "become": true"#).as_deref(),
        Some(r#"{"steps":[{"id":"f","tool":"f","args":{"x":"{{ v }}"}}]}become"#)
    );
    assert_eq!(found(r#", "roles": ["r"]"#), None);
}
