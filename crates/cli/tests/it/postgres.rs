//! Runs in a PostgreSQL server.

use std::fs;
use std::path::Path;
use std::process::Command;

use planwright_testkit::fake_server;
use planwright_testkit::postgres::{PostgresDatabase, PostgresServer};
use serde_json::json;

use crate::program::{json_report, planwright, stderr, stdout, write_payment};

#[test]
fn a_run_is_decided_and_resumed_from_another_machine() {
    let database = PostgresDatabase::create().unwrap();
    let machines = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for machine in &machines {
        write_payment(machine.path());
    }
    let on = |machine: usize, arguments: &[&str]| {
        let mut command = planwright(machines[machine].path());
        let output = command
            .args(arguments)
            .env("PLANWRIGHT_STORE", database.url())
            .output()
            .unwrap();
        (
            output.status.code(),
            stdout(&output),
            stderr(&output),
            output,
        )
    };
    let run = [
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--format",
        "json",
    ];
    let (status, _, errors, output) = on(0, &run);
    assert_eq!(status, Some(4), "{errors}");
    let id = json_report(&output)["run"].as_str().unwrap().to_owned();
    let (_, listed, _, _) = on(1, &["runs"]);
    assert!(
        listed.contains("payment") && listed.contains("waiting"),
        "{listed}"
    );
    let (_, _, _, shown) = on(1, &["approve", &id, "--show", "--format", "json"]);
    let shown = json_report(&shown);
    let digest = shown["calls"][0]["digest"].as_str().unwrap();
    let (status, _, errors, _) = on(1, &["approve", &id, "--digest", digest]);
    assert_eq!(status, Some(0), "{errors}");
    let (status, text, errors, _) = on(0, &["resume", &id]);
    assert_eq!(status, Some(0), "{errors}");
    assert!(text.contains('3'), "{text}");
    let (status, text, errors, _) = on(1, &["replay", &id]);
    assert_eq!(status, Some(0), "{errors}");
    assert!(text.contains("✓"), "{text}");
}

#[test]
fn a_run_with_a_server_of_this_machine_needs_no_folder_before() {
    let database = PostgresDatabase::create().unwrap();
    let machine = tempfile::tempdir().unwrap();
    let script = json!({"tools": [{"name": "note", "annotations": {"readOnlyHint": true}}]});
    let servers = json!({"mcpServers": {
        "fake": {"command": fake_server::program(), "args": [script.to_string()]}
    }});
    let plan = json!({"steps": [{"id": "noted", "tool": "note"}]});
    fs::write(machine.path().join("mcp.json"), servers.to_string()).unwrap();
    fs::write(machine.path().join("plan.json"), plan.to_string()).unwrap();
    let output = planwright(machine.path())
        .args(["run", "plan.json", "--servers", "mcp.json"])
        .env("PLANWRIGHT_STORE", database.url())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_server_that_cannot_be_reached_is_an_error_without_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = planwright(folder.path());
    let output = command
        .args(["runs", "--store", "postgres://me:secret@127.0.0.1:1/runs"])
        .output()
        .unwrap();
    let errors = stderr(&output);
    assert!(
        errors.contains("`postgres://me@127.0.0.1:1/runs`"),
        "{errors}"
    );
    assert!(!errors.contains("secret"), "{errors}");
    assert_eq!(output.status.code(), Some(70), "{errors}");
}

/// Writes a certificate for this machine that has signed itself, and its key.
#[cfg(unix)]
fn certify(folder: &Path) {
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ])
        // The certificate is that of a server, not of an authority.
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
}

#[cfg(unix)]
#[test]
fn the_certificate_of_a_server_is_verified() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let mut server = PostgresServer::start().unwrap();
    let folder = server.folder().to_owned();
    certify(&folder);
    let other = tempfile::tempdir().unwrap();
    certify(other.path());
    let data = folder.join("data");
    let owner = fs::metadata(&data).unwrap();
    for file in ["key.pem", "cert.pem"] {
        let file = folder.join(file);
        chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let files = folder.display();
    let settings =
        format!("ssl = on\nssl_cert_file = '{files}/cert.pem'\nssl_key_file = '{files}/key.pem'\n");
    fs::write(data.join("postgresql.auto.conf"), settings).unwrap();
    server.kill();
    server.start_again().unwrap();
    let url = server.url().replace("127.0.0.1", "localhost") + "?sslmode=require";
    let trusting = |certificate: &Path| {
        let mut command = planwright(other.path());
        command
            .args(["runs", "--store", &url])
            .env("SSL_CERT_FILE", certificate)
            .output()
            .unwrap()
    };
    let accepted = trusting(&folder.join("cert.pem"));
    assert_eq!(accepted.status.code(), Some(0), "{}", stderr(&accepted));
    let refused = trusting(&other.path().join("cert.pem"));
    assert_eq!(refused.status.code(), Some(70), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("certificate"),
        "{}",
        stderr(&refused)
    );
}
