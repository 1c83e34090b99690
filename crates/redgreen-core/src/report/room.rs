//! Tests that fail in the clean room and nowhere else, and the setting that would help each.

use std::sync::OnceLock;

use regex::Regex;

use super::{Report, Test};

/// How programs say that nobody listens.
const REFUSED: &[&str] = &["connection refused", "econnrefused", "connectionrefused", "errno 111", "os error 111"];
/// How they say that there is no way out.
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

/// One of these tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnlyThere {
    /// A test's id, or the file that could not be loaded.
    pub id: String,
    pub file: Option<String>,
    pub message: String,
}

/// What is known beside the reports.
pub struct Known<'a> {
    /// Variables that are set outside of the room and not in it.
    pub variables: &'a [String],
    /// Those of them that some file of the project names.
    pub mentioned: &'a [String],
    /// Values that the tests get, which may name a port.
    pub values: &'a [String],
    /// Ports of this machine that somebody listens on, as far as can be told.
    pub listening: &'a [u16],
    /// Those that the tests in the room reach already.
    pub served: &'a [u16],
    /// The text of a file of the project.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// Whether the checkout has a path that git does not hold.
    pub is_untracked: &'a dyn Fn(&str) -> bool,
}

/// The setting that would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Help {
    Pass(Vec<String>),
    Serve(u16),
    /// It wants a service of this machine, and nothing tells which.
    ServeSomething,
    Copy(String),
    /// It wants the network, which only an open fence lets through.
    Network,
    /// Nothing tells; without a fence one can find out.
    Unknown,
}

impl Help {
    /// As it is written in `redgreen.toml`.
    pub fn setting(&self) -> String {
        let quoted = |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        match self {
            Self::Pass(names) => format!("test.env-pass = [{}]", quoted(names)),
            Self::Serve(port) => format!("test.services = [\"{port}\"]"),
            Self::ServeSomething => {
                "test.services = [\"<port>\"], with the port of the service it connects to".to_owned()
            }
            Self::Copy(path) => format!("worktree.copy = [{path:?}]"),
            Self::Network => "test.fence = \"none\" (it wants the network)".to_owned(),
            Self::Unknown => "test.fence = \"none\", to see whether it is the fence".to_owned(),
        }
    }
}

/// The settings that help several tests, as they are written in `redgreen.toml`: each key once.
pub fn settings<'a>(helps: impl Iterator<Item = &'a Help>) -> Vec<String> {
    let (mut names, mut ports, mut paths, mut others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
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
            Help::ServeSomething | Help::Network | Help::Unknown => keep(&mut others, &help.setting()),
        }
    }
    let row = |key: &str, values: &[String]| (!values.is_empty()).then(|| format!("{key} = {values:?}"));
    let rows = [row("test.env-pass", &names), row("test.services", &ports), row("worktree.copy", &paths)];
    rows.into_iter().flatten().chain(others).collect()
}

/// What passes outside and fails in the room. `outside` may have run only some tests.
pub fn only_there(outside: &Report, room: &Report) -> Vec<OnlyThere> {
    let passes = |test: &&Test| outside.test(&test.id).is_some_and(|known| !known.status.is_failure());
    let failing = room.tests.iter().filter(|test| test.status.is_failure()).filter(passes).map(|test| OnlyThere {
        id: test.id.clone(),
        file: test.file.clone(),
        message: test.message.clone().unwrap_or_default(),
    });
    let loads = |file: &str| outside.tests.iter().any(|test| test.file.as_deref() == Some(file));
    let broken = room.load_errors.iter().filter_map(|error| {
        let file = error.file.clone()?;
        let is_loaded = loads(&file) || (outside.load_errors.is_empty() && !outside.tests.is_empty());
        is_loaded.then(|| OnlyThere { id: file.clone(), file: Some(file), message: error.message.clone() })
    });
    failing.chain(broken).collect()
}

/// What would help a test that fails only in the room.
pub fn help(one: &OnlyThere, known: &Known<'_>) -> Help {
    let lower = one.message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let source = one.file.as_deref().and_then(known.text).unwrap_or_default();
    let named =
        |text: &str| -> Vec<String> { known.variables.iter().filter(|name| has_word(text, name)).cloned().collect() };
    let in_message = named(&one.message);
    if !in_message.is_empty() {
        return Help::Pass(in_message);
    }
    if says(REFUSED) {
        let values = known.values.iter().map(String::as_str);
        let texts: Vec<&str> = [one.message.as_str(), source.as_str()].into_iter().chain(values).collect();
        let is_new = |port: &u16| !known.served.contains(port);
        let named_ports: Vec<u16> = texts.iter().flat_map(|text| ports(text)).filter(is_new).collect();
        // A test that passes outside of the room is answered there: the port is one that somebody listens on. Its number
        // may stand far from the name of the machine.
        let open: Vec<u16> = known.listening.iter().copied().filter(is_new).collect();
        let numbered = || texts.iter().find_map(|text| open.iter().find(|port| has_number(text, **port)));
        let port = named_ports.iter().find(|port| open.contains(port)).or_else(numbered).or(named_ports.first());
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

/// Whether a name stands in a text by itself.
pub fn has_word(text: &str, name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
            !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
        })
}

