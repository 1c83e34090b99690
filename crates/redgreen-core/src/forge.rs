//! The page on which to open a pull request, from a remote's address.

/// The page that opens a pull or merge request for a pushed branch; `None` for an unknown host.
pub fn pull_request_page(remote: &str, branch: &str) -> Option<String> {
    let (host, path) = place(remote)?;
    let branch = escaped(branch);
    if host.split('.').any(|part| part == "github") {
        return Some(format!("https://{host}/{path}/compare/{branch}?expand=1"));
    }
    if host.split('.').any(|part| part == "gitlab") {
        let query = format!("merge_request%5Bsource_branch%5D={branch}");
        return Some(format!("https://{host}/{path}/-/merge_requests/new?{query}"));
    }
    None
}

/// Host and path of a repository. Drops the part before `@`, which may be a credential.
fn place(remote: &str) -> Option<(String, String)> {
    let (host, path) = match remote.split_once("://") {
        Some(("https" | "http" | "ssh" | "git" | "git+ssh", rest)) => rest.split_once('/')?,
        Some(_) => return None,
        // `git@host:owner/name`; a file path has a slash before any colon.
        None => remote.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let plain = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_' | '~' | '/')
    };
    let is_sound = !host.is_empty()
        && path.contains('/')
        && path.chars().all(plain)
        && host.chars().all(plain);
    is_sound.then(|| (host.to_ascii_lowercase(), path.to_owned()))
}

/// Percent-encodes a branch for a URL; both hosts accept a plain slash.
fn escaped(branch: &str) -> String {
    let mut text = String::with_capacity(branch.len());
    for byte in branch.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hosts_have_a_page() {
        let github = Some("https://github.com/ada/calc/compare/feat/a%23b?expand=1".to_owned());
        let gitlab = Some(
            "https://gitlab.example.com/a/b/calc/-/merge_requests/new?merge_request%5Bsource_branch%5D=feat/a%23b"
                .to_owned(),
        );
        for (remote, expected) in [
            ("https://github.com/ada/calc.git", &github),
            ("https://ada:secret@github.com/ada/calc", &github),
            ("git@github.com:ada/calc.git", &github),
            ("ssh://git@GitHub.com:22/ada/calc.git", &github),
            ("git@gitlab.example.com:a/b/calc.git", &gitlab),
            ("https://gitlab.example.com/a/b/calc/", &gitlab),
            ("https://notgithub.com/ada/calc", &None),
            ("/srv/git/github.com:ada/calc.git", &None),
            ("file:///srv/github/calc", &None),
            ("https://github.com/", &None),
            ("https://github.com/ada/ca lc\n", &None),
        ] {
            assert_eq!(pull_request_page(remote, "feat/a#b"), *expected, "{remote}");
        }
    }
}
