//! Stored plans and their versions.

use planwright_core::Value;
use planwright_store::{NewPlan, SavedPlan, Store, StoreError, StoredPlan};

use super::support::time;
use crate::scene::scene;

fn plan(name: &str, text: &str) -> NewPlan {
    NewPlan {
        name: name.to_owned(),
        text: text.to_owned(),
        dialect: Some("native".to_owned()),
        inputs: Value::object([("city", Value::from("text"))]),
        saved: time(9),
    }
}

fn save(store: &Store, name: &str, text: &str) -> SavedPlan {
    store.save_plan(plan(name, text)).unwrap()
}

fn names(plans: &[StoredPlan]) -> Vec<(&str, u32)> {
    plans
        .iter()
        .map(|plan| (plan.name.as_str(), plan.version))
        .collect()
}

#[test]
fn a_version_is_added_when_something_has_changed() {
    let scene = scene();
    let store = &scene.store;
    let first = save(store, "b", "one");
    assert_eq!((first.version, first.is_new), (1, true));
    let again = save(store, "b", "one");
    assert_eq!(
        again,
        SavedPlan {
            is_new: false,
            ..first.clone()
        }
    );
    assert_eq!(save(store, "b", "two").version, 2);
    let back = save(store, "b", "one");
    assert_eq!((back.version, back.is_new), (3, true));
    assert_ne!(back.id, first.id);
    save(store, "a", "one");
    assert_eq!(names(&store.plans().unwrap()), [("a", 1), ("b", 3)]);
    assert_eq!(
        names(&store.plan_versions("b").unwrap()),
        [("b", 1), ("b", 2), ("b", 3)]
    );
    let found = store.plan("b", Some(2)).unwrap();
    let new = plan("b", "two");
    assert_eq!((found.text, found.dialect), (new.text, new.dialect));
    assert_eq!((found.inputs, found.saved), (new.inputs, new.saved));
}

#[test]
fn a_plan_is_found_by_its_name_or_the_beginning_of_an_id() {
    let scene = scene();
    let store = &scene.store;
    let ids: Vec<String> = (0..40)
        .map(|n| save(store, "p", &n.to_string()).id)
        .collect();
    assert_eq!(store.plan("p", None).unwrap().version, 40);
    assert_eq!(store.plan(&ids[3], None).unwrap().version, 4);
    assert_eq!(store.plan(&ids[3][..12], None).unwrap().version, 4);
    assert_eq!(store.plan(&ids[3], Some(4)).unwrap().version, 4);
    // Of 40 ids, some share their first of 16 possible digits.
    let several = ids.iter().find_map(|id| match store.plan(&id[..1], None) {
        Err(StoreError::Ambiguous { candidates, .. }) => Some(candidates),
        _ => None,
    });
    assert!(1 < several.unwrap().len());
    // A name takes precedence over an id.
    save(store, &ids[3][..12], "named");
    assert_eq!(store.plan(&ids[3][..12], None).unwrap().text, "named");
    for (selector, version) in [
        ("", None),
        ("q", None),
        ("p", Some(41)),
        (&ids[3], Some(5)),
        ("../p", None),
    ] {
        let found = store.plan(selector, version);
        assert!(
            matches!(found, Err(StoreError::Missing { .. })),
            "{selector}"
        );
    }
}

#[test]
fn a_name_is_never_a_path() {
    let scene = scene();
    for name in ["", ".", "..", "a/b", "/a", "a\\b", "C:", ".hidden", "a b"] {
        let saved = scene.store.save_plan(plan(name, "x"));
        assert!(matches!(saved, Err(StoreError::BadName { .. })), "{name}");
    }
    save(&scene.store, "A-1_b.json", "x");
}

#[test]
fn one_version_or_all_are_deleted() {
    let scene = scene();
    let store = &scene.store;
    let ids: Vec<String> = (0..4)
        .map(|n| save(store, "p", &n.to_string()).id)
        .collect();
    save(store, "q", "x");
    assert_eq!(names(&store.delete_plan("p", Some(2)).unwrap()), [("p", 2)]);
    assert_eq!(
        names(&store.delete_plan(&ids[3], None).unwrap()),
        [("p", 4)]
    );
    assert_eq!(store.plan("p", None).unwrap().version, 3);
    assert_eq!(
        names(&store.delete_plan("p", None).unwrap()),
        [("p", 1), ("p", 3)]
    );
    assert!(matches!(
        store.delete_plan("p", None),
        Err(StoreError::Missing { .. })
    ));
    assert_eq!(names(&store.plans().unwrap()), [("q", 1)]);
}
