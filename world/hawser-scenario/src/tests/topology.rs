//! Hosts, segments, routes, grids, flows and transport.

use super::*;

pub(super) const NETWORK: &str = r#"
version = 1
duration = "60 s"
[link.wifi0]
between = ["car", "server"]
medium = "wifi"
rate = "40 Mbit/s"
via = ["edge", "core"]
[link.leo0]
between = ["car", "server"]
medium = "satellite"
backup = true
rate = "50 Mbit/s"
via = { steps = [["0 s", ["satA"]], ["15 s", ["satB", "core"]], ["20 s", ["satA"]]], repeat = "30 s" }
nat_rebinding = ["10 s", "40 s"]
[link.lan0]
between = ["neighbour", "server"]
rate = "1 Gbit/s"
via = ["core"]
[[segment]]
name = "edge"
rate = "100 Mbit/s"
[segment.up]
delay = "3 ms"
[[segment]]
name = "core"
rate = "60 Mbit/s"
[[segment]]
name = "satA"
rate = "unlimited"
delay = "4 ms"
[[segment]]
name = "satB"
rate = "unlimited"
"#;

#[test]
fn hosts_segments_and_routes() {
    let scenario = parse(NETWORK).unwrap();
    assert_eq!(scenario.hosts, ["car", "server", "neighbour"]);
    let [wifi, leo, lan] = &scenario.links[..] else { panic!("three links") };
    assert_eq!((wifi.between, lan.between), ([0, 1], [2, 1]));
    assert_eq!((wifi.medium, leo.medium, lan.medium), (Medium::Wifi, Medium::Satellite, Medium::Unknown));
    assert_eq!((wifi.backup, leo.backup), (false, true));
    assert_eq!(wifi.via.alternatives, [[0, 1]]);
    assert_eq!(leo.via.alternatives, [vec![2], vec![3, 1]]);
    let route = |time| leo.via.schedule.value_at(time * SECOND);
    assert_eq!([route(0), route(15), route(20), route(46)], [0, 1, 0, 1]);
    assert_eq!(leo.nat_rebinding, [10 * SECOND, 40 * SECOND]);
    assert_eq!(scenario.segments[0].up.delay.base.value_at(0), 3 * MILLISECOND);
    assert_eq!(scenario.segments[0].down.delay.base.value_at(0), 0);
    // Without flows: a download over all links of the first host.
    let [main] = &scenario.traffic()[..] else { panic!("one flow") };
    assert_eq!((main.client, &main.links[..]), (0, &[0, 1][..]));
    assert_eq!(main.kind, FlowKind::Bulk { direction: Direction::Down, size: None });
}

