//! Properties over random policies and configurations: precedence, monotony, and that what comes with a workspace never loosens.

use std::cell::RefCell;

use countersign_plan::digest::Digest;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::Decision;
use countersign_policy::condition::{Root, Scope};
use countersign_policy::deployment::{Deployment, DeploymentDocument, Own};
use countersign_policy::hosts::{Endpoint, HostPattern};
use countersign_policy::paths::{Case, PathSet, Place, Seen};
use countersign_policy::policy::{Action, AllowRule, DenyRule, Policy, PolicyDocument, Use, VerifyRule};
use countersign_policy::trust_base::{Layer, Origin, deployments, policies};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{DEPLOYMENT, World};

const TOOLS: [(&str, &str); 3] = [("read_file", "files"), ("delete_file", "files"), ("http_request", "network")];
const PATTERNS: [&str; 8] = ["a/**", "a/b/*", "**/c", "/srv/**", "**", "a/b/c", "*", "**/*.x"];
const PATHS: [&str; 7] = ["a/b/c", "a/x", "c", "/srv/a/c", "/etc/d.x", "b", "A/B/C"];
const HOSTS: [&str; 4] = ["*.h.example", "h.example", "10.0.0.1", "*:443"];
const ENDPOINTS: [&str; 4] = ["x.h.example:443", "h.example:80", "10.0.0.1:443", "other.example:80"];

#[derive(Debug, Clone)]
struct Raw {
    selectors: Vec<String>,
    paths: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
    when: Option<String>,
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Option<Vec<String>>> {
    proptest::option::of(prop::collection::vec(prop::sample::select(of).prop_map(str::to_owned), 1..3))
}

fn raw() -> impl Strategy<Value = Raw> {
    let selector = prop::sample::select(
        &[
            "*",
            "read_file",
            "delete_file",
            "http_request",
            "effect:read",
            "effect:delete",
            "effect:update",
            "group:files",
        ][..],
    );
    let when = prop::sample::select(&["args.n > 5.0", "args.n <= 5.0", "has(args.n)"][..]);
    (
        prop::collection::vec(selector.prop_map(str::to_owned), 1..3),
        some(&PATTERNS),
        some(&HOSTS),
        proptest::option::of(when.prop_map(str::to_owned)),
    )
        .prop_map(|(selectors, paths, hosts, when)| Raw { selectors, paths, hosts, when })
}

fn document(deny: &[Raw], verify: &[Raw], allow: &[Raw]) -> PolicyDocument {
    let mut document = PolicyDocument::empty();
    for (i, r) in deny.iter().cloned().enumerate() {
        let (action_types, paths, hosts, when) = (r.selectors, r.paths, r.hosts, r.when);
        document.deny.push(DenyRule { name: format!("d{i}"), action_types, paths, hosts, when });
    }
    for (i, r) in verify.iter().cloned().enumerate() {
        let (action_types, paths, hosts, when) = (r.selectors, r.paths, r.hosts, r.when);
        document.verify.push(VerifyRule {
            name: format!("v{i}"),
            action_types,
            paths,
            hosts,
            when,
            tier: None,
            approvers: None,
        });
    }
    for (i, r) in allow.iter().cloned().enumerate() {
        let (action_types, paths, hosts, when) = (r.selectors, r.paths, r.hosts, r.when);
        document.allow.push(AllowRule { name: format!("a{i}"), action_types, paths, hosts, when });
    }
    document
}

fn place() -> Place {
    Place::new("/w", "/h").unwrap()
}

struct Args(Value);

impl Scope for Args {
    fn value(&self, root: Root) -> &Value {
        if root == Root::Args { &self.0 } else { &Value::Null }
    }

