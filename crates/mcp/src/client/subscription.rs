//! Subscriptions of a session to changes of a server's lists and resources.

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

/// The initial pause before an ended subscription is renewed; it doubles each time that one ends soon.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The maximum pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Maintains the subscription of a stateless session until the session ends or the server does not support
/// subscriptions.
pub(super) async fn keep_subscribed(
    session: Arc<Session>,
    followed: Arc<Followed>,
    signals: mpsc::UnboundedSender<Signal>,
) {
    let mut changes = followed.changes();
    let mut pause = FIRST_PAUSE;
    let mut was_interrupted = false;
    // The previous subscription ends after the next one is sent, so that no change is missed in between.
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
            // Changes during the interruption were not notified, so all lists are read again.
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
                // The monitor waits for an acknowledgement, which will not arrive.
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

/// Subscribes until the server ends it. Dropping the future cancels the subscription.
async fn listen(session: Arc<Session>, filter: Value) -> Result<Value, RequestError> {
    let params = Value::object([("notifications", filter)]);
    let method = "subscriptions/listen";
    session.request(method, &params, None).await
}

/// Returns the changes to subscribe to: those that the server supports, and the subscribed resources.
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
