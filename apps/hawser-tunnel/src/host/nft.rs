//! nftables by netlink (`linux/netfilter/nf_tables.h`): one table that belongs to the socket which made it, so that the kernel removes
//! it when the process ends, however that happens. The command `nft` is not needed.

use std::io;

use ipnet::IpNet;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};

use super::split::Cgroup;

/// The table of a gateway, and that of a router for a LAN.
const GATEWAY_TABLE: &str = "hawser";
const LAN_TABLE: &str = "hawser-lan";
/// That of a machine of which some control groups use a tunnel.
const SPLIT_TABLE: &str = "hawser-split";
const NFNL_SUBSYS_NFTABLES: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = NFNL_SUBSYS_NFTABLES << 8;
const NEW_CHAIN: u16 = NFNL_SUBSYS_NFTABLES << 8 | 3;
const NEW_RULE: u16 = NFNL_SUBSYS_NFTABLES << 8 | 6;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;
/// NFPROTO_UNSPEC, NFPROTO_INET, and the families of packets.
const UNSPECIFIED: u8 = 0;
const INET: u8 = 1;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
/// NFT_TABLE_F_OWNER.
const OWNED: u32 = 2;
const NESTED: u16 = 0x8000;
/// Register 1, of 16 bytes, and that of verdicts.
const REGISTER: u32 = 1;
const VERDICT_REGISTER: u32 = 0;
/// Hooks of a packet's path: NF_INET_FORWARD, NF_INET_LOCAL_OUT, NF_INET_POST_ROUTING.
const FORWARD: u32 = 2;
const LOCAL_OUT: u32 = 3;
const POST_ROUTING: u32 = 4;
/// NF_DROP.
const DROP: u32 = 0;
/// NF_IP_PRI_MANGLE, as the kernel reads it.
const MANGLE: u32 = (-150_i32).cast_unsigned();
/// NFT_SOCKET_CGROUPV2, and NFT_META_MARK.
const CGROUP: u32 = 3;
const MARK: u32 = 3;
/// Keys of the meta expression: NFT_META_IIFNAME, NFT_META_OIFNAME, NFT_META_NFPROTO.
const INPUT_NAME: u32 = 6;
const OUTPUT_NAME: u32 = 7;
const FAMILY: u32 = 15;
/// NFT_CT_STATE, and its bits for packets of connections that are there: established, related.
const CONNECTION_STATE: u32 = 0;
const KNOWN: u32 = 2 | 4;
/// Comparisons.
const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
/// How long the kernel may take to answer, in attempts.
const MOST_ANSWERS: usize = 64;

/// A table that is there as long as this.
#[derive(Debug)]
pub struct Table {
    _owner: Socket,
}

/// Hides clients behind the gateway's own addresses, and lets nobody begin to talk to them: packets of these pools that leave over
/// another device than this one are masqueraded, and over this device go only answers.
///
/// # Errors
/// When the kernel refuses: without CAP_NET_ADMIN, nftables or its NAT, or if the table is there.
pub fn masquerade(device: &str, pools: &[IpNet]) -> io::Result<Table> {
    let mut batch = Batch::new(GATEWAY_TABLE);
    for pool in pools {
        let rule = Expressions::default().from(*pool).output(device, NOT_EQUAL).masquerade();
        batch.rule("postrouting", rule);
    }
    batch.rule("forward", Expressions::default().output(device, EQUAL).unknown_connection().verdict(DROP));
    batch.commit()
}

/// Hides the hosts of a LAN behind this machine's address in a tunnel, and lets nobody begin to talk to them through it: packets of these
/// prefixes that leave over this device are masqueraded, and from this device come only answers.
///
/// # Errors
/// As of [`masquerade`].
pub fn share(device: &str, prefixes: &[IpNet]) -> io::Result<Table> {
    let mut batch = Batch::new(LAN_TABLE);
    for prefix in prefixes {
        let rule = Expressions::default().from(*prefix).output(device, EQUAL).masquerade();
        batch.rule("postrouting", rule);
    }
    batch.rule("forward", Expressions::default().input(device).unknown_connection().verdict(DROP));
    batch.commit()
}

/// Has what programs of these control groups send looked up by a mark, and masqueraded over this device: their sockets have chosen the
/// address of a link already.
///
/// # Errors
/// As of [`masquerade`].
pub fn mark(groups: &[Cgroup], mark: u32, device: &str) -> io::Result<Table> {
    let mut batch = Batch::new(SPLIT_TABLE);
    batch.chain("output", "route", LOCAL_OUT, MANGLE);
    for group in groups {
        batch.rule("output", Expressions::default().sent_by(*group).set_mark(mark));
    }
    let marked = Expressions::default().meta(MARK).compare(EQUAL, &mark.to_ne_bytes());
    batch.rule("postrouting", marked.output(device, EQUAL).masquerade());
    batch.commit()
}

