//! Prints the names of all fuzz targets, one a line.

fn main() {
    for target in planwright_fuzz::targets() {
        println!("{}", target.name);
    }
}
