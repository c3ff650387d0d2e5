//! Significant changes, and their presentation.

use planwright_core::{Hints, Schema, Tool, Value};

use super::{Changes, Definition, DifferenceLine, PinPolicy, difference};

fn tool() -> Tool {
    Tool {
        origin: "node shop.js".into(),
        description: Some("Pays.".into()),
        hints: Hints {
            destructive: Some(true),
            ..Hints::default()
        },
        ..Tool::new("shop", "pay")
    }
}

fn schema(text: &str) -> Schema {
    Schema::from_value(Value::from_json(text).unwrap())
}

/// A change of a tool, the names of what it changes, and whether it asks.
type Case = (fn(&mut Tool), &'static [&'static str], bool);

#[test]
fn changes_that_matter_to_consent_ask() {
    let cases: &[Case] = &[
        (|_| {}, &[], false),
        (|tool| tool.annotations.trusted = true, &[], false),
        (|tool| tool.description = None, &["description"], true),
        (
            |tool| tool.description = Some("Pays. \u{200b}".into()),
            &["description"],
            true,
        ),
        (
            |tool| tool.input = schema(r#"{"type": "object"}"#),
            &["input schema"],
            true,
        ),
        (
            |tool| tool.output = schema(r#"{"type": "object"}"#),
            &["output schema"],
            false,
        ),
        (|tool| tool.title = Some("Pay".into()), &["title"], false),
        (
            |tool| tool.hints.destructive = None,
            &["destructiveHint"],
            true,
        ),
        (
            |tool| tool.hints.destructive = Some(false),
            &["destructiveHint"],
            true,
        ),
        (
            |tool| tool.hints.read_only = Some(true),
            &["readOnlyHint"],
            true,
        ),
        (
            |tool| tool.hints.read_only = Some(false),
            &["readOnlyHint"],
            false,
        ),
        (
            |tool| tool.hints.idempotent = Some(true),
            &["idempotentHint"],
            true,
        ),
        (
            |tool| tool.hints.open_world = Some(false),
            &["openWorldHint"],
            false,
        ),
    ];
    for (change, names, asks) in cases {
        let mut changed = tool();
        change(&mut changed);
        let by_tool = Changes::of_tool(&tool(), &changed);
        // Definitions are compared by digests, however little of their texts is stored.
        let [before, now] = [&tool(), &changed].map(|tool| {
            let stored = Definition::of(tool, 1).to_json().unwrap();
            Definition::read(&stored).unwrap()
        });
        let stored = Changes::between(&before, &now);
        assert_eq!(stored, by_tool);
        assert_eq!(stored.names(), *names);
        assert_eq!(stored.asks(), *asks, "{names:?}");
        assert_eq!(stored.is_empty(), names.is_empty());
    }
}

#[test]
fn a_tool_that_becomes_destructive_asks_by_itself() {
    let mut harmless = tool();
    harmless.hints = Hints::default();
    let changes = Changes::of_tool(&harmless, &tool());
    assert_eq!(
        (changes.names(), changes.asks()),
        (vec!["destructiveHint"], false)
    );
}

#[test]
fn a_long_text_is_cut() {
    let mut tool = tool();
    tool.description = Some("é".repeat(2_000_000).into());
    let definition = Definition::of(&tool, 4095);
    let description = definition.description.as_ref().unwrap();
    assert_eq!(description.text.len(), 4094);
    assert_eq!(description.missing(), 4_000_000 - 4094);
    assert!(definition.to_json().unwrap().len() < 8192);
}

fn lines(before: &str, now: &str) -> Vec<String> {
    let line = |line| match line {
        DifferenceLine::Same(text) => format!(" {text}"),
        DifferenceLine::Removed(text) => format!("-{text}"),
        DifferenceLine::Added(text) => format!("+{text}"),
        DifferenceLine::Skipped(count) => format!("…{count}"),
    };
    difference(before, now).into_iter().map(line).collect()
}

#[test]
fn a_difference_has_what_changed_and_its_neighbours() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("", "", &[]),
        ("a\nb", "a\nb\n", &[]),
        ("", "a", &["+a"]),
        ("a", "", &["-a"]),
        ("a", "b", &["-a", "+b"]),
        ("a\nb\nc", "a\nx\nc", &[" a", "-b", "+x", " c"]),
        ("a\na", "a", &[" a", "-a"]),
        (
            "a\nb\nc\nd",
            "b\nx\nd\ne",
            &["-a", " b", "-c", "+x", " d", "+e"],
        ),
        ("1\n2\n3\n4", "1\n2\n3\nx", &[" 1", " 2", " 3", "-4", "+x"]),
        (
            "1\n2\n3\n4\n5\n6\n7\n8",
            "1\n2\n3\n4\nx\n6\n7\n8\n9",
            &["…2", " 3", " 4", "-5", "+x", " 6", " 7", " 8", "+9"],
        ),
    ];
    for (before, now, wanted) in cases {
        assert_eq!(lines(before, now), *wanted, "{before:?} → {now:?}");
    }
}

