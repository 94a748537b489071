//! Addresses of users, kept across restarts.
//!
//! A user's machines have numbers; the address of number `n` is the one `n` behind the first that is given away, in the pool of
//! each family. So a file of numbers is all that has to be kept, and a gateway whose pools are moved moves all users with them.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use ipnet::IpNet;

/// Machines of one user that have addresses at the same time.
pub const MAX_MACHINES: usize = 16;
/// Addresses at the beginning of a pool that nobody gets: that of the network, and the gateway's.
const RESERVED: u128 = 2;
/// Fewest bits of a pool's addresses that vary.
const FEWEST_BITS: u8 = 2;
/// Most bits of them that are used.
const MOST_BITS: u32 = 24;

/// Why there are no pools.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// Too few addresses.
    #[error("the pool {0} has too few addresses: expected at most {most} bits", most = .0.max_prefix_len() - FEWEST_BITS)]
    Small(IpNet),
    /// Two of one family.
    #[error("two pools of one family: {0} and {1}; a gateway has one of IPv4 and one of IPv6 at most")]
    Two(IpNet, IpNet),
    /// Not one.
    #[error("no pool of addresses")]
    None,
    /// The file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It says something else.
    #[error("{}: {problem}", .path.display())]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// All addresses are taken.
    #[error("no address is left in {0}")]
    Full(String),
    /// The user has as many as may be.
    #[error("{MAX_MACHINES} machines of this user have addresses, as many as may be")]
    Machines,
}

/// The numbers of each user's machines.
type Numbers = BTreeMap<String, Vec<u32>>;

/// Pools and who has which address.
#[derive(Debug)]
pub struct Pools {
    pools: Vec<IpNet>,
    file: PathBuf,
    numbers: Numbers,
    /// Those in use.
    active: HashSet<u32>,
}

/// The addresses of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) number: u32,
    /// One of each pool.
    pub(crate) addresses: Vec<IpAddr>,
}

impl Pools {
    /// With one pool of a family at most. The file need not exist.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn open(pools: Vec<IpNet>, file: &Path) -> Result<Self, PoolError> {
        let pools: Vec<IpNet> = pools.iter().map(IpNet::trunc).collect();
        match &pools[..] {
            [] => return Err(PoolError::None),
            [one, other, ..] if pools.len() > 2 || one.addr().is_ipv4() == other.addr().is_ipv4() => {
                return Err(PoolError::Two(*one, *other));
            }
            _ => {}
        }
        if let Some(small) = pools.iter().find(|pool| pool.max_prefix_len() - pool.prefix_len() < FEWEST_BITS)
        {
            return Err(PoolError::Small(*small));
        }
        let malformed = |problem: String| PoolError::Malformed { path: file.to_owned(), problem };
        let numbers: Numbers = match std::fs::read_to_string(file) {
            Ok(text) => {
                toml::from_str(&text).map_err(|error| malformed(error.to_string().trim_end().to_owned()))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Numbers::new(),
            Err(source) => return Err(PoolError::File { path: file.to_owned(), source }),
        };
        let mut seen = HashSet::new();
        if let Some(twice) = numbers.values().flatten().find(|number| !seen.insert(**number)) {
            return Err(malformed(format!("the number {twice} is there twice")));
        }
        Ok(Pools { pools, file: file.to_owned(), numbers, active: HashSet::new() })
    }

    /// The pools.
    pub fn prefixes(&self) -> &[IpNet] {
        &self.pools
    }

    /// The gateway's own address in each of them.
    pub fn own_addresses(&self) -> Vec<IpNet> {
        let own = |pool: &IpNet| IpNet::new(nth(pool, 1)?, pool.prefix_len()).ok();
        self.pools.iter().filter_map(own).collect()
    }

    /// Gives a machine of this user addresses: those with this one among them if they are the user's own, in use or not; else
    /// those of a machine that is not there; else new ones.
    ///
    /// # Errors
    /// [`PoolError`].
    pub(crate) fn lease(&mut self, user: &str, wanted: &[IpAddr]) -> Result<Lease, PoolError> {
        let known = self.numbers.get(user).map(Vec::as_slice).unwrap_or_default();
        let is_wanted = |number: &&u32| {
            self.pools.iter().filter_map(|pool| self.address(pool, **number)).any(|own| wanted.contains(&own))
        };
        let is_free = |number: &&u32| !self.active.contains(*number);
        let known = known.iter().find(is_wanted).or_else(|| known.iter().find(is_free));
        let number = match known {
            Some(number) => *number,
            None => self.add(user)?,
        };
        let addresses: Vec<IpAddr> =
            self.pools.iter().filter_map(|pool| self.address(pool, number)).collect();
        if addresses.is_empty() {
            return Err(self.full());
        }
        self.active.insert(number);
        Ok(Lease { number, addresses })
    }

    /// A machine has gone; it gets the same addresses when it comes back.
    pub(crate) fn release(&mut self, number: u32) {
        self.active.remove(&number);
    }

