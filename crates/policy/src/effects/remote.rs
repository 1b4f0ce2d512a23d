//! Tools that a manifest describes: an HTTP request from a template, a tool of an MCP server, a program with a template of
//! arguments. What they do to the world the manifest declares; where they go and what is started is read from the driver.

use countersign_plan::confinement::Profile;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{CommandDriver, Definition, Effect, HttpDriver, McpDriver, Part, TargetKind};
use countersign_plan::verdict::{Code, Decision};

use super::arguments::Arg;
use super::builtin::METHODS;
use super::{Beyond, Deriving};
use crate::deployment::Standing;
use crate::hosts::Endpoint;

/// The URL of a template as far as arguments fill it.
pub(super) struct Filled {
    pub(super) url: String,
    /// Whether every segment has a value.
    pub(super) whole: bool,
}

impl Deriving<'_> {
    /// A request of a template: the declared effect on the declared target, and what the method does to the host.
    pub(super) fn http_driver(&mut self, tool: &Definition, driver: &HttpDriver) {
        self.out.profile = Some(Profile::None);
        let on_network = matches!(tool.target.kind, TargetKind::Host | TargetKind::Url);
        if !(on_network && tool.target.arg.is_none()) {
            self.declared(tool);
        }
        let Some(filled) = self.fill(&driver.url) else { return };
        let known = match METHODS.iter().find(|(name, _)| *name == driver.method) {
            Some(("POST", _)) if tool.effect == Effect::Read && self.asks_inside(&filled.url) => {
                Some([Effect::Read].as_slice())
            }
            Some((_, effects)) => Some(*effects),
            None => None,
        };
        let mut effects = known.unwrap_or(&[Effect::Send]).to_vec();
        if tool.effect.is_harmless() && !effects.contains(&Effect::Read) {
            self.out.beyond_manifest = Some(Beyond::Remote);
        }
        if on_network && !effects.contains(&tool.effect) && !tool.effect.is_harmless() {
            effects.push(tool.effect);
        }
        for effect in effects {
            self.endpoint(effect, TargetKind::Url, &filled.url, Endpoint::of_url(&filled.url));
        }
    }

    /// Whether the URL's host is the house's own. Many interfaces ask questions by POST; that a tool of the manifest only reads is the
    /// manifest's word, and within the house there is nobody to carry anything to.
    fn asks_inside(&self, url: &str) -> bool {
        Endpoint::of_url(url)
            .is_ok_and(|endpoint| self.scene.deployment.standing_of_host(&endpoint) <= Standing::Internal)
    }

    /// The URL with every segment `{name}` filled that has a value; up to the first that has none.
    pub(super) fn fill(&mut self, template: &str) -> Option<Filled> {
        let Some((scheme, rest)) = template.split_once("://") else {
            self.found(Code::HostInvalid, Decision::Block, "the tool's URL has no scheme");
            return None;
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut url = format!("{scheme}://{authority}");
        for segment in path.split('/') {
            url.push('/');
            let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
                url.push_str(segment);
                continue;
            };
            match self.named(name) {
                // Servers and clients take these segments out of a path, encoded or not.
                Arg::Text(text) if matches!(text.as_str(), "" | "." | "..") => {
                    let message = format!("/{name} would lead elsewhere in the tool's URL");
                    self.found(Code::ToolArguments, Decision::Block, message);
                    return None;
                }
                Arg::Text(text) => url.push_str(&encode(&text)),
                Arg::Open => return Some(Filled { url, whole: false }),
                Arg::Absent | Arg::Other | Arg::List(_) => {
                    let message = format!("/{name} is needed in the tool's URL");
                    self.found(Code::ToolArguments, Decision::Block, message);
                    return None;
                }
            }
        }
        Some(Filled { url, whole: true })
    }

    /// A tool of an MCP server: as declared. A server that runs in the step is a program like any other.
    pub(super) fn mcp_driver(&mut self, tool: &Definition, driver: &McpDriver) {
        self.declared(tool);
        match driver.argv.first() {
            None => self.out.profile = Some(Profile::None),
            Some(program) => {
                self.out.profile = Some(Profile::Toolchain);
                self.entry_program(program);
                self.working_view(tool);
            }
        }
    }

    /// A program with a template of arguments: as declared, and the program. What the manifest vouches for is the template, so an
    /// argument that could be taken for an option is not in it.
    pub(super) fn command_driver(&mut self, tool: &Definition, driver: &CommandDriver) {
        self.declared(tool);
        self.out.profile = Some(if driver.exact { Profile::Exact } else { Profile::Toolchain });
        if let Some(Part::Literal(program)) = driver.argv.first() {
            self.entry_program(program);
        }
        let mut data = false;
        for part in &driver.argv {
            match part {
                Part::Literal(text) => data |= text == "--",
                Part::Argument(argument) => {
                    if let Arg::Text(text) = self.arg(&argument.arg) {
                        self.word(&argument.arg, &text, data);
                    }
                }
            }
        }
        self.working_view(tool);
    }

    fn word(&mut self, at: &Pointer, text: &str, data: bool) {
        if let Err(hidden) = countersign_plan::text::check_visible(text) {
            self.found(Code::PlanHiddenText, Decision::Block, format!("{at} hides something: {hidden}"));
        }
        if text.starts_with('-') && !data {
            let message = format!("{at} begins with `-`, so that the tool's program could take it for an option");
            self.found(Code::ToolArguments, Decision::Block, message);
        }
    }

    /// A program of a manifest that declares a change to files may write the workspace; one that reads, or changes something else,
    /// sees it.
    fn working_view(&mut self, tool: &Definition) {
        let files = matches!(tool.target.kind, TargetKind::File | TargetKind::Directory | TargetKind::Process);
        if !tool.effect.is_harmless() && files {
            self.view_of_workspace();
        }
    }
}

/// Percent-encodes everything but the unreserved characters (RFC 3986, section 2.3); the same as the step does.
pub(super) fn encode(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    });
    encoded.collect()
}
