//! Paths in a repository, as git writes them: from the root, with `/`.

/// The folder of a file or folder; empty for what stands in the root.
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path below a folder; either may be empty.
pub fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", _) => path.to_owned(),
        (_, "") => folder.to_owned(),
        (_, _) => format!("{folder}/{path}"),
    }
}

/// Without `.` and `..`.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}
