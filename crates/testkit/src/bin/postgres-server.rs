//! A PostgreSQL server for several tests: prints its address, and runs until its standard input ends.
#![expect(clippy::print_stdout, reason = "the address is its output")]

use std::io::{self, Read, Write};

use planwright_testkit::postgres::PostgresServer;

fn main() -> io::Result<()> {
    let server = PostgresServer::start()?;
    println!("{}", server.url());
    io::stdout().flush()?;
    let mut rest = Vec::new();
    io::stdin().read_to_end(&mut rest)?;
    drop(server);
    Ok(())
}
