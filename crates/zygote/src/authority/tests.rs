//! Every way to start a step without leave for exactly that step.

use countersign_plan::canonical;
use countersign_plan::confinement::{Limits, Minimum, Owner, PathGrant, Profile, SandboxSpec};
use countersign_plan::digest::Digest;
use countersign_plan::key::PublicKey;
use countersign_plan::permit::{Claims, Phase};
use countersign_plan::time::Timestamp;
use countersign_wire::step::Order;
use countersign_wire::zygote::rotation_message;
use countersign_wire::zygote::to_zygote::{Boot, SpawnStep};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::json;

use super::{Authority, Refusal};

fn gate(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn spec(path: &str) -> SandboxSpec {
    SandboxSpec {
        profile: Profile::None,
        read: vec![PathGrant { path: path.to_owned(), identity: None }],
        write: vec![],
        run: vec![],
        links: vec![],
        read_only: vec![],
        masked: vec![],
        cwd: "/w".to_owned(),
        loopback: false,
        owner: Owner { uid: 1, gid: 1 },
        limits: Limits::BUILTIN,
        minimum: Minimum::Full,
        egress: Default::default(),
    }
}

struct Case {
    spec: SandboxSpec,
    order: Order,
    claims: Claims,
    now: i64,
}

fn case(path: &str) -> Case {
    let spec = spec(path);
    let args = json!({"path": path});
    let order = Order {
        step: "a".parse().unwrap(),
        phase: Phase::Act,
        tool: "read_file".parse().unwrap(),
        args: args.clone(),
        spec: spec.clone(),
        facts: vec![],
        driver: None,
        snapshot: None,
    };
    let claims = Claims {
        case: "c1".parse().unwrap(),
        plan_digest: Digest::of(b"plan"),
        version: 1,
        step: order.step.clone(),
        attempt: 1,
        phase: Phase::Act,
        tool: order.tool.clone(),
        tool_digest: Digest::of(b"tool"),
        args_digest: canonical::digest(&args),
        spec_digest: spec.digest().unwrap(),
        epoch: 3,
        issued_at: Timestamp::from_millis(1000),
        expires_at: Timestamp::from_millis(2000),
        nonce: "n1".to_owned(),
    };
    Case { spec, order, claims, now: 1500 }
}

fn booted(seed: u8) -> Authority {
    let mut authority = Authority::default();
    let gate_key = gate(seed).verifying_key().to_bytes().to_vec();
    authority.boot(&Boot { gate_key, epoch: 3, own: vec!["/state".to_owned()], signature: vec![] }).unwrap();
    authority
}

fn ask(authority: &mut Authority, case: &Case, signer: u8) -> Result<super::PermittedStep, Refusal> {
    let key = gate(signer);
    let id = PublicKey::from_bytes(&key.verifying_key().to_bytes()).unwrap().id();
    let (payload, to_sign) = case.claims.to_sign().unwrap();
    let permit = Claims::envelope(payload, id, key.sign(&to_sign).to_bytes()).to_json();
    let spec = canonical::of(&case.spec).unwrap();
    let order = canonical::of(&case.order).unwrap();
    authority.permit(&SpawnStep { permit, spec, now: case.now }, &order)
}

#[test]
fn a_permitted_step_is_started_once() {
    let mut authority = booted(1);
    assert!(ask(&mut authority, &case("/w/x"), 1).is_ok());
}

/// INV-6
#[test]
fn a_spent_nonce_is_refused() {
    let mut authority = booted(1);
    ask(&mut authority, &case("/w/x"), 1).unwrap();
    assert!(matches!(ask(&mut authority, &case("/w/x"), 1), Err(Refusal::Spent(_))));
}

/// INV-1
#[test]
fn nothing_starts_before_boot_or_by_another_key() {
    assert!(matches!(ask(&mut Authority::default(), &case("/w/x"), 1), Err(Refusal::NotBooted)));
    assert!(matches!(ask(&mut booted(1), &case("/w/x"), 2), Err(Refusal::Permit(_))));
}

/// INV-6
#[test]
fn a_permit_of_another_boot_epoch_is_refused() {
    let mut old = case("/w/x");
    old.claims.epoch = 2;
    assert!(matches!(ask(&mut booted(1), &old, 1), Err(Refusal::Permit(_))));
}

/// INV-6
#[test]
fn an_expired_permit_is_refused_and_time_only_moves_forward() {
    let mut late = case("/w/x");
    late.now = 2000;
    let mut authority = booted(1);
    assert!(matches!(ask(&mut authority, &late, 1), Err(Refusal::Expired(..))));
    let mut back = case("/w/x");
    back.claims.nonce = "n2".to_owned();
    back.now = 1500;
    assert!(matches!(ask(&mut authority, &back, 1), Err(Refusal::Expired(..))));
}

/// INV-3
#[test]
fn a_spec_other_than_the_permitted_one_is_refused() {
    let mut wider = case("/w/x");
    wider.spec.write.push(PathGrant { path: "/home".to_owned(), identity: None });
    wider.order.spec = wider.spec.clone();
    assert!(matches!(ask(&mut booted(1), &wider, 1), Err(Refusal::Spec)));
    let mut split = case("/w/x");
    split.order.spec = spec("/etc");
    assert!(matches!(ask(&mut booted(1), &split, 1), Err(Refusal::Spec)));
}

/// INV-3, `lesson_20`
#[test]
fn other_arguments_or_another_step_phase_or_tool_are_refused() {
    let mut args = case("/w/x");
    args.order.args = json!({"path": "/w/y"});
    assert!(matches!(ask(&mut booted(1), &args, 1), Err(Refusal::Arguments)));
    let mut step = case("/w/x");
    step.order.step = "b".parse().unwrap();
    assert!(matches!(ask(&mut booted(1), &step, 1), Err(Refusal::Order)));
    let mut phase = case("/w/x");
    phase.order.phase = Phase::Restore;
    assert!(matches!(ask(&mut booted(1), &phase, 1), Err(Refusal::Order)));
    let mut tool = case("/w/x");
    tool.order.tool = "delete_file".parse().unwrap();
    assert!(matches!(ask(&mut booted(1), &tool, 1), Err(Refusal::Order)));
}

#[test]
fn countersign_s_own_folders_are_refused_as_grants_and_covered_below_them() {
    assert!(matches!(ask(&mut booted(1), &case("/state/ledger.db"), 1), Err(Refusal::Own(_))));
    assert!(ask(&mut booted(1), &case("/stateless"), 1).unwrap().own.is_empty());
    assert_eq!(ask(&mut booted(1), &case("/"), 1).unwrap().own, ["/state"]);
}

#[test]
fn a_new_gate_key_counts_only_from_the_old_one() {
    let mut authority = booted(1);
    let gate_key = gate(2).verifying_key().to_bytes();
    let message = rotation_message(&gate_key, 3);
    let boot = |signature: Vec<u8>| Boot { gate_key: gate_key.to_vec(), epoch: 3, own: vec![], signature };
    assert!(authority.boot(&boot(vec![])).is_err());
    assert!(authority.boot(&boot(gate(2).sign(&message).to_bytes().to_vec())).is_err());
    authority.boot(&boot(gate(1).sign(&message).to_bytes().to_vec())).unwrap();
    assert!(matches!(ask(&mut authority, &case("/w/x"), 1), Err(Refusal::Permit(_))));
    assert!(ask(&mut authority, &case("/w/x"), 2).is_ok());
}
