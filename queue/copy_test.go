package queue

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/slow"
	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

// TestWhateverHappensToTheFileNothingIsLostAndNothingPrintsTwiceUnmarked damages the file of a stopped queue in about
// forty ways that a disk and a person have, and starts it.
func TestWhateverHappensToTheFileNothingIsLostAndNothingPrintsTwiceUnmarked(t *testing.T) {
	newEvening(t).judgeSome(t, 40)
}

func TestFiveHundredWaysToDamageTheFileAreSurvived(t *testing.T) {
	slow.Test(t)
	newEvening(t).judgeSome(t, 500)
}

func TestWithoutACopyAnEmptyFileBeginsAndEachStationIsTold(t *testing.T) {
	q := start(t, withCopies)
	q.accept(order("a", "grill"))
	q.stop()
	must(t, os.RemoveAll(q.o.Copy))
	must(t, os.WriteFile(q.o.Path, []byte("damaged"), 0o600))
	r := q.replace()
	wantTrue(t, r.Base+r.String() != "" && r.Kept != "" && !r.From.IsZero(), r)
	q.open()
	want := "Orders before " + ticket.Clock(r.From, "Europe/Rome") + " may be missing: check the till"
	for range 2 { // once
		must(t, q.TellStations(bg, []string{"grill", "bar"}, "Europe/Rome"))
	}
	for _, station := range []string{"grill", "bar"} {
		d := q.print(station)
		wantTrue(t, slices.Equal(d.Ticket.Notes, []string{want}), station, d.Ticket, want)
		q.wantNothing(station)
	}
	q.wantNew(order("a", "grill"))
}

// TestWithoutASoundBaseCopyTheLogIsPlayedIntoAnEmptyFile: the log goes back to the base copy before the last one.
func TestWithoutASoundBaseCopyTheLogIsPlayedIntoAnEmptyFile(t *testing.T) {
	q := withHistory(t)
	for _, name := range matches(q.o.Copy + "/*.db") {
		must(t, os.WriteFile(name, []byte("damaged"), 0o600))
	}
	q.recover()
	q.wantHistory(true)
}

// TestACopyIsMadeEachHourAndTwoAreKept, and the log since the older one.
func TestACopyIsMadeEachHourAndTwoAreKept(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for hour := range 4 {
			q.accept(order(id(hour), "grill"))
			time.Sleep(copyEvery)
		}
		synctest.Wait()
		files := q.copies()
		wantTrue(t, slices.Equal(files.Bases, []uint64{4, 5}) && slices.Equal(files.Logs, []uint64{4, 5}), files)
		must(t, q.CopyProblem())
	}, withCopies)
}

// TestACopyDiskThatFailsRefusesNoOrder: it is absent, full, or does not answer. When it works again, a base copy has
// the part that the log misses.
func TestACopyDiskThatFailsRefusesNoOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		must(t, os.WriteFile(q.o.Path+".blocked", nil, 0o600))
		q.stop()
		q.o.Copy = q.o.Path + ".blocked/copy" // under a file there is no folder
		q.open()
		q.orders(3, "grill")
		synctest.Wait()
		wantTrue(t, q.Ready() == nil && q.CopyProblem() != nil, q.Ready(), q.CopyProblem())
		must(t, os.Remove(q.o.Path+".blocked"))
		time.Sleep(2 * copyAgain)
		synctest.Wait()
		files := q.copies()
		wantTrue(t, q.CopyProblem() == nil && len(files.Bases) == 1, q.CopyProblem(), files)
	})
}

// TestABaseCopyThatFailsAtAnyStepLosesNothing: failed, and failed but persisted.
func TestABaseCopyThatFailsAtAnyStepLosesNothing(t *testing.T) {
	const steps = 7 // of one base copy; with the last one it works
	for step := 1; step <= steps; step++ {
		for _, persist := range []bool{false, true} {
			t.Run(fmt.Sprintf("step %d, persists %v", step, persist), func(t *testing.T) {
				q := withHistory(t)
				synctest.Test(t, func(t *testing.T) {
					s := &stepper{persist: persist, end: func() error { return syscall.EIO }}
					hooks := s.hooks()
					hooks.Commit = q.disk.commit
					opened, err := open(q.o, hooks)
					must(t, err)
					s.failIn(step)
					time.Sleep(copyEvery)
					synctest.Wait()
					wantEqual(t, opened.CopyProblem() != nil, step < steps)
					must(t, opened.Close())
				})

				q.recover()
				q.wantHistory(true)
			})
		}
	}
}