/// Attributes of a message: length, type, value, padded to four bytes.
#[derive(Clone, Debug, Default)]
struct Attributes(Vec<u8>);

impl Attributes {
    fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn text(self, kind: u16, value: &str) -> Self {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Numbers are in network order.
    fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    fn nested(self, kind: u16, inner: Attributes) -> Self {
        self.bytes(kind | NESTED, &inner.0)
    }
}

/// What a rule does, one expression after the other.
#[derive(Clone, Debug, Default)]
struct Expressions(Attributes);

impl Expressions {
    fn expression(self, name: &str, data: Attributes) -> Self {
        let one = Attributes::default().text(1, name).nested(2, data);
        Expressions(self.0.nested(1, one))
    }

    fn compare(self, how: u32, value: &[u8]) -> Self {
        let value = Attributes::default().bytes(1, value);
        self.expression("cmp", Attributes::default().number(1, REGISTER).number(2, how).nested(3, value))
    }

    fn meta(self, key: u32) -> Self {
        self.expression("meta", Attributes::default().number(1, REGISTER).number(2, key))
    }

    /// The register with a mask.
    fn mask(self, mask: &[u8]) -> Self {
        let value = |bytes: &[u8]| Attributes::default().bytes(1, bytes);
        let length = u32::try_from(mask.len()).unwrap_or(0);
        let data = Attributes::default()
            .number(1, REGISTER)
            .number(2, REGISTER)
            .number(3, length)
            .nested(4, value(mask))
            .nested(5, value(&vec![0; mask.len()]));
        self.expression("bitwise", data)
    }

    /// Packets from a prefix.
    fn from(self, prefix: IpNet) -> Self {
        let (family, offset, address, mask) = match prefix {
            IpNet::V4(prefix) => {
                (IPV4, 12, prefix.network().octets().to_vec(), prefix.netmask().octets().to_vec())
            }
            IpNet::V6(prefix) => {
                (IPV6, 8, prefix.network().octets().to_vec(), prefix.netmask().octets().to_vec())
            }
        };
        let length = u32::try_from(address.len()).unwrap_or(0);
        // NFT_PAYLOAD_NETWORK_HEADER.
        let source =
            Attributes::default().number(1, REGISTER).number(2, 1).number(3, offset).number(4, length);
        let here = self.meta(FAMILY).compare(EQUAL, &[family]);
        here.expression("payload", source).mask(&mask).compare(EQUAL, &address)
    }

    /// Packets that leave over a device, or not.
    fn output(self, device: &str, how: u32) -> Self {
        let mut name = device.as_bytes().to_vec();
        name.resize(16, 0);
        self.meta(OUTPUT_NAME).compare(how, &name)
    }

    /// Packets that have come over a device.
    fn input(self, device: &str) -> Self {
        let mut name = device.as_bytes().to_vec();
        name.resize(16, 0);
        self.meta(INPUT_NAME).compare(EQUAL, &name)
    }

    /// Packets of no connection that is there.
    fn unknown_connection(self) -> Self {
        let state = Attributes::default().number(1, REGISTER).number(2, CONNECTION_STATE);
        self.expression("ct", state).mask(&KNOWN.to_ne_bytes()).compare(EQUAL, &[0; 4])
    }

    /// Packets of sockets in a control group.
    fn sent_by(self, group: Cgroup) -> Self {
        let socket = Attributes::default().number(1, CGROUP).number(2, REGISTER).number(3, group.level);
        self.expression("socket", socket).compare(EQUAL, &group.id.to_ne_bytes())
    }

    fn set_mark(self, mark: u32) -> Self {
        let value = Attributes::default().bytes(1, &mark.to_ne_bytes());
        let loaded = self.expression("immediate", Attributes::default().number(1, REGISTER).nested(2, value));
        loaded.expression("meta", Attributes::default().number(2, MARK).number(3, REGISTER))
    }

    fn masquerade(self) -> Self {
        self.expression("masq", Attributes::default())
    }

