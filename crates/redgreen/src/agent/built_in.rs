//! The built-in agent: each turn is a new conversation with a model, with tools that cannot leave
//! the worktree. Every limit is checked before the request that would exceed it.

mod conversation;
mod ledger;
mod questions;
mod tools;
mod transcript;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::model::ability::{Ability, PromptStyle, SchemaSupport};
use redgreen_core::model::price::Prices;
use redgreen_core::model::provider::ProviderSettings;
use redgreen_core::model::retry::RetryLimits;
use redgreen_core::model::{Delta, Request, SchemaField, Usage};
use redgreen_core::phase::Role;
use redgreen_core::prompt;

use crate::agent::model::{self, Client, Limits};
use crate::agent::network::NetworkRules;
use crate::agent::place::Place;
use crate::agent::visible::{Places, Visible};
use crate::agent::{TurnInput, TurnOutput};
use crate::config::{self, Environment, File};
use crate::process::Stop;
use conversation::{Ask, Conversation};
use tools::Workbench;

/// For one command.
const BASH_TIME: Duration = Duration::from_secs(120);
const MAX_TOKENS: u32 = 16_000;
const REQUESTS_MAX: u32 = 60;
/// Fits into every current model, with room for an answer.
const WINDOW: u64 = 150_000;
/// The context window of a small model if its server does not report it: Ollama's default.
const SMALL_WINDOW: u64 = 4_096;

/// A model, its client and its settings.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    client: Client,
    settings: Arc<Settings>,
    /// The settings adjusted to the model's abilities, once they are known.
    fitted: Arc<OnceLock<Settings>>,
}

/// The settings for any model.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The user's test settings, not those of the worktree.
    pub test: config::Test,
    pub environment: Environment,
    pub network: NetworkRules,
    pub visible: Visible,
    pub bash_time: Duration,
    pub red_time: Duration,
    pub green_time: Duration,
    /// The token limit of one answer.
    pub max_tokens: u32,
    /// The maximum number of requests per turn.
    pub requests_max: u32,
    /// The token limit of a conversation.
    pub window: u64,
    /// Whether it is configured. If not, the server's value counts.
    is_window_set: bool,
    pub asking: PromptStyle,
    is_asking_set: bool,
    /// How the server enforces JSON schemas, if it does.
    pub schemas: Option<SchemaField>,
    prices: Arc<Prices>,
}

impl BuiltIn {
    /// An agent with this model. Anything missing is an error.
    pub fn new(
        model: &str,
        file: &File,
        environment: &Environment,
        root: &Path,
        visible: Visible,
    ) -> Result<Self> {
        let config::Model { provider, base_url, wire, record, replay, .. } = &file.model;
        let wish =
            ProviderSettings { provider: provider.clone(), base: base_url.clone(), wire: *wire };
        let provider = model::provider(model, &wish, &environment.models)?;
        let first_ms = file.policy(environment)?.backoff_ms;
        let limits = Limits {
            patience: RetryLimits { first_ms, ..RetryLimits::default() },
            ..Limits::default()
        };
        let client = match replay {
            Some(cassette) => {
                let kept = visible.cassette(cassette).filter(|path| path.is_file());
                Client::replaying(provider, &kept.unwrap_or_else(|| root.join(cassette)), limits)?
            }
            None => Client::new(provider, &environment.models, limits)?,
        };
        let client = match record {
            Some(cassette) => {
                let kept = visible.cassette(cassette).unwrap_or_else(|| root.join(cassette));
                client.recording(&kept)?
            }
            None => client,
        };
        let mut settings = Settings::new(file, environment, visible)?;
        // For a custom server, only the user's prices apply, whatever its models are called.
        if !client.has_listed_prices() {
            settings.prices = Arc::new(file.model.prices()?);
        }
        Ok(Self { client, settings: Arc::new(settings), fitted: Arc::default() })
    }

    /// The model and its server, which receives the data.
    pub(super) fn name(&self) -> String {
        let provider = self.client.provider();
        match self.client.is_replaying() {
            true => format!("built-in ({}, replayed from a file, no network)", provider.model),
            false => format!("built-in ({} at {})", provider.model, provider.recipient()),
        }
    }

    /// The model, if its price is unknown.
    pub(super) fn unpriced(&self) -> Option<&str> {
        let model = self.client.provider().model.as_str();
        self.settings.prices.cost(model, &Usage::default()).is_none().then_some(model)
    }