// TestAFileOfAnotherDatabaseTakesWhatTheLogHas: somebody has put it there. Its tickets are as old as they were when
// they came: the log and the file have different running times.
func TestAFileOfAnotherDatabaseTakesWhatTheLogHas(t *testing.T) {
	q := withHistory(t)
	inBubble(t, func(_ *testing.T, other *testQueue) {
		time.Sleep(100 * time.Hour)
		other.accept(order("x", "grill"))
		other.stop()
		must(t, os.Rename(other.o.Path, q.o.Path))
		other.o = q.o
		other.open()
		for _, name := range []string{"x", "d", "e"} {
			other.wantDuplicate(order(name, "grill"))
		}
		other.wantExpired("grill", 4*time.Hour, 0)
		other.printAll("grill", "x", "e in doubt")
	}, withCopies)
}

func TestADatabaseWithoutCopiesBeginsThem(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.stop()
	withCopies(&q.o)
	q.inBubble(synctest.Wait)
	q.recover()
	q.open()
	q.printAll("grill", "a in doubt")
}

// TestALineSaysWhatWasStored, whatever a body is.
func TestALineSaysWhatWasStored(t *testing.T) {
	for _, body := range []string{
		`{"records":[{"id":"a"}]}`, `{"records": [ ] }`, "", "not JSON", "\xff\x00", `"text"`, "null",
		"{\"a\":\"<&\u2028\"}", "{\"a\":\"\xff\"}",
	} {
		r := order("a", "grill", "bar")
		r.Body, r.Age, r.Content = []byte(body), 3*time.Second, ticket.Digest{1, 2}
		a, err := newAcceptOp(&r)
		must(t, err)
		a.jobs = []newJob{{1, "grill"}, {2, "bar"}}
		var line bytes.Buffer
		must(t, (&copyLine{accepted: a}).appendTo(&line))
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "00000001.log"), line.Bytes(), 0o600))
		files, err := store.ReadCopies(dir)
		must(t, err)
		var object []byte
		damaged, err := files.Read(1, func(line []byte) error { object = bytes.Clone(line); return nil })
		must(t, err)
		wantEqual(t, damaged, 0, line.String())
		var l logLine
		must(t, json.Unmarshal(object, &l))
		got, err := l.request()
		must(t, err)
		wantEqual(t, string(got.Body), body, string(object))
		wantTrue(t, got.ID == "a" && len(got.Drafts) == 2 && l.Request.AgeMS == 3000 && got.Content == r.Content, got)
	}
}

func TestARecordThatCannotBeReadEndsTheQueueAndTheNextStartTakesTheCopy(t *testing.T) {
	q := withHistory(t)
	q.open()
	q.overwrite(bucketState, key64(5), "rubbish")
	wantErr(t, q.Cancel(bg, 5, ""), ErrDamaged)
	select {
	case <-q.Broken():
	default:
		t.Error("it does not say that it is broken")
	}
	q.wantRefused(order("new", "grill"), ErrStorageFailed)
	wantErr(t, q.Ready(), ErrDamaged)
	must(t, q.Close())
	q.Queue = nil
	wantErr(t, store.Suspected(q.o.Path), ErrDamaged)
	q.replace()
	must(t, store.Suspected(q.o.Path))
	q.wantHistory(true)
}

func TestTheLongestLineOfTheLogIsReadAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		r := order("a", "grill", "bar")
		r.Body = bytes.Repeat([]byte{1}, 8<<20) // six bytes each in JSON
		for i := range r.Drafts {
			r.Drafts[i].Ticket.Lines[0].Name = strings.Repeat("x", 11<<20)
		}
		q.accept(r)
		time.Sleep(2 * copyAgain)
		q.stop()
		q.recover()
		q.open()
		wantEqual(t, len(q.jobs(Filter{})), 2, q.Notices())
	}, withCopies)
}

func TestWhatPrintedOrReplacedAJobIsKnownAfterARestore(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill", "bar"))
		time.Sleep(copyEvery) // a base copy
		synctest.Wait()
		q.must(q.begin("bar").Ack(bg, ticket.Sent, "pass"))
		q.must(q.take("grill").Hold(bg, "look"))
		q.must(errOf(q.Reprint(bg, 1, ReprintOptions{})))
		q.print("grill")
		q.stop()
		q.recover()
		q.open()
		wantErr(t, errOf(q.Reprint(bg, 1, ReprintOptions{})), ErrConflict)
		q.wantSiblings("3 grill sent, 2 bar at pass sent", 2)
	}, withCopies)
}

