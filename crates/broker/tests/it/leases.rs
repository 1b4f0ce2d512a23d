//! Every way to ask without leave.

use countersign_plan::egress::Egress;
use countersign_plan::permit::Phase;
use countersign_plan::time::Timestamp;
use countersign_wire::broker::to_broker::{self, Kind};
use countersign_wire::egress::{ask, reply};
use ed25519_dalek::SigningKey;

use crate::house::{self, House, NOW, claims, get, http, key, lease, requests, spec};
use crate::server::{Server, ok};

fn granted(server: &Server) -> Egress {
    requests(vec![http("GET", server.port(), "/")])
}

/// INV-1, INV-6: without a permit that the gate signed for exactly this spec, now, in this epoch, once, nothing is asked.
#[test]
fn a_bad_permit_is_a_violation_and_no_ask_of_it_is_met() {
    let server = Server::saying(&ok("secret"));
    let mut house = House::start("", &[]);
    let spec = spec(granted(&server));
    let good = claims(&spec, "n");
    let with = |change: &dyn Fn(&mut countersign_plan::permit::Claims)| {
        let mut claims = good.clone();
        change(&mut claims);
        lease(1, &claims, &spec, &key())
    };
    let mut other_spec = lease(1, &good, &spec, &key());
    other_spec.spec = countersign_plan::canonical::of(&house::spec(requests(vec![http("POST", 1, "/")]))).unwrap();
    let mut other_case = lease(1, &good, &spec, &key());
    other_case.case = "c2".to_owned();
    let mut garbage = lease(1, &good, &spec, &key());
    garbage.permit = b"{}".to_vec();
    let mut touched = lease(1, &good, &spec, &key());
    let at = touched.permit.iter().position(|byte| *byte == b'"').unwrap() + 30;
    touched.permit[at] ^= 1;
    let attacks = [
        ("another key", lease(1, &good, &spec, &SigningKey::from_bytes(&[6; 32])), true),
        ("another epoch", with(&|claims| claims.epoch += 1), true),
        ("another spec", other_spec, true),
        ("another case", other_case, true),
        ("no envelope", garbage, true),
        ("touched", touched, true),
        ("to restore", with(&|claims| claims.phase = Phase::Restore), true),
        ("to snapshot", with(&|claims| claims.phase = Phase::Snapshot), true),
        ("expired", with(&|claims| claims.expires_at = Timestamp::from_millis(NOW)), false),
        ("not yet", with(&|claims| claims.issued_at = Timestamp::from_millis(NOW + 1)), false),
    ];
    for (what, attack, violation) in attacks {
        assert_eq!(house.refused(attack).0, violation, "{what}");
        let refused = house.refusal(1, ask::Kind::Fetch(get(&server.url("/"))));
        assert!(refused.message.contains("no lease"), "{what}: {refused:?}");
    }
    assert_eq!(server.seen().len(), 0);
    // The same permit, untouched, is good: once.
    house.send(Kind::Lease(lease(1, &good, &spec, &key())));
    assert_eq!(house.fetched(1, get(&server.url("/"))).body, b"secret");
    let (violation, message) = house.refused(lease(2, &good, &spec, &key()));
    assert!(violation && message.contains("used before"), "{message}");
}

#[test]
fn a_permit_that_was_spent_stays_spent_when_the_configuration_changes() {
    let server = Server::saying(&ok("x"));
    let mut house = House::start("", &[]);
    let spec = spec(granted(&server));
    let good = claims(&spec, "n");
    house.send(Kind::Lease(lease(1, &good, &spec, &key())));
    assert_eq!(house.fetched(1, get(&server.url("/"))).status, 200);
    assert_ne!(house.boot("schema: nonsense").error, "");
    assert_eq!(house.boot("").error, "");
    assert!(house.refused(lease(2, &good, &spec, &key())).0);
}

#[test]
fn nothing_is_asked_before_boot_after_release_and_after_the_case() {
    let server = Server::saying(&ok("x"));
    let mut house = House::bare(&[]);
    let spec = spec(granted(&server));
    let refused = house.refused(lease(1, &claims(&spec, "n"), &spec, &key()));
    assert!(refused.1.contains("no configuration"), "{refused:?}");
    assert_eq!(house.boot("").error, "");
    let first = house.lease(granted(&server));
    assert_eq!(house.fetched(first, get(&server.url("/"))).status, 200);
    house.send(Kind::Release(to_broker::Release { lease: first }));
    assert!(house.refusal(first, ask::Kind::Fetch(get(&server.url("/")))).message.contains("no lease"));
    let second = house.lease(granted(&server));
    house.send(Kind::CaseEnded(to_broker::CaseEnded { case: house::CASE.to_owned(), goes_on: false }));
    assert!(house.refusal(second, ask::Kind::Fetch(get(&server.url("/")))).message.contains("no lease"));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_configuration_that_does_not_hold_makes_nothing_reachable() {
    let server = Server::saying(&ok("x"));
    let mut house = House::bare(&[]);
    let booted = house.boot("schema: countersign.broker/v1\nproviders: {a: {kind: openai, model: m, key: nope}}");
    assert!(booted.error.contains("/providers/a/key"), "{}", booted.error);
    let spec = spec(granted(&server));
    assert!(house.refused(lease(1, &claims(&spec, "n"), &spec, &key())).1.contains("no configuration"));
}

/// INV-10: names leave the broker, values do not.
#[test]
fn the_facts_of_a_configuration_hold_names_and_no_value() {
    let mut house = House::bare(&[("KEY", "very-secret-value")]);
    let booted = house.boot(
        "schema: countersign.broker/v1\nsecrets: {api: {from: {env: KEY}}}\nchannels: {'#ops': {webhook: api}}\nmail: {server: m.example, port: 25, tls: starttls, from: a@b.example, password: api}",
    );
    let facts = House::facts(&booted);
    assert_eq!((facts.secrets, facts.channels, facts.mail), (vec!["api".to_owned()], vec!["#ops".to_owned()], true));
    assert!(!String::from_utf8_lossy(&booted.facts).contains("very-secret-value"));
}

#[test]
fn an_ask_that_is_none_is_a_violation_and_the_broker_lives_on() {
    let server = Server::saying(&ok("x"));
    let mut house = House::start("", &[]);
    let id = house.lease(granted(&server));
    for bytes in [vec![], vec![0xff; 40], vec![8, 1]] {
        house.send(Kind::Ask(to_broker::Ask { lease: id, ask: bytes }));
        let (_, kind, violation) = house.reply();
        assert!(matches!(kind, reply::Kind::Refused(refused) if refused.violation) && !violation.is_empty());
    }
    assert_eq!(house.fetched(id, get(&server.url("/"))).status, 200);
}

/// Lesson 3: no ambient environment, no core dump, and an end when the monitor is gone.
#[test]
fn lesson_03_the_process_has_no_environment_is_not_dumpable_and_ends_with_the_monitor() {
    let mut house = House::start("", &[]);
    let proc = format!("/proc/{}", house.child.id());
    // What is not dumpable belongs to root, whoever runs it; root itself may still look.
    match std::fs::read(format!("{proc}/environ")) {
        Ok(environment) => assert_eq!(environment, b""),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
    let status = std::fs::read_to_string(format!("{proc}/status")).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    house.hang_up();
    assert!(house.child.wait().unwrap().success());
}
