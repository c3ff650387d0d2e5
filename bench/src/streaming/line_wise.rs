//! A reimplementation of the published scheme of LLMCompiler: the planner's output is split into tasks, which a queue passes to a loop
//! that starts those that are ready.
//!
//! Two properties determine its speed, and both are reproduced. While tasks may still arrive, the loop waits for the next one only: a
//! call that ends meanwhile releases no task. And if no task is ready, it polls every ten milliseconds. It starts every task as soon as
//! possible, even one with side effects, and checks nothing.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use planwright_planner::model::{Delivery, Message, Model, ModelRequest, ReplyChunk};
use planwright_planner::stream::PlanReader;
use tokio::sync::mpsc;

use super::scene::{Scene, Server, model};

/// The pause between two polls.
const INTERVAL: Duration = Duration::from_millis(10);

/// The form of the tasks in the model's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSyntax {
    /// The lines that LLMCompiler's planner writes.
    Lines,
    /// The plan that ours reads, so that only the schemes differ.
    Plan,
}

/// Makes all calls of `scene`.
pub async fn line_wise(scene: &Scene, syntax: TaskSyntax) {
    let (sender, mut queue) = mpsc::unbounded_channel();
    let writing = write(scene, syntax, sender);
    let fetching = fetch(scene, &mut queue);
    tokio::join!(writing, fetching);
}

/// Adds each task to the queue as soon as it is written, and an end marker after the last.
async fn write(scene: &Scene, syntax: TaskSyntax, queue: mpsc::UnboundedSender<Option<usize>>) {
    let text = match syntax {
        TaskSyntax::Lines => scene.lines(),
        TaskSyntax::Plan => scene.plan(),
    };
    let model = model([text]);
    let mut reader = PlanReader::new(usize::MAX);
    let mut lines = 0;
    let mut put = 0;
    let mut request = ModelRequest::new("", [Message::User("go".to_owned())]);
    request.delivery = Delivery::Live;
    let mut chunks = model.ask(request);
    while let Some(chunk) = chunks.next().await {
        let ReplyChunk::Text(text) = chunk.expect("an answer") else {
            break;
        };
        let there = match syntax {
            TaskSyntax::Lines => {
                lines += text.matches('\n').count();
                lines.min(scene.calls.len())
            }
            TaskSyntax::Plan => {
                reader.feed(&text);
                reader.steps()
            }
        };
        for task in put..there {
            queue.send(Some(task)).expect("the loop receives");
        }
        put = there;
    }
    queue.send(None).expect("the loop receives");
}

/// Starts ready tasks until none is left.
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
