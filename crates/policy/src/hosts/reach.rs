//! Where an address leads: this machine, the local network, a cloud's metadata service, or the world.
//!
//! Sources: IANA IPv4 and IPv6 special-purpose address registries (RFC 6890 and updates), RFC 6052 (NAT64), RFC 3056 (6to4),
//! the cloud vendors' pages on instance metadata.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Host;

/// Where a host leads, as far as its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Some address that anybody may have; or a name, which says nothing about addresses.
    Public,
    /// A private, shared, link-local, reserved or multicast range: something near this machine.
    Near,
    /// This machine.
    Loopback,
    /// A cloud's metadata service, which hands out credentials.
    Metadata,
}

/// Addresses of metadata services.
const METADATA_V4: &[(Ipv4Addr, &str)] = &[
    (Ipv4Addr::new(169, 254, 169, 254), "AWS, Azure, Google, DigitalOcean, Oracle, OpenStack"),
    (Ipv4Addr::new(169, 254, 169, 253), "AWS name service beside the metadata service"),
    (Ipv4Addr::new(169, 254, 170, 2), "AWS ECS task credentials"),
    (Ipv4Addr::new(169, 254, 170, 23), "AWS EKS pod identity"),
    (Ipv4Addr::new(169, 254, 0, 23), "Tencent"),
    (Ipv4Addr::new(169, 254, 42, 42), "Scaleway"),
    (Ipv4Addr::new(100, 100, 100, 200), "Alibaba"),
    (Ipv4Addr::new(168, 63, 129, 16), "Azure host agent"),
    (Ipv4Addr::new(192, 0, 0, 192), "Oracle classic"),
];

/// The same over IPv6.
const METADATA_V6: &[(Ipv6Addr, &str)] = &[
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), "AWS"),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23), "AWS EKS pod identity"),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), "Google"),
    (Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42), "Scaleway"),
];

/// Names of metadata services; names below them count as well.
const METADATA_NAMES: &[(&str, &str)] = &[
    ("metadata.google.internal", "Google"),
    ("metadata.goog", "Google"),
    ("metadata", "Google's short name"),
    ("instance-data", "AWS's short name"),
    ("instance-data.ec2.internal", "AWS"),
    ("metadata.tencentyun.com", "Tencent"),
    ("metadata.packet.net", "Equinix"),
    ("metadata.platformequinix.com", "Equinix"),
];

/// Public name services that answer with the address that stands in the name.
const ADDRESS_IN_NAME: &[&str] = &["nip.io", "sslip.io", "xip.io", "traefik.me", "1u.ms", "rbndr.us"];

/// Public names that lead to this machine.
const LOOPBACK_NAMES: &[&str] = &["localhost", "localtest.me", "lvh.me", "vcap.me", "lacolhost.com"];

impl Host {
    /// Where this host leads.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match self {
            Self::V4(ip) => of_v4(*ip),
            Self::V6(ip) => of_v6(*ip),
            Self::Name(name) => {
                if METADATA_NAMES.iter().any(|(known, _)| self.is_within(known)) {
                    Reach::Metadata
                } else if LOOPBACK_NAMES.iter().any(|known| self.is_within(known)) {
                    Reach::Loopback
                } else if ADDRESS_IN_NAME.iter().any(|known| self.is_within(known)) {
                    in_name(name).map_or(Reach::Near, of_v4).max(Reach::Near)
                } else {
                    Reach::Public
                }
            }
        }
    }
}

/// Where a resolved address leads: for whoever connects.
#[must_use]
pub(super) fn of(ip: IpAddr) -> Reach {
    match ip {
        IpAddr::V4(ip) => of_v4(ip),
        IpAddr::V6(ip) => embedded(ip).map_or_else(|| of_v6(ip), of_v4),
    }
}

impl From<IpAddr> for Reach {
    fn from(ip: IpAddr) -> Self {
        of(ip)
    }
}

fn of_v4(ip: Ipv4Addr) -> Reach {
    if METADATA_V4.iter().any(|(known, _)| *known == ip) {
        return Reach::Metadata;
    }
    let [a, b, c, _] = ip.octets();
    match (a, b, c) {
        // "This network": Linux connects 0.0.0.0 to itself.
        (0 | 127, ..) => Reach::Loopback,
        (10, ..)
        | (100, 64..=127, _)
        | (169, 254, _)
        | (172, 16..=31, _)
        | (192, 0, 0 | 2)
        | (192, 88, 99)
        | (192, 168, _)
        | (198, 18..=19, _)
        | (198, 51, 100)
        | (203, 0, 113)
        | (224..=255, ..) => Reach::Near,
        _ => Reach::Public,
    }
}

fn of_v6(ip: Ipv6Addr) -> Reach {
    if METADATA_V6.iter().any(|(known, _)| *known == ip) {
        return Reach::Metadata;
    }
    if ip.is_loopback() || ip.is_unspecified() {
        return Reach::Loopback;
    }
    let [first, second, ..] = ip.segments();
    match first {
        // Unique local, link-local, former site-local, multicast, discard, benchmarking and documentation.
        0xfc00..=0xfdff | 0xfe80..=0xfeff | 0xff00..=0xffff | 0x0100 | 0x3fff => Reach::Near,
        0x2001 if second < 0x0200 || second == 0x0db8 => Reach::Near,
        0x2000..=0x3fff => Reach::Public,
        _ => Reach::Near,
    }
}

/// The IPv4 address that an IPv6 address leads to: mapped, compatible, NAT64 (RFC 6052, RFC 8215) and 6to4.
pub(super) fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = ip.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] if (high, low) != (0, 0) && (high, low) != (0, 1) => v4(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, .., high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        _ => None,
    }
}

/// The address in a name such as `10-0-0-1.nip.io` or `app.7f000001.nip.io`.
fn in_name(name: &str) -> Option<Ipv4Addr> {
    let labels: Vec<&str> = name.split('.').collect();
    let dashed = labels.iter().filter_map(|label| {
        let parts: Vec<&str> = label.split('-').collect();
        parts.windows(4).filter_map(|four| four.join(".").parse::<Ipv4Addr>().ok()).next_back()
    });
    let dotted = labels.windows(4).filter_map(|four| four.join(".").parse::<Ipv4Addr>().ok());
    let hex = labels
        .iter()
        .flat_map(|label| label.split('-'))
        .filter(|part| part.len() == 8)
        .filter_map(|part| u32::from_str_radix(part, 16).ok().map(Ipv4Addr::from));
    dashed.chain(dotted).chain(hex).max_by_key(|ip| of_v4(*ip))
}
