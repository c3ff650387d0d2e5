//! Plans in other formats.

use super::plan;

#[test]
fn formats_have_the_same_steps() {
    let check = |text: &str, expected: &str| {
        let found = plan(text).map(|(_, plan)| plan.to_json());
        assert_eq!(found.as_deref(), Some(expected), "{text}");
    };
    check(
        "graph LR\n  a[\"f(x=1)\"] --> b(\"g(y='{a.n} of {a}')\")\n  a & b --> c\n  c[\"h()\"]",
        r#"{"steps":[{"id":"a","tool":"f","args":{"x":1}},{"id":"b","tool":"g","args":{"y":"${a.n} of ${a}"},"after":["a"]},{"id":"c","tool":"h","after":["a","b"]}]}"#,
    );
    check(
        "sequenceDiagram\n  A->>B: f(x=1)\n  B-->>A: rows\n  A->>C: g(y=\"<{rows}>\")",
        r#"{"steps":[{"id":"rows","tool":"f","args":{"x":1}},{"id":"g","tool":"g","args":{"y":"<${rows}>"}}]}"#,
    );
    check(
        "digraph {\n a [tool=f, x=1];\n b [label=\"g(y='$a')\"]\n a -> b\n}",
        r#"{"steps":[{"id":"a","tool":"f","args":{"x":1}},{"id":"b","tool":"g","args":{"y":"${a}"},"after":["a"]}]}"#,
    );
    check(
        "variable \"n\" {\n  type = number\n  default = 2\n}\ntask \"f\" \"a\" {\n  x = var.n\n}\ntask \"b\" {\n  tool = \"g\"\n  args = { y = \"<${task.a.result.z}>\" }\n  depends_on = [task.a]\n}\noutput \"o\" {\n  value = task.b\n}",
        r#"{"inputs":{"n":{"type":"number","default":2}},"steps":[{"id":"a","tool":"f","args":{"x":"${inputs.n}"}},{"id":"b","tool":"g","args":{"y":"<${a.z}>"},"after":["a"]}],"output":{"o":"${b}"}}"#,
    );
    check(
        "N := 3\nall: b\na:\n\tf x=$(N)\nb: a\n\tg --y=\"$(a)\"",
        r#"{"steps":[{"id":"a","tool":"f","args":{"x":3}},{"id":"b","tool":"g","args":{"y":"${a}"},"after":["a"]}]}"#,
    );
    check(
        "id;tool;args;after\na;f;\"{\"\"x\"\": 1}\";\nb;g;y={a};a",
        r#"{"steps":[{"id":"a","tool":"f","args":{"x":1}},{"id":"b","tool":"g","args":{"y":"${a}"},"after":["a"]}]}"#,
    );
    check(
        "### Step 1: Look\n- **Tool:** `f`\n- **Arguments:** `{\"x\": 1}`\n- **Output:** `a`\n\n### Step 2: Write\n- Tool: g\n- Args:\n    y: {a}\n- Depends on: Step 1",
        r#"{"steps":[{"id":"a","tool":"f","args":{"x":1}},{"id":"step2","tool":"g","args":{"y":"${a}"},"after":["a"]}]}"#,
    );
    check(
        "#!/bin/sh\nset -e\nA=$(f --x 1 --flag)\ng --y \"<$A>\" || h --z '$A'\n",
        r#"{"steps":[{"id":"A","tool":"f","args":{"x":1,"flag":true}},{"id":"g","tool":"g","args":{"y":"<${A}>"},"on_error":"continue"},{"id":"h","tool":"h","args":{"z":"${A}"},"when":"${!results.g.success}"}]}"#,
    );
    check(
        "mcp call s f '{\"x\": 1}' > a.json &\nmcp call s g '{}' &\nwait\nmcp call s h \"{\\\"z\\\": \\\"$(cat a.json)\\\"}\"",
        r#"{"on_failure":"stop","steps":[{"id":"a","tool":"s.f","args":{"x":1}},{"id":"g","tool":"s.g"},{"id":"h","tool":"s.h","args":{"z":"${a}"},"after":["g"]}]}"#,
    );
}

#[test]
fn texts_without_a_certain_meaning_are_no_plans() {
    for text in [
        "",
        // The file is an effect that no call of the plan would have.
        "mcp call s f '{\"x\": 1}' > a.json\nmcp call s g '{}' > b.txt\nmcp call s h \"{\\\"z\\\": \\\"$(cat a.json)\\\"}\"",
        "graph LR\n a{\"is it?\"} -->|yes| b[\"f()\"]",
        "graph LR\n a[\"f()\"] -->|if it fails| b[\"g()\"]",
        "sequenceDiagram\n alt x\n A->>B: f()\n end",
        "digraph { a [tool=f]; b [tool=g]; a -> b [label=\"on error\"] }",
        "a,b\n1,2",
        "Dear all,\nsee you soon: at five",
        "Step 1: Fetch\nTool: f\nIf: it rains",
        "ls -l",
        "f --x $UNKNOWN",
        "all: a\nb:\n\tls",
    ] {
        assert_eq!(plan(text), None, "{text}");
    }
}
