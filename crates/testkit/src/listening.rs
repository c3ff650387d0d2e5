//! Programs that listen, as tests start them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long a program may take until it says where it listens.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that listens until this is dropped.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    /// Starts it, and waits until it says on its standard error `listening on URL`.
    ///
    /// # Panics
    ///
    /// Where it does not come to that, with what it said instead.
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
        // It goes on reading, so that the program never waits for somebody who does.
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut said = String::new();
        while let Ok(line) = lines.recv_timeout(PATIENCE) {
            if let Some((_, url)) = line.split_once("listening on ") {
                url.trim().clone_into(&mut listening.url);
                return listening;
            }
            said += &line;
            said.push('\n');
        }
        panic!("{command:?} does not say where it listens:\n{said}");
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Panics
    ///
    /// Where it cannot be asked.
    #[cfg(unix)]
    pub fn terminate(&mut self) -> std::process::ExitStatus {
        let id = self.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.is_ok_and(|told| told.success()), "it can be told");
        self.child.wait().expect("it ends")
    }

    /// Kills it without a word, and waits until it is gone.
    ///
    /// # Panics
    ///
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
