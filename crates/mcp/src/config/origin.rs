//! The identity of a server: a digest of the configuration of its transport.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::text::hex;
use sha2::{Digest, Sha256};

use super::server::{
    HttpConfig, OpenApiConfig, ProgramConfig, ServerConfig, ServerTransport, without_query,
};

/// The replacement for a secret, so that a rotated key does not change the identity.
const SECRET: &str = "[redacted]";

impl ServerConfig {
    /// Returns the identity of the server: its command or address, and a SHA-256 digest of everything that determines
    /// which server answers. Two entries of the same name with different origins are different servers.
    ///
    /// Secrets are masked, so that a new token does not change the origin. A relative path of an existing file counts
    /// as its absolute path, because the same path in another directory starts another program.
    pub fn origin(&self) -> Arc<str> {
        let mut parts = OriginDigest::new(&self.secrets);
        let name = match &self.reach {
            ServerTransport::Program(program) => parts.program(program),
            ServerTransport::Http(http) => parts.http(http),
            ServerTransport::OpenApi(api) => parts.openapi(api),
        };
        let name = parts.mask(name);
        format!("{name} sha256:{}", parts.hex()).into()
    }

    /// Returns a SHA-256 digest, in hexadecimal digits, of `salt` and of everything that may change the server's list of
    /// tools: its configuration with the secrets, the size and time of the files in its command line, and for a program
    /// the `search_path` and the working directory.
    pub(crate) fn fingerprint(&self, salt: &str, search_path: Option<&OsStr>) -> String {
        let mut parts = OriginDigest::new(&[]);
        parts.add(salt);
        parts.add(self.protocol.as_deref().unwrap_or_default());
        match &self.reach {
            ServerTransport::Program(program) => {
                parts.program(program);
                parts.add(&search_path.unwrap_or_default().to_string_lossy());
                // It is unknown only if it was removed, and then no relative path leads to a file.
                let here = std::env::current_dir().unwrap_or_default();
                let folder = program.cwd.clone().unwrap_or(here);
                parts.add(&folder.to_string_lossy());
                for word in std::iter::once(&program.command).chain(&program.args) {
                    parts.files(&folder, word);
                }
            }
            ServerTransport::Http(http) => {
                parts.http(http);
            }
            ServerTransport::OpenApi(api) => {
                parts.openapi(api);
                // The list of tools of another document may differ.
                parts.files(Path::new(""), &api.document);
            }
        }
        parts.hex()
    }
}

/// A digest of length-prefixed parts, so that different lists of parts never feed the same bytes.
pub(super) struct OriginDigest<'a> {
    digest: Sha256,
    secrets: &'a [Arc<str>],
}

impl<'a> OriginDigest<'a> {
    /// Creates an empty digest that masks `secrets`.
    pub(super) fn new(secrets: &'a [Arc<str>]) -> Self {
        Self {
            digest: Sha256::new(),
            secrets,
        }
    }

