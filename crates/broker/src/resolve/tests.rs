//! Name servers that change their minds, and hosts in odd spellings.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::{Boxed, Resolve, ResolveError, pin, spelled};
use crate::address::{AddressError, Reach};
use crate::http::Client;

/// A name server that answers differently every time.
pub(crate) struct Rebinding {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    pub(crate) asked: AtomicUsize,
}

impl Rebinding {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let read = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self { answers: Mutex::new(answers.iter().rev().map(read).collect()), asked: AtomicUsize::new(0) })
    }
}

impl Resolve for Rebinding {
    fn addresses<'a>(&'a self, _name: &'a str) -> Boxed<'a, Result<Vec<IpAddr>, String>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers.lock().unwrap().pop().ok_or_else(|| "asked once too often".to_owned());
        Box::pin(async move { answer })
    }
}

/// Lesson 18: a name is asked for once, and what was judged is what is connected to.
#[tokio::test]
async fn lesson_18_a_name_is_resolved_once_and_the_judged_address_is_connected_to() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let resolver = Rebinding::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let client = Client::new(Arc::clone(&resolver) as Arc<dyn Resolve>, None).unwrap();
    let stream = client.dial("rebinding.example", port, Reach::Private).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), SocketAddr::from(([127, 0, 0, 1], port)));
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 1);
    // The next request asks again, and is judged again.
    let resolver = Rebinding::new(&[&["93.184.215.14"], &["127.0.0.1"], &["169.254.169.254"]]);
    assert!(pin(&*resolver, "rebinding.example", 80, Reach::Public).await.is_ok());
    assert!(pin(&*resolver, "rebinding.example", 80, Reach::Public).await.is_err());
    let metadata = pin(&*resolver, "rebinding.example", 80, Reach::Private).await;
    assert!(matches!(metadata, Err(ResolveError::Address(AddressError::Metadata { .. }))));
}

#[tokio::test]
async fn lesson_18_one_address_that_may_not_be_reached_refuses_them_all() {
    for answer in
        [&["93.184.215.14", "10.0.0.1"][..], &["2606:4700::1111", "::1"], &["93.184.215.14", "fe80::1"], &["0.0.0.0"]]
    {
        let resolver = Rebinding::new(&[answer]);
        assert!(pin(&*resolver, "mixed.example", 80, Reach::Public).await.is_err(), "{answer:?}");
    }
    assert!(matches!(
        pin(&*Rebinding::new(&[&[]]), "empty.example", 80, Reach::Public).await,
        Err(ResolveError::Unknown(..))
    ));
}

#[tokio::test]
async fn an_address_is_not_asked_for() {
    let resolver = Rebinding::new(&[]);
    assert!(pin(&*resolver, "93.184.215.14", 80, Reach::Public).await.is_ok());
    assert!(pin(&*resolver, "2606:4700::1111", 80, Reach::Public).await.is_ok());
    assert!(pin(&*resolver, "127.0.0.1", 80, Reach::Public).await.is_err());
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn lesson_18_hosts_in_another_spelling_are_refused() {
    for odd in [
        "",
        ".",
        "example.com.",
        "EXAMPLE.com",
        "0x7f.1",
        "0x7f000001",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "2130706433",
        "127.0.0.01",
        "1.2.3.4.",
        "%31.2.3.4",
        "exa mple",
        "a/b",
        "a@b",
        "a:80",
        "[::1]",
        "::0001",
        "0:0:0:0:0:0:0:1",
        "::FFFF:1.2.3.4",
        "bücher.example",
        "ⓔxample.com",
        "a\0b",
        "fe80::1%eth0",
        "１.２.３.４",
    ] {
        assert!(spelled(odd).is_err(), "{odd:?} became {:?}", spelled(odd));
    }
    for plain in
        ["example.com", "xn--bcher-kva.example", "localhost", "1.2.3.4", "::1", "fe80::1", "_srv.example", "a-b.c"]
    {
        assert!(spelled(plain).is_ok(), "{plain}");
    }
}

proptest! {
    #[test]
    fn what_is_accepted_is_written_as_it_is_read(host in "\\PC{0,30}") {
        if let Ok(read) = spelled(&host) {
            let written = read.to_string();
            prop_assert_eq!(written.trim_matches(['[', ']']), host.as_str());
        }
    }

    /// Whatever looks like a number is an address or refused, and never a name for a server to answer.
    #[test]
    fn lesson_18_numbers_are_never_names(parts in prop::collection::vec("0x[0-9a-f]{0,8}|[0-9]{1,10}", 1..6)) {
        let host = parts.join(".");
        prop_assert!(!matches!(spelled(&host), Ok(url::Host::Domain(_))), "{}", host);
    }
}
