//! The trust base: what an untrusted file may and may not do, key by key.

use countersign_plan::digest::Digest;

use super::{Layer, Origin, deployments, policies};
use crate::deployment::{ApprovalMode, Deployment, DeploymentDocument, Own, SandboxMinimum, SecrecyLevel, Standing};
use crate::hosts::Endpoint;
use crate::policy::PolicyDocument;

const OWN: &str = "
schema: countersign.deployment/v1
workspace: [/home/u/p]
identities: {user: u@c.example, internal: ['*@c.example'], known: [ap@k.example]}
hosts: {internal: ['*.c.example'], known: [api.k.example]}
secrecy: {confidential: ['**/payroll/**']}
clearance: {internal: confidential, known: internal, other: public}
protected: [{kind: database, match: 'prod-*'}]
approval: {mode: four_eyes}
";

fn layer(yaml: &str, origin: Origin) -> Layer<DeploymentDocument> {
    let document = DeploymentDocument::read(yaml.as_bytes()).unwrap();
    Layer { document, origin, digest: Digest::of(yaml.as_bytes()), file: "countersign.yaml".to_owned() }
}

fn with(keys: &str, trusted: bool) -> (Deployment, Vec<String>) {
    let workspace = layer(&format!("schema: countersign.deployment/v1\n{keys}\n"), Origin::Workspace);
    let merged = deployments(&[layer(OWN, Origin::Own), workspace], &|_| trusted, "/home/u/p", "/home/u");
    let ignored = merged.ignored.iter().map(|i| i.pointer.clone()).collect();
    (Deployment::compile(merged.document, "/home/u/p", "/home/u", &Own::default()).unwrap(), ignored)
}

fn host(text: &str) -> Endpoint {
    Endpoint::parse(text).unwrap()
}

#[test]
fn a_workspace_file_loosens_nothing() {
    let (d, ignored) = with(
        "workspace: [/home/u, /home/u/p]
home: /
identities: {user: eve@e.example, internal: ['*@e.example', '*@c.example'], known: [eve@e.example]}
hosts: {internal: ['*.e.example', api.k.example], known: ['*.k.example']}
secrecy: {public: ['**']}
clearance: {other: restricted, internal: restricted}
change_requests: {file: mine.yaml}
approval: {mode: inline}
sandbox: {minimum: no_userns}
tools: [mine.yaml]
secrets: {token: {hosts: [evil.e.example]}}",
        false,
    );
    let expected = [
        "/workspace/0",
        "/home",
        "/identities/user",
        "/identities/internal/0",
        "/identities/known/0",
        "/hosts/internal/0",
        "/hosts/internal/1",
        "/hosts/known/0",
        "/secrecy/public",
        "/clearance/internal",
        "/clearance/other",
        "/change_requests",
        "/approval/mode",
        "/sandbox/minimum",
        "/tools",
        "/secrets/token",
    ];
    assert_eq!(ignored, expected);
    assert_eq!(d.workspace(), ["/home/u/p"]);
    assert_eq!(d.home(), "/home/u");
    assert_eq!(d.standing_of("eve@e.example"), Standing::Other);
    assert_eq!(d.standing_of_host(&host("x.e.example")), Standing::Other);
    assert_eq!(d.clearance(Standing::Other), SecrecyLevel::Public);
    assert_eq!(d.clearance(Standing::Internal), SecrecyLevel::Confidential);
    assert_eq!(d.document().approval.as_ref().unwrap().mode, Some(ApprovalMode::FourEyes));
    assert_eq!(d.document().sandbox.as_ref().unwrap().minimum, Some(SandboxMinimum::Full));
    assert!(d.document().tools.is_empty() && d.document().change_requests.is_none());
    assert!(!d.secret_may_reach(&"token".parse().unwrap(), &host("evil.e.example")));
}

