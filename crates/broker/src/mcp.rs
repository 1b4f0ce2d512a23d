//! MCP servers: what they offer, whether that is still what was granted, and calls of their tools.
//!
//! The protocol is the official SDK's; this room decides what of it happens. Each call has a session of its own, so nothing that a
//! server learnt in one case is there in another. Before a call the tool is listed and its definition compared with the pin of
//! the grant: a server that changed its mind about what a tool is (a rug pull), that dropped it or offers it twice is not asked
//! for it again until a person has pinned what it is now, even if it says what it said before. What servers ask of their clients (models, roots, a user's input) is
//! refused, and nothing is ever sent twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_plan::egress::McpGrant;
use countersign_plan::text;
use countersign_wire::broker::McpServer;
use countersign_wire::egress::{ask, reply};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig};
use tokio::io::DuplexStream;
use tokio::time::Instant;
use url::Url;

use crate::configuration::{Configuration, Mcp, endpoint};
use crate::events::Events;
use crate::http::Client;
use crate::mcp::lines::Lines;
use crate::mcp::quarantine::Quarantine;
use crate::mcp::session::{Session, Stop};
use crate::mcp::transport::{Http, Key};
use crate::refusal::Refusal;
use crate::secrets::Secrets;

mod definition;
mod lines;
pub(crate) mod quarantine;
mod session;
mod transport;

/// The longest time for one call, and for one that says none.
const LONGEST: Duration = Duration::from_secs(600);
const USUAL: Duration = Duration::from_secs(30);
/// The time to ask a server what it offers.
const DESCRIBING: Duration = Duration::from_secs(30);

/// All MCP servers of the configuration.
pub(crate) struct Servers {
    servers: BTreeMap<String, Mcp>,
    secrets: Arc<Secrets>,
    client: Arc<Client>,
    events: Events,
    /// Tools that changed.
    quarantine: Quarantine,
}

impl Servers {
    /// The servers of `configuration`.
    ///
    /// # Errors
    /// A server that cannot be used as it is configured.
    pub(crate) fn new(
        configuration: &Configuration,
        secrets: Arc<Secrets>,
        client: Arc<Client>,
        events: Events,
        quarantine: Quarantine,
    ) -> Result<Self, String> {
        for (name, server) in &configuration.mcp {
            if let Some(url) = &server.url {
                Url::parse(url).map_err(|error| format!("/mcp/{}/url: {error}", text::escape(name)))?;
            }
        }
        Ok(Self { servers: configuration.mcp.clone(), secrets, client, events, quarantine })
    }

    /// What the monitor may know of them.
    pub(crate) fn facts(&self) -> Vec<McpServer> {
        let server = |(name, server): (&String, &Mcp)| McpServer {
            name: name.clone(),
            argv: server.argv.clone(),
            host: server.url.as_deref().map(endpoint).unwrap_or_default(),
        };
        self.servers.iter().map(server).collect()
    }

    /// What a server that is reached by network offers now: a JSON array of `{name, description, input_schema, digest}`.
    ///
    /// # Errors
    /// It could not be asked.
    pub(crate) async fn describe(&self, server: &str) -> Result<Vec<u8>, String> {
        let deadline = Instant::now() + DESCRIBING;
        let session = self.reach("", server, deadline).await.map_err(|refusal| refusal.message)?;
        let tools = listed(server, session).await?;
        serde_json::to_vec(&tools).map_err(|error| error.to_string())
    }

    /// What a server that runs in a step offers now: `{"tools": […]}` of the same.
    ///
    /// # Errors
    /// It could not be asked.
    pub(crate) async fn describe_inside(&self, server: &str, stdio: DuplexStream) -> Result<Vec<u8>, String> {
        let session = inside(server, stdio, Instant::now() + DESCRIBING).await.map_err(|refusal| refusal.message)?;
        let tools = listed(server, session).await?;
        serde_json::to_vec(&serde_json::json!({ "tools": tools })).map_err(|error| error.to_string())
    }

    /// Calls a tool. That server and tool are the granted ones was checked; that the definition is, is checked here. `stdio` is
    /// the standard input and output of a server that runs in the step.
    pub(crate) async fn call(
        &self,
        case: &str,
        grant: &McpGrant,
        ask: ask::Mcp,
        stdio: Option<DuplexStream>,
    ) -> reply::Kind {
        match self.result(case, grant, &ask, stdio).await {
            Ok(result) => reply::Kind::Result(result),
            Err(refusal) => {
                if refusal.alert {
                    self.events.alert(case, &self.secrets.redactor().redact_text(&refusal.message)).await;
                }
                refusal.reply()
            }
        }
    }

    /// A case ended. Sessions live as long as their calls, which end with their steps: nothing is left of it here.
    pub(crate) async fn case_ended(&self, _case: &str) {}

