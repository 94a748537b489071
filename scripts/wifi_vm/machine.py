"""The virtual machine: a Debian kernel with mac80211_hwsim, a root in memory, and what runs in it.

Kernel and root are made once and kept in a folder; what changes (the command, the programs of the stages) is an archive of its own that
the kernel unpacks over the root. The machine has no disk and no network card, and nothing of it remains.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

from .archive import Archive

GUEST = Path(__file__).resolve().parent / "guest"
SUITE = "bookworm"
PACKAGES = (
    "systemd-sysv libnss-systemd udev dbus systemd-resolved polkitd kmod iproute2 iw procps openssl "
    "hostapd wpasupplicant dnsmasq-base dhcpcd-base network-manager"
).split()
# Files of the kernel package that the machine needs; what is named here and is not a module is built into this kernel.
MODULES = ("net/wireless/", "net/mac80211/", "net/rfkill/", "crypto/", "arch/x86/crypto/", "lib/", "drivers/virtio/", "drivers/net/veth.ko",
           "drivers/net/wireless/mac80211_hwsim.ko")
TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "mmdebstrap": "mmdebstrap",
    "dpkg-deb": "dpkg",
    "apt-get": "apt (this makes a Debian root)",
    "strip": "binutils",
}
# One line of the console in the guest starts with this when the machine cannot go on.
PANIC = "Kernel panic"


def missing():
    """Names packages of tools that are not installed."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


