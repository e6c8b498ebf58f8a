package main

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// A yardstick is a bbolt file of its own in which a commit can be timed: one Update that puts
// what accepting one order puts. Nothing else is done, so it is the least that a durable answer
// can cost on this disk.
type yardstick struct {
	db *bolt.DB
	n  uint64
}

// records are what an accepted order leaves, by bucket: sizes in bytes, as the queue leaves
// them of the order that this program posts. A test compares the sum.
var records = []struct {
	bucket     string
	key, value int
	each       bool // once for each ticket, and not for the order
}{
	{"dedup", 16, 22, false},
	{"requests", 8, 2920, false},
	{"jobs", 8, 600, true},
	{"reqjobs", 16, 0, true},
	{"state", 8, 90, true},
	{"waiting", 8, 15, true},
	{"books", 8, 78, true},
}

func newYardstick(path string) (*yardstick, error) {
	// The options of the queue's file.
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, NoFreelistSync: true, InitialMmapSize: 1 << 30})
	if err != nil {
		return nil, err
	}
	db.AllocSize = 4 << 20
	return &yardstick{db: db}, nil
}

// commit puts the records of one more order and returns how long that took.
func (y *yardstick) commit(tickets int) (time.Duration, error) {
	began := time.Now()
	err := y.db.Update(func(tx *bolt.Tx) error {
		for i := range tickets {
			y.n++
			for _, r := range records {
				if !r.each && i > 0 {
					continue
				}
				k, err := tx.CreateBucketIfNotExists([]byte(r.bucket))
				if err != nil {
					return err
				}
				k.FillPercent = 0.9
				key := make([]byte, r.key)
				switch r.bucket {
				case "dedup":
					rand.Read(key)
				case "books":
					key[0] = byte(i)
				default:
					binary.BigEndian.PutUint64(key, y.n)
				}
				if err := k.Put(key, make([]byte, r.value)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return time.Since(began), err
}

// paced times n commits at fixed moments, rate a second. In the pauses the processor and the
// disk go to sleep as they do between orders, so each takes longer than one of many in a row;
// how long is counted from its moment, as it is for orders.
func (y *yardstick) paced(tickets, n, rate int) (s samples, err error) {
	p := paced{began: time.Now(), rate: rate}
	for i := range n {
		sleepUntil(p.due(i))
		if _, err := y.commit(tickets); err != nil {
			return nil, err
		}
		s = append(s, time.Since(p.due(i)))
	}
	return s, nil
}

// timed calls f once for nothing and then n times.
func timed(n int, f func() error) (s samples, err error) {
	for range n + 1 {
		began := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		s = append(s, time.Since(began))
	}
	return s[1:], nil
}

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
