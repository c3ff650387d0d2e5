//! The `planwright` program.

mod cli;

/// Plans are many small parts: with the system's allocator, a quarter of the time of a large run was its own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
