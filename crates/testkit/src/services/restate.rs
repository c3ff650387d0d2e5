//! A Restate server of one node or several, in a temporary folder, on ports of its own.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The folder of the packages of Restate below cargo's target folder, where `cargo xtask servers` installs the one of this platform.
const PACKAGES: &str = "servers/restate/node_modules/@restatedev";

/// The time within which a server must accept requests.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A server, which is killed and removed when this is dropped.
#[derive(Debug)]
pub struct RestateServer {
    folder: TempDir,
    program: PathBuf,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    /// The ports of the nodes among themselves, of the ingress and of the admin interface.
    ports: [u16; 3],
    process: Option<Child>,
}

impl Node {
    fn address(&self, port: usize) -> String {
        format!("127.0.0.1:{}", self.ports[port])
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl RestateServer {
    /// Starts a server of one node.
    ///
    /// # Errors
    ///
    /// If the program is missing, or the server does not start.
    pub fn start() -> io::Result<Self> {
        Self::with_nodes(1)
    }

    /// Starts a server of three nodes, which works as long as two of them do.
    ///
    /// # Errors
    ///
    /// If the program is missing, or the server does not start.
    pub fn start_cluster() -> io::Result<Self> {
        Self::with_nodes(3)
    }

    fn with_nodes(count: usize) -> io::Result<Self> {
        let ports = free_ports(3 * count)?;
        let nodes = ports.chunks_exact(3).map(|ports| Node {
            ports: [ports[0], ports[1], ports[2]],
            process: None,
        });
        let mut server = Self {
            folder: tempfile::Builder::new()
                .prefix("planwright-restate")
                .tempdir()?,
            program: program()?,
            nodes: nodes.collect(),
        };
        server.start_again()?;
        Ok(server)
    }

    /// Starts the nodes again that were [killed](Self::kill), and waits until they accept requests.
    ///
    /// # Errors
    ///
    /// If one does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        for node in 0..self.nodes.len() {
            if self.nodes[node].process.is_none() {
                self.nodes[node].process = Some(self.spawn(node)?);
            }
        }
        (0..self.nodes.len()).try_for_each(|node| self.wait_until_healthy(node))
    }

    fn spawn(&self, number: usize) -> io::Result<Child> {
        let node = &self.nodes[number];
        let log = std::fs::File::create(self.log(number))?;
        let mut command = Command::new(&self.program);
        command
            .args(["--no-logo", "--node-name", &format!("node-{number}")])
            .env("RESTATE_BASE_DIR", self.folder.path().join("data"))
            .env("RESTATE_LISTEN_MODE", "tcp")
            .env("RESTATE_BIND_ADDRESS", node.address(0))
            .env("RESTATE_INGRESS__BIND_ADDRESS", node.address(1))
            .env("RESTATE_ADMIN__BIND_ADDRESS", node.address(2))
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("RESTATE_DEFAULT_NUM_PARTITIONS", "2")
            .env("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "256MB")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        if 1 < self.nodes.len() {
            let all = self.nodes.iter();
            let all: Vec<_> = all
                .map(|node| format!("\"http://{}\"", node.address(0)))
                .collect();
            command
                .env("RESTATE_CLUSTER_NAME", "planwright")
                .env(
                    "RESTATE_ADVERTISED_ADDRESS",
                    format!("http://{}", node.address(0)),
                )
                .env(
                    "RESTATE_METADATA_CLIENT__ADDRESSES",
                    format!("[{}]", all.join(",")),
                )
                .env("RESTATE_DEFAULT_REPLICATION", "2")
                .env("RESTATE_AUTO_PROVISION", (number == 0).to_string());
        }
        command.spawn()
    }

    fn log(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("log-{node}"))
    }

    fn wait_until_healthy(&mut self, number: usize) -> io::Result<()> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test waits for a process, whatever its clock says"
        )]
        let begun = Instant::now();
        let (ingress, admin) = (self.nodes[number].address(1), self.nodes[number].address(2));
        let is_healthy = || answers(&admin, "/health") && answers(&ingress, "/restate/health");
        while !is_healthy() {
            let process = self.nodes[number].process.as_mut();
            let ended = process.map(Child::try_wait).transpose()?;
            if ended.flatten().is_some() || TIMEOUT < begun.elapsed() {
                let log = std::fs::read_to_string(self.log(number))?;
                return Err(io::Error::other(format!("the server did not start: {log}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Kills all nodes, as a crash of their machine.
    pub fn kill(&mut self) {
        self.nodes.iter_mut().for_each(Node::kill);
    }

    /// Kills one node. The others continue without it.
    pub fn kill_node(&mut self, node: usize) {
        self.nodes[node].kill();
    }

    /// The address of the ingress of the first node.
    pub fn ingress(&self) -> String {
        self.ingress_of(0)
    }

    /// The address of the ingress of a node.
    pub fn ingress_of(&self, node: usize) -> String {
        format!("http://{}", self.nodes[node].address(1))
    }

    /// The address of the admin interface of the first node.
    pub fn admin(&self) -> String {
        format!("http://{}", self.nodes[0].address(2))
    }
}

impl Drop for RestateServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns true if the server at `address` answers a request for `path` with success.
fn answers(address: &str, path: &str) -> bool {
    let answered = || -> io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(status.ends_with(b" 200"))
    };
    answered().unwrap_or(false)
}

/// Returns ports that are free now. All are bound until the last one is known, so that they differ.
fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<io::Result<_>>()?;
    let ports = listeners.iter();
    ports
        .map(|listener| Ok(listener.local_addr()?.port()))
        .collect()
}

fn program() -> io::Result<PathBuf> {
    let system = if cfg!(target_os = "macos") {
        "darwin"
    } else {
        "linux"
    };
    let processor = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "x64"
    };
    let path = format!("{PACKAGES}/restate-server-{system}-{processor}/bin/restate-server");
    crate::programs::installed(&path).ok_or_else(|| {
        io::Error::other("there is no Restate server: run `cargo xtask servers` first")
    })
}
