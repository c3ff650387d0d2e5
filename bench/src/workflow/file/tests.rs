//! Reading workflows: what is read, and what is found in those that cannot be.

use planwright_core::Value;

use super::*;

/// Reads a WfFormat 1.5 workflow from `id: parents` pairs after applying `change`s to its text. Each task takes a second.
fn read(tasks: &[(&str, &[&str])], changes: &[(&str, &str)]) -> Result<Workflow, Vec<String>> {
    let specification: Vec<String> = tasks
        .iter()
        .map(|(id, parents)| {
            format!(r#"{{"name": "n", "id": "{id}", "parents": {parents:?}, "children": []}}"#)
        })
        .collect();
    let execution: Vec<String> = tasks
        .iter()
        .map(|(id, _)| format!(r#"{{"id": "{id}", "runtimeInSeconds": 1}}"#))
        .collect();
    let mut text = format!(
        r#"{{"name": "w", "schemaVersion": "1.5", "workflow": {{
            "specification": {{"tasks": [{}]}}, "execution": {{"tasks": [{}]}}}}}}"#,
        specification.join(", "),
        execution.join(", ")
    );
    for (old, new) in changes {
        assert!(text.contains(old), "`{old}` stands in {text}");
        text = text.replacen(old, new, 1);
    }
    Workflow::from_value(&Value::from_json(&text).unwrap())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn check_errors(tasks: &[(&str, &[&str])], changes: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(read(tasks, changes).unwrap_err(), expected);
}

#[test]
fn parents_and_children_are_the_same_edges() {
    let changes = [(r#""children": []"#, r#""children": ["b", "c"]"#)];
    let workflow = read(&[("a", &[]), ("b", &["a"]), ("c", &[])], &changes).unwrap();
    let parents: Vec<&[u32]> = workflow.tasks.iter().map(|task| &*task.parents).collect();
    assert_eq!(parents, [&[] as &[u32], &[0], &[0]]);
    assert_eq!(workflow.tasks[1].micros, 1_000_000);
    assert_eq!(workflow.jobs().len(), 3);
}

#[test]
fn older_files_have_all_in_one_list() {
    let text = r#"{"name": "w", "schemaVersion": "1.4", "workflow": {"tasks": [
        {"name": "first", "id": "1", "runtimeInSeconds": 0.25, "parents": [], "children": ["second"]},
        {"name": "second", "id": "2", "runtimeInSeconds": 2, "parents": ["first"], "children": []}]}}"#;
    let workflow = Workflow::from_value(&Value::from_json(text).unwrap()).unwrap();
    assert_eq!(workflow.tasks[0].micros, 250_000);
    assert_eq!(workflow.tasks[1].parents, [0]);
}

#[test]
fn all_errors_are_found_with_their_places() {
    check_errors(
        &[("a", &["x"]), ("b", &["y", "a"])],
        &[],
        &[
            "the task `x` does not exist at /workflow/specification/tasks/0/parents/0",
            "the task `y` does not exist at /workflow/specification/tasks/1/parents/0",
        ],
    );
    check_errors(
        &[("a", &["c"]), ("b", &["a"]), ("c", &["b"]), ("d", &["c"])],
        &[],
        &[
            "tasks wait for each other in a circle: `a`, `c`, `b` at /workflow/specification/tasks/0/parents",
        ],
    );
    check_errors(
        &[("a", &["a"])],
        &[],
        &["tasks wait for each other in a circle: `a` at /workflow/specification/tasks/0/parents"],
    );
    check_errors(
        &[("a", &[]), ("a", &[])],
        &[],
        &[
            "the task `a` stands twice at /workflow/specification/tasks/1/id",
            "the run has the task `a` twice at /workflow/execution/tasks/1",
            "the run has no time of the task `a` at /workflow/specification/tasks/0",
        ],
    );
    check_errors(
        &[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])],
        &[
            (
                r#""a", "runtimeInSeconds": 1"#,
                r#""a", "runtimeInSeconds": -1"#,
            ),
            (
                r#""b", "runtimeInSeconds": 1"#,
                r#""b", "runtimeInSeconds": "long""#,
            ),
            (r#""c", "runtimeInSeconds": 1"#, r#""c""#),
            (
                r#""d", "runtimeInSeconds": 1"#,
                r#""e", "runtimeInSeconds": 1e300"#,
            ),
        ],
        &[
            "a task cannot have taken `-1` seconds at /workflow/execution/tasks/0/runtimeInSeconds",
            "the time of a task must be a number at /workflow/execution/tasks/1/runtimeInSeconds",
            "the time of a task is missing at /workflow/execution/tasks/2/runtimeInSeconds",
            "the run has a task `e` that the workflow has not at /workflow/execution/tasks/3",
            "the run has no time of the task `d` at /workflow/specification/tasks/3",
        ],
    );
}

#[test]
fn relatives_are_lists_of_distinct_tasks() {
    check_errors(
        &[("a", &[]), ("b", &["a"])],
        &[
            (r#""parents": ["a"]"#, r#""parents": "a""#),
            (r#""children": []"#, r#""children": {"b": 1}"#),
        ],
        &[
            "`children` must be a list of tasks at /workflow/specification/tasks/0/children",
            "`parents` must be a list of tasks at /workflow/specification/tasks/1/parents",
        ],
    );
    let text = r#"{"name": "w", "schemaVersion": "1.4", "workflow": {"tasks": [
        {"name": "x", "id": "1", "runtimeInSeconds": 10}, {"name": "x", "id": "2", "runtimeInSeconds": 1},
        {"name": "y", "id": "3", "runtimeInSeconds": 1, "parents": ["x"], "children": null}]}}"#;
    let errors = Workflow::from_value(&Value::from_json(text).unwrap()).unwrap_err();
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        ["several tasks are called `x` at /workflow/tasks/2/parents/0"]
    );
    let by_id = text.replace(r#"["x"]"#, r#"["1"]"#);
    let workflow = Workflow::from_value(&Value::from_json(&by_id).unwrap()).unwrap();
    assert_eq!(workflow.tasks[2].parents, [0]);
}

#[test]
fn other_files_are_refused() {
    check_errors(
        &[("a", &[])],
        &[("1.5", "2.0")],
        &["WfFormat `2.0` is not one of `1.4`, `1.5`, `1.6` at /schemaVersion"],
    );
    check_errors(
        &[("a", &[])],
        &[("schemaVersion", "version")],
        &["the file does not say its `schemaVersion`, so it is not a WfFormat"],
    );
    check_errors(
        &[("a", &[])],
        &[("execution", "executed")],
        &["there is no list of tasks at /workflow/execution/tasks"],
    );
    check_errors(
        &[],
        &[],
        &[
            "there are no tasks at /workflow/specification/tasks",
            "there are no tasks at /workflow/execution/tasks",
        ],
    );
}
