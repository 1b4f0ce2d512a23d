//! Properties over drawn documents: one value has one form, every byte counts, holes refuse nothing that the full check
//! allows, and nothing hides.

use std::collections::HashSet;
use std::sync::Arc;

use countersign_plan::approval::{Answer, Approval, Approver, VerifiedApproval};
use countersign_plan::artifact::{self, Plan, StepGrant};
use countersign_plan::canonical;
use countersign_plan::confinement::Profile;
use countersign_plan::digest::Digest;
use countersign_plan::document::{Bounds, from_json, from_yaml};
use countersign_plan::draft::Draft;
use countersign_plan::envelope::{Countersignature, CountersignedPlan, Envelope, TrustRoot, VerifyError};
use countersign_plan::key::PublicKey;
use countersign_plan::permit::{Claims, Phase, VerifiedPermit};
use countersign_plan::pointer::Pointer;
use countersign_plan::resolve::{Inputs, Outputs, resolve};
use countersign_plan::text;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::Manifest;
use countersign_plan::value::Expr;
use countersign_plan::verdict::Mode;
use ed25519_dalek::{Signer as _, SigningKey};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_060_000);

fn key(seed: u8) -> (SigningKey, PublicKey) {
    let secret = SigningKey::from_bytes(&[seed; 32]);
    let public = PublicKey::from_bytes(&secret.verifying_key().to_bytes()).unwrap();
    (secret, public)
}

/// Text with what makes text hard: quotes, backslashes, controls, what hides, letters beyond U+FFFF.
pub(crate) fn any_text() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        "[a-z]{0,8}",
        "(\\PC|[\\x00-\\x1f\\\\\"nu{}~/$\u{85}\u{ad}\u{200b}\u{202e}\u{2066}\u{feff}\u{10000}\u{e0041}]){0,12}"
    ]
}

fn any_leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1i64 << 53) + 1..(1i64 << 53)).prop_map(Value::from),
        any::<f64>().prop_filter_map("in range", |f| (f.abs() < 9e15 && f.fract() != 0.0).then(|| Value::from(f))),
        any_text().prop_map(Value::from),
    ]
}

/// Literals of arguments: no name starts with `$`.
fn any_literal() -> impl Strategy<Value = Value> {
    any_leaf().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z~/\u{e9}\u{10000}]{0,4}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Arguments of step `own`, with references to earlier steps.
fn any_args(own: usize) -> impl Strategy<Value = Value> {
    let reference = (0..own.max(1), any_text()).prop_map(move |(step, name)| {
        let at = Pointer::from_segments(vec![name]).to_string();
        if own == 0 { json!({"$input": "rows"}) } else { json!({"$from": format!("s{step}"), "at": at}) }
    });
    let value = prop_oneof![
        3 => any_literal(),
        1 => reference.clone(),
        1 => (any_text(), reference).prop_map(|(text, reference)| json!({"$join": [text, 7, reference]})),
        1 => any_literal().prop_map(|literal| json!({"$lit": {"$from": literal}})),
    ];
    prop::collection::btree_map("[a-z]{1,5}", value, 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

fn any_step(own: usize) -> impl Strategy<Value = Value> {
    (any_args(own), prop::option::of(any_text()), any::<bool>(), prop::option::of(0..own.max(1))).prop_map(
        move |(args, reason, irreversible, need)| {
            let mut step = json!({"id": format!("s{own}"), "action": "read_file", "args": args});
            if let Some(reason) = reason {
                step["reason"] = json!(reason);
            }
            if irreversible {
                step["irreversible"] = json!(true);
                step["rollback"] = json!("none");
                step["expect"] = json!([{"output": "/ok", "equals": true}]);
            }
            if let Some(need) = need.filter(|_| own > 0) {
                step["needs"] = json!([format!("s{need}")]);
            }
            step
        },
    )
}

/// A draft that is accepted.
pub(crate) fn any_draft() -> impl Strategy<Value = Value> {
    let steps = (1usize..5).prop_flat_map(|count| (0..count).map(any_step).collect::<Vec<_>>());
    (steps, any_text()).prop_map(|(steps, goal)| {
        json!({"schema": "countersign.plan/v1", "goal": format!("g{goal}"), "steps": steps, "expires_in": "5m"})
    })
}

/// The pointers of all leaves and empty collections of `value`.
fn leaves(value: &Value, at: &Pointer, out: &mut Vec<String>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(i, item)| leaves(item, &at.child(i.to_string()), out));
        }
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, member)| leaves(member, &at.child(name.as_str()), out));
        }
        _ => out.push(at.to_string()),
    }
}

