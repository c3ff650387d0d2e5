//! Names of clients: between those that rules select and those that own runs.

use planwright::config::{AuthenticatedClient, ClientName};
use planwright_mcp::gateway::{ClientId, GatewayClient};

/// Returns the client with a token of that name.
pub(crate) fn client_of_token(name: &str) -> ClientId {
    ClientId::new(format!("token:{name}"))
}

/// Returns the client that is a subject of an issuer. An issuer has no `#`, so two subjects of two issuers are never the same client.
pub(crate) fn client_of_subject(issuer: &str, subject: &str) -> ClientId {
    ClientId::new(format!("oauth:{issuer}#{subject}"))
}

/// Returns the name that rules select a client by; `None` for the local user.
pub(crate) fn name_of(client: &ClientId) -> Option<ClientName> {
    let text = client.as_str();
    if let Some(name) = text.strip_prefix("token:") {
        return Some(ClientName::Token(name.into()));
    }
    let (_, subject) = text.strip_prefix("oauth:")?.split_once('#')?;
    Some(ClientName::Subject(subject.into()))
}

/// Returns the identity that rules select a client by; `None` for the local user.
pub(crate) fn identity_of(client: &GatewayClient) -> Option<AuthenticatedClient> {
    Some(AuthenticatedClient {
        name: name_of(&client.id)?,
        groups: client.groups.clone(),
    })
}
