//! Export and import of runs.

use std::sync::LazyLock;

use planwright_core::Value;
use planwright_engine::{Decision, RunStatus};
use planwright_store::{NewDecision, StoreError};
use proptest::prelude::*;

use super::support::{append, at, create, ended, entries, me, opened, read, step, time};
use crate::scene::scene;

/// Creates a store with one run that has all kinds of data.
fn filled() -> (crate::scene::Scene, String) {
    let scene = scene();
    let run = create(&scene.store, "r");
    let mut records = vec![opened()];
    records.extend(step("a\u{0}ü", &Value::from("x\n".repeat(5_000))));
    records.extend(step("b", &Value::from(0.1)));
    records.push(ended(RunStatus::Failed));
    append(&run, entries(records)).unwrap();
    let decision = NewDecision {
        at: at("a"),
        digest: "0123".to_owned(),
        decision: Decision::Approve {
            args: Some(Value::from(1)),
        },
        by: Some("ada".to_owned()),
        decided: time(3),
    };
    scene.store.decide("r", &decision).unwrap();
    drop(run);
    let text = scene.store.export("r").unwrap();
    (scene, text)
}

#[test]
fn a_run_is_the_same_in_another_store() {
    let (here, text) = filled();
    let there = scene();
    let imported = there.store.import(&text).unwrap();
    assert_eq!((imported.id.as_str(), imported.is_new), ("r", true));
    assert_eq!(read(&there.store, "r"), read(&here.store, "r"));
    let mut known = there.store.run("r").unwrap();
    assert_eq!(known.imported.take(), Some(8));
    assert_eq!(known, here.store.run("r").unwrap());
    assert_eq!(
        there.store.header("r").unwrap(),
        here.store.header("r").unwrap()
    );
    assert_eq!(imported.decisions, 1);
    assert_eq!(here.store.decisions("r").unwrap().len(), 1);
    assert_eq!(there.store.decisions("r").unwrap(), []);
    let again = there.store.import(&text).unwrap();
    assert_eq!((again.is_new, again.decisions), (false, 1));
    let run = there.store.lease_run("r", &me()).unwrap();
    append(&run, entries([opened()])).unwrap();
    assert_eq!(read(&there.store, "r").len(), 9);
}

#[test]
fn an_existing_run_is_imported_only_if_it_is_equal() {
    let (scene, text) = filled();
    assert!(!scene.store.import(&text).unwrap().is_new);
    let other = text.replace("\"weather\"", "\"other\"");
    let refused = scene.store.import(&other).unwrap_err();
    assert_eq!(refused.to_string(), "the run `r` already exists");
    assert_eq!(scene.store.export("r").unwrap(), text);
}

#[test]
fn several_runs_are_imported_together_or_not_at_all() {
    let (here, _) = filled();
    for id in ["second", "third"] {
        let run = create(&here.store, id);
        append(&run, entries(step("a", &Value::from(1)))).unwrap();
    }
    let [second, third] = ["second", "third"].map(|id| here.store.run(id).unwrap().id);
    let text = here
        .store
        .export_with("r", &[second.clone(), third.clone()]);
    let text = text.unwrap();
    // A reader of single runs refuses the text by its version.
    let versions: Vec<&str> = text.matches("\"planwright.run-export/2\"").collect();
    assert_eq!(versions.len(), 2);
    assert!(text.starts_with("{\"format\":\"planwright.run-export/2\""));
    let there = scene();
    let run = create(&there.store, "third");
    let refused = there.store.import(&text).unwrap_err();
    assert_eq!(refused.to_string(), "the run `third` already exists");
    assert!(there.store.run("r").is_err() && there.store.run("second").is_err());
    drop(run);

    let there = scene();
    there
        .store
        .import(&here.store.export("second").unwrap())
        .unwrap();
    let imported = there.store.import(&text).unwrap();
    assert!(imported.is_new);
    // The other one was known.
    assert_eq!(imported.further, [third]);
    for id in ["r", "second", "third"] {
        assert_eq!(read(&there.store, id), read(&here.store, id));
    }
    let again = there.store.import(&text).unwrap();
    assert!(!again.is_new && again.further.is_empty());
}

#[test]
fn the_format_is_stable() {
    let scene = scene();
    let run = create(&scene.store, "r");
    append(&run, entries(step("a", &Value::from(1)))).unwrap();
    let expected = r#"{"format":"planwright.run-export/1","journal":"planwright.journal/1","run":{"id":"r","plan":"weather","digest":"d1","dialect":"native","created_ns":1000000000000,"steps":3,"header":{"schema":"test/1"}}}
{"entry":{"at_ns":0,"turn":0,"kind":"sent","body":{"at":[{"step":"a"}],"server":"s","tool":"t","attempt":1,"args":{"json":{"city":"Oslo"}}}}}
{"entry":{"at_ns":1000000,"turn":1,"kind":"answered","body":{"at":[{"step":"a"}],"attempt":1,"result":{"output":{"value":{"json":1}}}}}}
{"entry":{"at_ns":2000000,"turn":2,"kind":"settled","body":{"at":[{"step":"a"}],"status":"succeeded","started_ns":1000000}}}
{"end":{"values":0,"entries":3,"decisions":0}}
"#;
    assert_eq!(scene.store.export("r").unwrap(), expected);
}