// TestACopyIsRestoredByHandFromAnotherFolderOrOneFile: a new box with the old stick, or a backup.
func TestACopyIsRestoredByHandFromAnotherFolderOrOneFile(t *testing.T) {
	for _, from := range []string{"folder", "file"} {
		t.Run(from, func(t *testing.T) {
			old := withHistory(t)
			q := newQueue(t, withCopies)
			q.inBubble(func() {
				q.accept(order("x", "grill"))
				synctest.Wait()
			})
			source := old.o.Copy
			if from == "file" {
				source = old.o.Path // of a stopped daemon, with all that it had
			}
			r, err := store.Restore(q.o.Path, q.o.Copy, source, Check, Contents)
			must(t, err)
			kept := matches(q.o.Copy + ".before-restore-*")
			wantTrue(t, len(kept) == 1 && r.Kept != "", kept, r.Kept)
			q.wantHistory(true)
		})
	}
}

func TestWhatRootRestoresBelongsToTheUserOfTheDaemon(t *testing.T) {
	slow.Test(t, "root")
	const user = 12345
	old, path := withHistory(t), filepath.Join(t.TempDir(), "queue.db")
	must(t, os.Chown(filepath.Dir(path), user, user))
	must(t, errOf(store.Restore(path, path+".copy", old.o.Copy, Check, Contents)))
	for _, name := range append(matches(path+".copy/*"), path, path+".copy") {
		info, err := os.Stat(name)
		must(t, err)
		wantTrue(t, info.Sys().(*syscall.Stat_t).Uid == user, name, info.Sys().(*syscall.Stat_t).Uid)
	}
}

// An evening is a stopped queue with copies, as files, and the papers of its kitchen.
type evening struct {
	dir     string
	content []byte
	old     []byte // the file of some time ago
	printed map[string]int
	all     []string // requests
}

// newEvening makes base copies, prints, leaves tickets waiting, held, failed and in doubt, moves and reprints some.
func newEvening(t *testing.T) *evening {
	t.Helper()
	e := &evening{printed: map[string]int{}}
	q := newQueue(t, withCopies)
	e.dir = filepath.Dir(q.o.Path)
	request := func(stations ...string) string {
		name := id(len(e.all))
		r := order(name, stations...)
		r.Body = bytes.Repeat([]byte(name), 40)
		q.accept(r)
		e.all = append(e.all, name)
		return name
	}
	print := func(station string) { e.printed[q.print(station).Ticket.Request]++ }
	some := func(n int) {
		for i := range n {
			request("grill")
			if i%3 > 0 {
				print("grill")
			}
		}
		request("bar")
		print("bar")
		request("cold")
		q.must(q.take("cold").Hold(bg, "look"))
		request("cold")
		q.must(q.take("cold").Fail(bg, "no"))
		request("cold")
		e.printed[q.begin("cold").Delivery().Ticket.Request]++ // the process ends in the middle
	}
	q.inBubble(func() {
		some(30)
		q.anHourLater()
		e.old = q.content()
		q.restart()
		some(20)
		moved, err := q.MoveAll(bg, "cold", "bar")
		q.must(err)
		wantTrue(t, len(moved) != 0, "nothing was moved")
		print("bar")
		q.must(errOf(q.Reprint(bg, 1, ReprintOptions{})))
		q.anHourLater()
		q.restart()
		some(10)
	})
	e.content = q.content()
	return e
}

type damage struct {
	name   string
	always bool
	change func(t *testing.T, path string)
}

