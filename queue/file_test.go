package queue

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/kv/kvtest"
	"ticketrail/queue/ticket"
)

func TestAFirstStartTornAnywhereIsForgotten(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	must(t, fill(whole, Options{}))
	content, err := os.ReadFile(whole)
	must(t, err)
	for n := 0; n <= len(content); n += 2039 {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "queue.db.new-123"), content[:n], 0o600))
		q, err := Open(Options{Path: filepath.Join(dir, "queue.db"), Reserve: -1, NoSync: true})
		if err != nil {
			t.Fatalf("torn at %d: %v", n, err)
		}
		must(t, q.Close())
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Fatalf("torn at %d: %v is left", n, left)
		}
	}
}

func TestAShortFileIsRefusedNotFatal(t *testing.T) {
	k := start(t)
	k.orders(50, "grill")
	k.stop()
	content, err := os.ReadFile(k.o.Path)
	must(t, err)
	need := newest(t, k.o.Path).need
	path := filepath.Join(t.TempDir(), "short.db")
	for n := 0; n < int(need); n += int(need)/40 + 1 {
		must(t, os.WriteFile(path, content[:n], 0o600))
		wantErr(t, errOf(Open(Options{Path: path, Reserve: -1})), ErrDamaged)
		wantErr(t, Check(path), ErrDamaged)
	}
}

func TestASecondDaemonIsToldWhoHoldsTheFile(t *testing.T) {
	k := start(t)
	_, err := Open(k.o)
	if err == nil || !strings.Contains(err.Error(), "another ticketrail holds "+k.o.Path) {
		t.Errorf("err %v", err)
	}
}

// edit changes the file behind the queue's back, and opens it again.
func (k *kitchen) edit(f func(tx *bolt.Tx) error) {
	k.t.Helper()
	k.change(f)
	k.open()
}

// change closes the queue and changes its file.
func (k *kitchen) change(f func(tx *bolt.Tx) error) {
	k.t.Helper()
	k.stop()
	db, err := bolt.Open(k.o.Path, 0o600, boltOptions(true))
	k.must(err)
	k.must(db.Update(f))
	k.must(db.Close())
}

func TestANewerFormatIsRefusedWithBothVersions(t *testing.T) {
	k := start(t)
	k.change(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucketMeta]).Put(keyFormat, seal([]byte("7")))
	})
	_, err := Open(k.o)
	if err == nil || !strings.Contains(err.Error(), "format 7") || !strings.Contains(err.Error(), "up to 1") {
		t.Errorf("err %v", err)
	}
	if err := Check(k.o.Path); err == nil {
		t.Error("check is content")
	}
}

func TestSomebodyElsesFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	_ = db.Close()
	wantErr(t, errOf(Open(Options{Path: path})), ErrDamaged)
}

// flip damages one record.
func flip(bucket int, key []byte) func(tx *bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketNames[bucket])
		v := bytes.Clone(b.Get(key))
		v[len(v)/2] ^= 0x10
		return b.Put(key, v)
	}
}

func TestADamagedRecordIsSetAsideAndTheRestGoesOn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bucket int
		key    []byte
		buried bool
	}{
		{"state", bucketState, key64(1), true},
		{"ticket", bucketJobs, key64(1), true},
		{"place", bucketWaiting, key64(firstPos + 1), false},
		{"books", bucketStations, []byte("grill"), false},
		{"clock", bucketMeta, keyClock, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var logged bytes.Buffer
			k := start(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
			k.orders(3, "grill")
			k.edit(flip(tt.bucket, tt.key))
			from := 0
			if tt.buried {
				from = 1
			}
			for n := from; n < 3; n++ {
				k.prints("grill", id(n))
			}
			k.nothing("grill")
			k.balanced()
			if n := k.Damaged(); n != 1 {
				t.Errorf("%d damaged records", n)
			}
			if n := k.count(bucketAside); n != 1 {
				t.Errorf("%d records aside", n)
			}
			if n := strings.Count(logged.String(), "level=ERROR"); n != 1 {
				t.Errorf("%d errors are logged:\n%s", n, &logged)
			}
			if buried := k.jobs(Filter{States: []ticket.State{ticket.Buried}}); (len(buried) == 1) != tt.buried {
				t.Errorf("buried %+v", buried)
			} else if tt.buried {
				if j, _, body, err := k.Job(bg, 1); err != nil || j.Request != id(0) || len(body) == 0 || !strings.Contains(j.Reason, "damaged") {
					t.Errorf("job %+v, body %q, %v", j, body, err)
				}
			}
			k.again()
			if n := k.Damaged(); n != 0 {
				t.Errorf("after a restart %d damaged records", n)
			}
		})
	}
}

