package queue

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/deploy/slow"
	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

// TestAFileIsKeptIfACrashLeavesALogAloneOnANewDiskOfCopies: a base copy is newer, or nothing is better than the file.
func TestAFileIsKeptIfACrashLeavesALogAloneOnANewDiskOfCopies(t *testing.T) {
	q := withHistory(t)
	files := q.copies()
	database := files.Database()
	must(t, errors.Join(os.RemoveAll(q.o.Copy), os.Mkdir(q.o.Copy, 0o700)))
	h := store.LogHeader{Log: 3, Database: database, Began: time.Now().UTC()}
	log, err := store.CreateLog(files.Log(3), h, store.System) // the crash came before the file had its number
	must(t, err)
	must(t, log.Close())
	q.wantHistory(false)
}

// TestWhatWasRemovedWithItsHistoryIsNotMadeAgain: the disk of copies was full or read-only since.
func TestWhatWasRemovedWithItsHistoryIsNotMadeAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		synctest.Wait()
		q.accept(order("a", "grill"))
		q.print("grill")
		q.must(errOf(q.Reprint(bg, 1, ReprintOptions{})))
		synctest.Wait()
		files := q.copies()
		log := files.Log(files.Newest())
		content, err := os.ReadFile(log)
		must(t, err)
		away := q.o.Copy + ".away"
		must(t, os.Rename(q.o.Copy, away))
		must(t, os.WriteFile(q.o.Copy, nil, 0o600)) // no folder: nothing can be made there
		q.print("grill")
		time.Sleep(q.o.DedupRetention + 49*time.Hour)
		synctest.Wait()
		q.wantCount(bucketState, 0)
		q.accept(order("b", "grill"))
		q.stop()

		must(t, os.Remove(q.o.Copy))
		must(t, os.Rename(away, q.o.Copy))
		must(t, os.WriteFile(log, content, 0o600))
		q.open()
		q.printAll("grill", "b")
		q.wantNothing("grill")
	}, withCopies)
}

// TestALogIsCompleteOnlyIfNoBaseCopyWasCutOffAndNothingCameAfterItsEnd: else the next start makes a base copy.
func TestALogIsCompleteOnlyIfNoBaseCopyWasCutOffAndNothingCameAfterItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		newest := func(when string, want uint64) {
			t.Helper()
			synctest.Wait()
			wantEqual(t, q.copies().Newest(), want, when)
		}
		synctest.Wait()
		q.restart()
		newest("a stop in order", 1)

		files := q.copies() // it continues the log, and dies before it has written a line
		content, err := os.ReadFile(files.Log(1))
		must(t, err)
		q.stop()
		must(t, os.WriteFile(files.Log(1), content, 0o600))
		q.o.CheckCopy = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		q.open()
		newest("a crash", 2)

		q.stop() // in the middle of the base copy
		q.o.CheckCopy = func(context.Context, string) error { return nil }
		q.open()
		newest("a base copy that was cut off", 3)

		q.stop()
		content, err = os.ReadFile(files.Log(3))
		must(t, err)
		must(t, os.WriteFile(files.Log(3), content[:len(content)-10], 0o600))
		q.open()
		newest("a log that is torn", 4)
	}, withCopies)
}

// TestABaseCopyThatFailsIsTriedLessAndLessOften, because each attempt writes the whole database.
func TestABaseCopyThatFailsIsTriedLessAndLessOften(t *testing.T) {
	var at []time.Time
	inBubble(t, func(t *testing.T, _ *testQueue) {
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		wantTrue(t, len(at) >= 5, at)
		pause := copyAgain
		for i := range at[1:] {
			wantEqual(t, at[i+1].Sub(at[i]), pause, at)
			pause = min(2*pause, copyEvery)
		}
	}, withCopies, func(o *Options) {
		o.CheckCopy = func(context.Context, string) error { at = append(at, time.Now()); return errors.New("no") }
	})
}

// TestALogThatCannotKeepUpDelaysNoCommit: what it does not take is in the next base copy.
func TestALogThatCannotKeepUpDelaysNoCommit(t *testing.T) {
	q := start(t)
	few := &copier{q: q.Queue, commits: make(chan []copyLine, 1)}
	small := &copier{q: q.Queue, commits: make(chan []copyLine, 2)}
	for n, tooMuch := range []bool{false, true} {
		few.add([]copyLine{{}})
		small.add([]copyLine{{size: maxWaiting/2 + 1}})
		wantEqual(t, few.gap.Load(), tooMuch, n)
		wantEqual(t, small.gap.Load(), tooMuch, n)
	}
}

// TestOnlyWhatHasTheNameOfACopyIsOne: a person keeps other files there.
func TestOnlyWhatHasTheNameOfACopyIsOne(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"00000004.log", "00000004.db", "4.log", "5.db", "20261128.db", "18446744073709551615.log", "00000000.db",
		"00000006.db.part", "00000007", "notes.txt",
	} {
		must(t, os.WriteFile(dir+"/"+name, nil, 0o600))
	}
	files, err := store.ReadCopies(dir)
	must(t, err)
	wantTrue(t, slices.Equal(files.Bases, []uint64{4}) && slices.Equal(files.Logs, []uint64{4}), files)
}

