//! The fake MCP server as a program: its only argument is the script, or `@PATH`.

fn main() -> std::process::ExitCode {
    planwright_testkit::fake_server::run(std::env::args().nth(1).as_deref())
}
