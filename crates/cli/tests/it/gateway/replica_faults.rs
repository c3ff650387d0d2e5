//! Three gateways over one PostgreSQL server, which are killed and stopped at random moments, as the server is; and the script that starts
//! such gateways behind a balancer.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use planwright_postgres::PostgresOptions;
use planwright_store::{RunState, Store};
use planwright_testkit::chance::Chance;
use planwright_testkit::fake_server;
use planwright_testkit::generated::project_file;
use planwright_testkit::listening::HttpServerProcess;
use planwright_testkit::postgres::PostgresServer;
use serde_json::{Value, json};

use super::edge::message;
use super::serve::Behind;
use crate::effects::{chains, effects, script, succeeded, tool_of};

/// The number of faults, unless the variable [`COUNT`] has another one.
const FAULTS: u64 = 6;

/// The variable with the number of faults.
const COUNT: &str = "PLANWRIGHT_TEST_FAULTS";

/// The number of steps of a run.
const STEPS: usize = 60;

/// The number of runs that are kept in progress.
const RUNS: usize = 6;

/// A time longer than that of a lease.
const STOPPED: Duration = Duration::from_secs(12);

#[expect(clippy::disallowed_methods, reason = "a longer run of the test")]
fn count() -> u64 {
    std::env::var(COUNT).map_or(FAULTS, |count| count.parse().unwrap())
}

fn replica(behind: &Behind, store: &str) -> HttpServerProcess {
    let mut command = behind.command(&["--listen", "127.0.0.1:0"]);
    command.env("PLANWRIGHT_STORE", store);
    HttpServerProcess::start(command)
}

/// Makes a request, and returns its result.
#[track_caller]
fn ask(url: &str, token: &str, method: &str, params: Value) -> Value {
    let request = message(url, method, params).header("authorization", &format!("Bearer {token}"));
    let mut answer = request.send().answer();
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].take()
}

/// Submits a plan, and returns the id of its run, which is a task.
#[track_caller]
fn submit(url: &str, token: &str, steps: Vec<Value>) -> String {
    let plan = json!({"plan": {"steps": steps}});
    let params = json!({"name": "execute_plan", "arguments": plan});
    let handle = ask(url, token, "tools/call", params);
    handle["taskId"].as_str().unwrap().to_owned()
}

fn is_open(store: &Store, run: &str) -> bool {
    !matches!(store.run(run).unwrap().state, RunState::Ended(_))
}

fn signal(replica: &HttpServerProcess, name: &str) {
    let id = replica.id().to_string();
    let status = Command::new("kill").args([name, &id]).status().unwrap();
    assert!(status.success());
}

