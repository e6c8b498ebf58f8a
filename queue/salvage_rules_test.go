package queue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

func TestATicketThatCameOutDoesNotComeBackIfThePositionsCanBeRead(t *testing.T) {
	q := busy(t)
	q.change(func(tx *bolt.Tx) error { // so that the commit before has pages of its own with these states
		b, err := tx.Bucket(bucketNames[bucketState]), error(nil)
		for job := uint64(201); job <= 240; job++ {
			err = errors.Join(err, b.Put(key64(job), bytes.Clone(b.Get(key64(job)))))
		}
		return err
	})
	q.lose(bucketState, bucketFinished)
	r := q.salvageSelf()
	if r.Pending+r.Failed != 20 || r.Pending == 0 {
		t.Errorf("%+v", r)
	}
	if waiting := q.station("bar").Pending; waiting != 0 {
		t.Errorf("%d wait at the bar", waiting)
	}
	for _, j := range q.jobs(Filter{States: []ticket.State{ticket.Failed}}) {
		if !j.Doubt || j.Request == "" || !strings.Contains(j.Reason, "its stored state is damaged") {
			t.Errorf("failed is %+v", j)
		}
	}
}

func TestWithoutPositionsATicketIsOverIfItsStateOrTheFinishedJobsSaySo(t *testing.T) {
	for _, lost := range [][]int{{bucketWaiting}, {bucketWaiting, bucketState}} {
		synctest.Test(t, func(t *testing.T) {
			q := start(t)
			time.Sleep(time.Hour) // of running time
			for n := range 120 {
				q.accept(order(id(n), "grill", "bar"))
				if n < 100 {
					q.print("bar")
				}
			}
			q.stop()
			q.lose(lost...)
			r := q.salvageSelf()
			for _, j := range q.jobs(Filter{Station: "bar"}) {
				if j.ID <= 200 && j.State.Open() {
					t.Errorf("%v: job %d has come out and is %s", lost, j.ID, j.State)
				}
			}
			if len(lost) == 1 && r.Pending != 140 {
				t.Errorf("%+v", r)
			}
			q.stop()
		})
	}
}

// TestAJobOfAnOldPageIsOverIfItIsAmongTheFinishedOnesOrAnotherWasMadeOfIt: of these jobs only old pages are left.
func TestAJobOfAnOldPageIsOverIfItIsAmongTheFinishedOnesOrAnotherWasMadeOfIt(t *testing.T) {
	pending := func(from uint64) stateVersion {
		return stateVersion{jobState{Station: "grill", State: ticket.Pending, Pos: 7, MadeFrom: from}, false}
	}
	s := salvage{
		states:   map[uint64]stateVersion{1: pending(0), 2: pending(0), 3: pending(0), 4: pending(3)},
		finished: map[uint64]uint64{1: 1},
	}
	var left []uint64
	for _, j := range s.jobs() {
		left = append(left, j.id)
	}
	if !slices.Equal(left, []uint64{2, 4}) {
		t.Errorf("left are %d", left)
	}
}

func TestARequestWhoseKeyIsLostIsKnownByItsTicket(t *testing.T) {
	q := busy(t)
	q.lose(bucketDedup)
	if r := q.salvageSelf(); r.Keys < 120 || r.Pending != 20 {
		t.Errorf("%+v", r)
	}
	for n := range 120 {
		q.wantReceipt(order(id(n), "grill", "bar"), ticket.Receipt{Duplicate: true})
	}
	// A void that nobody may have read prints.
	if got := q.accept(cancelled(order(id(5), "grill"))); !got.Duplicate || got.Jobs == 0 {
		t.Errorf("a void: %+v", got)
	}
}

func TestALostTicketFailsWithTheBodyOfItsRequest(t *testing.T) {
	q := busy(t)
	q.lose(bucketJobs)
	r := q.salvageSelf()
	if r.Failed != 20 || r.Pending != 0 {
		t.Errorf("%+v", r)
	}
	for _, j := range q.jobs(Filter{States: []ticket.State{ticket.Failed}}) {
		if _, _, body, err := q.Job(bg, j.ID); err != nil || len(body) == 0 || j.Request == "" {
			t.Errorf("%+v: body %q, %v", j, body, err)
		}
	}
	q.checkBooks()
}

// TestAnOrderOfALostCommitComesBackOnceInDoubt: the newest meta page is damaged too, so the last commit is in no
// tree.
func TestAnOrderOfALostCommitComesBackOnceInDoubt(t *testing.T) {
	q := busy(t)
	q.open()
	q.accept(order("last", "grill"))
	content := q.content()
	q.stop()
	q.must(os.WriteFile(q.o.Path, content, 0o600))
	damageMeta(t, q.o.Path)
	q.lose(bucketFinished)
	q.salvageSelf()
	q.wantDuplicate(order("last", "grill"))
	found := q.jobs(Filter{Request: "last"})
	if len(found) != 1 || found[0].State != ticket.Pending || !found[0].Doubt {
		t.Errorf("%+v", found)
	}
}

// TestATicketWhoseEndWasTheLastCommitDoesNotComeBackFromTheOlderTree: the positions can only be read in the tree of
// the commit before.
func TestATicketWhoseEndWasTheLastCommitDoesNotComeBackFromTheOlderTree(t *testing.T) {
	q := busy(t)
	q.open()
	for n := range 100 { // or the positions are within the root, which has all
		q.accept(order(id(200+n), "bar"))
	}
	q.print("bar")
	content := q.content()
	q.stop()
	q.must(os.WriteFile(q.o.Path, content, 0o600)) // killed after that commit
	q.lose(bucketWaiting)
	if r := q.salvageSelf(); r.Pending+r.Failed != 119 {
		t.Errorf("%+v", r)
	}
	q.wantState(241, ticket.Sent)
}