    fn is_open(&self, _: Root, _: &countersign_plan::pointer::Pointer) -> bool {
        false
    }
}

/// What an action does, as plain data.
#[derive(Debug, Clone)]
struct Did {
    tool: usize,
    uses: Vec<(Effect, Option<String>, Option<Endpoint>)>,
    n: i64,
}

fn did() -> impl Strategy<Value = Did> {
    let effect = prop::sample::select(&[Effect::Read, Effect::Delete, Effect::Update][..]);
    let path = prop::sample::select(&PATHS[..]).prop_map(|p| place().normalise(p).unwrap());
    let endpoint = prop::sample::select(&ENDPOINTS[..]).prop_map(|e| Endpoint::parse(e).unwrap());
    let one =
        (effect, proptest::option::of(path), proptest::option::of(endpoint)).prop_map(|(effect, path, endpoint)| {
            // A resource is a path or a host, never both.
            let endpoint = if path.is_some() { None } else { endpoint };
            (effect, path, endpoint)
        });
    (0..TOOLS.len(), prop::collection::vec(one, 1..4), 0..10_i64).prop_map(|(tool, uses, n)| Did { tool, uses, n })
}

fn holds(rule: &Raw, n: i64) -> bool {
    match rule.when.as_deref() {
        Some("args.n > 5.0") => n > 5,
        Some("args.n <= 5.0") => n <= 5,
        _ => true,
    }
}

fn selected(rule: &Raw, did: &Did, effect: Effect) -> bool {
    let (tool, group) = TOOLS[did.tool];
    rule.selectors
        .iter()
        .any(|s| s == "*" || s == tool || *s == format!("group:{group}") || *s == format!("effect:{}", effect.as_str()))
}

fn path_fits(patterns: &[String], path: &str, case: Case) -> bool {
    patterns.iter().any(|pattern| {
        let set = PathSet::compile(case, &place(), [(0, pattern.as_str())]).unwrap();
        Seen::new(path, None).touches(&set)
    })
}

fn host_fits(patterns: &[String], endpoint: &Endpoint) -> bool {
    patterns.iter().any(|pattern| HostPattern::parse(pattern).unwrap().matches(endpoint))
}

/// A rule to deny or verify, by its definition.
fn any(rule: &Raw, did: &Did) -> bool {
    let meant = || did.uses.iter().filter(|(effect, ..)| selected(rule, did, *effect));
    let paths = |list: &Vec<String>| {
        meant().any(|(_, path, _)| path.as_ref().is_some_and(|p| path_fits(list, p, Case::Folded)))
    };
    let hosts = |list: &Vec<String>| meant().any(|(_, _, e)| e.as_ref().is_some_and(|e| host_fits(list, e)));
    meant().next().is_some()
        && rule.paths.as_ref().is_none_or(paths)
        && rule.hosts.as_ref().is_none_or(hosts)
        && holds(rule, did.n)
}

/// A rule to allow, by its definition.
fn all(rule: &Raw, did: &Did) -> bool {
    let meant = did.uses.iter().all(|(effect, ..)| selected(rule, did, *effect));
    let paths: Vec<&String> = did.uses.iter().filter_map(|(_, path, _)| path.as_ref()).collect();
    let hosts: Vec<&Endpoint> = did.uses.iter().filter_map(|(_, _, e)| e.as_ref()).collect();
    let inside = |list: &Vec<String>| !paths.is_empty() && paths.iter().all(|p| path_fits(list, p, Case::Exact));
    let listed = |list: &Vec<String>| !hosts.is_empty() && hosts.iter().all(|e| host_fits(list, e));
    meant && rule.paths.as_ref().is_none_or(inside) && rule.hosts.as_ref().is_none_or(listed) && holds(rule, did.n)
}

fn compiled(policy: &Policy, did: &Did) -> (Vec<String>, Vec<String>, Option<String>) {
    let uses: Vec<Use<'_>> = did
        .uses
        .iter()
        .map(|(effect, path, endpoint)| Use {
            effect: *effect,
            kind: TargetKind::File,
            path: path.as_ref().map(|p| Seen::new(p, None)),
            endpoint: endpoint.as_ref(),
        })
        .collect();
    let (tool, group) = TOOLS[did.tool];
    let args = Args(json!({"n": did.n}));
    let found = policy.decide(&Action { tool, group: Some(group), uses: &uses }, &[&args]);
    assert!(found.diagnostics.is_empty() && found.deny_open.is_empty());
    let names = |rules: &[&countersign_policy::policy::Rule]| rules.iter().map(|r| r.name().to_owned()).collect();
    (names(&found.deny), names(&found.verify), found.allow.map(|r| r.name().to_owned()))
}

thread_local! {
    /// One world for all cases of a property: only what the property varies is compiled anew.
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

/// What a policy decides about a probe.
fn under(document: &PolicyDocument, probe: usize) -> Decision {
    WORLD.with_borrow_mut(|world| {
        world.policy = Policy::compile(document, world.deployment.place()).unwrap();
        let (action, args) = PROBES[probe];
        world.act(action, serde_json::from_str(args).unwrap()).decision
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_compiled_policy_agrees_with_its_definition(
        deny in prop::collection::vec(raw(), 0..6), verify in prop::collection::vec(raw(), 0..6),
        allow in prop::collection::vec(raw(), 0..6), did in did(),
    ) {
        let policy = Policy::compile(&document(&deny, &verify, &allow), &place()).unwrap();
        let (denied, verified, allowed) = compiled(&policy, &did);
        let named = |kind: &str, rules: &[Raw]| -> Vec<String> {
            rules.iter().enumerate().filter(|(_, r)| any(r, &did)).map(|(i, _)| format!("{kind}{i}")).collect()
        };
        prop_assert_eq!(&denied, &named("d", &deny));
        if denied.is_empty() {
            prop_assert_eq!(verified, named("v", &verify));
            prop_assert_eq!(allowed, allow.iter().position(|r| all(r, &did)).map(|i| format!("a{i}")));
        } else {
            prop_assert!(allowed.is_none());
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn another_deny_or_verify_rule_never_loosens(
        deny in prop::collection::vec(raw(), 0..4), verify in prop::collection::vec(raw(), 0..4),
        allow in prop::collection::vec(raw(), 0..4), more in raw(), probe in 0..PROBES.len(),
    ) {
        let decide = |document: &PolicyDocument| under(document, probe);
        let before = decide(&document(&deny, &verify, &allow));
        let mut stricter = deny.clone();
        stricter.push(more.clone());
        prop_assert!(decide(&document(&stricter, &verify, &allow)) >= before);
        let mut looked = verify.clone();
        looked.push(more);
        prop_assert!(decide(&document(&deny, &looked, &allow)) >= before);
    }

    #[test]
    fn a_workspace_file_never_loosens(keys in prop::collection::vec(prop::sample::select(KEYS), 1..6), probe in 0..PROBES.len()) {
        let mut theirs = json!({"schema": "countersign.deployment/v1"});
        for key in keys {
            let (name, value) = key.split_once('=').unwrap();
            theirs[name] = serde_json::from_str(value).unwrap();
        }
        let layer = |document: DeploymentDocument, origin| Layer { document, origin, digest: Digest::of(b"x"), file: String::new() };
        let own = DeploymentDocument::read(DEPLOYMENT.as_bytes()).unwrap();
        let theirs = DeploymentDocument::from_value(theirs).unwrap();
        let decide = |layers: &[Layer<DeploymentDocument>]| {
            let merged = deployments(layers, &|_| false, "/home/user/project", "/home/user");
            let own = Own { folders: vec![], files: vec![] };
            let compiled = Deployment::compile(merged.document, "/home/user/project", "/home/user", &own).unwrap();
            WORLD.with_borrow_mut(|world| {
                world.deployment = compiled;
                let (action, args) = PROBES[probe];
                world.act_for("Clean it", action, serde_json::from_str(args).unwrap()).decision
            })
        };
        let before = decide(&[layer(own.clone(), Origin::Own)]);
        let after = decide(&[layer(own, Origin::Own), layer(theirs.clone(), Origin::Workspace)]);
        prop_assert!(after >= before, "{:?} to {:?} by {:?}", before, after, theirs);
    }

    #[test]
    fn a_workspace_policy_never_loosens(
        own in (prop::collection::vec(raw(), 0..3), prop::collection::vec(raw(), 0..3)),
        theirs in (prop::collection::vec(raw(), 0..3), prop::collection::vec(raw(), 0..3), prop::collection::vec(raw(), 0..3)),
        probe in 0..PROBES.len(),
    ) {
        let layer = |document, origin| Layer { document, origin, digest: Digest::of(b"x"), file: String::new() };
        let mine = document(&own.0, &[], &own.1);
        let decide = |layers: &[Layer<PolicyDocument>]| under(&policies(layers, &|_| false).document, probe);
        let before = decide(&[layer(mine.clone(), Origin::Own)]);
        let added = document(&theirs.0, &theirs.1, &theirs.2);
        let after: Decision = decide(&[layer(mine, Origin::Own), layer(added, Origin::Workspace)]);
        prop_assert!(after >= before);
    }
}

/// Actions that are tried before and after.
const PROBES: &[(&str, &str)] = &[
    ("read_file", r#"{"path": "a/b/c"}"#),
    ("read_file", r#"{"path": "/srv/payroll/x"}"#),
    ("write_file", r#"{"path": "a/x", "content": ""}"#),
    ("write_file", r#"{"path": "/srv/a/c", "content": ""}"#),
    ("write_file", r#"{"path": "~/x", "content": ""}"#),
    ("delete_file", r#"{"path": "c"}"#),
    ("delete_file", r#"{"path": "infra/prod/x"}"#),
    ("move_file", r#"{"source": "a/x", "destination": "c"}"#),
    ("http_request", r#"{"method": "GET", "url": "https://git.company.example/"}"#),
    ("http_request", r#"{"method": "POST", "url": "https://git.company.example/"}"#),
    ("http_request", r#"{"method": "GET", "url": "https://api.partner.example/"}"#),
    ("http_request", r#"{"method": "POST", "url": "https://x.evil.example/"}"#),
    ("send_message", r##"{"channel": "#finance", "body": ""}"##),
    ("drop_database", r#"{"to": "prod-old"}"#),
    ("git", r#"{"repo": ".", "args": ["commit", "-m", "x"]}"#),
];

/// Keys that a hostile or careful workspace file may have.
const KEYS: &[&str] = &[
    r#"workspace=["/home/user/project", "/home/user", "/srv"]"#,
    r#"workspace=["/home/user/project/a"]"#,
    r#"workspace=["."]"#,
    r#"home="/srv""#,
    r#"identities={"user": "eve@evil.example", "internal": ["*@evil.example"], "known": ["eve@evil.example"]}"#,
    r##"identities={"internal": ["#finance"]}"##,
    r#"hosts={"internal": ["*.evil.example", "x.evil.example", "api.partner.example"], "known": ["*.evil.example"]}"#,
    r#"hosts={"known": ["git.company.example"]}"#,
    r#"hosts={"internal": ["git.company.example"], "known": []}"#,
    r#"secrecy={"public": ["**"], "internal": ["**"]}"#,
    r#"secrecy={"restricted": ["a/**"], "confidential": ["**"]}"#,
    r#"clearance={"internal": "restricted", "known": "restricted", "other": "restricted"}"#,
    r#"clearance={"internal": "public"}"#,
    r#"protected=[{"kind": "file", "match": "a/**"}]"#,
    r#"protected=[]"#,
    r#"change_requests={"file": "mine.yaml"}"#,
    r#"approval={"mode": "inline", "confirmation": "request"}"#,
    r#"sandbox={"minimum": "no_userns"}"#,
    r#"tools=["mine.yaml"]"#,
    r#"secrets={"token": {"hosts": ["evil.example"]}}"#,
];
