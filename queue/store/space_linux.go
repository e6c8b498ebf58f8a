package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// FreeBytes is how much this process may still write to the filesystem of a directory.
func FreeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// allocate gives a file real blocks: a sparse file would reserve nothing.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return writeZeroes(f, size)
	}
	return err
}

// Filesystem says why a filesystem may lose synced data; empty if nothing is known against it.
func Filesystem(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return ""
	}
	return risk(uint32(s.Type))
}

// risk is Filesystem for the magic number of one.
func risk(magic uint32) string {
	switch magic {
	case unix.NFS_SUPER_MAGIC:
		return "nfs: locks and syncs depend on the server"
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "a network share: locks and syncs depend on the server"
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC:
		return "fat: a power cut can lose the whole file"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay: the file may vanish with the container"
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return "in memory: a restart loses everything"
	}
	return ""
}
