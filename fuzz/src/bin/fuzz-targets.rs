//! Prints the names of all fuzz targets, one a line.
#![expect(
    clippy::print_stdout,
    reason = "`cargo xtask fuzz` reads what it prints"
)]

fn main() {
    for target in planwright_fuzz::targets() {
        println!("{}", target.name);
    }
}