#[test]
fn every_kind_of_flow() {
    let text = format!(
        r#"{NETWORK}
        [[flow]]
        name = "main"
        kind = "bulk"
        size = "10 MB"
        scheduler = "minrtt"
        [[flow]]
        name = "up"
        kind = "bulk"
        links = ["leo0"]
        direction = "up"
        start = "2 s"
        stop = "9 s"
        awaited = true
        [[flow]]
        name = "web"
        kind = "requests"
        from = "neighbour"
        response = "100 kB"
        think = "200 ms"
        number = 12
        count = 3
        awaited = false
        [[flow]]
        name = "live"
        kind = "requests"
        response = "12 kB"
        every = "40 ms"
        [[flow]]
        name = "call"
        kind = "datagrams"
        rate = "2 Mbit/s"
        [[flow]]
        name = "noise"
        kind = "poisson"
        rate = "5 Mbit/s"
        size = 800
        over = ["core"]
        on_off = {{ on = "10 s", off = "5 s" }}
        [[flow]]
        name = "steady"
        kind = "cbr"
        rate = "1 Mbit/s"
        controller = "newreno"
        [transport]
        scheduler = "ecf"
        controller = "olia"
        crypto = "tls"
        receive_window = "6 MB"
        send_buffer = "1 MiB"
        max_ack_delay = "5 ms"
        least_timeout = "200 ms"
        recovery = "rfc9002"
        setup_rounds = 3
        idle_timeout = "2 min"
        max_datagram = 1350
        ecn = false
        [limits]
        events = 1000
        "#
    );
    let scenario = parse(&text).unwrap();
    let [main, up, web, live, call, noise, steady] = &scenario.flows[..] else { panic!("seven flows") };
    assert_eq!((main.client, &main.links[..], main.awaited), (0, &[0, 1][..], true));
    assert_eq!(main.policies.to_string(), "scheduler = minrtt");
    assert_eq!(main.kind, FlowKind::Bulk { direction: Direction::Down, size: Some(10_000_000) });
    assert_eq!((&up.links[..], up.start, up.stop), (&[1][..], 2 * SECOND, Some(9 * SECOND)));
    assert!(up.awaited);
    assert_eq!((web.client, &web.links[..], web.count, web.awaited), (2, &[2][..], 3, false));
    let every = Some(Duration::from_millis(40));
    assert!(
        matches!(live.kind, FlowKind::Requests { parallel: 1_000, every: pace, think: Duration::ZERO, .. } if pace == every)
    );
    let think = Duration::from_millis(200);
    assert_eq!(
        web.kind,
        FlowKind::Requests {
            request: 500,
            response: 100_000,
            think,
            number: Some(12),
            parallel: 1,
            every: None
        }
    );
    let down = Direction::Down;
    assert_eq!(call.kind, FlowKind::Datagrams { direction: down, size: 1100, rate: 2_000_000 });
    let (rate, poisson, over) = (5_000_000, true, vec![1]);
    assert_eq!(noise.kind, FlowKind::Udp { direction: down, size: 800, rate, poisson, over });
    let (on, off) = (Duration::from_secs(10), Duration::from_secs(5));
    assert_eq!(noise.pattern, Some(Pattern { on, off }));
    assert_eq!((steady.awaited, steady.policies.to_string().as_str()), (false, "congestion = newreno"));
    let mut transport = Composition::default();
    transport.set(hawser_policy::PolicyKind::Scheduler, "ecf".parse().unwrap());
    transport.set(hawser_policy::PolicyKind::Congestion, "olia".parse().unwrap());
    assert_eq!(
        scenario.transport,
        Transport {
            policies: transport,
            tls: true,
            receive_window: Some(6_000_000),
            send_buffer: Some(1 << 20),
            max_ack_delay: Some(5 * MILLISECOND),
            least_timeout: 200 * MILLISECOND,
            rfc9002: true,
            setup_rounds: 3,
            idle_timeout: Some(120 * SECOND),
            max_datagram: Some(1350),
            ecn: false,
        }
    );
    assert_eq!(scenario.limits.events, 1000);
}

#[test]
fn a_grid_is_written_out_as_segments() {
    let grid = r#"
version = 1
[grid]
name = "core"
size = 3
rate = "20 Mbit/s"
delay = "2 ms"
[segment.core-0-1-right]
rate = "5 Mbit/s"
[link.a0]
rate = "50 Mbit/s"
via = { grid = "core", row = 0 }
[link.b0]
rate = "50 Mbit/s"
via = { grid = "core", from = [0, 1], to = [2, 2] }
"#;
    let scenario = parse(grid).unwrap();
    assert_eq!(scenario.segments.len(), 12);
    let names = |link: &ScenarioLink| -> Vec<&str> {
        link.via.alternatives[0].iter().map(|&index| scenario.segments[index].name.as_str()).collect()
    };
    assert_eq!(names(&scenario.links[0]), ["core-0-0-right", "core-0-1-right"]);
    assert_eq!(names(&scenario.links[1]), ["core-0-1-right", "core-0-2-down", "core-1-2-down"]);
    // A segment that is also named by itself keeps what the grid says elsewhere.
    let slow = scenario.segments.iter().find(|segment| segment.name == "core-0-1-right").unwrap();
    assert_eq!(slow.up.rate, RateModel::constant(5_000_000));
    assert_eq!(slow.up.delay.base.value_at(0), 2 * MILLISECOND);
    for (from, to, parts) in [
        ("row = 0 }", "row = 3 }", &["link.a0.via.row", "from 0 to 2"][..]),
        ("row = 0 }", "from = [0, 1], to = [0, 0] }", &["link.a0.via:", "right and down"]),
        ("row = 0 }", "from = [0, 1] }", &["link.a0.via:", "either `row`"]),
        ("size = 3", "size = 1", &[":5: grid.core.size:", "from 2 to 64"]),
        ("size = 3", "size = 3\nspeed = 1", &[":6: segment.core-", ".speed: unknown field"]),
    ] {
        let message = parse(&grid.replace(from, to)).unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{to:?} gives {message:?}");
    }
}

