//! Runs many plans concurrently over HTTP, and checks that none fails, memory does not grow, and no value reaches another client.
//!
//! ```console
//! $ cargo build --release && cargo run --release -p planwright-bench --bin soak target/release/planwright [SECONDS]
//! ```
#![expect(clippy::print_stdout, reason = "this program prints figures")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// The number of clients, each with its own token.
const CLIENTS: usize = 20;
/// The number of concurrent plans of each client.
const PLANS: usize = 10;
/// The warm-up time before memory is first measured.
const WARM_UP: Duration = Duration::from_secs(15);
/// The maximum time for memory to return to its value after the warm-up.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);

const TOOLS: &str = r#"{"tools": {"echo": {"echo": true}}}"#;
const SETTINGS: &str = "[serve]\nrate = \"1000000/s\"\n";

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments
        .next()
        .ok_or("the path of the program is missing")?;
    let seconds = arguments.next().map_or(Ok(60), |text| text.parse())?;
    tokio::runtime::Runtime::new()?.block_on(soak(&program, Duration::from_secs(seconds)))
}

async fn soak(program: &str, time: Duration) -> Result<ExitCode> {
    let home = tempfile::tempdir()?;
    let server = Server::start(program, home.path())?;
    let warm = load(&server, WARM_UP).await?;
    let before = server.settled_memory(None).await?;
    let done = load(&server, time).await?;
    let after = server.settled_memory(Some(before)).await?;
    println!("plans at once          {}", CLIENTS * PLANS);
    println!("plans in the warm-up   {warm}");
    println!("plans in {:<3} s         {done}", time.as_secs());
    println!("memory after warm-up   {before} KiB");
    println!("memory at the end      {after} KiB");
    let is_back = after <= before + before / 10;
    println!(
        "back to within 10 %    {}",
        if is_back { "yes" } else { "no" }
    );
    Ok(if is_back {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A gateway process with its own home folder.
struct Server {
    child: Child,
    address: String,
    tokens: Vec<String>,
}

impl Server {
    fn start(program: &str, home: &Path) -> Result<Self> {
        let settings = home.join(".config/planwright");
        std::fs::create_dir_all(&settings)?;
        std::fs::write(settings.join("planwright.toml"), SETTINGS)?;
        std::fs::write(home.join("tools.json"), TOOLS)?;
        let program = std::path::absolute(program)?;
        let command = |arguments: &[&str]| {
            let mut command = Command::new(&program);
            command
                .args(arguments)
                .current_dir(home)
                .env_clear()
                .env("HOME", home);
            command
        };
        let mut tokens = Vec::new();
        for client in 0..CLIENTS {
            let created = command(&["token", "create", &format!("c{client}")]).output()?;
            tokens.push(String::from_utf8(created.stdout)?.trim().to_owned());
        }
        let mut child = command(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--simulate",
            "tools.json",
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
        let stderr = child
            .stderr
            .take()
            .ok_or("the server has no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let address = loop {
            let line = lines
                .next()
                .ok_or("the server ended before it listened on a port")??;
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.trim_end_matches("/mcp").to_owned();
            }
        };
        // An unread pipe would fill up and block the server.
        std::thread::spawn(move || {
            for line in lines.map_while(std::result::Result::ok) {
                println!("server: {line}");
            }
        });
        Ok(Self {
            child,
            address,
            tokens,
        })
    }

    /// Returns the resident memory in KiB, once it has returned to about `wanted` or [`SETTLE_TIMEOUT`] has passed.
    async fn settled_memory(&self, wanted: Option<u64>) -> Result<u64> {
        let until = Instant::now() + SETTLE_TIMEOUT;
        loop {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kib = line.and_then(|line| line.split_whitespace().next());
            let kib: u64 = kib.ok_or("the memory of the server is unknown")?.parse()?;
            let is_back = wanted.is_some_and(|wanted| kib <= wanted + wanted / 10);
            if is_back || Instant::now() > until {
                return Ok(kib);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets all clients run plans for `time`, and returns the number of plans.
async fn load(server: &Server, time: Duration) -> Result<u64> {
    let mut all = JoinSet::new();
    let until = Instant::now() + time;
    for client in 0..CLIENTS {
        for plan in 0..PLANS {
            let worker = Worker {
                address: server.address.clone(),
                token: server.tokens[client].clone(),
                mark: format!("mark-{client}-{plan}-"),
                session: None,
            };
            all.spawn(worker.run(until));
        }
    }
    let mut plans = 0;
    while let Some(done) = all.join_next().await {
        plans += done??;
    }
    Ok(plans)
}

/// A client session that runs one plan after the other.
struct Worker {
    address: String,
    token: String,
    mark: String,
    session: Option<String>,
}

impl Worker {
    async fn run(mut self, until: Instant) -> Result<u64> {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}"#;
        let answer = self.send("POST", hello).await?;
        let session = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id")
                .then(|| value.trim().to_owned())
        });
        self.session = Some(session.ok_or("the server gave no session id")?);
        self.send(
            "POST",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        )
        .await?;
        let mut count = 0;
        while Instant::now() < until {
            count += 1;
            let mark = format!("{}{count};", self.mark);
            let plan = serde_json::json!({"steps": [
                {"id": "one", "tool": "echo", "args": {"text": mark}},
                {"id": "two", "tool": "echo", "args": {"text": "${one.text}"}},
            ], "output": "${two.text}"});
            let call = serde_json::json!({
                "jsonrpc": "2.0", "id": count, "method": "tools/call",
                "params": {"name": "execute_plan", "arguments": {"plan": plan}},
            });
            let answer = self.send("POST", &call.to_string()).await?;
            let is_own = answer.contains(&mark)
                && answer
                    .split("mark-")
                    .skip(1)
                    .all(|rest| mark[5..].starts_with(rest.split(';').next().unwrap_or("-")));
            if !is_own || answer.contains("\"isError\":true") {
                return Err(format!("the answer to {mark} is not its own: {answer}").into());
            }
        }
        self.send("DELETE", "").await?;
        Ok(count)
    }

    /// Sends a request on its own connection, and reads the whole response.
    async fn send(&self, method: &str, body: &str) -> Result<String> {
        let session = self.session.as_ref().map_or(String::new(), |session| {
            format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-06-18\r\n")
        });
        let (address, token, length) = (&self.address, &self.token, body.len());
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n{session}\
             content-length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8(answer)?;
        if !answer.starts_with("HTTP/1.1 2") {
            return Err(format!("{method} was refused: {answer}").into());
        }
        Ok(answer)
    }
}