#[test]
fn incomplete_and_unknown_exports_are_refused() {
    let (_, text) = filled();
    let scene = scene();
    let check = |text: &str, expected: &str| {
        let error = scene.store.import(text).unwrap_err();
        assert!(matches!(
            error,
            StoreError::Format(_) | StoreError::BadName { .. }
        ));
        assert!(error.to_string().contains(expected), "{error}");
        assert!(matches!(
            scene.store.run("r"),
            Err(StoreError::Missing { .. })
        ));
    };
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    check("", "it is empty");
    check("[]", "its first line is not an object");
    check("5", "its first line is not an object");
    check("{}", "it names no format");
    check("what is this", "its first line is not an object");
    let unknown = "it has the unknown format `planwright.run-export/3`";
    check(&changed("run-export/1", "run-export/3"), unknown);
    check(
        &changed("journal/1", "journal/7"),
        "unknown format `planwright.journal/7`",
    );
    check(
        &changed("\"created_ns\"", "\"mood\":1,\"created_ns\""),
        "unknown field `mood`",
    );
    check(
        &changed("\"id\":\"r\"", "\"id\":\"../r\""),
        "cannot be the id of a run",
    );
    check(
        &changed("\"id\":\"r\"", "\"id\":\"-rf\""),
        "cannot be the id of a run",
    );
    check(
        &changed("\"kind\":\"sent\"", "\"kind\":\"felt\""),
        "unknown kind of entry `felt`",
    );
    check(
        &changed("{\"decision\"", "{\"opinion\""),
        "unknown variant `opinion`",
    );
    check(
        &changed("\"failed\"", "\"bored\""),
        "unknown status of a run `bored`",
    );
    check(
        &changed("x\\nx", "y\\nx"),
        "a value does not match its digest",
    );
    check(
        &changed("\"at_ns\":0", "\"at_ns\":-1"),
        "older than its run",
    );
    check(
        &changed("\"values\":1", "\"values\":2"),
        "its number of lines",
    );
    check(&format!("{text}{text}"), "a line after the end");
    let followed = changed("\"decisions\":1}", "\"decisions\":1,\"following\":1}");
    let unfit = "the version of its format does not fit its number of runs";
    check(&followed, unfit);
    check(&changed("run-export/1", "run-export/2"), unfit);
    let followed = followed.replacen("run-export/1", "run-export/2", 1);
    check(&followed, "it is truncated");
    check(&format!("{followed}{text}"), "the run `r` twice");
    let other = text.replace("\"id\":\"r\"", "\"id\":\"other\"");
    check(
        &format!("{followed}{followed}{other}"),
        "its number of runs",
    );
    check(&format!("{followed}{other}{other}"), "a line after the end");
    let lines: Vec<&str> = text.lines().collect();
    check(&lines[..lines.len() - 1].join("\n"), "it is truncated");
    check(&text[..text.len() / 2], "EOF");
    let without_value: Vec<&str> = lines
        .iter()
        .filter(|line| !line.starts_with("{\"value\""))
        .copied()
        .collect();
    check(&without_value.join("\n"), "is missing");
    let deep = format!(
        "{{\"json\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    check(&changed("{\"json\":0.1}", &deep), "nested deeper");
    let far = format!(
        "[{}{{\"step\":\"b\"}}]",
        "{\"step\":\"a\"},".repeat(500_000)
    );
    check(&changed("[{\"step\":\"b\"}]", &far), "nested in more than");
    scene.store.import(&text).unwrap();
}

/// An exported run.
static FILE: LazyLock<String> = LazyLock::new(|| filled().1);

proptest! {
    // Each case has a store of its own, and a database takes a second.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Moves lines and changes characters of an export. The import fails, or stores every entry of the text.
    #[test]
    fn a_changed_export_is_refused_or_imported_completely(
        lines in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        letters in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..3),
    ) {
        let mut parts: Vec<&str> = FILE.lines().collect();
        for line in lines {
            let taken = parts.remove(line.index(parts.len()));
            parts.insert(line.index(parts.len() + 1), taken);
        }
        let mut changed: Vec<char> = parts.join("\n").chars().collect();
        for (index, letter) in letters {
            let at = index.index(changed.len());
            changed[at] = letter;
        }
        let changed: String = changed.into_iter().collect();
        let scene = scene();
        if let Ok(imported) = scene.store.import(&changed) {
            let entries = read(&scene.store, imported.id.as_str()).len();
            prop_assert_eq!(entries, changed.matches("{\"entry\"").count());
            let again = scene.store.export(imported.id.as_str()).unwrap();
            prop_assert_eq!(scene.store.import(&again).map(|again| again.is_new), Ok(false));
        }
    }
}
