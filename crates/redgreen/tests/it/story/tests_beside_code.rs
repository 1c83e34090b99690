//! Tests inside source files, as in Rust: allowed in RED, frozen in GREEN.

use super::Story;

const SCRIPT: &str = r##"
[[plan]]
do = [{ write = "test-list.md", text = "- [ ] doubles\n" }]
next = { description = "doubles", test-file = "src/lib.rs", impl-file = "src/lib.rs" }

[[red]]
do = [{ append = "src/lib.rs", text = """
#[cfg(test)]
mod tests {
    #[test]
    fn doubles() {
        assert_eq!(crate::double(4), 8);
    }
}
""" }]

[[green]]
note = "cheats"
do = [
  { edit = "src/lib.rs", old = "pub fn one", new = "pub fn double(_: u32) -> u32 {\n    9\n}\n\npub fn one" },
  { edit = "src/lib.rs", old = "double(4), 8", new = "double(4), 9" },
]

[[green]]
do = [{ edit = "src/lib.rs", old = "pub fn one", new = "pub fn double(number: u32) -> u32 {\n    2 * number\n}\n\npub fn one" }]

[[plan]]
done = true
"##;

#[test]
fn an_assertion_in_a_source_file_cannot_be_bent_in_green() {
    let story = Story::bare_folder();
    story.git("init -q -b main");
    story.git("config user.name Ada");
    story.git("config user.email ada@example.com");
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    story.file("Cargo.toml", manifest).file("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n");
    story
        .file("redgreen.toml", "backoff = 0.0\n")
        .file(".gitignore", "target/\n")
        .script("kata.toml", SCRIPT);
    story.commit("first");
    let said = story.redgreen("run --script @kata.toml \"double numbers\"").exits(3);
    let said = said.says("src/lib.rs was changed [green.tests_changed]");
    assert_eq!(said.stderr.matches("GREEN     accepted").count(), 1, "{}", said.stderr);
    let lib = story.git(&format!("show {}:src/lib.rs", story.branch()));
    assert!(lib.contains("double(4), 8") && lib.contains("2 * number"), "{lib}");
}
