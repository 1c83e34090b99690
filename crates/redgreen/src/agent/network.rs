//! The network access of an agent's programs, and the proxy that enforces it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use redgreen_core::egress::{AllowList, Entry, Target, targets_in};

use crate::config::agents::{Row, is_known};
use crate::config::{self, Environment, File, Models, NetworkAccess, registries};
use crate::egress::log::{FILE as LOG, Refusal};
use crate::egress::{Address, Proxy, Rules, setting};
use crate::failure::Failure;
use crate::sandbox::{Fence, Network, OUTLET_PORT, Outlet, Sandbox};

/// The default port of Ollama, for a variable with only a host.
const OLLAMA_PORT: u16 = 11434;
/// Never use the proxy for local servers that a program starts itself.
const NO_PROXY: &str = "localhost,127.0.0.1,::1";
/// Variables that configure a proxy.
const PROXIES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
];
const EXCEPTIONS: &[&str] = &["NO_PROXY", "no_proxy", "npm_config_noproxy"];

/// The network settings of agents.
#[derive(Clone, Debug, Default)]
pub struct NetworkRules {
    access: NetworkAccess,
    /// From `agent.allow-hosts`.
    allowed: Vec<Entry>,
    registries: Vec<Entry>,
    upstream: Models,
    /// Notices already shown by this process.
    told: Arc<Mutex<BTreeSet<String>>>,
}

/// The network access of a program and its children. Ends when dropped.
#[derive(Debug)]
pub(super) enum NetworkPath {
    /// Unlimited, as configured.
    Open,
    /// Unlimited, because this sandbox cannot limit it.
    Unenforced,
    /// No access: a loopback of its own, or no sockets at all where there is none.
    Closed(Network),
    Proxied {
        proxy: Proxy,
        outlet: Outlet,
    },
}

impl NetworkRules {
    pub fn new(file: &File, environment: &Environment) -> Result<Self> {
        let parse = |text: &String| {
            Entry::parse(text).ok_or_else(|| {
                Failure::usage(format!("agent.allow-hosts has {text:?}, which is not a host"))
                    .evidence(
                        "a host is a name, such as \"example.com\" or \"*.example.com\", or has a port: \"box:8080\"",
                    )
                    .next("correct agent.allow-hosts; redgreen config shows where it is set")
            })
        };
        Ok(Self {
            access: file.agent.network,
            allowed: file.agent.allow_hosts.iter().map(parse).collect::<Result<_, _>>()?,
            registries: registries::entries(environment.home.as_deref()),
            upstream: environment.models.clone(),
            told: Arc::default(),
        })
    }

