package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// A machine is what the absolute numbers depend on.
type machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Memory     string `json:"memory"`
	Filesystem string `json:"filesystem"`
	Device     string `json:"device"`
	Warning    string `json:"warning,omitempty"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
}

func inspect(dir string) machine {
	m := machine{
		CPU: firstOf("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), Memory: firstOf("/proc/meminfo", "MemTotal"),
		Kernel: kernel(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	m.Filesystem, m.Device = filesystem(dir)
	if inMemory(m.Filesystem) {
		m.Warning = " (in memory: a commit there is no commit; give --dir on a disk)"
	}
	return m
}

// firstOf is the value of the first line "key : value" of a file in /proc.
func firstOf(path, key string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown kernel"
	}
	text := func(b []byte) string { return string(b[:max(bytes.IndexByte(b, 0), 0)]) }
	return fmt.Sprintf("%s %s", text(u.Sysname[:]), text(u.Release[:]))
}

// filesystem finds the mount that a folder is on.
func filesystem(dir string) (kind, device string) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	real, err2 := filepath.EvalSymlinks(dir)
	if err != nil || err2 != nil {
		return "unknown", "unknown"
	}
	longest := -1
	for line := range strings.Lines(string(b)) {
		mount, rest, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(mount), strings.Fields(rest)
		if !ok || len(left) < 5 || len(right) < 2 {
			continue
		}
		at := left[4]
		if within(real, at) && len(at) >= longest { // of two at one place the later hides the earlier
			longest, kind, device = len(at), right[0], right[1]
		}
	}
	if longest < 0 {
		return "unknown", "unknown"
	}
	return kind, device
}

func within(path, mount string) bool {
	return mount == "/" || path == mount || strings.HasPrefix(path, mount+"/")
}

func inMemory(filesystem string) bool { return filesystem == "tmpfs" || filesystem == "ramfs" }

// onDisk returns the first folder that is not in memory, or the first.
func onDisk(folders ...string) string {
	for _, f := range folders {
		if kind, _ := filesystem(f); kind != "unknown" && !inMemory(kind) {
			return f
		}
	}
	return folders[0]
}
