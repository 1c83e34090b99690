//! Network rules for agents: hosts allowed by name, requests to the proxy, and the addresses that a
//! name may resolve to.

mod request;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use request::{HEAD_BYTES_MAX, Request, RequestError, parse};

/// The ports of a host that is allowed by name only.
const PORTS: [u16; 2] = [443, 80];
/// The maximum length of a DNS name.
const NAME_BYTES_MAX: usize = 253;

/// A host and a port from a client's request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// Lower case, without a final dot or brackets.
    pub host: String,
    pub port: u16,
}

/// An entry of an allow list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// `name`, or labels with a `*`, on the usual ports. It must resolve to a public address.
    Name(String),
    /// `host:port`, for any address.
    Exact(Target),
}

/// The hosts that can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    entries: Vec<Entry>,
}

/// The decision of an allow list about a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// This host and port are configured: any address is allowed.
    Configured,
    /// The name is allowed if it resolves to a public address.
    Named,
    Refused,
}

impl Target {
    /// A host and a port, if the host is valid.
    pub fn new(host: &str, port: u16) -> Option<Self> {
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let is_name = |host: &str| {
            let is_label = |label: &str| {
                !label.is_empty()
                    && label
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
            };
            host.len() <= NAME_BYTES_MAX && host.split('.').all(is_label)
        };
        (port != 0 && (is_name(&host) || host.parse::<IpAddr>().is_ok()))
            .then_some(Self { host, port })
    }

    /// Parses `host:port`, `[address]:port`, or only a host if there is a usual port.
    pub fn parse(text: &str, usual_port: Option<u16>) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().ok()?)
            }
            _ => (text, usual_port?),
        };
        Self::new(host, port)
    }

    /// Whether the name is this machine.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        self.host == "localhost"
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(out, "[{}]:{}", self.host, self.port),
            false => write!(out, "{}:{}", self.host, self.port),
        }
    }
}

impl Entry {
    /// Parses `example.com`, `*.example.com`, `example.com:8443` or `127.0.0.1:8080`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(target) = Target::parse(text, None) {
            return Some(Self::Exact(target));
        }
        // A lone star would allow every host, and `*.com` nearly every host.
        let labels: Vec<&str> = text.split('.').collect();
        let fixed = labels.iter().rev().take_while(|label| !label.contains('*')).count();
        let has_star = fixed < labels.len();
        let name = Target::new(&text.replace('*', "x"), PORTS[0])?;
        let is_address = name.host.parse::<IpAddr>().is_ok();
        let stars = labels.iter().all(|label| label.matches('*').count() <= 1);
        (stars && !is_address && (!has_star || fixed >= 2))
            .then(|| Self::Name(text.to_ascii_lowercase()))
    }

    fn admits(&self, target: &Target) -> Admission {
        match self {
            Self::Exact(exact) if exact == target => Admission::Configured,
            Self::Name(pattern)
                if PORTS.contains(&target.port) && matches(pattern, &target.host) =>
            {
                Admission::Named
            }
            Self::Exact(_) | Self::Name(_) => Admission::Refused,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => out.write_str(name),
            Self::Exact(target) => write!(out, "{target}"),
        }
    }
}

impl AllowList {
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut entries: Vec<Entry> = entries.into_iter().collect();
        entries.sort();
        entries.dedup();
        Self { entries }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn admits(&self, target: &Target) -> Admission {
        let mut admission = Admission::Refused;
        for entry in &self.entries {
            match entry.admits(target) {
                Admission::Configured => return Admission::Configured,
                Admission::Named => admission = Admission::Named,
                Admission::Refused => {}
            }
        }
        admission
    }

    /// The allowed services on this machine.
    pub fn loopback(&self) -> impl Iterator<Item = &Target> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Exact(target) => Some(target).filter(|target| target.is_loopback()),
            Entry::Name(_) => None,
        })
    }
}

/// Compares label by label; a `*` matches characters within one label.
fn matches(pattern: &str, host: &str) -> bool {
    let (mut patterns, mut labels) = (pattern.split('.'), host.split('.'));
    loop {
        match (patterns.next(), labels.next()) {
            (None, None) => return true,
            (Some(pattern), Some(label)) if is_label(pattern, label) => {}
            _ => return false,
        }
    }
}

fn is_label(pattern: &str, label: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == label,
        Some((start, end)) => {
            label.len() > start.len() + end.len()
                && label.starts_with(start)
                && label.ends_with(end)
        }
    }
}

/// The hosts of all URLs in a text, such as a settings file.
pub fn targets_in(text: &str) -> Vec<Target> {
    let mut found = Vec::new();
    for (scheme, port) in [("https://", 443), ("http://", 80)] {
        for (at, _) in text.match_indices(scheme) {
            let rest = text.get(at + scheme.len()..).unwrap_or_default();
            let is_end =
                |letter: char| letter.is_whitespace() || "/?#\"'`,;<>|\\(){}".contains(letter);
            let authority = rest.split(is_end).next().unwrap_or_default();
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            found.extend(Target::parse(host, Some(port)));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Whether an address is on the internet: not this machine, not its network, not a cloud's metadata
/// service.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || matches!(
            (a, b, c),
            (0 | 240..=255, _, _) | (100, 64..=127, _) | (192, 0, 0) | (198, 18 | 19, _)
        );
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, .., seventh, eighth] = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (first, second) {
        // NAT64 and 6to4 embed the IPv4 address that packets finally reach.
        (0x64, 0xff9b) => embedded(seventh, eighth),
        (0x2002, _) => embedded(second, third),
        // Teredo, ORCHID, benchmarking and documentation.
        (0x2001, 0..=0x1ff | 0xdb8) => false,
        // Only this block is assigned to the internet.
        (first, _) => first & 0xe000 == 0x2000,
    }
}
