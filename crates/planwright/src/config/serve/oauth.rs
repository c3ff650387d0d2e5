//! `[serve.oauth]`: the issuer whose access tokens clients present, and the checks of these tokens.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use serde::Deserialize;
use toml::Spanned;

use crate::config::setting::{ConfigText, List, shown_time};
use crate::config::value_syntax::{HttpUrl, Time};

/// The OAuth 2.1 issuer whose access tokens are accepted, beside the tokens of `planwright token`. Only in your own file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "oauth"))]
pub(in crate::config) struct OAuthTable {
    /// The issuer, exactly as its discovery document has it, such as `https://id.example.com/realms/work`.
    #[cfg_attr(test, schemars(with = "String"))]
    issuer: Option<Spanned<HttpUrl>>,
    /// The address of this gateway as its clients know it, such as `https://plans.example.com/mcp`.
    #[cfg_attr(test, schemars(with = "String"))]
    resource: Option<Spanned<HttpUrl>>,
    /// The audiences that are accepted, one of them in each token; without it, `resource`.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    audiences: Vec<Spanned<String>>,
    /// The scopes that a token must have.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    scopes: Vec<Spanned<String>>,
    /// The algorithms of signatures that are accepted; without it, all of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`,
    /// `ES384` and `EdDSA`.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    algorithms: Option<Spanned<Vec<Spanned<TokenAlgorithm>>>>,
    /// The claim that names the client; without it, `sub`.
    #[cfg_attr(test, schemars(with = "String"))]
    subject_claim: Option<Spanned<String>>,
    /// The claim with the groups of the client, as a name or as a path such as `realm_access.roles`; without it, `groups`.
    #[cfg_attr(test, schemars(with = "String"))]
    groups_claim: Option<Spanned<String>>,
    /// The time for which the last keys of an issuer that cannot be reached are used, such as `1h`, which it is without this.
    #[cfg_attr(test, schemars(with = "String"))]
    keys_for: Option<Spanned<Time>>,
}

/// The issuer of access tokens, and the checks of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OAuth {
    /// The issuer.
    pub issuer: Arc<str>,
    /// The address of the gateway.
    pub resource: Arc<str>,
    /// The accepted audiences. A token must have one of them.
    pub audiences: Vec<Arc<str>>,
    /// The scopes that a token must have.
    pub scopes: Vec<Arc<str>>,
    /// The accepted algorithms, by their names in JSON Web Algorithms.
    pub algorithms: Vec<Arc<str>>,
    /// The claim that names the client.
    pub subject_claim: Arc<str>,
    /// The claim with the groups of the client.
    pub groups_claim: Arc<str>,
    /// The time for which the last keys of an issuer that cannot be reached are used.
    pub keys_for: Duration,
    /// The place of the table.
    set_in: Arc<str>,
}

/// All accepted algorithms. An algorithm with a shared secret would make the public keys of an issuer secrets, and `none` signs nothing.
const ALGORITHMS: [&str; 9] = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA",
];

/// The default of `keys_for`.
const KEYS_FOR: Duration = Duration::from_hours(1);

/// An algorithm of signatures with a public key.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct TokenAlgorithm(Arc<str>);

impl TryFrom<String> for TokenAlgorithm {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if ALGORITHMS.contains(&name.as_str()) {
            return Ok(Self(name.into()));
        }
        let known = ALGORITHMS.join("`, `");
        Err(format!(
            "`{name}` is no accepted algorithm (write some of `{known}`)"
        ))
    }
}

