package queue

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

// TestAFileIsKeptIfACrashLeavesALogAloneOnANewDiskOfCopies: a base copy is newer, or nothing is better than the file.
func TestAFileIsKeptIfACrashLeavesALogAloneOnANewDiskOfCopies(t *testing.T) {
	q := withHistory(t)
	must(t, os.RemoveAll(q.o.Copy))
	h := logHeader{3, databaseOf(q), time.Now().UTC()}
	files := copyFiles{dir: q.o.Copy}
	log, err := createLog(files.log(3), h, systemHooks) // the crash came before the file had its number
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
		files, err := readCopyFiles(q.o.Copy)
		must(t, err)
		log := files.log(files.newest())
		content, err := os.ReadFile(log)
		must(t, err)
		away := q.o.Copy + ".away"
		must(t, os.Rename(q.o.Copy, away))
		must(t, os.WriteFile(q.o.Copy, nil, 0o600)) // no folder: nothing can be made there
		q.print("grill")
		time.Sleep(q.Queue.o.DedupRetention + 49*time.Hour)
		synctest.Wait()
		q.wantCount(bucketState, 0)
		q.accept(order("b", "grill"))
		q.stop()

		must(t, os.Remove(q.o.Copy))
		must(t, os.Rename(away, q.o.Copy))
		must(t, os.WriteFile(log, content, 0o600))
		q.open()
		if d := q.print("grill"); d.Ticket.Request != "b" || d.Doubt {
			t.Errorf("printed is %+v", d)
		}
		q.wantNothing("grill")
	}, withCopies)
}

// TestALogIsCompleteOnlyIfNoBaseCopyWasCutOffAndNothingCameAfterItsEnd: else the next start makes a base copy.
func TestALogIsCompleteOnlyIfNoBaseCopyWasCutOffAndNothingCameAfterItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		synctest.Wait()
		q.stop()
		files, err := readCopyFiles(q.o.Copy)
		must(t, err)
		first := files.newest()

		q.open() // continues the log, and dies before it has written a line
		synctest.Wait()
		content, err := os.ReadFile(files.log(first))
		must(t, err)
		q.stop()
		must(t, os.WriteFile(files.log(first), content, 0o600))
		q.o.CheckCopy = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		q.open()
		synctest.Wait()
		if files, err = readCopyFiles(q.o.Copy); err != nil || files.newest() != first+1 {
			t.Errorf("after a crash: %+v, %v", files, err)
		}

		q.stop() // in the middle of the base copy
		q.o.CheckCopy = func(context.Context, string) error { return nil }
		q.open()
		synctest.Wait()
		if files, err = readCopyFiles(q.o.Copy); err != nil || files.newest() != first+2 {
			t.Errorf("after a base copy that was cut off: %+v, %v", files, err)
		}
	}, withCopies)
}

// TestABaseCopyThatFailsIsTriedLessAndLessOften, because each attempt writes the whole database.
func TestABaseCopyThatFailsIsTriedLessAndLessOften(t *testing.T) {
	var at []time.Duration
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.stop()
		began := time.Now()
		q.o.CheckCopy = func(context.Context, string) error {
			at = append(at, time.Since(began))
			return errors.New("no")
		}
		q.open()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if len(at) < 5 {
			t.Fatalf("attempts at %s", at)
		}
		pause := copyAgain
		for i := range at[1:] {
			if at[i+1]-at[i] != pause {
				t.Errorf("attempts at %s", at)
			}
			pause = min(2*pause, copyEvery)
		}
		q.o.CheckCopy = nil
	}, withCopies)
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
	files, err := readCopyFiles(dir)
	if err != nil || !slices.Equal(files.bases, []uint64{4}) || !slices.Equal(files.logs, []uint64{4}) {
		t.Errorf("%+v, %v", files, err)
	}
}

// TestATicketOfAnotherDatabaseIsAsOldAsItWasWhenItCame: the running time of its log is not that of the file.
func TestATicketOfAnotherDatabaseIsAsOldAsItWasWhenItCame(t *testing.T) {
	q := withHistory(t)
	inBubble(t, func(t *testing.T, other *testQueue) {
		time.Sleep(100 * time.Hour)
		other.stop()
		must(t, os.Rename(other.o.Path, q.o.Path))
		other.o = q.o
		other.open()
		other.wantExpired("grill", 4*time.Hour, 0)
		if d := other.print("grill"); d.Ticket.Request != "e" || d.Ticket.Kind != ticket.Order {
			t.Errorf("printed is %+v", d)
		}
	}, withCopies)
}

// databaseOf is the name of the database of a queue.
func databaseOf(q *testQueue) string {
	files, err := readCopyFiles(q.o.Copy)
	must(q.t, err)
	return files.database()
}
