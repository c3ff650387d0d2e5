//! Questions about calls: nobody is asked, or waited for, whose answer changes nothing any more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::plan::{Approval, ForEach, Node};
use planwright_core::{Place, Plan, Step, Value};
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_engine::backend::{Backends, Functions};
use planwright_engine::{Decision, Engine, RunStatus, Start, StepStatus};

use crate::drive::sound;
use crate::slow_journal::Slow;

/// Puts off step `later`, and never decides about any other.
#[derive(Clone, Default)]
struct Person {
    asked: Arc<Mutex<Vec<String>>>,
    /// How many questions are open.
    open: Arc<AtomicUsize>,
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Approver for Person {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        self.asked.lock().unwrap().push(request.at.to_string());
        if request.at.step.as_str() == "later" {
            return Box::pin(std::future::ready(Decision::Later));
        }
        self.open.fetch_add(1, Ordering::SeqCst);
        let open = Open(Arc::clone(&self.open));
        Box::pin(async move {
            let _open = open;
            std::future::pending().await
        })
    }
}

fn asking(id: &str) -> Step {
    let args = Node::literal(Value::empty_object(), Place::NOWHERE);
    let mut step = Step::call(id, "t", args);
    step.approval = Approval::Ask;
    step
}

/// A step that was put off, beside a loop that takes too long because nobody decides about its items.
async fn check(journal: Option<Slow>, asked: &[&str]) {
    let mut each = asking("each");
    each.timeout = Some(Duration::from_secs(1));
    each.for_each = Some(ForEach {
        over: Node::literal(Value::list([1_u64, 2].map(Value::from)), Place::NOWHERE),
        max_parallel: None,
    });
    let plan = Plan {
        steps: vec![asking("later"), each],
        ..Plan::default()
    };
    let person = Person::default();
    let engine = Engine::new(Backends::new().with("s", Functions::named("s")))
        .with_approver(Arc::new(person.clone()));
    let mut start = Start::new("r", sound(plan));
    if let Some(journal) = journal {
        start = start.with_journal(Arc::new(journal), Value::Null);
    }
    let (handle, _events) = engine.launch(start);
    let summary = tokio::time::timeout(Duration::from_hours(24), handle).await;
    let summary = summary.expect("the run waits for an answer that nobody needs");
    assert_eq!(summary.status, RunStatus::Waiting);
    let statuses: Vec<StepStatus> = summary.steps.iter().map(|step| step.status).collect();
    assert_eq!(statuses, [StepStatus::Waiting, StepStatus::Failed]);
    assert_eq!(*person.asked.lock().unwrap(), asked);
    assert_eq!(person.open.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_step() {
    check(None, &["later", "each[0]", "each[1]"]).await;
    let quick = Slow(Duration::from_millis(1));
    check(Some(quick), &["later", "each[0]", "each[1]"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_held_back_is_never_asked_where_its_step_has_ended() {
    check(Some(Slow(Duration::from_secs(10))), &["later"]).await;
}