    /// The remarks that were not shown before. Many programs contact the same host in every turn.
    pub(super) fn news(&self, remarks: &[String]) -> Vec<String> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        remarks.iter().filter(|remark| told.insert((*remark).clone())).cloned().collect()
    }

    /// The hosts of an agent's model: from its row, its variables and its settings.
    pub fn model_hosts(row: &Row, home: Option<&Path>) -> Vec<Entry> {
        let is_set = |wanted: &str| {
            config::variables(|name| name == wanted).iter().any(|(_, value)| !value.is_empty())
        };
        let with = row
            .hosts_with
            .iter()
            .filter(|(variable, _)| is_set(variable))
            .flat_map(|(_, hosts)| hosts);
        let mut entries: Vec<Entry> =
            row.hosts.iter().chain(with).filter_map(|host| Entry::parse(host)).collect();
        for (name, value) in config::variables(|name| is_known(&row.env, name)) {
            let Some(value) = value.to_str() else { continue };
            entries.extend(targets_in(value).into_iter().map(Entry::Exact));
            let host = name.to_str().filter(|name| name.ends_with("_HOST")).map(|_| value);
            entries.extend(
                host.and_then(|host| Target::parse(host, Some(OLLAMA_PORT))).map(Entry::Exact),
            );
        }
        // The user's own files; the program gets copies.
        let own = row.home.as_ref().and_then(|own| {
            let from = config::folder(&own.variable).or_else(|| Some(home?.join(&own.from)))?;
            Some(own.copy.iter().map(move |file| from.join(file)))
        });
        let named = own.into_iter().flatten().flat_map(|file| registries::targets_of(&file));
        entries.extend(named.map(Entry::Exact));
        entries
    }

    /// The network access of an agent's own program.
    pub(super) fn for_agent(
        &self,
        row: &Row,
        home: Option<&Path>,
        sandbox: &Sandbox,
        desk: &Path,
    ) -> Result<NetworkPath> {
        self.open(Self::model_hosts(row, home), sandbox, desk)
    }

    /// The network access of commands of the built-in agent. We talk to its model ourselves.
    pub(super) fn for_commands(&self, sandbox: &Sandbox, desk: &Path) -> Result<NetworkPath> {
        match self.open(Vec::new(), sandbox, desk)? {
            // Commands are useful without a network.
            NetworkPath::Unenforced => Ok(NetworkPath::Closed(Network::None)),
            way @ (NetworkPath::Open | NetworkPath::Closed(_) | NetworkPath::Proxied { .. }) => {
                Ok(way)
            }
        }
    }

    fn open(&self, model: Vec<Entry>, sandbox: &Sandbox, desk: &Path) -> Result<NetworkPath> {
        let registries = match self.access {
            NetworkAccess::Open => return Ok(NetworkPath::Open),
            NetworkAccess::Limited => self.registries.clone(),
            NetworkAccess::Model => Vec::new(),
        };
        let Some(listen) = sandbox.outlet() else { return Ok(NetworkPath::Unenforced) };
        let entries = self.allowed.iter().cloned().chain(model).chain(registries);
        let allowed = AllowList::new(entries);
        // Without a loopback of its own, only a proxy that refuses everything closes the network.
        if allowed.entries().is_empty() && sandbox.binds() {
            return Ok(NetworkPath::Closed(Network::Loopback));
        }
        let tunnels = allowed.loopback().cloned().collect();
        let rules = Rules { allowed, upstream: self.upstream.clone() };
        let proxy = Proxy::start(listen, rules, &desk.join(LOG))?;
        let outlet = Outlet { proxy: proxy.address().clone(), tunnels };
        Ok(NetworkPath::Proxied { proxy, outlet })
    }
}

impl NetworkPath {
    /// The sandbox with only this network access.
    pub(super) fn through(&self, fence: Fence) -> Fence {
        match self {
            Self::Open | Self::Unenforced => Fence { network: Network::Full, ..fence },
            Self::Closed(network) => Fence { network: *network, ..fence },
            Self::Proxied { outlet, .. } => {
                Fence { network: Network::Loopback, outlet: Some(outlet.clone()), ..fence }
            }
        }
    }

    /// The variables that point programs to the proxy.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let port = match self {
            Self::Open | Self::Unenforced | Self::Closed(_) => return Vec::new(),
            Self::Proxied { outlet, .. } => match &outlet.proxy {
                Address::Socket(_) => OUTLET_PORT,
                Address::Port(port) => *port,
            },
        };
        let proxy = format!("http://127.0.0.1:{port}");
        let options = ["http", "https"]
            .map(|scheme| format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"));
        let java = format!("{} -Dhttp.nonProxyHosts=localhost|127.*|[::1]", options.join(" "));
        let proxies = PROXIES.iter().map(|name| (*name, proxy.clone()));
        let exceptions = EXCEPTIONS.iter().map(|name| (*name, NO_PROXY.to_owned()));
        let others = [
            ("NODE_USE_ENV_PROXY", "1".to_owned()),
            ("MAVEN_OPTS", java.clone()),
            ("GRADLE_OPTS", java),
        ];
        proxies.chain(exceptions).chain(others).collect()
    }

    /// A line for the transcript.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Open => "network: open (agent.network)".to_owned(),
            Self::Unenforced => "network: open, because this sandbox cannot limit it".to_owned(),
            Self::Closed(_) => "network: none".to_owned(),
            Self::Proxied { .. } => {
                format!("network: allowed hosts only; all connections are logged in {LOG}")
            }
        }
    }

    /// The refusals since the last call, each with the setting that would allow it.
    pub(super) fn remarks(&self) -> Vec<String> {
        let refusals = match self {
            Self::Open | Self::Unenforced | Self::Closed(_) => Vec::new(),
            Self::Proxied { proxy, .. } => proxy.refusals(),
        };
        let words = |Refusal { target, why }: &Refusal| {
            format!("network: no connection to {target}: {why}. {}", setting(target))
        };
        refusals.iter().map(words).collect()
    }
}
