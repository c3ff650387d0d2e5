//! Tests with several processes, some killed. The test binary starts itself as the other process.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use planwright_core::Value;
use planwright_engine::journal::{Entry, Record};
use planwright_store::{LeasedRun, Store, StoreError};

use crate::names::check_leased;
use crate::scene::scene;
use crate::suite::support::{append, create, entry, me, new_run, read, step};

/// The variable with the task of the other process, as `TASK PATH`.
const TASK: &str = "PLANWRIGHT_STORE_TEST_TASK";
/// The prefix of the lines of the other process; the test harness prints further ones.
const MARK: &str = "> ";

/// A process that runs a task.
struct Worker {
    process: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start(task: &str, path: &Path) -> Self {
        let test = std::env::current_exe().unwrap();
        let mut process = Command::new(test)
            .args(["--exact", "processes::worker", "--nocapture"])
            .env(TASK, format!("{task} {}", path.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            lines: BufReader::new(process.stdout.take().unwrap()).lines(),
            process,
        }
    }

    fn go(&mut self) {
        self.input.write_all(b"go\n").unwrap();
    }

    /// Returns the next line of the worker, `None` when it has ended.
    fn line(&mut self) -> Option<String> {
        self.lines
            .by_ref()
            .map(Result::unwrap)
            .find_map(|line| line.strip_prefix(MARK).map(str::to_owned))
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Runs the task of a worker. Does nothing in the test process itself, which has no task.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a worker gets its task from the environment"
)]
fn worker() {
    let Ok(variable) = std::env::var(TASK) else {
        return;
    };
    let (task, path) = variable.split_once(' ').unwrap();
    match task {
        "write" => write_until_killed(&Store::open(path).unwrap()),
        "hold" => lease_run(&Store::open(path).unwrap()),
        "begin" => begin(path),
        other => panic!("unknown task `{other}`"),
    }
}

fn say(what: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n{MARK}{what}").unwrap();
    output.flush().unwrap();
}

fn wait() {
    std::io::stdin()
        .lock()
        .read_line(&mut String::new())
        .unwrap();
}

fn three(turn: usize) -> Vec<Entry> {
    let large = Value::from(format!("{turn} {}", "x".repeat(turn % 7 * 2_000)));
    step(&format!("s{turn}"), &large)
        .map(|record| entry(turn as u64, record))
        .into()
}

fn write_until_killed(store: &Store) {
    let run = lease_or_create(store);
    let first = read(store, "r").len() / 3;
    for turn in first.. {
        append(&run, three(turn)).unwrap();
        say(&turn.to_string());
    }
}

fn lease_or_create(store: &Store) -> LeasedRun {
    match store.lease_run("r", &me()) {
        Err(StoreError::Missing { .. }) => create(store, "r"),
        leased => leased.unwrap(),
    }
}

fn lease_run(store: &Store) {
    say("ready");
    wait();
    let result = store.lease_run("r", &me());
    match &result {
        Ok(_) => say("held"),
        Err(StoreError::Leased { holder, .. }) => say(&holder.pid.to_string()),
        Err(error) => say(&error.to_string()),
    }
    wait();
}

fn begin(path: &str) {
    say("ready");
    wait();
    let store = Store::open(path).unwrap();
    let run = create(&store, &std::process::id().to_string());
    for turn in 0..20 {
        append(&run, three(turn)).unwrap();
    }
    say("done");
}

#[test]
fn acknowledged_entries_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut durable = 0;
    for timeout in [1, 2, 7, 30, 3, 11] {
        let mut writer = Worker::start("write", &path);
        let mut acknowledged = durable;
        for _ in 0..timeout {
            acknowledged = writer.line().unwrap().parse::<usize>().unwrap() + 1;
        }
        writer.kill();
        // The acknowledgements before the kill count.
        while let Some(line) = writer.line() {
            acknowledged = acknowledged.max(line.parse::<usize>().map_or(0, |turn| turn + 1));
        }
        let store = Store::open(&path).unwrap();
        let found = read(&store, "r");
        assert!(3 * acknowledged <= found.len(), "{acknowledged}");
        let expected: Vec<Entry> = (0..found.len() / 3).flat_map(three).collect();
        assert_eq!(found, expected, "batches are kept whole, and in order");
        durable = found.len() / 3;
        assert_eq!(store.run("r").unwrap().holder, None);
        let run = store.lease_run("r", &me()).unwrap();
        append(&run, three(durable)).unwrap();
        durable += 1;
    }
}