fn pick<'a>(index: &Index, places: &'a [String]) -> &'a str {
    &places[index.index(places.len())]
}

fn altered(leaf: &Value) -> Value {
    match leaf {
        Value::Null => json!(false),
        Value::Bool(b) => json!(!b),
        Value::Number(n) => json!(format!("{n}")),
        Value::String(s) => match s.char_indices().last() {
            Some((i, c)) => json!(format!("{}{}", s.get(..i).unwrap(), if c == 'x' { 'y' } else { 'x' })),
            None => json!(" "),
        },
        Value::Array(_) => json!({}),
        Value::Object(_) => json!([]),
    }
}

fn plan_of(draft: &Draft) -> Plan {
    let tool = Digest::of(b"tool");
    let grant = |(i, step): (usize, &countersign_plan::draft::Step)| StepGrant {
        id: step.id.clone(),
        accesses: Vec::new(),
        profile: Profile::None,
        irreversible: step.irreversible,
        action_digest: artifact::action_digest(step, tool, &draft.source()["steps"][i]),
    };
    Plan {
        schema: artifact::SCHEMA.to_owned(),
        case: "c-1".parse().unwrap(),
        version: 1,
        parent: None,
        principal: "user:alice".parse().unwrap(),
        agent: "agent:planner".parse().unwrap(),
        mode: Mode::Managed,
        draft_digest: draft.digest(),
        draft: draft.shared_source(),
        inputs: Inputs::from([("rows".parse().unwrap(), json!([1, "two"]))]),
        cwd: "/w".to_owned(),
        steps: draft.steps().iter().enumerate().map(grant).collect(),
        tools: [("read_file".parse().unwrap(), tool)].into(),
        policy_digest: Digest::of(b"policy"),
        deployment_digest: Digest::of(b"deployment"),
        label_proof: Some(Digest::of(b"proof")),
        not_before: Timestamp::from_millis(1_790_000_000_000),
        nonce: "00".to_owned(),
    }
}

fn countersign(plan: Vec<u8>) -> CountersignedPlan {
    let (secret, public) = key(1);
    let statement = Countersignature {
        case: "c-1".parse().unwrap(),
        version: 1,
        epoch: 7,
        decision: Digest::of(b"decision"),
        approvals: Vec::new(),
        signed_at: Timestamp::from_millis(1_790_000_000_000),
        expires_at: Timestamp::from_millis(1_790_000_900_000),
    };
    let (payload, to_sign) = statement.to_sign(Digest::of(&plan));
    let envelope = Countersignature::envelope(payload, public.id(), secret.sign(&to_sign).to_bytes());
    CountersignedPlan { plan, envelope }
}

/// A schema of one argument, from the keywords that judge a value by its parts and those that do not.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!({"type": "string", "minLength": 1})),
        Just(json!({"type": "string", "pattern": "^[a-m]*$"})),
        Just(json!({"type": "integer", "minimum": 0})),
        Just(json!({"type": ["boolean", "null"]})),
        Just(json!({"enum": ["a", "b", 1, null, ["a"]]})),
        Just(json!({"const": "a"})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|s| json!({"type": "array", "items": s, "maxItems": 3})),
            inner.clone().prop_map(|s| json!({"type": "array", "contains": s, "uniqueItems": true})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"type": "array", "prefixItems": [a], "items": b})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| {
                json!({"type": "object", "properties": {"a": a, "b": b}, "required": ["a"], "additionalProperties": false})
            }),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| {
                json!({"anyOf": [{"properties": {"a": a}, "required": ["a"]}, {"properties": {"b": b}}], "unevaluatedProperties": false})
            }),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"anyOf": [a, b]})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"oneOf": [a, b]})),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({"if": {"properties": {"a": a}}, "then": b, "else": {"properties": {"b": c}}})),
            inner.clone().prop_map(|a| json!({"not": a})),
            inner.prop_map(|a| json!({"dependentSchemas": {"a": {"properties": {"b": a}}}})),
        ]
    })
}

