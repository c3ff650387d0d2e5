//! The tool that writes.

use std::fs;

use serde_json::json;

use super::{Fixture, names};

#[tokio::test]
async fn files_are_written() {
    let fixture = Fixture::new(&[("old", b"old"), ("folder/a", b"")]);
    for (path, content, created) in [
        ("new", "new\n", true),
        ("old", "newer", false),
        ("deep/er/\u{e4}.txt", "\u{e4}", true),
        ("folder/b", "", true),
        ("deep/er/\u{e4}.txt", "again", false),
    ] {
        fixture
            .gives(
                "write_file",
                json!({"path": path, "content": content}),
                json!({"path": path, "bytes": content.len(), "created": created}),
            )
            .await;
        let written = fs::read_to_string(fixture.inside(path)).unwrap();
        assert_eq!(written, content);
    }
    assert_eq!(names(&fixture.inside("")), ["deep", "folder", "new", "old"]);
    assert_eq!(names(&fixture.inside("folder")), ["a", "b"]);
}

#[tokio::test]
async fn what_cannot_be_written_is_explained() {
    let fixture = Fixture::new(&[("old", b"old"), ("folder/a", b"")]);
    for (path, code, message) in [
        ("folder", "not_a_file", "`folder` is not a file"),
        (".", "not_a_file", "`.` is not a file"),
        (
            "old/x",
            "not_a_folder",
            "`old` has a file where a folder should be",
        ),
        (
            "old/x/y",
            "not_a_folder",
            "`old/x` has a file where a folder should be",
        ),
        (
            ".git/hooks/pre-commit",
            "denied",
            "`.git/hooks/pre-commit` belongs to the repository itself",
        ),
        (
            "a/.GIT/x",
            "denied",
            "`a/.GIT/x` belongs to the repository itself",
        ),
    ] {
        let args = json!({"path": path, "content": "x"});
        fixture.fails("write_file", args, code, message).await;
    }
    fixture
        .fails(
            "write_file",
            json!({"path": "old", "content": "x", "overwrite": false}),
            "exists",
            "`old` already exists",
        )
        .await;
    fixture
        .gives(
            "write_file",
            json!({"path": "new", "content": "x", "overwrite": false}),
            json!({"created": true}),
        )
        .await;
    assert_eq!(fs::read_to_string(fixture.inside("old")).unwrap(), "old");
    assert_eq!(names(&fixture.inside("")), ["folder", "new", "old"]);
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;

    let fixture = Fixture::new(&[("tool", b"old")]);
    let path = fixture.inside("tool");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    fixture
        .gives(
            "write_file",
            json!({"path": "tool", "content": "new"}),
            json!({}),
        )
        .await;
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
}

#[tokio::test]
async fn drafts_of_killed_processes_are_removed() {
    let abandoned = ".planwright-1-0.draft";
    let in_use = ".planwright-1-1.draft";
    let fixture = Fixture::new(&[(abandoned, b"half"), (in_use, b"half"), ("mine.draft", b"")]);
    let other = fs::File::open(fixture.inside(in_use)).unwrap();
    other.lock().unwrap();
    let write = json!({"path": "new", "content": "x"});
    fixture
        .gives("write_file", write, json!({"created": true}))
        .await;
    assert_eq!(names(&fixture.inside("")), [in_use, "mine.draft", "new"]);
}

#[tokio::test]
async fn readers_never_see_a_part() {
    let fixture = Fixture::new(&[]);
    let texts = ["a".repeat(100_000), "b".repeat(100_000)];
    let write = |text: &String| fixture.call("write_file", json!({"path": "x", "content": text}));
    write(&texts[0]).await.unwrap();
    for round in 0..20 {
        let (written, read) = tokio::join!(
            write(&texts[round % 2]),
            fixture.call("read_file", json!({"path": "x"}))
        );
        written.unwrap();
        let text = read.unwrap()["text"].as_str().unwrap().to_owned();
        assert!(texts.contains(&text), "{} letters", text.len());
    }
}