#[test]
fn one_of_ten_processes_gets_the_lease_and_loses_it_when_killed() {
    let scene = scene();
    drop(create(&scene.store, "r"));
    let mut others: Vec<Worker> = (0..10)
        .map(|_| Worker::start("hold", scene.store.path()))
        .collect();
    for other in &mut others {
        assert_eq!(other.line().unwrap(), "ready");
    }
    others.iter_mut().for_each(Worker::go);
    let said: Vec<String> = others
        .iter_mut()
        .map(|other| other.line().unwrap())
        .collect();
    let winners: Vec<usize> = (0..10).filter(|index| said[*index] == "held").collect();
    let [winner] = winners[..] else {
        panic!("{said:?}");
    };
    let pid = others[winner].process.id();
    for (index, said) in said
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != winner)
    {
        assert_eq!(*said, pid.to_string(), "process {index} knows who has it");
    }
    assert_eq!(scene.store.run("r").unwrap().holder.unwrap().pid, pid);
    let refused = scene.store.lease_run("r", &me()).unwrap_err();
    assert!(
        refused.to_string().contains(&format!("process {pid}")),
        "{refused}"
    );
    others[winner].kill();
    assert_eq!(scene.store.run("r").unwrap().holder, None);
    drop(scene.store.lease_run("r", &me()).unwrap());
    for (_, mut other) in others
        .into_iter()
        .enumerate()
        .filter(|(index, _)| *index != winner)
    {
        other.go();
        assert!(other.process.wait().unwrap().success());
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_lease_holds_under_every_name_of_the_store() {
    let scene = scene();
    drop(create(&scene.store, "r"));
    let mut other = Worker::start("hold", scene.store.path());
    assert_eq!(other.line().unwrap(), "ready");
    other.go();
    assert_eq!(other.line().unwrap(), "held");
    let link = scene.folder.path().join("link.db");
    std::os::unix::fs::symlink(scene.store.path(), &link).unwrap();
    let by_link = Store::open(&link).unwrap();
    let holder = by_link.run("r").unwrap().holder.unwrap();
    assert_eq!(holder.pid, other.process.id());
    check_leased(&by_link, &holder);
    std::fs::remove_dir_all(scene.folder.path().join("store.db.runs")).unwrap();
    let nameless = by_link.run("r").unwrap().holder.unwrap();
    assert_eq!(nameless.to_string(), "another process");
    check_leased(&by_link, &nameless);
    other.kill();
    assert_eq!(by_link.run("r").unwrap().holder, None);
    drop(by_link.lease_run("r", &me()).unwrap());
}

#[test]
fn ten_processes_can_create_one_store_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/store.db");
    let mut others: Vec<Worker> = (0..10).map(|_| Worker::start("begin", &path)).collect();
    for other in &mut others {
        assert_eq!(other.line().unwrap(), "ready");
    }
    others.iter_mut().for_each(Worker::go);
    for other in &mut others {
        assert_eq!(other.line().as_deref(), Some("done"));
        assert!(other.process.wait().unwrap().success());
    }
    let store = Store::open(&path).unwrap();
    for other in &others {
        let expected: Vec<Entry> = (0..20).flat_map(three).collect();
        assert_eq!(read(&store, &other.process.id().to_string()), expected);
    }
    assert_eq!(
        store
            .runs(&planwright_store::RunFilter::default())
            .unwrap()
            .len(),
        10
    );
    store.create_run(new_run("late"), &me()).unwrap();
}

#[test]
fn a_reader_sees_what_another_process_writes() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let elsewhere = Store::open(scene.store.path()).unwrap();
    let mut entries = elsewhere.entries("r").unwrap();
    assert!(entries.next().is_none());
    append(&run, vec![entry(0, Record::Closed)]).unwrap();
    assert_eq!(read(&elsewhere, "r").len(), 1);
}
