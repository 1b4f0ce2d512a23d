//! One conversation with a server, from its greeting to its end, under one deadline.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_plan::document::{self, Bounds};
use countersign_plan::text;
use countersign_wire::egress::reply;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ClientResult, ErrorCode, ErrorData,
    Implementation, JsonObject, PaginatedRequestParams, ProtocolVersion, ServerNotification, ServerRequest, Tool,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, RequestContext, RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use rmcp::{RoleClient, Service};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::refusal::Refusal;

/// The most tools and pages that a server lists.
const TOOLS: usize = 1024;
const PAGES: usize = 64;
/// The most characters of what a server says that go into a message.
const SAID: usize = 300;
/// How long the end of a session is waited for.
const CLOSING: Duration = Duration::from_secs(1);

/// A conversation.
pub(super) struct Session {
    running: RunningService<RoleClient, Deaf>,
    refused: Arc<Mutex<BTreeSet<&'static str>>>,
    deadline: Instant,
}

/// Why a conversation did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stop {
    /// Time.
    #[error("it did not answer in time")]
    Late,
    /// The connection broke, or something was said that is not of the protocol.
    #[error("{0}")]
    Broken(String),
    /// It wants to know something of a user before it goes on.
    #[error("it asks for more input, which nobody gives here")]
    Input,
    /// It goes on by itself and wants to be asked later.
    #[error("it made a task of the call, whose end is not waited for")]
    Task,
    /// It lists too much.
    #[error("it lists more than {TOOLS} tools or {PAGES} pages of them")]
    Many,
}

impl Stop {
    /// What a stop means; `called` is whether the tool was called before.
    pub(super) fn refusal(&self, server: &str, called: bool) -> Refusal {
        let message = format!("the MCP server {}: {self}", text::escape(server));
        match self {
            Self::Late | Self::Broken(_) | Self::Task if called => Refusal::indeterminate(message),
            Self::Late | Self::Broken(_) | Self::Task | Self::Input | Self::Many => Refusal::refused(message),
        }
    }

    fn broken(error: &dyn std::fmt::Display) -> Self {
        Self::Broken(text::escape(&error.to_string()).chars().take(SAID).collect())
    }
}

/// A client that does nothing for servers and notes what they wanted.
#[derive(Debug, Clone)]
struct Deaf {
    refused: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Deaf {
    fn refuse<T>(&self, what: &'static str) -> Result<T, ErrorData> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client does nothing for servers", None))
    }
}

impl Service<RoleClient> for Deaf {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            ServerRequest::CreateMessageRequest(_) => self.refuse("an answer of a model (sampling)"),
            ServerRequest::ListRootsRequest(_) => self.refuse("folders (roots)"),
            ServerRequest::ElicitRequest(_) => self.refuse("a user's input (elicitation)"),
            _ => self.refuse("something that is not of the protocol"),
        }
    }

    async fn handle_notification(
        &self,
        _: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("countersign", env!("CARGO_PKG_VERSION")))
    }
}

/// Arguments as the step asks them.
///
/// # Errors
/// They are no JSON object.
pub(super) fn arguments(bytes: &[u8]) -> Result<JsonObject, String> {
    match document::from_json(bytes, Bounds::CONFIG) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("the arguments of an MCP tool are an object".to_owned()),
        Err(error) => Err(format!("the arguments of the MCP tool: {error}")),
    }
}

impl Session {
    /// Greets a server, in the newest form that it understands.
    ///
    /// # Errors
    /// It does not answer, or not as a server does.
    pub(super) async fn begin<T, E, A>(transport: T, deadline: Instant) -> Result<Self, Stop>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let refused = Arc::default();
        let lifecycle =
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None };
        let deaf = Deaf { refused: Arc::clone(&refused) };
        let running = tokio::time::timeout_at(deadline, serve_client_with_lifecycle(deaf, transport, lifecycle))
            .await
            .map_err(|_| Stop::Late)?
            .map_err(|error| Stop::broken(&error))?;
        Ok(Self { running, refused, deadline })
    }

    /// All that it offers now.
    ///
    /// # Errors
    /// It does not say, or too much.
    pub(super) async fn tools(&self) -> Result<Vec<Tool>, Stop> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let listed = tokio::time::timeout_at(self.deadline, self.running.peer().list_tools(Some(page)))
                .await
                .map_err(|_| Stop::Late)?
                .map_err(|error| Stop::broken(&error))?;
            tools.extend(listed.tools);
            if tools.len() > TOOLS {
                return Err(Stop::Many);
            }
            cursor = listed.next_cursor;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(Stop::Many)
    }

    /// Calls a tool, once.
    ///
    /// # Errors
    /// There is no result. The tool may have run.
    pub(super) async fn call(&self, tool: &str, arguments: JsonObject) -> Result<reply::ToolResult, Stop> {
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let answer = tokio::time::timeout_at(self.deadline, self.running.peer().call_tool_once(call)).await;
        let (result, failed) = match answer.map_err(|_| Stop::Late)? {
            Ok(CallToolResponse::Complete(result)) => {
                let failed = result.is_error.unwrap_or(false);
                (result.structured_content.unwrap_or_else(|| json!({"content": result.content})), failed)
            }
            Ok(CallToolResponse::InputRequired(_)) => return Err(Stop::Input),
            Ok(CallToolResponse::Task(_)) => return Err(Stop::Task),
            Ok(_) => return Err(Stop::Broken("it answered with something that is no result".to_owned())),
            // The server itself says so: an answer, and not a silence.
            Err(ServiceError::McpError(error)) => {
                (json!({"error": {"code": error.code.0, "message": error.message}}), true)
            }
            Err(error) => return Err(Stop::broken(&error)),
        };
        let result = serde_json::to_vec(&result).map_err(|error| Stop::broken(&error))?;
        Ok(reply::ToolResult { result, failed })
    }

    /// What it asked of its client, in words.
    pub(super) fn refused(&self) -> Vec<&'static str> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    /// Ends the conversation.
    pub(super) async fn close(mut self) {
        // Whether the server was told in time changes nothing: the connection is dropped.
        drop(self.running.close_with_timeout(CLOSING).await);
    }
}