    /// A number for another machine of this user, on file before it is used.
    fn add(&mut self, user: &str) -> Result<u32, PoolError> {
        if self.numbers.get(user).is_some_and(|known| known.len() >= MAX_MACHINES) {
            return Err(PoolError::Machines);
        }
        let taken: HashSet<u32> = self.numbers.values().flatten().copied().collect();
        // One of the numbers up to their count is free.
        let free =
            (0..=u32::try_from(taken.len()).unwrap_or(u32::MAX)).find(|number| !taken.contains(number));
        let Some(number) =
            free.filter(|number| self.pools.iter().any(|pool| self.address(pool, *number).is_some()))
        else {
            return Err(self.full());
        };
        self.numbers.entry(user.to_owned()).or_default().push(number);
        if let Err(source) = self.write() {
            self.numbers.entry(user.to_owned()).or_default().retain(|known| *known != number);
            return Err(PoolError::File { path: self.file.clone(), source });
        }
        Ok(number)
    }

    fn full(&self) -> PoolError {
        let pools: Vec<String> = self.pools.iter().map(ToString::to_string).collect();
        PoolError::Full(pools.join(" and "))
    }

    /// The address with this number; `None` beyond the pool. The last of IPv4 is for broadcasts.
    fn address(&self, pool: &IpNet, number: u32) -> Option<IpAddr> {
        let bits = u32::from(pool.max_prefix_len() - pool.prefix_len());
        let last = (1_u128 << bits.min(MOST_BITS)) - u128::from(pool.addr().is_ipv4());
        let at = u128::from(number) + RESERVED;
        if at < last { nth(pool, at) } else { None }
    }

    /// Replaces the file as a whole.
    fn write(&self) -> io::Result<()> {
        let text = toml::to_string(&self.numbers).map_err(io::Error::other)?;
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let draft = self.file.with_extension("draft");
        let mut file = std::fs::File::create(&draft)?;
        file.write_all(
            b"# Which addresses users have: the numbers of their machines, written by `hawser gateway`.\n",
        )?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&draft, &self.file)
    }
}

/// The address at this place of a prefix.
fn nth(prefix: &IpNet, at: u128) -> Option<IpAddr> {
    match prefix.network() {
        IpAddr::V4(first) => {
            let bits = first.to_bits().checked_add(u32::try_from(at).ok()?)?;
            Some(Ipv4Addr::from_bits(bits).into())
        }
        IpAddr::V6(first) => Some(Ipv6Addr::from_bits(first.to_bits().checked_add(at)?).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(prefixes: &[&str], file: &Path) -> Result<Pools, PoolError> {
        Pools::open(prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect(), file)
    }

    fn addresses(lease: &Lease) -> Vec<String> {
        lease.addresses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_user_gets_the_same_addresses_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("addresses.toml");
        let prefixes = ["10.118.0.0/16", "fd00::/64"];
        let mut pools = open(&prefixes, &file).unwrap();
        let bob = pools.lease("bob", &[]).unwrap();
        let alice = pools.lease("alice", &[]).unwrap();
        assert_eq!(addresses(&bob), ["10.118.0.2", "fd00::2"]);
        assert_eq!(addresses(&alice), ["10.118.0.3", "fd00::3"]);
        let phone = pools.lease("alice", &[]).unwrap();
        assert_eq!(addresses(&phone), ["10.118.0.4", "fd00::4"]);
        let mut pools = open(&prefixes, &file).unwrap();
        assert_eq!(pools.lease("alice", &[]).unwrap(), alice);
        assert_eq!(pools.lease("alice", &[]).unwrap(), phone);
        // One that comes back before the gateway has missed it.
        assert_eq!(pools.lease("alice", &alice.addresses).unwrap(), alice);
        // The address of another user is nobody else's.
        pools.release(phone.number);
        assert_eq!(pools.lease("alice", &bob.addresses).unwrap(), phone);
    }

    #[test]
    fn a_full_pool_and_too_many_machines_are_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut pools = open(&["10.0.0.0/29"], &folder.path().join("few.toml")).unwrap();
        for user in ["a", "b", "c", "d", "e"] {
            pools.lease(user, &[]).unwrap();
        }
        assert!(matches!(pools.lease("f", &[]), Err(PoolError::Full(_))));
        let mut pools = open(&["10.0.0.0/16"], &folder.path().join("many.toml")).unwrap();
        for _ in 0..MAX_MACHINES {
            pools.lease("a", &[]).unwrap();
        }
        assert!(matches!(pools.lease("a", &[]), Err(PoolError::Machines)));
    }

    #[test]
    fn pools_that_cannot_be_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("addresses.toml");
        assert!(matches!(open(&[], &file), Err(PoolError::None)));
        assert!(matches!(open(&["10.0.0.0/31"], &file), Err(PoolError::Small(_))));
        assert!(matches!(open(&["10.0.0.0/24", "10.1.0.0/24"], &file), Err(PoolError::Two(..))));
        std::fs::write(&file, "alice = [0]\nbob = [0]\n").unwrap();
        let error = open(&["10.0.0.0/24"], &file).unwrap_err().to_string();
        assert!(error.contains("the number 0 is there twice"), "{error}");
    }
}
