//! What lines that somebody uploads can make the server compute: the smallest forms of records, and of what is none, next to a
//! reference work. On average a line has 32 bytes at least.

use super::Record;

const ID: &str = "\"id\":\"0000000001-0000000000000006\",\"run\":\"0000000000000006\"";

#[test]
fn no_record_costs_more_than_its_bytes() {
    let track = |fixes: &str, distance: &str| {
        format!("{{\"kind\":\"track\",{ID},\"fixes\":[{fixes}],\"distance_m\":{distance}}}")
    };
    let fields = |field: &str| format!("{{\"kind\":\"track\",{}}}", [field; 1_000].join(","));
    let forms: [(&str, String, bool); 11] = [
        ("nothing", " ".repeat(31), false),
        ("of no kind", "{\"kind\":\"none of those that are\"}".to_owned(), false),
        ("of a kind and nothing more", format!("{:31}", "{\"kind\":\"track\"}"), false),
        ("fields that it does not have", fields("\"a\":0"), false),
        ("a field again and again", fields("\"id\":\"1\""), false),
        ("as deep as may be", "[".repeat(127), false),
        (
            "deep in a field",
            format!("{{\"kind\":\"track\",\"a\":{}}}", "[".repeat(120) + &"]".repeat(120)),
            false,
        ),
        ("escapes", format!("{{\"kind\":\"track\",\"a\":\"{}\"}}", "\\u00e9".repeat(1_000)), false),
        ("a track without a place", track("", "0"), true),
        ("a number of many digits", track("", &format!("0.{}", "7".repeat(4_000))), true),
        ("a number with a large exponent", track("", "1e-300"), true),
    ];
    for (name, line, is_record) in forms {
        assert_eq!(Record::read(line.as_bytes()).is_ok(), is_record, "{name}");
        hawser_toll::measure(&format!("records: {name}"), || {
            for _ in 0..200 {
                let _ = std::hint::black_box(Record::read(line.as_bytes()));
            }
            200 * (line.len() + 1)
        });
    }
}
