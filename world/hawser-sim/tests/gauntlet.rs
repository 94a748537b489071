//! Every case of the mobility gauntlet keeps its bounds.

use hawser_sim::gauntlet::{CASES, Setting};

use crate::common;

/// Runs a case with these seeds and prints what it measured.
fn check(name: &str, seeds: std::ops::Range<u64>) {
    let registry = common::registry();
    let case = CASES.iter().find(|case| case.name == name).expect("it is listed");
    println!("{name}: {}", case.about);
    let mut broken = Vec::new();
    for seed in seeds {
        let setting = Setting {
            registry: &registry,
            scheduler: "default",
            controller: "cubic",
            seed,
            priorities: true,
        };
        let measures = case.run(&setting);
        let line: Vec<String> = measures.iter().map(ToString::to_string).collect();
        println!("  seed {seed}: {}", line.join(", "));
        broken
            .extend(measures.iter().filter(|m| !m.holds()).map(|measure| format!("seed {seed}: {measure}")));
    }
    assert!(broken.is_empty(), "{name}: {broken:#?}");
}

macro_rules! cases {
    ($($(#[$attribute:meta])* $function:ident = $name:literal;)*) => {
        $($(#[$attribute])* #[test] fn $function() { check($name, 1..17); })*

        #[test]
        fn every_case_is_checked() {
            let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

cases! {
    download_port_rebinding = "download-port-rebinding";
    upload_port_rebinding = "upload-port-rebinding";
    download_address_rebinding = "download-address-rebinding";
    upload_address_rebinding = "upload-address-rebinding";
    download_return = "download-return";
    download_migration = "download-migration";
    upload_migration = "upload-migration";
    upload_migration_to_another_port = "upload-migration-to-another-port";
    upload_migration_to_a_dead_link = "upload-migration-to-a-dead-link";
    rebinding_every_5_s = "rebinding-every-5-s";
    trickling_path = "trickling-path";
    trickling_use = "trickling-use";
    marking_queue = "marking-queue";
    abandon_while_copies_wait = "abandon-while-copies-wait";
    both_abandon_one_dead = "both-abandon-one-dead";
    suspect_path_left_alone = "suspect-path-left-alone";
    key_updates_beside_an_idle_path = "key-updates-beside-an-idle-path";
    mixed_return_paths = "mixed-return-paths";
    urgent_message_next_to_a_dead_path = "urgent-message-next-to-a-dead-path";
}
