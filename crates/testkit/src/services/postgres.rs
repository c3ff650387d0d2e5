//! A PostgreSQL server in a temporary folder, on a port of its own.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;

/// The folders in which Debian's packages have the programs of the server, the newest version first.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// The variable with the address of a server for all tests, as the program `postgres-server` of this crate prints it.
pub const SHARED_SERVER: &str = "PLANWRIGHT_POSTGRES";

/// A new database, in a server for all tests or, if there is none, in one of its own.
#[derive(Debug)]
pub struct PostgresDatabase {
    url: String,
    _server: Option<PostgresServer>,
}

impl PostgresDatabase {
    /// Creates the database.
    ///
    /// # Errors
    ///
    /// Those of [`PostgresServer::start`], and of the program `createdb`.
    #[expect(
        clippy::disallowed_methods,
        reason = "the task that runs all tests names its server"
    )]
    pub fn create() -> io::Result<Self> {
        let Some(server) = env::var_os(SHARED_SERVER) else {
            let server = PostgresServer::start()?;
            return Ok(Self {
                url: server.url(),
                _server: Some(server),
            });
        };
        let server = server.to_string_lossy();
        let since = UNIX_EPOCH.elapsed().unwrap_or_default();
        let name = format!("test_{}_{}", process::id(), since.as_nanos());
        let made = Command::new(programs()?.join("createdb"))
            .arg("--maintenance-db")
            .args([&*server, &*name])
            .status()?;
        if !made.success() {
            return Err(io::Error::other(format!("createdb ended with {made}")));
        }
        let (base, _) = server.rsplit_once('/').unwrap_or_default();
        Ok(Self {
            url: format!("{base}/{name}"),
            _server: None,
        })
    }

    /// Returns the address of the database.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// A server, which is killed and removed when this is dropped. A commit is not synced to the disk: the server survives its own death,
/// not that of the machine.
#[derive(Debug)]
pub struct PostgresServer {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    /// The options of the file system in memory that the server has at [`PostgresServer::small_disk`].
    small_disk: Option<String>,
    process: Option<Child>,
}

impl PostgresServer {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// If the programs are missing, or the server does not start.
    pub fn start() -> io::Result<Self> {
        Self::start_with(None)
    }

    /// Starts a server that has a file system of `size` bytes in memory, in a mount namespace of its own. It is there until the server ends.
    ///
    /// # Errors
    ///
    /// Those of [`PostgresServer::start`]; if the programs `unshare` and `setpriv` are missing or have no right to mount it.
    #[cfg(target_os = "linux")]
    pub fn start_with_small_disk(size: u64) -> io::Result<Self> {
        // The server refuses a folder of another user.
        let owner = unprivileged().map(|(user, group)| format!(",uid={user},gid={group}"));
        let owner = owner.unwrap_or_default();
        Self::start_with(Some(format!("size={size},mode=700{owner}")))
    }

