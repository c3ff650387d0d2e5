//! The scheme that LLMCompiler has published, in our own words: its planner's words are cut into tasks, which go through a queue to a
//! loop that starts what may start.
//!
//! Two of its traits decide how long it takes, and both are here. While tasks may still come, the loop waits for the next one and for
//! nothing else: a call that ends meanwhile sets nothing free. And where nothing can start, it looks again after ten milliseconds.
//! Everything starts as soon as it can, whatever it changes; nothing is checked.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use planwright_planner::model::{Delivery, Message, Model, ModelRequest, Piece};
use planwright_planner::stream::PlanReader;
use tokio::sync::mpsc;

use super::scene::{Scene, Server, model};

/// How long the loop sleeps where nothing can start.
const INTERVAL: Duration = Duration::from_millis(10);

/// In what the model writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Lines, as LLMCompiler's planner does.
    Lines,
    /// The plan that ours reads, so that only the schemes differ.
    Plan,
}

/// Has all calls of `scene` made.
pub async fn line_wise(scene: &Scene, notation: Notation) {
    let (sender, mut queue) = mpsc::unbounded_channel();
    let writing = write(scene, notation, sender);
    let fetching = fetch(scene, &mut queue);
    futures::join!(writing, fetching);
}

/// Puts each task into the queue as soon as it is written, and an end behind the last.
async fn write(scene: &Scene, notation: Notation, queue: mpsc::UnboundedSender<Option<usize>>) {
    let text = match notation {
        Notation::Lines => scene.lines(),
        Notation::Plan => scene.plan(),
    };
    let model = model([text]);
    let mut reader = PlanReader::new(usize::MAX);
    let mut lines = 0;
    let mut put = 0;
    let mut request = ModelRequest::new("", [Message::User("go".to_owned())]);
    request.delivery = Delivery::Live;
    let mut pieces = model.ask(request);
    while let Some(piece) = pieces.next().await {
        let Piece::Text(text) = piece.expect("an answer") else {
            break;
        };
        let there = match notation {
            Notation::Lines => {
                lines += text.matches('\n').count();
                lines.min(scene.calls.len())
            }
            Notation::Plan => {
                reader.feed(&text);
                reader.steps()
            }
        };
        for task in put..there {
            queue.send(Some(task)).expect("somebody listens");
        }
        put = there;
    }
    queue.send(None).expect("somebody listens");
}

/// Starts what may start, until there is nothing left.
async fn fetch(scene: &Scene, queue: &mut mpsc::UnboundedReceiver<Option<usize>>) {
    let done: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
    let lock = |done: &Arc<Mutex<BTreeSet<usize>>>| {
        done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    };
    let server = Server::of(scene);
    let mut known = 0;
    let mut remaining: BTreeSet<usize> = BTreeSet::new();
    let mut more_come = true;
    loop {
        if more_come {
            match queue.recv().await.flatten() {
                Some(task) => {
                    remaining.insert(task);
                    known += 1;
                }
                None => more_come = false,
            }
        }
        let ended = lock(&done);
        let free = |task: &usize| {
            scene.calls[*task]
                .needs
                .iter()
                .all(|need| ended.contains(need))
        };
        let executable: Vec<usize> = remaining.iter().copied().filter(free).collect();
        if executable.is_empty() {
            if !more_come && ended.len() == known {
                break;
            }
            tokio::time::sleep(INTERVAL).await;
        }
        for task in executable {
            remaining.remove(&task);
            let (done, server) = (Arc::clone(&done), server.clone());
            tokio::spawn(async move {
                server.call().await;
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(task);
            });
        }
    }
}
