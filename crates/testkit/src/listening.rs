//! Processes of programs that serve HTTP, and a port at which none does.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use tokio::net::TcpSocket;

/// The time within which a program must print its address.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The process of a program that serves HTTP; killed on drop.
#[derive(Debug)]
pub struct HttpServerProcess {
    child: Child,
    url: String,
}

impl HttpServerProcess {
    /// Starts the program, and waits for the line `listening on URL` on its standard error.
    ///
    /// # Panics
    ///
    /// If the line does not appear; the message holds the output instead.
    pub fn start(mut command: Command) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut listening = Self {
            child: child.expect("the program can be started"),
            url: String::new(),
        };
        let errors = listening.child.stderr.take();
        let errors = BufReader::new(errors.expect("its errors are piped"));
        let (sender, lines) = channel();
        // The thread continues to read, so that the program never blocks on a full pipe.
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut output = String::new();
        while let Ok(line) = lines.recv_timeout(TIMEOUT) {
            if let Some((_, url)) = line.split_once("listening on ") {
                url.trim().clone_into(&mut listening.url);
                return listening;
            }
            output += &line;
            output.push('\n');
        }
        panic!("{command:?} does not say where it listens:\n{output}");
    }

    /// The URL of the program.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends SIGTERM, and waits for the end of the process.
    ///
    /// # Panics
    ///
    /// If the signal cannot be sent.
    #[cfg(unix)]
    pub fn terminate(&mut self) -> std::process::ExitStatus {
        let id = self.id().to_string();
        let signalled = Command::new("kill").args(["-TERM", &id]).status();
        assert!(
            signalled.is_ok_and(|status| status.success()),
            "the signal can be sent"
        );
        self.child.wait().expect("it ends")
    }

    /// Kills the process, and waits for its end.
    ///
    /// # Panics
    ///
    /// If the process cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for HttpServerProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that refuses connections until it is dropped: it is bound, but no socket listens. A port that was merely
/// free a moment ago may be in use by now.
#[derive(Debug)]
pub struct ClosedPort(TcpSocket);

impl ClosedPort {
    /// Binds a free port of this machine.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn take() -> Self {
        let socket = TcpSocket::new_v4().expect("there are sockets");
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(any).expect("a port is free");
        Self(socket)
    }

    /// The URL at which connections are refused.
    ///
    /// # Panics
    ///
    /// Never: the socket is bound.
    pub fn url(&self) -> String {
        let address = self.0.local_addr().expect("it is bound");
        format!("http://{address}")
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::ClosedPort;

    #[test]
    fn the_port_can_neither_be_reached_nor_bound() {
        let closed = ClosedPort::take();
        let url = closed.url();
        let address = url.strip_prefix("http://").unwrap();
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let taken = std::net::TcpListener::bind(address).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    }
}
