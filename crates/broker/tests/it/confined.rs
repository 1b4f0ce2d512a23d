//! What the broker's own process can touch: what it was started with, and nothing that came later.

use std::os::unix::fs::PermissionsExt as _;

use countersign_wire::infer::FailureKind;

use crate::house::House;
use crate::model::process::{Broker, request};

fn private(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Nobody listens there: whoever gets so far has read the key.
fn provider(key: &std::path::Path) -> String {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!(
        "providers:\n  p: {{kind: openai, url: 'http://127.0.0.1:{port}/v1', model: m, key: k, private: true, patience: {{attempts: 1}}}}\n\
         secrets:\n  k: {{from: {{file: '{}'}}}}\n",
        key.display()
    )
}

#[test]
fn a_file_that_was_put_in_the_place_of_a_named_one_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    private(&key, "the-first-key");
    let configuration = provider(&key);
    let mut before = Broker::start(&configuration, &[]);
    let mut untouched = Broker::start(&configuration, &[]);
    assert_eq!(untouched.infer("c", &request("x")).failure().kind, FailureKind::Unavailable, "the key is read");
    private(&folder.path().join("other"), "another-key");
    std::fs::rename(folder.path().join("other"), &key).unwrap();
    let failure = before.infer("c", &request("x")).failure();
    assert!(failure.message.contains("started with") && !failure.message.contains("another-key"), "{failure:?}");
    // Outside, and for a broker that is started now, it is a file like any other.
    assert_eq!(std::fs::read_to_string(&key).unwrap(), "another-key");
    let after = Broker::start(&configuration, &[]).infer("c", &request("x")).failure();
    assert_eq!(after.kind, FailureKind::Unavailable, "{after:?}");
}

#[test]
fn a_later_configuration_widens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (key, other) = (folder.path().join("key"), folder.path().join("other"));
    private(&key, "the-first-key");
    private(&other, "another-key");
    let mut broker = Broker::start(&provider(&key), &[]);
    assert_eq!(broker.boot(&provider(&key)), "", "the same again is no more");
    for wider in [provider(&other), "secrets: {k: {from: {command: [/bin/echo, x]}}}".to_owned()] {
        let error = broker.boot(&wider);
        assert!(error.contains("was not started with"), "{error}");
        let failure = broker.infer("c", &request("x")).failure();
        assert_eq!(failure.kind, FailureKind::NotConfigured, "nothing is reachable: {failure:?}");
    }
    assert_eq!(broker.boot(""), "", "less is");
}

#[test]
fn what_confines_it_is_said_and_a_program_that_prints_a_secret_is_a_gap() {
    let said = |configuration: &str| {
        let mut house = House::bare(&[]);
        let booted = house.boot(configuration);
        assert_eq!(booted.error, "");
        House::facts(&booted).confinement
    };
    let closed = said("schema: countersign.broker/v1\nsecrets: {k: {from: {file: /etc/key}}}\n");
    assert!(closed.contains("reads 1 configured files") && closed.contains("runs nothing"), "{closed}");
    let open = said("schema: countersign.broker/v1\nsecrets: {k: {from: {command: [/bin/echo, x]}}}\n");
    assert!(open.contains("files and programs are open"), "{open}");
}
