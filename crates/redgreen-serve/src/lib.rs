//! The servers that need an async runtime: MCP here, HTTP in `web`. They implement the protocols
//! only; tools and pages are functions that the caller passes in, and may block. Only a command
//! that serves starts the runtime.

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

/// How often a caller gets a progress notification while a tool runs.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// A tool, as listed to clients.
#[derive(Clone, Debug)]
pub struct ToolRow {
    pub name: &'static str,
    pub description: &'static str,
    /// JSON Schema of an object.
    pub input: Value,
    /// Whether the tool changes nothing.
    pub reads: bool,
}

/// A resource or prompt, as listed to clients.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The URI of a resource, or the name of a prompt.
    pub name: &'static str,
    pub description: &'static str,
}

/// The result of a tool call.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    pub text: String,
    pub value: Option<Value>,
    /// The tool failed. A negative verdict is not a failure.
    pub failed: bool,
}

/// Whether the caller cancelled the request.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The functions of the server. All of them may block; each call runs in its own thread.
pub trait Service: Send + Sync + 'static {
    fn version(&self) -> &'static str;
    /// Instructions for the model.
    fn instructions(&self) -> String;
    fn tools(&self) -> Vec<ToolRow>;
    fn resources(&self) -> &'static [Row];
    fn prompts(&self) -> &'static [Row];
    fn call(&self, tool: &str, arguments: Value, cancelled: &Cancellation) -> ToolAnswer;
    fn resource(&self, address: &str) -> Result<String, String>;
    fn prompt(&self, name: &str) -> Result<String, String>;
}

/// Serves on stdin and stdout until the client disconnects.
pub fn serve(service: impl Service) -> Result<(), String> {
    run(async {
        let server = Server(Arc::new(service)).serve(rmcp::transport::io::stdio()).await;
        match server {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// Answers a complete conversation. For tests and the fuzzer.
pub fn answers(service: impl Service, messages: &[u8]) -> Vec<u8> {
    let written = SharedOutput::default();
    let transport = (Cursor::new(messages.to_vec()), written.clone());
    // If the conversation breaks off, the answers so far count.
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

/// The output of the server, shared by clones.
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
    /// Runs a blocking function without blocking the conversation.
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
                        // A client that ignores notifications still gets the verdict.
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
