//! Model settings from the environment: keys, URLs and the proxy.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use redgreen_core::model::provider::{PROVIDERS, key_variables};

/// An API key. Only `reveal` returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models {
    keys: BTreeMap<&'static str, Secret>,
    bases: BTreeMap<&'static str, String>,
    /// It may contain a password.
    proxy: Option<Secret>,
    no_proxy: String,
    /// Certificates to trust instead of the default ones, for companies that inspect their network.
    pub certificates: Option<PathBuf>,
}

impl Secret {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` without the secret.
    pub fn out_of(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "…") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

impl Models {
    /// Reads all variables that the table of providers names.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let bases = PROVIDERS.iter().filter_map(|known| known.base_variable);
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        Self {
            keys: key_variables()
                .filter_map(|name| Some((name, Secret::new(variable(name)?.trim()))))
                .collect(),
            bases: bases.filter_map(|name| Some((name, variable(name)?))).collect(),
            proxy: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
                .map(Secret::new),
            no_proxy: first(&["NO_PROXY", "no_proxy"]).unwrap_or_default(),
            certificates: variable("SSL_CERT_FILE").map(PathBuf::from),
        }
    }

    /// The first of these keys that is set.
    pub fn key(&self, names: &[&str]) -> Option<&Secret> {
        names.iter().find_map(|name| self.keys.get(*name))
    }

    /// Sets a key, as the environment would.
    #[must_use]
    pub fn with_key(mut self, name: &'static str, key: &str) -> Self {
        self.keys.insert(name, Secret::new(key));
        self
    }

    /// Sets a proxy, as the environment would.
    #[must_use]
    pub fn with_proxy(mut self, proxy: &str) -> Self {
        self.proxy = Some(Secret::new(proxy));
        self
    }

    /// The URL in a variable of the table.
    pub fn base(&self, variable: &str) -> Option<String> {
        self.bases.get(variable).cloned()
    }

    /// The proxy for a URL: only for https, and never for this machine.
    pub fn proxy(&self, base: &str) -> Option<&Secret> {
        let host = base.strip_prefix("https://")?.split(['/', ':']).next().unwrap_or_default();
        let is_exempt = self.no_proxy.split(',').map(str::trim).any(|entry| {
            let name = entry.trim_start_matches('*').trim_start_matches('.');
            let is_below = host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
            entry == "*" || (!name.is_empty() && (host == name || is_below))
        });
        let is_here = host == "localhost" || host.starts_with("127.");
        self.proxy.as_ref().filter(|_| !is_exempt && !is_here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_keys_by_provider_and_never_shows_them() {
        let models = Models::read(|name| match name {
            "ANTHROPIC_API_KEY" => Some("sk-secret\n".to_owned()),
            "GOOGLE_API_KEY" => Some("second".to_owned()),
            "OLLAMA_HOST" => Some("box".to_owned()),
            _ => None,
        });
        assert_eq!(models.key(&["ANTHROPIC_API_KEY"]).map(Secret::reveal), Some("sk-secret"));
        assert_eq!(
            models.key(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]).map(Secret::reveal),
            Some("second")
        );
        assert_eq!(models.key(&["OPENAI_API_KEY"]), None);
        assert_eq!(models.base("OLLAMA_HOST"), Some("box".to_owned()));
        assert!(!format!("{models:?}").contains("secret"), "{models:?}");
        let key = Secret::new("sk-secret");
        assert_eq!(key.out_of("wrong key sk-secret!"), "wrong key …!");
    }

    #[test]
    fn uses_the_proxy_only_for_remote_hosts() {
        for (base, no_proxy, expected) in [
            ("https://api.anthropic.com", "", true),
            ("https://api.anthropic.com/v1", "example.com, other", true),
            ("https://api.anthropic.com", "anthropic.com", false),
            ("https://api.anthropic.com:443", ".anthropic.com", false),
            ("https://notanthropic.com", "anthropic.com", true),
            ("https://api.anthropic.com", "*", false),
            ("http://127.0.0.1:11434/v1", "", false),
            ("https://localhost:8443", "", false),
        ] {
            let models = Models::read(|name| match name {
                "HTTPS_PROXY" => Some("http://proxy:3128".to_owned()),
                "NO_PROXY" => Some(no_proxy.to_owned()),
                _ => None,
            });
            assert_eq!(models.proxy(base).is_some(), expected, "{base} with NO_PROXY={no_proxy}");
        }
    }
}
