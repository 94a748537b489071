//! Commands that take more than a word.

use crate::attach::ScanKind;

/// Returns the commands for a scan of these frequencies (MHz; none: all).
///
/// wpa_supplicant keeps access points of earlier scans for three minutes, the kernel for 30 s. Those that are out of reach by now would be
/// tried again, and first if they were near: both are made to forget them.
pub fn scan_commands(kind: ScanKind, channels: &[u16]) -> [String; 2] {
    let mut command = "SCAN only_new=1".to_owned();
    if kind == ScanKind::Passive {
        command += " passive=1";
    }
    if !channels.is_empty() {
        let list: Vec<String> = channels.iter().map(u16::to_string).collect();
        command = format!("{command} freq={}", list.join(","));
    }
    ["BSS_FLUSH 0".to_owned(), command]
}