def run(command, **options):
    """Runs a command that has to succeed; what it printed is shown if it does not."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"wifi-vm: `{' '.join(map(str, command))}` failed with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout


def kernel_package():
    """Returns the name of the newest kernel package, without `-cloud`, which lacks radios."""
    meta = run(["apt-cache", "depends", "linux-image-amd64"])
    names = [word for word in meta.split() if word.startswith("linux-image-") and word != "linux-image-amd64"]
    if not names:
        sys.exit("wifi-vm: no package linux-image-amd64 is known here: this needs a Debian for amd64 (`apt-get update` first)")
    return names[0]


def make_kernel(folder):
    """Downloads the kernel package, if it is not there, and returns the kernel and the archive with its modules."""
    kernel, modules = folder / "vmlinuz", folder / "modules.cpio"
    if kernel.exists() and modules.exists():
        return kernel, modules
    name = kernel_package()
    say(f"downloading {name}")
    as_root = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    run(["apt-get", *as_root, "-qq", "download", name], cwd=folder)
    package = next(folder.glob(f"{name}_*.deb"))
    version = name.removeprefix("linux-image-")
    root = f"lib/modules/{version}/kernel/"
    part = modules.with_suffix(".part")
    unpacked = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    found = set()
    with tarfile.open(fileobj=unpacked.stdout, mode="r|") as tar, part.open("wb") as file, Archive(file) as archive:
        for member in tar:
            path = member.name.removeprefix("./")
            if path == f"boot/vmlinuz-{version}":
                kernel.write_bytes(tar.extractfile(member).read())
            elif path.startswith(root) and path.removeprefix(root).startswith(MODULES) and member.isreg():
                found.add(path.rpartition("/")[2])
                # /lib is a link to /usr/lib in the root.
                archive.bytes(f"usr/{path}", tar.extractfile(member).read())
            elif path in (f"lib/modules/{version}/modules.order", f"lib/modules/{version}/modules.builtin"):
                archive.bytes(f"usr/{path}", tar.extractfile(member).read())
    unpacked.wait()
    package.unlink()
    if "mac80211_hwsim.ko" not in found:
        sys.exit(f"wifi-vm: {name} has no module mac80211_hwsim")
    part.rename(modules)
    return kernel, modules


def make_root(folder):
    """Makes the root with mmdebstrap, if it is not there, and returns its archive."""
    root, wanted = folder / "root.cpio", " ".join([SUITE, *PACKAGES])
    kept = folder / "root.packages"
    if root.exists() and kept.exists() and kept.read_text() == wanted:
        return root
    say("making a Debian root with hostapd, wpa_supplicant, dnsmasq, dhcpcd and systemd (a few minutes)")
    tar_file = folder / "root.tar"
    without = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale", "i18n", "zoneinfo")]
    run(["mmdebstrap", "--quiet", "--format=tar", "--variant=essential", *without, f"--include={','.join(PACKAGES)}", SUITE,
         str(tar_file)])
    left_out = ("var/lib/apt/", "var/cache/", "usr/lib/x86_64-linux-gnu/gconv/", "usr/share/perl", "boot/")
    part = root.with_suffix(".part")
    with tarfile.open(tar_file) as tar, part.open("wb") as file, Archive(file) as archive:
        archive.tar(tar, lambda name: not name.startswith(left_out))
        if "dev/console" not in archive.folders:
            archive.device("dev/console", 5, 1)
    tar_file.unlink()
    part.rename(root)
    kept.write_text(wanted)
    return root


def make_overlay(file, hawser, contrib, settings):
    """Writes the archive with the command, its unit, the programs of the stages and their settings."""
    stripped = file.with_suffix(".hawser")
    run(["strip", "-o", str(stripped), str(hawser)])
    with file.open("wb") as out, Archive(out) as archive:
        archive.path("usr/bin/hawser", stripped, 0o755)
        for path in sorted(GUEST.iterdir()):
            archive.path(f"opt/wifi-vm/{path.name}", path, 0o755)
        archive.path("etc/systemd/system/wifi-vm.service", GUEST / "wifi-vm.service")
        archive.link("etc/systemd/system/default.target", "/etc/systemd/system/wifi-vm.target")
        archive.path("etc/systemd/system/wifi-vm.target", GUEST / "wifi-vm.target")
        archive.path("usr/lib/systemd/system/hawser-wifi@.service", contrib / "systemd/hawser-wifi@.service")
        archive.path("usr/share/polkit-1/rules.d/hawser-wifi.rules", contrib / "polkit/hawser-wifi.rules")
        text = "".join(f"{name}='{value}'\n" for name, value in settings.items())
        archive.bytes("opt/wifi-vm/settings", text.encode())
        # Nothing that a first start asks or waits for.
        archive.bytes("etc/machine-id", b"0123456789abcdef0123456789abcdef\n")
        archive.bytes("etc/hostname", b"wifi-vm\n")
        archive.link("etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf")
        for masked in ("systemd-timesyncd", "systemd-firstboot", "systemd-networkd-wait-online"):
            archive.link(f"etc/systemd/system/{masked}.service", "/dev/null")
    stripped.unlink()


def boot(folder, kernel, archives, seconds, log):
    """Boots the machine and yields the lines of its results, as they come. `log` gets what its console says."""
    initrd = folder / "initrd.cpio"
    with initrd.open("wb") as out:
        for archive in archives:
            out.write(archive.read_bytes())
            out.write(bytes(-out.tell() % 512))
    append = "console=ttyS0 quiet panic=-1 net.ifnames=0 rdinit=/sbin/init systemd.show_status=0 mitigations=off random.trust_cpu=on"
    # Time in the guest is what it computes, a nanosecond for each instruction: neither what else runs here nor the emulation's slowness is
    # in the figures, and time in which the guest waits passes at once.
    clock = ["-icount", "shift=0,sleep=off", "-rtc", "clock=vm"]
    command = ["qemu-system-x86_64", "-M", "pc,accel=tcg", "-cpu", "max", "-m", "2048", "-smp", "1", "-nodefaults", "-display", "none",
               *clock, "-no-reboot", "-kernel", str(kernel), "-initrd", str(initrd), "-append", append, "-serial", f"file:{log}",
               "-serial", "stdio"]
    machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
    timer = threading.Timer(seconds, machine.kill)
    timer.start()
    try:
        for line in machine.stdout:
            yield line.rstrip("\r\n")
    finally:
        timer.cancel()
        machine.kill()
        machine.wait()
        initrd.unlink(missing_ok=True)


def say(text):
    """Says what is done now."""
    print(f"wifi-vm: {text}", file=sys.stderr, flush=True)
