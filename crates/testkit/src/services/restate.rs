//! A Restate server of one node in a temporary folder, on ports of its own.

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
    /// The ports of the nodes among themselves, of the ingress and of the admin interface.
    ports: [u16; 3],
    process: Option<Child>,
}

impl RestateServer {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// If the program is missing, or the server does not start.
    pub fn start() -> io::Result<Self> {
        let mut server = Self {
            folder: tempfile::Builder::new()
                .prefix("planwright-restate")
                .tempdir()?,
            program: program()?,
            ports: free_ports()?,
            process: None,
        };
        server.start_again()?;
        Ok(server)
    }

    /// Starts the server again after [`kill`](Self::kill), and waits until it accepts requests.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        let [node, ingress, admin] = self.ports.map(|port| format!("127.0.0.1:{port}"));
        let log = std::fs::File::create(self.folder.path().join("log"))?;
        let process = Command::new(&self.program)
            .args(["--no-logo", "--node-name", "node"])
            .env("RESTATE_BASE_DIR", self.folder.path().join("data"))
            .env("RESTATE_LISTEN_MODE", "tcp")
            .env("RESTATE_BIND_ADDRESS", node)
            .env("RESTATE_INGRESS__BIND_ADDRESS", &ingress)
            .env("RESTATE_ADMIN__BIND_ADDRESS", &admin)
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("RESTATE_DEFAULT_NUM_PARTITIONS", "2")
            .env("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "256MB")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.process = Some(process);
        #[expect(
            clippy::disallowed_methods,
            reason = "a test waits for a process, whatever its clock says"
        )]
        let begun = Instant::now();
        let is_healthy = || answers(&admin, "/health") && answers(&ingress, "/restate/health");
        while !is_healthy() {
            let ended = self.process.as_mut().map(Child::try_wait).transpose()?;
            if ended.flatten().is_some() || TIMEOUT < begun.elapsed() {
                let log = std::fs::read_to_string(self.folder.path().join("log"))?;
                return Err(io::Error::other(format!("the server did not start: {log}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Kills the server, as a crash of it.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// The address of the ingress.
    pub fn ingress(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[1])
    }

    /// The address of the admin interface.
    pub fn admin(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[2])
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
fn free_ports() -> io::Result<[u16; 3]> {
    let bind = || TcpListener::bind("127.0.0.1:0");
    let listeners = [bind()?, bind()?, bind()?];
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
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
