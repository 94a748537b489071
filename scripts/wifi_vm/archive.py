"""Archives of the kind that a Linux kernel unpacks as its first root (`newc`, initramfs-format of the kernel's documentation)."""

import stat
import tarfile

# What a file of each type of a tar archive is.
KINDS = {
    tarfile.DIRTYPE: stat.S_IFDIR,
    tarfile.REGTYPE: stat.S_IFREG,
    tarfile.AREGTYPE: stat.S_IFREG,
    tarfile.SYMTYPE: stat.S_IFLNK,
    tarfile.CHRTYPE: stat.S_IFCHR,
    tarfile.BLKTYPE: stat.S_IFBLK,
    tarfile.FIFOTYPE: stat.S_IFIFO,
}
PIECE = 1 << 20


class Archive:
    """Writes an archive. Several, one after the other in a file, are unpacked one over the other."""

    def __init__(self, file):
        self.file, self.number, self.folders = file, 0, set()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._entry("TRAILER!!!", 0, 0, b"")

    def folder(self, name):
        """Adds a folder and those above it."""
        parts = name.strip("/").split("/")
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            if path and path not in self.folders:
                self.folders.add(path)
                self._entry(path, stat.S_IFDIR | 0o755, 0, b"")

    def bytes(self, name, content, mode=0o644):
        """Adds a file with this content."""
        self.folder(name.rpartition("/")[0])
        self._entry(name, stat.S_IFREG | mode, len(content), content)

    def path(self, name, path, mode=0o644):
        """Adds a file with the content of another one."""
        self.bytes(name, path.read_bytes(), mode)

    def link(self, name, target):
        """Adds a symbolic link."""
        self.folder(name.rpartition("/")[0])
        target = target.encode()
        self._entry(name, stat.S_IFLNK | 0o777, len(target), target)

    def device(self, name, major, minor):
        """Adds a character device."""
        self.folder(name.rpartition("/")[0])
        self._entry(name, stat.S_IFCHR | 0o600, 0, b"", device=(major, minor))

    def tar(self, tar, wanted=lambda name: True):
        """Adds what a tar archive has and is wanted, with owners and modes. Hard links become files of their own."""
        for member in tar:
            name = member.name.removeprefix("./").strip("/")
            if not name or name == "." or not wanted(name):
                continue
            content = b""
            if member.issym():
                content = member.linkname.encode()
            elif member.isreg() or member.islnk():
                content = tar.extractfile(member).read()
            kind = stat.S_IFREG if member.islnk() else KINDS[member.type]
            if kind == stat.S_IFDIR:
                self.folders.add(name)
            owner = (member.uid, member.gid)
            self._entry(name, kind | member.mode, len(content), content, owner, (member.devmajor, member.devminor))

    def _entry(self, name, mode, size, content, owner=(0, 0), device=(0, 0)):
        self.number += 1
        name = name.encode() + b"\0"
        fields = [self.number, mode, *owner, 1, 0, size, 0, 0, *device, len(name), 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name
        self.file.write(head + bytes(-len(head) % 4))
        for start in range(0, size, PIECE):
            self.file.write(content[start : start + PIECE])
        self.file.write(bytes(-size % 4))
