//! Requests to a proxy: a tunnel, or one plain request.

use super::Target;

/// Maximum size of the request line and headers together.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
const END: &[u8] = b"\r\n\r\n";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `CONNECT host:port`: all later bytes are forwarded unchanged.
    Tunnel { target: Target },
    /// `GET http://host/path`: the head for the server.
    Plain { target: Target, head: Vec<u8> },
}

/// The reason why a head is not a proxy request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestError(pub &'static str);

/// The request at the start of `bytes`, and its length; `None` while it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, RequestError> {
    let Some(end) = bytes.windows(END.len()).position(|window| window == END) else {
        return if bytes.len() > HEAD_BYTES_MAX {
            Err(RequestError("its headers are too long"))
        } else {
            Ok(None)
        };
    };
    let length = end + END.len();
    if length > HEAD_BYTES_MAX {
        return Err(RequestError("its headers are too long"));
    }
    let head = bytes.get(..end).unwrap_or_default();
    let head = std::str::from_utf8(head).map_err(|_| RequestError("its headers are not text"))?;
    let (line, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    let mut words = line.split(' ');
    let (Some(method), Some(address), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(RequestError("its first line is not a request"));
    };
    if !version.starts_with("HTTP/1.") {
        return Err(RequestError("it is not HTTP/1"));
    }
    if method == "CONNECT" {
        let target =
            Target::parse(address, None).ok_or(RequestError("it names no host and port"))?;
        return Ok(Some((Request::Tunnel { target }, length)));
    }
    let rest =
        address.strip_prefix("http://").ok_or(RequestError("it is not a request to a proxy"))?;
    let (authority, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let target = Target::parse(host, Some(80)).ok_or(RequestError("it names no host"))?;
    let head = plain_head(method, path, version, &target, headers);
    Ok(Some((Request::Plain { target, head }, length)))
}

/// The request in the form that servers expect. It names the checked host and closes the connection
/// afterwards: the next request may be for another host and has to be checked too.
fn plain_head(method: &str, path: &str, version: &str, target: &Target, headers: &str) -> Vec<u8> {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let host = if target.port == 80 { target.host.clone() } else { target.to_string() };
    let mut head =
        format!("{method} {slash}{path} {version}\r\nHost: {host}\r\nConnection: close\r\n");
    for line in headers.split("\r\n").filter(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !matches!(name.as_str(), "host" | "connection" | "keep-alive")
            && !name.starts_with("proxy-")
        {
            head.push_str(line);
            head.push_str("\r\n");
        }
    }
    head.push_str("\r\n");
    head.into_bytes()
}
