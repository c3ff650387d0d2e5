//! Attempts to get out of the folder.

use std::fs;

use serde_json::{Value as Json, json};

use super::{Fixture, names};

/// Every tool, made to touch `path`.
fn calls(path: &str) -> [(&'static str, Json); 5] {
    [
        ("list_files", json!({ "path": path })),
        ("read_file", json!({ "path": path })),
        ("search_text", json!({"query": "secret", "path": path})),
        ("count_lines", json!({ "path": path })),
        ("write_file", json!({"path": path, "content": "changed"})),
    ]
}

/// No tool gives anything, or changes anything outside.
async fn check_confined(fixture: &Fixture, path: &str) {
    for (tool, args) in calls(path) {
        if let Ok(output) = fixture.call(tool, args).await {
            panic!("{tool} `{path}` gave {output}");
        }
    }
    assert_untouched(fixture);
}

fn assert_untouched(fixture: &Fixture) {
    assert_eq!(names(&fixture.outside("")), ["secret.txt"]);
    let secret = fs::read_to_string(fixture.outside("secret.txt")).unwrap();
    assert_eq!(secret, "secret");
}

#[tokio::test]
async fn paths_do_not_lead_out() {
    let fixture = Fixture::new(&[("a/b", b"")]);
    let absolute = fixture.outside("secret.txt").display().to_string();
    for path in [
        "..",
        "../outside/secret.txt",
        "a/../../outside/secret.txt",
        "a/..",
        "./../outside/secret.txt",
        "/",
        "/etc/passwd",
        &absolute,
    ] {
        let message = format!("`{path}` leads out of the workspace");
        for (tool, args) in calls(path) {
            fixture.fails(tool, args, "outside", &message).await;
        }
    }
    assert_untouched(&fixture);
}

#[tokio::test]
async fn absolute_paths_within_are_fine() {
    let fixture = Fixture::new(&[("a/b", b"text")]);
    let path = fixture.inside("a/b").display().to_string();
    fixture
        .gives(
            "read_file",
            json!({ "path": path }),
            json!({"path": "a/b", "text": "text"}),
        )
        .await;
    let beside = fixture.home.path().join("inside-not/secret.txt");
    check_confined(&fixture, &beside.display().to_string()).await;
}

#[tokio::test]
async fn letters_that_no_path_has_are_refused() {
    let fixture = Fixture::new(&[]);
    check_confined(&fixture, "a\0b").await;
    check_confined(&fixture, &"x".repeat(5000)).await;
    check_confined(&fixture, &"x/".repeat(5000)).await;
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn links_do_not_lead_out() {
        let fixture = Fixture::new(&[("a/b", b"")]);
        let secret = fixture.outside("secret.txt");
        symlink(&secret, fixture.inside("absolute")).unwrap();
        symlink("../outside/secret.txt", fixture.inside("relative")).unwrap();
        symlink("../../outside", fixture.inside("a/folder")).unwrap();
        symlink("a/folder", fixture.inside("twice")).unwrap();
        symlink("/", fixture.inside("root")).unwrap();
        symlink("circle", fixture.inside("circle")).unwrap();
        for path in [
            "absolute",
            "relative",
            "a/folder/secret.txt",
            "twice/secret.txt",
            "twice/new/deep.txt",
            "root/etc/passwd",
            "circle",
        ] {
            check_confined(&fixture, path).await;
        }
        for tool in ["list_files", "search_text"] {
            for path in ["a/folder", "twice", "root"] {
                let args = json!({"path": path, "query": "secret"});
                let args = match tool {
                    "search_text" => args,
                    _ => json!({ "path": path }),
                };
                let message = format!("`{path}` leads out of the workspace");
                fixture.fails(tool, args, "outside", &message).await;
            }
        }
    }

    #[tokio::test]
    async fn walks_do_not_follow_links() {
        let fixture = Fixture::new(&[("a/b", b"secret")]);
        symlink("..", fixture.inside("a/up")).unwrap();
        symlink("../outside", fixture.inside("out")).unwrap();
        symlink("a/b", fixture.inside("c")).unwrap();
        fixture
            .gives(
                "list_files",
                json!({}),
                json!({"files": [{"path": "a/b", "bytes": 6}]}),
            )
            .await;
        fixture
            .gives(
                "search_text",
                json!({"query": "secret"}),
                json!({"count": 1}),
            )
            .await;
    }

    #[tokio::test]
    async fn links_within_are_read_and_not_replaced() {
        let fixture = Fixture::new(&[("a/b", b"text")]);
        symlink("a/b", fixture.inside("c")).unwrap();
        symlink("a", fixture.inside("d")).unwrap();
        for path in ["c", "d/b"] {
            fixture
                .gives(
                    "read_file",
                    json!({ "path": path }),
                    json!({"text": "text"}),
                )
                .await;
        }
        fixture
            .fails(
                "write_file",
                json!({"path": "c", "content": "x"}),
                "is_a_link",
                "`c` is a link: name the file that it leads to",
            )
            .await;
        fixture
            .gives(
                "write_file",
                json!({"path": "d/b", "content": "new"}),
                json!({}),
            )
            .await;
        assert_eq!(fs::read_to_string(fixture.inside("a/b")).unwrap(), "new");
    }

    /// A link that leads in and out by turns while it is used, as fast as it can.
    #[tokio::test]
    async fn links_do_not_lead_out_by_a_race() {
        let fixture = Fixture::new(&[("real/secret.txt", b"public")]);
        let [link, next] = ["link", "next"].map(|name| fixture.inside(name));
        symlink("real", &link).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let swapping = std::thread::spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                for target in ["../outside", "real"] {
                    symlink(target, &next).unwrap();
                    fs::rename(&next, &link).unwrap();
                }
            }
        });
        let mut read = 0;
        let mut refused = 0;
        while read < 100 || refused < 100 {
            let args = json!({"path": "link/secret.txt"});
            match fixture.call("read_file", args).await {
                Ok(output) => {
                    assert_eq!(output["text"], "public");
                    read += 1;
                }
                Err(_) => refused += 1,
            }
            // It fails whenever the link leads out; what counts is that nothing changes there.
            let args = json!({"path": "link/new.txt", "content": "changed"});
            let _ = fixture.call("write_file", args).await;
            let args = json!({"query": "secret", "path": "link"});
            if let Ok(output) = fixture.call("search_text", args).await {
                assert_eq!(output["count"], 0);
            }
        }
        done.store(true, Ordering::Relaxed);
        swapping.join().unwrap();
        assert_untouched(&fixture);
    }

    #[tokio::test]
    async fn pipes_and_sockets_do_not_keep_us_waiting() {
        let fixture = Fixture::new(&[]);
        let _socket = UnixListener::bind(fixture.inside("socket")).unwrap();
        let made = Command::new("mkfifo").arg(fixture.inside("pipe")).status();
        assert!(made.unwrap().success());
        for path in ["socket", "pipe"] {
            let message = format!("`{path}` is not a file");
            for (tool, args) in calls(path) {
                if tool == "list_files" || tool == "search_text" {
                    continue;
                }
                fixture.fails(tool, args, "not_a_file", &message).await;
            }
            let args = json!({"query": "a", "path": path});
            fixture
                .gives("search_text", args, json!({"count": 0, "skipped": 1}))
                .await;
        }
        fixture
            .gives("list_files", json!({}), json!({"count": 0}))
            .await;
    }
}
