use std::os::unix::fs::MetadataExt;

use super::*;
use crate::host::netlink::Index;
use crate::host::resolved::stand_in::{Bus, StandIn, Temper};

const STUB: &str = "# of resolved\nnameserver 127.0.0.53\nsearch .\n";
const TOLD: [&str; 3] = ["7 for ~.", "7 for others: true", "7 asks 198.51.100.2"];

/// A machine whose programs ask systemd-resolved.
struct Machine {
    folder: tempfile::TempDir,
    state: Arc<Mutex<State>>,
    said: Arc<std::sync::Mutex<Vec<String>>>,
    netlink: Netlink,
}

impl Machine {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("stub"), STUB).unwrap();
        std::os::unix::fs::symlink("stub", folder.path().join("resolv.conf")).unwrap();
        let netlink = Netlink::new().unwrap();
        let (state, _) = State::begin(&folder.path().join("state.json"), &netlink).await.unwrap();
        Machine { folder, state: Arc::new(Mutex::new(state)), said: Arc::default(), netlink }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("resolv.conf")
    }

    fn is_as_before(&self) -> bool {
        std::fs::read_link(self.path()).is_ok_and(|target| target == Path::new("stub"))
            && std::fs::read_to_string(self.path()).unwrap() == STUB
    }

    fn names_resolvers_of_the_tunnel(&self) -> bool {
        std::fs::read_to_string(self.path()).is_ok_and(|text| text.ends_with("\nnameserver 198.51.100.2\n"))
    }

    async fn plan(&self, bus: &Bus, dns: &[IpAddr], split: &Split, direct: &[IpAddr]) -> Plan {
        let wanted = Wanted { file: &self.path(), dns, split, direct };
        wanted.plan_with(&self.netlink, Resolved::connect(&bus.address)).await.unwrap()
    }

    /// For all names.
    async fn start(&self, bus: &Bus) -> Resolvers {
        let dns: Vec<IpAddr> = vec!["198.51.100.2".parse().unwrap()];
        let plan = self.plan(bus, &dns, &Split::default(), &[]).await;
        let link = LinkResolvers { device: Index::numbered(7), servers: dns.clone(), domains: Vec::new() };
        let file = File { path: self.path(), names: dns, state: self.state.clone() };
        let said = self.said.clone();
        let say: Say = Arc::new(move |text: &str| said.lock().unwrap().push(text.to_owned()));
        Resolvers::start(plan, link, file, &say).await.unwrap()
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }
}

/// Waits, and fails rather than hangs.
async fn until(mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), wait).await.expect("what was waited for");
}

#[tokio::test]
async fn resolved_is_told_at_the_start_and_after_its_restart_and_no_file_changes() {
    let Some(bus) = Bus::start() else { return };
    let (machine, stand_in) = (Machine::new().await, StandIn::start(&bus, Temper::Willing, &[]).await);
    let before = std::fs::symlink_metadata(machine.path()).unwrap();
    let resolvers = machine.start(&bus).await;
    assert_eq!(resolvers.way, Way::Resolved);
    assert_eq!(stand_in.calls(), TOLD);
    stand_in.stop().await;
    let stand_in = StandIn::start(&bus, Temper::Willing, &[]).await;
    until(|| stand_in.calls() == TOLD).await;
    resolvers.stop().await;
    assert_eq!(stand_in.calls()[TOLD.len()..], ["7 reverted"]);
    let undone = machine.state.lock().await.undo(&machine.netlink).await.unwrap();
    assert!(undone.is_empty(), "{undone:?}");
    let after = std::fs::symlink_metadata(machine.path()).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    assert!(machine.is_as_before() && machine.said().is_empty());
}

