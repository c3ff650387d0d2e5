//! What a server is asked to tell of its own accord.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use planwright_core::{Object, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::caller::UpstreamError;
use super::followed::Followed;
use super::mailbox::RequestError;
use super::session::Session;
use super::tending::Signal;
use super::watcher::ListKind;

/// The first pause before a subscription that ended is opened again; it doubles each time that it ended soon.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Keeps a stateless session telling of what changes, until the session is over or the server says that it never does.
pub(super) async fn keep_subscribed(
    session: Arc<Session>,
    followed: Arc<Followed>,
    signals: mpsc::UnboundedSender<Signal>,
) {
    let mut changes = followed.changes();
    let mut pause = FIRST_PAUSE;
    let mut was_interrupted = false;
    // The one before is kept until the next is sent, so that nothing is missed in between.
    let mut before = None;
    loop {
        changes.mark_unchanged();
        let filter = filter(&session, &followed);
        if filter.as_object().is_none_or(Object::is_empty) {
            drop(before.take());
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        }
        let begun = Instant::now();
        let mut current = Box::pin(listen(Arc::clone(&session), filter));
        let early = futures::poll!(current.as_mut());
        drop(before.take());
        if std::mem::take(&mut was_interrupted) {
            // What changed in the meantime nobody has told.
            for kind in ListKind::ALL {
                let _ = signals.send(Signal::Changed(kind));
            }
        }
        let outcome = match early {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => tokio::select! {
                outcome = current.as_mut() => outcome,
                changed = changes.changed() => match changed {
                    Ok(()) => {
                        before = Some(current);
                        continue;
                    }
                    Err(_) => return,
                },
            },
        };
        match outcome {
            Err(RequestError::Refused(error)) if error.code == UpstreamError::UNKNOWN_METHOD => {
                // There will be no confirmation.
                let _ = signals.send(Signal::Subscribed);
                return;
            }
            Err(RequestError::Lost(None)) => return,
            _ => {}
        }
        if begun.elapsed() >= LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        was_interrupted = true;
    }
}

/// One subscription, until it ends. Dropping the future ends it.
async fn listen(session: Arc<Session>, filter: Value) -> Result<Value, RequestError> {
    let params = Value::object([("notifications", filter)]);
    let method = "subscriptions/listen";
    session.request(method, &params, None).await
}

/// What the server says that it can tell, and we want to hear.
fn filter(session: &Session, followed: &Followed) -> Value {
    let lists = ListKind::ALL
        .into_iter()
        .filter(|kind| session.greeting.offers(kind.capability(), "listChanged"))
        .map(|kind| (kind.filter(), Value::from(true)));
    let addresses = followed.all();
    let resources = (!addresses.is_empty()).then(|| {
        let addresses = addresses.into_iter().map(Value::Text);
        ("resourceSubscriptions", Value::list(addresses))
    });
    Value::object(lists.chain(resources))
}