// damages are the ways to damage the file.
func (e *evening) damages() (all []damage) {
	page := os.Getpagesize()
	pages := len(e.content) / page
	host := binary.NativeEndian
	const pageHeader, metaSize, offTxid = 16, 64, 48
	write := func(name string, always bool, change func(b []byte) []byte) {
		all = append(all, damage{name, always, func(t *testing.T, path string) {
			must(t, os.WriteFile(path, change(bytes.Clone(e.content)), 0o600))
		}})
	}
	write("nothing", true, func(b []byte) []byte { return b })
	all = append(all, damage{"the file is deleted", true, func(*testing.T, string) {}})
	write("an old file is put back", true, func([]byte) []byte { return e.old })
	write("both meta pages", true, func(b []byte) []byte { clear(b[:2*page]); return b })
	newest := host.Uint64(e.content[pageHeader+offTxid:]) < host.Uint64(e.content[page+pageHeader+offTxid:])
	for n := range 2 {
		for at := pageHeader; at < pageHeader+metaSize; at += 8 {
			write(fmt.Sprintf("meta page %d, the newest %v, byte %d", n, newest == (n == 1), at), at == pageHeader,
				func(b []byte) []byte { b[n*page+at] ^= 4; return b })
		}
	}
	for n := range pages {
		write(fmt.Sprintf("page %d is zero", n), false, func(b []byte) []byte { clear(b[n*page:][:page]); return b })
		write(fmt.Sprintf("cut off at page %d", n), false, func(b []byte) []byte { return b[:n*page] })
		if n > 2 {
			write(fmt.Sprintf("pages %d and %d are swapped", n-1, n), false, func(b []byte) []byte {
				x, y := b[(n-1)*page:][:page], b[n*page:][:page]
				was := bytes.Clone(x)
				copy(x, y)
				copy(y, was)
				return b
			})
		}
		head := e.content[n*page:]
		const leaf = 2
		if n < 2 || host.Uint16(head[8:]) != leaf {
			continue
		}
		for i := range int(host.Uint16(head[10:])) {
			if at := n*page + pageHeader + 16*i; i%7 == 0 && at+16 <= (n+1)*page {
				write(fmt.Sprintf("the size of element %d of page %d", i, n), i == 0 && n%5 == 0,
					func(b []byte) []byte { b[at+12+i%3] ^= 0x10; return b })
			}
		}
	}
	return all
}

// judgeSome judges about so many of the ways to damage the file, evenly.
func (e *evening) judgeSome(t *testing.T, n int) {
	all := e.damages()
	wantTrue(t, len(all) >= n, len(all))
	for i, d := range all {
		if i%(len(all)/n+1) == 0 || d.always {
			t.Run(d.name, func(t *testing.T) { e.judge(t, d.change) })
		}
	}
}

// judge starts the queue with a damaged file as a daemon does, has everything printed, and judges the papers.
func (e *evening) judge(t *testing.T, change func(t *testing.T, path string)) {
	q := newQueue(t, withCopies)
	must(t, os.CopyFS(q.o.Copy, os.DirFS(filepath.Join(e.dir, "queue.db.copy"))))
	change(t, q.o.Path)
	q.startAsADaemon()
	printed := map[string]int{}
	for _, station := range []string{"grill", "bar", "cold"} {
		for _, j := range q.jobs(Filter{Station: station, States: []ticket.State{ticket.Held, ticket.Failed}}) {
			printed[j.Request] += 100 // a person sees it
		}
		for q.station(station).Pending > 0 {
			d := q.take(station)
			q.must(d.Begin(bg, false))
			q.must(d.Ack(bg, ticket.Sent, ""))
			got := d.Delivery()
			printed[got.Ticket.Request]++
			wantTrue(t, e.printed[got.Ticket.Request] == 0 || got.Doubt || got.Reprint, got.Ticket.Request, station)
		}
	}
	for _, name := range e.all {
		wantTrue(t, e.printed[name]+printed[name] != 0, name)
		q.wantDuplicate(e.body(order(name, "grill")))
	}
	q.stop()
}

func (e *evening) body(r ticket.Request) ticket.Request {
	r.Body = bytes.Repeat([]byte(r.ID), 40)
	return r
}

// checkEnv has the file that the child process checks.
const checkEnv = "TICKETRAIL_TEST_CHECK_COPY"

// startAsADaemon checks the file in a child process, and has a damaged one replaced.
func (q *testQueue) startAsADaemon() {
	q.t.Helper()
	if _, err := os.Stat(q.o.Path); err == nil && checkApart(q.o.Path) != nil {
		q.replace()
	}
	err := q.tryToOpen()
	if errors.Is(err, ErrDamaged) {
		q.replace()
		err = q.tryToOpen()
	}
	q.must(err)
	q.must(q.TellStations(bg, []string{"grill", "bar", "cold"}, ""))
	q.checkBooks()
}

// checkApart checks a file in a child process, which it may kill.
func checkApart(path string) error {
	c := exec.Command(os.Args[0], "-test.run=^TestCheckInAChildProcess$")
	c.Env = append(os.Environ(), checkEnv+"="+path, "GORACE=atexit_sleep_ms=0") // else it sleeps for a second
	return c.Run()
}

// TestCheckInAChildProcess is that process, and passes alone.
func TestCheckInAChildProcess(t *testing.T) {
	if path := os.Getenv(checkEnv); path != "" {
		must(t, Check(path))
	}
}
