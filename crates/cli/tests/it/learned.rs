//! The structure of the answers of tools that declare no output schema: recorded by runs, shown, checked, removed.

use std::fs;
use std::path::Path;

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

/// A folder with a server `shop`, whose tools answer with their arguments.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        scene.offer("Finds orders.");
        let script = format!("@{}", scene.path().join("script.json").display());
        let servers =
            json!({"mcpServers": {"shop": {"command": fake_server::program(), "args": [script]}}});
        scene.write("mcp.json", &servers);
        scene
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, file: &str, content: &Value) {
        fs::write(self.path().join(file), content.to_string()).unwrap();
    }

    fn offer(&self, description: &str) {
        let annotations = json!({"readOnlyHint": true});
        let declared = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
        self.write(
            "script.json",
            &json!({"tools": [
                {"name": "find", "description": description, "annotations": annotations},
                {"name": "declared", "annotations": annotations, "outputSchema": declared},
            ]}),
        );
    }

    #[track_caller]
    fn say(&self, arguments: &str, exit: i32) -> (String, String) {
        let output = planwright(self.path())
            .args(arguments.split(' '))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(exit), "{}", stderr(&output));
        (stdout(&output), stderr(&output))
    }

    fn find(&self, args: &Value) {
        self.write(
            "find.json",
            &json!({"steps": [{"id": "a", "tool": "find", "args": args}]}),
        );
        self.say("run find.json --servers mcp.json", 0);
    }

    /// Checks a plan that reads a part of the tool's output.
    fn check(&self, read: &str) -> String {
        self.write(
            "plan.json",
            &json!({"steps": [
                {"id": "a", "tool": "find"},
                {"id": "b", "value": format!("${{a.{read}}}")}
            ]}),
        );
        self.say("check plan.json --servers mcp.json", 0).1
    }
}

#[test]
fn a_check_knows_what_answers_had() {
    let scene = Scene::new();
    let found = scene.check("orders[0].who");
    assert!(!found.contains("PW0408"), "{found}");
    assert!(
        found.contains("note: the form of `${a.orders[0].who}` is not proved: `find` declares no output schema, and has given no answer yet; if its answer is text, only `${a}` is right"),
        "{found}"
    );
    scene.find(&json!({"orders": [{"id": 4711, "who": "Ann"}], "page": 1}));
    scene.find(&json!({"orders": [{"id": 4712, "who": "Bob", "note": "late"}]}));
    assert!(!scene.check("orders[0].note").contains("PW0408"));
    let found = scene.check("page");
    assert!(!found.contains("PW0408"), "{found}");
    assert!(!found.contains("is not proved"), "{found}");
    let found = scene.check("orders[0].whom");
    assert!(
        found.contains("warning PW0408: `${a.orders[0].whom}` reads the field `whom` in `orders[0]` in the output of `a`, which none of the 2 answers of its tool so far had (did you mean `who`?)"),
        "{found}"
    );
    assert!(found.contains("the plan is sound"), "{found}");
    let found = scene.check("orders.map(o, o.whom)");
    assert!(
        found.contains("warning PW0408: `${a.orders.map(o, o.whom)}` reads the field `whom` in an item of `a.orders`, which no answer so far had (did you mean `who`?)"),
        "{found}"
    );
    for read in ["orders.map(o, o.note)", "orders.filter(o, has(o.whom))"] {
        let found = scene.check(read);
        assert!(!found.contains("PW0408"), "{read}: {found}");
    }
    // Items of a loop, and values that are computed of the answer.
    scene.write(
        "loop.json",
        &json!({"steps": [
            {"id": "a", "tool": "find"},
            {"id": "b", "for_each": "${a.orders}", "value": "${item.whom}"},
            {"id": "c", "for_each": "${a.orders}", "value": "${item.who}"},
            {"id": "d", "value": "${a.orders[0]}"},
            {"id": "e", "value": "${d.whom}"},
            {"id": "f", "value": "${d.whom ?? 'x'}"}
        ]}),
    );
    let found = scene.say("check loop.json --servers mcp.json", 0).1;
    let warnings: Vec<&str> = found
        .lines()
        .filter(|line| line.contains("PW0408"))
        .collect();
    let warning = |read: &str, what: &str| {
        format!(
            "warning PW0408: `${{{read}}}` reads the field `whom` in {what}, which no answer so far had (did you mean `who`?)"
        )
    };
    assert_eq!(warnings.len(), 2, "{found}");
    assert!(
        warnings[0].ends_with(&warning("item.whom", "`item`")),
        "{found}"
    );
    assert!(
        warnings[1].ends_with(&warning("d.whom", "the output of `d`")),
        "{found}"
    );

    let (shown, _) = scene.say("tools find --servers mcp.json", 0);
    insta::assert_snapshot!(shown, @r#"
    shop:
      find()
          Finds orders.
          {
            "type": "object"
          }
          gave in 2 calls (not declared): {orders: [{id: integer, who: string, note?: string}], page?: integer}
          - `.orders` was there in 2 of 2 calls
          - `.page` was there in 1 of 2 calls
          for example, with masked values: {"orders":[{"id":"integer","who":"text(3)","note":"text(4)"}]}
    "#);
    let (listed, _) = scene.say("tools --servers mcp.json --format json", 0);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["seen"]["calls"], 2);
    assert_eq!(listed[0]["seen"]["fields"], json!({"orders": 2, "page": 1}));
    assert_eq!(listed[1]["seen"], Value::Null);
    for data in ["Ann", "Bob", "4711", "4712", "late"] {
        assert!(!listed.to_string().contains(data), "{listed}");
    }
}

#[test]
fn the_record_is_of_one_definition_and_can_be_removed() {
    let scene = Scene::new();
    scene.find(&json!({"a": 1}));
    assert!(scene.check("b").contains("PW0408"));
    scene.offer("Finds other things.");
    assert!(!scene.check("b").contains("PW0408"));
    scene.offer("Finds orders.");
    assert!(scene.check("b").contains("PW0408"));
    scene.say("prune --older-than 0s", 0);
    assert!(!scene.check("b").contains("PW0408"));

    scene.find(&json!({"a": 1}));
    assert!(scene.check("b").contains("PW0408"));
    fs::write(
        scene.path().join("planwright.toml"),
        "tools.learn_outputs = false",
    )
    .unwrap();
    assert!(!scene.check("b").contains("PW0408"));
    scene.find(&json!({"a": 1}));
    fs::remove_file(scene.path().join("planwright.toml")).unwrap();
    let (listed, _) = scene.say("tools --servers mcp.json --format json", 0);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["seen"]["calls"], 1);
}

#[test]
fn runs_that_begin_before_their_plan_is_complete_teach_as_well() {
    let plan = json!({"steps": [{"id": "a", "tool": "find", "args": {"a": 1}}]});
    let plan = json!({"text": plan.to_string(), "tokens_per_second": 500});
    let wants =
        json!({"calls": [{"name": "plan_create_and_execute", "arguments": {"goal": "find"}}]});
    for (command, answers) in [
        ("ask", json!([plan, "Found."])),
        ("chat", json!([wants, plan, "Found."])),
    ] {
        let scene = Scene::new();
        scene.write("answers.json", &answers);
        let model = "--model replay:answers.json --servers mcp.json --stream";
        scene.say(&format!("{command} find {model}"), 0);
        assert!(!scene.check("a").contains("PW0408"), "{command}");
        assert!(scene.check("b").contains("PW0408"), "{command}");
    }
}