/// The ports in `/proc/net/tcp` or `/proc/net/tcp6` that somebody listens on.
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

/// The ports behind a name of this machine, which is not the beginning of another address: `localhost:5432`,
/// `("127.0.0.1", 5432)`, `127.0.0.1), port 5432`.
fn ports(text: &str) -> impl Iterator<Item = u16> {
    static PORT: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern =
        PORT.get_or_init(|| Regex::new(r"(?:localhost|127\.0\.0\.1|::1)[^\d\n]{1,12}(\d{2,5})\.?(?:[^.\d]|$)").ok());
    let found = pattern.iter().flat_map(move |pattern| pattern.captures_iter(text));
    found.filter_map(|found| found.get(1)?.as_str().parse().ok()).filter(|port| *port > 0)
}

/// Whether a port's number stands in a text by itself. A small number stands in too many.
fn has_number(text: &str, port: u16) -> bool {
    const PORT_MIN: u16 = 1024;
    port >= PORT_MIN && has_word(text, &port.to_string())
}

/// Words that may be paths, without what stands around them.
fn paths(message: &str) -> Vec<String> {
    let words = message.split(|letter: char| letter.is_whitespace() || "'\"`,()[]<>".contains(letter));
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
        let known = Known {
            variables: &names,
            mentioned: &[],
            values: &["postgres://u@localhost:6543/db".to_owned()],
            listening: &[8099, 18765, 7000],
            served: &[7000],
            text: &|_| Some(source.to_owned()),
            is_untracked: &|path| path == ".env",
        };
        let one = OnlyThere { id: "t".to_owned(), file: Some("t.py".to_owned()), message: message.to_owned() };
        assert_eq!(help(&one, &known).setting(), expected, "{message}");
    }

    #[test]
    fn each_failure_has_the_setting_that_would_help() {
        let pass = "test.env-pass = [\"DATABASE_URL\"]";
        check("KeyError: 'DATABASE_URL'", "", pass);
        check("TypeError: Invalid URL", "connect(process.env.DATABASE_URL)", pass);
        check("KeyError: 'DATABASE_URLS'", "", "test.fence = \"none\", to see whether it is the fence");
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
        // The number stands far from the machine's name; what listens tells which number it is.
        let far = "PORT = 18765\nRETRIES = 8098\n\ndef test_ask():\n    ask(PORT)\n";
        check("<urlopen error [Errno 111] Connection refused>", far, "test.services = [\"18765\"]");
        check("getaddrinfo ENOTFOUND example.com", "", "test.fence = \"none\" (it wants the network)");
        check("FileNotFoundError: [Errno 2] No such file or directory: '.env'", "", "worktree.copy = [\".env\"]");
    }

    #[test]
    fn several_tests_are_helped_by_each_setting_once() {
        let pass = |name: &str| Help::Pass(vec![name.to_owned()]);
        let helps = [pass("A_URL"), Help::Serve(5432), pass("A_URL"), Help::Serve(6379), pass("B_URL"), Help::Network];
        assert_eq!(
            settings(helps.iter()),
            [
                "test.env-pass = [\"A_URL\", \"B_URL\"]",
                "test.services = [\"5432\", \"6379\"]",
                "test.fence = \"none\" (it wants the network)",
            ]
        );
    }

    #[test]
    fn a_port_that_the_tests_reach_already_is_no_help() {
        let known = Known {
            variables: &["DATABASE_URL".to_owned()],
            mentioned: &[],
            values: &[],
            listening: &[7000],
            served: &[7000],
            text: &|_| Some("connect(\"localhost:7000\")".to_owned()),
            is_untracked: &|_| false,
        };
        let one =
            OnlyThere { id: "t".to_owned(), file: Some("t.py".to_owned()), message: "Connection refused".to_owned() };
        assert_eq!(help(&one, &known), Help::ServeSomething);
        let known = Known { text: &|_| Some("connect(env.DATABASE_URL, \"localhost:7000\")".to_owned()), ..known };
        assert_eq!(help(&one, &known), Help::Pass(vec!["DATABASE_URL".to_owned()]));
    }

    #[test]
    fn ports_that_listen_are_read_from_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
                     \x20  0: 0100007F:494D 00000000:0000 0A 00000000:00000000\n\
                     \x20  1: 0100007F:1538 0100007F:9C40 01 00000000:00000000\n";
        assert_eq!(listening(table), [18765]);
        assert!(listening("rubbish\n: : :\n").is_empty());
    }

    #[test]
    fn only_what_passes_outside_is_the_rooms_fault() {
        let report = |rows: &[(&str, Status)]| Report {
            tests: rows.iter().map(|(id, status)| Test::new((*id).to_owned(), *status)).collect(),
            ..Report::default()
        };
        let outside = report(&[("a", Status::Passed), ("b", Status::Failed)]);
        let room = report(&[("a", Status::Failed), ("b", Status::Failed), ("c", Status::Failed)]);
        let found: Vec<String> = only_there(&outside, &room).into_iter().map(|one| one.id).collect();
        assert_eq!(found, ["a"]);
    }
}