    pub(super) fn take_turn(&self, orders: &mut TurnInput<'_>) -> Result<TurnOutput> {
        let deadline = Instant::now() + time(orders);
        let stop = orders.stop;
        let settings = self.fitted(deadline, stop)?;
        let mut ask = |request: &Request, live: &mut dyn FnMut(&Delta)| {
            self.client.ask(request, deadline, stop, live)
        };
        converse(&self.client.provider().model, settings, orders, &mut ask)
    }

    /// The settings for this model. A fully configured model is not probed.
    fn fitted(&self, deadline: Instant, stop: &Stop) -> Result<&Settings> {
        if let Some(settings) = self.fitted.get() {
            return Ok(settings);
        }
        let settings = &*self.settings;
        let fitted = match settings.asking {
            PromptStyle::Tools | PromptStyle::Files if settings.is_asking_set => settings.clone(),
            PromptStyle::Tools | PromptStyle::Files | PromptStyle::Questions => {
                let tools = prompt::tools(Role::Implementing);
                let ability = self.client.ability(
                    settings.environment.state.as_deref(),
                    tools,
                    deadline,
                    stop,
                )?;
                settings.clone().fitting(&ability)
            }
        };
        Ok(self.fitted.get_or_init(|| fitted))
    }
}

impl Settings {
    /// Keeps configured values and adjusts the rest to the model.
    fn fitting(self, ability: &Ability) -> Self {
        let asking = if self.is_asking_set { self.asking } else { ability.asking() };
        let window = match ability.window.filter(|_| !self.is_window_set) {
            None if self.is_window_set || asking != PromptStyle::Questions => self.window,
            None => SMALL_WINDOW,
            // Leave room for an answer. Questions handle that themselves.
            Some(window) if asking == PromptStyle::Questions => window,
            Some(window) => (window / 4 * 3).min(self.window),
        };
        let schemas = match ability.schemas {
            Some(SchemaSupport::Enforced(field)) => Some(field),
            Some(SchemaSupport::Ignored) | None => None,
        };
        Self { asking, window, schemas, ..self }
    }

    pub fn new(file: &File, environment: &Environment, visible: Visible) -> Result<Self> {
        let policy = file.policy(environment)?;
        let bash_time = match file.timeout.bash {
            Some(seconds) => Duration::from_millis(config::milliseconds(seconds, "timeout.bash")?),
            None => BASH_TIME,
        };
        let by_tools = |tools: bool| if tools { PromptStyle::Tools } else { PromptStyle::Files };
        let asking = file.model.asking.or(file.model.tools.map(by_tools));
        Ok(Self {
            test: file.test.clone(),
            environment: environment.clone(),
            network: NetworkRules::new(file, environment)?,
            visible,
            bash_time,
            red_time: Duration::from_millis(policy.red_timeout_ms),
            green_time: Duration::from_millis(policy.green_timeout_ms),
            max_tokens: file.model.max_tokens.unwrap_or(MAX_TOKENS),
            requests_max: file.model.max_turns.unwrap_or(REQUESTS_MAX),
            window: file.model.window.unwrap_or(WINDOW),
            is_window_set: file.model.window.is_some(),
            asking: asking.unwrap_or(PromptStyle::Tools),
            is_asking_set: asking.is_some(),
            schemas: None,
            prices: Arc::new(Prices::listed().under(file.model.prices()?)),
        })
    }
}

/// The time limit of a turn: its own, or the rest of the run's.
fn time(orders: &TurnInput<'_>) -> Duration {
    orders
        .allowance
        .work_ms
        .map_or(orders.time_limit, |ms| Duration::from_millis(ms).min(orders.time_limit))
}

/// Runs a turn's conversation.
fn converse(
    model: &str,
    settings: &Settings,
    orders: &mut TurnInput<'_>,
    ask: Ask<'_>,
) -> Result<TurnOutput> {
    let bench = Workbench {
        place: Place::new(orders.worktree)?,
        settings,
        env: orders.env,
        desk: orders.desk,
        places: Places::of(orders),
        test_time: match orders.assignment.role {
            Role::TestList | Role::Test => settings.red_time,
            Role::Implementing | Role::Diagnosis | Role::Refactor => settings.green_time,
        },
        deadline: Instant::now() + time(orders),
        stop: orders.stop,
        edited: false,
        refused: Vec::new(),
        tests: None,
    };
    Conversation::new(model, settings, orders, bench, ask).hold()
}