// TestTwoDaemonsDoNotShareAFolderOfCopies: who comes second neither reads nor writes there, also when the first one is
// away for a moment.
func TestTwoDaemonsDoNotShareAFolderOfCopies(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		synctest.Wait()
		files := q.copies()
		other := start(t, func(o *Options) { o.Copy = q.o.Copy })
		defer other.stop()
		wantErr(t, other.CopyProblem(), store.ErrShared)
		other.wantNothing("grill")
		q.stop()
		other.anHourLater()
		now := q.copies()
		wantTrue(t, slices.Equal(now.Logs, files.Logs), files, now)

		q.open()
		other.stop()
		must(t, os.WriteFile(other.o.Path, []byte("damaged"), 0o600))
		wantEqual(t, other.replace().Base, "")
		other.open()
		must(t, q.CopyProblem())
		wantTrue(t, q.Ready() == nil, q.Ready())
	}, withCopies)
}

// TestStationsAreToldIfTheCopyEndsLongBeforeTheFile: its disk was away or broken, or somebody has removed a log.
func TestStationsAreToldIfTheCopyEndsLongBeforeTheFile(t *testing.T) {
	type end struct {
		stopped, logLost bool
		later            time.Duration
		told             bool
	}
	each(t, map[string]end{
		"a crash":                 {later: time.Minute},
		"a log that ended":        {later: 3 * time.Hour, told: true},
		"a stop, and a long rest": {later: 3 * time.Hour, stopped: true},
		"a log is missing":        {logLost: true, told: true},
	}, func(t *testing.T, q *testQueue, c end) {
		q.accept(order("a", "grill"))
		q.anHourLater()
		q.accept(order("b", "grill"))
		if synctest.Wait(); c.stopped {
			q.stop()
		}
		away := q.o.Copy + ".away"
		must(t, os.CopyFS(away, os.DirFS(q.o.Copy)))
		files, err := store.ReadCopies(away)
		must(t, err)
		if c.logLost {
			must(t, os.Remove(files.Log(files.Newest())))
		}
		if c.stopped {
			q.open()
		}
		time.Sleep(c.later)
		q.stop()

		must(t, errors.Join(os.RemoveAll(q.o.Copy), os.Rename(away, q.o.Copy)))
		wantEqual(t, !q.recover().From.IsZero(), c.told)
		q.open()
	}, withCopies)
}

// TestStationsAreToldFromWhenOnTheLogHasAll: the log that follows the base copy is gone, and the next one is there.
func TestStationsAreToldFromWhenOnTheLogHasAll(t *testing.T) {
	q := withHistory(t)
	files := q.copies()
	newest := files.Newest()
	must(t, errors.Join(os.Remove(files.Base(newest)), os.Remove(files.Log(newest-1))))
	header, err := files.Header(newest)
	must(t, err)
	r := q.recover()
	wantTrue(t, r.Base == files.Base(newest-1) && r.From.Equal(header.Began), r, header)
	q.open()
	q.wantDuplicate(order("e", "grill"))
}

// TestLogsDoNotGrowWithoutBound: they may be on the disk of the database. After a long one comes a base copy; if none
// succeeds, the oldest logs go.
func TestLogsDoNotGrowWithoutBound(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		grow := func(name string) {
			synctest.Wait()
			files := q.copies()
			must(t, os.Truncate(files.Log(files.Newest()), store.MaxLogs/2+1)) // a hole takes no space
			q.accept(order(name, "grill"))
			time.Sleep(2 * syncEvery)
			synctest.Wait()
			wantTrue(t, q.CopyProblem() != nil, "nobody is told that the log has become long")
			time.Sleep(2 * copyAgain)
			synctest.Wait()
		}
		grow("a")
		must(t, q.CopyProblem())
		q.stop()

		q.o.CheckCopy = func(context.Context, string) error { return errors.New("no") }
		q.open()
		for n := range 8 {
			grow(id(n))
			time.Sleep(copyEvery)
		}
		files := q.copies()
		long := 0
		for _, n := range files.Logs {
			if info, err := os.Stat(files.Log(n)); err == nil && info.Size() > store.MaxLogs/2 {
				long++
			}
		}
		wantTrue(t, long <= 2 && q.CopyProblem() != nil, long, q.CopyProblem())
	}, withCopies)
}

// TestADiskOfCopiesThatHangsDelaysNoStart for longer than readWithin. The pipe has no writer.
func TestADiskOfCopiesThatHangsDelaysNoStart(t *testing.T) {
	slow.Test(t)
	q := withHistory(t)
	files := q.copies()
	log := files.Log(files.Newest())
	must(t, errors.Join(os.Remove(log), syscall.Mkfifo(log, 0o600)))
	q.open()
	wantErr(t, q.CopyProblem(), store.ErrHangs)
	q.wantDuplicate(order("e", "grill"))
	must(t, q.Ready())
}

// TestATicketThatThisVersionCannotReadIsHeldAndTheNextOnePrints: its copy says the same, so a restart would not help.
func TestATicketThatThisVersionCannotReadIsHeldAndTheNextOnePrints(t *testing.T) {
	q := start(t, withCopies)
	q.orders(2, "grill")
	q.change(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucketJobs]).Put(key64(1), seal([]byte(`{"v":"of a later version"}`)))
	})
	q.open()
	q.printAll("grill", id(1))
	q.wantState(1, ticket.Held)
	must(t, q.Ready())
}

func TestTheNewestTwoDamagedFilesAreKept(t *testing.T) {
	q := withHistory(t)
	for n := range 4 {
		must(t, os.WriteFile(q.o.Path, []byte(id(n)), 0o600))
		q.replace()
	}
	var kept []string
	for _, name := range matches(q.o.Path + ".corrupt-*") {
		content, err := os.ReadFile(name)
		must(t, err)
		kept = append(kept, string(content))
	}
	slices.Sort(kept)
	wantTrue(t, slices.Equal(kept, []string{id(2), id(3)}), kept)
}