impl OAuth {
    /// Returns the settings of a table without issues.
    pub(super) fn of(table: &Spanned<OAuthTable>, source: &ConfigText) -> Option<Self> {
        let set_in = source.place(table);
        let table = table.get_ref();
        let texts = |list: &[Spanned<String>]| -> Vec<Arc<str>> {
            list.iter()
                .map(|text| text.get_ref().as_str().into())
                .collect()
        };
        let claim = |name: &Option<Spanned<String>>, default: &str| {
            let name = name.as_ref().map(|name| name.get_ref().as_str());
            Arc::from(name.unwrap_or(default))
        };
        let resource = table.resource.as_ref()?.get_ref().0.clone();
        let mut audiences = texts(&table.audiences);
        if audiences.is_empty() {
            audiences.push(Arc::clone(&resource));
        }
        let algorithms = table.algorithms.as_ref().map(Spanned::get_ref);
        Some(Self {
            issuer: table.issuer.as_ref()?.get_ref().0.clone(),
            resource,
            audiences,
            scopes: texts(&table.scopes),
            algorithms: match algorithms {
                Some(list) => list.iter().map(|name| name.get_ref().0.clone()).collect(),
                None => ALGORITHMS.into_iter().map(Arc::from).collect(),
            },
            subject_claim: claim(&table.subject_claim, "sub"),
            groups_claim: claim(&table.groups_claim, "groups"),
            keys_for: table
                .keys_for
                .as_ref()
                .map_or(KEYS_FOR, |time| time.get_ref().0),
            set_in,
        })
    }

    /// Lists the effective settings.
    pub(super) fn list(&self, list: &mut List) {
        let mut push = |word: &str, value: Value| {
            list.push(&format!("serve.oauth.{word}"), value, Some(&self.set_in));
        };
        push("issuer", Value::from(&*self.issuer));
        push("resource", Value::from(&*self.resource));
        for (word, texts) in [("audiences", &self.audiences), ("scopes", &self.scopes)] {
            for text in texts {
                push(word, Value::from(&**text));
            }
        }
        for name in &self.algorithms {
            push("algorithms", Value::from(&**name));
        }
        push("subject_claim", Value::from(&*self.subject_claim));
        push("groups_claim", Value::from(&*self.groups_claim));
        push("keys_for", Value::from(shown_time(self.keys_for)));
    }
}

/// Returns the issues of the user's own table, each with its place and a hint.
pub(super) fn issues(table: &Spanned<OAuthTable>) -> Vec<(Range<usize>, String, String)> {
    let mut issues = Vec::new();
    let mut say = |span: Range<usize>, message: String, help: &str| {
        issues.push((span, message, help.to_owned()));
    };
    let whole = table.span();
    let table = table.get_ref();
    for (word, url, help) in [
        (
            "issuer",
            &table.issuer,
            "write the address that its discovery document has as `issuer`",
        ),
        (
            "resource",
            &table.resource,
            "write the address that clients connect to, such as `https://plans.example.com/mcp`",
        ),
    ] {
        let Some(url) = url else {
            say(
                whole.clone(),
                format!("`[serve.oauth]` has no `{word}`"),
                help,
            );
            continue;
        };
        let text = &url.get_ref().0;
        // Every machine on the way could replace the keys.
        if word == "issuer" && !text.starts_with("https://") && !is_on_this_machine(text) {
            say(
                url.span(),
                format!("the issuer `{text}` is not reached by TLS"),
                "write `https://`; `http://` is for an issuer on this machine",
            );
        }
        if text.contains('#') || text.contains('?') {
            say(
                url.span(),
                format!("`{text}` has a query or a fragment"),
                help,
            );
        }
    }
    if let Some(list) = table
        .algorithms
        .as_ref()
        .filter(|list| list.get_ref().is_empty())
    {
        say(
            list.span(),
            "`algorithms` names none, so that no token would be accepted".to_owned(),
            "name some, or leave it out for all",
        );
    }
    for text in table.scopes.iter().chain(&table.audiences) {
        let is_printable = |letter: char| letter.is_ascii_graphic() && !"\"\\".contains(letter);
        if text.get_ref().is_empty() || !text.get_ref().chars().all(is_printable) {
            say(
                text.span(),
                format!(
                    "`{}` cannot be a scope or an audience",
                    text.get_ref().escape_debug()
                ),
                "write it without spaces, quotes and backslashes",
            );
        }
    }
    for claim in [&table.subject_claim, &table.groups_claim]
        .into_iter()
        .flatten()
    {
        if claim.get_ref().is_empty() {
            say(
                claim.span(),
                "a claim has a name".to_owned(),
                "write such as `sub` or `realm_access.roles`",
            );
        }
    }
    issues
}

/// Returns true if a URL leads to this machine.
fn is_on_this_machine(url: &str) -> bool {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    host == "localhost" || host == "::1" || host.starts_with("127.") && host.chars().all(is_number)
}
