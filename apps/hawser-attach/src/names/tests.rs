use tempfile::TempDir;

use super::*;

const BEFORE: &str = "nameserver 192.0.2.1\n";
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// A folder with a file that names resolvers.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Machine(tempfile::tempdir().unwrap());
        std::fs::write(machine.file(), BEFORE).unwrap();
        machine
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("resolv.conf")
    }

    fn read(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }

    /// What a process of this interface has.
    fn names(&self, interface: &str) -> NameServers {
        let record = self.0.path().join(format!("{interface}.names.json"));
        NameServers::new(&self.file(), interface, record, Output { quiet: true, ..Output::default() })
    }
}

#[tokio::test]
async fn file_names_servers_of_the_lease_for_as_long_as_there_is_one() {
    let machine = Machine::new();
    let mut names = machine.names("wlan0");
    names.set(7, &[SERVER]).await;
    assert!(machine.read().ends_with("\nnameserver 10.0.0.1\n"), "{}", machine.read());
    names.set(7, &[Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 3)]).await;
    assert!(machine.read().ends_with("\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n"), "{}", machine.read());
    names.remove().await;
    assert_eq!(machine.read(), BEFORE);
    names.set(7, &[]).await;
    assert_eq!(machine.read(), BEFORE, "a lease without servers changes nothing");
    assert_eq!(names.record.read(), None);
}

#[tokio::test]
async fn file_is_restored_by_the_next_process_after_a_kill() {
    let machine = Machine::new();
    let mut killed = machine.names("wlan0");
    killed.set(7, &[SERVER]).await;
    drop(killed);
    assert_ne!(machine.read(), BEFORE);
    let mut next = machine.names("wlan0");
    next.recover().await;
    assert_eq!((machine.read().as_str(), next.record.read()), (BEFORE, None));
}

#[tokio::test]
async fn file_of_a_tunnel_stays() {
    let machine = Machine::new();
    Resolv::read(&machine.file()).unwrap().replace(&[IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9))]).unwrap();
    let of_tunnel = machine.read();
    let mut names = machine.names("wlan0");
    names.set(7, &[SERVER]).await;
    assert!(names.said.as_ref().unwrap().contains("`hawser tunnel` has written"), "{:?}", names.said);
    assert_eq!(machine.read(), of_tunnel);
    names.remove().await;
    assert_eq!(machine.read(), of_tunnel);
}

#[tokio::test]
async fn file_that_a_later_tunnel_restores_is_as_it_was_after_the_next_start() {
    let machine = Machine::new();
    let mut names = machine.names("wlan0");
    names.set(7, &[SERVER]).await;
    let tunnel = Resolv::read(&machine.file()).unwrap();
    tunnel.replace(&[IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9))]).unwrap();
    names.remove().await;
    tunnel.restore().unwrap();
    assert_ne!(machine.read(), BEFORE, "what the tunnel found");
    machine.names("wlan0").recover().await;
    assert_eq!(machine.read(), BEFORE);
}

#[tokio::test]
async fn second_interface_waits_for_the_file_of_the_first() {
    let machine = Machine::new();
    let (mut first, mut second) = (machine.names("wlan0"), machine.names("wlan1"));
    first.set(7, &[SERVER]).await;
    second.set(8, &[Ipv4Addr::new(10, 1, 0, 1)]).await;
    assert!(machine.read().ends_with("\nnameserver 10.0.0.1\n"), "{}", machine.read());
    first.remove().await;
    assert_eq!(machine.read(), BEFORE);
    second.set(8, &[Ipv4Addr::new(10, 1, 0, 1)]).await;
    assert!(machine.read().ends_with("\nnameserver 10.1.0.1\n"), "at the next renewal");
    second.remove().await;
    assert_eq!(machine.read(), BEFORE);
}

#[tokio::test]
async fn file_without_a_record_of_what_it_was_is_not_changed() {
    let machine = Machine::new();
    let mut names = machine.names("wlan0");
    names.record = Record::new(machine.file().join("wlan0.names.json"));
    names.set(7, &[SERVER]).await;
    assert_eq!(machine.read(), BEFORE);
}

#[tokio::test]
async fn task_restores_the_file_at_its_end() {
    let machine = Machine::new();
    let mut killed = machine.names("wlan0");
    killed.set(7, &[Ipv4Addr::new(10, 9, 9, 9)]).await;
    drop(killed);
    let names = Names::start(machine.names("wlan0"));
    names.set(7, &[SERVER]);
    names.end().await;
    assert_eq!(machine.read(), BEFORE);
}

#[test]
fn program_of_systemd_is_not_called() {
    let folder = tempfile::tempdir().unwrap();
    let [own, systemd] = ["own", "systemd"].map(|name| folder.path().join(name));
    for place in [&own, &systemd] {
        std::fs::create_dir(place).unwrap();
    }
    std::fs::write(systemd.join("resolvectl"), "").unwrap();
    std::os::unix::fs::symlink("resolvectl", systemd.join("resolvconf")).unwrap();
    assert_eq!(program(vec![systemd.clone()]), None);
    std::fs::write(own.join("resolvconf"), "").unwrap();
    assert_eq!(program(vec![systemd, own.clone()]), Some(own.join("resolvconf")));
    assert_eq!(program(vec![PathBuf::from(".")]), None, "not in the working folder");
}
