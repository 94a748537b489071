//! What the kernel says of itself, in files.

use std::path::{Path, PathBuf};

/// Where these files are.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    proc: PathBuf,
}

/// A default route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DefaultRoute {
    pub(super) interface: String,
    pub(super) is_v6: bool,
}

impl Machine {
    /// The one on which this runs.
    pub(super) fn this() -> Self {
        Machine { proc: PathBuf::from("/proc") }
    }

    #[cfg(test)]
    pub(super) fn at(proc: &Path) -> Self {
        Machine { proc: proc.to_owned() }
    }

    fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        std::fs::read_to_string(self.proc.join(path)).ok()
    }

    /// A parameter of the kernel, named as `sysctl` names it, if it is there and a number.
    pub(super) fn parameter(&self, name: &str) -> Option<u64> {
        let path: PathBuf = Path::new("sys").join(name.replace('.', "/"));
        self.read(path)?.split_whitespace().last()?.parse().ok()
    }

    /// A parameter of an interface, whose name may have dots.
    pub(super) fn of_interface(&self, interface: &str, name: &str) -> Option<u64> {
        let path = Path::new("sys/net/ipv4/conf").join(interface).join(name);
        self.read(path)?.trim().parse().ok()
    }

    /// The default routes of the main table.
    pub(super) fn default_routes(&self) -> Vec<DefaultRoute> {
        let v4 = self.read("net/route").unwrap_or_default();
        let v6 = self.read("net/ipv6_route").unwrap_or_default();
        v4.lines().skip(1).filter_map(route_v4).chain(v6.lines().filter_map(route_v6)).collect()
    }
}

/// Iface Destination Gateway Flags RefCnt Use Metric Mask ...
fn route_v4(line: &str) -> Option<DefaultRoute> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let is_default = fields.get(1) == Some(&"00000000") && fields.get(7) == Some(&"00000000");
    is_default.then(|| DefaultRoute { interface: fields[0].to_owned(), is_v6: false })
}

/// Destination, length of its prefix, source, length, next hop, metric, references, uses, flags, interface.
fn route_v6(line: &str) -> Option<DefaultRoute> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (&destination, &length, &interface) = (fields.first()?, fields.get(1)?, fields.get(9)?);
    let is_default = destination.bytes().all(|byte| byte == b'0') && length == "00" && interface != "lo";
    is_default.then(|| DefaultRoute { interface: interface.to_owned(), is_v6: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_and_parameters_are_read_as_the_kernel_writes_them() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(
            "net/route",
            "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
             wlan0\t00000000\t0102A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
             wwan0\t0002A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0\n",
        );
        let zeros = "0".repeat(32);
        put(
            "net/ipv6_route",
            &format!(
                "{zeros} 00 {zeros} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003    wwan0\n\
                 {zeros} 00 {zeros} 00 {zeros} ffffffff 00000001 00000000 00200200       lo\n"
            ),
        );
        put("sys/net/core/rmem_max", "212992\n");
        put("sys/net/ipv4/conf/eth0.7/rp_filter", "1\n");
        let machine = Machine::at(folder.path());
        let names: Vec<(String, bool)> =
            machine.default_routes().into_iter().map(|route| (route.interface, route.is_v6)).collect();
        assert_eq!(names, [("wlan0".to_owned(), false), ("wwan0".to_owned(), true)]);
        assert_eq!(machine.parameter("net.core.rmem_max"), Some(212_992));
        assert_eq!(machine.of_interface("eth0.7", "rp_filter"), Some(1));
        assert_eq!(machine.parameter("net.core.none"), None);
    }
}
