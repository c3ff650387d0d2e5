//! Tasks over real servers, including some that need no plan.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use planwright_testkit::real_servers::program;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::task::{Call, Task, Turn};

/// The number of notes.
const NOTES: usize = 6;

/// A folder with notes and a repository, and the servers that work in it.
#[derive(Debug)]
pub struct TaskFixture {
    folder: TempDir,
    /// The selected servers.
    servers: Vec<&'static str>,
}

/// The names of all servers.
pub const SERVERS: [&str; 4] = ["files", "git", "time", "everything"];

impl TaskFixture {
    /// Creates a new fixture with some of the [`SERVERS`], so that each method starts from the same state.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    pub fn with(servers: &[&'static str]) -> Self {
        let fixture = Self {
            folder: tempfile::tempdir().expect("a folder"),
            servers: servers.to_vec(),
        };
        let folder = fixture.folder.path();
        for number in 1..=NOTES {
            fs::write(folder.join(format!("note{number}.md")), note(number)).expect("a note");
        }
        fixture.git(&["init", "--quiet", "--initial-branch", "main"]);
        fixture.git(&["config", "user.name", "Ada"]);
        fixture.git(&["config", "user.email", "ada@example.com"]);
        fixture.git(&["add", "."]);
        fixture.git(&["commit", "--quiet", "--message", "Write the notes"]);
        fs::write(folder.join("note1.md"), note(7)).expect("a note");
        fixture
    }

    /// Returns the path of the folder.
    ///
    /// # Panics
    ///
    /// If the path is not UTF-8.
    pub fn folder(&self) -> &str {
        self.folder.path().to_str().expect("a path of letters")
    }

    /// Returns the servers with their programs and arguments.
    pub fn servers(&self) -> Vec<(&'static str, String, Vec<String>)> {
        let server = |name, program_name: &str, args: &[&str]| {
            let program = program(program_name).display().to_string();
            (
                name,
                program,
                args.iter().map(|arg| (*arg).to_owned()).collect(),
            )
        };
        let all = [
            server("files", "mcp-server-filesystem", &[self.folder()]),
            server("git", "mcp-server-git", &[]),
            server("time", "mcp-server-time", &[]),
            server("everything", "mcp-server-everything", &["stdio"]),
        ];
        let wanted = all
            .into_iter()
            .filter(|(name, ..)| self.servers.contains(name));
        wanted.collect()
    }

    /// Returns a settings folder outside of the repository, with an `mcp.json` and rules that approve all calls.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn settings(&self) -> PathBuf {
        let servers: serde_json::Map<String, Value> = self
            .servers()
            .into_iter()
            .map(|(name, command, args)| {
                (name.to_owned(), json!({"command": command, "args": args}))
            })
            .collect();
        let folder = self.folder.path().join(".git/settings");
        fs::create_dir_all(folder.join("planwright")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
        write("mcp.json", &json!({"mcpServers": servers}).to_string());
        write("planwright/planwright.toml", "[tools]\nno_ask = [\"*\"]\n");
        folder
    }

    fn git(&self, args: &[&str]) {
        let status = Command::new("git")
            .args(args)
            .current_dir(&self.folder)
            .status();
        assert!(status.expect("git").success());
    }
}

fn note(number: usize) -> String {
    let mut text = format!("# Note {number}\n\n");
    for line in 1..=12 {
        let _ = writeln!(
            text,
            "{line}. Remember to ask about item {} of order {}.",
            line * number,
            1000 + 17 * line * number
        );
    }
    text
}

/// Returns the tasks in the folder `folder`.
pub fn tasks(folder: &str) -> Vec<Task> {
    let path = |name: &str| Path::new(folder).join(name).display().to_string();
    vec![
        one_file(&path("note2.md")),
        time_in_cities(),
        weather(&path("weather.json")),
        copy_of_a_note(&path("note3.md"), &path("copy.md")),
        all_notes(&path),
        commit(folder),
        last_commit(folder, &path("last-commit.txt")),
    ]
}

/// A task of a single call, for which a plan gains nothing.
fn one_file(file: &str) -> Task {
    let args = json!({"path": file});
    Task {
        name: "read one file",
        servers: vec!["files"],
        request: format!("What does {file} say?"),
        queries: vec!["read text file"],
        plan: json!({"steps": [{"id": "note", "tool": "files.read_text_file", "args": args}]}),
        turns: vec![Box::new(move |_| {
            vec![Call::new("files", "read_text_file", args.clone())]
        })],
    }
}

/// A task of parallel calls.
fn time_in_cities() -> Task {
    const ZONES: [&str; 5] = [
        "Asia/Tokyo",
        "America/New_York",
        "Africa/Nairobi",
        "Asia/Kolkata",
        "Australia/Sydney",
    ];
    let args = |zone: &str| json!({"source_timezone": "Europe/Oslo", "time": "15:00", "target_timezone": zone});
    Task {
        name: "one time in five zones",
        servers: vec!["time"],
        request: format!(
            "What time is it in {} when it is 15:00 in Oslo?",
            ZONES.join(", ")
        ),
        queries: vec!["convert time between timezones"],
        plan: json!({"steps": [
            {"id": "times", "for_each": ZONES, "tool": "time.convert_time", "args": args("${item}")}
        ], "output": "${times[*].target.datetime}"}),
        turns: vec![Box::new(move |_| {
            ZONES
                .iter()
                .map(|zone| Call::new("time", "convert_time", args(zone)))
                .collect()
        })],
    }
}

