package printer_test

import (
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/profile"
)

func TestOnlyItsOwnAnswerProvesAnOverdueTicket(t *testing.T) {
	// The printer's answers to another id behind the ticket: after half of the time for printing.
	for name, c := range map[string]struct {
		answers func(first, other []byte) [][]byte
		want    string
	}{
		"the other one": {func(_, other []byte) [][]byte { return [][]byte{other} }, "doubt"},
		"the first":     {func(first, _ []byte) [][]byte { return [][]byte{first} }, "confirmed"},
		"both at once": {func(first, other []byte) [][]byte {
			return [][]byte{slices.Concat(first, other)}
		}, "confirmed"},
		"both in pieces": {func(first, other []byte) [][]byte {
			return slices.Collect(slices.Chunk(slices.Concat(first, other), 1))
		}, "confirmed"},
		"a GS r": {func(_, _ []byte) [][]byte { return [][]byte{{0}} }, "doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			var first []byte
			s := answering(func(conn net.Conn, all string) {
				switch id := idReply(all); {
				case id == nil:
				case !behind(all):
					_, _ = conn.Write(id)
				case !overdue(all):
					first = id
				default:
					for _, b := range c.answers(first, id) {
						_, _ = conn.Write(b)
					}
				}
			})
			withScript(t, s, func(r *harness) {
				o := r.want("A1", c.want)
				at := 20 * time.Second
				wantTrue(t, name == "a GS r" || o.took >= at-5*time.Second && o.took <= at, o.took)
			})
		})
	}
}

func TestAPrinterThatIsSilentBehindATicketIsAskedNothingMore(t *testing.T) {
	// It is slow, or the network parts, and it keeps only the newest id.
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{}
		asked := false
		s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
			switch id := idReply(all); {
			case asked:
			case id != nil && behind(all):
				asked = true
				later(20*time.Second, func() {
					newest := s.all()
					_, _ = c.Write([]byte("7\"" + newest[strings.LastIndex(newest, theID)+7:][:4] + "\x00"))
				})
			case !answerStatus(c, all):
				answersIDs(c, all)
			}
		}
		newScriptedHarness(t, s).want("A1", "confirmed")
	})
}

func TestNoQuestionBehindATicketIsAskedTwice(t *testing.T) {
	for name, c := range map[string]struct {
		realTime, ids bool // whether it answers DLE EOT, and GS ( H or else GS r
		wantIDs       int
		wantGSr       int
	}{
		"ids":            {true, true, 2, 0}, // one of its own, and another one when it is overdue
		"ids, no status": {false, true, 1, 0},
		"GS r":           {true, false, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := countGSr()
			s := &scriptedPrinter{answer: func(_ *scriptedPrinter, conn net.Conn, all string) {
				n := asked(conn, all)
				switch {
				case c.realTime && answerStatus(conn, all), behind(all):
				case c.ids:
					answersIDs(conn, all)
				default:
					_, _ = conn.Write(make([]byte, n))
				}
			}}
			r := newHarness(t, nil, s, func(d *printer.DeviceOptions, _ *printer.Options) {
				if !c.realTime {
					d.Confirm = profile.ByProcessID
				}
			})
			r.want("A1", "doubt")
			_, rest, _ := strings.Cut(s.all(), "job 1")
			ids := map[string]bool{}
			for _, id := range strings.Split(rest, theID)[1:] {
				ids[id[:4]] = true
			}
			n := strings.Count(rest, theID)
			wantTrue(t, n == c.wantIDs && n == len(ids), name, n, len(ids), c.wantIDs)
			wantEqual(t, strings.Count(rest, theGSr), c.wantGSr, name)
		})
	}
}

func TestAConnectionThatEndsBeforeTheAnswerLeavesADoubtEachTime(t *testing.T) {
	withScript(t, cutter(func(n int) bool { return n > 1 && n < 8 }), func(r *harness) {
		r.want("A1", "confirmed")
		hangUp(r.d)
		for range 6 {
			r.want("A2", "doubt")
			wantText(t, r.wantState(printer.Unreachable).Err, "lengthen the idle time-out")
		}
		r.want("A2", "confirmed")
		wantEqual(t, r.mem.Writes(), 1, r.mem.Value("grill"))
	})
}
