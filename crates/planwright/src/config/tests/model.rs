//! The choice of the model.

use planwright_core::Value;

use super::super::ConfigPlace;
use super::*;

#[test]
fn the_dialect_is_read_under_its_earlier_name() {
    assert_eq!(
        effective_settings("[model]\nnotation = \"lines\"\n", ""),
        [r#"model.dialect = "lines" (mine.toml:2)"#]
    );
}

#[test]
fn which_model_is_asked() {
    let user = r#"
[model]
name = "openai-compatible:qwen"
base_url = "http://localhost:8000/v1"
key_variable = "QWEN_KEY"
dialect = "lines"
temperature = 0
max_tokens = 4000
timeout = "5m"
attempts = 2
prices = { input = 2.5, output = 10 }
"#;
    assert_eq!(
        effective_settings(user, ""),
        [
            r#"model.name = "openai-compatible:qwen" (mine.toml:3)"#,
            r#"model.base_url = "http://localhost:8000/v1" (mine.toml:4)"#,
            r#"model.key_variable = "QWEN_KEY" (mine.toml:5)"#,
            r#"model.dialect = "lines" (mine.toml:6)"#,
            "model.temperature = 0.0 (mine.toml:7)",
            "model.max_tokens = 4000 (mine.toml:8)",
            r#"model.timeout = "5m" (mine.toml:9)"#,
            "model.attempts = 2 (mine.toml:10)",
            r#"model.prices = {"input":2.5,"output":10.0} (mine.toml:11)"#,
        ]
    );
    let config = Config::of([&read(Origin::User, user).unwrap()]);
    assert_eq!(
        config.model().key,
        Some(ConfigPlace::Variable("QWEN_KEY".into()))
    );
    let config = Config::of([&read(Origin::User, "[model]\nkey_file = 'a.key'\n").unwrap()]);
    assert_eq!(config.model().key, Some(ConfigPlace::File("a.key".into())));
    let listed = config.settings();
    let key = listed
        .iter()
        .find(|setting| setting.key == "model.key_file");
    assert_eq!(key.unwrap().value, Value::from("a.key"));
}

#[test]
fn models_that_cannot_be_asked_so() {
    issues(
        Origin::User,
        "[model]\nbase_url = \"localhost\"\ntemperature = 3\nkey_variable = \"A\"\nkey_file = \"b\"\nprices = { input = 1 }\nattempts = 0\ndialect = \"yaml\"\n",
        &[
            "mine.toml:2: `localhost` is not the URL of a server (write it as `https://example.com`)",
            "mine.toml:3: `3` is not a temperature (write 0 to 2)",
            "mine.toml:5: the key of the model has two sources (write `key_variable` or `key_file`)",
            "mine.toml:6: missing field `output` (see the reference of planwright.toml for fields and values)",
            "mine.toml:7: found integer `0`, expected a whole number from 1 (see the reference of planwright.toml for fields and values)",
            "mine.toml:8: unknown dialect `yaml` (write `json` or `lines`)",
        ],
    );
    issues(
        Origin::Project,
        "[model]\ntimeout = \"1m\"\nname = \"openai:a\"\n",
        &[
            "planwright.toml:2: a project cannot choose the model (the user decides this: put it into your own planwright.toml)",
        ],
    );
}