/// A task in which results are processed and passed on.
fn weather(file: &str) -> Task {
    const CITIES: [&str; 3] = ["New York", "Chicago", "Los Angeles"];
    let file = file.to_owned();
    Task {
        name: "weather of three cities, into a file",
        servers: vec!["everything", "files"],
        request: format!(
            "Write the weather of {} as JSON to {file}, and tell the temperatures.",
            CITIES.join(", ")
        ),
        queries: vec!["weather of a location", "write a file"],
        plan: json!({"steps": [
            {"id": "weather", "for_each": CITIES, "tool": "everything.get-structured-content", "args": {"location": "${item}"}},
            {"id": "file", "tool": "files.write_file", "args": {"path": file, "content": "${weather}\n"}}
        ], "output": "${weather[*].temperature}"}),
        turns: vec![
            Box::new(|_| {
                let call = |city: &&str| {
                    Call::new(
                        "everything",
                        "get-structured-content",
                        json!({"location": city}),
                    )
                };
                CITIES.iter().map(call).collect()
            }),
            Box::new(move |found| {
                let content = format!("[{}]", found.join(","));
                vec![Call::new(
                    "files",
                    "write_file",
                    json!({"path": file, "content": content}),
                )]
            }),
        ],
    }
}

/// A task in which the result of one call is the input of the next.
fn copy_of_a_note(from: &str, to: &str) -> Task {
    let (read, to) = (json!({"path": from}), to.to_owned());
    Task {
        name: "copy a file",
        servers: vec!["files"],
        request: format!("Copy {from} to {to}."),
        queries: vec!["read text file", "write a file"],
        plan: json!({"steps": [
            {"id": "note", "tool": "files.read_text_file", "args": read},
            {"id": "copy", "tool": "files.write_file", "args": {"path": to, "content": "${note.content}"}}
        ], "output": ["copy"]}),
        turns: vec![
            Box::new(move |_| vec![Call::new("files", "read_text_file", read.clone())]),
            Box::new(move |found| {
                vec![Call::new(
                    "files",
                    "write_file",
                    json!({"path": to, "content": found[0]}),
                )]
            }),
        ],
    }
}

/// A task that reads much and only combines it.
fn all_notes(path: &dyn Fn(&str) -> String) -> Task {
    let notes: Vec<String> = (1..=NOTES)
        .map(|number| path(&format!("note{number}.md")))
        .collect();
    let all = path("all.md");
    Task {
        name: "six files into one",
        servers: vec!["files"],
        request: format!("Put {} together in {all}.", notes.join(", ")),
        queries: vec!["read text file", "write a file"],
        plan: json!({"steps": [
            {"id": "notes", "for_each": notes, "tool": "files.read_text_file", "args": {"path": "${item}"}},
            {"id": "all", "tool": "files.write_file", "args": {
                "path": all,
                "content": (0..NOTES).map(|index| format!("${{notes[{index}].content}}")).collect::<Vec<_>>().join("\n")
            }}
        ], "output": ["all"]}),
        turns: vec![
            Box::new(move |_| {
                let call =
                    |note: &String| Call::new("files", "read_text_file", json!({"path": note}));
                notes.iter().map(call).collect()
            }),
            Box::new(move |found| {
                vec![Call::new(
                    "files",
                    "write_file",
                    json!({"path": all, "content": found.join("\n")}),
                )]
            }),
        ],
    }
}

/// A task of calls that must run in sequence, though none needs the result of another.
fn commit(folder: &str) -> Task {
    let add = json!({"repo_path": folder, "files": ["note1.md"]});
    let commit = json!({"repo_path": folder, "message": "Change the first note"});
    let log = json!({"repo_path": folder, "max_count": 1});
    Task {
        name: "add, commit, look",
        servers: vec!["git"],
        request: format!(
            "Commit note1.md in {folder} as `Change the first note`, then show the newest commit."
        ),
        queries: vec!["git commit", "git log"],
        plan: json!({"steps": [
            {"id": "add", "tool": "git.git_add", "args": add},
            {"id": "commit", "after": ["add"], "tool": "git.git_commit", "args": commit},
            {"id": "log", "after": ["commit"], "tool": "git.git_log", "args": log}
        ], "output": ["log"]}),
        turns: [("git_add", add), ("git_commit", commit), ("git_log", log)]
            .map(|(tool, args)| -> Turn {
                Box::new(move |_| vec![Call::new("git", tool, args.clone())])
            })
            .into(),
    }
}

/// A task with a large result that the model need not read.
fn last_commit(folder: &str, file: &str) -> Task {
    let (show, file) = (
        json!({"repo_path": folder, "revision": "HEAD"}),
        file.to_owned(),
    );
    Task {
        name: "a commit into a file",
        servers: vec!["git", "files"],
        request: format!("Write what the last commit of {folder} changed to {file}."),
        queries: vec!["git show commit", "write a file"],
        plan: json!({"steps": [
            {"id": "show", "tool": "git.git_show", "args": show},
            {"id": "file", "tool": "files.write_file", "args": {"path": file, "content": "${show}"}}
        ], "output": ["file"]}),
        turns: vec![
            Box::new(move |_| vec![Call::new("git", "git_show", show.clone())]),
            Box::new(move |found| {
                vec![Call::new(
                    "files",
                    "write_file",
                    json!({"path": file, "content": found[0]}),
                )]
            }),
        ],
    }
}
