//! Watching for decisions of other processes, in the time of a test.

use std::time::Duration;

use crate::scene::scene;
use crate::suite::decisions::{approve, steps};
use crate::suite::support::{append, create, entries, opened};

#[tokio::test(start_paused = true)]
async fn a_waiting_process_receives_each_decision_once() {
    let scene = scene();
    let run = create(&scene.store, "r");
    drop(create(&scene.store, "other"));
    scene.store.decide("r", &approve("early", 1)).unwrap();
    let mut decisions = scene.store.watch_decisions("r").unwrap();
    assert_eq!(steps(&decisions.next().await.unwrap()), ["early"]);

    let elsewhere = scene.open_again();
    elsewhere.decide("other", &approve("x", 1)).unwrap();
    append(&run, entries([opened()])).unwrap();
    let timeout = Duration::from_secs(5);
    assert!(
        tokio::time::timeout(timeout, decisions.next())
            .await
            .is_err()
    );

    elsewhere.decide("r", &approve("b", 1)).unwrap();
    scene.store.decide("r", &approve("c", 1)).unwrap();
    assert_eq!(steps(&decisions.next().await.unwrap()), ["b", "c"]);
    elsewhere.replace_decision("r", &approve("b", 1)).unwrap();
    assert_eq!(steps(&decisions.next().await.unwrap()), ["b"]);
    assert!(
        tokio::time::timeout(timeout, decisions.next())
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_comes_while_one_waits_is_heard_of() {
    let scene = scene();
    drop(create(&scene.store, "r"));
    let mut decisions = scene.store.watch_decisions("r").unwrap();
    let decider = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        scene.store.decide("r", &approve("a", 1)).unwrap();
    };
    let (found, ()) = tokio::join!(decisions.next(), decider);
    assert_eq!(steps(&found.unwrap()), ["a"]);
}
