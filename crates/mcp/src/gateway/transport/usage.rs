//! Usage of HTTP sessions, and the choice of idle ones to end at the limits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::transport::streamable_http_server::session::SessionId;
use tokio::time::Instant;

use crate::gateway::client::ClientId;

/// The maximum number of sessions of one client. A program opens one for each conversation.
const MAX_SESSIONS_PER_CLIENT: usize = 256;

/// The maximum number of sessions of all clients. A session takes about 140 KB.
const MAX_SESSIONS: usize = 1024;

/// The usage of all sessions. Clones share the state.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionUsage(Arc<Mutex<UsageState>>);

#[derive(Debug, Default)]
struct UsageState {
    sessions: HashMap<SessionId, SessionUse>,
    /// The number of sessions that are being opened.
    opening: HashMap<ClientId, usize>,
}

#[derive(Debug)]
struct SessionUse {
    last: Instant,
    calls: usize,
    streams: usize,
}

/// The kind of a request of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionRequest {
    /// A request with a response.
    Call,
    /// An open stream of notifications.
    Stream,
}

/// A guard of a request in flight.
#[derive(Debug)]
pub(super) struct RequestGuard {
    usage: SessionUsage,
    session: SessionId,
    request: SessionRequest,
}

/// A guard of a session that is being opened.
#[derive(Debug)]
pub(super) struct OpeningGuard {
    usage: SessionUsage,
    client: ClientId,
}

impl SessionUsage {
    /// Reserves a session of `client`, and returns the session that must end for it, if any. `owners` are the existing
    /// sessions. Returns `None` if the limit is reached and no session is idle.
    pub(super) fn open(
        &self,
        client: &ClientId,
        owners: &HashMap<SessionId, ClientId>,
    ) -> Option<(OpeningGuard, Option<SessionId>)> {
        let mut state = self.lock();
        let of_client = owners.values().filter(|owner| *owner == client).count();
        let opening = state.opening.get(client).copied().unwrap_or_default();
        let all_opening: usize = state.opening.values().sum();
        let is_full_for_client = of_client + opening >= MAX_SESSIONS_PER_CLIENT;
        // A client at its own limit loses one of its own sessions, never one of another client.
        let idle = if is_full_for_client {
            Some(state.idle(owners.iter().filter(|(_, owner)| *owner == client))?)
        } else if owners.len() + all_opening >= MAX_SESSIONS {
            Some(state.idle(owners.iter())?)
        } else {
            None
        };
        *state.opening.entry(client.clone()).or_default() += 1;
        drop(state);
        let opening = OpeningGuard {
            usage: self.clone(),
            client: client.clone(),
        };
        Some((opening, idle))
    }

    /// Marks a session as used by a request.
    pub(super) fn begin(&self, session: SessionId, request: SessionRequest) -> RequestGuard {
        self.lock().change(&session, request, |count| count + 1);
        RequestGuard {
            usage: self.clone(),
            session,
            request,
        }
    }

    /// Removes a session that has ended.
    pub(super) fn forget(&self, session: &SessionId) {
        self.lock().sessions.remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, UsageState> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UsageState {
    /// Returns the session that was idle longest, preferring sessions without an open stream.
    fn idle<'a>(
        &self,
        sessions: impl Iterator<Item = (&'a SessionId, &'a ClientId)>,
    ) -> Option<SessionId> {
        let used = sessions.map(|(session, _)| (session, self.sessions.get(session)));
        // A session with a request in flight never ends.
        let idle = used.filter(|(_, used)| used.is_none_or(|used| used.calls == 0));
        let oldest = idle.min_by_key(|(_, used)| used.map(|used| (used.streams > 0, used.last)));
        oldest.map(|(session, _)| session.clone())
    }

    fn change(
        &mut self,
        session: &SessionId,
        request: SessionRequest,
        change: impl Fn(usize) -> usize,
    ) {
        let used = self.sessions.entry(session.clone()).or_insert(SessionUse {
            last: Instant::now(),
            calls: 0,
            streams: 0,
        });
        used.last = Instant::now();
        let count = match request {
            SessionRequest::Call => &mut used.calls,
            SessionRequest::Stream => &mut used.streams,
        };
        *count = change(*count);
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = self.usage.lock();
        // The session may have ended meanwhile.
        if state.sessions.contains_key(&self.session) {
            state.change(&self.session, self.request, |count| count.saturating_sub(1));
        }
    }
}

impl Drop for OpeningGuard {
    fn drop(&mut self) {
        let mut state = self.usage.lock();
        if let Some(count) = state.opening.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                state.opening.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{MAX_SESSIONS, MAX_SESSIONS_PER_CLIENT, SessionRequest, SessionUsage};
    use crate::gateway::client::ClientId;

    #[test]
    fn the_longest_idle_session_ends() {
        let (usage, ada) = (SessionUsage::default(), ClientId::new("ada"));
        let mut owners = HashMap::new();
        let name = |number: usize| format!("{number}").into();
        for number in 0..MAX_SESSIONS_PER_CLIENT {
            let (opening, idle) = usage.open(&ada, &owners).expect("there is room");
            assert!(idle.is_none(), "{number}");
            drop(opening);
            owners.insert(name(number), ada.clone());
            drop(usage.begin(name(number), SessionRequest::Call));
        }
        let call = usage.begin(name(0), SessionRequest::Call);
        let _stream = usage.begin(name(1), SessionRequest::Stream);
        let idle = |client: &ClientId| usage.open(client, &owners).and_then(|(_, idle)| idle);
        assert_eq!(idle(&ada), Some(name(2)));
        drop(usage.begin(name(2), SessionRequest::Call));
        assert_eq!(idle(&ada), Some(name(3)));
        drop(call);
        assert_eq!(idle(&ClientId::new("bob")), None);
        let mut calls = Vec::new();
        for number in 0..MAX_SESSIONS_PER_CLIENT {
            calls.push(usage.begin(name(number), SessionRequest::Call));
        }
        assert!(usage.open(&ada, &owners).is_none());
        drop(calls);
        // Sessions that are being opened count as well.
        let client = |number: usize| ClientId::new(format!("client {number}"));
        let all: Vec<_> = (0..MAX_SESSIONS - MAX_SESSIONS_PER_CLIENT)
            .map(|number| usage.open(&client(number), &owners).unwrap().0)
            .collect();
        assert!(idle(&client(0)).is_some());
        drop(all);
        assert_eq!(idle(&client(0)), None);
    }
}
