//! Access tokens, before a real issuer on this machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use planwright_mcp::gateway::{ClientGroups, ClientId};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

use super::{Server, check, serve, settings};
use crate::access::access_token::{AccessTokens, TokenFault};
use crate::access::tests::{SigningKey, base64, unsigned};
use crate::http::HttpServer;
use crate::tokens::now;

/// An issuer at an address of its own.
struct Issuer {
    name: String,
    state: Arc<Mutex<IssuerState>>,
    running: JoinHandle<()>,
}

#[derive(Default)]
struct IssuerState {
    name: String,
    keys: Vec<Value>,
    is_gone: bool,
    /// The number of times that the keys were read.
    reads: usize,
}

type Shared = Arc<Mutex<IssuerState>>;

fn lock(state: &Shared) -> std::sync::MutexGuard<'_, IssuerState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn metadata(State(state): State<Shared>) -> Response {
    let state = lock(&state);
    if state.is_gone {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let jwks = format!("{}/keys", state.name.trim_end_matches("/realms/team"));
    axum::Json(json!({"issuer": state.name, "jwks_uri": jwks})).into_response()
}

async fn keys(State(state): State<Shared>) -> Response {
    let mut state = lock(&state);
    state.reads += 1;
    if state.is_gone {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let mut keys = vec![
        json!({"kty": "of the future"}),
        json!({"kty": "oct", "k": "c2VjcmV0", "kid": "shared"}),
    ];
    keys.extend(state.keys.iter().cloned());
    axum::Json(json!({"keys": keys})).into_response()
}

impl Issuer {
    /// Starts an issuer whose metadata is at `well_known`.
    async fn start_at(path: &str, well_known: &str, signing: &[&SigningKey]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let name = format!("http://{}{path}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(IssuerState {
            name: name.clone(),
            keys: signing.iter().map(|key| key.public()).collect(),
            ..IssuerState::default()
        }));
        let routes = Router::new()
            .route(well_known, get(metadata))
            .route("/keys", get(keys))
            .with_state(Arc::clone(&state));
        let running = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            name,
            state,
            running,
        }
    }

    async fn start(signing: &[&SigningKey]) -> Self {
        Self::start_at(
            "/realms/team",
            "/realms/team/.well-known/openid-configuration",
            signing,
        )
        .await
    }

    /// `[serve.oauth]`, with further lines.
    fn settings(&self, more: &str) -> String {
        format!(
            "[serve.oauth]\nissuer = '{}'\nresource = 'https://plans.example.com/mcp'\n{more}",
            self.name
        )
    }

    fn tokens(&self, clock: &Arc<AtomicU64>, more: &str) -> AccessTokens {
        let clock = Arc::clone(clock);
        let oauth = serve(&self.settings(more)).oauth.unwrap();
        let read = move || UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::SeqCst));
        AccessTokens::with_clock(&oauth, Arc::new(read)).unwrap()
    }

    /// Claims that are valid at `time`.
    fn claims_at(&self, time: u64) -> Value {
        json!({"iss": self.name, "aud": "https://plans.example.com/mcp", "sub": "ada", "exp": time + 300, "iat": time})
    }

    fn claims(&self) -> Value {
        let since = now().duration_since(UNIX_EPOCH).unwrap();
        self.claims_at(since.as_secs())
    }

    fn client(&self, subject: &str) -> ClientId {
        ClientId::new(format!("oauth:{}#{subject}", self.name))
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.running.abort();
    }
}

fn with(claims: &Value, name: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    claims[name] = value;
    claims
}

fn without(claims: &Value, name: &str) -> Value {
    let mut claims = claims.clone();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}")
}

/// The log, as far as it is about tokens and keys.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Reason(Option<String>);