    pub(super) fn program<'p>(&mut self, program: &'p ProgramConfig) -> &'p str {
        self.add("program");
        let folder = program.cwd.as_deref();
        self.path(folder, &program.command);
        self.count(program.args.len());
        for arg in &program.args {
            self.path(folder, arg);
        }
        self.add(&folder.map_or_else(String::new, |folder| folder.to_string_lossy().into_owned()));
        self.count(program.env.len());
        for (name, value) in &program.env {
            self.add(name);
            // A removed variable differs from an empty one.
            self.count(usize::from(value.is_some()));
            self.add(value.as_deref().unwrap_or_default());
        }
        &program.command
    }

    pub(super) fn http<'p>(&mut self, http: &'p HttpConfig) -> &'p str {
        self.add("http");
        self.add(&http.url);
        self.headers(&http.headers);
        // The query may contain keys, so the readable part omits it; the digest includes it.
        without_query(&http.url)
    }

    pub(super) fn openapi<'p>(&mut self, api: &'p OpenApiConfig) -> &'p str {
        self.add("openapi");
        self.path(None, &api.document);
        self.count(usize::from(api.base_url.is_some()));
        self.add(api.base_url.as_deref().unwrap_or_default());
        self.headers(&api.headers);
        without_query(&api.document)
    }

    fn headers(&mut self, headers: &[(String, String)]) {
        self.count(headers.len());
        for (name, value) in headers {
            self.add(name);
            self.add(value);
        }
    }

    /// Adds a word of a command line; a relative path of an existing file counts as its absolute path.
    fn path(&mut self, folder: Option<&Path>, word: &str) {
        let whole = folder.map_or_else(|| PathBuf::from(word), |folder| folder.join(word));
        let is_relative_file = Path::new(word).is_relative() && whole.is_file();
        match std::path::absolute(&whole) {
            Ok(absolute) if is_relative_file => self.add(&absolute.to_string_lossy()),
            _ => self.add(word),
        }
    }

    /// Adds the size and the time of the files that a word of a command line may name: `FILE`, `--option=FILE`, `@FILE`.
    pub(super) fn files(&mut self, folder: &Path, word: &str) {
        let last = word.rsplit(['=', '@']).next().unwrap_or_default();
        for path in [word, last] {
            if let Ok(found) = folder.join(path).metadata()
                && found.is_file()
            {
                let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                let age = modified.duration_since(SystemTime::UNIX_EPOCH);
                self.add(&format!("{} {:?}", found.len(), age.unwrap_or_default()));
            }
        }
    }

    /// Returns the digest in hexadecimal digits.
    pub(super) fn hex(self) -> String {
        hex(&self.digest.finalize())
    }

    pub(super) fn add(&mut self, text: &str) {
        let text = self.mask(text);
        self.count(text.len());
        self.digest.update(text);
    }

    fn count(&mut self, count: usize) {
        self.digest.update((count as u64).to_le_bytes());
    }

    fn mask(&self, text: &str) -> String {
        let secrets = self.secrets.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| {
            text.replace(&**secret, SECRET)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HttpConfig, OpenApiConfig, ProgramConfig, ServerConfig};

    fn program(change: impl FnOnce(&mut ProgramConfig)) -> String {
        let mut program = ProgramConfig {
            command: "node".into(),
            args: vec!["server.js".into()],
            env: vec![("MODE".into(), Some("safe".into()))],
            cwd: Some("/srv".into()),
        };
        change(&mut program);
        ServerConfig::program("files", program).origin().to_string()
    }

    fn http(url: &str) -> String {
        let http = HttpConfig {
            url: url.into(),
            ..HttpConfig::default()
        };
        ServerConfig::http("files", http).origin().to_string()
    }

    fn openapi(document: &str, base_url: Option<&str>) -> String {
        let api = OpenApiConfig {
            document: document.into(),
            base_url: base_url.map(Into::into),
            ..OpenApiConfig::default()
        };
        ServerConfig::openapi("files", api).origin().to_string()
    }

    #[test]
    fn another_program_is_another_origin() {
        let mut origins = vec![
            program(|_| {}),
            program(|program| program.command = "deno".into()),
            program(|program| program.args.push("--all".into())),
            program(|program| program.args = vec!["server.jsx".into()]),
            program(|program| program.cwd = None),
            program(|program| program.env.clear()),
            program(|program| program.env[0].1 = None),
            program(|program| program.env[0].1 = Some("unsafe".into())),
            http("https://one.example/mcp"),
            http("https://one.example/mcp?key=1"),
            http("https://two.example/mcp"),
            openapi("https://one.example/mcp", None),
            openapi("https://one.example/mcp", Some("https://one.example")),
            openapi("https://one.example/mcp", Some("https://two.example")),
        ];
        assert!(origins[0].starts_with("node sha256:"), "{}", origins[0]);
        assert!(origins[9].starts_with("https://one.example/mcp sha256:"));
        let count = origins.len();
        origins.sort();
        origins.dedup();
        assert_eq!(origins.len(), count);
    }

    #[test]
    fn a_new_secret_is_no_other_origin() {
        let with = |secret: &str| {
            let program = ProgramConfig {
                command: "node".into(),
                env: vec![("TOKEN".into(), Some(secret.to_owned()))],
                ..ProgramConfig::default()
            };
            let mut server = ServerConfig::program("files", program);
            server.secrets = vec![secret.into()];
            server.origin()
        };
        assert_eq!(with("first-token"), with("second-token"));
    }

    #[test]
    fn a_relative_file_counts_by_its_absolute_path() {
        let folder = tempfile::tempdir().unwrap();
        let origin = || program(|program| program.cwd = Some(folder.path().into()));
        let before = origin();
        std::fs::write(folder.path().join("server.js"), "").unwrap();
        assert_ne!(origin(), before);
    }
}