#[test]
fn a_workspace_file_tightens() {
    let (d, ignored) = with(
        "hosts: {internal: [git.c.example], known: ['wiki.c.example']}
identities: {internal: [u@c.example]}
secrecy: {restricted: ['secret/**']}
clearance: {known: public}
protected: [{kind: file, match: 'infra/**'}]",
        false,
    );
    assert_eq!(ignored, Vec::<String>::new());
    assert_eq!(d.standing_of_host(&host("git.c.example")), Standing::Internal);
    assert_eq!(d.standing_of_host(&host("wiki.c.example")), Standing::Known);
    assert_eq!(d.standing_of_host(&host("other.c.example")), Standing::Other);
    assert_eq!(d.standing_of_host(&host("api.k.example")), Standing::Other);
    assert_eq!(d.standing_of("eve@c.example"), Standing::Other);
    assert_eq!(d.standing_of("ap@k.example"), Standing::Known);
    assert_eq!(d.clearance(Standing::Known), SecrecyLevel::Public);
    assert!(d.is_restricted(&crate::paths::Seen::new("/home/u/p/secret/x", None)));
    assert!(d.protected().path(&crate::paths::Seen::new("/home/u/p/infra/x", None)).is_some());
}

#[test]
fn a_trusted_file_counts_in_full_and_removes_no_protection() {
    let (d, ignored) = with("hosts: {internal: ['*.e.example']}\nclearance: {other: internal}\ntools: [t.yaml]", true);
    assert!(ignored.is_empty());
    assert_eq!(d.standing_of_host(&host("x.e.example")), Standing::Internal);
    assert_eq!(d.clearance(Standing::Other), SecrecyLevel::Internal);
    assert_eq!(d.document().tools, ["t.yaml"]);
    assert!(d.protected().name(countersign_plan::tool::TargetKind::Database, "prod-x").is_some());
}

#[test]
fn trust_is_in_bytes_and_not_in_names() {
    let file = layer("schema: countersign.deployment/v1\nhosts: {known: [e.example]}\n", Origin::Workspace);
    let changed = layer("schema: countersign.deployment/v1\nhosts: {known: [f.example]}\n", Origin::Workspace);
    let trusted = |digest: &Digest| *digest == file.digest;
    for (layer, known) in [(&file, 1), (&changed, 0)] {
        let merged = deployments(std::slice::from_ref(layer), &trusted, "/w", "/h");
        assert_eq!(merged.document.hosts.unwrap().known.unwrap().len(), known);
        assert_eq!(merged.ignored.len(), 1 - known);
    }
}

#[test]
fn a_workspace_policy_adds_denials_and_lowers_limits() {
    let policy = |yaml: &str, origin| Layer {
        document: PolicyDocument::read(yaml.as_bytes()).unwrap(),
        origin,
        digest: Digest::of(yaml.as_bytes()),
        file: "policy.yaml".to_owned(),
    };
    let own = policy(
        "schema: countersign.policy/v1\nallow: [{name: a, action_types: [read_file]}]\nlimits: {steps: 20, risk: {ask: 50, block: 90}}\n",
        Origin::Own,
    );
    let theirs = policy(
        "schema: countersign.policy/v1
deny: [{name: a, action_types: [delete_file]}]
goal: [{name: a, findings: ['goal.*'], decision: block}]
allow: [{name: b, action_types: ['*']}]
limits: {steps: 500, risk: {ask: 30, block: 100}, rate: {per_minute: 5}}
",
        Origin::Workspace,
    );
    let merged = policies(&[own, theirs], &|_| false);
    assert_eq!(merged.document.deny.len(), 1);
    assert_eq!(merged.document.deny[0].name, "a (2)");
    assert_eq!(merged.document.goal[0].name, "a (2)", "it only tightens");
    assert_eq!(merged.document.allow.len(), 1);
    assert_eq!(merged.ignored[0].pointer, "/allow/0");
    let limits = merged.document.limits;
    assert_eq!((limits.steps, limits.risk.ask, limits.risk.block, limits.rate.per_minute), (20, 30, 90, 5));
}