    fn start_with(small_disk: Option<String>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("planwright-pg").tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut server = Self {
            folder,
            programs: programs()?,
            port,
            small_disk,
            process: None,
        };
        own(server.folder.path())?;
        let made = server
            .command("initdb")
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=planwright",
                "--locale=C",
                "--encoding=UTF8",
            ])
            .arg("--pgdata")
            .arg(server.data())
            .stdout(Stdio::null())
            .status()?;
        if !made.success() {
            return Err(io::Error::other(format!("initdb ended with {made}")));
        }
        server.start_again()?;
        Ok(server)
    }

    /// Starts the server again after [`kill`](Self::kill), and waits until it accepts connections.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        loop {
            match self.try_start() {
                // Sessions of the killed server have not noticed its end yet.
                Err(error)
                    if error
                        .to_string()
                        .contains("pre-existing shared memory block") =>
                {
                    std::thread::sleep(Duration::from_millis(20));
                }
                started => return started,
            }
        }
    }

    fn try_start(&mut self) -> io::Result<()> {
        let mut process = self
            .server_command()
            .arg("-D")
            .arg(self.data())
            .args(["-p", &self.port.to_string()])
            .arg("-k")
            .arg(self.folder.path())
            .args([
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "fsync=off",
                "-c",
                "max_connections=200",
            ])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let log = process.stderr.take().map(BufReader::new);
        let mut seen = Vec::new();
        let mut lines = log.into_iter().flat_map(BufRead::lines);
        let is_ready = lines.by_ref().map_while(Result::ok).any(|line| {
            let is_ready = line.contains("ready to accept connections");
            seen.push(line);
            is_ready
        });
        if !is_ready {
            let _ = process.kill();
            let _ = process.wait();
            return Err(io::Error::other(format!(
                "the server did not start: {}",
                seen.join("\n")
            )));
        }
        // A full pipe would stop the server.
        std::thread::spawn(move || lines.for_each(drop));
        self.process = Some(process);
        Ok(())
    }

    /// Kills the server, as a crash of it.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Executes a statement.
    ///
    /// # Errors
    ///
    /// If the program `psql` is missing, or the server refuses the statement.
    pub fn execute(&self, sql: &str) -> io::Result<()> {
        let mut psql = self.command("psql");
        let options = ["-qX", "-v", "ON_ERROR_STOP=1", "-c", sql, "-d", &self.url()];
        let status = psql.args(options).status()?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("psql ended with {status}")))
    }

    /// Returns the address of the database of the server.
    pub fn url(&self) -> String {
        format!("postgres://planwright@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the folder of the server, for other files of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path at which the server has its small disk.
    pub fn small_disk(&self) -> PathBuf {
        self.folder.path().join("small")
    }

    /// Returns the path at which this process finds the small disk of the server.
    #[cfg(target_os = "linux")]
    pub fn small_disk_from_here(&self) -> Option<PathBuf> {
        let process = self.process.as_ref()?.id();
        let disk = self.small_disk();
        Some(Path::new(&format!("/proc/{process}/root")).join(disk.strip_prefix("/").ok()?))
    }

    fn server_command(&self) -> Command {
        let Some(options) = &self.small_disk else {
            return self.command("postgres");
        };
        let mut command = Command::new("/usr/bin/unshare");
        command.current_dir(self.folder.path());
        let server = match unprivileged() {
            Some((user, group)) => {
                format!("setpriv --reuid {user} --regid {group} --clear-groups")
            }
            // The server refuses to run as the administrator, also as that of a user namespace.
            None => {
                command.args(["--user", "--map-root-user"]);
                "unshare --user --map-user=1000 --map-group=1000".to_owned()
            }
        };
        let script = format!(
            "mkdir -p small && mount -t tmpfs -o {options} tmpfs small && exec {server} \"$@\""
        );
        command.args(["--mount", "sh", "-c", &script, "sh"]);
        command.arg(self.programs.join("postgres"));
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(self.folder.path());
        #[cfg(unix)]
        if let Some((user, group)) = unprivileged() {
            use std::os::unix::process::CommandExt;
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn programs() -> io::Result<PathBuf> {
    let mut versions: Vec<PathBuf> = fs::read_dir(PROGRAMS)
        .map_err(|_| missing())?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| folder.join("postgres").exists())
        .collect();
    versions.sort();
    versions.pop().ok_or_else(missing)
}

fn missing() -> io::Error {
    io::Error::other("there is no PostgreSQL server: install Debian's package `postgresql`")
}

/// Returns the user and group of the server if this process is the administrator, as whom a server refuses to run.
#[cfg(unix)]
fn unprivileged() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let users = fs::read_to_string("/etc/passwd").ok().filter(|_| is_root)?;
    let user = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = user.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(not(unix))]
fn unprivileged() -> Option<(u32, u32)> {
    None
}

/// Gives `folder` to the user of the server.
fn own(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some((user, group)) = unprivileged() {
        std::os::unix::fs::chown(folder, Some(user), Some(group))?;
    }
    let _ = folder;
    Ok(())
}