    fn verdict(self, code: u32) -> Self {
        let verdict = Attributes::default().nested(2, Attributes::default().number(1, code));
        self.expression("immediate", Attributes::default().number(1, VERDICT_REGISTER).nested(2, verdict))
    }
}

/// Messages that the kernel carries out together or not at all.
#[derive(Debug)]
struct Batch {
    table: &'static str,
    bytes: Vec<u8>,
    sequence: u32,
    /// How many of them are acknowledged.
    acknowledged: usize,
}

impl Batch {
    /// That makes a table with a chain for packets that leave, and one for those that are passed on.
    fn new(table: &'static str) -> Self {
        let mut batch = Batch { table, bytes: Vec::new(), sequence: 0, acknowledged: 0 };
        batch.message(BATCH_BEGIN, REQUEST, UNSPECIFIED, NFNL_SUBSYS_NFTABLES, Attributes::default());
        let owned = Attributes::default().text(1, table).number(2, OWNED);
        batch.message(NEW_TABLE, REQUEST | CREATE | ACKNOWLEDGE, INET, 0, owned);
        batch.chain("postrouting", "nat", POST_ROUTING, 100);
        batch.chain("forward", "filter", FORWARD, 0);
        batch
    }

    fn commit(mut self) -> io::Result<Table> {
        self.message(BATCH_END, REQUEST, UNSPECIFIED, NFNL_SUBSYS_NFTABLES, Attributes::default());
        self.send().map(|owner| Table { _owner: owner })
    }

    fn message(&mut self, kind: u16, flags: u16, family: u8, resource: u16, attributes: Attributes) {
        self.sequence += 1;
        self.acknowledged += usize::from(flags & ACKNOWLEDGE != 0);
        let length = u32::try_from(20 + attributes.0.len()).unwrap_or(u32::MAX);
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(self.sequence.to_ne_bytes());
        self.bytes.extend([0; 4]);
        // struct nfgenmsg.
        self.bytes.extend([family, 0]);
        self.bytes.extend(resource.to_be_bytes());
        self.bytes.extend(attributes.0);
    }

    fn chain(&mut self, name: &str, kind: &str, hook: u32, priority: u32) {
        let hook = Attributes::default().number(1, hook).number(2, priority);
        let chain = Attributes::default().text(1, self.table).text(3, name).nested(4, hook).text(7, kind);
        self.message(NEW_CHAIN, REQUEST | CREATE | ACKNOWLEDGE, INET, 0, chain);
    }

    fn rule(&mut self, chain: &str, expressions: Expressions) {
        let rule = Attributes::default().text(1, self.table).text(2, chain).nested(4, expressions.0);
        self.message(NEW_RULE, REQUEST | CREATE | APPEND | ACKNOWLEDGE, INET, 0, rule);
    }

    /// Has it carried out; the socket then owns the table.
    fn send(self) -> io::Result<Socket> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.send_to(&self.bytes, &SocketAddr::new(0, 0), 0)?;
        let mut acknowledged = 0;
        for _ in 0..MOST_ANSWERS {
            if acknowledged == self.acknowledged {
                return Ok(socket);
            }
            let (answer, _) = socket.recv_from_full()?;
            acknowledged += read_answers(&answer)?;
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

/// The acknowledgements in an answer of the kernel.
///
/// # Errors
/// What it refused.
fn read_answers(mut answer: &[u8]) -> io::Result<usize> {
    /// NLMSG_ERROR, which with the code 0 is an acknowledgement.
    const ERROR: u16 = 2;
    let mut count = 0;
    while let Some([a, b, c, d, kind, high, ..]) = answer.first_chunk::<16>() {
        let length = usize::try_from(u32::from_ne_bytes([*a, *b, *c, *d])).unwrap_or(0);
        let Some(message) = answer.get(16..length) else { break };
        if u16::from_ne_bytes([*kind, *high]) == ERROR {
            match message.first_chunk::<4>().map(|code| i32::from_ne_bytes(*code)) {
                Some(0) => count += 1,
                Some(code) => return Err(io::Error::from_raw_os_error(-code)),
                None => break,
            }
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_nest() {
        let inner = Attributes::default().text(1, "abc").number(2, 1);
        assert_eq!(inner.0, [&[8, 0, 1, 0][..], b"abc\0", &[8, 0, 2, 0, 0, 0, 0, 1]].concat());
        let outer = Attributes::default().nested(4, inner.clone()).bytes(5, &[9]);
        assert_eq!(outer.0, [&[20, 0, 4, 0x80][..], &inner.0, &[5, 0, 5, 0, 9, 0, 0, 0]].concat());
    }

    #[test]
    fn answers_of_any_form_are_read() {
        let answer = |code: i32| {
            let mut bytes = vec![36, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            bytes.extend(code.to_ne_bytes());
            bytes.resize(36, 0);
            bytes
        };
        assert_eq!(read_answers(&[answer(0), answer(0)].concat()).unwrap(), 2);
        assert_eq!(read_answers(&answer(-1)).unwrap_err().raw_os_error(), Some(1));
        assert_eq!(read_answers(&answer(0)[..30]).unwrap(), 0);
        assert_eq!(read_answers(&[0; 40]).unwrap(), 0);
    }
}
