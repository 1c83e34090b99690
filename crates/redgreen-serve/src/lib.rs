//! The servers, as far as they need an async runtime: MCP here, HTTP in `web`. They know their
//! protocols and nothing of redgreen: what tools and pages do is handed in as functions, which may
//! block. Only the verb that serves starts the runtime.

pub mod web;

pub mod nats;

use std::io::{self, Cursor};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    Prompt, PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Resource, ResourceContents, Role, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::AsyncWrite;

/// While a tool works, its caller hears of it this often.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// A tool as it is listed.
#[derive(Clone, Debug)]
pub struct ToolRow {
    pub name: &'static str,
    pub description: &'static str,
    /// A schema of JSON, of an object.
    pub input: Value,
    /// Whether it changes nothing.
    pub reads: bool,
}

/// Something that can be read or asked for, as it is listed.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The address of a resource, the name of a prompt.
    pub name: &'static str,
    pub description: &'static str,
}

/// What a tool gives back.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    pub text: String,
    pub value: Option<Value>,
    /// The tool could not do its work; a "no" of the judge is none of these.
    pub failed: bool,
}

/// Whether the caller still wants to know.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the server offers. All functions may block; each call has a thread of its own.
pub trait Service: Send + Sync + 'static {
    fn version(&self) -> &'static str;
    /// What a model should know before it uses the tools.
    fn instructions(&self) -> String;
    fn tools(&self) -> Vec<ToolRow>;
    fn resources(&self) -> &'static [Row];
    fn prompts(&self) -> &'static [Row];
    fn call(&self, tool: &str, arguments: Value, cancelled: &Cancellation) -> ToolAnswer;
    fn resource(&self, address: &str) -> Result<String, String>;
    fn prompt(&self, name: &str) -> Result<String, String>;
}

/// Serves on stdin and stdout until the other side is done.
pub fn serve(service: impl Service) -> Result<(), String> {
    run(async {
        let server = Server(Arc::new(service)).serve(rmcp::transport::io::stdio()).await;
        match server {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// The answers to a conversation whose messages are all known, whatever they are: for tests and the
/// fuzzer.
pub fn answers(service: impl Service, messages: &[u8]) -> Vec<u8> {
    let written = SharedOutput::default();
    let transport = (Cursor::new(messages.to_vec()), written.clone());
    // A conversation that breaks off has its answers up to there.
    run(async {
        if let Ok(running) = Server(Arc::new(service)).serve(transport).await {
            running.waiting().await.ok();
        }
        Ok(())
    })
    .ok();
    let bytes = written.0.lock().unwrap_or_else(PoisonError::into_inner);
    bytes.clone()
}

fn run(conversation: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(conversation)
}

/// What the server said; clones share it.
#[derive(Clone, Debug, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl AsyncWrite for SharedOutput {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

struct Server<S>(Arc<S>);

impl<S: Service> Server<S> {
    /// A function that blocks, beside the conversation.
    async fn aside<T: Send + 'static>(
        &self,
        act: impl FnOnce(&S) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let service = Arc::clone(&self.0);
        let joined = tokio::task::spawn_blocking(move || act(&service)).await;
        joined.map_err(|_| ErrorData::internal_error("this is a bug in redgreen", None))
    }
}

impl<S: Service> ServerHandler for Server<S> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("redgreen", self.0.version());
        config.instructions = Some(self.0.instructions());
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |row: ToolRow| {
            let input = row.input.as_object().cloned().unwrap_or_else(JsonObject::new);
            let hints =
                ToolAnnotations::new().read_only(row.reads).destructive(false).open_world(false);
            Tool::new(row.name, row.description, input).annotate(hints)
        };
        Ok(ListToolsResult::with_all_items(self.0.tools().into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        if !self.0.tools().iter().any(|row| row.name == name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let cancelled = Cancellation::default();
        let told = cancelled.clone();
        let work = self.aside(move |service| service.call(&name, arguments, &told));
        tokio::pin!(work);
        let token = context.meta.get_progress_token();
        let mut rounds = 0.0;
        let said = loop {
            tokio::select! {
                said = &mut work => break said?,
                () = context.ct.cancelled(), if !cancelled.is() => cancelled.0.store(true, Ordering::Relaxed),
                () = tokio::time::sleep(PROGRESS_EVERY) => {
                    rounds += 1.0;
                    if let Some(token) = token.clone() {
                        let progress = ProgressNotificationParam::new(token, rounds).with_message("judging");
                        // Who does not listen is told the verdict all the same.
                        context.peer.notify_progress(progress).await.ok();
                    }
                }
            }
        };
        let content = vec![ContentBlock::text(said.text)];
        let mut result = if said.failed {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        };
        result.structured_content = said.value;
        Ok(CallToolResponse::Complete(result))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |row: &Row| {
            let name = row.name.rsplit('/').next().unwrap_or(row.name);
            Resource::new(row.name, name).with_description(row.description)
        };
        Ok(ListResourcesResult::with_all_items(self.0.resources().iter().map(resource).collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let address = request.uri.clone();
        let text = self.aside(move |service| service.resource(&address)).await?;
        let text = text.map_err(|why| ErrorData::invalid_params(why, None))?;
        Ok(ReadResourceResponse::Complete(ReadResourceResult::new(vec![ResourceContents::text(
            text,
            request.uri,
        )])))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = |row: &Row| Prompt::new(row.name, Some(row.description), None);
        Ok(ListPromptsResult::with_all_items(self.0.prompts().iter().map(prompt).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let text = self.aside(move |service| service.prompt(&request.name)).await?;
        let text = text.map_err(|why| ErrorData::invalid_params(why, None))?;
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResponse::Complete(GetPromptResult::new(vec![message])))
    }
}
