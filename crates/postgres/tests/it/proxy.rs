//! A proxy in front of a server, which loses or delays what a test says.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The message that commits entries: its kind, its length, and its text.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
/// The answer to it.
const COMMITTED: &[u8] = b"COMMIT\0";
/// The text of a call that is a transaction of its own, behind the name of its prepared statement.
const CALL: &[u8] = b"\0SELECT pg_temp.planwright_append_";
/// The answer to such a call.
const CALLED: &[u8] = b"SELECT 1\0";

/// The fate of a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The server commits, but its client loses the connection before it learns of that.
    Unanswered,
    /// The client loses the connection, and the server gets the message later.
    Late,
    /// The server gets no message, and the client no answer, as if the client had stopped.
    Stopped,
}

#[derive(Default)]
struct State {
    /// The number of commits before the one with a fate of its own.
    commits: usize,
    fate: Option<Fate>,
    /// True once the fate has befallen a commit.
    is_over: bool,
    refuses: bool,
    /// True once late messages are passed on.
    passes_late: bool,
}

#[derive(Default)]
struct Shared(Mutex<State>, Condvar);

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.1.notify_all();
    }

    fn wait_until(&self, is_met: impl Fn(&State) -> bool) {
        let state = self.state();
        drop(
            self.1
                .wait_while(state, |state| !is_met(state))
                .unwrap_or_else(PoisonError::into_inner),
        );
    }
}

/// A proxy on a port of its own.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    url: String,
}

impl Proxy {
    /// Starts a proxy to the server of `url`.
    pub(crate) fn start(url: &str) -> Self {
        let (user, rest) = url.split_once('@').unwrap();
        let (server, database) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let (accepting, server) = (Arc::clone(&shared), server.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if !accepting.state().refuses {
                    connect(&accepting, client, &server);
                }
            }
        });
        Self {
            shared,
            url: format!("{user}@{own}/{database}"),
        }
    }

    /// Returns the address of the database through the proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Lets the commit after `commits` others have this fate.
    pub(crate) fn doom(&self, commits: usize, fate: Fate) {
        self.shared.change(|state| {
            state.commits = commits;
            state.fate = Some(fate);
        });
    }

    /// Waits until the fate has befallen its commit.
    pub(crate) fn wait(&self) {
        self.shared.wait_until(|state| state.is_over);
    }

    /// Accepts further connections again: while a commit is lost, they are refused.
    pub(crate) fn accept(&self) {
        self.shared.change(|state| state.refuses = false);
    }

    /// Passes late messages on.
    pub(crate) fn pass_late(&self) {
        self.shared.change(|state| state.passes_late = true);
    }
}

fn connect(shared: &Arc<Shared>, client: TcpStream, server: &str) {
    let Ok(server) = TcpStream::connect(server) else {
        return;
    };
    let is_unanswered = Arc::<Mutex<bool>>::default();
    let (mut from_client, mut to_client) = (client.try_clone().unwrap(), client);
    let (mut from_server, mut to_server) = (server.try_clone().unwrap(), server);
    let (requests, loses) = (Arc::clone(shared), Arc::clone(&is_unanswered));
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        let mut calls = Vec::new();
        while let Ok(length @ 1..) = from_client.read(&mut buffer) {
            let mut message = buffer.get(..length).unwrap_or_default();
            calls.extend(prepared_call(message));
            let is_call = calls.iter().any(|name| is_call(message, name));
            let fate = fate(&requests, is_call || contains(message, COMMIT));
            if fate.is_some()
                && let Some(commit) = position(message, COMMIT)
            {
                // The server gets the statements of the transaction, which come with the commit, in any case.
                let (statements, rest) = message.split_at(commit);
                message = rest;
                if to_server.write_all(statements).is_err() {
                    break;
                }
            }
            match fate {
                Some(Fate::Unanswered) => *loses.lock().unwrap() = true,
                Some(Fate::Late) => {
                    let _ = from_client.shutdown(Shutdown::Both);
                    requests.change(|state| state.is_over = true);
                    requests.wait_until(|state| state.passes_late);
                }
                Some(Fate::Stopped) => {
                    requests.change(|state| state.is_over = true);
                    continue;
                }
                None => {}
            }
            if to_server.write_all(message).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let answers = Arc::clone(shared);
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_server.read(&mut buffer) {
            let message = buffer.get(..length).unwrap_or_default();
            let is_answer = contains(message, COMMITTED) || contains(message, CALLED);
            if is_answer && *is_unanswered.lock().unwrap() {
                answers.change(|state| {
                    state.is_over = true;
                    state.refuses = true;
                });
                break;
            }
            if to_client.write_all(message).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
}

/// Returns the fate of a message, which befalls it from now on.
fn fate(shared: &Shared, is_commit: bool) -> Option<Fate> {
    let mut state = shared.state();
    if state.fate.is_none() || !is_commit {
        return None;
    }
    if 0 < state.commits {
        state.commits -= 1;
        return None;
    }
    state.fate.take()
}

/// Returns the name of the statement that `message` prepares, if it is a call that is a transaction: it comes behind the kind and the length.
fn prepared_call(message: &[u8]) -> Option<Vec<u8>> {
    let end = position(message, CALL)?;
    assert_eq!(message.first(), Some(&b'P'));
    message.get(5..end).map(<[u8]>::to_vec)
}

/// Returns true if `message` executes the statement `name`: its kind, its length, the portal without a name, and the statement.
fn is_call(message: &[u8], name: &[u8]) -> bool {
    let statement = message.get(6..).and_then(|rest| rest.strip_prefix(name));
    message.first() == Some(&b'B') && statement.is_some_and(|rest| rest.first() == Some(&0))
}

fn contains(message: &[u8], part: &[u8]) -> bool {
    position(message, part).is_some()
}

fn position(message: &[u8], part: &[u8]) -> Option<usize> {
    message
        .windows(part.len())
        .position(|window| window == part)
}
