//! Pinned tools, their changes, and acceptance.

use planwright_store::{
    Acceptance, AcceptedTool, ChangedServer, ListedServer, ListedTool, ServerIdentity, Store,
    StoreError,
};

use super::support::time;
use crate::scene::scene;

fn identity(origin: &str) -> ServerIdentity {
    ServerIdentity {
        server: "shop".into(),
        origin: origin.to_owned(),
    }
}

/// Returns tools of the server at `origin`, given by name and definition.
fn seen(origin: &str, tools: &[(&str, &str)]) -> ListedServer {
    let tools = tools.iter().map(|(tool, definition)| ListedTool {
        tool: (*tool).to_owned(),
        digest: format!("{origin}/{tool}/{definition}"),
        definition: format!("{tool} is {definition}"),
    });
    ListedServer {
        identity: identity(origin),
        is_accepted: false,
        tools: tools.collect(),
    }
}

fn pin(store: &Store, origin: &str, tools: &[(&str, &str)]) {
    store.pin_tools(vec![seen(origin, tools)], time(1)).unwrap();
}

/// Returns the tools that wait for acceptance, as `tool before → now`.
fn changed(store: &Store) -> Vec<String> {
    let line = |server: &ChangedServer| {
        let is_accepted = server.is_accepted;
        let tools = server.tools.iter().map(move |tool| {
            let before = tool
                .before
                .as_ref()
                .map_or("nothing", |before| &before.json);
            let mark = if is_accepted { "" } else { "unaccepted " };
            format!("{mark}{}: {before} → {}", tool.tool, tool.now.json)
        });
        tools.collect::<Vec<_>>()
    };
    store
        .changed_tools()
        .unwrap()
        .iter()
        .flat_map(line)
        .collect()
}

fn accept(store: &Store, origin: &str, tool: &str, definition: &str) -> Result<(), StoreError> {
    let tools = vec![AcceptedTool {
        tool: tool.to_owned(),
        digest: format!("{origin}/{tool}/{definition}"),
    }];
    let accepted = Acceptance {
        identity: identity(origin),
        tools_digest: None,
        tools,
    };
    store.accept_tools(vec![accepted], Some("ada".to_owned()), time(2))
}

#[test]
fn the_first_definition_is_pinned() {
    let scene = scene();
    pin(&scene.store, "a", &[("pay", "1"), ("look", "1")]);
    assert_eq!(changed(&scene.store), [""; 0]);
    let known = scene
        .store
        .pinned_tools(&[identity("a"), identity("b")])
        .unwrap();
    assert_eq!(known.len(), 1);
    let server = &known[&identity("a")];
    assert!(server.is_accepted);
    assert_eq!(server.tools["pay"].digest, "a/pay/1");
    assert!(!server.tools["pay"].is_new);
}

#[test]
fn a_change_waits_until_it_is_accepted_or_taken_back() {
    let scene = scene();
    let store = &scene.store;
    pin(store, "a", &[("pay", "1"), ("look", "1")]);
    pin(store, "a", &[("pay", "2")]);
    assert_eq!(changed(store), ["pay: pay is 1 → pay is 2"]);
    // The next change is compared with the pinned definition, not with the last one.
    pin(store, "a", &[("pay", "3")]);
    assert_eq!(changed(store), ["pay: pay is 1 → pay is 3"]);
    assert_eq!(store.count_changed_tools().unwrap(), (1, 0));
    pin(store, "a", &[("pay", "1")]);
    assert_eq!(changed(store), [""; 0]);
    pin(store, "a", &[("pay", "4")]);
    let before = store.last_acceptance().unwrap();
    accept(store, "a", "pay", "4").unwrap();
    assert_ne!(store.last_acceptance().unwrap(), before);
    assert_eq!(changed(store), [""; 0]);
    // The definition that was pinned before is a change now.
    pin(store, "a", &[("pay", "1")]);
    assert_eq!(changed(store), ["pay: pay is 4 → pay is 1"]);
}

