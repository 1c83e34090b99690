//! Finds tests that fail only in the clean room, and the setting that would help each.

use std::sync::OnceLock;

use regex::Regex;

use super::{Report, Test};

/// Messages of a refused connection.
const REFUSED: &[&str] =
    &["connection refused", "econnrefused", "connectionrefused", "errno 111", "os error 111"];
/// Messages of a missing network.
const NO_NETWORK: &[&str] = &[
    "network is unreachable",
    "enetunreach",
    "name or service not known",
    "temporary failure in name resolution",
    "eai_again",
    "no address associated",
    "getaddrinfo",
    "failed to lookup address",
    "no such host",
];

/// A test that fails only in the clean room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomFailure {
    /// A test's id, or the file that could not be loaded.
    pub id: String,
    pub file: Option<String>,
    pub message: String,
}

/// Facts besides the reports.
pub struct RoomFacts<'a> {
    /// Variables that are set outside the clean room but not in it.
    pub variables: &'a [String],
    /// Those of them that a project file mentions.
    pub mentioned: &'a [String],
    /// Values that the tests get; they can name a port.
    pub values: &'a [String],
    /// Ports of this machine with a listener, as far as is known.
    pub listening: &'a [u16],
    /// Ports that the tests in the clean room already reach.
    pub served: &'a [u16],
    /// Reads a project file.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// Whether the checkout has a path that is not in git.
    pub is_untracked: &'a dyn Fn(&str) -> bool,
}

/// The setting that would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Help {
    Pass(Vec<String>),
    Serve(u16),
    /// It needs a service on this machine, but the port is unknown.
    ServeSomething,
    Copy(String),
    /// It needs the network, which only an open fence allows.
    Network,
    /// The cause is unknown; a run without a fence shows whether the fence is the cause.
    Unknown,
}

impl Help {
    /// The setting in the syntax of `redgreen.toml`.
    pub fn setting(&self) -> String {
        let quoted = |names: &[String]| {
            names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Pass(names) => format!("test.env-pass = [{}]", quoted(names)),
            Self::Serve(port) => format!("test.services = [\"{port}\"]"),
            Self::ServeSomething => {
                "test.services = [\"<port>\"], with the port of the service it connects to"
                    .to_owned()
            }
            Self::Copy(path) => format!("worktree.copy = [{path:?}]"),
            Self::Network => "test.fence = \"none\" (it needs the network)".to_owned(),
            Self::Unknown => {
                "test.fence = \"none\", to see whether the sandbox is the cause".to_owned()
            }
        }
    }
}

/// The settings for several tests in the syntax of `redgreen.toml`, each key once.
pub fn settings<'a>(helps: impl Iterator<Item = &'a Help>) -> Vec<String> {
    let (mut names, mut ports, mut paths, mut others) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let keep = |kept: &mut Vec<String>, one: &str| {
        if !kept.iter().any(|known| known == one) {
            kept.push(one.to_owned());
        }
    };
    for help in helps {
        match help {
            Help::Pass(more) => more.iter().for_each(|name| keep(&mut names, name)),
            Help::Serve(port) => keep(&mut ports, &port.to_string()),
            Help::Copy(path) => keep(&mut paths, path),
            Help::ServeSomething | Help::Network | Help::Unknown => {
                keep(&mut others, &help.setting());
            }
        }
    }
    let row =
        |key: &str, values: &[String]| (!values.is_empty()).then(|| format!("{key} = {values:?}"));
    let rows =
        [row("test.env-pass", &names), row("test.services", &ports), row("worktree.copy", &paths)];
    rows.into_iter().flatten().chain(others).collect()
}

/// The tests that pass outside and fail in the clean room. `outside` may have run only some tests.
pub fn only_there(outside: &Report, room: &Report) -> Vec<RoomFailure> {
    let passes =
        |test: &&Test| outside.test(&test.id).is_some_and(|known| !known.status.is_failure());
    let failing =
        room.tests.iter().filter(|test| test.status.is_failure()).filter(passes).map(|test| {
            RoomFailure {
                id: test.id.clone(),
                file: test.file.clone(),
                message: test.message.clone().unwrap_or_default(),
            }
        });
    let loads = |file: &str| outside.tests.iter().any(|test| test.file.as_deref() == Some(file));
    let broken = room.load_errors.iter().filter_map(|error| {
        let file = error.file.clone()?;
        let is_loaded =
            loads(&file) || (outside.load_errors.is_empty() && !outside.tests.is_empty());
        is_loaded.then(|| RoomFailure {
            id: file.clone(),
            file: Some(file),
            message: error.message.clone(),
        })
    });
    failing.chain(broken).collect()
}

