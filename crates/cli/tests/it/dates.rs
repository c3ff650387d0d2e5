//! `dates`: days on standard output, or the reason why there are none.

use std::process::Output;

use crate::program::{planwright, stderr, stdout};

/// Asks with `TZ` set.
fn ask(zone: &str, args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    planwright(folder.path())
        .env("TZ", zone)
        .arg("dates")
        .args(args)
        .output()
        .unwrap()
}

fn check(zone: &str, args: &[&str], expected: &str) {
    let output = ask(zone, args);
    assert_eq!(stderr(&output), "", "{args:?}");
    assert_eq!(stdout(&output), expected, "{args:?}");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
}

fn check_refused(zone: &str, args: &[&str], expected: &str) {
    let output = ask(zone, args);
    assert_eq!(stdout(&output), "", "{args:?}");
    assert_eq!(stderr(&output), expected, "{args:?}");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
}

#[test]
fn days_are_printed_for_people_and_programs() {
    let now = "2025-10-12T09:00:00Z";
    check(
        "UTC",
        &["last week", "--now", now, "--tz", "UTC", "--format", "json"],
        "{\n  \"from\": \"2025-10-05\",\n  \"to\": \"2025-10-12\"\n}\n",
    );
    check(
        "UTC",
        &["last", "week", "--now", now],
        "2025-10-05 to 2025-10-12 (8 days)\n",
    );
    check("UTC", &["--now", now, "today"], "2025-10-12 (1 day)\n");
}

#[test]
fn the_zone_is_said_or_set() {
    let evening = ["today", "--now", "2025-10-12T20:00:00Z"];
    check("UTC", &evening, "2025-10-12 (1 day)\n");
    check("Asia/Tokyo", &evening, "2025-10-13 (1 day)\n");
    check("", &evening, "2025-10-12 (1 day)\n");
    check("<-05>5", &evening, "2025-10-12 (1 day)\n");
    let said = [&evening[..], &["--tz", "Pacific/Auckland"]].concat();
    check("America/New_York", &said, "2025-10-13 (1 day)\n");
    check_refused(
        "Nowhere/Town",
        &evening,
        "error: `TZ` is `Nowhere/Town`, which is not a known time zone\n  hint: name one: `--tz Europe/Berlin`\n",
    );
}

#[test]
fn today_is_the_clocks() {
    let output = ask("UTC", &["2000-01-01 to today", "--format", "json"]);
    let dates: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!("2026-01-01" < dates["to"].as_str().unwrap(), "{dates}");
}

#[test]
fn an_unknown_phrase_prints_nothing() {
    check_refused(
        "UTC",
        &["whenever"],
        "error: `whenever` is not a known date phrase\n  hint: use a phrase such as `yesterday`, `last 30 days`, `this month`, \
         `October 2025` or `2025-10-01 to 2025-10-10`\n",
    );
    check_refused(
        "UTC",
        &["today", "--now", "noon"],
        "error: `noon` is not a time such as `2025-10-12T09:00:00Z`\n",
    );
    check_refused(
        "UTC",
        &["today", "--tz", "Mars"],
        "error: `Mars` is not a time zone such as `Europe/Berlin` or `UTC`\n",
    );
}