func TestADamagedKeyCountsAsKnown(t *testing.T) {
	k := start(t)
	r := order("a", "grill")
	k.accept(r)
	key := keyOf(r.Venue, r.ID)
	k.edit(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketNames[bucketDedup]).Bucket(key64(generationOf(0)))
		v := bytes.Clone(b.Get(key[:]))
		v[9] ^= 1
		return b.Put(key[:], v)
	})
	for range 2 {
		if got := k.accept(r); got != (ticket.Receipt{Duplicate: true}) {
			t.Errorf("receipt %+v", got)
		}
	}
	if n := k.Damaged(); n != 1 {
		t.Errorf("%d damaged records", n)
	}
	k.print("grill")
	k.nothing("grill")
}

func TestTheQueueKeepsTheContractOfTheStore(t *testing.T) {
	kvtest.Contract(t, start(t).KV("boards"))
}

func TestADamagedValueInAKVIsAnErrorUntilItIsPutAgain(t *testing.T) {
	k := start(t)
	s := k.KV("boards")
	for _, key := range []string{"a", "b", "c"} {
		k.must(s.Put(bg, key, []byte("value of "+key)))
	}
	k.edit(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucketKV]).Bucket([]byte("boards")).Put([]byte("b"), []byte("rubbish"))
	})
	s = k.KV("boards")
	if _, _, err := s.Get("b"); !errors.Is(err, ErrDamaged) {
		t.Errorf("get: %v", err)
	}
	var keys string
	k.must(s.All(func(key string, _ []byte) bool { keys += key; return true }))
	if keys != "ac" {
		t.Errorf("all: %s", keys)
	}
	k.must(s.Put(bg, "b", nil))
	if v, ok, err := s.Get("b"); len(v) != 0 || !ok || err != nil {
		t.Errorf("got %q, %v, %v", v, ok, err)
	}
	if _, ok, err := k.KV("none").Get("x"); ok || err != nil {
		t.Errorf("an empty KV: %v, %v", ok, err)
	}
}

func TestTheMetricsAreWellFormedAndBalance(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	k := start(t, func(o *Options) { o.Registerer = reg })
	k.SetStations([]string{"bar", "grill", "\xffodd"}) // a damaged file may hold such a name too
	k.orders(4, "grill")
	k.print("grill")
	buried := k.take("grill")
	k.must(buried.Bury(bg, "no"))
	k.must(k.Cancel(bg, buried.Delivery().Job, "seen"))
	must(t, errOf(k.Move(bg, []uint64{3}, "bar")))
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	want := `
# HELP ticketrail_queue_unaccounted_jobs Jobs by which the books do not balance. Anything but 0 is a bug or a damaged file.
# TYPE ticketrail_queue_unaccounted_jobs gauge
ticketrail_queue_unaccounted_jobs 0
# HELP ticketrail_queue_jobs Jobs in a station's queue now.
# TYPE ticketrail_queue_jobs gauge
# HELP ticketrail_queue_ended_total Jobs of a station that ended in a state, since its database began. One that was buried and then cancelled counts in both.
# TYPE ticketrail_queue_ended_total counter
`
	values := map[string]int{
		"jobs grill pending": 1, "jobs bar pending": 1,
		"ended_total grill sent": 1, "ended_total grill buried": 1, "ended_total grill cancelled": 1, "ended_total grill moved": 1,
	}
	for _, station := range []string{"?odd", "bar", "grill"} {
		for _, state := range ticket.States() {
			name := "ended_total"
			if state.Open() {
				name = "jobs"
			}
			want += fmt.Sprintf("ticketrail_queue_%s{state=%q,station=%q} %d\n", name, state, station, values[fmt.Sprint(name, " ", station, " ", state)])
		}
	}
	err = testutil.GatherAndCompare(reg, strings.NewReader(want),
		"ticketrail_queue_unaccounted_jobs", "ticketrail_queue_jobs", "ticketrail_queue_ended_total")
	if err != nil {
		t.Error(err)
	}
	families, err := reg.Gather()
	k.must(err)
	for _, f := range families {
		if f.GetType().String() == "HISTOGRAM" {
			h := f.Metric[0].Histogram
			if len(h.Bucket) == 0 || h.Schema == nil {
				t.Errorf("%s is not both a classic and a native histogram", f.GetName())
			}
		}
	}
}

func TestAViewDoesNotWaitForAHungDisk(t *testing.T) {
	k := start(t)
	hang, hung := make(chan struct{}), make(chan struct{})
	k.seams.commit = func(tx *bolt.Tx) error { close(hung); <-hang; return tx.Commit() }
	done := make(chan error)
	go func() { _, err := k.Accept(bg, order("a", "grill")); done <- err }()
	<-hung
	if n := len(k.jobs(Filter{})); n != 0 {
		t.Errorf("%d jobs are seen before their commit", n)
	}
	for k.Waiting() < time.Millisecond {
	}
	k.seams.commit = k.disk.commit
	close(hang)
	k.must(<-done)
}
