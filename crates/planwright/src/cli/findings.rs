//! stub
use super::printer::Printer;
use planwright::core::Diagnostics;
pub(crate) fn show(d: &Diagnostics, _: &[(String, String)], p: Printer) {
    for x in d {
        p.talk(&x.to_string());
    }
}
