//! Tables of source code and what each query finds in it.

mod change;
mod imports;
mod inert;
mod items;
mod perturb;
mod robust;

use super::*;

/// `test name 2/1 [Skip] x3`: assertions, exact ones, markers, rows.
fn told(item: &Item) -> String {
    let mut text = format!("{} {}", if item.is_test { "test" } else { "item" }, item.name);
    if item.assertions > 0 {
        text.push_str(&format!(" {}/{}", item.assertions, item.exact));
    }
    if !item.markers.is_empty() {
        text.push_str(&format!(" {:?}", item.markers));
    }
    if let Some(rows) = item.parameters {
        text.push_str(&format!(" x{rows}"));
    }
    text
}