/// A value that such a schema has a chance to allow.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(1)),
        Just(json!(-1)),
        Just(json!("")),
        Just(json!("a")),
        Just(json!("z")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn manifest(schema: &Value) -> Manifest {
    let mut manifest = Manifest::default();
    let definition = json!({
        "name": "t", "description": "", "effect": "read", "reversibility": "pure",
        "args": {"type": "object", "properties": {"x": schema}, "required": ["x"], "additionalProperties": false},
        "target": {"kind": "other"}, "output": {"trust": "system", "secrecy": "internal"}, "driver": "none"
    });
    manifest.extend(vec![definition]).unwrap();
    manifest
}

/// `value` with a reference to itself in the output of `s` at the places that `holes` picks.
fn with_holes(value: &Value, holes: &[Index]) -> Value {
    let mut places = Vec::new();
    leaves(value, &Pointer::ROOT, &mut places);
    let mut out = value.clone();
    for hole in holes {
        let place = pick(hole, &places);
        if let Some(slot) = out.pointer_mut(place) {
            *slot = json!({"$from": "s", "at": place});
        }
    }
    out
}

proptest! {
    /// A draft is what its canonical bytes say, in JSON and in YAML, however it was written.
    #[test]
    fn a_draft_is_its_canonical_bytes(source in any_draft()) {
        let pretty = serde_json::to_vec_pretty(&source).unwrap();
        let draft = Draft::read(&pretty).unwrap();
        let bytes = canonical::to_vec(draft.source());
        let again = Draft::read(&bytes).unwrap();
        prop_assert_eq!(canonical::to_vec(again.source()), &bytes[..]);
        prop_assert_eq!(again.digest(), draft.digest());
        prop_assert_eq!(Digest::of(&bytes), draft.digest());
        prop_assert_eq!(format!("{:?}", again.steps()), format!("{:?}", draft.steps()));
        let strict = from_json(&bytes, Bounds::PLAN).unwrap();
        prop_assert_eq!(canonical::to_vec(&strict), &bytes[..]);
        // YAML takes no control character unescaped; what it takes, it reads as JSON does.
        if let Ok(yaml) = from_yaml(&bytes, Bounds::PLAN) {
            prop_assert_eq!(Draft::from_value(yaml).unwrap().digest(), draft.digest());
        }
    }

    #[test]
    fn inv_3_any_leaf_of_a_plan_counts(source in any_draft(), picked in any::<Index>()) {
        let draft = Draft::from_value(source).unwrap();
        let bytes = plan_of(&draft).to_bytes().unwrap();
        let signed = countersign(bytes.clone());
        let root = TrustRoot { gate: key(1).1, epoch: Some(7) };
        prop_assert_eq!(signed.verify(&root, NOW).unwrap().digest(), Digest::of(&bytes));

        let mut plan: Value = serde_json::from_slice(&bytes).unwrap();
        let mut places = Vec::new();
        leaves(&plan, &Pointer::ROOT, &mut places);
        let leaf = plan.pointer_mut(pick(&picked, &places)).unwrap();
        *leaf = altered(leaf);
        let other = canonical::to_vec(&plan);
        prop_assert_ne!(Digest::of(&other), Digest::of(&bytes), "{}", pick(&picked, &places));
        let swapped = CountersignedPlan { plan: other, envelope: signed.envelope };
        let refused = matches!(swapped.verify(&root, NOW), Err(VerifyError::Altered { .. }));
        prop_assert!(refused, "{}", pick(&picked, &places));
    }

    /// The draft inside a plan cannot be exchanged by the signer's mistake either: its digest is in the plan.
    #[test]
    fn inv_3_any_leaf_of_a_signed_draft_counts(source in any_draft(), picked in any::<Index>()) {
        let mut plan = plan_of(&Draft::from_value(source).unwrap());
        let mut places = Vec::new();
        leaves(&plan.draft, &Pointer::ROOT, &mut places);
        let leaf = Arc::make_mut(&mut plan.draft).pointer_mut(pick(&picked, &places)).unwrap();
        *leaf = altered(leaf);
        let signed = countersign(plan.to_bytes().unwrap());
        let refused = matches!(signed.verify(&TrustRoot { gate: key(1).1, epoch: None }, NOW), Err(VerifyError::Plan(_)));
        prop_assert!(refused);
    }

    /// `lesson_24`: an action's digest changes with everything that it means, and not with the planner's words.
    #[test]
    fn lesson_24_an_action_is_what_it_does(source in any_step(0), picked in any::<Index>(), words in any_text()) {
        let digest = |step: &Value| {
            let draft = json!({"schema": "countersign.plan/v1", "goal": "g", "steps": [step]});
            Draft::from_value(draft).map(|d| artifact::action_digest(&d.steps()[0], Digest::of(b"tool"), step))
        };
        let before = digest(&source).unwrap();
        let mut reworded = source.clone();
        reworded["reason"] = json!(words);
        prop_assert_eq!(digest(&reworded).unwrap(), before);
        let mut places = Vec::new();
        leaves(&source["args"], &Pointer::ROOT, &mut places);
        let mut other = source.clone();
        let leaf = other["args"].pointer_mut(pick(&picked, &places)).unwrap();
        *leaf = altered(leaf);
        if let Ok(after) = digest(&other) {
            prop_assert_ne!(after, before);
        }
    }

    #[test]
    fn a_permit_says_what_was_signed(
        version in any::<u32>(), attempt in any::<u32>(), epoch in 0u64..1 << 53, nonce in any_text(),
        millis in 0i64..4_000_000_000_000, parts in any::<[u8; 4]>(), phase in 0usize..4,
    ) {
        let (secret, public) = key(1);
        let [args, spec, plan, tool] = parts.map(|b| Digest::of(&[b]));
        let claims = Claims {
            case: "c-1".parse().unwrap(), plan_digest: plan, version, step: "s0".parse().unwrap(), attempt,
            phase: [Phase::Snapshot, Phase::Act, Phase::Restore, Phase::Compensate][phase],
            tool: "read_file".parse().unwrap(), tool_digest: tool, args_digest: args, spec_digest: spec, epoch,
            issued_at: Timestamp::from_millis(millis), expires_at: Timestamp::from_millis(millis + 60_000), nonce,
        };
        let (payload, to_sign) = claims.to_sign().unwrap();
        let envelope = Claims::envelope(payload, public.id(), secret.sign(&to_sign).to_bytes());
        let carried = Envelope::from_json(&envelope.to_json()).unwrap();
        prop_assert_eq!(&carried, &envelope);
        let permit = VerifiedPermit::verify(&carried, &public, epoch).unwrap();
        prop_assert_eq!(permit.claims(), &claims);
        prop_assert!(VerifiedPermit::verify(&carried, &public, epoch ^ 1).is_err());
        prop_assert!(VerifiedPermit::verify(&carried, &key(2).1, epoch).is_err());
    }

    #[test]
    fn an_approval_says_what_was_signed(
        version in any::<u32>(), deny in any::<bool>(), reason in prop::option::of(any_text()), nonce in any_text(),
        millis in 0i64..4_000_000_000_000, flipped in any::<Index>(),
    ) {
        let (secret, public) = key(3);
        let enrolled = [Approver { principal: "user:alice".parse().unwrap(), groups: vec!["ops".to_owned()], key: public }];
        let approval = Approval {
            case: "c-1".parse().unwrap(), plan_digest: Digest::of(b"plan"), version, policy_digest: Digest::of(b"policy"),
            answer: if deny { Answer::Deny } else { Answer::Approve }, approver: "user:alice".parse().unwrap(),
            role: Some("ops".to_owned()), reason, signed_at: Timestamp::from_millis(millis),
            expires_at: Timestamp::from_millis(millis + 1), nonce,
        };
        let (payload, to_sign) = approval.to_sign().unwrap();
        let signature = secret.sign(&to_sign).to_bytes();
        let envelope = Approval::envelope(payload.clone(), public.id(), signature);
        let carried = Envelope::from_json(&envelope.to_json()).unwrap();
        let verified = VerifiedApproval::verify(&carried, &enrolled).unwrap();
        prop_assert_eq!(verified.approval(), &approval);
        prop_assert_eq!(verified.digest(), Digest::of(&envelope.to_json()));
        let mut other = payload;
        let at = flipped.index(other.len());
        other[at] ^= 1;
        prop_assert!(VerifiedApproval::verify(&Approval::envelope(other, public.id(), signature), &enrolled).is_err());
    }

    /// What a review with holes refuses, the full check at the permit would refuse for every filling; here for one.
    #[test]
    fn holes_refuse_nothing_that_the_full_check_allows(
        schema in any_schema(), value in any_value(), holes in prop::collection::vec(any::<Index>(), 0..3),
    ) {
        let manifest = manifest(&schema);
        let arguments = manifest.iter().next().unwrap().arguments();
        let args = json!({ "x": value });
        let open = with_holes(&args, &holes);
        let expr = Expr::from_value(&open).unwrap();
        let outputs = Outputs::from([("s".parse().unwrap(), args.clone())]);
        prop_assert_eq!(resolve(&expr, &outputs, &Inputs::new()).unwrap(), args.clone());
        let (full, review) = (arguments.check(&args), arguments.check_with_holes(&expr));
        if holes.is_empty() {
            prop_assert_eq!(review, full);
        } else if full.is_ok() {
            prop_assert!(review.is_ok(), "{review:?} for {open}");
        }
    }

    #[test]
    fn nothing_hides_in_what_is_shown(raw in any_text()) {
        let shown = text::escape(&raw);
        prop_assert!(shown.chars().all(|c| !c.is_control()));
        prop_assert_eq!(text::check_visible(&shown), Ok(()));
    }

    /// Neighbours are the texts that could look alike: the same one with an escape written out, or with one character less.
    #[test]
    fn no_two_texts_are_shown_alike(raw in any_text()) {
        let mut texts = HashSet::from([raw.clone(), text::escape(&raw), text::escape(&text::escape(&raw))]);
        texts.extend(raw.char_indices().map(|(i, c)| {
            let (before, after) = (raw.get(..i).unwrap(), raw.get(i + c.len_utf8()..).unwrap());
            format!("{before}{}{after}", text::escape(&c.to_string()))
        }));
        texts.extend(raw.char_indices().map(|(i, c)| format!("{}{}", raw.get(..i).unwrap(), raw.get(i + c.len_utf8()..).unwrap())));
        let shown: HashSet<String> = texts.iter().map(|t| text::escape(t)).collect();
        prop_assert_eq!(shown.len(), texts.len(), "{:?}", texts);
    }

    /// RFC 6901: a pointer is read as it is written.
    #[test]
    fn a_pointer_is_read_as_it_is_written(segments in prop::collection::vec(any_text(), 0..4), raw in "[~01/a]{0,6}") {
        let pointer = Pointer::from_segments(segments);
        prop_assert_eq!(pointer.to_string().parse::<Pointer>().unwrap(), pointer);
        if let Ok(pointer) = raw.parse::<Pointer>() {
            prop_assert_eq!(pointer.to_string(), raw);
        }
    }
}