#[test]
fn only_the_definition_that_the_person_saw_is_accepted() {
    let scene = scene();
    let store = &scene.store;
    pin(store, "a", &[("pay", "1")]);
    pin(store, "a", &[("pay", "2")]);
    pin(store, "a", &[("pay", "3")]);
    let error = accept(store, "a", "pay", "2").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tool `shop.pay` changed again since it was shown"
    );
    assert_eq!(changed(store), ["pay: pay is 1 → pay is 3"]);
    assert_eq!(store.last_acceptance().unwrap(), 0);
}

#[test]
fn a_tool_that_a_known_server_adds_is_new() {
    let scene = scene();
    let store = &scene.store;
    pin(store, "a", &[("pay", "1")]);
    pin(store, "a", &[("refund", "1")]);
    assert_eq!(changed(store), ["refund: nothing → refund is 1"]);
    assert_eq!(store.count_changed_tools().unwrap(), (0, 1));
    // A new tool whose definition changes before it is accepted is still a new tool.
    pin(store, "a", &[("refund", "2")]);
    assert_eq!(changed(store), ["refund: nothing → refund is 2"]);
    assert_eq!(store.count_changed_tools().unwrap(), (0, 1));
    pin(store, "a", &[("refund", "1")]);
    accept(store, "a", "refund", "1").unwrap();
    assert_eq!(changed(store), [""; 0]);
}

#[test]
fn a_second_identity_of_a_name_waits_as_a_whole() {
    let scene = scene();
    let store = &scene.store;
    pin(store, "a", &[("pay", "1")]);
    pin(store, "b", &[("pay", "1"), ("spy", "1")]);
    assert_eq!(
        changed(store),
        [
            "unaccepted pay: pay is 1 → pay is 1",
            "unaccepted spy: nothing → spy is 1"
        ]
    );
    let shown = store.changed_tools().unwrap().remove(0);
    assert_eq!(shown.accepted_origins, ["a"]);
    let accepted = Acceptance {
        identity: identity("b"),
        tools_digest: Some(shown.tools_digest),
        tools: Vec::new(),
    };
    // A tool was added after the person saw the list.
    pin(store, "b", &[("late", "1")]);
    let error = store.accept_tools(vec![accepted.clone()], None, time(3));
    assert!(matches!(
        error,
        Err(StoreError::ToolChanged { tool: None, .. })
    ));
    let shown = store.changed_tools().unwrap().remove(0);
    let accepted = Acceptance {
        tools_digest: Some(shown.tools_digest),
        ..accepted
    };
    store.accept_tools(vec![accepted], None, time(3)).unwrap();
    let known = store.pinned_tools(&[identity("b")]).unwrap();
    assert!(known[&identity("b")].is_accepted);
    // The first identity stays known.
    pin(store, "a", &[("pay", "1")]);
    assert!(
        !changed(store)
            .iter()
            .any(|line| line.contains("unaccepted"))
    );
}

#[test]
fn a_reviewed_identity_is_accepted() {
    let scene = scene();
    let store = &scene.store;
    pin(store, "a", &[("pay", "1")]);
    pin(store, "b", &[("pay", "1")]);
    let looked = ListedServer {
        is_accepted: true,
        ..seen("b", &[])
    };
    store.pin_tools(vec![looked], time(2)).unwrap();
    assert_eq!(changed(store), [""; 0]);
    let looked = ListedServer {
        is_accepted: true,
        ..seen("c", &[("pay", "1")])
    };
    store.pin_tools(vec![looked], time(2)).unwrap();
    assert_eq!(changed(store), [""; 0]);
}

#[test]
fn the_second_of_two_concurrent_pins_is_a_change() {
    let scene = scene();
    let start = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for definition in ["1", "2"] {
            let (start, scene) = (&start, &scene);
            scope.spawn(move || {
                let store = scene.open_again();
                start.wait();
                pin(&store, "a", &[("pay", definition)]);
            });
        }
    });
    let known = scene.store.pinned_tools(&[identity("a")]).unwrap();
    let tool = &known[&identity("a")].tools["pay"];
    let mut both = [tool.digest.as_str(), tool.seen.as_deref().unwrap()];
    both.sort_unstable();
    assert_eq!(both, ["a/pay/1", "a/pay/2"]);
    assert_eq!(changed(&scene.store).len(), 1);
}