/// The setting for a test that fails only in the clean room.
pub fn help(one: &RoomFailure, known: &RoomFacts<'_>) -> Help {
    let lower = one.message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let source = one.file.as_deref().and_then(known.text).unwrap_or_default();
    let named = |text: &str| -> Vec<String> {
        known.variables.iter().filter(|name| has_word(text, name)).cloned().collect()
    };
    let in_message = named(&one.message);
    if !in_message.is_empty() {
        return Help::Pass(in_message);
    }
    if says(REFUSED) {
        let values = known.values.iter().map(String::as_str);
        let texts: Vec<&str> =
            [one.message.as_str(), source.as_str()].into_iter().chain(values).collect();
        let is_new = |port: &u16| !known.served.contains(port);
        let named_ports: Vec<u16> =
            texts.iter().flat_map(|text| ports(text)).filter(is_new).collect();
        // The test passes outside, so something listens on the port there. Its number may be far
        // from the host name in the text.
        let open: Vec<u16> = known.listening.iter().copied().filter(is_new).collect();
        let numbered =
            || texts.iter().find_map(|text| open.iter().find(|port| has_number(text, **port)));
        let port = named_ports
            .iter()
            .find(|port| open.contains(port))
            .or_else(numbered)
            .or(named_ports.first());
        return match (port, named(&source)) {
            (Some(port), _) => Help::Serve(*port),
            (None, names) if !names.is_empty() => Help::Pass(names),
            (None, _) => Help::ServeSomething,
        };
    }
    if says(NO_NETWORK) {
        return Help::Network;
    }
    if let Some(path) = paths(&one.message).into_iter().find(|path| (known.is_untracked)(path)) {
        return Help::Copy(path);
    }
    let in_source = named(&source);
    if !in_source.is_empty() {
        return Help::Pass(in_source);
    }
    if !known.mentioned.is_empty() {
        return Help::Pass(known.mentioned.to_vec());
    }
    Help::Unknown
}

/// Whether a text contains a name as a whole word.
pub fn has_word(text: &str, name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
            !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
        })
}

/// The listening ports in `/proc/net/tcp` or `/proc/net/tcp6`.
pub fn listening(table: &str) -> Vec<u16> {
    const LISTEN: &str = "0A";
    let port = |line: &str| {
        let mut words = line.split_whitespace();
        let (local, state) = (words.nth(1)?, words.nth(1)?);
        let (_, port) = local.rsplit_once(':')?;
        if state == LISTEN { u16::from_str_radix(port, 16).ok() } else { None }
    };
    table.lines().filter_map(port).collect()
}

/// The ports after a name of this machine that is not the start of another address:
/// `localhost:5432`, `("127.0.0.1", 5432)`, `127.0.0.1), port 5432`.
fn ports(text: &str) -> impl Iterator<Item = u16> {
    static PORT: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = PORT.get_or_init(|| {
        Regex::new(r"(?:localhost|127\.0\.0\.1|::1)[^\d\n]{1,12}(\d{2,5})\.?(?:[^.\d]|$)").ok()
    });
    let found = pattern.iter().flat_map(move |pattern| pattern.captures_iter(text));
    found.filter_map(|found| found.get(1)?.as_str().parse().ok()).filter(|port| *port > 0)
}

/// Whether a text contains a port's number as a whole word. Small numbers are too common.
fn has_number(text: &str, port: u16) -> bool {
    const PORT_MIN: u16 = 1024;
    port >= PORT_MIN && has_word(text, &port.to_string())
}