#[tokio::test]
async fn file_names_the_resolvers_where_resolved_refuses_them() {
    let Some(bus) = Bus::start() else { return };
    let (machine, _stand_in) = (Machine::new().await, StandIn::start(&bus, Temper::Refusing, &[]).await);
    let resolvers = machine.start(&bus).await;
    assert_eq!(resolvers.way, Way::File);
    assert!(machine.names_resolvers_of_the_tunnel());
    assert!(machine.said().contains("refuses the resolvers of the tunnel: Link hawser0 is managed.;"));
    resolvers.stop().await;
    let undone = machine.state.lock().await.undo(&machine.netlink).await.unwrap();
    assert_eq!(undone, ["resolv.conf is as it was"]);
    assert!(machine.is_as_before());
}

#[tokio::test]
async fn file_names_the_resolvers_while_resolved_is_gone() {
    let Some(bus) = Bus::start() else { return };
    let (machine, stand_in) = (Machine::new().await, StandIn::start(&bus, Temper::Willing, &[]).await);
    let resolvers = machine.start(&bus).await;
    stand_in.stop().await;
    until(|| machine.names_resolvers_of_the_tunnel()).await;
    until(|| machine.said().contains("systemd-resolved is gone; ")).await;
    let stand_in = StandIn::start(&bus, Temper::Willing, &[]).await;
    until(|| machine.is_as_before()).await;
    assert_eq!(stand_in.calls(), TOLD);
    until(|| machine.said().contains("systemd-resolved is there again")).await;
    // One that refuses now is as good as gone.
    stand_in.stop().await;
    let stand_in = StandIn::start(&bus, Temper::Refusing, &[]).await;
    until(|| machine.names_resolvers_of_the_tunnel()).await;
    drop(stand_in);
    resolvers.stop().await;
    machine.state.lock().await.undo(&machine.netlink).await.unwrap();
    assert!(machine.is_as_before());
}

/// Why the file would change.
fn reason(plan: Plan) -> Option<String> {
    match plan {
        Plan::Resolved(_) => panic!("it would be told"),
        Plan::File(why) => why,
    }
}

#[tokio::test]
async fn resolved_is_told_of_resolvers_that_it_reaches_through_the_tunnel() {
    let Some(bus) = Bus::start() else { return };
    let machine = Machine::new().await;
    let dns: [IpAddr; 1] = ["198.51.100.2".parse().unwrap()];
    let everything = Split::default();
    let why = reason(machine.plan(&bus, &dns, &everything, &[]).await).unwrap();
    assert!(why.starts_with("systemd-resolved does not answer: "), "{why}");
    let _stand_in = StandIn::start(&bus, Temper::Willing, &[]).await;
    let is_told = |plan: Plan| matches!(plan, Plan::Resolved(_));
    let some = |route: &str| Split { routes: vec![route.parse().unwrap()], ..Split::default() };
    assert!(is_told(machine.plan(&bus, &dns, &everything, &[]).await));
    assert!(is_told(machine.plan(&bus, &dns, &some("198.51.100.0/24"), &[]).await));
    let past = "is reached past the tunnel";
    for (dns, split, direct) in [
        // The gateway itself, this machine, and what no route of the tunnel leads to.
        (dns, everything.clone(), dns.to_vec()),
        (["127.0.0.1".parse().unwrap()], everything.clone(), Vec::new()),
        (dns, some("192.168.7.0/24"), Vec::new()),
        (dns, Split { users: vec![1_000], ..Split::default() }, Vec::new()),
    ] {
        let why = reason(machine.plan(&bus, &dns, &split, &direct).await).unwrap();
        assert!(why.contains(past), "{why}");
    }
    // Names of domains are asked for by this process: somebody has to be asked.
    let domains = Split { domains: vec!["chosen.test".to_owned()], ..Split::default() };
    assert!(is_told(machine.plan(&bus, &dns, &domains, &[]).await));
    let why = reason(machine.plan(&bus, &[], &domains, &[]).await).unwrap();
    assert!(why.contains("no resolvers of its own"), "{why}");
    std::fs::write(machine.folder.path().join("stub"), "nameserver 192.0.2.1\n").unwrap();
    assert!(reason(machine.plan(&bus, &dns, &everything, &[]).await).is_none(), "nobody asks resolved");
}
