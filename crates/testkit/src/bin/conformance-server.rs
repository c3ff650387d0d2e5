//! The conformance server as a program.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    planwright_testkit::conformance_server::run(&arguments)
}
