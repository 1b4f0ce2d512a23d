//! Which addresses may be reached. A name is resolved once, every address of the answer is judged here, and the connection goes to
//! exactly the one that was judged (lesson 18).
//!
//! Source of the ranges: IANA's special-purpose registries for IPv4 and IPv6 (RFC 6890 and its updates), and the metadata
//! addresses that cloud providers document.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far a request may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Addresses of the public internet.
    Public,
    /// Private and loopback addresses too: the deployment lists the host as internal, or the broker's configuration names it.
    Private,
}

/// What an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Of the public internet.
    Public,
    /// Only by a grant; what it is.
    Private(&'static str),
    /// Never; what it is.
    Never(&'static str),
    /// Never, and worth an alert: it hands out credentials of the machine.
    Metadata,
}

/// Why an address is not reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    /// A metadata service.
    #[error("`{host}` is {address}, a metadata service: it is never reached")]
    Metadata {
        /// What was asked for.
        host: String,
        /// What it is.
        address: IpAddr,
    },
    /// Not granted, or never.
    #[error("`{host}` is {address}, {what}: {fix}")]
    Refused {
        /// What was asked for.
        host: String,
        /// What it is.
        address: IpAddr,
        /// What kind of address that is.
        what: &'static str,
        /// What helps.
        fix: &'static str,
    },
}

/// Whether `address` may be reached under `host`'s name.
///
/// # Errors
/// It may not.
pub(crate) fn judge(host: &str, address: IpAddr, reach: Reach) -> Result<(), AddressError> {
    let refused = |what, fix| AddressError::Refused { host: host.to_owned(), address, what, fix };
    match (classify(address), reach) {
        (Class::Public, _) | (Class::Private(_), Reach::Private) => Ok(()),
        (Class::Private(what), Reach::Public) => {
            Err(refused(what, "list the host under `hosts.internal` of the deployment if it is yours"))
        }
        (Class::Never(what), _) => Err(refused(what, "it is never reached")),
        (Class::Metadata, _) => Err(AddressError::Metadata { host: host.to_owned(), address }),
    }
}

/// What `address` is.
pub(crate) fn classify(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => four(address),
        IpAddr::V6(address) => six(address),
    }
}

fn four(address: Ipv4Addr) -> Class {
    match address.octets() {
        // Amazon, Google, Azure, Oracle and others; Alibaba; Oracle's older one; Azure's platform service; Amazon's tasks.
        [169, 254, 169, 254] | [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16] | [169, 254, 170, 2] => {
            Class::Metadata
        }
        [0, ..] => Class::Never("an address of this very network (0.0.0.0/8)"),
        [10, ..] | [192, 168, ..] => Class::Private("a private address"),
        [172, second, ..] if (16..32).contains(&second) => Class::Private("a private address"),
        [100, second, ..] if (64..128).contains(&second) => Class::Private("an address of a shared carrier network"),
        [127, ..] => Class::Private("a loopback address"),
        [169, 254, ..] => Class::Never("a link-local address"),
        [192, 0, 0, _] => Class::Never("an address of protocol assignments"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Class::Never("an address of documentation"),
        [192, 88, 99, _] => Class::Never("a 6to4 relay"),
        [198, 18 | 19, ..] => Class::Private("an address of benchmark networks"),
        [255, 255, 255, 255] => Class::Never("the broadcast address"),
        [first, ..] if first >= 240 => Class::Never("a reserved address"),
        [first, ..] if first >= 224 => Class::Never("a multicast address"),
        _ => Class::Public,
    }
}

fn six(address: Ipv6Addr) -> Class {
    // An IPv4 address in another spelling is what filters of IPv4 addresses do not see.
    let carried = embedded(address).into_iter().map(|inner| match four(inner) {
        Class::Public => Class::Private("an IPv4 address inside an IPv6 address"),
        class => class,
    });
    match (carried.max_by_key(severity), tunnelled(address).map(four)) {
        (Some(class), _) => class,
        (None, Some(class)) => [class, own(address)].into_iter().max_by_key(severity).unwrap_or(class),
        (None, None) => own(address),
    }
}

/// How much is refused of an address of this class.
const fn severity(class: &Class) -> u8 {
    match class {
        Class::Public => 0,
        Class::Private(_) => 1,
        Class::Never(_) => 2,
        Class::Metadata => 3,
    }
}

/// What an IPv6 address is by itself.
fn own(address: Ipv6Addr) -> Class {
    match address.segments() {
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254 | 0x0023] | [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254] => Class::Metadata,
        [0, 0, 0, 0, 0, 0, 0, 0] => Class::Never("the unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Class::Private("a loopback address"),
        [first, ..] if first & 0xfe00 == 0xfc00 => Class::Private("a private address"),
        [first, ..] if first & 0xffc0 == 0xfec0 => Class::Private("a site-local address"),
        [first, ..] if first & 0xffc0 == 0xfe80 => Class::Never("a link-local address"),
        [first, ..] if first & 0xff00 == 0xff00 => Class::Never("a multicast address"),
        [0x2001, second, ..] if second < 0x0200 => Class::Never("an address of protocol assignments"),
        [0x2001, 0x0db8, ..] => Class::Never("an address of documentation"),
        [0x3fff, second, ..] if second < 0x1000 => Class::Never("an address of documentation"),
        [first, ..] if first & 0xe000 == 0x2000 => Class::Public,
        _ => Class::Never("a reserved address"),
    }
}

/// The IPv4 addresses that an IPv6 address may stand for: mapped, compatible, translated, NAT64 (RFC 6052, RFC 8215), 6to4
/// (RFC 3056), Teredo (RFC 4380, the obfuscated client). Whoever runs NAT64 under the local prefix chooses how long its own is: each
/// length of RFC 6052, section 2.2, puts the address elsewhere, and each counts.
fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => vec![join(high, low)],
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => vec![join(high, low)],
        [0x0064, 0xff9b, 1, _, _, _, high, low] => {
            let [_, _, _, _, _, _, a, b, _, c, d, e, f, ..] = address.octets();
            let found = [[a, b, c, d], [b, c, d, e], [c, d, e, f]].map(Ipv4Addr::from);
            let last = join(high, low);
            // Under another length these octets are the prefix or the suffix, mostly zero: no address begins so.
            let mut found: Vec<_> = found.into_iter().chain([last]).filter(|inner| inner.octets()[0] != 0).collect();
            if found.is_empty() {
                found.push(last);
            }
            found
        }
        [0x2002, high, low, ..] => vec![join(high, low)],
        [0x2001, 0, _, _, _, _, high, low] => vec![join(!high, !low)],
        _ => Vec::new(),
    }
}

/// The IPv4 address of a neighbour that is reached through a tunnel: ISATAP (RFC 5214, section 6.1), under any prefix.
fn tunnelled(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [_, _, _, _, marks, 0x5efe, high, low] if marks & 0xfcff == 0 => {
            Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
