//! From concrete arguments to what the broker may do for the step: exactly the request, recipients, channel or tool that was
//! judged, and the secrets whose handles stand in it.

use std::collections::BTreeSet;

use countersign_plan::egress::{Egress, HostGrant, HttpGrant, McpGrant, SecretGrant};
use countersign_plan::id::Reference;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Definition, Driver, Effect};
use countersign_plan::value::Expr;
use url::Url;

use super::arguments::Arg;
use super::{By, Derived, Deriving, Scene, Touch};
use crate::deployment::{Deployment, Standing};
use crate::hosts::{Endpoint, Host};
use crate::identities;

/// What the broker may do. Parts of it that a reference has still to fill are left out: what is not granted is refused.
pub(crate) fn of(
    tool: &Definition,
    args: &Expr,
    derived: &Derived,
    deployment: &Deployment,
    scene: Scene<'_>,
) -> Egress {
    let text = |name: &str| match Arg::of(args, &Pointer::from_segments(vec![name.to_owned()])) {
        Arg::Text(text) => Some(text),
        Arg::List(_) | Arg::Open | Arg::Absent | Arg::Other => None,
    };
    let mut egress = Egress::default();
    match &tool.driver {
        Driver::Builtin(name) => match name.as_str() {
            "http_request" => {
                if let (Some(method), Some(url)) = (text("method"), text("url")) {
                    egress.http.extend(http(&method, &url, deployment));
                }
            }
            "send_email" => {
                let to = text("to").and_then(|to| identities::addresses(&to).ok());
                egress.mail = to.unwrap_or_default();
            }
            "send_message" => egress.channel = text("channel"),
            "run_program" | "execute_command" => egress.connect = connections(derived, deployment),
            "mcp_describe" => egress.describe = text("server"),
            "git" => egress.connect = grants(derived.touches.iter(), deployment),
            _ => {}
        },
        Driver::Http(driver) => {
            let mut deriving = Deriving { scene, args, out: Derived::default() };
            if let Some(filled) = deriving.fill(&driver.url).filter(|filled| filled.whole) {
                egress.http.extend(http(&driver.method, &filled.url, deployment));
            }
        }
        Driver::Mcp(driver) => {
            egress.mcp = driver.definition.map(|definition| McpGrant {
                server: driver.server.clone(),
                tool: driver.tool.clone(),
                definition,
                stdio: !driver.argv.is_empty(),
            });
            if !driver.argv.is_empty() {
                egress.connect = connections(derived, deployment);
            }
        }
        Driver::Command(_) => egress.connect = connections(derived, deployment),
        Driver::None => {}
    }
    egress.secrets = secrets(tool, args)
        .into_iter()
        .map(|name| SecretGrant { hosts: deployment.hosts_of_secret(&name), exposed: tool.exposes, name })
        .collect();
    egress
}

/// The secrets that a step uses: by its arguments, and by what its tool itself names.
pub(crate) fn secrets(tool: &Definition, args: &Expr) -> BTreeSet<Reference> {
    let mut names = BTreeSet::new();
    args.references(&mut |_, expr| {
        if let Expr::Secret(name) = expr {
            names.insert(name.clone());
        }
    });
    names.extend(tool.driver.secrets().into_iter().cloned());
    names
}

fn http(method: &str, url: &str, deployment: &Deployment) -> Option<HttpGrant> {
    let endpoint = Endpoint::of_url(url).ok()?;
    let parsed = Url::parse(url).ok()?;
    Some(HttpGrant {
        method: method.to_owned(),
        tls: parsed.scheme() == "https",
        at: host(&endpoint, deployment)?,
        path: parsed.path().to_owned(),
    })
}

/// Programs of the step may open streams to the hosts that the plan's privileges name and the review judged.
fn connections(derived: &Derived, deployment: &Deployment) -> Vec<HostGrant> {
    grants(derived.touches.iter().filter(|touch| touch.effect == Effect::Send || touch.by == By::Command), deployment)
}

fn grants<'t>(touches: impl Iterator<Item = &'t Touch>, deployment: &Deployment) -> Vec<HostGrant> {
    let endpoints = touches.filter_map(|touch| touch.endpoint.as_ref());
    let mut grants: Vec<HostGrant> = endpoints.filter_map(|at| host(at, deployment)).collect();
    grants.sort();
    grants.dedup();
    grants
}

fn host(endpoint: &Endpoint, deployment: &Deployment) -> Option<HostGrant> {
    let name = match &endpoint.host {
        Host::Name(name) => name.clone(),
        Host::V4(ip) => ip.to_string(),
        Host::V6(ip) => ip.to_string(),
    };
    let private = deployment.standing_of_host(endpoint) <= Standing::Internal;
    Some(HostGrant { host: name, port: endpoint.port?, private })
}