func TestAMovedTicketComesBackOnlyWhereItIsNow(t *testing.T) {
	q := busy(t)
	q.open()
	moved, err := q.Move(bg, []uint64{201}, "cold")
	q.must(err)
	q.stop()
	q.lose(bucketState, bucketWaiting)
	q.salvageSelf()
	open := 0
	for _, j := range q.jobs(Filter{}) {
		if j.State.Open() && (j.ID == 201 || j.ID == moved[0]) {
			open++
		}
	}
	if open > 1 {
		t.Error("it is in both places")
	}
}

func TestWhatElseIsStoredIsSalvaged(t *testing.T) {
	q := busy(t)
	q.open()
	q.must(q.HoldStation(bg, "cold", "broken"))
	q.must(q.KV("boards").Put(bg, "x", []byte("y")))
	q.must(q.KV("large").Put(bg, "x", bytes.Repeat([]byte("z"), 3*pageBytes)))
	running := q.clock.running()
	q.stop()
	q.edit(func(tx *bolt.Tx) error {
		k, err := tx.Bucket(bucketNames[bucketKV]).CreateBucket([]byte(outcomesName))
		return errors.Join(err, k.SetSequence(77))
	})
	q.stop()
	q.edit(flip(bucketState, key64(239)))
	q.stop()
	q.lose(bucketFinished)
	q.salvageSelf()
	if h := q.Held("cold"); h == nil || h.Reason != "broken" {
		t.Errorf("held: %+v", h)
	}
	for name, n := range map[string]int{"boards": 1, "large": 3 * pageBytes} {
		if v, ok, err := q.KV(name).Get("x"); !ok || err != nil || len(v) != n {
			t.Errorf("%s: %d bytes, %v, %v", name, len(v), ok, err)
		}
	}
	q.must(q.view(func(tx *bolt.Tx) error {
		if n := tx.Bucket(bucketNames[bucketKV]).Bucket([]byte(outcomesName)).Sequence(); n != 77 {
			t.Errorf("the last outcome has number %d", n)
		}
		return nil
	}))
	if now := q.clock.running(); now < running {
		t.Errorf("running time goes back from %s to %s", running, now)
	}
	q.wantCount(bucketQuarantine, 1)
	q.accept(order("new", "grill"))
	if j := q.jobs(Filter{Request: "new"}); len(j) != 1 || j[0].ID != 241 {
		t.Errorf("the next job is %+v", j)
	}
	q.checkBooks()
}

func TestTheTreeOfTheCommitBeforeSaysWhatTheNewestHasLost(t *testing.T) {
	q := busy(t)
	q.open()
	q.must(q.HoldStation(bg, "cold", "broken"))
	q.stop()
	content := q.content()
	root := binary.NativeEndian.Uint64(content[newest(t, q.o.Path).at+pageHeader+offRoot:])
	clear(content[root*uint64(pageBytes):][:pageBytes])
	q.must(os.WriteFile(q.o.Path, content, 0o600))
	if r := q.salvageSelf(); r.Pending != 20 || r.Ended != 220 || q.Held("cold") == nil {
		t.Errorf("%+v, held: %+v", r, q.Held("cold"))
	}
}

func TestAJobNumberIsNotUsedAgainIfItIsNotKnownWhichWereGivenOut(t *testing.T) {
	q := busy(t)
	q.must(os.WriteFile(q.o.Path, noRoot(nil, q.content()), 0o600))
	q.salvageSelf()
	q.accept(order("new", "grill"))
	if j := q.jobs(Filter{Request: "new"}); len(j) != 1 || j[0].ID <= 240+skippedNumbers/2 {
		t.Errorf("the next job is %+v", j)
	}
}

func TestAFileOfANewerFormatIsNotSalvaged(t *testing.T) {
	q := busy(t)
	q.change(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucketMeta]).Put(keyFormat, seal([]byte("2")))
	})
	_, err := Salvage(q.o.Path, q.o.Path+".saved")
	wantErrText(t, err, "install the newer")
}

// leavesOf are the pages of the leaves of a bucket, and of those within it.
func leavesOf(t *testing.T, path string, bucket int) map[int64]bool {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	s, err := readSalvage(f)
	must(t, err)
	found := map[int64]bool{}
	w := treeWalk{
		pages: &s.pages, seen: make([]bool, s.count), lost: keyRanges{},
		entry: func(path string, e element) bool {
			if strings.HasPrefix(path, contents(bucket)) {
				found[e.value.at/s.size] = true
			}
			return true
		},
		tree: func(string, []byte, uint64) bool { return true },
	}
	m, _ := newestMeta(f)
	w.bucket("", binary.NativeEndian.Uint64(readAt(f, m.at+pageHeader+offRoot, 8)))
	delete(found, 0)
	return found
}

// busy is a stopped queue with so many orders that each of its buckets has pages of its own: of 120 orders at the
// grill and at the bar all have come out at the bar, and the last 20 wait at the grill.
func busy(t *testing.T) *testQueue {
	t.Helper()
	busyOnce.Do(func() {
		q := start(t)
		for n := range 120 {
			q.accept(order(id(n), "grill", "bar"))
			q.print("bar")
			if n < 100 {
				q.print("grill")
			}
		}
		q.stop()
		_, _, err := Compact(q.o.Path) // so that no freed page has what the page after it had
		q.must(err)
		busyContent = q.content()
	})
	q := start(t)
	q.stop()
	q.must(os.WriteFile(q.o.Path, busyContent, 0o600))
	return q
}

// busyContent is the file of busy, which takes half a second to make.
var (
	busyOnce    sync.Once
	busyContent []byte
)
