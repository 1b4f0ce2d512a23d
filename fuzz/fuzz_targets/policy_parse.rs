//! Policies, deployments, change requests, hosts, paths and addresses: whatever is read compiles or is refused, and a name
//! that was normalised stays as it is.
#![no_main]

use countersign_policy::changes::Changes;
use countersign_policy::deployment::{Deployment, DeploymentDocument, Own};
use countersign_policy::hosts::Endpoint;
use countersign_policy::identities;
use countersign_policy::paths::Place;
use countersign_policy::policy::{Policy, PolicyDocument};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let place = Place::new("/w", "/home/user").expect("a place");
    if let Ok(document) = PolicyDocument::read(data) {
        drop(Policy::compile(&document, &place));
    }
    if let Ok(document) = DeploymentDocument::read(data) {
        drop(Deployment::compile(document, "/w", "/home/user", &Own::default()));
    }
    drop(Changes::read(data));
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(path) = place.normalise(text) {
        assert_eq!(place.normalise(&path).as_deref(), Ok(path.as_str()), "{text:?}");
        assert!(path.starts_with('/') && !path.split('/').any(|part| part == ".." || part == "."), "{path:?}");
    }
    if let Ok(endpoint) = Endpoint::of_url(text) {
        drop(endpoint);
    }
    if let Ok(addresses) = identities::addresses(text) {
        for address in addresses {
            assert_eq!(identities::name(&address).as_deref(), Ok(address.as_str()), "{text:?}");
        }
    }
});
