//! Paths in a repository, as git writes them: relative to the root, with `/`.

/// The parent folder of a path; empty for entries of the root.
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Joins a folder and a path; either can be empty.
pub fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", _) => path.to_owned(),
        (_, "") => folder.to_owned(),
        (_, _) => format!("{folder}/{path}"),
    }
}

/// Resolves `.` and `..`.
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
