//! Link arguments of extension modules, which find the symbols of Python when they are loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
