//! Tests for names, requests and addresses.

use super::*;

fn target(text: &str) -> Target {
    Target::parse(text, None).unwrap()
}

#[test]
fn entries_allow_names_on_usual_ports_and_exact_ports() {
    for (entry, asked, expected) in [
        ("api.example.com", "api.example.com:443", Admission::Named),
        ("api.example.com", "API.example.com.:80", Admission::Named),
        ("api.example.com", "api.example.com:22", Admission::Refused),
        ("api.example.com", "x.api.example.com:443", Admission::Refused),
        ("example.com", "notexample.com:443", Admission::Refused),
        ("*.example.com", "a.example.com:443", Admission::Named),
        ("*.example.com", "a.b.example.com:443", Admission::Refused),
        ("*.example.com", "example.com:443", Admission::Refused),
        ("db.*.example.com", "db.eu.example.com:443", Admission::Named),
        ("*-ai.example.com", "eu-ai.example.com:443", Admission::Named),
        ("*-ai.example.com", "-ai.example.com:443", Admission::Refused),
        ("127.0.0.1:4010", "127.0.0.1:4010", Admission::Configured),
        ("127.0.0.1:4010", "127.0.0.1:4011", Admission::Refused),
        ("127.0.0.1:4010", "localhost:4010", Admission::Refused),
        ("[::1]:80", "[::1]:80", Admission::Configured),
        ("box:8443", "box:8443", Admission::Configured),
        ("box:8443", "box:443", Admission::Refused),
    ] {
        let list = AllowList::new([Entry::parse(entry).unwrap()]);
        assert_eq!(list.admits(&target(asked)), expected, "{entry} {asked}");
    }
}

#[test]
fn rejects_entries_that_would_allow_everything() {
    for entry in [
        "*", "*.*", "*.com", "a.*", "", ".", "a b", "http://a", "a/b", "1.2.3.4", "**.a.b", "a:0",
        "a:x",
    ] {
        assert_eq!(Entry::parse(entry), None, "{entry}");
    }
}

#[test]
fn parses_proxy_requests() {
    let rows: [(&str, Result<Option<&str>, &str>); 10] = [
        ("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b\r\n\r\n", Ok(Some("tunnel a.b:443"))),
        ("CONNECT [::1]:80 HTTP/1.0\r\n\r\n", Ok(Some("tunnel [::1]:80"))),
        ("CONNECT a.b:443 HTTP/1.1\r\nHost", Ok(None)),
        ("CONNECT a.b HTTP/1.1\r\n\r\n", Err("it names no host and port")),
        (
            "GET http://a:81?q HTTP/1.1\r\n\r\n",
            Ok(Some("a:81 GET /?q HTTP/1.1|Host: a:81|Connection: close||")),
        ),
        (
            "POST http://u:p@a.b/x HTTP/1.1\r\nhost: evil\r\nProxy-Authorization: s\r\nA: b\r\n\r\n{}",
            Ok(Some("a.b:80 POST /x HTTP/1.1|Host: a.b|Connection: close|A: b||")),
        ),
        ("GET /x HTTP/1.1\r\n\r\n", Err("it is not a request to a proxy")),
        ("GET https://a/x HTTP/1.1\r\n\r\n", Err("it is not a request to a proxy")),
        ("GET http://a/x y HTTP/1.1\r\n\r\n", Err("its first line is not a request")),
        ("\u{16}\u{3}\u{1}\r\n\r\n", Err("its first line is not a request")),
    ];
    for (bytes, expected) in rows {
        let read = parse(bytes.as_bytes()).map(|read| {
            read.map(|(request, _)| match request {
                Request::Tunnel { target } => format!("tunnel {target}"),
                Request::Plain { target, head } => {
                    format!("{target} {}", String::from_utf8(head).unwrap().replace("\r\n", "|"))
                }
            })
        });
        let expected = expected.map(|words| words.map(str::to_owned)).map_err(RequestError);
        assert_eq!(read, expected, "{bytes:?}");
    }
    let long = format!("CONNECT a:1 HTTP/1.1\r\nA: {}", "x".repeat(HEAD_BYTES_MAX));
    assert_eq!(parse(long.as_bytes()), Err(RequestError("its headers are too long")));
    assert_eq!(parse(b"CONNECT a:1 HTTP/1.1\r\n\r\nrest").unwrap().unwrap().1, 24);
}

#[test]
fn finds_urls_in_settings() {
    let text = "base = \"https://a.example.com/v1\" x='http://127.0.0.1:4010/v1', sparse+https://u:p@c.d:8443/index, \
                http://[::1]:11434 https:// ftp://no";
    let found: Vec<String> = targets_in(text).iter().map(Target::to_string).collect();
    assert_eq!(found, ["127.0.0.1:4010", "[::1]:11434", "a.example.com:443", "c.d:8443"]);
}

#[test]
fn only_internet_addresses_are_public() {
    let public =
        ["1.1.1.1", "160.79.104.10", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"];
    let other = [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "198.18.0.1",
        "192.0.0.192",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001::1",
        "ff02::1",
    ];
    for (addresses, expected) in [(&public[..], true), (&other[..], false)] {
        for address in addresses {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }
}

#[test]
fn recognises_names_of_this_machine() {
    for (text, expected) in [
        ("localhost:1", true),
        ("127.0.0.2:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("a:1", false),
    ] {
        assert_eq!(target(text).is_loopback(), expected, "{text}");
    }
}
