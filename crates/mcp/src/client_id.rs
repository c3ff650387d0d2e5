//! Who is at the other end of a request to our own server.

use std::fmt;
use std::sync::Arc;

/// A client of our server, as whoever let the request in knows it. What is kept for one is never shown to another.
///
/// Over HTTP it lies in the extensions of the request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(Arc<str>);

impl ClientId {
    /// Whoever is on this machine, where nothing tells one from the other.
    pub fn local() -> Self {
        Self(Arc::from("local"))
    }

    /// The client with a token of that name.
    pub fn of_token(name: &str) -> Self {
        Self(format!("token:{name}").into())
    }

    /// A client that an authorisation server vouches for: the subject of its token, and the program that it was given to.
    pub fn of_subject(issuer: &str, subject: &str, program: Option<&str>) -> Self {
        // Each part says its length, so that no other three parts come to the same text.
        let program = program.unwrap_or_default();
        let (issuer_length, subject_length) = (issuer.len(), subject.len());
        Self(format!("oauth:{issuer_length}:{issuer}:{subject_length}:{subject}:{program}").into())
    }

    /// The id as text: no two clients have the same.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_clients_have_the_same_id() {
        let ids = [
            ClientId::local(),
            ClientId::of_token("local"),
            ClientId::of_token("1:a"),
            ClientId::of_subject("a", "b", None),
            ClientId::of_subject("a", "b:c", None),
            ClientId::of_subject("a:1", "b", Some("c")),
            ClientId::of_subject("a", "b", Some("c")),
        ];
        let texts: std::collections::BTreeSet<&str> = ids.iter().map(ClientId::as_str).collect();
        assert_eq!(texts.len(), ids.len());
    }
}
