//! Maps a model to its provider, address and API key. A model without a known provider is an error,
//! never a guess.

use std::fmt;

use super::wire::{Dialect, Wire};

/// A built-in provider.
#[derive(Debug)]
pub struct BuiltInProvider {
    pub name: &'static str,
    pub base: &'static str,
    /// The environment variables for its key; the first that is set wins.
    pub keys: &'static [&'static str],
    /// The environment variable for another address.
    pub base_variable: Option<&'static str>,
    pub wire: Wire,
    /// Prefixes of its model names.
    pub models: &'static [&'static str],
    /// It works without a key.
    pub is_local: bool,
}

pub const PROVIDERS: &[BuiltInProvider] = &[
    BuiltInProvider {
        name: "anthropic",
        base: "https://api.anthropic.com",
        keys: &["ANTHROPIC_API_KEY"],
        base_variable: Some("ANTHROPIC_BASE_URL"),
        wire: Wire::Anthropic,
        models: &["claude-"],
        is_local: false,
    },
    BuiltInProvider {
        name: OPENAI,
        base: "https://api.openai.com/v1",
        keys: &["OPENAI_API_KEY"],
        base_variable: Some("OPENAI_BASE_URL"),
        wire: Wire::Responses,
        models: &["gpt-", "o1", "o3", "o4", "codex-"],
        is_local: false,
    },
    BuiltInProvider {
        name: "gemini",
        base: "https://generativelanguage.googleapis.com",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base_variable: Some("GOOGLE_GEMINI_BASE_URL"),
        wire: Wire::Gemini,
        models: &["gemini-"],
        is_local: false,
    },
    BuiltInProvider {
        name: "deepseek",
        base: "https://api.deepseek.com",
        keys: &["DEEPSEEK_API_KEY"],
        base_variable: None,
        wire: Wire::Chat,
        models: &["deepseek-"],
        is_local: false,
    },
    BuiltInProvider {
        name: "openrouter",
        base: "https://openrouter.ai/api/v1",
        keys: &["OPENROUTER_API_KEY"],
        base_variable: None,
        wire: Wire::Chat,
        models: &[],
        is_local: false,
    },
    local(OLLAMA, "http://127.0.0.1:11434/v1", &[], Some("OLLAMA_HOST")),
    local("lmstudio", "http://127.0.0.1:1234/v1", &[], Some("LMSTUDIO_BASE_URL")),
    local("llamacpp", "http://127.0.0.1:8080/v1", &["LLAMA_API_KEY"], Some("LLAMA_BASE_URL")),
    local("vllm", "http://127.0.0.1:8000/v1", &["VLLM_API_KEY"], Some("VLLM_BASE_URL")),
];
/// The key for an address that is not a provider's own. A provider's key is never sent to an
/// address that a project names.
pub const OTHER_KEY: &str = "REDGREEN_API_KEY";

const OPENAI: &str = "openai";
const OLLAMA: &str = "ollama";
const OLLAMA_PORT: u16 = 11434;
/// Per server.
const MODELS_MAX: usize = 100;

const fn local(
    name: &'static str,
    base: &'static str,
    keys: &'static [&'static str],
    base_variable: Option<&'static str>,
) -> BuiltInProvider {
    BuiltInProvider {
        name,
        base,
        keys,
        base_variable,
        wire: Wire::Chat,
        models: &[],
        is_local: true,
    }
}

/// What the user configured about the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSettings {
    pub provider: Option<String>,
    /// A custom address.
    pub base: Option<String>,
    pub wire: Option<Wire>,
}

/// A resolved provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name, or its address if it has none.
    pub name: String,
    pub base: String,
    /// The provider's name of the model.
    pub model: String,
    pub keys: &'static [&'static str],
    pub needs_key: bool,
    pub dialect: Dialect,
}

impl Provider {
    /// The recipient of requests: the provider's name if it is at its usual host, else the host
    /// itself. A base URL in the environment or the settings redirects requests, whatever the
    /// provider's name is.
    pub fn recipient(&self) -> &str {
        let usual =
            known(&self.name).is_some_and(|known| host_of(known.base) == host_of(&self.base));
        if usual { &self.name } else { host_of(&self.base) }
    }
}

/// The host and port of an address, without user name and password.
pub fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

/// The reason why no provider was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoProvider {
    /// The model's name is not enough.
    Unplaced {
        model: String,
    },
    /// There is no provider with this name.
    Unknown {
        provider: String,
    },
    NoModel,
    /// The address is not valid.
    BadBase {
        base: String,
    },
    /// The address contains a user name and a password.
    LoginInBase {
        host: String,
    },
}

