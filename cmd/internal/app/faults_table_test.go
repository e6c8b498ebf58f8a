package app

import (
	"time"

	"ticketrail/printer/virtual"
)

func faults() []fault {
	return []fault{
		{name: "none", inject: func(*faultRun) {}},
		{
			// Nothing went out: tried again and again, never in doubt.
			name:   "refused at dial",
			inject: func(s *faultRun) { _ = s.p.Refuse(true) },
			repair: func(s *faultRun) { _ = s.p.Refuse(false) },
			want:   map[string]string{"": "A1 A2 A3 A4 | = =++ = = | unreachable"},
		},
		{
			name:   "dial hangs",
			inject: func(s *faultRun) { s.c.setHang(true) },
			repair: func(s *faultRun) { s.c.setHang(false) },
			want:   map[string]string{"": "A1 A2 A3 A4 | = =++ = = | unreachable"},
		},
		{
			// A printer that is known to answer is waited for, without attempts. Of the others nothing is known:
			// a pipe takes nothing, which is clean; a socket takes it all, and it comes out later.
			name:   "accepted and silent for a while",
			inject: func(s *faultRun) { s.p.Stall(); later(4*time.Minute, s.repairPrinter) },
			want:   map[string]string{"mute oneway": "A1 A2 A3 A4 | = =++ = = | well"},
			socket: map[string]string{"": noFault},
		},
		{
			// A person who sees that it hangs switches it off and on. What a socket had taken
			// of the tickets is lost then, so nothing may be written to a printer that is known to
			// answer and does not. A mute one cannot tell: only sent is claimed.
			name: "hangs until switched off and on",
			inject: func(s *faultRun) {
				s.p.Stall()
				later(8*time.Minute, func() { s.c.power(false); s.repairPrinter(); s.c.power(true) })
			},
			want: map[string]string{
				// where it was just being asked: that is an attempt, and clean
				"":            noFault + " // A1 A2 A3 A4 | = =+ = = | well",
				"mute oneway": "A1 A2 A3 A4 | = =++ = = | well",
			},
			socket: map[string]string{"mute": "A1 A4 | = = = = | well"},
		},
		{
			// However long it lasts, nothing goes out: what a hung printer has taken is lost when it is switched
			// off and on.
			name:   "accepted and silent for long",
			inject: func(s *faultRun) { s.p.Stall() }, repair: (*faultRun).repairPrinter,
			want: map[string]string{
				"":            "A1 A2 A3 A4 | = = = = | hung",
				"mute oneway": "A1 A2 A3 A4 | = =++ = = | well",
			},
			socket: map[string]string{"": "A1 A2 A3 A4 | = = = = | hung", "mute": noFault},
		},
		{
			// Another client has it and it takes our connection: busy is not dead, and not silent.
			name:   "busy with a till",
			inject: func(s *faultRun) { s.occupy(4 * time.Minute) },
			want:   map[string]string{"mute oneway": "A1 A2 A3 A4 | = =++ = = | well"},
			socket: map[string]string{"": noFault},
		},
		{
			// Another till has it, or it is still starting: no byte of the ticket was taken, and a
			// socket is seen to be reset before one is given to it.
			name:   "reset before the first byte",
			inject: func(s *faultRun) { s.p.ResetAfter(0, -1) }, repair: (*faultRun).repairPrinter,
			want: map[string]string{
				"": "A1 A2 A3 A4 | = =++ = = | unreachable",
				// As the last ticket or the last poll saw it: the poll asks nothing.
				"mute":   "A1 A2 A3 A4 | = =++ = = | well // A1 A2 A3 A4 | = =++ = = | unreachable",
				"oneway": "A1 A2 A3 A4 | = =++ = = | well",
			},
			socket: map[string]string{"": "A1 A2 A3 A4 | = =++ = = | unreachable"},
		},
		{
			name:   "closed before the first byte",
			inject: func(s *faultRun) { s.p.CloseAfter(0, -1) }, repair: (*faultRun).repairPrinter,
			want: map[string]string{
				"": "A1 A2 A3 A4 | = =++ = = | unreachable",
				// As the last ticket or the last poll saw it: the poll asks nothing.
				"mute":   "A1 A2 A3 A4 | = =++ = = | well // A1 A2 A3 A4 | = =++ = = | unreachable",
				"oneway": "A1 A2 A3 A4 | = =++ = = | well",
			},
			socket: map[string]string{"": "A1 A2 A3 A4 | = =++ = = | unreachable"},
		},
		{
			// Doubt: once more, marked.
			name:   "reset in the middle",
			inject: func(s *faultRun) { s.at(middle, s.p.Reset) },
			want:   map[string]string{"": "A1 A2~ A2! A3 A4 | = =+ = = | well"},
		},
		{
			// The printer waits for the rest of the picture, and must not take it from what comes next.
			name:   "reset in a picture",
			inject: func(s *faultRun) { s.at(picture, s.p.Reset) },
			want:   map[string]string{"": "A1 A2~ A2! A3 A4 | = =+ = = | well"},
		},
		{
			// The whole text is on paper, but no answer confirmed it.
			name:   "reset between the text and the answer",
			inject: func(s *faultRun) { s.at(end, s.p.Reset) },
			want:   map[string]string{"": "A1 A2_ A2! A3 A4 | = =+ = = | well"},
		},
		{
			name:   "closed in the middle",
			inject: func(s *faultRun) { s.at(middle, func() { s.p.CloseAfter(0, 1) }) },
			repair: (*faultRun).repairPrinter,
			want:   map[string]string{"": "A1 A2~ A2! A3 A4 | = =+ = = | well"},
		},
		{
			// The cable is unplugged without notice: in doubt when the time-out ends, and then
			// there is no connection.
			name:   "half open",
			inject: func(s *faultRun) { s.at(middle, func() { s.c.cut(true) }) },
			repair: func(s *faultRun) { s.c.cut(false) },
			want:   map[string]string{"": "A1 A2~ A2! A3 A4 | = =++ = = | unreachable"},
		},
		{
			// Shorter than the time-out.
			name:   "stops in the middle and goes on",
			inject: func(s *faultRun) { s.at(middle, func() { s.p.Stall(); later(20*time.Second, s.repairPrinter) }) },
		},
		{
			// In doubt when the time-out ends; then it is silent for long, see there. A mute one
			// behind a socket has taken everything, as far as the daemon can see.
			name:   "stops in the middle for ever",
			inject: func(s *faultRun) { s.at(middle, s.p.Stall) }, repair: (*faultRun).repairPrinter,
			want: map[string]string{
				"":            "A1 A2~ A2! A3 A4 | = =+ = = | hung",
				"mute oneway": "A1 A2~ A2! A3 A4 | = =++ = = | well",
			},
			socket: map[string]string{
				"":     "A1 A2~ A2! A3 A4 | = =+ = = | hung",
				"mute": noFault,
			},
		},
		{
			// The queue waits without attempts where the printer says why; a mute one keeps what
			// it is sent until there is paper.
			name:   "paper out before",
			inject: func(s *faultRun) { s.set(virtual.PaperOut, time.Hour/2) },
			want: map[string]string{
				"ids status wrongid talks": "A1 A2 A3 A4 | = = = = | paper_out",
			},
		},
		{
			// The answer comes late and is as good as any: one copy.
			name:   "paper out in the middle, refilled",
			inject: func(s *faultRun) { s.at(middle, func() { s.set(virtual.PaperOut, 5*time.Minute) }) },
		},
		{
			// Given up after ten minutes, in doubt; the printer still has the rest, prints it when
			// a person refills it, and then the marked one.
			name:   "paper out in the middle, not refilled",
			inject: func(s *faultRun) { s.at(middle, func() { s.set(virtual.PaperOut, time.Hour/2) }) },
			want: map[string]string{
				"ids status wrongid": "A1 A2_ A2! A3 A4 | = =+ = = | paper_out",
				"talks":              "A1 A2 A3 A4 | = = = = | paper_out",
			},
		},
		{
			name:   "cover open before",
			inject: func(s *faultRun) { s.set(virtual.CoverOpen, time.Hour/2) },
			want: map[string]string{
				"ids status wrongid talks": "A1 A2 A3 A4 | = = = = | cover_open",
			},
		},
		{
			name:   "cover open in the middle",
			inject: func(s *faultRun) { s.at(middle, func() { s.set(virtual.CoverOpen, time.Minute) }) },
		},
		{
			// The text of A2 is on paper and was confirmed before the cut; A3 waits for the cutter.
			name:   "cutter jam",
			inject: func(s *faultRun) { s.p.JamAtCut() },
			repair: func(s *faultRun) { s.p.Set(virtual.CutterJam, false) },
			want: map[string]string{
				"ids status wrongid talks": "A1 A2 A3 A4 | = = = = | cutter_error",
			},
		},
		{
			// A printer that reports nothing loses the tickets in its buffer; only sent was claimed.
			name:   "unrecoverable in the middle",
			inject: func(s *faultRun) { s.at(middle, func() { s.p.Set(virtual.Unrecoverable, true) }) },
			repair: func(s *faultRun) { s.c.cycle() },
			want: map[string]string{
				"":            "A1 A2~ A2! A3 A4 | = =+ = = | unrecoverable",
				"mute oneway": "A1 A2~ A4 | = = = = | well",
			},
		},
		{
			name: "power cycle in the middle",
			inject: func(s *faultRun) {
				s.at(middle, func() { s.c.power(false); later(20*time.Second, func() { s.c.power(true) }) })
			},
			want: map[string]string{"": "A1 A2~ A2! A3 A4 | = =+ = = | well"},
		},
		{
			// See unrecoverable.
			name: "power cycle with tickets in the buffer",
			inject: func(s *faultRun) {
				s.at(middle, func() {
					s.p.Set(virtual.PaperOut, true)
					later(time.Minute, func() { s.c.cycle(); s.p.Refill() })
				})
			},
			want: map[string]string{
				"":            "A1 A2~ A2! A3 A4 | = =+ = = | well",
				"talks":       "A1 A2~ A3 A4 | = = = = | well",
				"mute oneway": "A1 A2~ A4 | = = = = | well",
			},
		},
		{
			name:   "power cycle idle",
			inject: func(s *faultRun) { s.c.power(false); s.advance(20 * time.Second); s.c.power(true) },
		},
		{
			// The connection that is kept is known to be dead before anything is begun on it.
			name:   "power cycle in the linger",
			inject: func(s *faultRun) { s.order("grill", "B9"); s.advance(900 * time.Millisecond); s.c.cycle() },
			want:   map[string]string{"": "A1 B9 A2 A3 A4 | = = = = = | well"},
		},
		{
			name:   "late answer",
			inject: func(s *faultRun) { s.at(middle, func() { s.p.Delay(1500 * time.Millisecond) }) },
			repair: (*faultRun).repairPrinter,
		},
		{
			// A line takes four minutes, and meanwhile it takes no bytes: longer than the time-out. Once
			// more, marked; what a socket has taken of one that cannot say so comes out late.
			name: "answer too late",
			inject: func(s *faultRun) {
				s.at(middle, func() { s.p.Delay(4 * time.Minute); later(time.Second, s.repairPrinter) })
			},
			want: map[string]string{
				"":            "A1 A2~ A2! A3 A4 | = =+ = = | well",
				"mute oneway": "A1 A2~ A2! A3 A4 | = =++ = = | well",
			},
			socket: map[string]string{"mute": noFault},
		},
		{
			// Ids that were never issued confirm nothing and spoil nothing.
			name:   "echo of another program",
			inject: func(s *faultRun) { s.c.corruptAnswers(echo) },
			repair: func(s *faultRun) { s.c.corruptAnswers(nil) },
		},
		{
			name:   "noise around the answers",
			inject: func(s *faultRun) { s.c.corruptAnswers(noise) },
			repair: func(s *faultRun) { s.c.corruptAnswers(nil) },
		},
		{
			// As silent as silence: see there.
			name:   "nonsense for answers",
			inject: func(s *faultRun) { s.c.corruptAnswers(virtual.Garbage) },
			repair: func(s *faultRun) { s.c.corruptAnswers(nil) },
			want:   map[string]string{"": "A1 A2 A3 A4 | = = = = | hung", "mute oneway": noFault},
		},
		{
			// It might hang: its tickets wait for the person who knows that it is another one.
			name:   "swapped for a silent one",
			inject: func(s *faultRun) { s.swapFor(0) },
			repair: func(s *faultRun) { s.probe("grill") },
			want: map[string]string{
				"":            "A1 A2 A3 A4 | = s s s | hung",
				"talks":       "A1 A2 A3 A4 | = = = = | hung",
				"mute oneway": noFault,
			},
		},
		{
			name:   "swapped for one that talks",
			inject: func(s *faultRun) { s.swapFor(virtual.RealTime) },
			repair: func(s *faultRun) { s.probe("grill") },
			want: map[string]string{
				"":             "A1 A2 A3 A4 | = s s s | hung",
				"talks oneway": noFault,
				// It is asked again after a minute.
				"mute": "A1 A2 A3 A4 | = = = = | ready",
			},
		},
	}
}
