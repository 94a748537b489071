use super::*;

const DRIVE: &str = "\
TIME_STAMP_x,DLtput_x,modified_tech_x,handover_status_x,TIME_STAMP_y,DLtput_y,modified_tech_y,handover_status_y,timediff
100.0,21.1,LTE-A,,100.1,0.5,LTE-A,,0.2
100.2,31.1,LTE-A,,100.3,,,Start,0.05
100.3,31.1,LTE-A,,100.38,,,End,0.02
100.5,0.4,LTE-A,,100.6,0.9,5G-mid,newtput,0.2
100.5,0.4,LTE-A,,100.6,0.9,5G-mid,,0.5
";
const PINGS: &str = "[1.0] 46 bytes from 192.0.2.1: icmp_seq=1 ttl=50 time=83.7 ms\n";

fn value(tables: &[Table], statistic: &str) -> f64 {
    let mut rows = tables.iter().flat_map(|table| &table.rows);
    rows.find(|row| row.statistic == statistic).unwrap_or_else(|| panic!("no {statistic}")).got
}

#[test]
fn recordings_are_measured_as_generated_links_are() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("pam2025/DL_1.csv", DRIVE);
    write("pam2025/UL_1.csv", &DRIVE.replace("DLtput", "ULtput"));
    write("pam2025/LICENSE", "CC0");
    write("pam2025-ping/atnt_ping_1.out", PINGS);
    let missing = recorded(folder.path()).unwrap_err().to_string();
    assert!(missing.ends_with("no file verizon*"), "{missing}");
    write("pam2025-ping/verizon_ping_1.out", PINGS);
    // 20 chances in the first 100 ms, 10 in the second.
    let chances = (1..=20).map(|ms| 5 * ms).chain((11..=20).map(|ms| 10 * ms));
    write("leocc-starlink/bw_example.txt", &chances.map(|ms: u32| format!("{ms}\n")).collect::<String>());
    write("leocc-starlink/delay_example.txt", "11\n12\n13\n");
    let tables = recorded(folder.path()).unwrap();
    // Rows that repeat count once: one of four is low for the first, both of the second.
    assert_eq!(value(&tables, "down below 1 Mbit/s, first carrier"), 0.25);
    assert_eq!(value(&tables, "up below 1 Mbit/s, second carrier"), 1.0);
    assert!((value(&tables, "handover duration median, s") - 0.08).abs() < 1e-9);
    assert!((value(&tables, "ping worst, s") - 0.0837).abs() < 1e-9);
    // Between 2.4 and 1.2, the two bins.
    assert!((value(&tables, "rate median, Mbit/s") - 1.8).abs() < 1e-9);
    assert_eq!(value(&tables, "one-way delay median, ms"), 12.0);
    write("pam2025/DL_1.csv", "TIME_STAMP_x,b\n1,2\n");
    let error = recorded(folder.path()).unwrap_err().to_string();
    assert!(error.contains("DL_1.csv:1: the column DLtput_x is missing"), "{error}");
}

/// The folder with the measurements, beside the checkout or where the variable says.
fn traces() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("HAWSER_TRACES").map_or(beside, PathBuf::from);
    folder.join("pam2025").is_dir().then_some(folder)
}

#[test]
fn the_published_part_of_the_data_agrees_with_the_facts_of_the_whole() {
    let Some(folder) = traces() else {
        eprintln!("skipped: no folder of traces (set HAWSER_TRACES)");
        return;
    };
    let tables = recorded(&folder).expect("well formed");
    let get = |statistic: &str| value(&tables, statistic);
    // 4 of 20 hours: the order of magnitude, and that the carriers fail together more often than by chance.
    let shares = tables[0].rows.iter().filter(|row| row.statistic.ends_with("carrier"));
    for row in shares {
        assert!((0.5..2.0).contains(&(row.got / row.target)), "{row:?}");
    }
    let alone = ["first", "second"].map(|which| get(&format!("down below 1 Mbit/s, {which} carrier")));
    assert!(get("down below 1 Mbit/s, both") > 1.5 * alone[0] * alone[1]);
    assert!((get("handover duration median, s") / 0.059 - 1.0).abs() < 0.05);
    assert!((2.5..=2.95).contains(&get("handovers per minute")), "{}", get("handovers per minute"));
}
