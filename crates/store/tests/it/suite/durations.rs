//! Durations of calls that several runs have learned.

use std::sync::Arc;
use std::time::Duration;

use planwright_engine::Durations;

use crate::scene::scene;

fn observe(durations: &Durations, tool: &str, seconds: &[u64]) -> Durations {
    let mut durations = durations.clone();
    for took in seconds {
        durations.observe(&"s".into(), &Arc::from(tool), Duration::from_secs(*took));
    }
    durations
}

#[test]
fn learned_durations_are_stored() {
    let scene = scene();
    let nothing = scene.store.durations().unwrap();
    assert!(nothing.is_empty());
    let first = observe(&observe(&nothing, "a", &[4, 6, 9]), "b", &[1]);
    scene.store.save_durations(&nothing, &first).unwrap();
    assert_eq!(scene.store.durations().unwrap(), first);
    let second = observe(&first, "a", &[3, 3]);
    scene.store.save_durations(&first, &second).unwrap();
    assert_eq!(scene.store.durations().unwrap(), second);
    scene.store.save_durations(&second, &second).unwrap();
    assert_eq!(scene.store.durations().unwrap(), second);
}

#[test]
fn concurrent_updates_are_merged() {
    let scene = scene();
    let nothing = Durations::new();
    let ours = observe(&nothing, "a", &[2; 4]);
    let theirs = observe(&observe(&nothing, "a", &[6; 4]), "b", &[1]);
    scene.store.save_durations(&nothing, &ours).unwrap();
    scene.store.save_durations(&nothing, &theirs).unwrap();
    let known = scene.store.durations().unwrap();
    let a = known.of("s", "a").unwrap();
    assert_eq!((a.mean, a.calls), (Duration::from_secs(4), 8));
    assert_eq!(known.of("s", "b"), theirs.of("s", "b"));
}