/// The provider of a model: from the configuration, from a prefix such as `ollama/` or `ollama:`,
/// or from the start of its name. `variable` reads the environment.
pub fn provider_of(
    model: &str,
    wish: &ProviderSettings,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Provider, NoProvider> {
    let model = model.trim();
    if model.is_empty() {
        return Err(NoProvider::NoModel);
    }
    if let Some(base) = &wish.base {
        return at(base, model, wish);
    }
    let prefixed = model.split_once(['/', ':']).and_then(|(name, rest)| Some((known(name)?, rest)));
    let (known, model) = match (&wish.provider, prefixed) {
        (Some(name), prefixed) => {
            let known =
                known(name).ok_or_else(|| NoProvider::Unknown { provider: name.clone() })?;
            // The prefix can repeat the configured provider.
            (
                known,
                prefixed
                    .filter(|(also, _)| also.name == known.name)
                    .map_or(model, |(_, rest)| rest),
            )
        }
        (None, Some(found)) => found,
        (None, None) => {
            let served = PROVIDERS
                .iter()
                .find(|known| known.models.iter().any(|start| model.starts_with(start)));
            (served.ok_or_else(|| NoProvider::Unplaced { model: model.to_owned() })?, model)
        }
    };
    if model.is_empty() {
        return Err(NoProvider::NoModel);
    }
    let base = base_of(known, variable)?;
    let wire = wish.wire.unwrap_or(known.wire);
    Ok(Provider {
        name: known.name.to_owned(),
        base,
        model: model.to_owned(),
        keys: known.keys,
        needs_key: !known.is_local,
        dialect: dialect(wire, known.name),
    })
}

/// Local servers and their addresses. A server on another machine has to be configured.
pub fn here(variable: impl Fn(&str) -> Option<String>) -> Vec<(&'static BuiltInProvider, String)> {
    let local = PROVIDERS.iter().filter(|known| known.is_local);
    let placed = local.filter_map(|known| Some((known, base_of(known, &variable).ok()?)));
    placed.filter(|(_, base)| is_here(base)).collect()
}

/// The chat models in a server's answer to `GET /models`.
pub fn talkers(answer: &str) -> Vec<String> {
    const MUTE: [&str; 4] = ["embed", "rerank", "whisper", "tts"];
    let Ok(answer) = serde_json::from_str::<serde_json::Value>(answer) else { return Vec::new() };
    let listed = answer.get("data").and_then(serde_json::Value::as_array).into_iter().flatten();
    let names = listed.filter_map(|model| model.get("id")?.as_str()).map(str::trim);
    let talks = |name: &&str| {
        !name.is_empty() && !MUTE.iter().any(|mute| name.to_lowercase().contains(mute))
    };
    names.filter(talks).take(MODELS_MAX).map(str::to_owned).collect()
}

fn base_of(
    known: &BuiltInProvider,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, NoProvider> {
    match known.base_variable.and_then(variable) {
        Some(host) if known.name == OLLAMA => address(&ollama(&host)),
        Some(base) => address(&base),
        None => Ok(known.base.to_owned()),
    }
}

fn is_here(base: &str) -> bool {
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "localhost"
        || name == "[::1]"
        || name.parse::<std::net::Ipv4Addr>().is_ok_and(|host| host.is_loopback())
}

/// A server known only by its address.
fn at(base: &str, model: &str, wish: &ProviderSettings) -> Result<Provider, NoProvider> {
    let known = match &wish.provider {
        Some(name) => {
            Some(known(name).ok_or_else(|| NoProvider::Unknown { provider: name.clone() })?)
        }
        None => None,
    };
    let wire = wish.wire.or(known.map(|known| known.wire)).unwrap_or(Wire::Chat);
    let base = address(base)?;
    Ok(Provider {
        name: known.map_or_else(|| base.clone(), |known| known.name.to_owned()),
        base,
        model: model.to_owned(),
        keys: &[OTHER_KEY],
        needs_key: false,
        dialect: dialect(wire, known.map_or("", |known| known.name)),
    })
}

fn known(name: &str) -> Option<&'static BuiltInProvider> {
    PROVIDERS.iter().find(|known| known.name == name)
}

/// OpenAI's own models reject the older key, and all other servers know only the older key.
fn dialect(wire: Wire, provider: &str) -> Dialect {
    let limit_key = if provider == OPENAI { "max_completion_tokens" } else { "max_tokens" };
    Dialect { limit_key, ..Dialect::of(wire) }
}

fn address(base: &str) -> Result<String, NoProvider> {
    let base = base.trim().trim_end_matches('/');
    let host =
        base.strip_prefix("https://").or_else(|| base.strip_prefix("http://")).unwrap_or_default();
    // A user name and a password would end up in messages and cassettes.
    let login = host.split('/').next().and_then(|host| host.rsplit_once('@'));
    if let Some((_, host)) = login.filter(|(_, host)| !host.is_empty()) {
        return Err(NoProvider::LoginInBase { host: host.to_owned() });
    }
    if host.is_empty() || host.starts_with('/') || host.contains(['@', ' ', '?', '#']) {
        let shown = base.rsplit_once('@').map_or(base, |(_, host)| host);
        return Err(NoProvider::BadBase { base: shown.to_owned() });
    }
    Ok(base.to_owned())
}

/// Interprets `OLLAMA_HOST` like Ollama's own programs: scheme and port are optional, and a server
/// that listens on all addresses is reached locally.
fn ollama(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let name = name.replace("0.0.0.0", "127.0.0.1");
    let has_port = name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port =
        if has_port || scheme == "https" { String::new() } else { format!(":{OLLAMA_PORT}") };
    let name = if name.is_empty() { "127.0.0.1" } else { &name };
    if path.is_empty() {
        format!("{scheme}://{name}{port}/v1")
    } else {
        format!("{scheme}://{name}{port}/{path}")
    }
}

impl fmt::Display for NoProvider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoProvider::Unplaced { model } => write!(out, "no known provider for model {model:?}"),
            NoProvider::Unknown { provider } => write!(out, "unknown provider {provider:?}"),
            NoProvider::NoModel => out.write_str("no model given"),
            NoProvider::BadBase { base } => {
                write!(out, "{base:?} is not a valid address of a model server")
            }
            NoProvider::LoginInBase { host } => {
                write!(
                    out,
                    "the address of the model server at {host} contains a login, which would end up in records"
                )
            }
        }
    }
}

