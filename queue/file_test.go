package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

func TestAFirstStartThatWasInterruptedAnywhereIsRepeated(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	must(t, store.Create(whole, "", true, Contents, store.System))
	content, err := os.ReadFile(whole)
	must(t, err)
	for n := 0; n <= len(content); n += 2039 {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "queue.db.new-123"), content[:n], 0o600))
		q, err := Open(Options{Path: filepath.Join(dir, "queue.db"), Reserve: -1, NoSync: true})
		wantTrue(t, err == nil, n, err)
		must(t, q.Close())
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		wantTrue(t, len(left) == 1, n, left)
	}
}

func TestASecondProcessIsToldThatTheFileIsOpen(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) { // which makes the wait for the lock short
		wantErrText(t, Check(q.o.Path), inUse)
		started := time.Now()
		wantErrText(t, errOf(Open(q.o)), q.o.Path+": "+inUse)
		wantEqual(t, time.Since(started).Round(time.Second), 3*time.Second)
	})
}

func TestANewerFormatIsRefusedWithBothVersions(t *testing.T) {
	q := start(t)
	q.change(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucketMeta]).Put(keyFormat, seal([]byte("7")))
	})
	_, err := Open(q.o)
	wantErrText(t, err, "format 7")
	wantErrText(t, err, "up to 1")
	err = Check(q.o.Path)
	wantTrue(t, err != nil, "check is content")
}

func TestTheQueueAndItsDoubleKeepTheContractOfTheStore(t *testing.T) {
	for name, s := range map[string]kv.Store{"queue": start(t).KV("boards"), "double": queuetest.NewStore()} {
		t.Run(name, func(t *testing.T) { keepsContract(t, s) })
	}
}

func TestADamagedValueInAKVIsAnErrorUntilItIsPutAgain(t *testing.T) {
	var log queuetest.Log
	q := start(t, logTo(&log))
	s := q.KV("boards")
	for _, key := range []string{"a", "b", "c"} {
		q.must(s.Put(bg, key, []byte("value of "+key)))
	}
	q.edit(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucketKV]).Bucket([]byte("boards")).Put([]byte("b"), []byte("rubbish"))
	})
	s = q.KV("boards")
	_, _, err := s.Get("b")
	wantTrue(t, errors.Is(err, ErrDamaged), err)
	var keys string
	q.must(s.All(func(key string, _ []byte) bool { keys += key; return true }))
	wantTrue(t, keys == "ac" && strings.Contains(log.String(), "a stored value is damaged"), keys, &log)
	q.must(s.Put(bg, "b", nil))
	v, ok, err := s.Get("b")
	wantTrue(t, len(v) == 0 && ok && err == nil, v, ok, err)
	_, ok, err = q.KV("none").Get("x")
	wantTrue(t, !ok && err == nil, ok, err)
}

func TestTheMetricsAreWellFormedAndBalance(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	q := start(t, func(o *Options) { o.Registerer = reg })
	q.SetStations([]string{"bar", "grill", "\xffodd"}) // a name that a damaged file may have
	q.orders(4, "grill")
	q.print("grill")
	failed := q.take("grill")
	q.must(failed.Fail(bg, "no"))
	q.must(q.Cancel(bg, failed.Delivery().Job, "seen"))
	must(t, errOf(q.Move(bg, []uint64{3}, "bar")))
	problems, err := testutil.GatherAndLint(reg)
	wantTrue(t, err == nil && len(problems) == 0, problems, err)
	q.space.IsFull.Store(true)
	info, err := os.Stat(q.o.Path)
	q.must(err)
	want := map[string]float64{
		"jobs grill pending": 1, "jobs bar pending": 1, "storage_full": 1, "file_bytes": float64(info.Size()),
		"ended_total grill sent": 1, "ended_total grill failed": 1, "ended_total grill moved": 1, "unaccounted_jobs": 0,
	}
	for _, station := range []string{"?odd", "bar", "grill"} {
		for _, state := range ticket.States() {
			name := fmt.Sprint(map[bool]string{true: "jobs ", false: "ended_total "}[state.Open()], station, " ", state)
			want[name] += 0 // every combination is there from the start
		}
	}

	families, err := reg.Gather()
	q.must(err)
	got := map[string]float64{}
	for _, f := range families {
		h := f.Metric[0].Histogram // classic, and native
		wantTrue(t, h == nil || len(h.Bucket) > 0 && h.Schema != nil && h.GetSampleCount() > 0, f.GetName())
		for _, m := range f.Metric {
			name := strings.TrimPrefix(f.GetName(), "ticketrail_queue_")
			if labels := m.Label; len(labels) == 2 {
				name += " " + labels[1].GetValue() + " " + labels[0].GetValue()
			}
			if _, wanted := want[name]; wanted || len(m.Label) == 2 {
				got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	wantEqual(t, cmp.Diff(want, got), "")
}

func TestNothingIsAcceptedIntoAFileThatHasLostItsName(t *testing.T) {
	each(t, map[string]func(path string) error{
		"renamed": func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	}, func(t *testing.T, q *testQueue, lose func(path string) error) {
		q.accept(order("a", "grill"))
		must(t, lose(q.o.Path))
		q.wantRefused(order("b", "grill"), ErrStorageFailed)
		wantErrText(t, q.Ready(), "renamed or replaced")
		q.wantDuplicate(order("a", "grill"))
		q.printAll("grill", "a") // the kitchen goes on
		must(t, os.Rename(q.o.Path+".old", q.o.Path))
		wantErr(t, q.Ready(), nil)
		q.accept(order("b", "grill"))
		q.restart()
		q.printAll("grill", "b")
	})
}

const inUse = "another ticketrail process has it open"

// keepsContract fails t unless s, which is empty, keeps the contract of [kv.Store] while nothing fails.
func keepsContract(t *testing.T, s kv.Store) {
	want := func(key, value string, found bool) {
		t.Helper()
		got, ok, err := s.Get(key)
		wantTrue(t, string(got) == value && ok == found && err == nil, key, got, ok, err)
		clear(got) // the caller's
	}
	all := func(stop, want string) {
		t.Helper()
		var keys string
		must(t, s.All(func(key string, _ []byte) bool {
			keys += key
			must(t, s.Delete(bg, "x")) // f may write
			return key != stop
		}))
		wantEqual(t, keys, want, stop)
	}

	want("a", "", false)
	all("", "")
	must(t, s.Delete(bg, "missing"))
	value := []byte("one")
	must(t, s.Put(bg, "b", value))
	clear(value) // the caller's again
	want("b", "one", true)
	want("b", "one", true)
	must(t, s.Put(bg, "b", []byte("two")))
	want("b", "two", true)
	for _, key := range []string{"a", "c", "x"} {
		must(t, s.Put(bg, key, nil))
	}
	want("a", "", true)
	all("", "abc")
	all("b", "ab")
	must(t, s.Delete(bg, "b"))
	want("b", "", false)

	long := strings.Repeat("k", kv.MaxKey+1)
	for _, key := range []string{"", long} {
		wantTrue(t, s.Put(bg, key, nil) != nil && s.Delete(bg, key) != nil, len(key))
	}
	must(t, s.Put(bg, long[1:], make([]byte, kv.MaxValue)))
	wantTrue(t, s.Put(bg, "c", make([]byte, kv.MaxValue+1)) != nil, "a value of more than MaxValue bytes is allowed")
	want("c", "", true)
}