/// What follows the network, and what the message must contain.
#[test]
fn mistakes_in_flows_and_transport() {
    let lines = NETWORK.lines().count();
    for (text, line, part) in [
        ("[[flow]]\nkind = \"bulk\"", 1, "`name` is missing"),
        (
            "[[flow]]\nname = \"f\"\nkind = \"ftp\"",
            3,
            "flow.f.kind: unknown value \"ftp\"; allowed: \"bulk\"",
        ),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\nrate = \"1 Mbit/s\"", 4, "flow.f.rate: unknown field"),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\nfrom = \"bus\"", 4, "no link leads to a host \"bus\""),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\nfrom = \"server\"", 1, "no link begins at \"server\""),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\nto = \"neighbour\"", 1, "no link leads from \"car\""),
        (
            "[[flow]]\nname = \"f\"\nkind = \"bulk\"\nlinks = [\"wifi0\", \"lan0\"]",
            4,
            "flow.f.links[1]: the links",
        ),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\nlinks = [\"eth0\"]", 4, "there are: wifi0, leo0, lan0"),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\nlinks = []", 4, "at least one link"),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\nlinks = [\"leo0\", \"leo0\"]", 4, "named twice"),
        (
            "[[flow]]\nname = \"f\"\nkind = \"bulk\"\nfrom = \"neighbour\"\nlinks = [\"leo0\"]",
            5,
            "`from` is not",
        ),
        (
            "[[flow]]\nname = \"f\"\nkind = \"bulk\"\nstart = \"3 s\"\nstop = \"3 s\"",
            5,
            "stop after its start",
        ),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\nawaited = true", 4, "no end to wait for"),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\ncount = 0", 4, "from 1 to"),
        ("[[flow]]\nname = \"f\"\nkind = \"cbr\"\nrate = \"0 bit/s\"", 4, "above zero"),
        (
            "[[flow]]\nname = \"f\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nover = [\"x\"]",
            5,
            "there are: core, edge",
        ),
        ("[[flow]]\nname = \"f\"\nkind = \"requests\"", 1, "`response` is missing"),
        (
            "[[flow]]\nname = \"f\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nsize = 1501",
            5,
            "flow.f.size: expected at most 1500 bytes, the MTU of its way, found 1501",
        ),
        (
            "[[flow]]\nname = \"f\"\nkind = \"datagrams\"\nrate = \"1 Mbit/s\"\nsize = 1421",
            5,
            "flow.f.size: expected at most 1420 bytes, what fits into 1452 bytes of UDP payload, found 1421",
        ),
        ("[[flow]]\nname = \"f\"\nkind = \"bulk\"\n[[flow]]\nname = \"f\"\nkind = \"bulk\"", 5, "two flows"),
        ("[transport]\nscheduler = \"min rtt\"", 2, "transport.scheduler: \"min rtt\" cannot name a policy"),
        ("[transport]\ncrypto = \"none\"", 2, "\"null\", \"tls\""),
        ("[transport]\nmax_ack_delay = \"20 s\"", 2, "16383 ms"),
        ("[transport]\nleast_timeout = \"11 s\"", 2, "at most \"10 s\""),
        ("[transport]\nsetup_rounds = 0", 2, "1 to 10"),
        ("[transport]\nmax_datagram = 500", 2, "1200 to 65527"),
        ("[transport]\nreceive_window = 0", 2, "expected 1200 to 1099511627776 bytes, found 0"),
        ("[transport]\nsend_buffer = \"1 kB\"", 2, "expected 1200 to 1099511627776 bytes, found \"1 kB\""),
        ("[limits]\nevents = 0", 2, "limits.events"),
        ("[[segment]]\nname = \"core\"\nrate = \"unlimited\"", 2, "two segments"),
        ("[link.core]\nrate = \"unlimited\"", 1, "a segment is named \"core\" too"),
        ("[link.x]\nrate = \"unlimited\"\nvia = [\"core\", \"core\"]", 3, "link.x.via[1]: the route crosses"),
        ("[[link]]\nname = \"x\"", 1, "not valid TOML"),
    ] {
        let message = parse(&format!("{NETWORK}{text}\n")).expect_err(text).to_string();
        assert!(message.contains(part), "{text:?} gives {message:?}, without {part:?}");
        let at = format!("dir/test.toml:{}:", lines + line);
        assert!(message.starts_with(&at), "{message:?} is not at {at}");
    }
}

