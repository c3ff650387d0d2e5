//! The claims of an access token: its client, its groups and its scopes.

use std::sync::Arc;

use planwright::config::{AuthenticatedClient, ClientName, OAuth};
use serde_json::{Map, Value};

/// The claims of a token.
pub(super) type Claims = Map<String, Value>;

/// The longest name of a client or a group, in bytes.
const MAX_NAME_BYTES: usize = 512;

/// The largest number of groups of a client.
const MAX_GROUPS: usize = 1000;

/// Returns the client that claims name, with its groups.
///
/// # Errors
///
/// The reason why the claims name no client.
pub fn claimed_identity(
    claims: &Map<String, Value>,
    oauth: &OAuth,
) -> Result<AuthenticatedClient, &'static str> {
    let subject = find(claims, &oauth.subject_claim).and_then(Value::as_str);
    let subject = subject
        .filter(|name| is_name(name))
        .ok_or("it names no client")?;
    // A client with too many groups gets them elsewhere, so that the rules for them would not apply.
    let is_moved = claims
        .get("_claim_names")
        .is_some_and(|names| names.get(&*oauth.groups_claim).is_some());
    // Entra ID states only that there are groups if they would not fit.
    let is_left_out = claims.get("hasgroups").and_then(Value::as_bool) == Some(true)
        && find(claims, &oauth.groups_claim).is_none();
    if is_moved || is_left_out {
        return Err("its groups are elsewhere");
    }
    let groups: Vec<Arc<str>> = match find(claims, &oauth.groups_claim) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(group)) => vec![group.as_str().into()],
        Some(Value::Array(groups)) => groups
            .iter()
            .map(|group| Some(Arc::from(group.as_str()?)))
            .collect::<Option<_>>()
            .ok_or("its groups are no texts")?,
        Some(_) => return Err("its groups are no texts"),
    };
    if groups.len() > MAX_GROUPS || !groups.iter().all(|group| is_name(group)) {
        return Err("its groups have no names, or there are too many");
    }
    Ok(AuthenticatedClient {
        name: ClientName::Subject(subject.into()),
        groups: groups.into(),
    })
}

/// Returns true if a token has all of `scopes`.
pub(super) fn has_scopes(claims: &Claims, scopes: &[Arc<str>]) -> bool {
    // Some issuers write `scp`, and some a list.
    let stated = claims.get("scope").or_else(|| claims.get("scp"));
    let stated: Vec<&str> = match stated {
        Some(Value::String(text)) => text.split(' ').collect(),
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    scopes.iter().all(|scope| stated.contains(&&**scope))
}

/// Returns the claim with this name, or else at this path.
fn find<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let mut parts = name.split('.');
    let first = claims.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// Returns true if a text can be shown and stored as a name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.contains(char::is_control)
}
