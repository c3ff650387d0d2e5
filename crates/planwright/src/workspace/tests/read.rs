//! The tools that read.

use serde_json::{Value as Json, json};

use super::Fixture;

const FILES: &[(&str, &[u8])] = &[
    (".git/config", b"[core] needle"),
    (".hidden", b"needle"),
    ("README.md", b"# Title\n\nA needle, a Needle.\n"),
    ("a/b.rs", b"fn b() {}\r\n// needle\r\n"),
    ("a.rs", b"fn a() {}"),
    ("binary", b"needle\xff\x00\n"),
    ("empty", b""),
    ("node_modules/x/index.js", b"needle"),
    ("\u{fc}ml\u{e4}ut/\u{1f980}.rs", "n\u{fc}\n".as_bytes()),
];

async fn check_list(args: Json, expected: &[&str]) {
    let fixture = Fixture::new(FILES);
    let output = fixture.call("list_files", args.clone()).await.unwrap();
    let files = output["files"].as_array().unwrap();
    let paths: Vec<&str> = files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, expected, "the files for {args}");
    assert_eq!(output["count"], json!(expected.len()));
}

#[tokio::test]
async fn what_is_still_being_written_is_not_there_yet() {
    let fixture = Fixture::new(&[
        (".planwright-15799-0.draft", b"needle"),
        (".planwright-notes.draft", b"needle"),
        ("a/.planwright-1-23.draft", b"needle"),
        ("a/b", b"needle"),
    ]);
    for tool in ["list_files", "search_text"] {
        let args = match tool {
            "list_files" => json!({"include_ignored": true}),
            _ => json!({"query": "needle"}),
        };
        let output = fixture.call(tool, args).await.unwrap();
        let found = output.to_string();
        assert!(found.contains("a/b"), "{found}");
        assert!(found.contains(".planwright-notes.draft"), "{found}");
        assert!(
            !found.contains("-0.draft") && !found.contains("-23.draft"),
            "{found}"
        );
    }
}

#[tokio::test]
async fn files_are_listed() {
    let all = [
        ".hidden",
        "README.md",
        "a/b.rs",
        "a.rs",
        "binary",
        "empty",
        "\u{fc}ml\u{e4}ut/\u{1f980}.rs",
    ];
    check_list(json!({}), &all).await;
    check_list(json!({"path": "."}), &all).await;
    check_list(
        json!({"recursive": false}),
        &[".hidden", "README.md", "a.rs", "binary", "empty"],
    )
    .await;
    check_list(
        json!({"pattern": "*.rs"}),
        &["a/b.rs", "a.rs", "\u{fc}ml\u{e4}ut/\u{1f980}.rs"],
    )
    .await;
    check_list(json!({"path": "a", "pattern": "/*.rs"}), &["a/b.rs"]).await;
    check_list(json!({"path": "./a/"}), &["a/b.rs"]).await;
    check_list(json!({"path": "a.rs"}), &["a.rs"]).await;
    check_list(json!({"path": "a/b.rs", "pattern": "b.*"}), &["a/b.rs"]).await;
    check_list(
        json!({"path": "node_modules"}),
        &["node_modules/x/index.js"],
    )
    .await;
    check_list(
        json!({"include_ignored": true, "pattern": "**/*{s,config}"}),
        &[
            ".git/config",
            "a/b.rs",
            "a.rs",
            "node_modules/x/index.js",
            "\u{fc}ml\u{e4}ut/\u{1f980}.rs",
        ],
    )
    .await;
}

#[tokio::test]
async fn lists_say_how_large_files_are_and_where_they_end() {
    let fixture = Fixture::new(FILES);
    fixture
        .gives(
            "list_files",
            json!({"pattern": "a.rs"}),
            json!({"files": [{"path": "a.rs", "bytes": 9}], "truncated": false, "skipped": 0}),
        )
        .await;
    fixture
        .gives(
            "list_files",
            json!({"max_results": 2}),
            json!({"count": 2, "truncated": true}),
        )
        .await;
    fixture
        .gives(
            "list_files",
            json!({"max_results": 7}),
            json!({"count": 7, "truncated": false}),
        )
        .await;
    fixture
        .fails(
            "list_files",
            json!({"path": "gone"}),
            "not_found",
            "there is no `gone`",
        )
        .await;
    fixture
        .fails(
            "list_files",
            json!({"pattern": "[a"}),
            "invalid_pattern",
            "`[a` is not a pattern for paths",
        )
        .await;
    let empty = Fixture::new(&[]);
    empty
        .gives(
            "list_files",
            json!({}),
            json!({"files": [], "count": 0, "truncated": false}),
        )
        .await;
}