#[test]
fn packets_fit_the_widest_way_that_they_can_take() {
    let read = |mtu: [u32; 3], flow: &str| {
        let [wide, narrow, core] = mtu;
        parse(&format!(
            "version = 1\n[segment.core]\nrate = \"9 Mbit/s\"\nmtu = {core}\n[link.a]\nrate = \"9 Mbit/s\"\nmtu = {wide}\n\
             via = [\"core\"]\n[link.b]\nrate = \"9 Mbit/s\"\nmtu = {narrow}\n[flow.f]\nrate = \"1 Mbit/s\"\n{flow}\n"
        ))
        .map(|_| ())
        .map_err(|error| error.message)
    };
    let most = |bytes: &str| format!("expected at most {bytes} bytes");
    for (mtu, flow, refused) in [
        ([9000, 1500, 9000], "kind = \"cbr\"\nsize = 9000", None),
        ([9000, 1500, 4000], "kind = \"cbr\"\nsize = 9000", Some("4000")),
        ([9000, 1500, 4000], "kind = \"poisson\"\nsize = 4000\nover = [\"core\"]", None),
        ([9000, 1500, 1400], "kind = \"poisson\"\nlinks = [\"a\"]", Some("1400")),
        ([9000, 1500, 9000], "kind = \"datagrams\"\nsize = 8000\n[transport]\nmax_datagram = 8972", None),
        (
            [9000, 1500, 2000],
            "kind = \"datagrams\"\nsize = 8000\n[transport]\nmax_datagram = 8972",
            Some("1940"),
        ),
        ([1400, 1300, 1500], "kind = \"datagrams\"\nsize = 1341", Some("1340")),
        ([576, 576, 576], "kind = \"datagrams\"", None),
    ] {
        let found = read(mtu, flow);
        match refused {
            None => assert_eq!(found, Ok(()), "{mtu:?} {flow}"),
            Some(bytes) => assert!(found.as_ref().unwrap_err().contains(&most(bytes)), "{flow}: {found:?}"),
        }
    }
}

#[test]
fn a_flow_starts_before_the_end_unless_the_command_line_shortens_the_run() {
    let text = "version = 1\nduration = \"9 s\"\n[link.a]\nrate = \"9 Mbit/s\"\n[flow.f]\nkind = \"bulk\"\nstart = \"8 s\"\n";
    let read = |set: &[&str]| {
        let overrides: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
        let mut files = |_: &str| Err(String::new());
        Scenario::read(ReadOptions {
            text,
            file: "a.toml",
            overrides: &overrides,
            files: &mut files,
            registry: None,
        })
    };
    assert!(read(&[]).is_ok() && read(&["duration=2 s"]).is_ok());
    let message = read(&["flow.f.start=9 s"]).unwrap_err().to_string();
    assert!(message.contains("flow.f.start: the flow would never start"), "{message}");
}
