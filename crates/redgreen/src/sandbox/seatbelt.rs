//! A sandbox as a profile of Seatbelt, macOS's sandbox, for `sandbox-exec -p`. The last matching
//! rule wins.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::plan::{Kind, Plan};
use super::{Network, Outlet};
use crate::egress::Address;

/// What every program reads before its first line runs, even if the rest of the disk is hidden.
const SYSTEM: &[&str] = &[
    "/System",
    "/Library",
    "/bin",
    "/sbin",
    "/usr",
    "/dev",
    "/private/etc",
    "/private/var/db",
    "/private/var/select",
];
/// Devices that every program may write to.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/dtracehelper", "/dev/fd", "/dev/stdout", "/dev/stderr"];
/// Services through which a program could make another process act for it.
const ESCAPES: &str = "(deny appleevent-send)\n(deny job-creation)\n(deny process-info* (target others))\n\
                       (deny signal (target others))\n(allow signal (target same-sandbox))\n";

pub(super) fn profile(plan: &Plan, network: Network, outlet: Option<&Outlet>) -> Result<String> {
    let mut text = "(version 1)\n(allow default)\n(deny file-write*)\n".to_owned();
    if plan.bare {
        text +=
            "(deny file-read*)\n(allow file-read-metadata)\n(allow file-read* (literal \"/\"))\n";
        for path in SYSTEM {
            rule(&mut text, "allow file-read*", Path::new(path))?;
        }
    }
    for path in DEVICES {
        rule(&mut text, "allow file-write*", Path::new(path))?;
    }
    for place in &plan.places {
        match &place.kind {
            Kind::Empty | Kind::Cover => {
                rule(&mut text, "deny file-read* file-write*", &place.path)?;
            }
            // Seatbelt cannot mount a private folder here.
            Kind::Scratch | Kind::Write => {
                rule(&mut text, "allow file-read* file-write*", &place.path)?;
            }
            Kind::Show { from } => {
                ensure!(
                    *from == place.path,
                    "Seatbelt cannot show {} in another place",
                    from.display()
                );
                rule(&mut text, "allow file-read*", &place.path)?;
                rule(&mut text, "deny file-write*", &place.path)?;
            }
        }
    }
    text += ESCAPES;
    text += &network_rules(network, outlet)?;
    Ok(text)
}

fn network_rules(network: Network, outlet: Option<&Outlet>) -> Result<String> {
    let port = outlet.map(|outlet| match &outlet.proxy {
        Address::Port(port) => Ok(*port),
        Address::Socket(_) => Err(anyhow::anyhow!("Seatbelt needs a proxy with a port")),
    });
    Ok(match (network, port.transpose()?) {
        (Network::Full, _) => String::new(),
        (Network::None, _) => "(deny network*)\n".to_owned(),
        (Network::Loopback, Some(port)) => {
            format!("(deny network*)\n(allow network-outbound (remote ip \"localhost:{port}\"))\n")
        }
        (Network::Loopback, None) => {
            "(deny network*)\n(allow network* (local ip \"localhost:*\"))\n\
                                      (allow network-outbound (remote ip \"localhost:*\"))\n"
                .to_owned()
        }
    })
}

fn rule(text: &mut String, rule: &str, path: &Path) -> Result<()> {
    let name = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    ensure!(!name.chars().any(char::is_control), "the path {name:?} has a control character");
    let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
    writeln!(text, "({rule} (subpath \"{quoted}\"))").context("write a rule")
}

#[cfg(test)]
mod tests {
    use super::super::plan::Place;
    use super::*;

    fn place(path: &str, kind: Kind) -> Place {
        Place { path: path.into(), kind }
    }

    fn written(places: Vec<Place>, network: Network, outlet: Option<&Outlet>) -> Result<String> {
        profile(&Plan { bare: false, places, proxy: None }, network, outlet)
    }

    #[test]
    fn inner_places_come_after_outer_ones() {
        let show = Kind::Show { from: "/own/tools".into() };
        let places = vec![
            place("/own", Kind::Empty),
            place("/own/tools", show),
            place("/own/tools/job", Kind::Write),
        ];
        let text = written(places, Network::Full, None).unwrap();
        let rules: Vec<&str> = text.lines().filter(|line| line.contains("\"/own")).collect();
        assert_eq!(
            rules,
            [
                r#"(deny file-read* file-write* (subpath "/own"))"#,
                r#"(allow file-read* (subpath "/own/tools"))"#,
                r#"(deny file-write* (subpath "/own/tools"))"#,
                r#"(allow file-read* file-write* (subpath "/own/tools/job"))"#,
            ]
        );
        assert!(text.starts_with("(version 1)\n(allow default)\n(deny file-write*)\n"), "{text}");
    }

    #[test]
    fn a_bare_fence_hides_the_disk() {
        let bare = Plan { bare: true, places: vec![place("/job", Kind::Write)], proxy: None };
        let text = profile(&bare, Network::None, None).unwrap();
        let at = |words: &str| {
            text.find(words).unwrap_or_else(|| panic!("{words} is missing in {text}"))
        };
        assert!(at("(deny file-read*)\n") < at("(allow file-read* (subpath \"/System\"))"));
        assert!(
            at("(deny file-read*)\n") < at("(allow file-read* file-write* (subpath \"/job\"))")
        );
    }

    #[test]
    fn the_network_is_what_the_fence_says() {
        let text = |network, outlet| written(Vec::new(), network, outlet).unwrap();
        assert!(!text(Network::Full, None).contains("network"));
        assert!(text(Network::None, None).ends_with("(deny network*)\n"));
        assert!(
            text(Network::Loopback, None)
                .contains("(deny network*)\n(allow network* (local ip \"localhost:*\"))")
        );
        let proxy = Outlet { proxy: Address::Port(4711), tunnels: Vec::new() };
        let with_proxy = text(Network::Loopback, Some(&proxy));
        assert!(with_proxy.ends_with(
            "(deny network*)\n(allow network-outbound (remote ip \"localhost:4711\"))\n"
        ));
        let socket = Outlet { proxy: Address::Socket("/run/proxy".into()), tunnels: Vec::new() };
        assert!(written(Vec::new(), Network::Loopback, Some(&socket)).is_err());
    }

    /// Folder names are untrusted: a name must not end its rule and begin another.
    #[test]
    fn a_path_cannot_add_a_rule() {
        let evil = "/job/a\")) (allow file-write* (subpath \"/";
        let text = written(vec![place(evil, Kind::Empty)], Network::None, None).unwrap();
        assert!(
            text.contains(r#"(subpath "/job/a\")) (allow file-write* (subpath \"/"))"#),
            "{text}"
        );
        let text = written(vec![place("/job/a\\", Kind::Empty)], Network::None, None).unwrap();
        assert!(text.contains(r#"(subpath "/job/a\\"))"#), "{text}");
        assert!(written(vec![place("/job/a\nb", Kind::Empty)], Network::None, None).is_err());
        let elsewhere = Kind::Show { from: "/a".into() };
        assert!(written(vec![place("/b", elsewhere)], Network::None, None).is_err());
    }
}
