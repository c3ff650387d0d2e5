//! Access to the server, and the destinations of telemetry.

use super::*;

#[test]
fn a_project_cannot_raise_what_is_built_in() {
    let higher = r#"
[serve]
max_body = "8MiB"
max_requests = 257
max_plans = 1000
max_connections = 2000
rate = "6001/m"
request_time = "31s"
shutdown_time = "1m"
recall_for = "2h"
recall_bytes = "1GiB"
task_after = "1h"
listing_tokens = 1001
"#;
    assert_eq!(effective_settings("", higher), <[&str; 0]>::default());
    assert_eq!(effective_settings(higher, "").len(), 11);
    let lower = higher.replace("8MiB", "3MiB").replace("6001/m", "5999/m");
    assert_eq!(
        effective_settings("", &lower),
        [
            "serve.max_body = 3145728 (planwright.toml:3)",
            r#"serve.rate = "5999/m" (planwright.toml:7)"#,
        ]
    );
    // Only the user's own file can switch records on, and a project can switch them off.
    let off = "[serve]\nrecord_calls = false\n";
    let on = "[serve]\nrecord_calls = true\n";
    for (user, project, expected) in [
        ("", off, "serve.record_calls = false (planwright.toml:2)"),
        (off, on, "serve.record_calls = false (mine.toml:2)"),
        (on, "", "serve.record_calls = true (mine.toml:2)"),
        (on, off, "serve.record_calls = false (planwright.toml:2)"),
    ] {
        assert_eq!(effective_settings(user, project), [expected]);
    }
    assert_eq!(effective_settings("", on), [""; 0]);
    // The limit of the user's own file bounds the one of a project.
    assert_eq!(
        effective_settings("serve.max_body = '16MiB'", higher)[0],
        "serve.max_body = 8388608 (planwright.toml:3)"
    );
}

#[test]
fn who_is_served_and_where_telemetry_goes() {
    let user = r#"
[serve]
hosts = ["Plans.example.com"]
origins = ["https://chat.example.com/"]
max_body = "2MiB"
max_requests = 32
rate = "50/s"
shutdown_time = "5s"
recall_for = "90m"
recall_bytes = "1MiB"
task_after = "250ms"

[telemetry]
endpoint = "http://localhost:4318"
capture_values = true
headers.x-api-key = "k3y"
"#;
    let project = "[serve]\nmax_body = 1024\nmax_requests = 64\nrate = '60/m'\nrecall_for = '0s'\nrecall_bytes = '2MiB'\nlisting_tokens = 0\n";
    assert_eq!(
        effective_settings(user, project),
        [
            r#"serve.hosts = "plans.example.com" (mine.toml:3)"#,
            r#"serve.origins = "https://chat.example.com" (mine.toml:4)"#,
            "serve.max_body = 1024 (planwright.toml:2)",
            "serve.max_requests = 32 (mine.toml:6)",
            r#"serve.rate = "60/m" (planwright.toml:4)"#,
            r#"serve.shutdown_time = "5s" (mine.toml:8)"#,
            r#"serve.recall_for = "0s" (planwright.toml:5)"#,
            r#"serve.task_after = "250ms" (mine.toml:11)"#,
            "serve.recall_bytes = 1048576 (mine.toml:10)",
            "serve.listing_tokens = 0 (planwright.toml:7)",
            r#"telemetry.endpoint = "http://localhost:4318" (mine.toml:14)"#,
            "telemetry.capture_values = true (mine.toml:15)",
        ]
    );
}

#[test]
fn keys_of_a_collector_are_not_shown() {
    let text = "[telemetry]\nheaders.x-api-key = \"k3y\"\n";
    let source = read(Origin::User, text).unwrap();
    let config = Config::of([&source]);
    assert_eq!(config.telemetry().headers.len(), 1);
    assert!(!format!("{:?}", config.telemetry()).contains("k3y"));
    let listed = format!("{:?}", config.settings());
    assert!(!listed.contains("k3y"), "{listed}");
}

#[test]
fn serving_that_cannot_be_so() {
    issues(
        Origin::User,
        "[serve]\nhosts = [\"https://a\"]\norigins = [\"a.example.com\"]\nmax_plans = 0\n",
        &[
            "mine.toml:2: `https://a` is not the name of a host (write it as `plans.example.com`, without `https://` and path)",
            "mine.toml:3: `a.example.com` is not the URL of a server (write it as `https://example.com`)",
            "mine.toml:4: found integer `0`, expected a whole number from 1 (see the reference of planwright.toml for fields and values)",
        ],
    );
    issues(
        Origin::Project,
        "[serve]\norigins = [\"https://evil.example.com\"]\n[telemetry]\nendpoint = \"https://evil.example.com\"\n",
        &[
            "planwright.toml:2: a project cannot configure access to the server (the user decides this: \
             put it into your own planwright.toml)",
            "planwright.toml:4: a project cannot configure the telemetry endpoint (the user decides this: put it into your own planwright.toml)",
        ],
    );
}
