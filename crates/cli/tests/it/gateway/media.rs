//! Images, audio and resources that tools give survive plans: as blocks of the answer, and as resources of the run.

use planwright_testkit::fake_server;
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

use super::serve::Behind;

/// Data that must not occur in any text of a response.
const PIXELS: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";

fn image() -> Value {
    json!({"type": "image", "mimeType": "image/png", "data": PIXELS})
}

fn audio() -> Value {
    json!({"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="})
}

fn file() -> Value {
    json!({"type": "resource", "resource": {"uri": "file:///a.bin", "mimeType": "application/x-a", "blob": "AAECAw=="}})
}

fn link() -> Value {
    json!({"type": "resource_link", "uri": "file:///b", "name": "b"})
}

fn large() -> Value {
    json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(5 << 20)})
}

fn behind() -> Behind {
    let gives = |name: &str, content: Value| json!({"name": name, "annotations": {"readOnlyHint": true}, "does": {"result": {"content": content}}});
    let script = json!({"tools": [
        gives("caption", json!([{"type": "text", "text": "a chart"}, image(), link()])),
        gives("shot", json!([image()])),
        gives("all", json!([image(), audio(), file()])),
        gives("huge", json!([large()])),
    ]});
    let behind = Behind::new(&[]);
    let file = behind.folder().join("script.json");
    std::fs::write(&file, script.to_string()).unwrap();
    let file = format!("@{}", file.display());
    behind.servers(&[("fake", fake_server::program(), &[&file])]);
    behind
}

/// Runs a plan of these steps, and gives the structured answer and the blocks behind its text, which holds no data.
#[track_caller]
fn run(client: &mut WireClient, steps: &Value, output: Option<Value>) -> (Value, Vec<Value>) {
    let mut plan = json!({"steps": steps});
    if let Some(output) = output {
        plan["output"] = output;
    }
    let params = json!({"name": "execute_plan", "arguments": {"plan": plan}});
    let mut answer = client.request("tools/call", params)["result"].take();
    let mut blocks = answer["content"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    let structured = answer["structuredContent"].take();
    assert_eq!(structured["status"], "succeeded", "{structured}");
    let text = blocks.remove(0);
    assert!(!text.to_string().contains(PIXELS), "{text}");
    assert!(!structured.to_string().contains(PIXELS), "{structured}");
    (structured, blocks)
}

fn address(run: &Value, rest: &str) -> String {
    format!("planwright://runs/{}/{rest}", run["run"].as_str().unwrap())
}

fn read(client: &mut WireClient, address: &str) -> Value {
    let read = client.request("resources/read", json!({"uri": address}));
    read["result"]["contents"].clone()
}

#[test]
fn an_image_beside_a_text_is_there_with_the_text() {
    let behind = behind();
    let mut client = behind.client(&[], "2025-11-25", &[]);
    let steps = json!([{"id": "a", "tool": "caption"}]);
    let (run, blocks) = run(&mut client, &steps, Some(json!(["a"])));
    assert_eq!(run["output"], json!({"a": "a chart"}));
    assert_eq!(blocks, [image(), link()]);
    let first = address(&run, "steps/a/content/0");
    assert_eq!(
        run["content"][0],
        json!({"type": "image", "mimeType": "image/png", "bytes": 33, "step": "a", "uri": first})
    );
    let whole = read(&mut client, &address(&run, "steps/a"));
    assert_eq!(whole[0]["text"], "\"a chart\"");
    assert_eq!(
        whole[1],
        json!({"uri": first, "mimeType": "image/png", "blob": PIXELS})
    );
    assert_eq!(read(&mut client, &first), json!([whole[1]]));
    let again = client.request(
        "tools/call",
        json!({"name": "get_run", "arguments": {"run": run["run"]}}),
    );
    assert_eq!(again["result"]["content"][1], image());
}

#[test]
fn a_copied_text_keeps_its_image() {
    let behind = behind();
    let mut client = behind.client(&[], "2025-11-25", &[]);
    let steps = json!([
        {"id": "note", "value": {"text": "${copy}", "length": "${other.size()}"}},
        {"id": "copy", "value": "${a}"},
        {"id": "a", "tool": "caption"},
        {"id": "other", "tool": "caption"}
    ]);
    let (run, blocks) = run(&mut client, &steps, Some(json!(["note"])));
    assert_eq!(run["output"]["note"]["text"], "a chart");
    assert_eq!(blocks, [image(), link()]);
    assert_eq!(run["content"][0]["step"], "a");
}

#[test]
fn values_that_are_images_say_what_they_are() {
    let behind = behind();
    let mut client = behind.client(&[], "2026-07-28", &[]);
    let steps = json!([
        {"id": "one", "tool": "shot"},
        {"id": "each", "for_each": [1, 2], "tool": "all"},
        {"id": "unused", "tool": "caption"},
        {"id": "kept", "value": {"picture": "${one[0]}"}}
    ]);
    let (result, blocks) = run(
        &mut client,
        &steps,
        Some(json!({"kept": "${kept}", "each": "${each}"})),
    );
    // The same image is the first of each item.
    assert_eq!(
        blocks,
        [image(), audio(), file(), image(), audio(), file(), image()]
    );
    let outline = json!({"type": "image", "mimeType": "image/png", "bytes": 33, "uri": address(&result, "steps/one/content/0")});
    assert_eq!(result["output"]["kept"]["picture"], outline);
    assert_eq!(result["output"]["each"][1][2]["bytes"], 4);
    for content in result["content"].as_array().unwrap() {
        let contents = read(&mut client, content["uri"].as_str().unwrap());
        assert!(contents[0]["blob"].is_string(), "{content}: {contents}");
    }
}

#[test]
fn media_too_large_for_an_answer_are_linked() {
    let behind = behind();
    let mut client = behind.client(&[], "2025-11-25", &[]);
    let (run, blocks) = run(&mut client, &json!([{"id": "a", "tool": "huge"}]), None);
    let uri = address(&run, "steps/a/content/0");
    let link = json!({"type": "resource_link", "uri": uri, "name": "content", "mimeType": "image/png", "size": 3 << 20 | 3 << 18});
    assert_eq!(blocks, [link]);
    assert_eq!(read(&mut client, &uri)[0]["blob"], "A".repeat(5 << 20));
}

#[test]
fn people_see_a_list_of_the_media() {
    let behind = behind();
    let plan = json!({"steps": [{"id": "a", "tool": "caption"}, {"id": "b", "tool": "all"}], "output": ["a", "b"]});
    std::fs::write(behind.folder().join("plan.json"), plan.to_string()).unwrap();
    let text = behind.run(&["run", "plan.json", "--servers", "mcp.json"]);
    insta::assert_snapshot!(text, @"
    a: a chart

    b:
      - [image/png, 33 bytes]
      - [audio/wav, 4 bytes]
      - [application/x-a, 4 bytes, file:///a.bin]

    a: [image/png, 33 bytes] (`--format json` has it)
    a: [resource_link, file:///b] (`--format json` has it)
    ");
    let json = behind.run(&[
        "run",
        "plan.json",
        "--servers",
        "mcp.json",
        "--format",
        "json",
    ]);
    assert!(json.contains(PIXELS), "{json}");
}
