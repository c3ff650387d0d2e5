//! Response formats: the schema that is sent obeys the rules of each provider and accepts every valid plan.

use std::path::{Path, PathBuf};

use planwright_core::{Catalog, CheckContext, CheckedPlan, Schema, Tool, Value};
use planwright_planner::create::{CreateSettings, PlanOrigin, PlanRequest, create};
use planwright_planner::model::providers::{self, Key, ProviderSettings};
use planwright_planner::prompt::{PlanTask, TimeContext};
use planwright_testkit::model_server::{ModelServer, ScriptedResponse};
use serde_json::{Value as Json, json};

/// Location of the schema in a request, and whether the provider is strict about each schema there.
const PLACES: [(&str, Option<bool>); 5] = [
    ("/response_format/json_schema/schema", None),
    ("/text/format/schema", None),
    ("/output_config/format/schema", Some(true)),
    ("/generationConfig/responseJsonSchema", Some(false)),
    ("/response_format/schema", Some(false)),
];

/// Providers that receive no schema of plans, but JSON mode at most.
const WITHOUT_SCHEMA: [&str; 7] = [
    "anthropic",
    "cohere",
    "deepseek",
    "minimax",
    "ollama",
    "ollama_cloud",
    "opencode_go",
];

/// Providers with fixed addresses.
const UNMOVABLE: [&str; 2] = ["baidu", "zai"];