#[expect(clippy::print_stdout, reason = "the figures of a longer run")]
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_happens_twice() {
    let mut server = PostgresServer::start().unwrap();
    let url = server.url();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let behind = Behind::reaching(&json!({"fake": {
        "command": fake_server::program(), "args": [script(folder).to_string()], "trusted": true
    }}));
    behind.set("[serve]\ntask_after = '1ms'\nrate = '1000000/s'\n[tools]\npin = 'off'");
    let token = behind.token("ada");
    let mut replicas = [0; 3].map(|_| replica(&behind, &url));
    let options = PostgresOptions::new(folder.join("lists"));
    let store = planwright_postgres::open(&url, options).unwrap();
    let mut chance = Chance::new(11);
    let mut runs: Vec<String> = Vec::new();
    let mut completed: HashMap<u64, usize> = HashMap::new();
    let mut open: Vec<String> = Vec::new();
    for fault in 0..count() {
        open.retain(|run| is_open(&store, run));
        while open.len() < RUNS {
            let any = usize::try_from(chance.below(3)).unwrap();
            let first = runs.len() * STEPS;
            let steps = chains(first..first + STEPS);
            open.push(submit(replicas[any].url(), &token, steps));
            runs.extend(open.last().cloned());
        }
        // The moments of the faults are what is random here.
        tokio::time::sleep(Duration::from_millis(20 + chance.below(1_500))).await;
        let victim = usize::try_from(chance.below(3)).unwrap();
        match fault % 6 {
            2 => {
                server.kill();
                server.start_again().unwrap();
            }
            5 => {
                signal(&replicas[victim], "-STOP");
                tokio::time::sleep(STOPPED).await;
                signal(&replicas[victim], "-CONT");
            }
            _ => {
                replicas[victim].kill();
                replicas[victim] = replica(&behind, &url);
            }
        }
        let done: Vec<u64> = open
            .iter()
            .flat_map(|run| succeeded(&store, run))
            .filter(|step| !completed.contains_key(step))
            .collect();
        let counts = effects(folder);
        for step in done {
            completed.insert(step, counts.get(&step).copied().unwrap_or(0));
        }
    }
    let mut changes = store.watch_changes().unwrap();
    let ended = async {
        while runs.iter().any(|run| is_open(&store, run)) {
            changes.next().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_mins(1), ended)
        .await
        .expect("a run does not end");
    let counts = effects(folder);
    for (step, before) in &completed {
        let now = counts.get(step).copied().unwrap_or(0);
        assert_eq!(now, *before, "completed step {step}");
    }
    let mut unknown = 0;
    for (number, run) in runs.iter().enumerate() {
        let succeeded = succeeded(&store, run);
        for step in number * STEPS..(number + 1) * STEPS {
            let count = counts.get(&(step as u64)).copied().unwrap_or(0);
            let is_pay = tool_of(step) == "pay";
            assert!(!is_pay || count <= 1, "step {step} has paid {count} times");
            if succeeded.contains(&(step as u64)) {
                assert!(1 <= count, "step {step} of {run} has no effect");
            } else {
                unknown += 1;
            }
        }
    }
    println!(
        "{} faults, {} runs, {} effects, {unknown} steps whose outcome a person decides, or that wait for one",
        count(),
        runs.len(),
        counts.values().sum::<usize>()
    );
}

/// The script, which is ended when this is dropped.
struct Script(Child);

impl Drop for Script {
    fn drop(&mut self) {
        // It ends what it has started.
        let id = self.0.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let _ = self.0.wait();
    }
}

/// A port with ten free ports after it.
fn free_port() -> u16 {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let mut ports = (20_000 + u16::try_from(std::process::id() % 10_000).unwrap()..).step_by(16);
    ports
        .find(|port| (0..=10).all(|more| is_free(port + more)))
        .unwrap()
}

#[test]
fn the_script_starts_replicas_behind_a_balancer() {
    for program in ["/usr/sbin/haproxy", "/usr/bin/curl"] {
        assert!(
            Path::new(program).exists(),
            "`{program}` is missing: `cargo xtask test` installs it"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let child = Command::new("sh")
        .arg(project_file("examples/replicas/start.sh"))
        .arg(folder.path())
        .env("PORT", port.to_string())
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("PLANWRIGHT", env!("CARGO_BIN_EXE_planwright"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut running = Script(child.unwrap());
    let mut output = String::new();
    let mut lines = BufReader::new(running.0.stdout.take().unwrap());
    while !output.contains("Ctrl-C stops everything") {
        assert!(0 < lines.read_line(&mut output).unwrap(), "{output}");
    }
    let url = format!("http://127.0.0.1:{port}/mcp");
    let token = std::fs::read_to_string(folder.path().join("token")).unwrap();
    let (_, processes) = output.split_once("replicas: processes ").unwrap();
    let (first, _) = processes.split_once(',').unwrap();
    let plan = json!({"plan": {"steps": [{"id": "said", "value": "hello"}], "output": ["said"]}});
    let params = json!({"name": "execute_plan", "arguments": plan});
    let run = || {
        let result = ask(&url, token.trim(), "tools/call", params.clone());
        assert_eq!(
            result["structuredContent"]["status"], "succeeded",
            "{result}"
        );
        result["structuredContent"]["run"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let ran = run();
    let killed = Command::new("kill").args(["-9", first]).status();
    assert!(killed.unwrap().success());
    // Whichever replica the balancer chooses, it knows the run.
    for _ in 0..6 {
        let found = json!({"name": "get_run", "arguments": {"run": ran}});
        let found = ask(&url, token.trim(), "tools/call", found);
        assert_eq!(found["structuredContent"]["status"], "succeeded", "{found}");
        run();
    }
}
