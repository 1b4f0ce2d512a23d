//! Addresses to the edges of their ranges, and in every spelling.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::{Class, Reach, classify, judge};

fn class(text: &str) -> Class {
    classify(text.parse().unwrap())
}

/// Lesson 18: each range by its first and last address, and the neighbours outside.
#[test]
fn lesson_18_every_special_range_is_known_to_its_edges() {
    let never = [
        "0.0.0.0",
        "0.255.255.255",
        "169.254.0.0",
        "169.254.255.255",
        "192.0.0.0",
        "192.0.0.255",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "192.88.99.1",
        "224.0.0.0",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.254",
        "255.255.255.255",
        "::",
        "fe80::",
        "febf::1",
        "ff00::",
        "ff02::1",
        "2001:db8::1",
        "2001:10::1",
        "100::1",
        "3fff::1",
        "5f00::1",
        "4000::1",
        "::ffff:0.0.0.0",
        "64:ff9b::169.254.1.1",
        "::ffff:224.0.0.1",
        "fe80::5efe:8.8.8.8",
        "2606:4700::5efe:0.0.0.0",
    ];
    for text in never {
        assert!(matches!(class(text), Class::Never(_)), "{text}: {:?}", class(text));
    }
    let private = [
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "::1",
        "fc00::",
        "fdff::1",
        "fec0::1",
        "::ffff:10.0.0.1",
        "::ffff:8.8.8.8",
        "::8.8.8.8",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::a00:1",
        "2002:a00:1::",
        "2002:808:808::1",
        "2001:0:4136:e378:8000:63bf:f7f7:f7f7",
        "::ffff:0:10.0.0.1",
        "64:ff9b:1:0a00:0:100::",
        "64:ff9b:1:2233:08:0808:800:0",
        "2606:4700::5efe:10.0.0.1",
        "2606:4700::5efe:127.0.0.1",
        "fd00::5efe:8.8.8.8",
    ];
    for text in private {
        assert!(matches!(class(text), Class::Private(_)), "{text}: {:?}", class(text));
    }
    let metadata = [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "64:ff9b:1::6464:64c8",
        // Prefixes of 48, 56 and 64 bits, with something in the suffix or not.
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:a9fe:a9:fe00:0808:0808",
        "64:ff9b:1:22a9:fe:a9fe::",
        "64:ff9b:1:2233:a9:fea9:fe00:0",
        "2606:4700::5efe:169.254.169.254",
        "2606:4700::200:5efe:100.100.100.200",
        "fe80::5efe:169.254.169.254",
    ];
    for text in metadata {
        assert_eq!(class(text), Class::Metadata, "{text}");
    }
    let public = [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "2001:4860:4860::8888",
        "2003::1",
        "2606:4700::5efe:8.8.8.8",
        "2606:4700::5efd:10.0.0.1",
    ];
    for text in public {
        assert_eq!(class(text), Class::Public, "{text}");
    }
}

proptest! {
    /// Whatever the standard library knows to be special is not public here.
    #[test]
    fn lesson_18_no_special_address_is_public(bits: u32) {
        let address = Ipv4Addr::from(bits);
        let special = address.is_private() || address.is_loopback() || address.is_link_local() || address.is_broadcast()
            || address.is_documentation() || address.is_multicast() || address.is_unspecified();
        prop_assert!(!special || classify(IpAddr::V4(address)) != Class::Public);
    }

    /// No spelling inside an IPv6 address makes an IPv4 address easier to reach than it is.
    #[test]
    fn lesson_18_an_ipv4_address_inside_an_ipv6_address_is_never_public(bits: u32, form in 0_usize..6) {
        let [high, low] = [(bits >> 16) as u16, bits as u16];
        let six = match form {
            0 => Ipv4Addr::from(bits).to_ipv6_mapped(),
            1 => Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            2 => Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            3 => Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
            4 => Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            _ => Ipv6Addr::new(0x2001, 0, 1, 2, 3, 4, !high, !low),
        };
        prop_assert!(judge("h", IpAddr::V6(six), Reach::Public).is_err());
        if judge("h", IpAddr::V4(Ipv4Addr::from(bits)), Reach::Private).is_err() {
            prop_assert!(judge("h", IpAddr::V6(six), Reach::Private).is_err());
        }
    }

    /// Whoever tunnels to it reaches what the IPv4 address is.
    #[test]
    fn lesson_18_a_tunnelled_ipv4_address_is_no_easier_to_reach_than_it_is(bits: u32, prefix: u64, marks in 0_u16..4) {
        let [high, low] = [(bits >> 16) as u16, bits as u16];
        let prefix = u128::from(prefix) << 64;
        let suffix = Ipv6Addr::new(0, 0, 0, 0, marks << 8, 0x5efe, high, low);
        let six = IpAddr::V6(Ipv6Addr::from(prefix | u128::from(suffix)));
        for reach in [Reach::Public, Reach::Private] {
            if judge("h", IpAddr::V4(Ipv4Addr::from(bits)), reach).is_err() {
                prop_assert!(judge("h", six, reach).is_err());
            }
        }
    }

    /// A grant widens: what is public stays reachable, what is never reached stays so.
    #[test]
    fn a_grant_opens_private_addresses_and_nothing_else(bits: u128) {
        let address = IpAddr::V6(Ipv6Addr::from(bits));
        let granted = judge("h", address, Reach::Private).is_ok();
        let ungranted = judge("h", address, Reach::Public).is_ok();
        prop_assert_eq!(granted != ungranted, matches!(classify(address), Class::Private(_)));
        prop_assert!(granted || !ungranted);
    }
}