impl Visit for Reason {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "reason" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut reason = Reason(None);
        event.record(&mut reason);
        self.0.lock().unwrap().extend(reason.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn tokens_of_an_issuer_name_their_clients() {
    let (ed, p256) = (SigningKey::ed25519("a"), SigningKey::p256("b"));
    for (path, well_known) in [
        (
            "/realms/team",
            "/.well-known/oauth-authorization-server/realms/team",
        ),
        (
            "/realms/team",
            "/.well-known/openid-configuration/realms/team",
        ),
        (
            "/realms/team",
            "/realms/team/.well-known/openid-configuration",
        ),
        ("", "/.well-known/oauth-authorization-server"),
        ("", "/.well-known/openid-configuration"),
    ] {
        let issuer = Issuer::start_at(path, well_known, &[&ed, &p256]).await;
        let (server, tokens) = Server::start(&["laptop"], &issuer.settings("")).await;
        for key in [&ed, &p256] {
            let header = bearer(&key.sign(&issuer.claims()));
            let answer = server.post(&[&header], "hi").await;
            check(
                &answer,
                "200 OK",
                &[&format!("{} false hi", issuer.client("ada"))],
            );
        }
        // A token without the id of its key is tried with all.
        let header = json!({"alg": "EdDSA"});
        let anonymous = ed.sign_with(
            &header,
            &with(
                &issuer.claims(),
                "aud",
                json!(["x", "https://plans.example.com/mcp"]),
            ),
        );
        check(
            &server.post(&[&bearer(&anonymous)], "hi").await,
            "200 OK",
            &["#ada"],
        );
        // Tokens of the file are still accepted.
        check(
            &server.post(&[&bearer(&tokens[0])], "hi").await,
            "200 OK",
            &["token:laptop"],
        );
        server.end().await;
    }
}

#[tokio::test]
async fn wrong_tokens_get_one_answer_and_the_log_has_the_reason() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let (key, strange) = (SigningKey::p256("a"), SigningKey::p256("a"));
    let unknown = SigningKey::p256("z");
    let issuer = Issuer::start(&[&key]).await;
    let (server, _) = Server::start(&[], &issuer.settings("")).await;
    let good = issuer.claims();
    let header = json!({"alg": "ES256", "kid": "a"});
    let time = good["iat"].as_u64().unwrap();
    let signed = |claims: Value| key.sign(&claims);
    let headed = |name: &str, value: Value| key.sign_with(&with(&header, name, value), &good);
    let valid = key.sign(&good);
    let (message, signature) = valid.rsplit_once('.').unwrap();
    let root = unsigned(&header, &with(&good, "sub", json!("root")));
    let cases = [
        (
            "it is for another audience",
            signed(with(&good, "aud", json!("https://other.example.com"))),
        ),
        ("it is for another audience", signed(without(&good, "aud"))),
        (
            "it is for another audience",
            signed(with(
                &good,
                "aud",
                json!(["https://plans.example.com/mcp/x"]),
            )),
        ),
        (
            "it is of another issuer",
            signed(with(&good, "iss", json!("https://evil.example.com"))),
        ),
        ("it is of another issuer", signed(without(&good, "iss"))),
        (
            "it is of another issuer",
            signed(with(&good, "iss", json!([issuer.name]))),
        ),
        (
            "it has expired",
            signed(with(&good, "exp", json!(time - 31))),
        ),
        ("it never expires", signed(without(&good, "exp"))),
        (
            "its times are no times",
            signed(with(&good, "exp", json!("soon"))),
        ),
        (
            "it is not valid yet",
            signed(with(&good, "nbf", json!(time + 120))),
        ),
        ("it names no client", signed(without(&good, "sub"))),
        (
            "it names no client",
            signed(with(&good, "sub", json!("a\nb"))),
        ),
        (
            "its groups are no texts",
            signed(with(&good, "groups", json!([1]))),
        ),
        (
            "its groups are elsewhere",
            signed(with(&good, "_claim_names", json!({"groups": "src1"}))),
        ),
        (
            "its groups are elsewhere",
            signed(with(&good, "hasgroups", json!(true))),
        ),
        (
            "it is bound to a key",
            signed(with(&good, "cnf", json!({"jkt": "x"}))),
        ),
        (
            "its signature is not that of the issuer",
            strange.sign(&good),
        ),
        (
            "its signature is not that of the issuer",
            format!("{root}.{signature}"),
        ),
        (
            "its signature is not that of the issuer",
            format!("{message}."),
        ),
        (
            "its signature is not that of the issuer",
            strange.sign_with(&with(&header, "jwk", strange.public()), &good),
        ),
        ("the issuer has no such key", unknown.sign(&good)),
        (
            "the issuer has no such key",
            strange.sign_with(&with(&header, "kid", json!("shared")), &good),
        ),
        (
            "it is no JSON Web Token, or its algorithm is unknown or `none`",
            format!("{}.", unsigned(&json!({"alg": "none"}), &good)),
        ),
        (
            "it is no JSON Web Token, or its algorithm is unknown or `none`",
            "a.b.c".to_owned(),
        ),
        (
            "its algorithm is not accepted",
            format!(
                "{}.{}",
                unsigned(&json!({"alg": "HS256", "kid": "shared"}), &good),
                base64(&[1; 32])
            ),
        ),
        (
            "its type is not that of an access token",
            headed("typ", json!("logout+jwt")),
        ),
        (
            "its type is not that of an access token",
            signed(with(&good, "typ", json!("ID"))),
        ),
        (
            "its type is not that of an access token",
            signed(with(&good, "at_hash", json!("x"))),
        ),
        ("it has critical extensions", headed("crit", json!(["exp"]))),
    ];
    check(
        &server.post(&[&bearer(&valid)], "hi").await,
        "200 OK",
        &["#ada"],
    );
    let mut answers = Vec::new();
    for (reason, token) in cases {
        let answer = server.post(&[&bearer(&token)], "hi").await;
        let logged = log.0.lock().unwrap().pop();
        assert_eq!(logged.as_deref(), Some(reason), "{token}");
        let lines = answer.lines().filter(|line| !line.starts_with("date:"));
        answers.push(lines.collect::<Vec<_>>().join("\n"));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    check(
        &answers[0],
        "401 Unauthorized",
        &[
            "www-authenticate: Bearer error=\"invalid_token\", \
             resource_metadata=\"https://plans.example.com/.well-known/oauth-protected-resource/mcp\"",
            "the token is not valid",
        ],
    );
    // Within the tolerance of clocks.
    for (name, value) in [("exp", time - 20), ("nbf", time + 20)] {
        let token = signed(with(&good, name, json!(value)));
        check(
            &server.post(&[&bearer(&token)], "hi").await,
            "200 OK",
            &["#ada"],
        );
    }
    server.end().await;
}

#[tokio::test]
async fn an_accepted_algorithm_is_a_listed_one() {
    let (ed, p256) = (SigningKey::ed25519("a"), SigningKey::p256("b"));
    let issuer = Issuer::start(&[&ed, &p256]).await;
    let clock = Arc::new(AtomicU64::new(1_000_000));
    let tokens = issuer.tokens(&clock, "algorithms = ['ES256']");
    let claims = issuer.claims_at(1_000_000);
    let refused = tokens.client(&ed.sign(&claims)).await;
    assert_eq!(
        refused,
        Err(TokenFault::Invalid("its algorithm is not accepted"))
    );
    tokens.client(&p256.sign(&claims)).await.unwrap();
}

#[tokio::test]
async fn keys_are_exchanged_while_it_runs() {
    let (old, new) = (SigningKey::p256("old"), SigningKey::ed25519("new"));
    let issuer = Issuer::start(&[&old]).await;
    let clock = Arc::new(AtomicU64::new(1_000_000));
    let tokens = issuer.tokens(&clock, "");
    let by =
        |key: &SigningKey| key.sign(&with(&issuer.claims_at(1_000_000), "exp", json!(2_000_000)));
    let (by_old, by_new) = (by(&old), by(&new));
    let unknown = Err(TokenFault::Invalid("the issuer has no such key"));
    tokens.client(&by_old).await.unwrap();
    lock(&issuer.state).keys = vec![old.public(), new.public()];
    // Invented keys do not flood the issuer.
    for _ in 0..20 {
        assert_eq!(tokens.client(&by_new).await, unknown);
    }
    assert_eq!(lock(&issuer.state).reads, 1);
    clock.fetch_add(10, Ordering::SeqCst);
    tokens.client(&by_new).await.unwrap();
    tokens.client(&by_old).await.unwrap();
    assert_eq!(lock(&issuer.state).reads, 2);
    // A key that the issuer withdraws is refused as soon as the keys are no longer fresh.
    lock(&issuer.state).keys = vec![new.public()];
    clock.fetch_add(299, Ordering::SeqCst);
    tokens.client(&by_old).await.unwrap();
    clock.fetch_add(1, Ordering::SeqCst);
    assert_eq!(tokens.client(&by_old).await, unknown);
    tokens.client(&by_new).await.unwrap();
    assert_eq!(lock(&issuer.state).reads, 3);
}

#[tokio::test]
async fn an_issuer_that_is_gone_is_trusted_for_a_while() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let key = SigningKey::p256("a");
    let issuer = Issuer::start(&[&key]).await;
    let clock = Arc::new(AtomicU64::new(1_000_000));
    let tokens = issuer.tokens(&clock, "keys_for = '20m'");
    let token = key.sign(&with(&issuer.claims_at(1_000_000), "exp", json!(2_000_000)));
    tokens.client(&token).await.unwrap();
    lock(&issuer.state).is_gone = true;
    for _ in 0..4 {
        clock.fetch_add(300, Ordering::SeqCst);
        tokens.client(&token).await.unwrap();
    }
    let failures = log.0.lock().unwrap().len();
    assert_eq!(failures, 4, "each attempt is logged");
    clock.fetch_add(1, Ordering::SeqCst);
    let unavailable = Err(TokenFault::Invalid(
        "the keys of the issuer are not available",
    ));
    assert_eq!(tokens.client(&token).await, unavailable);
    assert_eq!(tokens.client(&token).await, unavailable);
    lock(&issuer.state).is_gone = false;
    clock.fetch_add(10, Ordering::SeqCst);
    tokens.client(&token).await.unwrap();
}

#[tokio::test]
async fn an_issuer_that_was_never_there_has_no_clients() {
    let key = SigningKey::p256("a");
    let issuer = Issuer::start(&[&key]).await;
    lock(&issuer.state).is_gone = true;
    let (server, _) = Server::start(&[], &issuer.settings("")).await;
    let header = bearer(&key.sign(&issuer.claims()));
    let answer = server.post(&[&header], "hi").await;
    check(
        &answer,
        "401 Unauthorized",
        &["the token is not valid", "error=\"invalid_token\""],
    );
    server.end().await;
}

#[tokio::test]
async fn metadata_of_another_issuer_is_not_used() {
    let key = SigningKey::p256("a");
    let issuer = Issuer::start(&[&key]).await;
    let clock = Arc::new(AtomicU64::new(1_000_000));
    let tokens = issuer.tokens(&clock, "");
    let token = key.sign(&issuer.claims_at(1_000_000));
    lock(&issuer.state).name = "http://127.0.0.1:1/realms/team".to_owned();
    let unavailable = Err(TokenFault::Invalid(
        "the keys of the issuer are not available",
    ));
    assert_eq!(tokens.client(&token).await, unavailable);
}

#[tokio::test]
async fn clients_without_a_token_find_the_issuer() {
    let key = SigningKey::p256("a");
    let issuer = Issuer::start(&[&key]).await;
    let (server, _) = Server::start(
        &[],
        &issuer.settings("scopes = ['plans:read', 'plans:run']"),
    )
    .await;
    let challenge = "resource_metadata=\"https://plans.example.com/.well-known/oauth-protected-resource/mcp\", scope=\"plans:read plans:run\"";
    let answer = server.post(&[], "hi").await;
    check(
        &answer,
        "401 Unauthorized",
        &[
            &format!("www-authenticate: Bearer {challenge}\r\n"),
            "a token is needed",
        ],
    );
    for path in [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
    ] {
        let answer = server.get(path, &[]).await;
        check(&answer, "200 OK", &["content-type: application/json"]);
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(
            body,
            json!({
                "resource": "https://plans.example.com/mcp",
                "authorization_servers": [issuer.name],
                "bearer_methods_supported": ["header"],
                "resource_name": "Planwright",
                "scopes_supported": ["plans:read", "plans:run"],
            })
        );
    }
    // A token with too few scopes is valid, so its client learns which ones it needs.
    for scope in [
        json!("plans:read"),
        json!(["plans:run"]),
        json!("plans:read-plans:run"),
        Value::Null,
    ] {
        let token = key.sign(&with(&issuer.claims(), "scope", scope));
        let answer = server.post(&[&bearer(&token)], "hi").await;
        check(
            &answer,
            "403 Forbidden",
            &[&format!(
                "www-authenticate: Bearer error=\"insufficient_scope\", {challenge}\r\n"
            )],
        );
    }
    for (name, scope) in [
        ("scope", json!("x plans:run plans:read")),
        ("scp", json!(["plans:read", "plans:run"])),
    ] {
        let token = key.sign(&with(&issuer.claims(), name, scope));
        check(
            &server.post(&[&bearer(&token)], "hi").await,
            "200 OK",
            &["#ada"],
        );
    }
    server.end().await;
}

#[tokio::test]
async fn groups_are_those_of_the_token() {
    let key = SigningKey::p256("a");
    let issuer = Issuer::start(&[&key]).await;
    let clock = Arc::new(AtomicU64::new(1_000_000));
    let claims = issuer.claims_at(1_000_000);
    let client = issuer.client("ada");
    for (more, claim, groups) in [
        ("", with(&claims, "groups", json!(["a", "b"])), "a b"),
        ("", with(&claims, "groups", json!("a")), "a"),
        ("", claims.clone(), ""),
        (
            "groups_claim = 'realm_access.roles'",
            with(&claims, "realm_access", json!({"roles": ["r"]})),
            "r",
        ),
        (
            "groups_claim = 'https://example.com/groups'",
            with(&claims, "https://example.com/groups", json!(["g"])),
            "g",
        ),
    ] {
        let tokens = issuer.tokens(&clock, more);
        let (found, stated) = tokens.client(&key.sign(&claim)).await.unwrap();
        assert_eq!(
            (found, stated.join(" ")),
            (client.clone(), groups.to_owned())
        );
        assert_eq!(tokens.groups(&client).unwrap().join(" "), groups);
    }
    let tokens = issuer.tokens(&clock, "subject_claim = 'azp'");
    let token = key.sign(&with(&claims, "azp", json!("agent")));
    assert_eq!(
        tokens.client(&token).await.unwrap().0,
        issuer.client("agent")
    );
    // Work is resumed only for clients with a valid token.
    assert_eq!(tokens.groups(&client), None);
    clock.fetch_add(330, Ordering::SeqCst);
    assert_eq!(tokens.groups(&issuer.client("agent")), None);
}

#[tokio::test]
async fn an_issuer_is_enough_to_serve_other_machines() {
    let key = SigningKey::p256("a");
    let issuer = Issuer::start(&[&key]).await;
    let folder = tempfile::tempdir().unwrap();
    let server = HttpServer::bind(settings(folder.path(), "0.0.0.0:0", &issuer.settings("")))
        .await
        .unwrap();
    let clients = server.clients().unwrap();
    assert_eq!(clients.groups(&ClientId::local()), None::<ClientGroups>);
}
