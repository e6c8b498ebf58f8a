package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine describes what the absolute numbers depend on: processor, memory, disk, software.
func machine(dir string) string {
	var info unix.Sysinfo_t
	var u unix.Utsname
	_, _ = unix.Sysinfo(&info), unix.Uname(&u) // what they do not tell is 0 and empty
	disk, err := exec.Command("findmnt", "--noheadings", "--output", "FSTYPE,SOURCE", "--target", dir).Output()
	if err != nil {
		disk = []byte("an unknown disk")
	}
	kind := strings.Join(strings.Fields(string(disk)), " on ")
	return fmt.Sprintf("%d cores of %s, %d GB, %s, Linux %s, %s", runtime.NumCPU(), procField("/proc/cpuinfo", "model name"),
		uint64(info.Totalram)*uint64(info.Unit)/1e9, kind, unix.ByteSliceToString(u.Release[:]), runtime.Version())
}

// procField is the value of the first line "key : value" of a file in /proc.
func procField(path, key string) string {
	b, _ := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// samples are durations of the same thing.
type samples []time.Duration

func (s samples) p50() time.Duration { return quantile(s, 0.50) }
func (s samples) p99() time.Duration { return quantile(s, 0.99) }

// quantile returns the smallest of v that a share p of them does not exceed, 0 < p <= 1. It
// never makes up a value between two. Of nothing it is 0.
func quantile[T float64 | time.Duration](v []T, p float64) T {
	if len(v) == 0 {
		return 0
	}
	// The product is a little more than whole sometimes: 0.07 · 100.
	i := int(math.Ceil(p*float64(len(v))-1e-9)) - 1
	return slices.Sorted(slices.Values(v))[min(max(i, 0), len(v)-1)]
}

func median(v []float64) float64 { return quantile(v, 0.50) }

// ms writes a duration as milliseconds with three digits that count.
func ms(d time.Duration) string {
	v := 1000 * d.Seconds()
	return fmt.Sprintf("%.*f ms", max(0, 2-int(math.Log10(max(v, 1)))), v)
}