/// All variables for keys. Programs that a model starts must not inherit them.
pub fn key_variables() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().flat_map(|known| known.keys).copied().chain([OTHER_KEY])
}

/// The names of all providers, for messages.
pub fn names() -> String {
    PROVIDERS.iter().map(|known| known.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<String> {
        None
    }

    #[track_caller]
    fn check(model: &str, expected: &str) {
        let seen = match provider_of(model, &ProviderSettings::default(), none) {
            Ok(provider) => {
                format!("{} {} {:?}", provider.name, provider.model, provider.dialect.wire)
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(seen, expected, "{model}");
    }

    #[test]
    fn the_model_name_selects_the_provider() {
        check("claude-opus-5-5", "anthropic claude-opus-5-5 Anthropic");
        check("anthropic/claude-opus-5-5", "anthropic claude-opus-5-5 Anthropic");
        check("gpt-6.1-sol", "openai gpt-6.1-sol Responses");
        check("o3-mini", "openai o3-mini Responses");
        check("gemini-2.5-pro", "gemini gemini-2.5-pro Gemini");
        check("deepseek-flash", "deepseek deepseek-flash Chat");
        check("ollama/qwen2.5-coder:1.5b", "ollama qwen2.5-coder:1.5b Chat");
        check("ollama:qwen2.5-coder:1.5b", "ollama qwen2.5-coder:1.5b Chat");
        check("openrouter/anthropic/claude-opus-5-5", "openrouter anthropic/claude-opus-5-5 Chat");
        check("vllm/Qwen/Qwen3", "vllm Qwen/Qwen3 Chat");
        check("qwen2.5-coder:1.5b", "no known provider for model \"qwen2.5-coder:1.5b\"");
        check("opus", "no known provider for model \"opus\"");
        check("ollama/", "no model given");
        check(" ", "no model given");
    }

    #[test]
    fn configuration_wins_and_custom_addresses_get_no_provider_key() {
        let wish = |provider: Option<&str>, base: Option<&str>, wire| ProviderSettings {
            provider: provider.map(str::to_owned),
            base: base.map(str::to_owned),
            wire,
        };
        let own = Some("http://127.0.0.1:9/v1/");
        for (wish, expected) in [
            (wish(None, own, None), "http://127.0.0.1:9/v1 Chat REDGREEN_API_KEY max_tokens"),
            (
                wish(None, own, Some(Wire::Anthropic)),
                "http://127.0.0.1:9/v1 Anthropic REDGREEN_API_KEY max_tokens",
            ),
            (
                wish(Some("openai"), own, None),
                "openai Responses REDGREEN_API_KEY max_completion_tokens",
            ),
            (
                wish(Some("openai"), None, Some(Wire::Chat)),
                "openai Chat OPENAI_API_KEY max_completion_tokens",
            ),
            (wish(Some("ollama"), None, None), "ollama Chat  max_tokens"),
            (wish(Some("olama"), None, None), "unknown provider \"olama\""),
            (
                wish(None, Some("localhost"), None),
                "\"localhost\" is not a valid address of a model server",
            ),
            (
                wish(None, Some("https://me:secret@host:8/v1"), None),
                "the address of the model server at host:8 contains a login, which would end up in records",
            ),
            (
                wish(None, Some("https://me:secret@/v1"), None),
                "\"/v1\" is not a valid address of a model server",
            ),
        ] {
            let seen = match provider_of("m", &wish, none) {
                Ok(found) => {
                    format!(
                        "{} {:?} {} {}",
                        found.name,
                        found.dialect.wire,
                        found.keys.join(","),
                        found.dialect.limit_key
                    )
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(seen, expected, "{wish:?}");
        }
    }

    #[test]
    fn the_recipient_is_the_actual_host() {
        let wish = |base: &str| ProviderSettings {
            provider: Some("openai".to_owned()),
            base: Some(base.to_owned()),
            wire: None,
        };
        for (model, wish, variable, expected) in [
            ("claude-x", ProviderSettings::default(), None, "anthropic"),
            (
                "claude-x",
                ProviderSettings::default(),
                Some("https://api.anthropic.com/v1"),
                "anthropic",
            ),
            (
                "claude-x",
                ProviderSettings::default(),
                Some("http://127.0.0.1:4010/"),
                "127.0.0.1:4010",
            ),
            (
                "gpt-x",
                ProviderSettings::default(),
                Some("https://llm.example.com/v1"),
                "llm.example.com",
            ),
            (
                "gemini-x",
                ProviderSettings::default(),
                Some("https://llm.example.com"),
                "llm.example.com",
            ),
            ("ollama/x", ProviderSettings::default(), Some("box"), "box:11434"),
            ("m", wish("https://llm.example.com/v1"), None, "llm.example.com"),
            ("m", wish("https://api.openai.com/v1"), None, "openai"),
        ] {
            let found = provider_of(model, &wish, |_| variable.map(str::to_owned)).unwrap();
            assert_eq!(found.recipient(), expected, "{model} {variable:?}");
        }
        assert_eq!(host_of("https://me:secret@host:1/v1?key=2"), "host:1");
    }

    #[test]
    fn only_local_servers_are_found_automatically() {
        for (base, expected) in [
            ("http://127.0.0.1:11434/v1", true),
            ("http://localhost:1234", true),
            ("http://[::1]:8080/v1", true),
            ("http://127.1.2.3", true),
            ("http://127.example.com", false),
            ("http://localhost.example.com:1", false),
            ("https://box:11434/v1", false),
        ] {
            assert_eq!(is_here(base), expected, "{base}");
        }
        let names = |value: &str| -> Vec<&str> {
            here(|_| Some(value.to_owned())).iter().map(|(known, _)| known.name).collect()
        };
        assert_eq!(names("http://127.0.0.1:1"), ["ollama", "lmstudio", "llamacpp", "vllm"]);
        assert_eq!(names("http://box:1"), Vec::<&str>::new());
    }

    #[test]
    fn reads_a_model_list_or_nothing() {
        for (answer, expected) in [
            (r#"{"data":[{"id":"qwen"},{"id":"nomic-embed-text"},{"id":" "},{}]}"#, &["qwen"][..]),
            (r#"{"data":{}}"#, &[]),
            ("<html>", &[]),
            ("", &[]),
        ] {
            assert_eq!(talkers(answer), expected, "{answer}");
        }
    }

    #[test]
    fn the_environment_changes_the_address() {
        for (model, value, expected) in [
            ("claude-x", "http://127.0.0.1:4010/", Ok("http://127.0.0.1:4010")),
            ("ollama/x", "0.0.0.0", Ok("http://127.0.0.1:11434/v1")),
            ("ollama/x", "box:1", Ok("http://box:1/v1")),
            ("ollama/x", "https://box.example", Ok("https://box.example/v1")),
            ("ollama/x", "http://box/ollama/v1", Ok("http://box:11434/ollama/v1")),
            ("gpt-x", "nonsense", Err(NoProvider::BadBase { base: "nonsense".to_owned() })),
        ] {
            let found =
                provider_of(model, &ProviderSettings::default(), |_| Some(value.to_owned()));
            assert_eq!(
                found.map(|found| found.base),
                expected.map(str::to_owned),
                "{model} {value}"
            );
        }
    }
}
