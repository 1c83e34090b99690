//! Decides which requests are allowed. Every program of every user, and every page in the user's
//! browser, can reach a server on loopback. Only a browser that was opened with the token gets an
//! answer, and only our own pages can perform actions.

/// The query parameter with the token.
pub const TOKEN: &str = "token";
/// The length in characters: 256 bits.
pub const TOKEN_CHARS: usize = 64;

/// Whether a request can perform actions or only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allows {
    Everything,
    Reading,
}

#[derive(Clone, Debug)]
pub struct Guard {
    pub port: u16,
    pub token: String,
    pub allows: Allows,
}

/// The relevant headers of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestHead<'a> {
    /// The request performs an action.
    pub acts: bool,
    pub host: Option<&'a str>,
    pub origin: Option<&'a str>,
    /// `Sec-Fetch-Site` and `Sec-Fetch-Mode`, which scripts cannot change.
    pub site: Option<&'a str>,
    pub mode: Option<&'a str>,
    pub cookies: &'a str,
    /// From the query.
    pub token: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    Known,
    /// The request had the token, and gets this cookie.
    WithToken(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// DNS rebinding: the browser expects another server, but the name points to this machine.
    OtherHost,
    /// A page of another site.
    OtherOrigin,
    NoToken,
    WrongToken,
    ReadOnly,
}

impl Guard {
    pub fn admit(&self, asked: &RequestHead<'_>) -> Result<Admission, Refusal> {
        if !asked.host.is_some_and(|host| self.is_own_host(host)) {
            return Err(Refusal::OtherHost);
        }
        if !self.is_own_page(asked) {
            return Err(Refusal::OtherOrigin);
        }
        if let Some(token) = asked.token {
            return match is_same(token, &self.token) && !asked.acts {
                true => Ok(Admission::WithToken(self.cookie())),
                false => Err(Refusal::WrongToken),
            };
        }
        let name = self.cookie_name();
        let cookies = asked.cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        match cookies.filter(|(known, _)| *known == name).map(|(_, value)| value).next() {
            None => Err(Refusal::NoToken),
            Some(value) if !is_same(value, &self.token) => Err(Refusal::WrongToken),
            Some(_) if asked.acts && self.allows == Allows::Reading => Err(Refusal::ReadOnly),
            Some(_) => Ok(Admission::Known),
        }
    }

    /// Browsers send cookies to every port of a host, so the name contains the port.
    fn cookie_name(&self) -> String {
        format!("redgreen-{}", self.port)
    }

    fn cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name(), self.token)
    }

    fn is_own_host(&self, host: &str) -> bool {
        ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{}", self.port))
    }

    /// Only our pages can perform actions. Other pages may link here, but cannot read the answer.
    fn is_own_page(&self, asked: &RequestHead<'_>) -> bool {
        let is_own_origin = asked.origin.map(|origin| {
            // The exact host of the request: `localhost` and `127.0.0.1` are different origins.
            asked.host.is_some_and(|host| origin == format!("http://{host}"))
        });
        let is_near = asked.site.is_none_or(|site| matches!(site, "same-origin" | "none"));
        let is_visit = !asked.acts && asked.mode == Some("navigate");
        match is_own_origin {
            Some(is_own) => is_own && is_near,
            None => !asked.acts && (is_near || is_visit),
        }
    }
}

/// Takes constant time, wherever the texts differ.
fn is_same(one: &str, other: &str) -> bool {
    let differs =
        one.bytes().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    one.len() == other.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allows: Allows) -> Guard {
        Guard { port: 4711, token: "a".repeat(TOKEN_CHARS), allows }
    }

    fn known() -> String {
        format!("other=1; redgreen-4711={}", "a".repeat(TOKEN_CHARS))
    }

    #[test]
    fn only_our_own_pages_act_and_only_with_the_token() {
        let (cookies, own) = (known(), Some("http://127.0.0.1:4711"));
        let here = RequestHead {
            host: Some("127.0.0.1:4711"),
            cookies: &cookies,
            ..RequestHead::default()
        };
        let act = RequestHead { acts: true, origin: own, ..here };
        let wrong = format!("redgreen-4711={}", "b".repeat(TOKEN_CHARS));
        for (asked, expected) in [
            (here, Ok(Admission::Known)),
            (act, Ok(Admission::Known)),
            (RequestHead { host: Some("localhost:4711"), ..here }, Ok(Admission::Known)),
            (RequestHead { site: Some("same-origin"), ..act }, Ok(Admission::Known)),
            (
                RequestHead { site: Some("cross-site"), mode: Some("navigate"), ..here },
                Ok(Admission::Known),
            ),
            (RequestHead { host: None, ..here }, Err(Refusal::OtherHost)),
            (RequestHead { host: Some("evil.example:4711"), ..here }, Err(Refusal::OtherHost)),
            (RequestHead { host: Some("127.0.0.1:80"), ..here }, Err(Refusal::OtherHost)),
            (RequestHead { host: Some("127.0.0.1"), ..here }, Err(Refusal::OtherHost)),
            (RequestHead { origin: None, ..act }, Err(Refusal::OtherOrigin)),
            (RequestHead { origin: Some("null"), ..act }, Err(Refusal::OtherOrigin)),
            (RequestHead { origin: Some("http://127.0.0.1:80"), ..act }, Err(Refusal::OtherOrigin)),
            (
                RequestHead { origin: Some("http://localhost:4711"), ..act },
                Err(Refusal::OtherOrigin),
            ),
            (RequestHead { site: Some("same-site"), ..act }, Err(Refusal::OtherOrigin)),
            (
                RequestHead { site: Some("same-site"), mode: Some("no-cors"), ..here },
                Err(Refusal::OtherOrigin),
            ),
            (RequestHead { cookies: "", ..here }, Err(Refusal::NoToken)),
            (RequestHead { cookies: &wrong, ..here }, Err(Refusal::WrongToken)),
            (RequestHead { cookies: "redgreen-4711=", ..act }, Err(Refusal::WrongToken)),
            (RequestHead { token: Some("b"), ..here }, Err(Refusal::WrongToken)),
        ] {
            assert_eq!(guard(Allows::Everything).admit(&asked), expected, "{asked:?}");
        }
    }

    #[test]
    fn the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get() {
        let token = "a".repeat(TOKEN_CHARS);
        let asked = RequestHead {
            host: Some("127.0.0.1:4711"),
            token: Some(&token),
            ..RequestHead::default()
        };
        let cookie = format!("redgreen-4711={token}; Path=/; HttpOnly; SameSite=Strict");
        assert_eq!(guard(Allows::Everything).admit(&asked), Ok(Admission::WithToken(cookie)));
        let act = RequestHead { acts: true, origin: Some("http://127.0.0.1:4711"), ..asked };
        assert_eq!(guard(Allows::Everything).admit(&act), Err(Refusal::WrongToken));
    }

    #[test]
    fn who_may_only_look_cannot_act() {
        let cookies = known();
        let here = RequestHead {
            host: Some("127.0.0.1:4711"),
            cookies: &cookies,
            ..RequestHead::default()
        };
        let act = RequestHead { acts: true, origin: Some("http://127.0.0.1:4711"), ..here };
        assert_eq!(guard(Allows::Reading).admit(&here), Ok(Admission::Known));
        assert_eq!(guard(Allows::Reading).admit(&act), Err(Refusal::ReadOnly));
    }
}
