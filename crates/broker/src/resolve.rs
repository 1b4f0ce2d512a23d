//! From a name to the addresses that a connection goes to: asked once, judged, pinned.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use url::Host;

use crate::address::{self, AddressError, Reach};

/// The most addresses of one name that are looked at.
const ADDRESSES: usize = 16;
/// How long a name may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A future of a trait object.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Who knows the addresses of names.
pub(crate) trait Resolve: Send + Sync {
    /// All addresses of `name`, which is no address itself.
    fn addresses<'a>(&'a self, name: &'a str) -> Boxed<'a, Result<Vec<IpAddr>, String>>;
}

/// Why there is no address to connect to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResolveError {
    /// An address that may not be reached.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Not the name of a host.
    #[error("`{0}` is not the name of a host as it is written")]
    Spelling(String),
    /// The name has no address, or nobody could be asked.
    #[error("`{0}` has no address: {1}")]
    Unknown(String, String),
}

/// The names of the system: `/etc/hosts`, then the servers of `/etc/resolv.conf`, without search domains.
pub(crate) struct System {
    resolver: Option<TokioResolver>,
    fixed: BTreeMap<String, Vec<IpAddr>>,
}

impl System {
    /// A resolver; names in `fixed` are not asked for.
    pub(crate) fn new(fixed: BTreeMap<String, Vec<IpAddr>>) -> Self {
        let resolver = TokioResolver::builder_tokio().ok().and_then(|mut builder| {
            let options = builder.options_mut();
            options.ndots = 0;
            options.timeout = Duration::from_secs(3);
            options.attempts = 2;
            builder.build().ok()
        });
        Self { resolver, fixed }
    }
}

impl Resolve for System {
    fn addresses<'a>(&'a self, name: &'a str) -> Boxed<'a, Result<Vec<IpAddr>, String>> {
        Box::pin(async move {
            if let Some(addresses) = self.fixed.get(name) {
                return Ok(addresses.clone());
            }
            let resolver = self.resolver.as_ref().ok_or("no name server is configured (/etc/resolv.conf)")?;
            // The final dot keeps search domains out: the name is what was judged.
            let absolute = if name.ends_with('.') { name.to_owned() } else { format!("{name}.") };
            let found = resolver.lookup_ip(absolute).await.map_err(|error| error.to_string())?;
            Ok(found.iter().collect())
        })
    }
}

/// The addresses for `host` and `port`, in the order in which they are tried. One that may not be reached refuses them all: an
/// answer that mixes is an attempt to slip one in.
///
/// # Errors
/// No address, or one that may not be reached.
pub(crate) async fn pin(
    resolver: &dyn Resolve,
    host: &str,
    port: u16,
    reach: Reach,
) -> Result<Vec<SocketAddr>, ResolveError> {
    let unknown = |why: String| ResolveError::Unknown(host.to_owned(), why);
    let addresses = match spelled(host)? {
        Host::Ipv4(address) => vec![IpAddr::V4(address)],
        Host::Ipv6(address) => vec![IpAddr::V6(address)],
        Host::Domain(name) => tokio::time::timeout(PATIENCE, resolver.addresses(&name))
            .await
            .map_err(|_| unknown("no name server answered in time".to_owned()))?
            .map_err(unknown)?,
    };
    if addresses.is_empty() {
        return Err(unknown("the answer is empty".to_owned()));
    }
    let addresses: Vec<_> = addresses.into_iter().take(ADDRESSES).collect();
    for address in &addresses {
        address::judge(host, *address, reach)?;
    }
    Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

/// The host of a name or address literal that is written as it is read: `0x7f.1`, `2130706433`, `LOCALHOST` and names with
/// escapes are refused, because who judged them may have read them in another way.
pub(crate) fn spelled(host: &str) -> Result<Host, ResolveError> {
    let odd = || ResolveError::Spelling(countersign_plan::text::escape(host));
    if let Ok(address) = host.parse::<std::net::Ipv6Addr>() {
        return if address.to_string() == host { Ok(Host::Ipv6(address)) } else { Err(odd()) };
    }
    let parsed = Host::parse(host).map_err(|_| odd())?;
    let same = match &parsed {
        Host::Domain(name) => name == host && !name.is_empty() && !name.ends_with('.'),
        Host::Ipv4(address) => address.to_string() == host,
        Host::Ipv6(_) => false,
    };
    if same { Ok(parsed) } else { Err(odd()) }
}

#[cfg(test)]
pub(crate) mod tests;