#[tokio::test]
async fn files_are_read() {
    let fixture = Fixture::new(FILES);
    for (args, text, last_line, more) in [
        (json!({"path": "a.rs"}), "fn a() {}", 1, false),
        (json!({"path": "empty"}), "", 0, false),
        (
            json!({"path": "a/b.rs"}),
            "fn b() {}\r\n// needle\r\n",
            2,
            false,
        ),
        (
            json!({"path": "README.md", "last_line": 2}),
            "# Title\n\n",
            2,
            true,
        ),
        (
            json!({"path": "README.md", "first_line": 2, "last_line": 2}),
            "\n",
            2,
            true,
        ),
        (
            json!({"path": "README.md", "first_line": 3}),
            "A needle, a Needle.\n",
            3,
            false,
        ),
        (
            json!({"path": "README.md", "last_line": 9}),
            "# Title\n\nA needle, a Needle.\n",
            3,
            false,
        ),
        (json!({"path": "README.md", "first_line": 4}), "", 3, false),
        (
            json!({"path": "\u{fc}ml\u{e4}ut/\u{1f980}.rs"}),
            "n\u{fc}\n",
            1,
            false,
        ),
        (
            json!({"path": "./a/./b.rs", "last_line": 1}),
            "fn b() {}\r\n",
            1,
            true,
        ),
    ] {
        let expected = json!({"text": text, "last_line": last_line, "more": more});
        fixture.gives("read_file", args, expected).await;
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_explained() {
    let fixture = Fixture::new(FILES);
    for (args, code, message) in [
        (
            json!({"path": "gone.md"}),
            "not_found",
            "there is no `gone.md`",
        ),
        (json!({"path": "a"}), "not_a_file", "`a` is not a file"),
        (json!({"path": ""}), "not_a_file", "`.` is not a file"),
        (
            json!({"path": "binary"}),
            "not_text",
            "`binary` is not UTF-8 text",
        ),
        (
            json!({"path": "a.rs/x"}),
            "not_a_folder",
            "`a.rs/x` has a file where a folder should be",
        ),
        (
            json!({"path": "README.md", "first_line": 9}),
            "no_such_line",
            "`README.md` has no line 9: it ends after line 3",
        ),
        (
            json!({"path": "a.rs", "first_line": 2, "last_line": 1}),
            "arguments",
            "`first_line` must be at least 1 and at most `last_line`",
        ),
    ] {
        fixture.fails("read_file", args, code, message).await;
    }
}

#[tokio::test]
async fn large_files_are_read_in_pieces_only() {
    let mut long = vec![b'x'; 4 << 20];
    long.push(b'\n');
    let many = b"0123456789abcde\n".repeat(1 << 19);
    let fixture = Fixture::new(&[("long", &long), ("many", &many), ("fits", &many[..4 << 20])]);
    for path in ["long", "many"] {
        let message = format!(
            "`{path}` is too large to be read at once: ask for fewer lines, of at most 4194304 bytes"
        );
        fixture
            .fails("read_file", json!({"path": path}), "too_large", &message)
            .await;
        let lines = json!({"path": path, "lines": if path == "long" { 1 } else { 1 << 19 }});
        fixture
            .gives("count_lines", json!({"path": path}), lines)
            .await;
    }
    fixture
        .gives("read_file", json!({"path": "fits"}), json!({"more": false}))
        .await;
    fixture
        .gives(
            "read_file",
            json!({"path": "many", "first_line": 1 << 19}),
            json!({"text": "0123456789abcde\n", "more": false}),
        )
        .await;
}

async fn check_search(args: Json, expected: &[(&str, u64, &str)]) {
    let fixture = Fixture::new(FILES);
    let matches: Vec<Json> = expected
        .iter()
        .map(|(file, line, text)| json!({"file": file, "line": line, "text": text}))
        .collect();
    let expected = json!({"matches": matches, "count": matches.len(), "truncated": false});
    fixture.gives("search_text", args, expected).await;
}

#[tokio::test]
async fn text_is_found() {
    let readme = ("README.md", 3, "A needle, a Needle.");
    let hidden = (".hidden", 1, "needle");
    let b = ("a/b.rs", 2, "// needle");
    check_search(json!({"query": "needle"}), &[hidden, readme, b]).await;
    check_search(json!({"query": "Needle"}), &[readme]).await;
    check_search(
        json!({"query": "NEEDLE", "ignore_case": true}),
        &[hidden, readme, b],
    )
    .await;
    check_search(json!({"query": "needle", "pattern": "*.rs"}), &[b]).await;
    check_search(json!({"query": "needle", "path": "a"}), &[b]).await;
    check_search(json!({"query": "needle", "path": "a/b.rs"}), &[b]).await;
    check_search(json!({"query": "."}), &[readme]).await;
    check_search(
        json!({"query": "n[e\u{fc}]$", "regex": true}),
        &[("\u{fc}ml\u{e4}ut/\u{1f980}.rs", 1, "n\u{fc}")],
    )
    .await;
    check_search(json!({"query": "nowhere"}), &[]).await;
}

#[tokio::test]
async fn searches_say_what_they_left_out() {
    let fixture = Fixture::new(FILES);
    fixture
        .gives(
            "search_text",
            json!({"query": "needle", "max_results": 1}),
            json!({"count": 1, "truncated": true}),
        )
        .await;
    fixture
        .gives(
            "search_text",
            json!({"query": "needle", "max_results": 3}),
            json!({"count": 3, "truncated": false, "searched": 6, "skipped": 1}),
        )
        .await;
    let error = fixture
        .call("search_text", json!({"query": "(", "regex": true}))
        .await
        .unwrap_err();
    assert!(error.message.starts_with("`(` is not a regular expression"));

    let long = "\u{e4}".repeat(500);
    let fixture = Fixture::new(&[("long", long.as_bytes())]);
    fixture
        .gives(
            "search_text",
            json!({"query": "\u{e4}"}),
            json!({"matches": [{"file": "long", "line": 1, "text": format!("{}…", "\u{e4}".repeat(400))}]}),
        )
        .await;
}

#[tokio::test]
async fn lines_are_counted() {
    let fixture = Fixture::new(FILES);
    for (path, lines, words, bytes) in [
        ("empty", 0, 0, 0),
        ("a.rs", 1, 3, 9),
        ("README.md", 3, 6, 29),
        ("a/b.rs", 2, 5, 22),
        ("binary", 1, 1, 9),
    ] {
        let expected = json!({"path": path, "lines": lines, "words": words, "bytes": bytes});
        fixture
            .gives("count_lines", json!({"path": path}), expected)
            .await;
    }
    fixture
        .fails(
            "count_lines",
            json!({"path": "a"}),
            "not_a_file",
            "`a` is not a file",
        )
        .await;
}