/// Words that may be paths, without surrounding punctuation.
fn paths(message: &str) -> Vec<String> {
    let words =
        message.split(|letter: char| letter.is_whitespace() || "'\"`,()[]<>".contains(letter));
    let words = words.map(|word| word.trim_end_matches([':', '.']).trim_start_matches("./"));
    words.filter(|word| word.contains(['.', '/'])).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[track_caller]
    fn check(message: &str, source: &str, expected: &str) {
        let names = ["DATABASE_URL".to_owned(), "USER".to_owned()];
        let known = RoomFacts {
            variables: &names,
            mentioned: &[],
            values: &["postgres://u@localhost:6543/db".to_owned()],
            listening: &[8099, 18765, 7000],
            served: &[7000],
            text: &|_| Some(source.to_owned()),
            is_untracked: &|path| path == ".env",
        };
        let one = RoomFailure {
            id: "t".to_owned(),
            file: Some("t.py".to_owned()),
            message: message.to_owned(),
        };
        assert_eq!(help(&one, &known).setting(), expected, "{message}");
    }

    #[test]
    fn suggests_a_setting_for_each_failure() {
        let pass = "test.env-pass = [\"DATABASE_URL\"]";
        check("KeyError: 'DATABASE_URL'", "", pass);
        check("TypeError: Invalid URL", "connect(process.env.DATABASE_URL)", pass);
        check(
            "KeyError: 'DATABASE_URLS'",
            "",
            "test.fence = \"none\", to see whether the sandbox is the cause",
        );
        check("connect ECONNREFUSED 127.0.0.1:5432", "", "test.services = [\"5432\"]");
        check(
            "ConnectionRefusedError: [Errno 111] Connection refused",
            "c((\"127.0.0.1\", 8099))",
            "test.services = [\"8099\"]",
        );
        check("Connection refused", "", "test.services = [\"6543\"]");
        check(
            "server at \"localhost\" (127.0.0.1), port 5433 failed: Connection refused",
            "",
            "test.services = [\"5433\"]",
        );
        // The number is far from the host name; the listening ports identify it.
        let far = "PORT = 18765\nRETRIES = 8098\n\ndef test_ask():\n    ask(PORT)\n";
        check("<urlopen error [Errno 111] Connection refused>", far, "test.services = [\"18765\"]");
        check(
            "getaddrinfo ENOTFOUND example.com",
            "",
            "test.fence = \"none\" (it needs the network)",
        );
        check(
            "FileNotFoundError: [Errno 2] No such file or directory: '.env'",
            "",
            "worktree.copy = [\".env\"]",
        );
    }

    #[test]
    fn suggests_each_setting_once() {
        let pass = |name: &str| Help::Pass(vec![name.to_owned()]);
        let helps = [
            pass("A_URL"),
            Help::Serve(5432),
            pass("A_URL"),
            Help::Serve(6379),
            pass("B_URL"),
            Help::Network,
        ];
        assert_eq!(
            settings(helps.iter()),
            [
                "test.env-pass = [\"A_URL\", \"B_URL\"]",
                "test.services = [\"5432\", \"6379\"]",
                "test.fence = \"none\" (it needs the network)",
            ]
        );
    }

    #[test]
    fn does_not_suggest_a_port_that_is_already_reached() {
        let known = RoomFacts {
            variables: &["DATABASE_URL".to_owned()],
            mentioned: &[],
            values: &[],
            listening: &[7000],
            served: &[7000],
            text: &|_| Some("connect(\"localhost:7000\")".to_owned()),
            is_untracked: &|_| false,
        };
        let one = RoomFailure {
            id: "t".to_owned(),
            file: Some("t.py".to_owned()),
            message: "Connection refused".to_owned(),
        };
        assert_eq!(help(&one, &known), Help::ServeSomething);
        let known = RoomFacts {
            text: &|_| Some("connect(env.DATABASE_URL, \"localhost:7000\")".to_owned()),
            ..known
        };
        assert_eq!(help(&one, &known), Help::Pass(vec!["DATABASE_URL".to_owned()]));
    }

    #[test]
    fn reads_listening_ports_from_proc() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
                     \x20  0: 0100007F:494D 00000000:0000 0A 00000000:00000000\n\
                     \x20  1: 0100007F:1538 0100007F:9C40 01 00000000:00000000\n";
        assert_eq!(listening(table), [18765]);
        assert!(listening("rubbish\n: : :\n").is_empty());
    }

    #[test]
    fn only_tests_that_pass_outside_fail_because_of_the_room() {
        let report = |rows: &[(&str, Status)]| Report {
            tests: rows.iter().map(|(id, status)| Test::new((*id).to_owned(), *status)).collect(),
            ..Report::default()
        };
        let outside = report(&[("a", Status::Passed), ("b", Status::Failed)]);
        let room = report(&[("a", Status::Failed), ("b", Status::Failed), ("c", Status::Failed)]);
        let found: Vec<String> =
            only_there(&outside, &room).into_iter().map(|one| one.id).collect();
        assert_eq!(found, ["a"]);
    }
}
