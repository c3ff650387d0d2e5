//! Usage of HTTP sessions, and the choice of idle ones to end at the limits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::transport::streamable_http_server::session::SessionId;
use tokio::time::Instant;

use crate::gateway::client::ClientId;

/// The maximum number of sessions of one client. A program opens one for each conversation.
const MOST_OF_CLIENT: usize = 256;

/// The maximum number of sessions of all clients. A session takes about 140 KB.
const MOST: usize = 1024;

/// The usage of all sessions. Clones share the state.
#[derive(Clone, Debug, Default)]
pub(in crate::gateway) struct Uses(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    sessions: HashMap<SessionId, Use>,
    /// The number of sessions that are being opened.
    opening: HashMap<ClientId, usize>,
}

#[derive(Debug)]
struct Use {
    last: Instant,
    calls: usize,
    streams: usize,
}

/// The kind of a request of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) enum Request {
    /// A request with a response.
    Call,
    /// An open stream of notifications.
    Stream,
}

/// A guard of a request in flight.
#[derive(Debug)]
pub(in crate::gateway) struct InUse {
    uses: Uses,
    session: SessionId,
    request: Request,
}

/// A guard of a session that is being opened.
#[derive(Debug)]
pub(in crate::gateway) struct Opening {
    uses: Uses,
    client: ClientId,
}

impl Uses {
    /// Reserves a session of `client`, and returns the session that must end for it, if any. `owners` are the existing
    /// sessions. Returns `None` if the limit is reached and no session is idle.
    pub(in crate::gateway) fn open(
        &self,
        client: &ClientId,
        owners: &HashMap<SessionId, ClientId>,
    ) -> Option<(Opening, Option<SessionId>)> {
        let mut known = self.lock();
        let of_client = owners.values().filter(|owner| *owner == client).count();
        let opening = known.opening.get(client).copied().unwrap_or_default();
        let all_opening: usize = known.opening.values().sum();
        let is_full_for_client = of_client + opening >= MOST_OF_CLIENT;
        let idle = if is_full_for_client {
            Some(known.idle(owners.iter().filter(|(_, owner)| *owner == client))?)
        } else if owners.len() + all_opening >= MOST {
            Some(known.idle(owners.iter())?)
        } else {
            None
        };
        *known.opening.entry(client.clone()).or_default() += 1;
        drop(known);
        let opening = Opening {
            uses: self.clone(),
            client: client.clone(),
        };
        Some((opening, idle))
    }

    /// Marks a session as used by a request.
    pub(in crate::gateway) fn begin(&self, session: SessionId, request: Request) -> InUse {
        self.lock().change(&session, request, |count| count + 1);
        InUse {
            uses: self.clone(),
            session,
            request,
        }
    }

    /// Removes a session that has ended.
    pub(in crate::gateway) fn forget(&self, session: &SessionId) {
        self.lock().sessions.remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Returns the session that was idle longest, preferring sessions without an open stream.
    fn idle<'a>(
        &self,
        sessions: impl Iterator<Item = (&'a SessionId, &'a ClientId)>,
    ) -> Option<SessionId> {
        let used = sessions.map(|(session, _)| (session, self.sessions.get(session)));
        let idle = used.filter(|(_, used)| used.is_none_or(|used| used.calls == 0));
        let oldest = idle.min_by_key(|(_, used)| used.map(|used| (used.streams > 0, used.last)));
        oldest.map(|(session, _)| session.clone())
    }

    fn change(&mut self, session: &SessionId, request: Request, change: impl Fn(usize) -> usize) {
        let used = self.sessions.entry(session.clone()).or_insert(Use {
            last: Instant::now(),
            calls: 0,
            streams: 0,
        });
        used.last = Instant::now();
        let count = match request {
            Request::Call => &mut used.calls,
            Request::Stream => &mut used.streams,
        };
        *count = change(*count);
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut known = self.uses.lock();
        // The session may have ended meanwhile.
        if known.sessions.contains_key(&self.session) {
            known.change(&self.session, self.request, |count| count.saturating_sub(1));
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut known = self.uses.lock();
        if let Some(count) = known.opening.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                known.opening.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{MOST, MOST_OF_CLIENT, Request, Uses};
    use crate::gateway::client::ClientId;

    #[test]
    fn the_longest_idle_session_gives_way() {
        let (uses, ada) = (Uses::default(), ClientId::new("ada"));
        let mut owners = HashMap::new();
        let name = |number: usize| format!("{number}").into();
        for number in 0..MOST_OF_CLIENT {
            let (opening, idle) = uses.open(&ada, &owners).expect("there is room");
            assert!(idle.is_none(), "{number}");
            drop(opening);
            owners.insert(name(number), ada.clone());
            drop(uses.begin(name(number), Request::Call));
        }
        let call = uses.begin(name(0), Request::Call);
        let _stream = uses.begin(name(1), Request::Stream);
        let idle = |client: &ClientId| uses.open(client, &owners).and_then(|(_, idle)| idle);
        assert_eq!(idle(&ada), Some(name(2)));
        drop(uses.begin(name(2), Request::Call));
        assert_eq!(idle(&ada), Some(name(3)));
        drop(call);
        assert_eq!(idle(&ClientId::new("bob")), None);
        let mut calls = Vec::new();
        for number in 0..MOST_OF_CLIENT {
            calls.push(uses.begin(name(number), Request::Call));
        }
        assert!(uses.open(&ada, &owners).is_none());
        drop(calls);
        // Sessions that are being opened count as well.
        let client = |number: usize| ClientId::new(format!("client {number}"));
        let all: Vec<_> = (0..MOST - MOST_OF_CLIENT)
            .map(|number| uses.open(&client(number), &owners).unwrap().0)
            .collect();
        assert!(idle(&client(0)).is_some());
        drop(all);
        assert_eq!(idle(&client(0)), None);
    }
}
