//! Sessions, and the requests that are refused.

use planwright_testkit::http_wire::HttpRequest;
use serde_json::json;

use crate::world::{Session, World, answered};

#[test]
fn the_document_allows_its_own_parts_alone() {
    let world = World::new();
    let response = HttpRequest::get(&format!("{}/", world.origin())).send();
    assert_eq!(response.status(), 200);
    let policy = response.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"));
    assert!(!policy.contains("unsafe"));
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(response.header("x-frame-options"), Some("DENY"));
    assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
}

#[test]
fn a_cookie_is_for_this_page_alone() {
    let world = World::new();
    let response = world
        .request("session", &json!({"token": world.token}))
        .header("origin", &world.origin())
        .send();
    let cookie = response.header("set-cookie").unwrap();
    assert!(
        cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"),
        "{cookie}"
    );
    let name = format!("planwright-{}=", world.address.port());
    assert!(cookie.starts_with(&name), "{cookie}");
}

#[test]
fn the_cookie_of_an_encrypted_page_is_never_sent_in_the_clear() {
    let world = World::new();
    let response = world
        .request("session", &json!({"token": world.token}))
        .header("origin", &format!("https://{}", world.address))
        .send();
    let cookie = response.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/; Secure"), "{cookie}");
}

#[test]
fn without_a_session_nothing_is_shown() {
    let world = World::new();
    for path in [
        "config", "runs", "inbox", "events", "tools", "plans", "runs/x",
    ] {
        let (status, body) = answered(world.read(path).send());
        assert_eq!(status, 401, "{path}");
        assert_eq!(body["error"]["message"], "the session has ended");
        let other = Session {
            cookie: "planwright-1=x".to_owned(),
            ..world.session().clone()
        };
        assert_eq!(world.get_as(&other, path).0, 401, "{path}");
    }
    let two = Session {
        cookie: format!("{0}; {0}", world.session().cookie),
        ..world.session().clone()
    };
    assert_eq!(world.get_as(&two, "runs").0, 401);
    let decision = world
        .request(
            "decisions",
            &json!({"run": "x", "decisions": [], "decision": "approve"}),
        )
        .header("origin", &world.origin());
    assert_eq!(answered(decision.send()).0, 401);
}

#[test]
fn a_cookie_that_another_server_got_is_worthless() {
    let world = World::new();
    let other = world.log_in(&world.token);
    let cookie = &world.session().cookie;
    for path in ["config", "runs", "inbox", "events"] {
        let bare = world.read(path).header("cookie", cookie);
        assert_eq!(bare.send().status(), 401, "{path}");
        // The key of another session does not count either.
        for key in ["", &other.key, cookie] {
            let guess = Session {
                cookie: cookie.clone(),
                key: key.to_owned(),
            };
            assert_eq!(world.get_as(&guess, path).0, 401, "{path}");
        }
    }
    let decision = json!({"run": "x", "decisions": [], "decision": "approve"});
    let write = world
        .request("decisions", &decision)
        .header("origin", &world.origin())
        .header("cookie", cookie);
    assert_eq!(write.send().status(), 401);
    assert_eq!(world.get("runs").0, 200);
    assert_eq!(world.get_as(&other, "runs").0, 200);
}

#[test]
fn to_sign_out_ends_the_session_on_the_server() {
    let world = World::new();
    let other = world.log_in(&world.token);
    let mut stream = other.sign(world.read("events")).send();
    assert!(stream.message().is_some());
    let end = world
        .request("session/end", &json!({}))
        .header("origin", &world.origin());
    let response = other.sign(end).send();
    assert_eq!(response.status(), 204);
    let cookie = response.header("set-cookie").unwrap();
    assert!(
        cookie.ends_with("=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"),
        "{cookie}"
    );
    assert_eq!(world.get_as(&other, "runs").0, 401);
    // An open stream ends before it shows anything more, and other sessions go on.
    world.run(crate::world::PAY, "r1", None);
    assert_eq!(stream.message(), None);
    assert_eq!(world.get("runs").0, 200);
}

#[test]
fn a_wrong_token_opens_nothing() {
    let world = World::new();
    let refused = |token: &str| {
        let request = world
            .request("session", &json!({"token": token}))
            .header("origin", &world.origin());
        answered(request.send()).0
    };
    assert_eq!(refused(""), 401);
    for _ in 0..20 {
        refused("wrong");
    }
    assert_eq!(refused("wrong"), 429);
    // The owner is not locked out.
    world.log_in(&world.token);
}

#[test]
fn other_pages_are_refused() {
    let world = World::new();
    let port = world.address.port();
    for origin in [
        "http://evil.example.com".to_owned(),
        "null".to_owned(),
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{}", port ^ 1),
        format!("http://127.0.0.1:{port}.evil.example.com"),
    ] {
        let write = world
            .request("session", &json!({"token": world.token}))
            .header("origin", &origin);
        assert_eq!(write.send().status(), 403, "{origin}");
        let read = world
            .session()
            .sign(world.read("runs"))
            .header("origin", &origin);
        assert_eq!(read.send().status(), 403, "{origin}");
    }
    // A write without an origin is not a browser's.
    let write = world.session().sign(world.request("decisions", &json!({})));
    assert_eq!(write.send().status(), 403);
    let read = world
        .session()
        .sign(world.read("runs"))
        .header("sec-fetch-site", "cross-site");
    assert_eq!(read.send().status(), 403);
    let form = world
        .session()
        .sign(world.request("decisions", &json!({})))
        .header("origin", &world.origin())
        .header("content-type", "text/plain");
    assert_eq!(form.send().status(), 415);
}

#[test]
fn other_host_names_are_refused() {
    let world = World::new();
    let port = world.address.port();
    for host in [
        "evil.example.com".to_owned(),
        format!("evil.example.com:{port}"),
        "127.0.0.1".to_owned(),
        format!("localhost:{port}.evil.example.com"),
    ] {
        let read = world.session().sign(world.read("runs"));
        assert_eq!(read.header("host", &host).send().status(), 421, "{host}");
    }
    let here = format!("localhost:{port}");
    let read = world.session().sign(world.read("runs"));
    assert_eq!(read.header("host", &here).send().status(), 200);
}

#[test]
fn a_large_body_is_refused() {
    let world = World::new();
    let text = "x".repeat(5 * 1024 * 1024);
    let (status, answer) = world.post("plan/check", &json!({"text": text}));
    assert_eq!(status, 413);
    let message = "the request has more bytes than this part of the interface takes";
    assert_eq!(answer["error"]["message"], message);
}