#[tokio::test]
async fn valid_plans_match_the_schema_that_is_sent() {
    let plans = plans();
    assert!(plans.len() > 20, "{}", plans.len());
    let catalog = catalog(&plans);
    let known = providers::names().filter(|provider| !UNMOVABLE.contains(provider));
    for provider in known {
        for model in ["m", "minimax-m2"] {
            let body = asked(&format!("{provider}:{model}"), &catalog).await;
            let Some((schema, is_strict)) = form(&body) else {
                let is_known = WITHOUT_SCHEMA.contains(&provider);
                assert!(is_known, "{provider}:{model} is sent no schema: {body}");
                continue;
            };
            assert_ne!(provider, "deepseek", "it knows no schemas");
            if is_strict {
                assert_closed(&schema, provider);
            }
            for schema in [schema.clone(), closed(&schema)] {
                let schema = Schema::from_value(Value::from(schema));
                assert_eq!(schema.malformed(), None, "{provider}");
                for (name, plan) in &plans {
                    let violations = schema.validate(&Value::from(plan.clone()));
                    assert!(violations.is_empty(), "{provider}: {name}: {violations:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn the_schema_lists_the_tools() {
    let catalog: Catalog = [Tool::new("zoo", "feed"), Tool::new("shop", "buy")]
        .into_iter()
        .collect();
    let body = asked("openai:m", &catalog).await;
    let (schema, _) = form(&body).unwrap();
    let names = &schema["properties"]["steps"]["items"]["properties"]["tool"]["enum"];
    let expected = [
        "feed",
        "zoo.feed",
        "zoo__feed",
        "buy",
        "shop.buy",
        "shop__buy",
    ];
    assert_eq!(*names, json!(expected));
    let many: Catalog = (0..500)
        .map(|number| Tool::new("s", format!("t{number}")))
        .collect();
    let body = asked("openai:m", &many).await;
    let (schema, _) = form(&body).unwrap();
    let tool = &schema["properties"]["steps"]["items"]["properties"]["tool"];
    assert_eq!(*tool, json!({"type": "string"}));
}

/// Returns the request that is sent to `model` for a plan.
async fn asked(model: &str, catalog: &Catalog) -> Json {
    let server = ModelServer::start(vec![ScriptedResponse::json(
        400,
        &json!({"error": "enough"}),
    )]);
    let mut settings = ProviderSettings::new(model);
    settings.base_url = Some(format!("{}/v1/", server.url()));
    settings.key = Some(Key::new("sk-secret"));
    let provider = providers::open(settings).unwrap();
    let estimate = |_: &CheckedPlan| None;
    let creation = PlanRequest {
        model: &provider,
        task: PlanTask {
            goal: "Do it.",
            moment: TimeContext::default(),
            catalog,
            memory: None,
            state: None,
        },
        check: CheckContext::new(catalog),
        origin: PlanOrigin {
            timestamp: "2025-10-12T06:00:00.000Z",
            estimate: &estimate,
        },
        settings: &CreateSettings::default(),
    };
    let created = create(&creation).await;
    let mut asked = server.asked();
    assert_eq!(asked.len(), 1, "{model}: {:?}", created.failure);
    asked.remove(0).body
}

/// Returns the schema in a request, and whether the provider takes it as strict.
fn form(body: &Json) -> Option<(Json, bool)> {
    let found = PLACES.iter().find_map(|(place, is_strict)| {
        let schema = body.pointer(place)?;
        let (beside, _) = place.rsplit_once('/')?;
        let strict = body.pointer(&format!("{beside}/strict"));
        let strict = strict.and_then(Json::as_bool);
        Some((schema.clone(), is_strict.or(strict).unwrap_or(true)))
    });
    // DeepSeek and Ollama support JSON mode only.
    let kind = body.pointer("/response_format/type").or(body.get("format"));
    match kind.and_then(Json::as_str) {
        Some("json_object" | "json") => assert!(found.is_none(), "{body}"),
        Some("json_schema" | "text") | None => {}
        Some(other) => panic!("`{other}` is not a form"),
    }
    found
}

/// Asserts that every object in a schema is closed, as strict modes require.
fn assert_closed(schema: &Json, provider: &str) {
    match schema {
        Json::Object(fields) => {
            if fields.get("type") == Some(&json!("object")) {
                let is_closed = fields.get("additionalProperties") == Some(&Json::Bool(false));
                assert!(is_closed, "{provider} refuses {schema}");
            }
            for part in fields.values() {
                assert_closed(part, provider);
            }
        }
        Json::Array(parts) => parts.iter().for_each(|part| assert_closed(part, provider)),
        _ => {}
    }
}

/// Interprets a schema as decoders do that close objects unless they are declared open.
fn closed(schema: &Json) -> Json {
    match schema {
        Json::Object(fields) => {
            let parts = fields.iter();
            let mut read: serde_json::Map<String, Json> = parts
                .map(|(name, part)| (name.clone(), closed(part)))
                .collect();
            if fields.get("type") == Some(&json!("object")) {
                read.entry("additionalProperties")
                    .or_insert(Json::Bool(false));
            }
            Json::Object(read)
        }
        Json::Array(parts) => parts.iter().map(closed).collect(),
        other => other.clone(),
    }
}

/// Every native golden plan and every valid plan of a scripted model, by file name, and declining replies.
fn plans() -> Vec<(String, Json)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let native = files(&tests.join("../dialects/tests/golden/native"), ".json");
    let converted = files(
        &tests.join("../dialects/tests/golden/conversions"),
        ".native.json",
    );
    let mut plans: Vec<(String, Json)> = native
        .chain(converted)
        .map(|file| (file.display().to_string(), crate::support::read(&file)))
        .collect();
    for file in files(&tests.join("tests/golden/create"), ".json") {
        let case = crate::support::read(&file);
        let last = case["replies"]
            .as_array()
            .and_then(|replies| replies.last());
        let reply = last.and_then(|reply| reply.as_str().or_else(|| reply["text"].as_str()));
        let is_written = case["sound"] == true && case["notation"].is_null();
        let plan = reply
            .filter(|_| is_written)
            .and_then(planwright_planner::create::extract);
        if let Some(plan) = plan.and_then(|plan| serde_json::from_str(plan).ok()) {
            plans.push((file.display().to_string(), plan));
        }
    }
    for words in [json!({"cannot": "why"}), json!({"ask": "which month?"})] {
        plans.push((words.to_string(), words));
    }
    plans
}

fn files(folder: &Path, ending: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let is_wanted = |file: &PathBuf| file.to_string_lossy().ends_with(ending);
    let mut files: Vec<PathBuf> = files.filter(is_wanted).collect();
    files.sort();
    files.into_iter()
}

/// The tools that the plans call.
fn catalog(plans: &[(String, Json)]) -> Catalog {
    let mut names = Vec::new();
    for (_, plan) in plans {
        called(plan, &mut names);
    }
    let tools = names.iter().map(|name| match name.split_once('.') {
        Some((server, tool)) => Tool::new(server, tool),
        None => Tool::new("own", name.as_str()),
    });
    tools.collect()
}

fn called(part: &Json, names: &mut Vec<String>) {
    match part {
        Json::Object(fields) => {
            names.extend(fields.get("tool").and_then(Json::as_str).map(str::to_owned));
            fields.values().for_each(|part| called(part, names));
        }
        Json::Array(parts) => parts.iter().for_each(|part| called(part, names)),
        _ => {}
    }
}
