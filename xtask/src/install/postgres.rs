//! The PostgreSQL server that stores are tested in.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::debian::debian_package;
use crate::project::Project;

/// The folder of the programs of the server in Debian.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// The programs of the example of replicas, and their packages in Debian.
const OF_REPLICAS: [(&str, &str); 2] =
    [("/usr/sbin/haproxy", "haproxy"), ("/usr/bin/curl", "curl")];

/// A running server. It ends when this is dropped.
pub(crate) struct PostgresServer {
    process: Child,
    /// The address of its database.
    pub(crate) url: String,
}

/// Starts a server for all tests, with the program of the testkit. What the server and the example of
/// replicas need and the system does not have is installed with the package manager of Debian.
///
/// # Errors
///
/// There is no server, and none can be installed, or it does not start.
pub(crate) fn postgres(project: &Project) -> Result<PostgresServer, String> {
    if !std::path::Path::new(PROGRAMS).is_dir() {
        debian_package(project, "postgresql").map_err(|error| {
            format!("stores are tested in PostgreSQL, which is missing: install it ({error})")
        })?;
    }
    for (program, package) in OF_REPLICAS {
        if !std::path::Path::new(program).is_file() {
            debian_package(project, package).map_err(|error| {
                format!("the example of replicas needs `{program}`: install it ({error})")
            })?;
        }
    }
    // The stage before has built it.
    let program = project.target().join("debug/postgres-server");
    let failed = |error| format!("the PostgreSQL server for tests did not start: {error}");
    let mut process = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let mut url = String::new();
    let output = process.stdout.take().map(BufReader::new);
    let read = output.map(|mut output| output.read_line(&mut url));
    match read {
        Some(Ok(read)) if 0 < read => Ok(PostgresServer {
            process,
            url: url.trim().to_owned(),
        }),
        Some(Err(error)) => Err(failed(error.to_string())),
        Some(Ok(_)) | None => Err(failed("it printed no address".to_owned())),
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // Its input ends, and then it does.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