    async fn result(
        &self,
        case: &str,
        grant: &McpGrant,
        ask: &ask::Mcp,
        stdio: Option<DuplexStream>,
    ) -> Result<reply::ToolResult, Refusal> {
        let (server, tool) = (grant.server.as_str(), grant.tool.as_str());
        if self.quarantine.holds(grant) {
            let message = format!(
                "the tool {} of {} is in quarantine since its definition changed; look at what it says now and pin that if it is \
                 right (to trust the old pin again, take its line out of `broker/quarantine.json` in the state folder)",
                text::escape(tool),
                text::escape(server)
            );
            return Err(Refusal::refused(message));
        }
        let time = if ask.timeout_ms == 0 { USUAL } else { Duration::from_millis(ask.timeout_ms).min(LONGEST) };
        let deadline = Instant::now() + time;
        let session = match stdio {
            Some(stdio) => inside(server, stdio, deadline).await?,
            None => self.reach(case, server, deadline).await?,
        };
        let outcome = self.asked(&session, grant, ask).await;
        for request in session.refused() {
            let message =
                format!("the server {} asked its client for {request}, which was refused", text::escape(server));
            self.events.note(case, &message).await;
        }
        session.close().await;
        outcome
    }

    async fn asked(&self, session: &Session, grant: &McpGrant, ask: &ask::Mcp) -> Result<reply::ToolResult, Refusal> {
        let arguments = session::arguments(&ask.arguments).map_err(Refusal::refused)?;
        let tools = session.tools().await.map_err(|stop| stop.refusal(&grant.server, false))?;
        if let Err(changed) = definition::compare(&tools, &grant.tool, grant.definition) {
            let unwritten = self.quarantine.add(grant).err().map(|why| format!(" (not written down: {why})"));
            let (tool, server) = (text::escape(&grant.tool), text::escape(&grant.server));
            let more = unwritten.unwrap_or_default();
            let message = format!("the tool {tool} of the MCP server {server} was not called: {changed}{more}");
            return Err(Refusal { alert: true, ..Refusal::refused(message) });
        }
        session.call(&grant.tool, arguments).await.map_err(|stop| stop.refusal(&grant.server, true))
    }

    /// A session with a server that is reached by network.
    async fn reach(&self, case: &str, server: &str, deadline: Instant) -> Result<Session, Refusal> {
        let shown = text::escape(server);
        let configured = self
            .servers
            .get(server)
            .ok_or_else(|| Refusal::refused(format!("no MCP server {shown} is in the broker's configuration")))?;
        let url = configured.url.as_ref().and_then(|url| Url::parse(url).ok()).ok_or_else(|| {
            Refusal::refused(format!("the MCP server {shown} runs in a step; it is not reached by network"))
        })?;
        let key = self.key(configured, case).await?;
        let begun = self.greet(&url, key.clone(), deadline).await;
        let (Err(stop), Some(old)) = (&begun, key) else { return begun.map_err(|stop| stop.refusal(server, false)) };
        // Refused at its greeting, so nothing happened: perhaps the key was rotated since it was read. Once.
        match self.key(configured, case).await? {
            Some(new) if new.value.bytes() != old.value.bytes() => {
                self.greet(&url, Some(new), deadline).await.map_err(|stop| stop.refusal(server, false))
            }
            Some(_) | None => Err(stop.refusal(server, false)),
        }
    }

    /// The key of a server, as it is now.
    async fn key(&self, configured: &Mcp, case: &str) -> Result<Option<Key>, Refusal> {
        let Some(name) = &configured.key else { return Ok(None) };
        let value = self.secrets.value(name, case).await.map_err(|error| Refusal::refused(error.to_string()))?;
        let secrets = Arc::clone(&self.secrets);
        Ok(Some(Key { value, name: name.clone(), case: case.to_owned(), secrets }))
    }

    async fn greet(&self, url: &Url, key: Option<Key>, deadline: Instant) -> Result<Session, Stop> {
        let http = Http::new(Arc::clone(&self.client), url.clone(), key, deadline);
        let mut settings = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        // A session that expired is not begun again by the transport: it would repeat the call (INV-2).
        settings.reinit_on_expired_session = false;
        let transport = StreamableHttpClientTransport::with_client(http, settings);
        Session::begin(transport, deadline).await
    }
}

/// Its tools, for whoever pins them; ends the session.
async fn listed(server: &str, session: Session) -> Result<Vec<definition::Described>, String> {
    let listed = session.tools().await;
    session.close().await;
    let tools = listed.map_err(|stop| stop.refusal(server, false).message)?;
    tools.iter().map(|tool| definition::described(tool).map_err(|error| error.to_string())).collect()
}

/// A session with a server that runs in a step.
async fn inside(server: &str, stdio: DuplexStream, deadline: Instant) -> Result<Session, Refusal> {
    let (output, input) = tokio::io::split(stdio);
    let transport = AsyncRwTransport::new_client(Lines::new(output), input);
    Session::begin(transport, deadline).await.map_err(|stop| stop.refusal(server, false))
}

#[cfg(test)]
mod tests;