#[test]
fn a_difference_of_long_texts_has_all_lines() {
    let text = |word: &str| {
        let lines: Vec<String> = (0..5000).map(|n| format!("{word}{n}")).collect();
        lines.join(
            "
",
        )
    };
    let lines = lines(&text("a"), &text("b"));
    assert_eq!(lines.len(), 10_000);
    assert_eq!((lines[0].as_str(), lines[9999].as_str()), ("-a0", "+b4999"));
}

#[test]
fn policies_by_strictness() {
    for (word, policy) in [
        ("off", PinPolicy::Off),
        ("warn", PinPolicy::Warn),
        ("ask", PinPolicy::Ask),
    ] {
        assert_eq!(PinPolicy::try_from(word.to_owned()), Ok(policy));
        assert_eq!(policy.as_str(), word);
    }
    assert!(PinPolicy::Off < PinPolicy::Warn && PinPolicy::Warn < PinPolicy::Ask);
    assert!(PinPolicy::try_from("no".to_owned()).is_err());
}

#[cfg(feature = "store")]
mod stored {
    use std::time::{Duration, SystemTime};

    use planwright_core::Catalog;
    use planwright_store::Store;

    use super::super::{NoticeKind, Pending, Pinning, Verdicts};
    use super::*;

    fn compare(store: &Store, policy: PinPolicy, tools: &[Tool]) -> Verdicts {
        let pinning = Pinning {
            store,
            policy,
            accepts_servers: false,
            now: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
        };
        pinning.compare(tools).unwrap()
    }

    fn scene() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store.db")).unwrap();
        (folder, store)
    }

    #[test]
    fn a_changed_tool_asks_and_is_not_believed() {
        let (_folder, store) = scene();
        let look = Tool {
            hints: Hints {
                read_only: Some(true),
                ..Hints::default()
            },
            ..Tool {
                origin: "node shop.js".into(),
                ..Tool::new("shop", "look")
            }
        };
        assert!(!compare(&store, PinPolicy::Ask, &[tool(), look.clone()]).ask_any());
        let mut changed = tool();
        changed.hints.destructive = None;
        changed.annotations.trusted = true;
        changed.annotations.idempotent = true;
        let verdicts = compare(&store, PinPolicy::Ask, &[changed.clone(), look.clone()]);
        assert_eq!(verdicts.notices().len(), 1);
        assert!(verdicts.notices()[0].is_first);
        let catalog: Catalog = [changed.clone(), look.clone()].into_iter().collect();
        // A configuration that lets it run unasked was about the pinned definition.
        let catalog = verdicts.catalog(&catalog, |catalog| {
            let tools = catalog.tools().map(|tool| Tool {
                approval: false,
                ..Tool::clone(tool)
            });
            tools.collect()
        });
        let governed: Vec<_> = catalog.tools().collect();
        assert!(governed[0].approval && !governed[0].is_repeatable());
        assert_eq!(
            governed[0].approval_reason.as_deref(),
            Some("its destructiveHint changed since it was pinned")
        );
        assert!(!governed[1].approval);
        let again = compare(&store, PinPolicy::Ask, std::slice::from_ref(&changed));
        assert!(again.ask_any() && !again.notices()[0].is_first);
        let warned = compare(&store, PinPolicy::Warn, &[changed]);
        assert!(!warned.ask_any() && !warned.notices().is_empty());
        let off = compare(&store, PinPolicy::Off, &[tool()]);
        assert!(off.notices().is_empty());
    }

    #[test]
    fn tools_of_this_process_are_not_pinned() {
        let (_folder, store) = scene();
        let own = Tool::new("own", "pay");
        compare(&store, PinPolicy::Ask, std::slice::from_ref(&own));
        let changed = Tool {
            description: Some("other".into()),
            ..own
        };
        assert!(!compare(&store, PinPolicy::Ask, &[changed]).ask_any());
    }

    #[test]
    fn a_hostile_server_is_bounded() {
        let (folder, store) = scene();
        let mut tools: Vec<Tool> = (0..10_050)
            .map(|number| Tool {
                name: format!("tool{number}").into(),
                ..tool()
            })
            .collect();
        tools[0].description = Some("x".repeat(4_000_000).into());
        tools[1].name = "n".repeat(1_000_000).into();
        let verdicts = compare(&store, PinPolicy::Ask, &tools);
        // Beyond the bound there is nothing to compare with, so those tools ask.
        assert!(verdicts.reason(&tools[9_999]).is_none());
        assert!(verdicts.reason(&tools[10_000]).is_some());
        let kinds: Vec<_> = verdicts
            .notices()
            .iter()
            .map(|notice| notice.kind)
            .collect();
        assert_eq!(kinds, [NoticeKind::TooMany]);
        assert!(verdicts.notices()[0].to_string().len() < 1000);
        drop(store);
        let size = std::fs::metadata(folder.path().join("store.db"))
            .unwrap()
            .len();
        assert!(size < 32 * 1024 * 1024, "{size}");
        let store = Store::open(folder.path().join("store.db")).unwrap();
        tools[0].description = Some(format!("{}y", "x".repeat(3_999_999)).into());
        let verdicts = compare(&store, PinPolicy::Ask, &tools[..2]);
        assert!(verdicts.reason(&tools[0]).is_some());
        assert!(verdicts.reason(&tools[1]).is_none());
        let pending = Pending::all(&store).unwrap();
        assert_eq!(pending[0].tools.len(), 1);
    }
}
