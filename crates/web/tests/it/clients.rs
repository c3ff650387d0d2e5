//! A page for the clients of a gateway: each sees its own runs only.

use std::sync::{Arc, Mutex};

use planwright::stored::Passphrase;
use planwright_web::{Access, PageClients};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::world::{PAY, Session, World};

/// Clients whose token is `secret of NAME`.
#[derive(Clone)]
struct Clients(Arc<Mutex<Vec<&'static str>>>);

impl Clients {
    fn new(names: &[&'static str]) -> Self {
        Self(Arc::new(Mutex::new(names.to_vec())))
    }

    /// A page for them, where the first one has a session.
    fn world(&self) -> World {
        let first = format!("secret of {}", self.0.lock().unwrap()[0]);
        World::with_access(Access::Clients(Arc::new(self.clone())), &first)
    }

    fn revoke(&self, name: &str) {
        self.0.lock().unwrap().retain(|known| *known != name);
    }
}

impl PageClients for Clients {
    fn client(&self, token: &[u8; 32]) -> Option<Arc<str>> {
        let known = self.0.lock().unwrap();
        let mut found = known
            .iter()
            .filter(|name| Sha256::digest(format!("secret of {name}"))[..] == token[..]);
        found.next().map(|name| format!("token:{name}").into())
    }
}

#[test]
fn a_run_of_another_client_does_not_exist() {
    let world = Clients::new(&["ada", "bob"]).world();
    world.run(PAY, "own", Some("token:ada"));
    world.run(PAY, "other", Some("token:bob"));
    world.run(PAY, "none", None);
    let ids = |value: &serde_json::Value, name: &str, id: &str| -> Vec<String> {
        let rows = value[name].as_array().unwrap().iter();
        rows.map(|row| row[id].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&world.get("runs").1, "runs", "id"), ["own"]);
    assert_eq!(ids(&world.get("inbox").1, "questions", "run"), ["own"]);
    assert_eq!(world.get("runs/own").0, 200);
    let (_, missing) = world.get("runs/missing");
    for id in ["other", "none"] {
        for part in ["", "/graph", "/timeline", "/report", "/steps/pay"] {
            let (status, body) = world.get(&format!("runs/{id}{part}"));
            assert_eq!(status, 404, "{id}{part}");
            // The response is that for a run that does not exist.
            let message = body["error"]["message"]
                .as_str()
                .unwrap()
                .replace(id, "missing");
            assert_eq!(json!(message), missing["error"]["message"]);
        }
        assert_eq!(world.get(&format!("events?run={id}")).0, 404);
        assert_eq!(world.get(&format!("diff?a=own&b={id}")).0, 404);
        let body =
            json!({"run": id, "decisions": [{"at": "pay", "digest": "0"}], "decision": "approve"});
        assert_eq!(world.post("decisions", &body).0, 404);
        assert_eq!(world.post(&format!("runs/{id}/cancel"), &json!({})).0, 404);
    }
    let mut stream = world.events("events");
    let runs = stream.message().unwrap();
    assert_eq!(ids(&runs, "changed", "id"), ["own"]);
    let inbox = stream.message().unwrap();
    assert_eq!(ids(&inbox, "questions", "run"), ["own"]);
}

#[test]
fn the_owner_that_an_imported_file_names_counts_for_nothing() {
    let world = Clients::new(&["ada", "bob"]).world();
    let claimed = World::new();
    claimed.run(PAY, "claimed", Some("token:ada"));
    let file = claimed.store.export("claimed").unwrap();
    world.store.import(&file).unwrap();
    assert_eq!(world.get("runs").1["runs"], json!([]));
    assert_eq!(world.get("inbox").1["questions"], json!([]));
    assert_eq!(world.get("runs/claimed").0, 404);
    // Neither does that of a run that names no client.
    assert_eq!(
        world
            .read_as_view(Some("claimed"), "runs/claimed", None)
            .status,
        404
    );
    let owner = World::new();
    owner.store.import(&file).unwrap();
    let (status, shown) = owner.get("runs/claimed");
    assert_eq!((status, &shown["run"]["client"]), (200, &json!(null)));
}

#[test]
fn a_client_starts_no_programs() {
    let world = Clients::new(&["ada", "bob"]).world();
    world.run(PAY, "own", Some("token:ada"));
    assert_eq!(world.get("config").1["can_run"], false);
    assert_eq!(world.get("tools").0, 403);
    assert_eq!(world.get("plans").0, 403);
    assert_eq!(world.post("runs/own/resume", &json!({})).0, 403);
    assert_eq!(world.post("runs/own/revert/proposal", &json!({})).0, 403);
    let consent = json!({"digest": ""});
    assert_eq!(world.post("runs/own/revert", &consent).0, 403);
    let plan = json!({"text": PAY, "mode": "real"});
    assert_eq!(world.post("plan/run", &plan).0, 403);
}

#[test]
fn a_session_ends_with_its_token() {
    let clients = Clients::new(&["ada", "gone"]);
    let world = clients.world();
    let gone = world.log_in("secret of gone");
    assert_eq!(world.get_as(&gone, "runs").0, 200);
    let mut stream = gone.sign(world.read("events")).send();
    assert_eq!(stream.message().unwrap()["questions"], json!([]));
    clients.revoke("gone");
    let (status, body) = world.get_as(&gone, "runs");
    assert_eq!(status, 401);
    assert_eq!(
        body["error"]["help"],
        "log in with the token of your client"
    );
    // An open stream ends before it shows anything more.
    world.run(PAY, "r1", Some("token:gone"));
    assert_eq!(stream.message(), None);
    assert_eq!(world.get("runs").0, 200);
}

#[test]
fn the_sessions_of_a_client_end_no_others() {
    let world = Clients::new(&["ada", "bob"]).world();
    let first = world.log_in("secret of bob");
    for _ in 0..64 {
        world.log_in("secret of bob");
    }
    assert_eq!(world.get_as(&first, "runs").0, 401);
    assert_eq!(world.get("runs").0, 200);
}

#[test]
fn wrong_passphrases_of_a_client_lock_no_other_out() {
    let world = Clients::new(&["ada", "bob"]).world();
    Passphrase::set(&world.store, Some("correct horse")).unwrap();
    world.run(PAY, "r1", Some("token:ada"));
    world.run(PAY, "r2", Some("token:bob"));
    let bob = world.log_in("secret of bob");
    let (_, inbox) = world.get_as(&bob, "inbox");
    let question = &inbox["questions"][0];
    let guess = |passphrase: &str| {
        let body = json!({
            "run": "r2",
            "decisions": [{"at": "pay", "digest": question["digest"]}],
            "decision": "approve",
            "passphrase": passphrase,
        });
        world.post_as(&bob, "decisions", &body).0
    };
    for _ in 0..5 {
        assert_eq!(guess("wrong horse"), 403);
    }
    // The right one is not tried any more.
    assert_eq!(guess("correct horse"), 429);
    let question = world.question("r1");
    let body = json!({
        "run": "r1",
        "decisions": [{"at": "pay", "digest": question["digest"]}],
        "decision": "approve",
        "passphrase": "correct horse",
    });
    assert_eq!(world.post("decisions", &body).0, 200);
}

#[test]
fn a_view_of_a_client_reads_what_ends() {
    let world = World::new();
    world.run(PAY, "own", None);
    let own = Some("own");
    for path in [
        "runs/own",
        "runs/own/graph?open=",
        "runs/own/report#x",
        "config",
    ] {
        assert_eq!(world.read_as_view(own, path, None).status, 200, "{path}");
    }
    for path in ["events", "/events", "events?run=own", "events#x"] {
        assert_eq!(world.read_as_view(own, path, None).status, 403, "{path}");
    }
    let convert = json!({"text": PAY, "to": "lines"});
    let converted = world.read_as_view(None, "plan/convert", Some(convert.clone()));
    assert_eq!(converted.status, 200, "{}", converted.body);
    let fragment = world.read_as_view(None, "plan/convert#x", Some(convert));
    assert_eq!(fragment.status, 200, "{}", fragment.body);
    let decision = json!({"run": "own", "decisions": [], "decision": "approve"});
    let written = world.read_as_view(own, "decisions#plan/check", Some(decision));
    assert_eq!(written.status, 403);
}

#[test]
fn a_view_reads_its_own_run_only() {
    let world = World::new();
    world.run(PAY, "own", None);
    world.run(PAY, "own-2", None);
    let paths = [
        "runs",
        "inbox",
        "runs/own-2",
        "runs/own-2/graph",
        "runs/own?x=/../own-2",
        "runs/ow%6E",
        "runs//own",
        "diff?a=own&b=own-2",
        "tools",
        "plans",
        "plans/p",
        "session",
    ];
    for path in paths {
        let refused = [
            world.read_as_view(None, path, None),
            world.read_as_view(Some("own"), path, None),
        ];
        let expected = if path.starts_with("runs/own?") {
            [403, 200]
        } else {
            [403, 403]
        };
        assert_eq!(refused.map(|answer| answer.status), expected, "{path}");
    }
    assert_eq!(world.read_as_view(None, "runs/own", None).status, 403);
    let server = &world.question("own")["server"];
    let call = |run: &str| json!({"run": run, "server": server, "tool": "pay", "arguments": {}});
    let check = |run| {
        world
            .read_as_view(Some("own"), "check_arguments", Some(call(run)))
            .status
    };
    assert_ne!(check("own"), 403);
    assert_eq!(check("own-2"), 403);
}

#[test]
fn a_run_that_cannot_be_read_takes_nothing_away() {
    let world = Clients::new(&["ada", "bob"]).world();
    world.run(PAY, "own", Some("token:ada"));
    world.run(PAY, "damaged", Some("token:bob"));
    world.run(PAY, "headless", Some("token:bob"));
    world.sql(
        "UPDATE entries SET at_ns = at_ns + 1
         WHERE number = 2 AND run = (SELECT key FROM runs WHERE id = 'damaged')",
    );
    world.sql("UPDATE runs SET header = 'no JSON' WHERE id = 'headless'");
    let rows = |session: &Session| {
        let (status, body) = world.get_as(session, "runs");
        assert_eq!(status, 200, "{body}");
        let rows = body["runs"].as_array().unwrap().iter();
        rows.map(|row| json!([row["id"], row["status"], row["waiting"]]))
            .collect::<Vec<_>>()
    };
    let inbox = |session: &Session| {
        let (status, body) = world.get_as(session, "inbox");
        assert_eq!(status, 200, "{body}");
        body["questions"].as_array().unwrap().len()
    };
    assert_eq!(rows(world.session()), [json!(["own", "waiting", 1])]);
    assert_eq!(inbox(world.session()), 1);
    let (status, body) = world.get("runs/damaged");
    assert_eq!(status, 404, "{body}");
    // Only its owner learns of a run; without a header, the owner is unknown.
    let bob = world.log_in("secret of bob");
    assert_eq!(rows(&bob), [json!(["damaged", "unreadable", 0])]);
    assert_eq!(inbox(&bob), 0);
}

#[test]
fn the_owner_of_the_store_sees_which_runs_cannot_be_read() {
    let world = World::new();
    world.run(PAY, "sound", None);
    world.run(PAY, "headless", None);
    world.sql("UPDATE runs SET header = 'no JSON' WHERE id = 'headless'");
    let (_, body) = world.get("runs");
    assert_eq!(body["runs"][0]["status"], "waiting", "{body}");
    assert_eq!(body["runs"][1]["status"], "unreadable", "{body}");
    assert_eq!(world.get("inbox").1["questions"][0]["run"], "sound");
}
